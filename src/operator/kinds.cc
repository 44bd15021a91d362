#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "base/text.h"
#include "kube/access_reviews.h"
#include "operator/kind.h"
#include "operator/names.h"
#include "operator/objects.h"
#include "plan/engine.h"

namespace capstan::op {

namespace accounting {
extern const Kind kKind;
}
namespace controller {
extern const Kind kKind;
}
namespace loginset {
extern const Kind kKind;
}
namespace nodeset {
extern const Kind kKind;
}
namespace restapi {
extern const Kind kKind;
}
namespace sharedroot {
extern const Kind kKind;
}
namespace slurmcluster {
extern const Kind kKind;
}
namespace token {
extern const Kind kKind;
}

namespace {

constexpr auto kKinds = std::to_array<const Kind*>({
    &controller::kKind,
    &restapi::kKind,
    &nodeset::kKind,
    &accounting::kKind,
    &loginset::kKind,
    &token::kKind,
    &slurmcluster::kKind,
    &sharedroot::kKind,
});

// The kinds that rows may name as children or watch, with the struct that keeps them.
struct Watched {
  const kube::Resource* resource;
  void (*add)(plan::Stores&, plan::Watching);
  bool optional = false;  // not every API server has it
};

template <class T>
constexpr Watched As(bool optional = false) {
  return {&T::kResource, [](plan::Stores& stores, plan::Watching watching) { stores.Add<T>(std::move(watching)); },
          optional};
}

std::vector<std::string> DeploymentOf(const Pod& pod) {
  const json::OwnerReference* owner = pod.metadata.ControllerOwner();
  if (owner == nullptr || owner->kind != "ReplicaSet") return {};
  return {pod.metadata.namespace_ + "/" + owner->name.substr(0, owner->name.rfind('-'))};
}

// Of a kind whose owners come back: those that nobody owns are looked for.
template <class T>
kube::Store<T>& AddAdopted(plan::Stores& stores, plan::Watching watching) {
  kube::Store<T>& store = stores.Add<T>(std::move(watching));
  store.AddIndex(std::string(kIndexOwnerless), [](const T& object) {
    const bool owned = !object.metadata.owner_references.empty();
    return owned ? std::vector<std::string>() : std::vector{object.metadata.namespace_};
  });
  return store;
}

constexpr Watched kWatchedPods{
    &kube::kPods, [](plan::Stores& stores, plan::Watching watching) {
      AddAdopted<Pod>(stores, std::move(watching)).AddIndex(std::string(kIndexDeployment), &DeploymentOf);
    }};
constexpr Watched kWatchedRevisions{&ControllerRevision::kResource, [](plan::Stores& stores, plan::Watching watching) {
                                      AddAdopted<ControllerRevision>(stores, std::move(watching));
                                    }};

constexpr auto kWatched =
    std::to_array<Watched>({kWatchedPods, As<StatefulSet>(), As<Deployment>(), As<Service>(), As<ConfigMap>(),
                            kWatchedRevisions, As<PodDisruptionBudget>(), As<Job>(), As<ServiceMonitor>(true)});

bool Watches(const Kind& kind, const kube::Resource& resource) {
  if (std::ranges::find(kind.children, &resource) != kind.children.end()) return true;
  return plan::Grants(kind.uses, resource, "", "watch");
}

std::string SelectorOf(const kube::Resource& resource) {
  std::set<std::string_view> components;
  for (const Kind* kind : kKinds) {
    if (Watches(*kind, resource)) components.insert(kind->components.begin(), kind->components.end());
  }
  return std::string(kLabelComponent) + " in (" +
         Join(std::vector<std::string>(components.begin(), components.end()), ",") + ")";
}

std::string Template(std::string_view name, bool namespaced) {
  std::string text = "{{- define \"slurm-operator." + std::string(name) + "\" -}}\n";
  return text + plan::RulesText(plan::RulesOf(OperatorRights(), namespaced)) + "{{- end -}}\n";
}

// What --metrics-secure asks the API server (kube/access_reviews.h).
std::string MetricsTemplate() {
  std::string text = "{{- define \"slurm-operator.metricsRules\" -}}\n";
  for (const kube::Resource* resource : {&kube::kTokenReviews, &kube::kSubjectAccessReviews}) {
    const plan::RbacRule rule{std::string(resource->group), {std::string(resource->plural)}, {"create"}};
    text += plan::RulesText({&rule, 1});
  }
  return text + "{{- end -}}\n";
}

}  // namespace

std::span<const Kind* const> Kinds() { return kKinds; }

std::vector<plan::Reconciler> Reconcilers() {
  std::vector<plan::Reconciler> reconcilers;
  for (const Kind* kind : kKinds) {
    reconcilers.push_back({.kind = std::string(kind->name),
                           .resource = kind->resource,
                           .decide = kind->decide,
                           .children = {kind->children.begin(), kind->children.end()},
                           .uses = {kind->uses.begin(), kind->uses.end()}});
  }
  return reconcilers;
}

std::vector<plan::Right> OperatorRights() { return plan::RightsOf(Reconcilers()); }

std::string RulesTemplate() {
  return "{{/* Made by `capstan rights operator`; do not edit. */}}\n" + Template("rules", true) + "\n" +
         Template("clusterRules", false) + "\n" + MetricsTemplate();
}

void AddStores(plan::Stores& stores) {
  for (const Kind* kind : kKinds) kind->add_store(stores);
  for (const Watched& watched : kWatched)
    watched.add(stores, {.label_selector = SelectorOf(*watched.resource), .optional = watched.optional});
  stores.Add<Node>({.everywhere = true});
}

void AddKinds(plan::Engine& engine, std::vector<plan::Reconciler> reconcilers) {
  AddStores(engine.stores());
  for (plan::Reconciler& reconciler : reconcilers) engine.Add(std::move(reconciler));
}

}  // namespace capstan::op
