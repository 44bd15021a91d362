#include "bridge/group/decide.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "bridge/end_job.h"
#include "bridge/group/leftovers.h"
#include "bridge/group/pods.h"
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
constexpr Duration kFirstWait = 10s, kLongestWait = 10min;
constexpr int64_t kMostAttempts = 1'000'000;

// The namespace whose uid names the Kubernetes cluster.
const kube::Key kSystem{"", "kube-system"};

std::string GroupOf(const Pod& pod) { return pod.metadata.namespace_ + "/pod." + pod.metadata.uid; }

// Of its job; 0: it has none. What users wrote before the policy was there counts for nothing.
int64_t JobIdOf(const Pod& pod) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const int64_t id = ParseInt(pod.metadata.Label(std::string(kJobId))).value_or(0);
  return id >= 1 && id <= kMost ? id : 0;
}

int AttemptOf(const Pod& pod) {
  const auto attempt = ParseInt(pod.metadata.Annotation(std::string(kAttempt)));
  return int(std::clamp<int64_t>(attempt.value_or(1), 1, kMostAttempts));
}

// Row 1. What is left of a group whose last pod is gone are the jobs that it followed.
Plan Gone(const World& world, const kube::Key& key) {
  Plan plan;
  if (world.follows().empty()) return plan;
  plan.slurm_cluster = kSlurm;
  if (const Namespace* system = world.Find<Namespace>(kSystem))
    EndLeftovers(plan, world, {system->metadata.uid, SettingsOf(world).bridge, key.ToString()}, 0, "Deleted");
  else
    plan.slurm_follows.assign(world.follows().begin(), world.follows().end());
  return plan;
}

// One pod and its job.
class Group {
 public:
  Group(const World& world, const kube::Key& key, const Pod& pod, const std::string& cluster)
      : world_(world),
        settings_(SettingsOf(world)),
        pod_(pod),
        slurm_(world.Slurm(kSlurm)),
        show_(world, pod),
        attempt_(AttemptOf(pod)),
        id_(JobIdOf(pod)),
        mark_{cluster, settings_.bridge, key.ToString(), attempt_} {
    plan_.slurm_cluster = kSlurm;
    plan_.about = plan::EventObject{&kube::kPods, pod.key(), pod.metadata.uid};
  }

  Plan Decide() && {
    if (pod_.HasEnded())
      Ended();
    else if (pod_.metadata.deleting())
      IsDeleted();
    else
      Lives();
    if (pod_.HasEnded() || id_ > 0)
      EndLeftovers(plan_, world_, mark_, id_, "Superseded");
    else
      std::ranges::copy(world_.follows(), std::back_inserter(plan_.slurm_follows));
    show_.Into(plan_);
    return std::move(plan_);
  }

 private:
  bool gated() const { return pod_.HasGate(kGate); }
  void Follow() {
    if (id_ > 0) plan_.slurm_follows = {id_};
  }
  bool IsOurs(const Job& job) const { return job.external && job.admin_comment.starts_with(mark_.Prefix()); }
  JobMark MarkOf(const Job& job) const { return JobMark::Of(job.admin_comment).value_or(mark_); }
  plan::ObjectRef ref() const { return {&kube::kPods, pod_.key()}; }

  // Row 2. The condition says that nothing is left to do: a pod that has ended may stay for days.
  void Ended() {
    if (id_ == 0 || (show_.Is("Ended") && show_.TellsOf(id_))) return;
    Follow();
    const auto* known = slurm_.FindJob(id_);
    if (known == nullptr || !IsFresh(slurm_)) return;
    if (!*known) {
      const Duration held = world_.HeldFor("the pod has ended, and absent is job " + std::to_string(id_));
      if (held < kAbsenceHolds) return plan_.RequeueAfter(kAbsenceHolds - held);
      return show_.Now("False", "Ended", JobWords(id_) + " is not known to Slurm any more, and the pod has ended");
    }
    const Job& job = **known;
    if (!IsOurs(job))
      return show_.Now("False", "Ended", JobWords(id_) + " is not this pod's and is left alone; the pod has ended");
    if (job.state.IsOver()) return show_.Now("False", "Ended", JobWords(id_) + " ended with the pod");
    EndJob(plan_, job, MarkOf(job), pod_.status.phase, "its pod has ended: " + pod_.status.phase,
           NoPodOfJobRuns(mark_, id_));
  }

  // Row 3. What waits at the gate when its deletion begins never runs, though a finalizer may hold the object for long.
  void IsDeleted() {
    Follow();
    const auto* known = slurm_.FindJob(id_);
    if (!gated() || known == nullptr || !*known || !IsFresh(slurm_)) return;
    const Job& job = **known;
    if (IsOurs(job) && !job.state.IsOver())
      EndJob(plan_, job, MarkOf(job), "Deleted", "its pod is being deleted and was never released", PodIsGated(pod_));
  }

  void Lives() {
    Follow();
    if (!slurm_.heard() || (id_ > 0 && slurm_.FindJob(id_) != nullptr && !IsFresh(slurm_))) return Unheard();
    if (id_ == 0) return gated() ? Begin() : void();
    const auto* known = slurm_.FindJob(id_);
    if (known == nullptr) return;
    if (!*known) return Absent();
    const Job& job = **known;
    if (!IsOurs(job)) return Strangers(job);
    if (gated())
      Waits(job);
    else
      Runs(job);
  }

  // What the pod says of its job is why nothing more is asked of Slurm, until a person deletes the pod.
  bool HasStopped() const { return (show_.Is("CancelledInSlurm") || show_.Is("MarkChanged")) && show_.TellsOf(id_); }

  void Unheard() {  // row 4
    const Duration held = world_.HeldFor("slurm is not heard");
    if (held < kUnheardIsTold) return plan_.RequeueAfter(kUnheardIsTold - held);
    if (!gated() || HasStopped()) return;
    const std::string why =
        slurm_.heard() ? "it has not told how the bridge's jobs are for more than a minute" : slurm_.error();
    show_.Now("Unknown", "SlurmUnreachable",
              (show_.TellsOf(id_) ? JobWords(id_) + " was there, and " : "") + "Slurm cannot be asked: " + why);
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
    if (gated() && !show_.TellsOf(id_)) return Submit();
    if (gated() && HasStopped()) return;
    const Duration held = world_.HeldFor("job is absent " + std::to_string(id_));
    if (held < kAbsenceHolds) return plan_.RequeueAfter(kAbsenceHolds - held);
    const std::string no_job = "Slurm has no " + JobWords(id_) + " any more";
    if (gated())
      Label(attempt_ + 1, no_job);
    else
      show_.Now("Unknown", "JobUnknown", no_job + "; the pod goes on without it");
  }

  void Strangers(const Job& job) {  // rows 9, 17
    if (!gated())
      return show_.Now("Unknown", "JobUnknown", JobWords(id_) + " is not this pod's; the pod goes on without one");
    if (job.external && job.name == NameOf()) {
      return show_.Now("False", "MarkChanged",
                       JobWords(id_) + " was submitted for this pod, but its admin_comment is " +
                           JsonQuoted(OneLine(job.admin_comment, 100)) +
                           " instead of the bridge's mark: a job_submit plugin or a person changes it. Let them leave "
                           "the comments of external jobs alone, cancel the job, and delete the pod to ask again");
    }
    WaitForNext(std::nullopt, JobWords(id_) + " is another's");
  }

  // Of the job that would be submitted for it.
  std::string NameOf() const {
    const auto order = OrderOf(pod_, settings_);
    return order ? order->name : std::string();
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
    WaitForNext(job.end_time, JobWords(id_) + " ended as " + job.state.ToString() + " before the pod was started");
  }

  // Row 14. `since`: when that came to be, where it is known.
  void WaitForNext(std::optional<Time> since, const std::string& why) {
    const Duration wait = std::min(kLongestWait, kFirstWait * (int64_t{1} << std::min(attempt_ - 1, 10)));
    const Duration held = since ? world_.now() - *since : world_.HeldFor(why);
    if (held >= wait) return Label(attempt_ + 1, why);
    plan_.RequeueAfter(wait - held);
    show_.Soon("False", "Resubmitting", why + "; the next is submitted soon");
  }

  void Allocated(const Job& job) {                              // rows 11, 12
    if (world_.InFlight(plan::JobTarget(kSlurm, id_))) return;  // its end may be under way
    if (const std::string outcome = MarkOf(job).outcome; !outcome.empty())
      return GiveUp(job, outcome, "its end has begun");
    const auto nodes = slurm::HostSet::Parse(job.nodes);
    if (!nodes || nodes->size() != 1)
      return Unfit(job, "its nodes are \"" + OneLine(job.nodes, 100) + "\", and one is wanted");
    const std::string& slurm_node = nodes->names().front();
    const auto node = KubernetesNodeOf(world_, slurm_, slurm_node);
    if (!node) return Unfit(job, node.error().message());
    if (const std::string trouble = Trouble(*node); !trouble.empty()) return Unfit(job, trouble);
    const auto patch = ReleasePatch(pod_, *node, settings_.scheduler_name);
    if (!patch) return Unfit(job, patch.error().message());
    // The whole mark: one with an outcome is of a job that is being ended.
    plan_.Add({.effect = plan::PatchTested("release", ref(), pod_.metadata.uid, *patch),
               .reason = JobWords(id_) + " runs on Slurm node " + slurm_node,
               .guards = {plan::JobRunsOn(kSlurm, id_, mark_.ToString(), slurm_node)},
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
      if (other.metadata.uid == pod_.metadata.uid || other.HasEnded() || HoldsItsPlace(other)) continue;
      return "pod " + other.key().ToString() + " is still on Kubernetes node " + name +
             (other.metadata.deleting() ? " and ends" : ", though no job that runs is known for it");
    }
    return {};
  }

  // Slurm has given it its share of the node, and knows so still: it cannot be in the way.
  bool HoldsItsPlace(const Pod& other) const {
    const int64_t id = JobIdOf(other);
    const auto* known = id > 0 ? slurm_.FindJob(id) : nullptr;
    if (known == nullptr || !*known || !(*known)->state.Has(JobFlag::kRunning)) return false;
    return (*known)->admin_comment.starts_with(JobMark{mark_.cluster, mark_.bridge, GroupOf(other)}.Prefix());
  }

  void Unfit(const Job& job, const std::string& why) {  // row 11
    const Duration held = world_.HeldFor("cannot use the nodes of " + std::to_string(id_));
    if (held >= settings_.bind_timeout) return GiveUp(job, "NodeUnsuitable", why);
    plan_.RequeueAfter(settings_.bind_timeout - held);
    show_.Soon("False", "WaitsForNode", JobWords(id_) + " runs, and the pod waits: " + why);
  }

  void GiveUp(const Job& job, const std::string& outcome, const std::string& why) {
    if (world_.InFlight(ref().ToString())) return;  // it may be released just now
    EndJob(plan_, job, MarkOf(job), outcome, why, PodIsGated(pod_),
           plan::EventText{.reason = "NodeUnsuitable", .action = "Cancel", .warning = true});
  }

  void Runs(const Job& job) {  // rows 15 to 17: the pod is released
    if (job.state.Has(JobFlag::kRunning)) return Placed(job);
    slurm::JobState state = job.state;
    state.Remove(JobFlag::kCompleting);
    if (!state.IsPending() && state.IsOver()) return EndPod(state);
    show_.Soon("Unknown", "JobUnknown", JobWords(id_) + " is " + job.state.ToString() + "; the pod goes on");
  }

  void Placed(const Job& job) {
    if (!pod_.IsBound()) return Unplaced(job);
    std::string text = JobWords(id_) + " on Slurm node " + job.nodes;
    const auto node = KubernetesNodeOf(world_, slurm_, job.nodes);
    if (node && *node != pod_.spec.node_name)
      text += ", which is Kubernetes node " + *node + " now; the pod is on " + pod_.spec.node_name;
    show_.Soon("True", "Running", std::move(text));
  }

  // The scheduler refuses it. Its silence is no refusal.
  void Unplaced(const Job& job) {
    const PodCondition* scheduled = pod_.Condition("PodScheduled");
    if (scheduled == nullptr || scheduled->status != "False" || scheduled->reason != "Unschedulable") return;
    const std::string why = JobWords(id_) + " runs on Slurm node " + job.nodes +
                            ", and Kubernetes does not place the pod there: " + scheduled->message;
    show_.Soon("False", "NotPlaced", why);
    const Duration held = world_.HeldFor("is not placed under job " + std::to_string(id_));
    if (held < settings_.bind_timeout) return plan_.RequeueAfter(settings_.bind_timeout - held);
    EndJob(plan_, job, MarkOf(job), "NotPlaced", why, PodIsUnbound(pod_),
           plan::EventText{.reason = "NotPlaced", .action = "Cancel", .warning = true});
  }

  // Row 16. What nobody would make again, and has not run, stays as a failed pod.
  void EndPod(const slurm::JobState& state) {
    const std::string why = JobWords(id_) + " ended as " + state.ToString();
    const auto over = plan::JobHasEnded(kSlurm, id_, mark_.Prefix());
    const plan::EventText event{.reason = "Ended", .action = "Delete", .warning = true};
    if (!pod_.IsBound() && pod_.metadata.ControllerOwner() == nullptr) {
      plan_.Add({.effect = FailPod(pod_, "SlurmJobEnded", why),
                 .reason = why,
                 .guards = {over, PodIsUnbound(pod_)},
                 .after = {},
                 .event = event});
      return;
    }
    std::vector<plan::ActionId> after;
    const PodCondition* told = pod_.Condition("DisruptionTarget");
    if (told == nullptr || told->status != "True") {
      after.push_back(plan_.Add(
          {.effect = plan::ChangePodConditions(
               pod_.key(), pod_.metadata.uid,
               {{.type = "DisruptionTarget", .status = "True", .reason = "SlurmJobEnded", .message = why}}, {}),
           .reason = why,
           .guards = {over, PodMayRun(pod_)},
           .after = {},
           .event = {}}));
    }
    plan::Action remove = plan::Delete(ref(), pod_.metadata.uid, plan::Proven(over).And(PodMayRun(pod_)), why);
    remove.after = std::move(after);
    remove.event = event;
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
  pods.AddIndex(kGroup, [](const Pod& pod) { return std::vector{GroupOf(pod)}; });
  // By the Kubernetes node that it is on, or was released to.
  pods.AddIndex("node", [](const Pod& pod) {
    const std::string& node = pod.IsBound() ? pod.spec.node_name : pod.metadata.Annotation(std::string(kSlurmNode));
    return node.empty() ? std::vector<std::string>() : std::vector{node};
  });
}

}  // namespace capstan::bridge::group
