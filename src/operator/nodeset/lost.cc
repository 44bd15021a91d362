#include "operator/nodeset/lost.h"

#include <algorithm>
#include <memory>
#include <optional>
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
// How long a node must have said nothing to slurmctld, which pings it every third of SlurmdTimeout.
constexpr Duration kSilence = 60s;

std::string LostReason(const std::string& machine, const kube::Key& pod) {
  return std::string(kReasonPrefix) + std::string(kMachineNamed) + machine + ") is gone, and Pod (" + pod.ToString() +
         ") with it";
}

bool IsPlaced(const Pod& pod) { return !pod.spec.node_name.empty() && !pod.Ended(); }

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

// What proves that the machine of `node` is lost. nullopt: it is not known to be.
std::optional<plan::Guards> ProofsOfLoss(const plan::World& world, const slurm::Node& node, const std::string& machine,
                                         plan::Plan& plan) {
  const Node* present = world.Find<Node>({"", machine});
  if (present != nullptr && IsOutOfService(*present)) return plan::Guards{MachineIsOutOfService(machine)};
  if (present != nullptr || !node.state.IsNotResponding()) return std::nullopt;
  const Duration held = world.HeldFor("silence of " + node.name + " without " + machine);
  if (held < kSilence) {
    plan.RequeueAfter(kSilence - held);
    return std::nullopt;
  }
  return plan::Guards{MachineIsGone(machine), plan::NodeIsSilent(plan.slurm_cluster, node.name)};
}

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
    if (std::ranges::any_of(workers, [&](const Worker& one) { return one.host == node.name && IsPlaced(*one.pod); }))
      continue;
    std::optional<plan::Guards> guards = ProofsOfLoss(world, node, machine, plan);
    if (!guards) continue;
    const kube::Key key{set.metadata.namespace_, pod};
    guards->push_back(std::make_shared<PodIsNotPlacedGuard>(key));
    guards->push_back(plan::NodeIsNotHeld(plan.slurm_cluster, node.name, std::string(kReasonPrefix)));
    plan.slurm_expects.push_back(node.name);
    plan.Add({.effect = plan::UpdateNode(
                  "down", plan.slurm_cluster,
                  {.names = {node.name}, .action = slurm::NodeAction::kDown, .reason = LostReason(machine, key)}),
              .reason = "its machine " + machine + " is lost, so that its jobs can begin anew",
              .guards = *std::move(guards),
              .after = {},
              .event = {{.reason = EventWord("SlurmNodeDown"), .action = "Update", .warning = true}}});
  }
}

}  // namespace capstan::op::nodeset
