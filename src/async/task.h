// Coroutines: a Task is an Asio awaitable. Code reads straight down; whoever waits says until when.
//
//   Task<Result<Pod>> Read(Client& client, Deadline deadline) {
//     auto response = co_await client.Get(kPods, key, deadline);
//     ...
//   }
//
// Nothing is detached: a Task is awaited, or belongs to a TaskGroup (task_group.h), which ends before its
// owner does. A Task runs on the Loop that awaits it and never moves to another thread.
#pragma once

#include <boost/asio/awaitable.hpp>

namespace capstan::async {

template <class T = void>
using Task = boost::asio::awaitable<T>;

}  // namespace capstan::async
