#include "operator/nodeset/records.h"

#include <algorithm>

#include "operator/names.h"
#include "operator/nodeset/drains.h"
#include "operator/nodeset/lost.h"
#include "operator/nodeset/machine.h"
#include "operator/nodeset/placement.h"
#include "operator/reasons.h"
#include "operator/worker_comment.h"
#include "plan/slurm/effects.h"

namespace capstan::op::nodeset {

namespace {

// Its slurmd went without a word, and slurmctld itself has given it up, or we have with its machine.
bool IsLost(const slurm::Node& node) {
  if (IsLostWithMachine(node)) return true;
  return node.state.IsDown() && node.state.IsNotResponding() && !node.state.IsFailing() &&
         slurm::IsReasonOfSlurmctld(node.reason);
}

// Of a worker that was called as its pod, which no machine that comes back is.
bool IsOfFormerMode(const api::NodeSet& set, const slurm::Node& node) {
  const auto comment = WorkerComment::Of(node);
  return comment && comment->pod == node.name && OrdinalOf(set.metadata.name, node.name).has_value();
}

// In DaemonSet mode a machine that is lost may come back under its name: its record goes when the user says so, and the
// Kubernetes node is gone, which is proven then, or its worker has another name.
bool IsToStay(const plan::World& world, const api::NodeSet& set, const slurm::Node& node, plan::Guards& guards) {
  if (set.metadata.deleting() || !set.spec.IsDaemonSet() || !IsLost(node)) return false;
  if (IsOfFormerMode(set, node)) return false;
  if (set.spec.prune_slurm_node_records != api::kPruneNodeNotFound) return true;
  const std::string name = MachineOfRecord(node);
  const Node* machine = world.Find<Node>({"", name});
  if (machine == nullptr && !name.empty()) guards.push_back(MachineIsGone(name));
  return machine != nullptr && DaemonHost(*machine) == node.name;
}

}  // namespace

std::optional<plan::ActionId> RemoveRecord(const slurm::Node& node, const api::NodeSet& set,
                                           const plan::SlurmView& slurm, plan::Plan& plan, plan::Guards guards) {
  if (node.state.IsBusy() || node.state.Has(slurm::NodeFlag::kMaintenance)) return std::nullopt;
  if (node.state.IsPoweredDown()) {
    if (IsHeld(node, set)) return std::nullopt;
    plan.slurm_expects.push_back(node.name);
    guards.push_back(plan::NodeIsPoweredDown(plan.slurm_cluster, node.name));
    return plan.Add({.effect = plan::DeleteNode(plan.slurm_cluster, node.name),
                     .reason = "it is powered down, and not wanted any more",
                     .guards = std::move(guards),
                     .after = {},
                     .event = {{.reason = EventWord("SlurmNodeRemoved"), .action = "Delete"}}});
  }
  const bool lost = IsLost(node);
  if (!lost && !IsOurDrain(node, set) && !IsOurDown(node, set)) return std::nullopt;
  const std::string_view prefix = lost ? std::string_view(node.reason) : kReasonPrefix;
  const std::string& cluster = plan.slurm_cluster;
  plan.slurm_expects.push_back(node.name);
  std::vector<plan::ActionId> drained;
  if (IsOurDrain(node, set) && slurm.MayBeLifted(node.name)) {
    slurm::NodeUpdate again{.names = {node.name}, .action = slurm::NodeAction::kDrain, .reason = node.reason};
    drained.push_back(plan.Add({.effect = plan::UpdateNode("drain", cluster, std::move(again)),
                                .reason = "an earlier write may still lift its drain",
                                .guards = {plan::NodeIsNotHeld(cluster, node.name, std::string(kReasonPrefix))}}));
  }
  guards.push_back(plan::NodeIsOurs(cluster, node.name, std::string(prefix), true));
  return plan.Add({.effect = plan::DeleteNode(cluster, node.name),
                   .reason = "its worker is gone",
                   .guards = std::move(guards),
                   .after = std::move(drained),
                   .event = {{.reason = EventWord("SlurmNodeRemoved"), .action = "Delete"}}});
}

void RemoveRecords(const plan::World& world, const api::NodeSet& set, const plan::SlurmView& slurm,
                   const std::vector<Worker>& workers, const std::set<std::string, std::less<>>& coming,
                   const std::set<std::string, std::less<>>& keep, plan::Plan& plan) {
  if (!slurm.heard()) return;
  // Any record may be that of a worker of which nobody knows the name.
  if (!std::ranges::all_of(workers, &Worker::named)) return;
  // Where one that is called as its machine registers next is not known.
  const auto may_register_anywhere = [](const Worker& worker) {
    return worker.named_by_machine() && (worker.stage == Stage::kUnbound || worker.stage == Stage::kUnregistered);
  };
  if (coming.contains("") || std::ranges::any_of(workers, may_register_anywhere)) return;
  std::set<std::string_view> taken(coming.begin(), coming.end());
  for (const Worker& worker : workers) taken.insert(worker.host);
  std::vector<const slurm::Node*> stray;
  for (const slurm::Node& node : slurm.All()) {
    if (!taken.contains(node.name) && !keep.contains(node.name) && IsRecordOf(node, set)) stray.push_back(&node);
  }
  if (stray.empty()) return;
  const auto hosts = HostsWithPod(world, set, workers);
  for (const slurm::Node* node : stray) {
    plan::Guards guards;
    if (hosts.contains(node->name) || IsToStay(world, set, *node, guards)) continue;
    RemoveRecord(*node, set, slurm, plan, std::move(guards));
  }
}

}  // namespace capstan::op::nodeset
