#include "plan/slurm/node_index.h"

namespace capstan::plan {

NodeIndex MakeNodeIndex(NodeEntry entry, const std::vector<slurm::Node>& nodes) {
  NodeIndex index;
  if (entry == nullptr) return index;
  for (const slurm::Node& node : nodes)
    if (std::string value = entry(node); !value.empty()) index.emplace(std::move(value), node.name);
  return index;
}

}  // namespace capstan::plan
