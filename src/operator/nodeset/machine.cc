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

class MachineIsGoneGuard final : public plan::Guard {
 public:
  explicit MachineIsGoneGuard(std::string machine) : machine_(std::move(machine)) {}

  std::string text() const override { return "Kubernetes node " + machine_ + " is gone or out of service"; }

  Task<Proof> Prove(Services& services, Deadline deadline) const override {
    const auto machine = co_await services.client.Get<Node>(kube::kNodes, {"", machine_}, {}, deadline);
    if (!machine) co_return machine.error().code() == Code::kNotFound ? Proof::kYes : Proof::kUnknown;
    co_return IsOutOfService(*machine) ? Proof::kYes : Proof::kNo;
  }

 private:
  std::string machine_;
};

class MachineIsOutOfServiceGuard final : public plan::Guard {
 public:
  explicit MachineIsOutOfServiceGuard(std::string machine) : machine_(std::move(machine)) {}

  std::string text() const override { return "Kubernetes node " + machine_ + " is out of service"; }

  Task<Proof> Prove(Services& services, Deadline deadline) const override {
    const auto machine = co_await services.client.Get<Node>(kube::kNodes, {"", machine_}, {}, deadline);
    if (!machine) co_return machine.error().code() == Code::kNotFound ? Proof::kNo : Proof::kUnknown;
    co_return IsOutOfService(*machine) ? Proof::kYes : Proof::kNo;
  }

 private:
  std::string machine_;
};

class MachineTakesWorkGuard final : public plan::Guard {
 public:
  explicit MachineTakesWorkGuard(std::string machine) : machine_(std::move(machine)) {}

  std::string text() const override { return "Kubernetes node " + machine_ + " is there, schedulable and ready"; }

  Task<Proof> Prove(Services& services, Deadline deadline) const override {
    const auto machine = co_await services.client.Get<Node>(kube::kNodes, {"", machine_}, {}, deadline);
    if (!machine) co_return machine.error().code() == Code::kNotFound ? Proof::kNo : Proof::kUnknown;
    co_return WhyNoWork(*machine).empty() ? Proof::kYes : Proof::kNo;
  }

 private:
  std::string machine_;
};

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
  return std::make_shared<MachineIsGoneGuard>(std::move(machine));
}

std::shared_ptr<const plan::Guard> MachineIsOutOfService(std::string machine) {
  return std::make_shared<MachineIsOutOfServiceGuard>(std::move(machine));
}

std::shared_ptr<const plan::Guard> MachineTakesWork(std::string machine) {
  return std::make_shared<MachineTakesWorkGuard>(std::move(machine));
}

}  // namespace capstan::op::nodeset
