// The state of a Slurm job and what may be concluded from it.
#pragma once

#include "slurm/state_set.h"

namespace capstan::slurm {

// Base states first, then flags, each spelled as REST spells it.
enum class JobFlag : uint8_t {
  kPending,
  kRunning,
  kSuspended,
  kCompleted,
  kCancelled,
  kFailed,
  kTimeout,
  kNodeFail,
  kPreempted,
  kBootFail,
  kDeadline,
  kOutOfMemory,
  kLaunchFailed,
  kRequeued,
  kRequeueHold,
  kSpecialExit,
  kResizing,
  kConfiguring,
  kCompleting,
  kStopped,
  kReconfigFail,
  kPowerUpNode,
  kRevoked,
  kRequeueFed,
  kResvDelHold,
  kSignaling,
  kStageOut,
  kExpediting,
};

std::span<const std::string_view> StateNames(JobFlag);

class JobState : public StateSet<JobFlag> {
 public:
  using StateSet::StateSet;
  JobState() = default;
  JobState(StateSet set) : StateSet(std::move(set)) {}  // NOLINT(google-explicit-constructor)

  bool IsPending() const { return Has(JobFlag::kPending); }

  // It holds nodes: running, suspended, or its last processes are still being waited for. True for a state
  // with no base that this version knows, since that could mean running.
  bool HoldsNodes() const;

  // It has ended for good and holds nothing any more.
  bool IsOver() const { return !IsPending() && !HoldsNodes(); }
};

}  // namespace capstan::slurm
