#include "operator/nodeset/records.h"

#include <algorithm>

#include "operator/names.h"
#include "plan/slurm_effects.h"

namespace capstan::op::nodeset {
namespace {

void Remove(const slurm::Node& node, plan::Plan& plan) {
  // Its slurmd went without a word, and slurmctld itself has given it up.
  const bool lost = node.state.IsDown() && node.state.IsNotResponding() && node.reason == slurm::kReasonNotResponding;
  if (!lost && !IsOurDrain(node) && !IsOurDown(node)) return;
  const std::string_view prefix = lost ? slurm::kReasonNotResponding : kReasonPrefix;
  plan.slurm_expects.push_back(node.name);
  plan.Add({.effect = plan::DeleteNode(plan.slurm_cluster, node.name),
            .reason = "its worker is gone",
            .guards = {plan::NodeIsOurs(plan.slurm_cluster, node.name, std::string(prefix))},
            .after = {},
            .event = {{.reason = "SlurmNodeRemoved", .action = "Delete"}}});
}

}  // namespace

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
    if (!taken.contains(node.name) && IsRecordOf(node, set) && !node.state.IsBusy()) stray.push_back(&node);
  }
  if (stray.empty()) return;
  const auto hosts = HostsWithPod(world, set, workers);
  for (const slurm::Node* node : stray) {
    if (!hosts.contains(node->name)) Remove(*node, plan);
  }
}

}  // namespace capstan::op::nodeset
