// A NodeSet that is being deleted: its workers go as in a scale-in to none, and it goes after them.
//
// To that end a NodeSet carries one finalizer, `capstan.dev/drain`; no other kind has one. While it is
// there the API server keeps the object, and the garbage collector leaves alone what the object owns. What is seen
// decides, first match:
//
// | state      | seen                                                    | what is done                                  |
// |------------|---------------------------------------------------------|-----------------------------------------------|
// | kNone      | not being deleted, or without our finalizer             | nothing here                                  |
// | kOrphaning | the finalizer `orphan` (`kubectl delete                 | our finalizer goes at once; the workers live  |
// |            | --cascade=orphan`)                                      | on, without an owner                          |
// | kDone      | Slurm is heard; neither a worker nor a record is left   | our finalizer goes, proven by a fresh list    |
// | kForced    | the annotation `capstan.dev/force-delete`               | our finalizer goes, and the garbage collector |
// |            | is "true"                                               | takes the workers, with whatever runs there   |
// | kAbandoned | the Controller is being deleted or gone. (In a          | the same, proven by a fresh read              |
// |            | Namespace that is being deleted, it is deleted, too.)   |                                               |
// | kSilent    | since ten minutes both the deletion has been asked for  | the same, proven by one more read of Slurm,   |
// |            | and Slurm has not been heard (or has no RestApi)        | which must fail                               |
// | kTidying   | no worker is left; records are, for less than 10 min,   | records are removed; those in a maintenance   |
// |            | or as long as one is in a maintenance reservation, or   | once Slurm lets go of them, those that power  |
// |            | powers up                                               | up once Slurm gives that up                   |
// | kDone      | the same, for more than ten minutes                     | as above                                      |
// | kDraining  | otherwise                                               | scale-in to none. Jobs are waited for as long |
// |            |                                                         | as Slurm says that they run                   |
//
// A worker that has been terminating for ten minutes is not waited for: nothing more can be done about it. In
// kDraining, a worker that Slurm has not known for ten minutes may go although it is ready, if its slurmd has no job
// (identity.h).
//
// With `--cascade=foreground` the garbage collector deletes the pods itself, at once; nobody but the user can prevent
// that, and jobs on them end. The finalizer then waits for the pods to go and tidies up after them.
//
// The ten minutes are those of the API server's timestamps, where there is one, and of what this process has seen
// itself; a restart of it begins the second anew.
#pragma once

#include <string>
#include <vector>

#include "api/nodeset.h"
#include "operator/nodeset/workers.h"
#include "plan/world.h"

namespace capstan::op::nodeset {

inline constexpr Duration kDeletionTimeout = 10min;

enum class DeletionState : uint8_t { kNone, kOrphaning, kDone, kForced, kAbandoned, kSilent, kTidying, kDraining };

struct Deletion {
  DeletionState state = DeletionState::kNone;
  std::string why;                   // kForced, kAbandoned, kSilent: why Slurm is not asked; a sentence
  bool foreground = false;           // Kubernetes takes the workers itself
  std::vector<std::string> records;  // names of records that are left without a worker
  bool reserved = false;             // one of them is in a maintenance reservation: Slurm does not remove it meanwhile
  bool powers_up = false;  // for one of them Slurm waits, and a job perhaps: it ends that in its time (ResumeTimeout)
  Duration requeue_after = Duration::max();

  // The workers go without a drain.
  bool gives_up() const {
    return state == DeletionState::kForced || state == DeletionState::kAbandoned || state == DeletionState::kSilent;
  }
};

Deletion DeletionOf(const plan::World& world, const api::NodeSet& set, const plan::SlurmView& slurm,
                    const std::vector<Worker>& workers);

// The condition Degraded of `set` says already that its workers go without a drain.
bool SaysThatItGivesUp(const api::NodeSet& set);

}  // namespace capstan::op::nodeset
