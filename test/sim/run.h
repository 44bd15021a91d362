// One run: a story drawn from a seed, told around an operator that may crash, judged by the rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "breaks.h"

namespace capstan::sim {

struct RunOptions {
  uint64_t seed = 1;
  const Break* broken = nullptr;
  // The operator is killed right after its write of this number (from 1), and started again some seconds later.
  int crash_after = 0;
  // Before the answer to that write arrives, or a moment after.
  bool before_answer = true;
  bool echo = false;  // print the story while it is told
};

struct Outcome {
  std::optional<std::string> failure;  // what was broken or never reached
  int writes = 0;                      // of the operator
  std::vector<std::string> story;
  // Of the story, all that the operator sent, and the objects that were left: equal runs have equal ones.
  uint64_t fingerprint = 0;
};

// Equal options give equal outcomes. Any thread; several at once.
Outcome RunStory(const RunOptions& options);

// The story of an even seed undisturbed, that of an odd one with a crash after a write drawn from it. With `everywhere`,
// of any seed: undisturbed, then once with a crash after every write of it, before and after its answer. The first
// failure, or the last outcome. Adds to `runs` how many there were.
Outcome RunSeed(const RunOptions& options, bool everywhere, int& runs);

}  // namespace capstan::sim
