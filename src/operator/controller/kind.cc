#include "operator/kind.h"

#include "api/controller.h"
#include "operator/controller/decide.h"
#include "operator/names.h"
#include "operator/objects.h"

namespace capstan::op::controller {
namespace {

constexpr const kube::Resource* kChildren[] = {&kube::kStatefulSets, &kube::kServices, &kube::kConfigMaps,
                                               &kube::kPodDisruptionBudgets, &kServiceMonitors};

constexpr plan::Right kUses[] = {
    // The label of who is in charge; stuck ones; tried without effect, for fields of the template that are not known.
    {&kube::kPods, "get list watch create patch delete"},
    {&kube::kSecrets, "get create"},          // keys, by name; made once when missing
    {&kube::kPersistentVolumeClaims, "get"},  // whether several slurmctld may share it
};

constexpr std::string_view kComponents[] = {op::kController.component, kWorker.component};

// Those of one Accounting are found by it: index "accounting", "ns/name".
void AddStoreByAccounting(plan::Stores& stores) {
  const auto accounting = [](const api::Controller& controller) {
    const auto& ref = controller.spec.accounting_ref;
    return ref ? std::vector{controller.metadata.namespace_ + "/" + ref->name} : std::vector<std::string>();
  };
  stores.Add<api::Controller>({.everywhere = true}).AddIndex("accounting", accounting, &IsWantedAlike<api::Controller>);
}

}  // namespace

extern const Kind kKind;
constinit const Kind kKind{.name = "controller",
                           .resource = &api::Controller::kResource,
                           .decide = &Decide,
                           .children = kChildren,
                           .uses = kUses,
                           .components = kComponents,
                           .add_store = &AddStoreByAccounting};

}  // namespace capstan::op::controller
