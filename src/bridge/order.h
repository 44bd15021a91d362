// What is asked of Slurm for a pod: its resources, and the annotations that Slinky's slurm-bridge knows
// (`slurmjob.slinky.slurm.net/`), which stand above what is derived.
//
//   annotation     field            derived otherwise
//   -------------------------------------------------------------------------------------------------------
//   account, qos, reservation, wckey, constraints, licenses      the text as it is; otherwise Slurm's default
//   partition      partition        the bridge's (Settings::partition)
//   job-name       name             "<namespace>/<pod>"
//   cpu-per-task   cpus_per_task    the most of requests and limits, rounded up
//   mem-per-node   memory_per_node  likewise, rounded up to MiB
//   gres           tres_per_node    none
//   timelimit      time_limit       none; minutes
//   exclusive      shared           whole nodes; "false": as mcs_label's owners share them (Shared=mcs)
//
// `user-id`, `group-id` and `priority` are refused: who may name them is for a policy to say. Whatever is malformed is one
// sentence, and nothing is asked of Slurm.
#pragma once

#include "base/result.h"
#include "bridge/objects.h"
#include "bridge/settings.h"
#include "kube/quantity.h"
#include "slurm/external_job.h"

namespace capstan::bridge {

// kInvalid: one sentence that names the annotation or the resource, for the pod's user. `id` and `admin_comment` are left to
// the caller.
Result<slurm::ExternalJob> OrderOf(const Pod& pod, const Settings& settings);

// What a pod takes of a resource, as the scheduler counts it: its containers and sidecars together, or its largest init
// container; or what it says of itself as a whole; and its overhead. The more of requests and limits. kInvalid: not a quantity.
Result<kube::Quantity> Taken(const Pod& pod, const std::string& resource);

}  // namespace capstan::bridge
