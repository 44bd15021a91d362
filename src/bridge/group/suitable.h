// On which nodes of Slurm pods cannot run, whatever Slurm thinks of them.
#pragma once

#include <string>
#include <vector>

#include "bridge/objects.h"
#include "bridge/settings.h"
#include "plan/world.h"

namespace capstan::bridge::group {

struct Unsuitable {
  // Names in Slurm: of nodes that are no node of this Kubernetes cluster, or that do not suit one of the pods (fit.h).
  std::vector<std::string> nodes;
  // Why none is left, in one sentence with the most frequent reason; "": some are, or there are none at all.
  std::string none_left;
};

// Of the nodes in this partition ("a", or "a,b": in either). Looks at all nodes of Slurm.
Unsuitable UnsuitableFor(const plan::World& world, const std::vector<const Pod*>& pods, const std::string& partition);

}  // namespace capstan::bridge::group
