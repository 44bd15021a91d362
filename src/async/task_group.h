// Concurrency with an owner: tasks that are started together end before the group does.
#pragma once

#include <boost/asio/cancellation_signal.hpp>
#include <list>
#include <string>

#include "async/event.h"
#include "async/loop.h"
#include "async/task.h"

namespace capstan::async {

// REQUIRES: empty when destroyed, unless the Loop itself is being torn down; call Cancel() and await Join()
// first.
class TaskGroup {
 public:
  explicit TaskGroup(Loop& loop) : loop_(loop), empty_(loop) { empty_.Set(); }
  ~TaskGroup();

  // Starts `task`. `name` is for logs: an exception that leaves a task, other than by cancellation, is a bug
  // of ours; it ends the process after saying which task it was.
  void Spawn(std::string name, Task<void> task);

  // Asks every task to stop: what it waits for ends with operation_aborted. On the loop's thread, within a run of the loop or
  // between two.
  void Cancel();

  // Returns when no task is left.
  Task<void> Join();

  size_t size() const { return members_.size(); }

 private:
  struct Member {
    std::string name;
    boost::asio::cancellation_signal cancel;
    bool started = false;
    bool cancelled = false;  // before it started: it never will
    bool ended = false;
  };
  static Task<void> Started(Member& member, Task<void> task);

  Loop& loop_;
  Event empty_;
  std::list<Member> members_;
};

}  // namespace capstan::async
