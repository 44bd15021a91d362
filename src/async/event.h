// A flag that coroutines wait for.
#pragma once

#include <list>

#include "async/deadline.h"
#include "async/loop.h"
#include "async/timer.h"

namespace capstan::async {

// Set() wakes all who wait and stays set until Reset(). Any number of waiters, all on the same Loop.
class Event {
 public:
  explicit Event(Loop& loop) : loop_(loop) {}

  void Set();
  void Reset() { set_ = false; }
  bool is_set() const { return set_; }

  // True when the event is set, false when `deadline` passed first.
  Task<bool> Wait(Deadline deadline);

 private:
  Loop& loop_;
  bool set_ = false;
  std::list<Timer*> waiters_;
};

}  // namespace capstan::async
