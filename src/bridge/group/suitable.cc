#include "bridge/group/suitable.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "bridge/fit.h"
#include "bridge/nodes.h"

namespace capstan::bridge::group {
namespace {

std::string WhyNot(const plan::World& world, const plan::SlurmView& slurm, const std::vector<Needs>& needs,
                   const std::string& slurm_node) {
  const auto name = KubernetesNodeOf(world, slurm, slurm_node);
  const Node* node = name ? world.Find<Node>({"", *name}) : nullptr;
  if (node == nullptr) return "is no node of this Kubernetes cluster";
  for (const Needs& one : needs)
    if (std::string why = one.WhyNot(*node); !why.empty()) return why;
  return {};
}

}  // namespace

Unsuitable UnsuitableFor(const plan::World& world, const std::vector<const Pod*>& pods, const std::string& partition) {
  std::vector<Needs> needs;
  for (const Pod* pod : pods) {
    Needs one(*pod, SettingsOf(world));
    if (std::ranges::find(needs, one) == needs.end()) needs.push_back(std::move(one));
  }
  const plan::SlurmView slurm = world.Slurm(kSlurm);
  const std::vector<std::string_view> partitions = Split(partition, ',');
  Unsuitable unsuitable;
  std::map<std::string, size_t> reasons;
  size_t all = 0;
  for (const slurm::Node& record : slurm.All()) {
    const auto has = [&](std::string_view one) {
      return std::ranges::find(record.partitions, one) != record.partitions.end();
    };
    if (std::ranges::none_of(partitions, has)) continue;
    ++all;
    std::string why = WhyNot(world, slurm, needs, record.name);
    if (why.empty()) continue;
    unsuitable.nodes.push_back(record.name);
    ++reasons[std::move(why)];
  }
  if (all == 0 || unsuitable.nodes.size() < all) return unsuitable;
  const auto most = std::ranges::max_element(reasons, {}, [](const auto& reason) { return reason.second; });
  unsuitable.none_left = "no node of partition " + partition + " suits the pod: each of " +
                         std::to_string(most->second) + " of " + std::to_string(all) + " " + most->first;
  return unsuitable;
}

}  // namespace capstan::bridge::group
