// How every Decide of the operator begins and ends. A kind's Decide looks its object up, makes one of these, says what it
// wants and what it has found out, and finishes:
//
//   plan::Plan Decide(const plan::World& world, const kube::Key& key) {
//     const auto* login_set = FindToServe<api::LoginSet>(world, key);
//     if (login_set == nullptr) return {};
//     Reconcile<api::LoginSet> reconcile(world, *login_set);
//     reconcile.Want(LoginService(reconcile.object));
//     ...
//     return reconcile.Finish(api::LoginSetStatus());
//   }
//
// Lives as long as one Decide, on its thread; refers to the World.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "api/common.h"
#include "json/codec.h"
#include "operator/findings.h"
#include "operator/names.h"
#include "operator/objects.h"
#include "plan/plan.h"
#include "plan/world.h"

namespace capstan::op {

// The object; nullptr: there is none, or it is being deleted and leaves its children to the garbage collector.
template <class T>
const T* FindToServe(const plan::World& world, const kube::Key& key) {
  const T* object = world.Find<T>(key);
  return object == nullptr || object->metadata.deleting() ? nullptr : object;
}

// What does not depend on the kind.
struct ReconcileBase {
  explicit ReconcileBase(const plan::World& seen) : world(seen) {}

  // Something wanted cannot be told now: what is there stays as it is, and nothing is pruned.
  void KeepWhatIsThere() { plan.children_complete = false; }

  // Wants the child. One that cannot be made is a problem (InvalidSpec), and what is there stays: false.
  bool Want(Result<plan::Child> child);

  // `configuration`, a hash, has stood still for a second; else the Plan waits for that. A cluster is installed object by
  // object: `daemon` is not started to be restarted at once for the NodeSets that come a moment after their Controller.
  bool HasSettled(const std::string& configuration, std::string_view daemon);

  // Says how far `workload`, a StatefulSet or Deployment, has come with `wanted` pods of `daemon`; nullptr: it is not there.
  // Goes after other problems and waits: one of these is why it is not there.
  template <class W>
  void Runs(const W* workload, int32_t wanted, std::string_view daemon) {
    if (workload == nullptr) return IsToCome(daemon);
    const json::ObjectMeta& metadata = workload->metadata;
    if (IsComplete(metadata, workload->status, wanted, daemon)) return;
    if constexpr (std::is_same_v<W, Deployment>)
      TellOf(world.By<Pod>(kIndexDeployment, metadata.namespace_ + "/" + metadata.name), daemon);
    else
      TellOf(world.OwnedBy<Pod>(metadata.uid), daemon);
  }

  // Deletes pods of `set`, which is this object's, that are not of its newest template and for which `stuck` holds: a
  // StatefulSet replaces no pod before it is ready, so that one which never can be holds up the template that mends it.
  // `why` says of the pod what `stuck` is.
  void ReplaceStuck(const StatefulSet& set, bool (*stuck)(const Pod& pod), std::string_view why);

  const plan::World& world;
  Findings findings;
  plan::Plan plan;

 private:
  void IsToCome(std::string_view daemon);
  void AskWhyNot(const Pod& pod);
  bool IsComplete(const json::ObjectMeta& metadata, const WorkloadStatus& status, int32_t wanted,
                  std::string_view daemon);
  void TellOf(const kube::ObjectList<Pod>& pods, std::string_view daemon);
};

// T: a custom resource, with spec and status.
template <class T>
struct Reconcile : ReconcileBase {
  Reconcile(const plan::World& seen, const T& found) : ReconcileBase(seen), object(found) {
    object.spec = api::WithDefaults(std::move(object.spec));
  }

  // The Plan, with `status` and the conditions that the findings and failed actions make. Call it once.
  template <class Status>
  plan::Plan Finish(Status status) {
    findings.AddFailures(world);
    status.conditions = ConditionsOf(object.status.conditions, findings, object.metadata.generation, world.now());
    plan.status = json::Encode(status);
    return std::move(plan);
  }

  T object;  // as it was found, with its defaults
};

}  // namespace capstan::op
