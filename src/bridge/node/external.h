// Machines that Slurm knows without a slurmd: rows 2 to 10 of decide.h.
#pragma once

#include <string>

#include "bridge/node/steps.h"

namespace capstan::bridge::node {

// REQUIRES: node.IsExternal(), and Slurm is heard. `cluster`: uid of kube-system.
void FollowExternal(Steps& steps, const plan::World& world, const Node& node, const std::string& cluster);

}  // namespace capstan::bridge::node
