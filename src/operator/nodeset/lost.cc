#include "operator/nodeset/lost.h"

#include <algorithm>
#include <memory>
#include <string>

#include "kube/client.h"
#include "operator/names.h"
#include "operator/nodeset/drains.h"
#include "operator/nodeset/machine.h"
#include "operator/objects.h"
#include "operator/reasons.h"
#include "plan/services.h"
#include "plan/slurm/effects.h"

namespace capstan::op::nodeset {
namespace {

using async::Deadline;
using async::Task;
using plan::Proof;
using plan::Services;

constexpr std::string_view kMachineNamed = "Machine (";

std::string LostReason(const std::string& machine, const kube::Key& pod) {
  return std::string(kReasonPrefix) + std::string(kMachineNamed) + machine + ") is gone, and Pod (" + pod.ToString() +
         ") with it";
}

bool IsPlaced(const Pod& pod) {
  return !pod.spec.node_name.empty() && pod.status.phase != "Failed" && pod.status.phase != "Succeeded";
}

class PodIsNotPlacedGuard final : public plan::Guard {
 public:
  explicit PodIsNotPlacedGuard(kube::Key pod) : pod_(std::move(pod)) {}

  std::string text() const override { return "no pod " + pod_.ToString() + " runs"; }

  Task<Proof> Prove(Services& services, Deadline deadline) const override {
    const auto pod = co_await services.client.Get<Pod>(kube::kPods, pod_, {}, deadline);
    if (!pod) co_return pod.error().code() == Code::kNotFound ? Proof::kYes : Proof::kUnknown;
    co_return IsPlaced(*pod) ? Proof::kNo : Proof::kYes;
  }

 private:
  kube::Key pod_;
};

}  // namespace

bool IsLostWithMachine(const slurm::Node& node) {
  return node.state.IsDown() && !node.state.IsFailing() &&
         node.reason.starts_with(std::string(kReasonPrefix) + std::string(kMachineNamed));
}

void GiveUpLost(const plan::World& world, const api::NodeSet& set, const plan::SlurmView& slurm,
                const std::vector<Worker>& workers, plan::Plan& plan) {
  // A Kubernetes without any node is not to be believed.
  if (!slurm.heard() || world.In<Node>("").empty()) return;
  for (const slurm::Node& node : slurm.All()) {
    if (!node.state.IsBusy() || node.state.IsDown() || node.state.IsFailing() || !IsRecordOf(node, set)) continue;
    if (node.state.IsDraining() && !IsOurDrain(node, set)) continue;
    const std::string machine = MachineOfRecord(node), pod = PodOfRecord(node);
    if (machine.empty() || pod.empty()) continue;
    const Node* present = world.Find<Node>({"", machine});
    if (present != nullptr && !IsOutOfService(*present)) continue;
    if (std::ranges::any_of(workers, [&](const Worker& one) { return one.host == node.name && IsPlaced(*one.pod); }))
      continue;
    const kube::Key key{set.metadata.namespace_, pod};
    plan.slurm_expects.push_back(node.name);
    plan.Add({.effect = plan::UpdateNode(
                  "down", plan.slurm_cluster,
                  {.names = {node.name}, .action = slurm::NodeAction::kDown, .reason = LostReason(machine, key)}),
              .reason = "its machine " + machine + " is gone, so that its jobs can begin anew",
              .guards = {MachineIsGone(machine), std::make_shared<PodIsNotPlacedGuard>(key),
                         plan::NodeIsNotHeld(plan.slurm_cluster, node.name, std::string(kReasonPrefix))},
              .after = {},
              .event = {{.reason = EventWord("SlurmNodeDown"), .action = "Update", .warning = true}}});
  }
}

}  // namespace capstan::op::nodeset
