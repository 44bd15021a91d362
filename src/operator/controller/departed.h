// Partitions that nobody asks for any more: of NodeSets that are gone or have no partition now, and of lines that a user
// has removed from spec.extraConf.
//
// slurmctld ends every job that names a partition which slurm.conf does not have, those that run and those that wait, at
// its next reconfigure or start (NODE_FAIL); some releases do not even start while one that is over names it. So its line
// stays, with State=DRAIN: no job can be queued there any more, those that are queued begin while there are nodes for them,
// and those that run go on. It goes when Slurm itself says, after the closed line has been published for a while, that
// the partition is closed, and then that no job names it, not even one that is over and that slurmctld remembers.
// Whatever is not known keeps it. Whoever asks for the name again gets it, open, with the jobs that it has.
#pragma once

#include <string_view>
#include <vector>

#include "api/conditions.h"
#include "operator/controller/config.h"
#include "operator/reconcile.h"

namespace capstan::op::controller {

struct DepartedPartition {
  ConfigDeparted config;
  bool is_published = false;  // it stands in what was published as it is to be written
};

// Those of a published slurm.conf that `wanted` does not have, by name; of one that cannot be read, those whose lines can. Lines that
// slurmctld would not start with are left out or shortened. Pure.
std::vector<DepartedPartition> FindDeparted(const ConfSource& published, const Config& wanted);

// Those that are to stay. Tells which, and why, in a condition, and has the Plan look again; its `slurm` says by then how
// Slurm is reached. `before`: the conditions as they are.
std::vector<ConfigDeparted> KeepDeparted(ReconcileBase& reconcile, const kube::Key& config_map,
                                         std::vector<DepartedPartition> departed, const api::Conditions& before);

}  // namespace capstan::op::controller
