// What is asked of Slurm for a group of pods: their resources, and the annotations that Slinky's slurm-bridge knows
// (`slurmjob.slinky.slurm.net/`), which stand above what is derived.
//
//   annotation     field            derived otherwise
//   --------------------------------------------------------------------------------------------------------------
//   account, qos, reservation, wckey, constraints, licenses      the text as it is; otherwise Slurm's default
//   partition      partition        the bridge's (Settings::partition)
//   job-name       name             the group's (Shape::name)
//   cpu-per-task   cpus_per_task    the most of requests and limits of any of the pods, rounded up
//   mem-per-node   memory_per_node  likewise, rounded up to MiB, for as many pods as are on a node
//   gres           tres_per_node    nvidia.com/gpu and amd.com/gpu as gres/gpu, of as many pods
//   min-nodes, max-nodes   nodes    as many as the group's places need
//   pods-per-node  tasks_per_node   1
//   timelimit      time_limit       the Job's activeDeadlineSeconds, rounded up; minutes
//   exclusive      shared           whole nodes; "false": shared with others, as Settings::shared says
//
//   user-id, group-id      user, group   the policy's; numbers
//   priority       priority         Slurm's own
//
// The policy of the namespace (policy.h) judges partition, account, QOS, reservation, user, group and priority. Whatever is malformed
// or not allowed is one sentence, and nothing is asked of Slurm.
#pragma once

#include <span>

#include "base/result.h"
#include "bridge/group/shape.h"
#include "bridge/objects.h"
#include "bridge/settings.h"
#include "slurm/external_job.h"

namespace capstan::bridge::group {

struct Order {
  slurm::ExternalJob job;  // `id` and `admin_comment` are left to the caller
  int64_t pods_per_node = 1;

  std::string Hash() const;  // of the job; the same for what asks for the same
};

// `pods`: of the group, not empty. kInvalid: one sentence that names the annotation or the resource, for their user. kForbidden:
// likewise, what the policy of the namespace does not allow.
Result<Order> OrderOf(std::span<const Pod* const> pods, const Shape& shape, const Settings& settings);

// What the pods say of that on which the policy has a word is left out: so are pods charged that run already.
void LeaveToPolicy(Shape& shape);

}  // namespace capstan::bridge::group
