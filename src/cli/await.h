// Runs one task on a loop to its end, for commands that do one thing.
#pragma once

#include <optional>
#include <utility>

#include "async/loop.h"
#include "async/task_group.h"
#include "base/result.h"

namespace capstan::cli {

// What `task` makes. REQUIRES: it ends by itself.
template <class T>
Result<T> Await(async::Loop& loop, async::Task<Result<T>> task) {
  std::optional<Result<T>> result;
  const auto keep = [](async::Loop& of, async::Task<Result<T>> work,
                       std::optional<Result<T>>& into) -> async::Task<void> {
    into = co_await std::move(work);
    of.Stop();
  };
  async::TaskGroup group(loop);
  group.Spawn("command", keep(loop, std::move(task), result));
  loop.Run();
  return result ? *std::move(result) : Fail(Code::kInternal, "it did not end");
}

}  // namespace capstan::cli
