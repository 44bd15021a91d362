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

// Those of one Accounting, and those that keep their state on one claim of the user's, are found by it: indices "accounting"
// and "claim", "ns/name".
void AddStoreByWhatIsShared(plan::Stores& stores) {
  const auto accounting = [](const api::Controller& controller) {
    const auto& ref = controller.spec.accounting_ref;
    return ref ? std::vector{controller.metadata.namespace_ + "/" + ref->name} : std::vector<std::string>();
  };
  const auto claim = [](const api::Controller& controller) {
    const auto& persistence = controller.spec.persistence;
    const bool none = controller.spec.external.value_or(false) || !persistence || persistence->existing_claim.empty();
    return none ? std::vector<std::string>()
                : std::vector{controller.metadata.namespace_ + "/" + persistence->existing_claim};
  };
  auto& store = stores.Add<api::Controller>({.everywhere = true});
  store.AddIndex("accounting", accounting, &IsWantedAlike<api::Controller>);
  store.AddIndex("claim", claim, &IsWantedAlike<api::Controller>);
}

}  // namespace

extern const Kind kKind;
constinit const Kind kKind{.name = "controller",
                           .resource = &api::Controller::kResource,
                           .decide = &Decide,
                           .children = kChildren,
                           .uses = kUses,
                           .components = kComponents,
                           .add_store = &AddStoreByWhatIsShared};

}  // namespace capstan::op::controller
