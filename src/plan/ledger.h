// What became of the actions of one key's last Plans: the part of the World that tells a Decide what was
// tried.
//
// Back-off belongs to the action, never to the key: a refused Service delays no pod. It passes to the action that is
// wanted in its stead, the same verb on the same target with other content: content that changes from one Decide to the
// next would otherwise be tried as fast as it changes. Losing the ledger (a crash) costs only repeats, because every
// action may be repeated.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "base/time.h"

namespace capstan::plan {

// The identity of an action: the same verb on the same target with the same content is the same action.
struct ActionId {
  uint64_t aim = 0;  // a hash of verb and target
  uint64_t content = 0;
  auto operator<=>(const ActionId&) const = default;
};

// The word for a failed action in conditions and Events.
//   NameConflict  something else has the name
//   Contested     another program keeps undoing it
//   ActionFailed  everything else; the message says what
std::string_view ReasonOf(const Error& error);

// It does not pass by itself: somebody has to change something.
bool NeedsSomebody(const Error& error);

// An action that did not work out, for conditions and messages.
struct Failure {
  ActionId id;
  std::string verb;    // "apply"
  std::string target;  // "StatefulSet slurm/main-controller"
  Code code = Code::kInternal;
  std::string message;
  int tries = 0;
  std::string_view reason = "ActionFailed";  // ReasonOf
};

class Ledger {
 public:
  // May `id` start at `now`? Not while it is in flight, nor before its back-off is over, nor right after it was done:
  // what it changed needs a moment to be seen. What was refused for good may start at once when its target is seen to be
  // another than it was then (`seen` as for Started).
  bool MayStart(ActionId id, Tick now, uint64_t seen = 0) const;
  // It was done a moment ago.
  bool Done(ActionId id, Tick now) const;
  bool InFlight(ActionId id) const;
  size_t in_flight() const { return in_flight_; }

  // `seen`: a digest of the target as it shows now; 0 when nothing is known of it.
  void Started(ActionId id, std::string verb, std::string target, uint64_t seen = 0);
  void Succeeded(ActionId id, Tick now);
  // Nothing is left to do about it: whatever went wrong before is over.
  void Clear(ActionId id);

  // Records the failure and sets when to try again: kInvalid and kForbidden after five minutes (or when the target
  // changes, or the content), a conflict almost at once, everything else with exponential back-off; not before the time
  // that the error names.
  void Failed(ActionId id, const Error& error, Tick now, Random& random);

  // Forgets finished entries that are not in `wanted` (sorted): what nobody wants any more need not be told. What failed
  // and is wanted with other content has failed still, and passes on how often and its back-off, but for what its content
  // alone has to wait for (a refusal's five minutes, the truce in a fight).
  void KeepOnly(const std::vector<ActionId>& wanted);

  // In order of target. In-flight repeats of a failed action still count as failed until they succeed.
  std::vector<Failure> Failures() const;

  // The earliest moment after `now` at which a refused action, or one just done, may start; nullopt when none waits.
  std::optional<Tick> NextRetry(Tick now) const;

 private:
  struct Entry {
    std::string verb;
    std::string target;
    bool in_flight = false;
    int tries = 0;      // failed tries in a row
    Tick retry_at{};    // not to be started before
    Tick other_at{};    // nor another content in its stead before
    uint64_t seen = 0;  // the target when it was started last
    bool done = false;  // the last try succeeded
    std::optional<Error> error;
  };
  void PassOn(uint64_t aim, const Entry& failed, const std::vector<ActionId>& wanted);

  std::map<ActionId, Entry> entries_;
  size_t in_flight_ = 0;
};

}  // namespace capstan::plan
