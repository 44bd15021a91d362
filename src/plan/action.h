// One effect on the outside world, as data: what, why, and what must be proven before.
//
// Effects and guards are open sets: objects/ and slurm/ have those every service needs, a
// service adds its own by deriving. A Decide only makes them; the Executor alone runs them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "async/deadline.h"
#include "async/task.h"
#include "base/result.h"
#include "kube/resource.h"
#include "plan/ledger.h"

namespace capstan::plan {

class Services;

// Actions of different lanes never wait for each other: a stuck slurmrestd delays no Kubernetes call. "" is
// the lane of the API server, any other name that of a Slurm cluster ("ns/controller").
using Lane = std::string;

class Effect {
 public:
  virtual ~Effect() = default;

  // What is done, to what, and a hash of with what. Together the identity of the action: two effects that
  // agree in all three are the same.
  virtual std::string_view verb() const = 0;
  virtual std::string target() const = 0;
  virtual uint64_t content() const = 0;
  virtual Lane lane() const { return {}; }

  // Destroys something that cannot be made again as it was. Held back while what we know may be wrong.
  virtual bool destructive() const { return false; }

  // Keeps its target as it says for as long as it is wanted, so that a second key must not want it (executor.h).
  virtual bool exclusive() const { return false; }

  // The question (question.h) whose answer is out of date once this has run, by its id, and those whose ids go on with a
  // blank; empty for none.
  virtual std::string outdates() const { return {}; }

  // Nothing left to do, as far as our own records show (the applied memo). Such an action is never started.
  virtual bool Satisfied(const Services&) const { return false; }

  // A digest of the target as our records show it, without what changes by itself (a status); 0: nothing is known. When
  // it changes, what was refused for good may be tried anew.
  virtual uint64_t TargetDigest(const Services&) const { return 0; }

  // Does it. Must be harmless to repeat. Success means the world is as wanted, whoever did it: a delete of
  // what is already gone succeeds.
  virtual async::Task<Result<void>> Run(Services& services, async::Deadline deadline) const = 0;
};

// A question of maximum age zero, answered by the Executor immediately before the action it protects.
enum class Proof : uint8_t {
  kYes,      // seen just now to hold
  kNo,       // seen just now not to hold: the action is dropped, and decided again
  kUnknown,  // could not be seen: the action waits; unknown never destroys anything
};

class Guard {
 public:
  virtual ~Guard() = default;
  // For the log and the failure: "Slurm node main/w-0 is drained and runs no job".
  virtual std::string text() const = 0;
  virtual async::Task<Proof> Prove(Services& services, async::Deadline deadline) const = 0;
};

using Guards = std::vector<std::shared_ptr<const Guard>>;

// An object that Events regard.
struct EventObject {
  const kube::Resource* resource = nullptr;
  kube::Key key;
  std::string uid;
};

// What the user is told when the action has been done (or, as a Warning, has failed). On the object of the
// key. The API takes 128 bytes of reason and action each; what is longer is cut.
struct EventText {
  std::string reason;  // CamelCase: "ScalingDown"
  std::string action;  // CamelCase, what was done: "Delete"; empty: the effect's verb
  bool warning = false;
  std::optional<EventObject> about = {};  // instead of the key's object
};

struct Action {
  std::shared_ptr<const Effect> effect;
  std::string reason;              // one sentence; log line, Event, `doctor`
  Guards guards;                   // all proven just before, in this order
  std::vector<ActionId> after;     // actions of the same Plan that must have been done first
  std::optional<EventText> event;  // none: nothing a user cares about

  ActionId id() const;
};

}  // namespace capstan::plan
