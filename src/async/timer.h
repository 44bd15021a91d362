// The only timer above net/.
#pragma once

#include <boost/asio/cancellation_signal.hpp>
#include <boost/system/error_code.hpp>
#include <functional>
#include <optional>

#include "async/loop.h"
#include "async/task.h"

namespace capstan::async {

// A wait that can be cut short. One waiter at a time.
//
// Cancelling the coroutine that waits (its TaskGroup) ends the wait at once with
// boost::system::system_error(operation_aborted), like every other Asio operation.
class Timer {
 public:
  explicit Timer(Loop& loop) : loop_(loop) {}
  ~Timer() { Cancel(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // True when `at` has come, false when Cancel() came first. REQUIRES: nobody waits yet.
  Task<bool> WaitUntil(Tick at);
  Task<bool> Wait(Duration duration) { return WaitUntil(loop_.Now() + duration); }

  // Wakes the waiter, if there is one, with false.
  void Cancel();

  bool waiting() const { return bool(waiter_); }

 private:
  void Finish(boost::system::error_code error, bool reached);

  Loop& loop_;
  std::optional<Loop::TimerId> id_;
  boost::asio::cancellation_slot slot_;
  std::move_only_function<void(boost::system::error_code, bool)> waiter_;
};

// Waits for `duration`; shorter only when the coroutine is cancelled.
Task<void> Sleep(Loop& loop, Duration duration);

}  // namespace capstan::async
