#include "bridge/group/decide.h"

#include <algorithm>

#include "base/text.h"
#include "bridge/end_job.h"
#include "bridge/group/show.h"
#include "bridge/mark.h"
#include "bridge/names.h"
#include "bridge/nodes.h"
#include "bridge/objects.h"
#include "bridge/order.h"
#include "bridge/release.h"
#include "bridge/settings.h"
#include "plan/objects/effects.h"
#include "plan/objects/lists.h"
#include "plan/services.h"
#include "plan/slurm/jobs.h"
#include "slurm/hostlist.h"

namespace capstan::bridge::group {
namespace {

using plan::Plan;
using plan::World;
using slurm::Job;
using slurm::JobFlag;

constexpr Duration kUnheardIsTold = 1min;
constexpr Duration kAbsenceHolds = 30s;
constexpr Duration kLateSubmission = 1min;
constexpr Duration kFirstWait = 10s, kLongestWait = 10min;

// The namespace whose uid names the Kubernetes cluster.
const kube::Key kSystem{"", "kube-system"};

// Row 1. What is left of a group whose last pod is gone are the jobs that it followed.
Plan Gone(const World& world, const kube::Key& key) {
  Plan plan;
  if (world.follows().empty()) return plan;
  plan.slurm_cluster = kSlurm;
  const Namespace* system = world.Find<Namespace>(kSystem);
  const plan::SlurmView slurm = world.Slurm(kSlurm);
  for (const int64_t id : world.follows()) {
    const auto* known = slurm.FindJob(id);
    if (known == nullptr || system == nullptr) {
      plan.slurm_follows.push_back(id);
      continue;
    }
    if (!*known) {  // its submission may still be on its way
      const Duration held = world.HeldFor("pods are gone, and job " + std::to_string(id) + " is not there");
      if (held >= kLateSubmission) continue;
      plan.slurm_follows.push_back(id);
      plan.RequeueAfter(kLateSubmission - held);
      continue;
    }
    if ((*known)->state.IsOver()) continue;
    const Job& job = **known;
    const auto mark = JobMark::Of(job.admin_comment);
    const JobMark own{system->metadata.uid, SettingsOf(world).bridge, key.ToString()};
    if (!mark || mark->Prefix() != own.Prefix()) continue;
    plan.slurm_follows.push_back(id);
    if (!job.state.Has(JobFlag::kCompleting)) EndJob(plan, job, *mark, "Deleted", WhatProves::kPodsHaveEnded);
  }
  return plan;
}

class PodIsGatedGuard final : public plan::Guard {
 public:
  PodIsGatedGuard(kube::Key pod, std::string uid) : pod_(std::move(pod)), uid_(std::move(uid)) {}
  std::string text() const override { return "pod " + pod_.ToString() + " has not been released"; }
  async::Task<plan::Proof> Prove(plan::Services& services, async::Deadline deadline) const override {
    const auto pod = co_await services.client.Get<Pod>(kube::kPods, pod_, {}, deadline);
    if (!pod) co_return pod.error().code() == Code::kNotFound ? plan::Proof::kNo : plan::Proof::kUnknown;
    co_return pod->metadata.uid == uid_ && pod->HasGate(kGate) ? plan::Proof::kYes : plan::Proof::kNo;
  }

 private:
  kube::Key pod_;
  std::string uid_;
};

// One pod and its job.
class Group {
 public:
  Group(const World& world, const kube::Key& key, const Pod& pod, const std::string& cluster)
      : world_(world),
        settings_(SettingsOf(world)),
        pod_(pod),
        slurm_(world.Slurm(kSlurm)),
        show_(world, pod),
        attempt_(int(std::max<int64_t>(1, ParseInt(pod.metadata.Annotation(std::string(kAttempt))).value_or(1)))),
        id_(ParseInt(pod.metadata.Label(std::string(kJobId))).value_or(0)),
        mark_{cluster, settings_.bridge, key.ToString(), attempt_} {
    plan_.slurm_cluster = kSlurm;
    plan_.about = plan::EventObject{&kube::kPods, pod.key(), pod.metadata.uid};
  }

  Plan Decide() && {
    if (pod_.HasEnded())
      Ended();
    else if (!pod_.metadata.deleting())
      Lives();
    else
      Follow();
    show_.Into(plan_);
    return std::move(plan_);
  }

 private:
  bool gated() const { return pod_.HasGate(kGate); }
  void Follow() {
    if (id_ > 0) plan_.slurm_follows = {id_};
  }
  bool IsOurs(const Job& job) const { return job.external && job.admin_comment.starts_with(mark_.Prefix()); }
  plan::ObjectRef ref() const { return {&kube::kPods, pod_.key()}; }

  // Row 2. The condition says that nothing is left to do: a pod that has ended may stay for days.
  void Ended() {
    if (id_ == 0 || show_.Is("Ended")) return;
    Follow();
    const auto* known = slurm_.FindJob(id_);
    if (known == nullptr) return;
    if (!*known || (*known)->state.IsOver() || !IsOurs(**known)) {
      if (slurm_.heard()) show_.Now("False", "Ended", JobWords(id_) + " ended with the pod");
      return;
    }
    const Job& job = **known;
    if (!job.state.Has(JobFlag::kCompleting))
      EndJob(plan_, job, MarkOf(job), pod_.status.phase, WhatProves::kPodsHaveEnded);
  }

  JobMark MarkOf(const Job& job) const { return JobMark::Of(job.admin_comment).value_or(mark_); }

  void Lives() {
    Follow();
    if (!slurm_.heard() || (id_ > 0 && slurm_.FindJob(id_) != nullptr && slurm_.followed_age() > kUnheardIsTold))
      return Unheard();
    if (id_ == 0) return gated() ? Begin() : void();
    const auto* known = slurm_.FindJob(id_);
    if (known == nullptr) return;
    if (!*known) return Absent();
    const Job& job = **known;
    if (!IsOurs(job)) return Strangers();
    if (gated())
      Waits(job);
    else
      Runs(job);
  }

  void Unheard() {  // row 4
    const Duration held = world_.HeldFor("slurm is not heard");
    if (held < kUnheardIsTold) return plan_.RequeueAfter(kUnheardIsTold - held);
    if (gated()) show_.Now("Unknown", "SlurmUnreachable", "Slurm cannot be asked: " + slurm_.error());
  }

  void Begin() {  // rows 5, 6
    for (const SchedulingGate& gate : pod_.spec.scheduling_gates) {
      if (gate.name == kGate) continue;
      return show_.Soon("False", "OtherGates", "waits until the scheduling gate " + gate.name + " is taken away");
    }
    Label(attempt_, "it is to be scheduled by Slurm");
  }

  // The label is the log: whoever reads it submits under the same id, and meets his own job. Nobody else has changed the pod.
  void Label(int attempt, std::string reason) {
    const int64_t id = JobId(mark_.cluster, pod_.metadata.uid, attempt, settings_.first_id, settings_.ids);
    json::JsonPatch patch;
    patch.Test("/metadata/resourceVersion", JsonQuoted(std::to_string(pod_.metadata.resource_version)));
    if (pod_.metadata.annotations.empty()) patch.Add("/metadata/annotations", "{}");
    patch.Add(json::JsonPointer({"metadata", "annotations", kAttempt}), JsonQuoted(std::to_string(attempt)));
    patch.Add(json::JsonPointer({"metadata", "labels", kJobId}), JsonQuoted(std::to_string(id)));
    plan_.Add({.effect = plan::PatchTested("label", ref(), pod_.metadata.uid, std::move(patch)),
               .reason = std::move(reason),
               .guards = {},
               .after = {},
               .event = {}});
  }

  void Absent() {  // rows 7, 8, 17
    const std::string no_job = "Slurm has no " + JobWords(id_) + " any more";
    const bool was_seen = !gated() || show_.TellsOf(id_);
    if (!was_seen) return Submit();
    const Duration held = world_.HeldFor("job is absent " + std::to_string(id_));
    if (held < kAbsenceHolds) return plan_.RequeueAfter(kAbsenceHolds - held);
    if (gated())
      Label(attempt_ + 1, no_job);
    else
      show_.Now("Unknown", "JobUnknown", no_job + "; the pod goes on without it");
  }

  void Strangers() {  // rows 9, 17
    if (gated()) return Label(attempt_ + 1, JobWords(id_) + " is another's");
    show_.Now("Unknown", "JobUnknown", JobWords(id_) + " is not this pod's; the pod goes on without one");
  }

  void Submit() {  // row 7
    Result<slurm::ExternalJob> order = OrderOf(pod_, settings_);
    if (!order) return show_.Warn("Refused", order.error().message());
    order->id = id_;
    order->admin_comment = mark_.ToString();
    for (const plan::Failure& failure : world_.failures()) {
      if (failure.verb != "submit") continue;
      const bool refused = failure.code == Code::kInvalid || failure.code == Code::kForbidden;
      show_.Soon(refused ? "False" : "Unknown", refused ? "Refused" : "SlurmUnreachable", failure.message);
    }
    const std::string reason = "to run the pod in partition " + order->partition;
    plan_.Add({.effect = plan::SubmitJob(kSlurm, *std::move(order)),
               .reason = reason,
               .guards = {},
               .after = {},
               .event = plan::EventText{.reason = "Submitted", .action = "Submit"}});
  }

  void Waits(const Job& job) {  // rows 10 to 14: the pod is gated
    if (job.state.IsPending())
      return show_.Soon("False", IsHeld(job) ? "Held" : "Pending", WhyPending(job, world_.now()));
    if (job.state.Has(JobFlag::kRunning)) return Allocated(job);
    if (!job.state.IsOver()) return show_.Soon("False", "Pending", JobWords(id_) + " is " + job.state.ToString());
    const bool by_person = job.state.Has(JobFlag::kCancelled) && MarkOf(job).outcome.empty();
    if (by_person || job.state.Has(JobFlag::kDeadline)) {
      return show_.Now("False", "CancelledInSlurm",
                       JobWords(id_) + " ended as " + job.state.ToString() +
                           " before the pod was started, by somebody's wish; delete the pod to ask Slurm again");
    }
    NextAttempt(job);
  }

  void NextAttempt(const Job& job) {  // row 14
    const Duration wait = std::min(kLongestWait, kFirstWait * (int64_t{1} << std::min(attempt_ - 1, 10)));
    const Time due = job.end_time.value_or(world_.now()) + wait;
    if (world_.now() >= due) return Label(attempt_ + 1, JobWords(id_) + " ended as " + job.state.ToString());
    plan_.RequeueAfter(due - world_.now());
    show_.Soon("False", "Resubmitting",
               JobWords(id_) + " ended as " + job.state.ToString() +
                   " before the pod was started; the next is submitted soon");
  }

  void Allocated(const Job& job) {  // rows 11, 12
    const auto nodes = slurm::HostSet::Parse(job.nodes);
    if (!nodes || nodes->size() != 1)
      return Unfit(job, "its nodes are \"" + OneLine(job.nodes, 100) + "\", and one is wanted");
    const std::string& slurm_node = nodes->names().front();
    const auto node = KubernetesNodeOf(world_, slurm_, slurm_node);
    if (!node) return Unfit(job, node.error().message());
    if (const std::string trouble = Trouble(*node); !trouble.empty()) return Unfit(job, trouble);
    const auto patch = ReleasePatch(pod_, *node, settings_.scheduler_name);
    if (!patch) return Unfit(job, patch.error().message());
    plan_.Add({.effect = plan::PatchTested("release", ref(), pod_.metadata.uid, *patch),
               .reason = JobWords(id_) + " runs on Slurm node " + slurm_node,
               .guards = {plan::JobRunsOn(kSlurm, id_, mark_.Prefix(), slurm_node)},
               .after = {},
               .event = plan::EventText{.reason = "Allocated", .action = "Release"}});
  }

  // Why the pod cannot go there now; "": it can.
  std::string Trouble(const std::string& name) const {
    const Node* node = world_.Find<Node>({"", name});
    if (node == nullptr) return "Kubernetes node " + name + " is not there";
    if (!node->IsReady()) return "Kubernetes node " + name + " is not ready";
    if (node->spec.unschedulable) return "Kubernetes node " + name + " is cordoned";
    for (const Pod& other : world_.By<Pod>("node", name)) {
      if (other.metadata.uid != pod_.metadata.uid && !other.HasEnded() && other.metadata.deleting())
        return "pod " + other.key().ToString() + " of a job that is over still ends on Kubernetes node " + name;
    }
    return {};
  }

  void Unfit(const Job& job, const std::string& why) {  // row 11
    const Duration held = world_.HeldFor("cannot use the nodes of " + std::to_string(id_));
    if (held < settings_.bind_timeout) {
      plan_.RequeueAfter(settings_.bind_timeout - held);
      return show_.Soon("False", "WaitsForNode", JobWords(id_) + " runs, and the pod waits: " + why);
    }
    if (job.state.Has(JobFlag::kCompleting)) return;
    EndJob(plan_, job, MarkOf(job), "NodeUnsuitable", WhatProves::kCaller);
    for (plan::Action& action : plan_.actions)
      action.guards.push_back(std::make_shared<PodIsGatedGuard>(pod_.key(), pod_.metadata.uid));
    plan_.actions.back().reason = why;
    plan_.actions.back().event = plan::EventText{.reason = "NodeUnsuitable", .action = "Cancel", .warning = true};
  }

  void Runs(const Job& job) {  // rows 15 to 17: the pod is released
    if (job.state.Has(JobFlag::kRunning)) return Placed(job);
    slurm::JobState state = job.state;
    state.Remove(JobFlag::kCompleting);
    if (!state.IsPending() && state.IsOver()) return DeletePod(state);
    show_.Soon("Unknown", "JobUnknown", JobWords(id_) + " is " + job.state.ToString() + "; the pod goes on");
  }

  void Placed(const Job& job) {
    if (pod_.IsBound()) return show_.Soon("True", "Running", JobWords(id_) + " on Slurm node " + job.nodes);
    const PodCondition* scheduled = pod_.Condition("PodScheduled");
    if (scheduled == nullptr || scheduled->status != "False" || scheduled->reason != "Unschedulable") return;
    show_.Soon("False", "NotPlaced",
               JobWords(id_) + " runs on Slurm node " + job.nodes +
                   ", and Kubernetes does not place the pod there: " + scheduled->message);
  }

  void DeletePod(const slurm::JobState& state) {  // row 16
    const std::string why = JobWords(id_) + " ended as " + state.ToString();
    const auto over = plan::JobHasEnded(kSlurm, id_, mark_.Prefix());
    std::vector<plan::ActionId> after;
    const PodCondition* told = pod_.Condition("DisruptionTarget");
    if (told == nullptr || told->status != "True") {
      after.push_back(plan_.Add(
          {.effect = plan::ChangePodConditions(
               pod_.key(), pod_.metadata.uid,
               {{.type = "DisruptionTarget", .status = "True", .reason = "SlurmJobEnded", .message = why}}, {}),
           .reason = why,
           .guards = {over},
           .after = {},
           .event = {}}));
    }
    plan::Action remove = plan::Delete(ref(), pod_.metadata.uid, plan::Proven(over), why);
    remove.after = std::move(after);
    remove.event = plan::EventText{.reason = "Ended", .action = "Delete", .warning = true};
    plan_.Add(std::move(remove));
  }

  const World& world_;
  const Settings& settings_;
  const Pod& pod_;
  const plan::SlurmView slurm_;
  Show show_;
  const int attempt_;
  const int64_t id_;  // of its job; 0: it has none
  const JobMark mark_;
  Plan plan_;
};

}  // namespace

Plan Decide(const World& world, const kube::Key& key) {
  const auto pods = world.By<Pod>(kGroup, key.ToString());
  if (pods.empty()) return Gone(world, key);
  const Namespace* system = world.Find<Namespace>(kSystem);
  if (system == nullptr) return {};
  return Group(world, key, pods[0], system->metadata.uid).Decide();
}

std::vector<plan::Right> Rights() {
  return {{&kube::kPods, "get list watch patch delete"},
          {&kube::kPods, "patch", "status"},
          {&kube::kNodes, "get list watch"},
          {&kube::kNamespaces, "get list watch"}};
}

void AddPodStore(plan::Stores& stores, const std::string& bridge) {
  auto& pods = stores.Add<Pod>({.label_selector = std::string(kBridged) + "=" + bridge, .everywhere = true});
  pods.AddIndex(kGroup,
                [](const Pod& pod) { return std::vector{pod.metadata.namespace_ + "/pod." + pod.metadata.uid}; });
  pods.AddIndex("node", [](const Pod& pod) {
    return pod.IsBound() ? std::vector{pod.spec.node_name} : std::vector<std::string>();
  });
}

}  // namespace capstan::bridge::group
