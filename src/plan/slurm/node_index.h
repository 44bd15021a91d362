// Nodes of Slurm by what their records say, as the index of a store (kube/store.h).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "slurm/snapshot.h"

namespace capstan::plan {

// The entry that a node's record stands in; "": none.
using NodeEntry = std::string (*)(const slurm::Node& record);

// Names of nodes by their entry; those of one in their order.
using NodeIndex = std::multimap<std::string, std::string, std::less<>>;

// `entry` may be null: nothing is in any.
NodeIndex MakeNodeIndex(NodeEntry entry, const std::vector<slurm::Node>& nodes);

}  // namespace capstan::plan
