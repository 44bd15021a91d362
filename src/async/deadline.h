// A point in monotonic time after which nobody waits any more. Passed down unchanged through every call, so
// that the caller's patience bounds all of it, however many tries it takes.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace capstan::async {

class Deadline {
 public:
  explicit Deadline(Tick at) : at_(at) {}
  static Deadline After(Tick now, Duration wait) { return Deadline(now + wait); }

  // Never passes. For services that run until they are cancelled; a request always has a real one.
  static Deadline Never() { return Deadline(Tick::max()); }

  Tick at() const { return at_; }
  bool never() const { return at_ == Tick::max(); }
  bool Passed(Tick now) const { return now >= at_; }
  Duration Left(Tick now) const { return never() ? Duration::max() : std::max(Duration(0), Duration(at_ - now)); }

  // Whichever of the two comes first.
  Deadline Earlier(Deadline other) const { return Deadline(std::min(at_, other.at_)); }

 private:
  Tick at_;
};

}  // namespace capstan::async
