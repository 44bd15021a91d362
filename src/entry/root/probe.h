// Tries whether a volume can hold a shared root for two nodes: two pods, one on each, tell each other files of meta/<id>/. What one does the
// other must see: owners, modes, locks, and soon a file that has taken another's place, as `current` does at a switch.
//
//   first                           second
//   tries the volume by itself
//   makes `given`, locks `lock`
//   writes said-1: 0           -->  looks at `given`, tries the lock
//                              <--  writes said-2: 0
//   writes said-1: 1, 2, ...   -->  writes said-2: 1, 2, ...
//   removes the folder
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace capstan::entry {

enum class Side : uint8_t { kFirst, kSecond };

struct Probe {
  std::string volume;  // "/capstan/root"
  std::string id;      // of the folder, which the first makes; a DNS label
  Side side = Side::kFirst;
  Duration patience = std::chrono::minutes(
      1);  // for what the other has to say; the first word of the other may take four times as long
};

struct Probed {
  std::vector<std::string> errors;    // why the volume cannot hold a root, a sentence each
  std::vector<std::string> warnings;  // what will be missed
  int64_t files_per_second = 0;       // that the first made; 0 of the second
  int64_t seen_after_ms = 0;  // the longest that a file of the first took to be seen and answered; 0 of the second

  friend bool operator==(const Probed&, const Probed&) = default;
};

// {"errors":["..."],"warnings":[],"filesPerSecond":4100,"seenAfterMs":3}
std::string ProbedText(const Probed& probed);

// kUnavailable: the other said nothing in time, or the volume is full or away. The first removes the folder in any case. Blocks.
// REQUIRES: root with CHOWN, DAC_OVERRIDE, FOWNER, FSETID and SETFCAP.
Result<Probed> ProbeTogether(const Probe& probe);

}  // namespace capstan::entry
