// Which configuration slurmctld is started with: the one that is mounted, the one that ran last (kept.h), or none yet.
//
// | the mounted one       | the kept one                  | started         | told                                            |
// |-----------------------|-------------------------------|-----------------|-------------------------------------------------|
// | not tried yet         | whatever it is                | the mounted one | nothing new                                     |
// | does not start        | there is none                 | none            | what slurmctld said                             |
// | does not start        | cannot be read, is cut off    | none            | that, and what is wrong with the kept one       |
// | does not start        | is of another cluster         | none            | that, and what differs                          |
// | does not start        | says the same                 | none            | what slurmctld said                             |
// | does not start        | another slurmctld writes the  | none            | that, and that another one is in charge         |
// |                       | state                         |                 |                                                 |
// | does not start        | not tried yet                 | the kept one    | that, and since when the kept one is live       |
// | does not start        | does not start                | none            | what slurmctld said of both                     |
//
// A configuration does not start when slurmctld ends with it before it is in charge, as it says itself (readiness.h): one that
// stands by reads most of it when it takes over. One that includes a file that is not there is not tried.
//
// With none slurmctld waits. Whoever asks begins anew, with both not tried, when the mounted one changes, and half a minute later
// anyway: slurmctld also ends for what is no fault of its configuration.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "entry/kept.h"

namespace capstan::entry {

struct StartSeen {
  Configuration mounted;
  Result<std::optional<Kept>> kept = std::nullopt;
  bool another_writes = false;  // of several slurmctld: not this one
  // What slurmctld said when it ended with it, without secrets (last_words.h); nullopt: not tried yet.
  std::optional<std::string> mounted_said = {}, kept_said = {};
};

enum class StartWith : uint8_t { kMounted, kKept, kNone };

struct StartDecision {
  StartWith with = StartWith::kMounted;
  std::string told = {};  // why the mounted one is not live, for a person; "" with kMounted

  friend bool operator==(const StartDecision&, const StartDecision&) = default;
};

StartDecision DecideStart(const StartSeen& seen);

}  // namespace capstan::entry
