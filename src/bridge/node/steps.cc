#include "bridge/node/steps.h"

#include <utility>

#include "base/text.h"
#include "bridge/names.h"
#include "bridge/settings.h"
#include "plan/objects/lists.h"
#include "plan/services.h"
#include "plan/slurm/effects.h"

namespace capstan::bridge::node {
namespace {

using plan::Proof;
using slurm::NodeAction;

constexpr Duration kNotReadyHolds = 1min;
constexpr size_t kLongestMessage = 1024;

// The API server says, asked just now, that it takes work: before a drain of ours is lifted.
class NodeTakesWork final : public plan::Guard {
 public:
  NodeTakesWork(std::string name, std::string uid) : name_(std::move(name)), uid_(std::move(uid)) {}

  std::string text() const override { return "Kubernetes node " + name_ + " is Ready and schedulable"; }

  async::Task<Proof> Prove(plan::Services& services, async::Deadline deadline) const override {
    const auto node = co_await services.client.Get<Node>(kube::kNodes, {"", name_}, {}, deadline);
    if (!node) co_return node.error().code() == Code::kNotFound ? Proof::kNo : Proof::kUnknown;
    co_return node->metadata.uid == uid_ && node->TakesWork() ? Proof::kYes : Proof::kNo;
  }

 private:
  std::string name_, uid_;
};

void AddUpdate(plan::Plan& plan, std::string_view verb, const std::string& slurm_node, slurm::NodeUpdate update,
               const std::string& reason, plan::Guards guards) {
  update.names = {slurm_node};
  plan.slurm_expects.push_back(slurm_node);
  plan.Add({.effect = plan::UpdateNode(verb, kSlurm, std::move(update)),
            .reason = reason,
            .guards = std::move(guards),
            .after = {},
            .event = {}});
}

}  // namespace

void Drain(plan::Plan& plan, const std::string& slurm_node, const std::string& cause) {
  const std::string reason = std::string(kDrainReason) + cause;
  AddUpdate(plan, "drain", slurm_node, {.action = NodeAction::kDrain, .reason = reason}, reason,
            {plan::NodeIsNotHeld(kSlurm, slurm_node, std::string(kDrainReason))});
}

bool Steps::Claim() {
  const std::string name(kNodeBridge), &bridge = SettingsOf(world_).bridge;
  const std::string& whose = node_.metadata.Annotation(name);
  if (!whose.empty()) return whose == bridge;
  json::JsonPatch patch = Unchanged();
  if (node_.metadata.annotations.empty())
    patch.Add("/metadata/annotations", "{" + JsonQuoted(name) + ":" + JsonQuoted(bridge) + "}");
  else
    patch.Add(json::JsonPointer({"metadata", "annotations", name}), JsonQuoted(bridge));
  plan_.Add({.effect = plan::PatchTested("claim", Ref(), node_.metadata.uid, std::move(patch)),
             .reason = "Slurm knows it, or is to know it",
             .guards = {},
             .after = {},
             .event = {}});
  return false;
}

void Steps::Disclaim() {
  json::JsonPatch patch = Unchanged();
  patch.Remove(json::JsonPointer({"metadata", "annotations", kNodeBridge}));
  plan_.Add({.effect = plan::PatchTested("disclaim", Ref(), node_.metadata.uid, std::move(patch)),
             .reason = "it is no node of Slurm any more",
             .guards = {},
             .after = {},
             .event = {}});
}

json::JsonPatch Steps::Unchanged() const {
  json::JsonPatch patch;
  patch.Test("/metadata/resourceVersion", JsonQuoted(std::to_string(node_.metadata.resource_version)));
  return patch;
}

void Steps::Tell(std::string_view type, std::string_view status, std::string_view reason, const std::string& message,
                 bool warning) {
  const NodeCondition wanted{std::string(type), std::string(status), std::string(reason),
                             OneLine(message, kLongestMessage)};
  const NodeCondition* said = node_.Condition(type);
  if (said != nullptr && *said == wanted) return;
  const bool begins = said == nullptr || said->status != wanted.status;
  plan_.Add({.effect = plan::ChangeConditions(
                 Ref(), node_.metadata.uid, {{wanted.type, wanted.status, wanted.reason, wanted.message, begins}}, {}),
             .reason = wanted.message,
             .guards = {},
             .after = {},
             .event = plan::EventText{.reason = wanted.reason, .action = "Register", .warning = warning}});
}

void Steps::TellNothing(std::string_view type) {
  if (node_.Condition(type) == nullptr) return;
  plan_.Add({.effect = plan::ChangeConditions(Ref(), node_.metadata.uid, {}, {std::string(type)}),
             .reason = "there is nothing to say any more as " + std::string(type),
             .guards = {},
             .after = {},
             .event = {}});
}

void Steps::Taint(const std::vector<node::Taint>& wanted) {
  auto patch = TaintsPatch(node_, wanted, SettingsOf(world_).scheduler_name);
  if (!patch) return;
  plan_.Add({.effect = plan::PatchTested("taint", Ref(), node_.metadata.uid, *std::move(patch)),
             .reason = "what Slurm says of it by now",
             .guards = {},
             .after = {},
             .event = {}});
}

std::vector<node::Taint> Steps::ManagedTaint() const {
  const Settings& settings = SettingsOf(world_);
  if (settings.node_taint.empty()) return {};
  return {{std::string(kManagedNodeTaint), settings.scheduler_name, settings.node_taint}};
}

void Steps::Update(std::string_view verb, const std::string& slurm_node, slurm::NodeUpdate update,
                   const std::string& reason, plan::Guards guards) {
  AddUpdate(plan_, verb, slurm_node, std::move(update), reason, std::move(guards));
}

std::string Steps::CauseOfDrain() {
  if (node_.metadata.deleting()) return "removing";
  if (node_.spec.unschedulable) return "cordoned";
  return !node_.IsReady() && Holds("it is not Ready", kNotReadyHolds) ? "not ready" : "";
}

void Steps::DrainOrLift(const slurm::Node& record, const std::string& cause) {
  if (!cause.empty() && record.reason != std::string(kDrainReason) + cause) return Drain(plan_, record.name, cause);
  // One that was lost meanwhile is DOWN with our reason, and stays so when its slurmd is back.
  const bool down = record.state.IsDown();
  const bool by_us = (record.state.IsDraining() || down) && record.reason.starts_with(kDrainReason);
  if (!cause.empty() || !by_us || !node_.TakesWork()) return;
  if (down && record.state.Has(slurm::NodeFlag::kNotResponding)) return;
  Update("undrain", record.name, {.action = down ? NodeAction::kResume : NodeAction::kUndrain},
         "its Kubernetes node takes work again",
         {std::make_shared<NodeTakesWork>(node_.metadata.name, node_.metadata.uid),
          plan::NodeIsNotHeld(kSlurm, record.name, std::string(kDrainReason))});
}

bool Steps::HeldByOthers(const slurm::Node& record) {
  return (record.state.IsDraining() || record.state.IsDown()) && !record.reason.starts_with(kDrainReason);
}

bool Steps::TellDrained(const slurm::Node& record) {
  const std::string is = "Slurm node " + record.name + " is ";
  if (HeldByOthers(record)) {
    const std::string by = record.reason_set_by.empty() ? "" : " by " + record.reason_set_by;
    const std::string_view how = record.state.IsDown() ? "DOWN" : "drained";
    Tell(kNodeCondition, "True", "Drained", is + std::string(how) + by + ": " + OneLine(record.reason, kLongestWords),
         false);
    return true;
  }
  if (!record.state.IsDraining() && !record.state.IsDown()) return false;
  const std::string_view how = record.state.IsDown() ? "DOWN: " : "drained: ";
  Tell(kNodeCondition, "True", "Drained", is + std::string(how) + record.reason, false);
  return true;
}

bool Steps::Holds(const std::string& fact, Duration least) {
  const Duration held = world_.HeldFor(fact);
  if (held < least) plan_.RequeueAfter(least - held);
  return held >= least;
}

}  // namespace capstan::bridge::node
