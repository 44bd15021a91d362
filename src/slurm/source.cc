#include "slurm/source.h"

#include <algorithm>

namespace capstan::slurm {

std::string_view Name(NodeAction action) {
  static constexpr std::string_view kNames[] = {"DRAIN", "UNDRAIN", "RESUME", "DOWN"};
  return kNames[size_t(action)];
}

const Node* FreshNodes::Find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(nodes, name, {}, &Node::name);
  return found != nodes.end() && found->name == name ? &*found : nullptr;
}

const Partition* PartitionUse::Find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(partitions, name, {}, &Partition::name);
  return found != partitions.end() && found->name == name ? &*found : nullptr;
}

}  // namespace capstan::slurm
