#include "operator/nodeset/release.h"

#include <algorithm>

#include "api/controller.h"
#include "kube/client.h"
#include "operator/names.h"
#include "operator/objects.h"
#include "plan/objects/guards.h"
#include "plan/objects/lists.h"
#include "plan/services.h"

namespace capstan::op::nodeset {
namespace {

using async::Deadline;
using async::Task;
using plan::Proof;
using plan::Services;

constexpr Duration kSilenceTimeout = 10s;  // less than the Executor gives an action

plan::ObjectRef RefOf(const api::NodeSet& set) {
  return {&api::NodeSet::kResource, {set.metadata.namespace_, set.metadata.name}};
}

// --- Proofs ----------------------------------------------------------------------------------------------------------

class NoWorkerIsLeftGuard final : public plan::Guard {
 public:
  NoWorkerIsLeftGuard(std::string ns, std::string uid) : ns_(std::move(ns)), uid_(std::move(uid)) {}

  std::string text() const override { return "no worker of the NodeSet is left"; }

  Task<Proof> Prove(Services& services, Deadline deadline) const override {
    kube::ListOptions options{
        .ns = ns_, .label_selector = std::string(kLabelComponent) + "=" + std::string(kWorker.component), .limit = 0};
    const auto pods = co_await services.client.List<Pod>(kube::kPods, std::move(options), deadline);
    if (!pods) co_return Proof::kUnknown;
    const bool left = std::ranges::any_of(pods->items, [&](const Pod& pod) {
      const json::OwnerReference* owner = pod.metadata.ControllerOwner();
      return owner != nullptr && owner->uid == uid_ && !pod.metadata.deleting();
    });
    co_return left ? Proof::kNo : Proof::kYes;
  }

 private:
  std::string ns_;
  std::string uid_;
};

class ClusterIsAbandonedGuard final : public plan::Guard {
 public:
  ClusterIsAbandonedGuard(std::string ns, std::string controller)
      : ns_(std::move(ns)), controller_(std::move(controller)) {}

  std::string text() const override { return "Controller " + controller_ + " is gone or going"; }

  Task<Proof> Prove(Services& services, Deadline deadline) const override {
    kube::Key key{ns_, controller_};
    const auto controller =
        co_await services.client.Get<api::Controller>(api::Controller::kResource, std::move(key), {}, deadline);
    if (!controller) co_return controller.error().code() == Code::kNotFound ? Proof::kYes : Proof::kUnknown;
    co_return controller->metadata.deleting() ? Proof::kYes : Proof::kNo;
  }

 private:
  std::string ns_;
  std::string controller_;
};

class SlurmIsSilentGuard final : public plan::Guard {
 public:
  SlurmIsSilentGuard(std::string cluster, std::string node) : cluster_(std::move(cluster)), node_(std::move(node)) {}

  std::string text() const override { return "Slurm does not answer"; }

  // Time must be left to let go of the NodeSet, however long Slurm is silent.
  Task<Proof> Prove(Services& services, Deadline) const override {
    const auto fresh = co_await services.slurm.Fresh(cluster_, node_, services.loop.After(kSilenceTimeout));
    co_return fresh ? Proof::kNo : Proof::kYes;
  }

 private:
  std::string cluster_;
  std::string node_;
};

class WorkerIsOwnedGuard final : public plan::Guard {
 public:
  WorkerIsOwnedGuard(kube::Key pod, std::string uid, std::string set_uid)
      : pod_(std::move(pod)), uid_(std::move(uid)), set_uid_(std::move(set_uid)) {}

  std::string text() const override { return "pod " + pod_.ToString() + " belongs to the NodeSet"; }

  Task<Proof> Prove(Services& services, Deadline deadline) const override {
    const auto pod = co_await services.client.Get<Pod>(kube::kPods, pod_, {}, deadline);
    if (!pod) co_return pod.error().code() == Code::kNotFound ? Proof::kNo : Proof::kUnknown;
    const json::OwnerReference* owner = pod->metadata.ControllerOwner();
    const bool owned = pod->metadata.uid == uid_ && owner != nullptr && owner->uid == set_uid_;
    co_return owned ? Proof::kYes : Proof::kNo;
  }

 private:
  kube::Key pod_;
  std::string uid_;
  std::string set_uid_;
};

}  // namespace

bool HasFinalizer(const api::NodeSet& set, std::string_view name) {
  return std::ranges::find(set.metadata.finalizers, name) != set.metadata.finalizers.end();
}

plan::Action Hold(const api::NodeSet& set) {
  return {.effect = plan::AddFinalizer(RefOf(set), set.metadata, kFinalizerDrain),
          .reason = "its workers are to be drained before it goes",
          .guards = {},
          .after = {},
          .event = {}};
}

plan::Action Release(const api::NodeSet& set, plan::Guards guards, std::string reason) {
  const std::string_view ours = HasFinalizer(set, kFormerFinalizerDrain) ? kFormerFinalizerDrain : kFinalizerDrain;
  return {.effect = plan::RemoveFinalizer(RefOf(set), set.metadata, ours),
          .reason = std::move(reason),
          .guards = std::move(guards),
          .after = {},
          .event = {}};
}

std::shared_ptr<const plan::Guard> AsksForTheSame(const api::NodeSet& set) {
  std::pair<std::string, std::string> stopped;
  if (IsStopped(set.metadata)) stopped = {std::string(kAnnotationStopped), "true"};
  return plan::SameGeneration(RefOf(set), set.metadata.uid, set.metadata.generation, std::move(stopped));
}

std::shared_ptr<const plan::Guard> NoWorkerIsLeft(const api::NodeSet& set) {
  return std::make_shared<NoWorkerIsLeftGuard>(set.metadata.namespace_, set.metadata.uid);
}

std::shared_ptr<const plan::Guard> ClusterIsAbandoned(const api::NodeSet& set) {
  return std::make_shared<ClusterIsAbandonedGuard>(set.metadata.namespace_, set.spec.controller_ref.name);
}

std::shared_ptr<const plan::Guard> SlurmIsSilent(std::string cluster, std::string node) {
  return std::make_shared<SlurmIsSilentGuard>(std::move(cluster), std::move(node));
}

std::shared_ptr<const plan::Guard> WorkerIsOwned(kube::Key pod, std::string uid, std::string set_uid) {
  return std::make_shared<WorkerIsOwnedGuard>(std::move(pod), std::move(uid), std::move(set_uid));
}

}  // namespace capstan::op::nodeset
