#include "bridge/node/decide.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "bridge/names.h"
#include "bridge/node/mark.h"
#include "bridge/node/taints.h"
#include "bridge/node/wanted.h"
#include "bridge/nodes.h"
#include "bridge/objects.h"
#include "bridge/settings.h"
#include "plan/objects/effects.h"
#include "plan/objects/lists.h"
#include "plan/services.h"
#include "plan/slurm/effects.h"

namespace capstan::bridge::node {
namespace {

using plan::Plan;
using plan::Proof;
using plan::World;
using slurm::NodeAction;
using slurm::NodeFlag;

constexpr Duration kNotReadyHolds = 1min, kSizeHolds = 5min, kUnwantedHolds = 1min;
constexpr std::string_view kReason = "slurm-bridge: ";  // with which those of our drains begin
constexpr size_t kLongestWords = 200, kLongestMessage = 1024;

const kube::Key kSystem{"", "kube-system"};

// The API server says, asked just now, that it takes work: before a drain of ours is lifted.
class NodeTakesWork final : public plan::Guard {
 public:
  NodeTakesWork(std::string name, std::string uid) : name_(std::move(name)), uid_(std::move(uid)) {}

  std::string text() const override { return "Kubernetes node " + name_ + " is Ready and schedulable"; }

  async::Task<Proof> Prove(plan::Services& services, async::Deadline deadline) const override {
    const auto node = co_await services.client.Get<Node>(kube::kNodes, {"", name_}, {}, deadline);
    if (!node) co_return node.error().code() == Code::kNotFound ? Proof::kNo : Proof::kUnknown;
    co_return node->metadata.uid == uid_ && node->IsExternal() && node->TakesWork() ? Proof::kYes : Proof::kNo;
  }

 private:
  std::string name_, uid_;
};

void Update(Plan& plan, std::string_view verb, const std::string& name, slurm::NodeUpdate update,
            const std::string& reason, plan::Guards guards = {}, std::optional<plan::EventText> event = {}) {
  update.names = {name};
  plan.slurm_expects.push_back(name);
  plan.Add({.effect = plan::UpdateNode(verb, kSlurm, std::move(update)),
            .reason = reason,
            .guards = std::move(guards),
            .after = {},
            .event = std::move(event)});
}

void Drain(Plan& plan, const std::string& name, const std::string& cause) {
  const std::string reason = std::string(kReason) + cause;
  Update(plan, "drain", name, {.action = NodeAction::kDrain, .reason = reason}, reason,
         {plan::NodeIsNotHeld(kSlurm, name, std::string(kReason))});
}

bool IsDrainOfOurs(const slurm::Node& record) {
  return record.state.IsDraining() && record.reason.starts_with(kReason);
}

std::vector<std::string> Sorted(std::vector<std::string> texts) {
  std::ranges::sort(texts);
  return texts;
}

class Deciding {
 public:
  Deciding(const World& world, const Node& node, const std::string& cluster)
      : world_(world),
        node_(node),
        settings_(SettingsOf(world)),
        cluster_(cluster),
        slurm_(world.Slurm(kSlurm)),
        name_(node.SlurmName()) {
    plan_.slurm_cluster = kSlurm;
  }

  Plan Run() && {
    if (slurm_.heard()) node_.IsExternal() ? Wanted() : Foreign();
    return std::move(plan_);
  }

 private:
  // --- What is shown -------------------------------------------------------------------------------------------------

  void Tell(std::string_view status, std::string_view reason, const std::string& message) {
    const NodeCondition wanted{std::string(kNodeCondition), std::string(status), std::string(reason),
                               OneLine(message, kLongestMessage)};
    const NodeCondition* said = node_.Condition(kNodeCondition);
    if (said != nullptr && *said == wanted) return;
    const bool begins = said == nullptr || said->status != wanted.status;
    plan_.Add(
        {.effect = plan::ChangeConditions(Ref(), node_.metadata.uid,
                                          {{wanted.type, wanted.status, wanted.reason, wanted.message, begins}}, {}),
         .reason = wanted.message,
         .guards = {},
         .after = {},
         .event = plan::EventText{.reason = wanted.reason,
                                  .action = "Register",
                                  .warning = reason != "Registered" && reason != "Drained" && reason != "Waiting"}});
  }
  plan::ObjectRef Ref() const { return {&kube::kNodes, {"", node_.metadata.name}}; }

  void Taint(const std::vector<node::Taint>& wanted) {
    if (auto patch = TaintsPatch(node_, wanted, settings_.scheduler_name)) {
      plan_.Add({.effect = plan::PatchTested("taint", Ref(), node_.metadata.uid, *std::move(patch)),
                 .reason = "what Slurm says of it by now",
                 .guards = {},
                 .after = {},
                 .event = {}});
    }
  }

  // --- Rows ----------------------------------------------------------------------------------------------------------

  void Foreign() {  // row 12
    if (slurm_.Find(name_) != nullptr || !slurm_.absence_counts()) return;
    Taint({});
    if (node_.Condition(kNodeCondition) == nullptr) return;
    plan_.Add({.effect = plan::ChangeConditions(Ref(), node_.metadata.uid, {}, {std::string(kNodeCondition)}),
               .reason = "Slurm is not to know it any more",
               .guards = {},
               .after = {},
               .event = {}});
  }

  void Wanted() {
    if (const std::string twin = Twin(); !twin.empty()) {
      return Tell("False", "NameTaken",
                  "Kubernetes node " + twin + " has the label " + std::string(kSlurmNodeName) + "=" + name_ +
                      ", too; give one of them another name in Slurm");
    }
    const slurm::Node* record = slurm_.Find(name_);
    auto wanted = ExternalNodeOf(node_, settings_);
    if (record == nullptr)
      return wanted ? Make(*std::move(wanted)) : Tell("False", "Invalid", wanted.error().message());
    if (!record->state.Has(NodeFlag::kExternal)) {
      return Tell("False", "NameTaken",
                  "Slurm node " + name_ + " has a slurmd; take the label " + std::string(kExternalNode) +
                      " away, or set the label " + std::string(kSlurmNodeName) + " to another name");
    }
    const auto mark = NodeMark::Of(record->comment);
    if (mark && mark->cluster == cluster_ && mark->bridge != settings_.bridge) return;  // which says how it stands
    const bool ours = mark && mark->cluster == cluster_;
    if (!ours && !record->comment.empty()) {
      return Tell("False", "NameTaken",
                  "Slurm node " + name_ + " is another's, as its comment is " +
                      JsonQuoted(OneLine(record->comment, kLongestWords)) + "; it is left alone");
    }
    if (!ours || mark->node != node_.metadata.name) return Mark(*record, wanted);
    Follow(*record, *mark, wanted);
  }

  // Another node that would be the same one in Slurm.
  std::string Twin() const {
    for (const Node& other : WithSlurmName(world_, name_))
      if (other.metadata.name != node_.metadata.name) return other.metadata.name;
    return "";
  }

  void Make(slurm::ExternalNode wanted) {  // rows 2, 3
    if (!node_.TakesWork())
      return Tell("False", "Waiting", "it is made known to Slurm once it is Ready and schedulable");
    for (const plan::Failure& failure : world_.failures())
      if (failure.verb == "register") Tell("False", "Refused", failure.message);
    plan_.slurm_expects.push_back(name_);
    const std::string reason = "Slurm is to know it, with " + Has(wanted);
    plan_.Add({.effect = plan::CreateNode(kSlurm, std::move(wanted)),
               .reason = reason,
               .guards = {},
               .after = {},
               .event = {}});
  }

  void Mark(const slurm::Node& record, const Result<slurm::ExternalNode>& wanted) {  // row 5
    const bool same = wanted && HasSizeOf(record, *wanted);
    const NodeMark mark{cluster_, settings_.bridge, node_.metadata.name, same ? SizeOf(*wanted) : ""};
    Update(plan_, "mark", name_, {.comment = mark.ToString()}, "it is Kubernetes node " + node_.metadata.name);
  }

  void Follow(const slurm::Node& record, const NodeMark& mark, const Result<slurm::ExternalNode>& wanted) {
    const bool other_size = wanted && SizeOf(*wanted) != mark.size;
    const bool loses_features = wanted && wanted->features.empty() && !record.features.empty();
    const std::string cause = CauseOfDrain(other_size || loses_features);
    const bool out = record.state.IsDraining() || record.state.IsDown();
    const bool by_others = out && !record.reason.starts_with(kReason);
    if (!by_others) DrainOrLift(record, cause);
    if (wanted && cause.empty()) FollowAnnotations(record, *wanted);
    std::vector<node::Taint> taints;
    if (!settings_.node_taint.empty())
      taints.push_back({std::string(kManagedNodeTaint), settings_.scheduler_name, settings_.node_taint});
    if (by_others) taints.push_back({std::string(kDrainedTaint), "", "NoSchedule"});
    Taint(taints);
    TellState(record, wanted, by_others);
  }

  void DrainOrLift(const slurm::Node& record, const std::string& cause) {  // rows 7 to 9
    if (!cause.empty() && record.reason != std::string(kReason) + cause) return Drain(plan_, name_, cause);
    if (cause == kChanging && record.state.IsDrained()) return Remove();
    if (!cause.empty() || !IsDrainOfOurs(record) || !node_.TakesWork()) return;
    Update(plan_, "undrain", name_, {.action = NodeAction::kUndrain}, "its Kubernetes node takes work again",
           {std::make_shared<NodeTakesWork>(node_.metadata.name, node_.metadata.uid),
            plan::NodeIsNotHeld(kSlurm, name_, std::string(kReason))});
  }

  // "": none. The first that holds.
  std::string CauseOfDrain(bool changes) {
    if (node_.metadata.deleting()) return "removing";
    if (node_.spec.unschedulable) return "cordoned";
    if (!node_.IsReady() && Holds("it is not Ready", kNotReadyHolds)) return "not ready";
    return changes && Holds("it has another size", kSizeHolds) ? std::string(kChanging) : "";
  }
  bool Holds(const std::string& fact, Duration least) {
    const Duration held = world_.HeldFor(fact);
    if (held < least) plan_.RequeueAfter(least - held);
    return held >= least;
  }

  void Remove() {  // row 8
    plan_.slurm_expects.push_back(name_);
    plan_.Add({.effect = plan::DeleteNode(kSlurm, name_),
               .reason = "its size cannot be changed; it is made anew",
               .guards = {plan::NodeIsOurs(kSlurm, name_, std::string(kReason), true)},
               .after = {},
               .event = {}});
  }

  void FollowAnnotations(const slurm::Node& record, const slurm::ExternalNode& wanted) {  // row 6
    if (!wanted.features.empty() && Sorted(wanted.features) != Sorted(record.features)) {
      Update(plan_, "set features", name_, {.features = wanted.features, .active_features = wanted.features},
             "annotation " + std::string(kNodePartitions));
    }
    if (!wanted.topology.empty() && wanted.topology != record.topology) {
      Update(plan_, "set topology", name_, {.topology = wanted.topology}, "annotation " + std::string(kNodeTopology));
    }
  }

  static std::string Has(const slurm::ExternalNode& node) {
    const std::string gres = node.GresText();
    return std::to_string(node.cpus) + " CPUs, " + std::to_string(node.memory_mib) + " MiB" +
           (gres.empty() ? "" : ", " + gres);
  }

  void TellState(const slurm::Node& record, const Result<slurm::ExternalNode>& wanted, bool by_others) {
    const std::string is = "Slurm node " + name_;
    for (const plan::Failure& failure : world_.failures()) {
      if (failure.verb == "set topology" || failure.verb == "set features")
        return Tell("False", "Refused", is + " stays as it was: " + failure.message);
    }
    if (!wanted) return Tell("False", "Invalid", is + " stays as it was: " + wanted.error().message());
    if (by_others) {
      const std::string by = record.reason_set_by.empty() ? "" : " by " + record.reason_set_by;
      const std::string_view how = record.state.IsDown() ? "DOWN" : "drained";
      return Tell("True", "Drained",
                  is + " is " + std::string(how) + by + ": " + OneLine(record.reason, kLongestWords));
    }
    if (record.state.IsDraining()) return Tell("True", "Drained", is + " is drained: " + record.reason);
    if (!wanted->gres.empty() && record.gres.empty()) {
      return Tell("True", "GresMissing",
                  is + " has no " + wanted->GresText() +
                      ", as GresTypes of slurm.conf does not name it; once it does, take the label away and set it "
                      "again");
    }
    Tell("True", "Registered", is + " has " + Has(*wanted));
  }

  static constexpr std::string_view kChanging = "changing";

  const World& world_;
  const Node& node_;
  const Settings& settings_;
  const std::string& cluster_;
  const plan::SlurmView slurm_;
  const std::string name_;
  Plan plan_;
};

}  // namespace

Plan Decide(const World& world, const kube::Key& key) {
  const Node* node = world.Find<Node>(key);
  const Namespace* system = world.Find<Namespace>(kSystem);
  if (node == nullptr || system == nullptr) return {};
  return Deciding(world, *node, system->metadata.uid).Run();
}

void EndUnwanted(Plan& plan, const World& world, const std::string& cluster) {
  for (const slurm::Node& record : world.Slurm(kSlurm).All()) {
    if (!record.state.Has(NodeFlag::kExternal)) continue;
    const auto mark = NodeMark::Of(record.comment);
    if (!mark || mark->cluster != cluster || mark->bridge != SettingsOf(world).bridge) continue;
    const Node* node = world.Find<Node>({"", mark->node});
    if (node != nullptr && node->IsExternal() && node->SlurmName() == record.name) continue;
    const Duration held = world.HeldFor("nobody wants Slurm node " + record.name);
    if (held < kUnwantedHolds) {
      plan.RequeueAfter(kUnwantedHolds - held);
    } else if (!record.state.IsDraining()) {
      Drain(plan, record.name, "removing");
    } else if (record.state.IsDrained()) {
      plan.slurm_expects.push_back(record.name);
      plan.Add({.effect = plan::DeleteNode(kSlurm, record.name),
                .reason = "Kubernetes node " + mark->node + " is gone, or Slurm is not to know it any more",
                .guards = {plan::NodeIsDrained(kSlurm, record.name, true)},
                .after = {},
                .event = {}});
    }
  }
}

std::vector<plan::Right> Rights() {
  return {{&kube::kNodes, "get list watch patch"},
          {&kube::kNodes, "patch", "status"},
          {&kube::kNamespaces, "get list watch"}};
}

}  // namespace capstan::bridge::node
