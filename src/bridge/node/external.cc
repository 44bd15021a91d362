#include "bridge/node/external.h"

#include <algorithm>

#include "base/text.h"
#include "bridge/names.h"
#include "bridge/node/mark.h"
#include "bridge/node/wanted.h"
#include "bridge/nodes.h"
#include "plan/slurm/effects.h"

namespace capstan::bridge::node {
namespace {

using plan::Plan;
using plan::World;
using slurm::NodeFlag;

constexpr Duration kSizeHolds = 5min;
constexpr std::string_view kChanging = "changing";

std::vector<std::string> Sorted(std::vector<std::string> texts) {
  std::ranges::sort(texts);
  return texts;
}

class External {
 public:
  External(Steps& steps, const World& world, const Node& node, const std::string& cluster)
      : steps_(steps),
        plan_(steps.plan()),
        world_(world),
        node_(node),
        settings_(SettingsOf(world)),
        cluster_(cluster),
        slurm_(world.Slurm(kSlurm)),
        name_(node.SlurmName()) {}

  void Run() {
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

 private:
  void Tell(std::string_view status, std::string_view reason, const std::string& message) {
    steps_.Tell(kNodeCondition, status, reason, message, reason != "Registered" && reason != "Waiting");
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
    steps_.Update("mark", name_, {.comment = mark.ToString()}, "it is Kubernetes node " + node_.metadata.name);
  }

  void Follow(const slurm::Node& record, const NodeMark& mark, const Result<slurm::ExternalNode>& wanted) {
    const bool other_size = wanted && SizeOf(*wanted) != mark.size;
    const bool loses_features = wanted && wanted->features.empty() && !record.features.empty();
    std::string cause = steps_.CauseOfDrain();
    if (cause.empty() && (other_size || loses_features) && steps_.Holds("it has another size", kSizeHolds))
      cause = kChanging;
    const bool by_others = Steps::HeldByOthers(record);
    if (!by_others) DrainOrLift(record, cause);
    if (wanted && cause.empty()) FollowAnnotations(record, *wanted);
    std::vector<node::Taint> taints = steps_.ManagedTaint();
    if (by_others) taints.push_back({std::string(kDrainedTaint), "", "NoSchedule"});
    steps_.Taint(taints);
    steps_.TellNothing(kGresCondition);
    TellState(record, wanted);
  }

  void DrainOrLift(const slurm::Node& record, const std::string& cause) {  // rows 7 to 9
    const bool drained_for_it = record.state.IsDrained() && record.reason == std::string(kDrainReason) + cause;
    if (cause == kChanging && drained_for_it) return Remove();
    steps_.DrainOrLift(record, cause);
  }

  void Remove() {  // row 8
    plan_.slurm_expects.push_back(name_);
    plan_.Add({.effect = plan::DeleteNode(kSlurm, name_),
               .reason = "its size cannot be changed; it is made anew",
               .guards = {plan::NodeIsOurs(kSlurm, name_, std::string(kDrainReason), true)},
               .after = {},
               .event = {}});
  }

  void FollowAnnotations(const slurm::Node& record, const slurm::ExternalNode& wanted) {  // row 6
    if (!wanted.features.empty() && Sorted(wanted.features) != Sorted(record.features)) {
      steps_.Update("set features", name_, {.features = wanted.features, .active_features = wanted.features},
                    "annotation " + std::string(kNodePartitions));
    }
    if (!wanted.topology.empty() && wanted.topology != record.topology)
      steps_.Update("set topology", name_, {.topology = wanted.topology}, "annotation " + std::string(kNodeTopology));
  }

  static std::string Has(const slurm::ExternalNode& node) {
    const std::string gres = node.GresText();
    return std::to_string(node.cpus) + " CPUs, " + std::to_string(node.memory_mib) + " MiB" +
           (gres.empty() ? "" : ", " + gres);
  }

  void TellState(const slurm::Node& record, const Result<slurm::ExternalNode>& wanted) {
    const std::string is = "Slurm node " + name_;
    for (const plan::Failure& failure : world_.failures()) {
      if (failure.verb == "set topology" || failure.verb == "set features")
        return Tell("False", "Refused", is + " stays as it was: " + failure.message);
    }
    if (!wanted) return Tell("False", "Invalid", is + " stays as it was: " + wanted.error().message());
    if (steps_.TellDrained(record)) return;
    if (!wanted->gres.empty() && record.gres.empty()) {
      return Tell("True", "GresMissing",
                  is + " has no " + wanted->GresText() +
                      ", as GresTypes of slurm.conf does not name it; once it does, take the label away and set it "
                      "again");
    }
    Tell("True", "Registered", is + " has " + Has(*wanted));
  }

  Steps& steps_;
  Plan& plan_;
  const World& world_;
  const Node& node_;
  const Settings& settings_;
  const std::string& cluster_;
  const plan::SlurmView slurm_;
  const std::string name_;
};

}  // namespace

void FollowExternal(Steps& steps, const World& world, const Node& node, const std::string& cluster) {
  External(steps, world, node, cluster).Run();
}

}  // namespace capstan::bridge::node
