// A Task whose result goes into a variable, so that a test can spawn it in a TaskGroup.
#pragma once

#include <utility>

#include "async/task.h"

namespace capstan::async::testing {

// REQUIRES: `result` outlives the Task.
template <class T, class Variable>
Task<void> Into(Variable& result, Task<T> task) {
  result = co_await std::move(task);
}

}  // namespace capstan::async::testing
