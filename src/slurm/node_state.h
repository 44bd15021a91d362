// The state of a Slurm node and what may be concluded from it.
#pragma once

#include "slurm/state_set.h"

namespace capstan::slurm {

// The reason that slurmctld itself gives a node which it takes out of service, as nothing was heard from it.
inline constexpr std::string_view kReasonNotResponding = "Not responding";
// The beginning of what it gives a node that registers from a machine which was booted since the node was heard last.
inline constexpr std::string_view kReasonRebooted = "Node unexpectedly rebooted";

// What it gives a node that it has powered up, and whose slurmd did not begin within ResumeTimeout.
inline constexpr std::string_view kReasonNotResumed = "ResumeTimeout reached";

// slurmctld itself gave that reason, as it did not hear from the node.
inline bool IsReasonOfSlurmctld(std::string_view reason) {
  return reason == kReasonNotResponding || reason == kReasonNotResumed || reason.starts_with(kReasonRebooted);
}

// Base states first, then flags, each spelled as REST spells it (kNotResponding is "NOT_RESPONDING").
enum class NodeFlag : uint8_t {
  // Base states: a node has one.
  kInvalid,
  kUnknown,
  kDown,
  kIdle,
  kAllocated,
  kError,
  kMixed,
  kFuture,
  kExternal,
  // Flags: a node has any number.
  kReserved,
  kUndrain,
  kCloud,
  kResume,
  kDrain,
  kCompleting,
  kNotResponding,
  kPoweredDown,
  kFail,
  kPoweringUp,
  kMaintenance,
  kRebootRequested,
  kRebootCanceled,
  kPoweringDown,
  kDynamicFuture,
  kRebootIssued,
  kPlanned,
  kInvalidReg,
  kPowerDown,
  kPowerUp,
  kPowerDrain,
  kPowerDownAsap,
  kPowerDownForce,
  kDynamicNorm,
  kBlocked,
};

std::span<const std::string_view> StateNames(NodeFlag);

// What a person sees in one word, first match wins in this order: Slurm's base state with ALLOCATED before
// all else.
enum class NodeBase : uint8_t { kAllocated, kMixed, kDown, kError, kFuture, kIdle, kExternal, kUnknown };
std::string_view Name(NodeBase base);

class NodeState : public StateSet<NodeFlag> {
 public:
  using StateSet::StateSet;
  NodeState() = default;
  NodeState(StateSet set) : StateSet(std::move(set)) {}  // NOLINT(google-explicit-constructor)

  // kUnknown also for no base state at all, and for one that this version does not know.
  NodeBase base() const;

  // Jobs run here, or their last processes and epilogs are still being waited for.
  bool IsBusy() const { return HasAny({NodeFlag::kAllocated, NodeFlag::kMixed, NodeFlag::kCompleting}); }

  // No new job will start here, as somebody asked for that: DRAIN, which UNDRAIN takes back while it may still show, or
  // FAIL.
  bool IsDraining() const { return (Has(NodeFlag::kDrain) && !Has(NodeFlag::kUndrain)) || IsFailing(); }

  // Somebody says that the node is about to fail. Nothing in Slurm or in Capstan writes this by itself.
  bool IsFailing() const { return Has(NodeFlag::kFail); }

  // Drained: no job runs here and none will start. A suspended job may be here all the same: it leaves its node IDLE.
  // False when the base state is not one this version knows, since that could mean busy.
  bool IsDrained() const { return IsDraining() && !IsBusy() && base() != NodeBase::kUnknown; }

  bool IsDown() const { return Has(NodeFlag::kDown); }
  bool IsNotResponding() const { return Has(NodeFlag::kNotResponding); }

  // Slurm's power saving has stopped it, or is doing so, and has not asked for it since. A job may have been given it
  // already: POWERING_UP comes up to ten seconds later (seen with Slurm 26.05). A slurmd that registers before that has
  // rebooted unexpectedly for slurmctld, which ends the job.
  bool IsOff() const { return HasAny({NodeFlag::kPoweredDown, NodeFlag::kPoweringDown}) && !IsPoweringUp(); }
  // Off, and no job has been given it.
  bool IsPoweredDown() const { return IsOff() && !IsBusy(); }
  // A job that was given the node waits for its slurmd to begin, or somebody has asked for the node.
  bool IsPoweringUp() const { return Has(NodeFlag::kPoweringUp); }
  // The same, or off and given to a job, which is to be powered up. DRAIN, FAIL or DOWN takes the node from such a job at once: it is queued again, or
  // ends as NODE_FAIL where it is not to be (seen with Slurm 26.05).
  bool AwaitsSlurmd() const { return IsPoweringUp() || (IsOff() && HasAny({NodeFlag::kAllocated, NodeFlag::kMixed})); }

  // A job could start here now: IDLE or MIXED without anything that forbids it.
  bool IsUsable() const;

  // The node came by registration (slurmd -Z), so its record can be deleted.
  bool IsDynamic() const { return Has(NodeFlag::kDynamicNorm); }
};

}  // namespace capstan::slurm
