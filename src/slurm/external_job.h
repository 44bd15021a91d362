// Jobs whose processes Slurm does not start (flag EXTERNAL_JOB; Slurm 25.05 and newer): it decides when such a job runs and on
// which nodes, and somebody else starts something there.
//
// An external job has no script, no prolog and no steps, and no slurmd is asked about it. It ends when it is cancelled, when
// its time limit is over, or when one of its nodes fails; it is never requeued (it has no BatchFlag).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "slurm/job_state.h"

namespace capstan::slurm {

// What is asked of Slurm. An empty text, or a member that is not set, leaves the choice to Slurm and its partition.
struct ExternalJob {
  // Chosen by the caller, which only SlurmUser and root may; Slurm's own sequence does not move for it. A submission that is
  // repeated with the same id meets its own job (kAlreadyExists).
  int64_t id = 0;
  std::string name;  // not empty: CancelJob compares it
  std::string partition, account, qos, reservation, wckey, constraints, licenses;
  std::string user, group;  // a number or a name; a user without a group has the group of the token's user
  std::string mcs_label;
  std::string admin_comment;                     // only administrators can write it
  int64_t nodes = 1, most_nodes = 1;             // at least, and at most; the same unless that is more
  std::vector<std::string> required_nodes = {};  // all of these, by name
  std::vector<std::string> excluded_nodes = {};  // none of these. REQUIRES: Slurm knows all of them
  std::optional<int64_t> tasks_per_node, cpus_per_task;
  std::optional<int64_t> memory_mib;     // of each node; not 0, which is all that a node has
  std::string gres;                      // of each node: "gres/gpu=2"
  std::optional<int64_t> limit_minutes;  // time limit
  std::optional<int64_t> priority;
  // "none": whole nodes, which nobody shares; others as Slurm has them ("mcs", "user"); "": as the partition has it.
  std::string shared = "none";

  uint64_t Digest() const;  // equal orders have equal ones, in every process
  bool operator==(const ExternalJob&) const = default;
};

// Members that are set are changed. What SlurmUser changes counts as set by an administrator, so that limits of the user and
// of the partition no longer hold for that member: no limit is ever raised by this.
struct JobUpdate {
  int64_t id = 0;
  std::optional<std::string> admin_comment, name;
};

// Which job is to be cancelled. slurmctld compares all of it in the moment in which it does so.
struct JobCancel {
  int64_t id = 0;
  std::string name;                // not empty: a stranger's job under a reused id has another
  std::optional<JobFlag> only_if;  // its base state: kPending, kRunning or kSuspended
};

}  // namespace capstan::slurm
