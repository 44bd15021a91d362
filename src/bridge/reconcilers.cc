#include "bridge/reconcilers.h"

#include "bridge/cluster.h"
#include "bridge/group/decide.h"
#include "bridge/node/decide.h"
#include "bridge/nodes.h"
#include "bridge/objects.h"

namespace capstan::bridge {

std::vector<plan::Reconciler> Reconcilers() {
  return {
      {.kind = "cluster",
       .resource = &kube::kNamespaces,
       .decide = &DecideCluster,
       .children = {},
       .has_status = false},
      {.kind = "node",
       .resource = &kube::kNodes,
       .decide = &node::Decide,
       .children = {},
       .uses = node::Rights(),
       .has_status = false},
      {.kind = group::kGroup,
       .resource = &kube::kPods,
       .decide = &group::Decide,
       .children = {},
       .uses = group::Rights(),
       .index = group::kGroup,
       .has_status = false},
  };
}

std::vector<plan::Right> BridgeRights() {
  const std::vector<plan::Reconciler> reconcilers = Reconcilers();
  return plan::RightsOf(reconcilers);
}

std::string RulesTemplate() {
  const std::vector<plan::Right> rights = BridgeRights();
  return "{{/* Made by `capstan rights bridge`; do not edit. */}}\n{{- define \"slurm-bridge.rules\" -}}\n" +
         plan::RulesText(plan::RulesOf(rights, true)) + plan::RulesText(plan::RulesOf(rights, false)) + "{{- end -}}\n";
}

void AddStores(plan::Stores& stores, const std::string& bridge) {
  group::AddPodStores(stores, bridge);
  AddNodeStore(stores);
  stores.Add<Namespace>({.metadata_only = true, .everywhere = true});
}

}  // namespace capstan::bridge
