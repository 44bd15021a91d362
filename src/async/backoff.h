// How long to wait before the next try.
#pragma once

#include <algorithm>

#include "base/random.h"
#include "base/time.h"

namespace capstan::async {

// Doubles from `first` up to `cap`, each wait spread evenly by +-`jitter` of itself so that many who failed
// together do not come back together.
class Backoff {
 public:
  struct Limits {
    Duration first = 100ms;
    Duration cap = 30s;
    double jitter = 0.2;
  };
  Backoff(Limits limits, Random& random) : limits_(limits), random_(random) {}

  // The wait before try number `tries` + 1; `tries` >= 1 have failed.
  static Duration Plain(const Limits& limits, int tries) {
    return std::min(limits.cap, limits.first * (int64_t(1) << std::clamp(tries - 1, 0, 20)));
  }

  Duration Next() { return random_.Jittered(Plain(limits_, ++tries_), limits_.jitter); }
  void Reset() { tries_ = 0; }
  int tries() const { return tries_; }

 private:
  Limits limits_;
  Random& random_;
  int tries_ = 0;
};

}  // namespace capstan::async
