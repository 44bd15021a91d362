// Machines with a slurmd: rows 11 to 14 of decide.h. Bridged pods run beside it.
//
// Of such a machine Slurm alone gives out CPUs, memory and GPUs, to its own jobs and to those that stand for pods. Kubernetes must
// have room for every pod that Slurm sends there: its allocatable resources, less what the worker's pod requests and the more of what
// other pods request and of Settings::reserved_cpu and reserved_memory, must be at least what Slurm gives out. If they are less, the
// node says so. Pods that are in nobody's books there (other_pods.h) are named.
#pragma once

#include <vector>

#include "bridge/node/steps.h"

namespace capstan::bridge::node {

// `records`: of Slurm's nodes, those on this machine (RecordsOn), not empty.
void FollowHybrid(Steps& steps, const plan::World& world, const Node& node,
                  const std::vector<const slurm::Node*>& records);

}  // namespace capstan::bridge::node
