#include "bridge/group/suitable.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/text.h"
#include "bridge/fit.h"
#include "bridge/nodes.h"

namespace capstan::bridge::group {
namespace {

// What the pods of a group need, and what became of the taints that were looked at.
class Judge {
 public:
  Judge(const plan::World& world, const std::vector<const Pod*>& pods) : nodes_(world) {
    for (const Pod* pod : pods) {
      Needs one(*pod, SettingsOf(world));
      if (std::ranges::find(needs_, one) == needs_.end()) needs_.push_back(std::move(one));
    }
  }

  // "": it suits all of them.
  std::string WhyNot(const slurm::Node& record) {
    const Node* node = nodes_.Of(record);
    if (node == nullptr) return "is no node of this Kubernetes cluster";
    for (const Needs& one : needs_)
      if (std::string why = one.WhyNotByLabels(*node); !why.empty()) return why;
    const auto [by_taints, is_new] = by_taints_.try_emplace(node->spec.taints.text);
    for (size_t i = 0; is_new && i < needs_.size() && by_taints->second.empty(); ++i)
      by_taints->second = needs_[i].WhyNotByTaints(*node);
    return by_taints->second;
  }

 private:
  KubernetesNodes nodes_;
  std::vector<Needs> needs_;
  std::map<std::string_view, std::string> by_taints_;  // by their text
};

}  // namespace

Unsuitable UnsuitableFor(const plan::World& world, const std::vector<const Pod*>& pods, const std::string& partition) {
  Judge judge(world, pods);
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
    std::string why = judge.WhyNot(record);
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
