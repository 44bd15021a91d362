#include "operator/service.h"

#include "api/accounting.h"
#include "api/controller.h"
#include "api/loginset.h"
#include "api/nodeset.h"
#include "api/restapi.h"
#include "api/token.h"
#include "operator/controller/decide.h"
#include "operator/later/decide.h"
#include "operator/names.h"
#include "operator/nodeset/decide.h"
#include "operator/objects.h"
#include "operator/restapi/decide.h"

namespace capstan::op {
namespace {

// Custom resources that name a Controller are found by it: "ns/name".
template <class T>
void AddIndexByController(kube::Store<T>& store) {
  store.AddIndex("controller", [](const T& object) {
    return std::vector{object.metadata.namespace_ + "/" + object.spec.controller_ref.name};
  });
}

}  // namespace

std::vector<plan::Reconciler> Reconcilers() {
  return {
      {.kind = "controller",
       .resource = &api::Controller::kResource,
       .decide = &controller::Decide,
       .prunes = {&kube::kStatefulSets, &kube::kServices, &kube::kConfigMaps, &kube::kPodDisruptionBudgets}},
      {.kind = "restapi",
       .resource = &api::RestApi::kResource,
       .decide = &restapi::Decide,
       .prunes = {&kube::kDeployments, &kube::kServices}},
      {.kind = "nodeset",
       .resource = &api::NodeSet::kResource,
       .decide = &nodeset::Decide,
       .prunes = {&kube::kConfigMaps}},
      {.kind = "accounting", .resource = &api::Accounting::kResource, .decide = &later::DecideAccounting, .prunes = {}},
      {.kind = "loginset", .resource = &api::LoginSet::kResource, .decide = &later::DecideLoginSet, .prunes = {}},
      {.kind = "token", .resource = &api::Token::kResource, .decide = &later::DecideToken, .prunes = {}},
  };
}

void AddReconcilers(plan::Engine& engine, std::vector<plan::Reconciler> reconcilers) {
  plan::Stores& stores = engine.stores();
  stores.Add<api::Controller>({.everywhere = true});
  AddIndexByController(stores.Add<api::RestApi>({.everywhere = true}));
  AddIndexByController(stores.Add<api::NodeSet>({.everywhere = true}));
  stores.Add<api::LoginSet>({.everywhere = true});
  stores.Add<api::Accounting>({.everywhere = true});
  stores.Add<api::Token>({.everywhere = true});

  // Children are watched by the labels that every one of them carries, so that other people's objects are never read.
  const std::string ours = std::string(kLabelComponent) + " in (controller,restapi,worker)";
  stores.Add<Pod>({.label_selector = std::string(kLabelComponent) + " in (controller,worker)"});
  stores.Add<StatefulSet>({.label_selector = ours});
  stores.Add<Deployment>({.label_selector = ours});
  stores.Add<Service>({.label_selector = ours});
  stores.Add<ConfigMap>({.label_selector = ours});
  stores.Add<PodDisruptionBudget>({.label_selector = ours});
  stores.Add<CordonedNode>({.field_selector = std::string(CordonedNode::kSelector), .everywhere = true});

  for (plan::Reconciler& reconciler : reconcilers) engine.Add(std::move(reconciler));
}

}  // namespace capstan::op
