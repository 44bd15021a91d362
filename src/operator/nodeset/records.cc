#include "operator/nodeset/records.h"

#include <algorithm>

#include "operator/names.h"
#include "operator/reasons.h"
#include "plan/slurm/effects.h"

namespace capstan::op::nodeset {

std::optional<plan::Action> RemovalOf(const slurm::Node& node, const api::NodeSet& set, const std::string& cluster) {
  if (node.state.IsBusy()) return std::nullopt;
  // Its slurmd went without a word, and slurmctld itself has given it up.
  const bool lost = node.state.IsDown() && node.state.IsNotResponding() && !node.state.IsFailing() &&
                    slurm::IsReasonOfSlurmctld(node.reason);
  if (!lost && !IsOurDrain(node, set) && !IsOurDown(node, set)) return std::nullopt;
  const std::string_view prefix = lost ? std::string_view(node.reason) : kReasonPrefix;
  return plan::Action{.effect = plan::DeleteNode(cluster, node.name),
                      .reason = "its worker is gone",
                      .guards = {plan::NodeIsOurs(cluster, node.name, std::string(prefix))},
                      .after = {},
                      .event = {{.reason = EventWord("SlurmNodeRemoved"), .action = "Delete"}}};
}

void RemoveRecords(const plan::World& world, const api::NodeSet& set, const plan::SlurmView& slurm,
                   const std::vector<Worker>& workers, const std::set<std::string, std::less<>>& coming,
                   plan::Plan& plan) {
  if (!slurm.heard()) return;
  // Any record may be that of a worker with its Kubernetes node's network, under whatever name.
  if (std::ranges::any_of(workers, [](const Worker& worker) { return worker.pod->spec.host_network; })) return;
  std::set<std::string_view> taken(coming.begin(), coming.end());
  for (const Worker& worker : workers) taken.insert(worker.host);
  std::vector<const slurm::Node*> stray;
  for (const slurm::Node& node : slurm.All()) {
    if (!taken.contains(node.name) && IsRecordOf(node, set)) stray.push_back(&node);
  }
  if (stray.empty()) return;
  const auto hosts = HostsWithPod(world, set, workers);
  for (const slurm::Node* node : stray) {
    if (hosts.contains(node->name)) continue;
    auto removal = RemovalOf(*node, set, plan.slurm_cluster);
    if (!removal) continue;
    plan.slurm_expects.push_back(node->name);
    plan.Add(*std::move(removal));
  }
}

}  // namespace capstan::op::nodeset
