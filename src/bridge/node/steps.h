// What may be done about one Kubernetes node and its nodes of Slurm, whether these have a slurmd or not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bridge/node/taints.h"
#include "bridge/objects.h"
#include "json/merge.h"
#include "plan/objects/effects.h"
#include "plan/plan.h"
#include "plan/world.h"
#include "slurm/snapshot.h"
#include "slurm/source.h"

namespace capstan::bridge::node {

// Begins the reasons of the bridge's drains. No drain with another reason is ever lifted.
inline constexpr std::string_view kDrainReason = "slurm-bridge: ";

// Bytes of somebody else's words that are repeated in a message.
inline constexpr size_t kLongestWords = 200;

// Drains the Slurm node with the reason kDrainReason + cause, while nobody else has drained it.
void Drain(plan::Plan& plan, const std::string& slurm_node, const std::string& cause);

// Adds what is done to the Plan of a node's key. Lives in one Decide.
class Steps {
 public:
  Steps(plan::Plan& plan, const plan::World& world, const Node& node) : plan_(plan), world_(world), node_(node) {}

  plan::Plan& plan() { return plan_; }

  // Of several bridges in one Kubernetes cluster one looks after a node: whoever has marked it first. True: this one does.
  // False: it marks the node now, or another has.
  bool Claim();
  // The mark goes.
  void Disclaim();

  // The node's condition of this type says so, and an Event whose reason is the condition's tells when it changes.
  void Tell(std::string_view type, std::string_view status, std::string_view reason, const std::string& message,
            bool warning);
  // It has no condition of this type.
  void TellNothing(std::string_view type);

  // Of the taints that the bridge writes, the node bears these and no others.
  void Taint(const std::vector<node::Taint>& wanted);
  // The one that keeps other pods away, with the effect that the settings say; none if they say so.
  std::vector<node::Taint> ManagedTaint() const;

  // `verb`: of the action.
  void Update(std::string_view verb, const std::string& slurm_node, slurm::NodeUpdate update, const std::string& reason,
              plan::Guards guards = {});

  // Why the Kubernetes node takes no new work, as the cause of a drain; "": it does, or is not Ready for less than a minute.
  std::string CauseOfDrain();
  // Drains for `cause`, or, where there is none, lifts a drain of ours once the node is seen to take work. REQUIRES: the record
  // is not HeldByOthers.
  void DrainOrLift(const slurm::Node& record, const std::string& cause);
  // It is drained or DOWN, and not by the bridge.
  static bool HeldByOthers(const slurm::Node& record);
  // Tells that it is drained or DOWN, as kNodeCondition. False: it is neither.
  bool TellDrained(const slurm::Node& record);

  // Has held for that long; looks again when it will have.
  bool Holds(const std::string& fact, Duration least);

 private:
  plan::ObjectRef Ref() const { return {&kube::kNodes, {"", node_.metadata.name}}; }
  json::JsonPatch Unchanged() const;  // tests that the node is as it was seen

  plan::Plan& plan_;
  const plan::World& world_;
  const Node& node_;
};

}  // namespace capstan::bridge::node
