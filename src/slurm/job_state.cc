#include "slurm/job_state.h"

namespace capstan::slurm {

std::span<const std::string_view> StateNames(JobFlag) {
  static constexpr std::string_view kNames[] = {
      "PENDING",       "RUNNING",   "SUSPENDED",     "COMPLETED",     "CANCELLED", "FAILED",
      "TIMEOUT",       "NODE_FAIL", "PREEMPTED",     "BOOT_FAIL",     "DEADLINE",  "OUT_OF_MEMORY",
      "LAUNCH_FAILED", "REQUEUED",  "REQUEUE_HOLD",  "SPECIAL_EXIT",  "RESIZING",  "CONFIGURING",
      "COMPLETING",    "STOPPED",   "RECONFIG_FAIL", "POWER_UP_NODE", "REVOKED",   "REQUEUE_FED",
      "RESV_DEL_HOLD", "SIGNALING", "STAGE_OUT",     "EXPEDITING",
  };
  static_assert(std::size(kNames) == size_t(JobFlag::kExpediting) + 1);
  return kNames;
}

bool JobState::HoldsNodes() const {
  if (HasAny({JobFlag::kRunning, JobFlag::kSuspended, JobFlag::kCompleting})) return true;
  return !HasAny({JobFlag::kPending, JobFlag::kCompleted, JobFlag::kCancelled, JobFlag::kFailed, JobFlag::kTimeout,
                  JobFlag::kNodeFail, JobFlag::kPreempted, JobFlag::kBootFail, JobFlag::kDeadline,
                  JobFlag::kOutOfMemory});
}

}  // namespace capstan::slurm
