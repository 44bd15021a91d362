#include "bridge/group/pods.h"

#include "base/hash.h"
#include "base/text.h"
#include "bridge/names.h"
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
  using Disproves = bool (*)(const Pod& pod);
  PodsOfJobGuard(std::string ns, int64_t job, Disproves disproves, std::string_view what)
      : ns_(std::move(ns)),
        selector_(std::string(kJobId) + "=" + std::to_string(job)),
        disproves_(disproves),
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

}  // namespace

std::shared_ptr<const plan::Guard> NoPodIsReleased(std::string ns, int64_t job) {
  return std::make_shared<PodsOfJobGuard>(
      std::move(ns), job, [](const Pod& read) { return !read.HasGate(kGate); }, "has been released");
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
  const plan::EventText text{.reason = std::string(event), .action = "Delete", .warning = true};
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
