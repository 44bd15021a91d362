#include "bridge/node/decide.h"

#include "bridge/names.h"
#include "bridge/node/external.h"
#include "bridge/node/hybrid.h"
#include "bridge/node/mark.h"
#include "bridge/node/steps.h"
#include "bridge/nodes.h"
#include "bridge/objects.h"
#include "bridge/settings.h"
#include "plan/slurm/effects.h"

namespace capstan::bridge::node {
namespace {

using plan::Plan;
using plan::World;

constexpr Duration kUnwantedHolds = 1min, kForeignHolds = 1min;

const kube::Key kSystem{"", "kube-system"};

// Row 15.
void Forget(Plan& plan, Steps& steps, const Node& node, const std::string& bridge) {
  if (node.metadata.Annotation(std::string(kNodeBridge)) != bridge) return;
  steps.Taint({});
  steps.TellNothing(kNodeCondition);
  steps.TellNothing(kGresCondition);
  if (plan.actions.empty()) steps.Disclaim();
}

}  // namespace

Plan Decide(const World& world, const kube::Key& key) {
  Plan plan;
  plan.slurm_cluster = kSlurm;
  const Node* node = world.Find<Node>(key);
  const Namespace* system = world.Find<Namespace>(kSystem);
  const plan::SlurmView slurm = world.Slurm(kSlurm);
  if (node == nullptr || system == nullptr || !slurm.heard()) return plan;
  Steps steps(plan, world, *node);
  const Settings& settings = SettingsOf(world);
  if (node->IsExternal()) {
    if (steps.Claim()) FollowExternal(steps, world, *node, system->metadata.uid);
  } else if (settings.ungate) {
    Forget(plan, steps, *node, settings.bridge);
  } else if (const auto records = RecordsOn(world, slurm, *node); !records.empty()) {
    if (steps.Claim()) FollowHybrid(steps, world, *node, records);
  } else if (slurm.absence_counts() && steps.Holds("it is no node of Slurm", kForeignHolds)) {
    Forget(plan, steps, *node, settings.bridge);
  }
  return plan;
}

void EndUnwanted(Plan& plan, const World& world, const std::string& cluster) {
  for (const slurm::Node& record : world.Slurm(kSlurm).All()) {
    if (!record.state.Has(slurm::NodeFlag::kExternal)) continue;
    const auto mark = NodeMark::Of(record.comment);
    if (!mark || mark->cluster != cluster || mark->bridge != SettingsOf(world).bridge) continue;
    const Node* node = world.Find<Node>({"", mark->node});
    const std::string whose = node == nullptr ? "" : node->metadata.Annotation(std::string(kNodeBridge));
    const bool handed_over = !whose.empty() && whose != mark->bridge;
    if (node != nullptr && node->IsExternal() && node->SlurmName() == record.name && !handed_over) continue;
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
          {&kube::kPods, "get list"},
          {&kube::kNamespaces, "get list watch"}};
}

}  // namespace capstan::bridge::node
