// Ends an exception where it concerns one task alone.
#pragma once

#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>
#include <exception>
#include <string>
#include <type_traits>

#include "async/task.h"
#include "base/result.h"

namespace capstan::async {

// What `begin` begins, a Task<Result<T>>. An exception that leaves it, which is a bug of whoever wrote it, is its
// kInternal. A cancellation goes on as one. REQUIRES: what `begin` refers to outlives the Task.
template <class Begin>
std::invoke_result_t<Begin&> Contained(Begin begin) {
  namespace asio = boost::asio;
  const asio::cancellation_state cancellation = co_await asio::this_coro::cancellation_state;
  std::string what;
  try {
    co_return co_await begin();
  } catch (const boost::system::system_error& error) {
    const bool cancelled = cancellation.cancelled() != asio::cancellation_type::none;
    if (cancelled && error.code() == asio::error::operation_aborted) throw;
    what = error.what();
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
    what = "of an unknown type";
  }
  co_return Fail(Code::kInternal, "ended by an exception, which is a bug: " + what);
}

}  // namespace capstan::async
