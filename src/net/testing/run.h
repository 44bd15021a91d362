// Runs a Task to its end on the machine's clocks, for tests that use real sockets.
#pragma once

#include <boost/asio/io_context.hpp>
#include <optional>
#include <utility>

#include "async/loop.h"
#include "async/task_group.h"

namespace capstan::net::testing {

template <class T>
T RunTask(async::RealLoop& loop, async::Task<T> task) {
  std::optional<T> result;
  auto run = [](async::Loop& l, async::Task<T> inner, std::optional<T>& out) -> async::Task<void> {
    out = co_await std::move(inner);
    l.Stop();
  };
  async::TaskGroup group(loop);
  group.Spawn("test", run(loop, std::move(task), result));
  loop.context().restart();
  loop.Run();
  while (group.size() > 0) {
    loop.context().restart();
    loop.context().poll();
  }
  return *std::move(result);
}

}  // namespace capstan::net::testing
