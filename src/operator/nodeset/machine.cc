#include "operator/nodeset/machine.h"

#include <algorithm>

#include "kube/client.h"
#include "plan/services.h"

namespace capstan::op::nodeset {
namespace {

using async::Deadline;
using async::Task;
using plan::Proof;
using plan::Services;

constexpr std::string_view kOutOfService = "node.kubernetes.io/out-of-service";

// What keeps work from the machine, after "Kubernetes node k1 "; "": nothing.
std::string WhyNoWork(const Node& machine) {
  if (machine.spec.unschedulable) return "is cordoned";
  if (IsOutOfService(machine)) return "has the taint " + std::string(kOutOfService);
  return IsReady(machine) ? "" : "is not ready";
}

// What the API server says of a machine, asked just now.
class MachineGuard final : public plan::Guard {
 public:
  using Judge = Proof (*)(const Node* machine);  // nullptr: there is none

  MachineGuard(std::string machine, std::string_view what, Judge judge)
      : machine_(std::move(machine)), what_(what), judge_(judge) {}

  std::string text() const override { return "Kubernetes node " + machine_ + " is " + std::string(what_); }

  Task<Proof> Prove(Services& services, Deadline deadline) const override {
    const auto machine = co_await services.client.Get<Node>(kube::kNodes, {"", machine_}, {}, deadline);
    if (machine) co_return judge_(&*machine);
    co_return machine.error().code() == Code::kNotFound ? judge_(nullptr) : Proof::kUnknown;
  }

 private:
  std::string machine_;
  std::string_view what_;
  Judge judge_;
};

Proof Says(bool holds) { return holds ? Proof::kYes : Proof::kNo; }

}  // namespace

bool IsOutOfService(const Node& machine) {
  return std::ranges::any_of(machine.spec.taints, [](const Taint& taint) { return taint.key == kOutOfService; });
}

bool IsReady(const Node& machine) {
  return std::ranges::any_of(machine.status.conditions,
                             [](const NodeCondition& one) { return one.type == "Ready" && one.status == "True"; });
}

std::string MachineTrouble(const Worker& worker) {
  const std::string machine = "Kubernetes node " + worker.pod->spec.node_name;
  if (worker.machine == nullptr) return machine + " is not there";
  const std::string why = WhyNoWork(*worker.machine);
  return why.empty() ? "" : machine + " " + why;
}

std::string WhyNotInService(const Worker& worker) {
  if (std::string machine = MachineTrouble(worker); !machine.empty()) return machine;
  if (!worker.pod->Ready()) return "its pod is not ready";
  return worker.node->state.IsNotResponding() ? "it does not answer Slurm" : "";
}

std::shared_ptr<const plan::Guard> MachineIsGone(std::string machine) {
  return std::make_shared<MachineGuard>(std::move(machine), "gone or out of service", [](const Node* found) {
    return Says(found == nullptr || IsOutOfService(*found));
  });
}

std::shared_ptr<const plan::Guard> MachineIsOutOfService(std::string machine) {
  return std::make_shared<MachineGuard>(std::move(machine), "out of service", [](const Node* found) {
    return Says(found != nullptr && IsOutOfService(*found));
  });
}

std::shared_ptr<const plan::Guard> MachineTakesWork(std::string machine) {
  return std::make_shared<MachineGuard>(std::move(machine), "there, schedulable and ready", [](const Node* found) {
    return Says(found != nullptr && WhyNoWork(*found).empty());
  });
}

}  // namespace capstan::op::nodeset
