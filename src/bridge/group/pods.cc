#include "bridge/group/pods.h"

#include <functional>
#include <map>

#include "base/hash.h"
#include "base/text.h"
#include "bridge/names.h"
#include "bridge/release.h"
#include "bridge/taken.h"
#include "kube/client.h"
#include "plan/objects/effects.h"
#include "plan/objects/lists.h"
#include "plan/services.h"

namespace capstan::bridge::group {
namespace {

using async::Deadline;
using async::Task;
using plan::Proof;
using plan::Services;

class PodGuard final : public plan::Guard {
 public:
  using Holds = bool (*)(const Pod& pod);
  PodGuard(const Pod& seen, Holds holds, std::string_view what)
      : pod_(seen.key()), uid_(seen.metadata.uid), holds_(holds), what_(what) {}

  std::string text() const override { return "pod " + pod_.ToString() + " " + std::string(what_); }

  Task<Proof> Prove(Services& services, Deadline deadline) const override {
    const auto pod = co_await services.client.Get<Pod>(kube::kPods, pod_, {}, deadline);
    if (!pod) co_return pod.error().code() == Code::kNotFound ? Proof::kNo : Proof::kUnknown;
    co_return pod->metadata.uid == uid_&& holds_(*pod) ? Proof::kYes : Proof::kNo;
  }

 private:
  kube::Key pod_;
  std::string uid_;
  Holds holds_;
  std::string_view what_;
};

class PodsOfJobGuard final : public plan::Guard {
 public:
  using Disproves = std::function<bool(const Pod& pod)>;
  PodsOfJobGuard(std::string ns, int64_t job, Disproves disproves, std::string_view what)
      : ns_(std::move(ns)),
        selector_(std::string(kJobId) + "=" + std::to_string(job)),
        disproves_(std::move(disproves)),
        what_(what) {}

  std::string text() const override { return "no pod with " + selector_ + " in " + ns_ + " " + std::string(what_); }

  Task<Proof> Prove(Services& services, Deadline deadline) const override {
    kube::ListOptions options{.ns = ns_, .label_selector = selector_};
    while (true) {
      const auto page = co_await services.client.List<Pod>(kube::kPods, options, deadline);
      if (!page) co_return Proof::kUnknown;
      for (const Pod& pod : page->items)
        if (!pod.HasEnded() && disproves_(pod)) co_return Proof::kNo;
      options.continue_token = page->metadata.continue_token;
      if (options.continue_token.empty()) co_return Proof::kYes;
    }
  }

 private:
  std::string ns_, selector_;
  Disproves disproves_;
  std::string_view what_;
};

class NodeHasRoomGuard final : public plan::Guard {
 public:
  NodeHasRoomGuard(const Pod& pod, std::string node, std::string scheduler_name)
      : pod_(pod), node_(std::move(node)), scheduler_name_(std::move(scheduler_name)) {}

  std::string text() const override {
    return "Kubernetes node " + node_ + " has room for pod " + pod_.key().ToString() +
           " and no pod of another slurm-bridge";
  }

  Task<Proof> Prove(Services& services, Deadline deadline) const override {
    const auto node = co_await services.client.Get<Node>(kube::kNodes, {"", node_}, {}, deadline);
    if (!node) co_return node.error().code() == Code::kNotFound ? Proof::kNo : Proof::kUnknown;
    std::map<std::string, kube::Quantity> taken;
    if (!Add(taken, pod_)) co_return Proof::kNo;
    int64_t pods = 1;
    kube::ListOptions options{.field_selector = "spec.nodeName=" + node_};
    do {
      const auto page = co_await services.client.List<Pod>(kube::kPods, options, deadline);
      if (!page) co_return Proof::kUnknown;
      for (const Pod& other : page->items) {
        if (other.HasEnded()) continue;
        const bool is_peers =
            other.spec.scheduler_name == scheduler_name_ && !other.metadata.labels.contains(std::string(kBridged));
        if (is_peers || !Add(taken, other)) co_return Proof::kNo;
        ++pods;
      }
      options.continue_token = page->metadata.continue_token;
    } while (!options.continue_token.empty());
    co_return Fits(*node, taken, pods) ? Proof::kYes : Proof::kNo;
  }

 private:
  // Of what the pod asks for. False: that cannot be counted.
  bool Add(std::map<std::string, kube::Quantity>& taken, const Pod& other) const {
    for (const auto& one : pod_.spec.resources.requests) taken.try_emplace(one.first);
    for (const auto* containers : {&pod_.spec.containers, &pod_.spec.init_containers}) {
      for (const Container& container : *containers)
        for (const auto& one : container.resources.requests) taken.try_emplace(one.first);
    }
    for (auto& [resource, sum] : taken) {
      const auto own = Requested(other, resource);
      if (!own) return false;
      sum += *own;
    }
    return true;
  }
  static bool Fits(const Node& node, const std::map<std::string, kube::Quantity>& taken, int64_t pods) {
    const auto has = [&](const std::string& resource) {
      const auto found = node.status.allocatable.find(resource);
      return found == node.status.allocatable.end() ? Result<kube::Quantity>(kube::Quantity())
                                                    : kube::Quantity::Parse(found->second);
    };
    for (const auto& [resource, sum] : taken) {
      const auto whole = has(resource);
      if (!sum.is_zero() && (!whole || *whole < sum)) return false;
    }
    const auto most = has("pods");
    return !most || most->is_zero() || !(*most < *kube::Quantity::Parse(std::to_string(pods)));
  }

  Pod pod_;
  std::string node_, scheduler_name_;
};

class FailPodEffect final : public plan::Effect {
 public:
  FailPodEffect(const Pod& pod, std::string reason, std::string message)
      : pod_(pod.key()),
        patch_(R"({"metadata":{"uid":)" + JsonQuoted(pod.metadata.uid) + R"(},"status":{"phase":"Failed","reason":)" +
               JsonQuoted(reason) + R"(,"message":)" + JsonQuoted(message) + "}}") {}

  std::string_view verb() const override { return "fail"; }
  std::string target() const override { return plan::ObjectRef{&kube::kPods, pod_}.ToString(); }
  uint64_t content() const override { return Fnv64(patch_); }
  bool destructive() const override { return true; }

  Task<Result<void>> Run(Services& services, Deadline deadline) const override {
    kube::WriteOptions options{.subresource = "status", .field_manager = services.field_manager};
    const auto patched = co_await services.client.Patch(kube::kPods, pod_, kube::PatchType::kMerge, patch_,
                                                        std::move(options), deadline);
    if (patched || patched.error().code() == Code::kNotFound) co_return Result<void>();
    co_return Fail(patched.error());
  }

 private:
  kube::Key pod_;
  std::string patch_;
};

class BindPodEffect final : public plan::Effect {
 public:
  BindPodEffect(const Pod& pod, const std::string& node) : pod_(pod.key()), binding_(Binding(pod, node)) {}

  std::string_view verb() const override { return "bind"; }
  std::string target() const override { return plan::ObjectRef{&kube::kPods, pod_}.ToString(); }
  uint64_t content() const override { return Fnv64(binding_); }

  Task<Result<void>> Run(Services& services, Deadline deadline) const override {
    const auto bound = co_await services.client.Create(
        kube::kPods, pod_, binding_, {.subresource = "binding", .field_manager = services.field_manager}, deadline);
    if (bound) co_return Result<void>();
    co_return Fail(bound.error());
  }

 private:
  kube::Key pod_;
  std::string binding_;
};

}  // namespace

std::shared_ptr<const plan::Guard> NoPodIsReleased(std::string ns, int64_t job, std::string scheduler_name) {
  return std::make_shared<PodsOfJobGuard>(
      std::move(ns), job, [name = std::move(scheduler_name)](const Pod& read) { return read.IsReleased(name); },
      "has been released");
}

std::shared_ptr<const plan::Guard> NoPodCanRun(std::string ns, int64_t job) {
  return std::make_shared<PodsOfJobGuard>(
      std::move(ns), job, [](const Pod& read) { return read.IsBound() || !read.metadata.deleting(); }, "can run");
}

std::shared_ptr<const plan::Guard> NodeHasRoom(const Pod& pod, const std::string& node, std::string scheduler_name) {
  return std::make_shared<NodeHasRoomGuard>(pod, node, std::move(scheduler_name));
}

std::shared_ptr<const plan::Effect> BindPod(const Pod& pod, const std::string& node) {
  return std::make_shared<BindPodEffect>(pod, node);
}

std::shared_ptr<const plan::Guard> NoPodIsBound(std::string ns, int64_t job) {
  return std::make_shared<PodsOfJobGuard>(
      std::move(ns), job, [](const Pod& read) { return read.IsBound(); }, "is on a node");
}

std::shared_ptr<const plan::Guard> PodIsUnbound(const Pod& pod) {
  return std::make_shared<PodGuard>(
      pod, [](const Pod& read) { return !read.IsBound() && !read.HasEnded(); }, "is on no node");
}

std::shared_ptr<const plan::Guard> PodMayRun(const Pod& pod) {
  return std::make_shared<PodGuard>(pod, [](const Pod& read) { return !read.HasEnded(); }, "has not ended by itself");
}

std::shared_ptr<const plan::Effect> FailPod(const Pod& pod, std::string reason, std::string message) {
  return std::make_shared<FailPodEffect>(pod, std::move(reason), std::move(message));
}

void EndPod(plan::Plan& plan, const Pod& pod, const std::string& why, const std::shared_ptr<const plan::Guard>& over,
            std::string_view event) {
  const plan::EventText text{.reason = std::string(event),
                             .action = "Delete",
                             .warning = true,
                             .about = plan::EventObject{&kube::kPods, pod.key(), pod.metadata.uid}};
  if (!pod.IsBound() && pod.metadata.ControllerOwner() == nullptr) {
    plan.Add({.effect = FailPod(pod, "SlurmJobEnded", why),
              .reason = why,
              .guards = {over, PodIsUnbound(pod)},
              .after = {},
              .event = text});
    return;
  }
  std::vector<plan::ActionId> after;
  const PodCondition* told = pod.Condition("DisruptionTarget");
  if (told == nullptr || told->status != "True") {
    after.push_back(
        plan.Add({.effect = plan::ChangeConditions(
                      {&kube::kPods, pod.key()}, pod.metadata.uid,
                      {{.type = "DisruptionTarget", .status = "True", .reason = "SlurmJobEnded", .message = why}}, {}),
                  .reason = why,
                  .guards = {over, PodMayRun(pod)},
                  .after = {},
                  .event = {}}));
  }
  plan::Action remove =
      plan::Delete({&kube::kPods, pod.key()}, pod.metadata.uid, plan::Proven(over).And(PodMayRun(pod)), why);
  remove.after = std::move(after);
  remove.event = text;
  plan.Add(std::move(remove));
}

}  // namespace capstan::bridge::group
