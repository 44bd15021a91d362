// Bounds a Task in time, and really cancels it.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/deadline.h"
#include "async/loop.h"
#include "async/timer.h"
#include "base/result.h"

namespace capstan::async {

// The result of `operation`, or Code::kDeadline when `deadline` passes first. The operation has ended either
// way when this returns: it is cancelled and unwound, never left behind.
//
// kDeadline from here says nothing about whether a request took effect; who sends requests turns it into
// kUnknownOutcome where the request had left.
template <class T>
Task<Result<T>> WithDeadline(Loop& loop, Deadline deadline, Task<Result<T>> operation) {
  namespace asio = boost::asio;
  Timer timer(loop);
  auto group = asio::experimental::make_parallel_group(
      asio::co_spawn(loop.executor(), std::move(operation), asio::deferred),
      asio::co_spawn(loop.executor(), timer.WaitUntil(deadline.at()), asio::deferred));
  auto ended = co_await group.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
  auto& [order, thrown, value, timer_thrown, reached] = ended;
  if (order[0] == 1 && !timer_thrown && reached) co_return Fail(Code::kDeadline, "the deadline passed");
  if (thrown) std::rethrow_exception(thrown);
  co_return std::move(value);
}

}  // namespace capstan::async
