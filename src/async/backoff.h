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

  // The wait after `failed` >= 1 tries have failed; Plain: without jitter.
  static Duration Plain(const Limits& limits, int failed) {
    return std::min(limits.cap, limits.first * (int64_t(1) << std::clamp(failed - 1, 0, 20)));
  }
  static Duration After(const Limits& limits, int failed, Random& random) {
    return random.Jittered(Plain(limits, failed), limits.jitter);
  }

  // Another try has failed: the wait before the next one.
  Duration Next() { return After(limits_, ++tries_, random_); }
  void Reset() { tries_ = 0; }

 private:
  Limits limits_;
  Random& random_;
  int tries_ = 0;
};

}  // namespace capstan::async
