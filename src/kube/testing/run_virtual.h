// Runs a Task to its end in virtual time.
#pragma once

#include <optional>
#include <utility>

#include "async/loop.h"
#include "async/task_group.h"

namespace capstan::kube::testing {

// REQUIRES: what `task` waits for comes by itself; the loop runs until nothing is left to happen.
template <class T>
T RunVirtual(async::VirtualLoop& loop, async::Task<T> task) {
  std::optional<T> result;
  auto keep = [](async::Task<T> inner, std::optional<T>& out) -> async::Task<void> { out = co_await std::move(inner); };
  async::TaskGroup group(loop);
  group.Spawn("test", keep(std::move(task), result));
  loop.Run();
  return *std::move(result);
}

}  // namespace capstan::kube::testing
