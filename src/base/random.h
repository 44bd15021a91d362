// Pseudo-random numbers from a seed: for jitter and for the simulator, never for keys (those come from the
// operating system, in the actions that make them).
#pragma once

#include <cstdint>

#include "base/time.h"

namespace capstan {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {  // SplitMix64
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  // Uniform in [0, bound). REQUIRES: bound > 0.
  uint64_t Below(uint64_t bound) { return Next() % bound; }

  // True with probability `percent` / 100.
  bool Percent(unsigned percent) { return Below(100) < percent; }

  // Uniform in [duration * (1 - share), duration * (1 + share)].
  Duration Jittered(Duration duration, double share) {
    const double unit = double(Next() >> 11) / double(1ull << 53);
    return Duration(int64_t(double(duration.count()) * (1.0 - share + 2.0 * share * unit)));
  }

 private:
  uint64_t state_;
};

}  // namespace capstan
