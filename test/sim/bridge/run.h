// One run: a story drawn from a seed, told around a bridge that may crash, judged by the rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "breaks.h"

namespace capstan::sim::bridge {

struct RunOptions {
  uint64_t seed = 1;
  const Break* broken = nullptr;
  // The bridge is killed right after its write of this number (from 1), and started again some seconds later. 0: never.
  int crash_after = 0;
  bool echo = false;  // print the story while it is told
};

struct Outcome {
  std::optional<std::string> failure;  // what was broken or never reached
  int writes = 0;                      // of the bridge
  std::vector<std::string> story;
  uint64_t fingerprint = 0;  // of its writes; equal runs have equal ones
};

// Equal options give equal outcomes. Any thread; several at once.
Outcome RunStory(const RunOptions& options);

// The story of an even seed undisturbed, that of an odd one with a crash after a write drawn from it.
Outcome RunSeed(const RunOptions& options);

}  // namespace capstan::sim::bridge
