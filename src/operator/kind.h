// A kind of custom resource as the operator knows it: one row, in the kind's folder (kind.cc), and one line in kinds.cc.
//
// From the rows come the reconcilers, the stores, what is pruned, the operator's roles in the chart
// (`capstan rights operator`), the World of tests and the API server of the simulator.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/reconciler.h"
#include "plan/stores.h"

namespace capstan::plan {
class Engine;
}

namespace capstan::op {

// All members are constants; a row lives as long as the program.
struct Kind {
  std::string_view name;  // "nodeset"; in keys, logs and metrics
  const kube::Resource* resource = nullptr;
  plan::Decide decide = nullptr;
  std::span<const kube::Resource* const> children;  // kinds that it applies, and prunes
  std::span<const plan::Right> uses;                // besides its object and its children
  // The component labels of what it makes and reads: nothing without one of them is watched.
  std::span<const std::string_view> components;
  void (*add_store)(plan::Stores&) = nullptr;  // of the custom resource, with its indexes
};

// All rows, in the order in which their keys are decided at the start.
std::span<const Kind* const> Kinds();

// The reconcilers of all rows.
std::vector<plan::Reconciler> Reconcilers();

// What the operator may do.
std::vector<plan::Right> OperatorRights();

// The same as Helm templates: "slurm-operator.rules" of kinds with namespaces, "slurm-operator.clusterRules" of those
// without. charts/slurm-operator/templates/_rules.tpl is this.
std::string RulesTemplate();

// A store for each custom resource, and one for each kind that a row applies or watches. Children are watched by the
// component label that every one of them carries, so that other people's objects are never read.
void AddStores(plan::Stores& stores);

// Makes `engine` the operator's: the stores and the reconcilers. REQUIRES: before engine.Run().
void AddKinds(plan::Engine& engine, std::vector<plan::Reconciler> reconcilers = Reconcilers());

// What a person, or another program, wants of an object is the same: all but its status and who wrote it.
template <class T>
bool IsWantedAlike(const T& before, const T& after) {
  const json::ObjectMeta &a = before.metadata, &b = after.metadata;
  return a.uid == b.uid && a.deletion_timestamp == b.deletion_timestamp && a.labels == b.labels &&
         a.annotations == b.annotations && a.finalizers == b.finalizers && before.spec == after.spec;
}

// The store of a custom resource that names its Controller, found by it: index "controller", "ns/name". Who reads the
// index is woken by what is wanted alone: each status would wake the Controller and all its other NodeSets.
template <class T>
void AddStoreByController(plan::Stores& stores) {
  const auto controller = [](const T& object) {
    return std::vector{object.metadata.namespace_ + "/" + object.spec.controller_ref.name};
  };
  stores.Add<T>({.everywhere = true}).AddIndex("controller", controller, &IsWantedAlike<T>);
}

template <class T>
void AddStore(plan::Stores& stores) {
  stores.Add<T>({.everywhere = true});
}

}  // namespace capstan::op
