#include "bridge/group/decide.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "bridge/end_job.h"
#include "bridge/group/leftovers.h"
#include "bridge/group/members.h"
#include "bridge/group/order.h"
#include "bridge/group/placing.h"
#include "bridge/group/pods.h"
#include "bridge/group/shape.h"
#include "bridge/group/show.h"
#include "bridge/group/suitable.h"
#include "bridge/mark.h"
#include "bridge/marked_jobs.h"
#include "bridge/names.h"
#include "bridge/nodes.h"
#include "bridge/objects.h"
#include "bridge/release.h"
#include "bridge/roots.h"
#include "bridge/settings.h"
#include "plan/objects/effects.h"
#include "plan/objects/lists.h"
#include "plan/slurm/jobs.h"
#include "slurm/hostlist.h"

namespace capstan::bridge::group {
namespace {

using plan::Plan;
using plan::World;
using slurm::JobFlag;
using Pods = std::vector<const Pod*>;

constexpr Duration kUnheardIsTold = 1min;
constexpr Duration kAbsenceHolds = 30s;
constexpr Duration kNotReadyIsTold = 1min;
constexpr Duration kRests = 1s;           // a group that still grows, an order that is being changed
constexpr Duration kFollowersCome = 20s;  // pods that a controller makes in place of those that have ended
constexpr Duration kSuspensionHolds = 30s;
constexpr Duration kFirstWait = 10s, kLongestWait = 10min;

// The namespace whose uid names the Kubernetes cluster.
const kube::Key kSystem{"", "kube-system"};

// Row 1. What is left of a group whose last pod is gone are the jobs that it followed.
Plan Gone(const World& world, const kube::Key& key) {
  Plan plan;
  if (world.follows().empty()) return plan;
  plan.slurm_cluster = kSlurm;
  // A JobSet that begins anew makes a Job once the pods of the one before have gone.
  const Duration held = KindOf(key.name) == Kind::kJobSet ? world.HeldFor("the group has no pod") : kFollowersCome;
  const Namespace* system = world.Find<Namespace>(kSystem);
  if (held < kFollowersCome) plan.RequeueAfter(kFollowersCome - held);
  if (system != nullptr && held >= kFollowersCome)
    EndLeftovers(plan, world, {system->metadata.uid, SettingsOf(world).bridge, key.ToString()}, {}, "Deleted");
  else
    plan.slurm_follows.assign(world.follows().begin(), world.follows().end());
  return plan;
}

// The pods of a group that are left, and their job.
class Group {
 public:
  Group(const World& world, const kube::Key& key, kube::ObjectList<Pod> pods, const std::string& cluster)
      : world_(world),
        key_(key),
        settings_(SettingsOf(world)),
        members_(pods, settings_.scheduler_name),
        shape_(ShapeOf(world, key, members_, !members_.gated.empty())),
        slurm_(world.Slurm(kSlurm)),
        id_(members_.job),
        mark_{cluster, settings_.bridge, key.ToString(), members_.attempt} {
    plan_.slurm_cluster = kSlurm;
    const Pod& first = members_.first();
    plan_.about = plan::EventObject{&kube::kPods, first.key(), first.metadata.uid};
  }

  Plan Decide() && {
    const bool all_ended = members_.none_lives() && members_.leaving.empty();
    const bool knows_job = all_ended || id_ > 0 || FindJobOfGroup();
    if (!all_ended) Follow(id_);
    if (all_ended)
      Ended();
    else if (members_.none_lives())
      Leaving();
    else
      Lives(knows_job);
    // Its own job, and the one that takes its place for pods that run, as long as it is not there.
    std::vector<int64_t> own{id_};
    const auto* known = id_ > 0 ? slurm_.FindJob(id_) : nullptr;
    if (!members_.released.empty() && id_ > 0 && (known == nullptr || !*known))
      own.push_back(IdOf(*members_.released.front(), members_.attempt + 1));
    if (all_ended || Newcomers().empty()) {
      EndLeftovers(plan_, world_, mark_, own, "Superseded");
    } else {
      for (const int64_t id : world_.follows())
        if (std::ranges::find(own, id) == own.end()) Follow(id);
    }
    TellOfLostNodes();
    for (const auto& [name, show] : shows_) show.Into(plan_);
    return std::move(plan_);
  }

 private:
  void Follow(int64_t id) {
    auto& ids = plan_.slurm_follows;
    if (id > 0 && std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  }
  bool IsOurs(const slurm::Job& job) const { return job.external && job.admin_comment.starts_with(mark_.Prefix()); }
  JobMark MarkOf(const slurm::Job& job) const { return JobMark::Of(job.admin_comment).value_or(mark_); }
  std::string ns() const { return members_.first().metadata.namespace_; }
  bool IsReleased(const Pod& pod) const { return pod.IsReleased(settings_.scheduler_name); }
  std::shared_ptr<const plan::Guard> NoPodIsReleased() const {
    return group::NoPodIsReleased(ns(), id_, settings_.scheduler_name);
  }
  static plan::ObjectRef RefOf(const Pod& pod) { return {&kube::kPods, pod.key()}; }

  // --- What is shown -------------------------------------------------------------------------------------------------

  Show& ShowOf(const Pod& pod) { return shows_.try_emplace(pod.metadata.name, world_, pod).first->second; }
  void Now(const Pods& pods, std::string_view status, std::string_view reason, const std::string& message) {
    for (const Pod* pod : pods) ShowOf(*pod).Now(status, reason, message);
  }
  void Soon(const Pods& pods, std::string_view status, std::string_view reason, const std::string& message) {
    for (const Pod* pod : pods) ShowOf(*pod).Soon(status, reason, message);
  }
  bool Shows(const Pod& pod, std::string_view reason) const {
    const Show show(world_, pod);
    return show.Is(reason) && show.TellsOf(id_);
  }
  bool AnyTellsOfIt(const Pods& pods) const {
    return std::ranges::any_of(pods, [this](const Pod* pod) { return Show(world_, *pod).TellsOf(id_); });
  }
  // Gated pods that do not bear the job: they came later, or a crash has left them.
  Pods Newcomers() const {
    Pods pods;
    std::ranges::copy_if(members_.gated, std::back_inserter(pods),
                         [this](const Pod* pod) { return !members_.BearsIt(*pod); });
    return pods;
  }

  // --- The end of pods -----------------------------------------------------------------------------------------------

  std::string Outcome() const {
    const bool failed =
        std::ranges::any_of(members_.ended, [](const Pod* pod) { return pod->status.phase == "Failed"; });
    return failed ? "Failed" : "Succeeded";
  }

  // Row 2. The condition says that nothing is left to do: pods that have ended may stay for days.
  void Ended() {
    Pods untold;
    std::ranges::copy_if(members_.ended, std::back_inserter(untold),
                         [this](const Pod* pod) { return members_.BearsIt(*pod) && !Shows(*pod, "Ended"); });
    if (untold.empty()) return;
    Follow(id_);
    const auto* known = slurm_.FindJob(id_);
    if (known == nullptr || !IsFresh(slurm_)) return;
    if (!*known) {
      const Duration held = world_.HeldFor("the pods have ended, and absent is job " + std::to_string(id_));
      if (held < kAbsenceHolds) return plan_.RequeueAfter(kAbsenceHolds - held);
      return Now(untold, "False", "Ended", JobWords(id_) + " is not known to Slurm any more, and the pod has ended");
    }
    const slurm::Job& job = **known;
    if (!IsOurs(job))
      return Now(untold, "False", "Ended", JobWords(id_) + " is not this pod's and is left alone; the pod has ended");
    if (job.state.IsOver()) return Now(untold, "False", "Ended", JobWords(id_) + " ended with the pod");
    if (!shape_.ends && MarkOf(job).outcome.empty()) {
      const Duration held = world_.HeldFor("all pods have ended, and others may follow");
      if (held < kFollowersCome) return plan_.RequeueAfter(kFollowersCome - held);
    }
    const std::string outcome = Outcome();
    EndJob(plan_, job, MarkOf(job), outcome, "its pods have ended: " + outcome, NoPodOfJobRuns(mark_, id_));
  }

  // Row 3. What waits at the gate when its deletion begins never runs, though a finalizer may hold the object for long.
  void Leaving() {
    const auto* known = slurm_.FindJob(id_);
    const bool all_gated = std::ranges::none_of(members_.leaving, [this](const Pod* pod) { return IsReleased(*pod); });
    if (!all_gated || known == nullptr || !*known || !IsFresh(slurm_)) return;
    const slurm::Job& job = **known;
    if (IsOurs(job) && !job.state.IsOver())
      EndJob(plan_, job, MarkOf(job), "Deleted", "its pods are being deleted and were never released",
             NoPodIsReleased());
  }

  // Row 3, where it may last for ever: only the kubelet can say that a pod has ended.
  void TellOfLostNodes() {
    for (const Pod* pod : members_.leaving) {
      const Node* node = pod->IsBound() ? world_.Find<Node>({"", pod->spec.node_name}) : nullptr;
      if (id_ > 0 && node != nullptr && node->IsReady() && Show(world_, *pod).Is("NodeLost"))
        Now({pod}, "True", "Running", JobWords(id_) + " ends with the pod, which is being deleted");
      if (node == nullptr || node->IsReady()) continue;
      const Duration held = world_.HeldFor("is being deleted, and not Ready is node " + pod->spec.node_name);
      if (held < kNotReadyIsTold) {
        plan_.RequeueAfter(kNotReadyIsTold - held);
        continue;
      }
      ShowOf(*pod).Warn("NodeLost", (id_ > 0 ? JobWords(id_) + " stays: " : "") +
                                        "the pod is being deleted, and its end is not known, as Kubernetes node " +
                                        pod->spec.node_name +
                                        " is not Ready; if the machine is off, delete the Node, or give it the taint "
                                        "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute");
    }
  }

  // --- Pods that live ------------------------------------------------------------------------------------------------

  // No pod bears a job. Those that did may have gone, and their job may still be there with its places: then it is the group's.
  // False: that is not known yet, or its end has begun.
  bool FindJobOfGroup() {
    std::vector<int64_t> ids(world_.follows().begin(), world_.follows().end());
    if (KindOf(key_.name) != Kind::kPod) {  // what a single pod has had it bears itself
      const auto marked = world_.Ask(MarkedJobs(), kMarkedJobsAge);
      if (marked.value == nullptr) return false;
      if (const auto found = marked.value->find(mark_.Prefix()); found != marked.value->end())
        std::ranges::copy(found->second, std::back_inserter(ids));
    }
    if (members_.gated.empty()) return true;
    bool sure = true;
    for (const int64_t id : ids) {
      Follow(id);
      const auto* known = slurm_.FindJob(id);
      if (known == nullptr || !IsFresh(slurm_)) {
        sure = false;
        continue;
      }
      if (!*known) {
        if (MayComeLate(plan_, world_, id)) sure = false;
        continue;
      }
      if (!IsOurs(**known) || (*known)->state.IsOver()) continue;
      const JobMark mark = MarkOf(**known);
      if (!mark.outcome.empty()) {
        EndJob(plan_, **known, mark, mark.outcome, "its end has begun", NoPodOfJobRuns(mark, id));
        sure = false;
        continue;
      }
      if (id_ > 0 && mark.attempt <= mark_.attempt) continue;
      members_.job = id_ = id;
      members_.attempt = mark_.attempt = mark.attempt;
    }
    return sure;
  }

  // Another job of the group is there: its end comes first.
  bool HasEarlierJob() const {
    return std::ranges::any_of(world_.follows(), [this](int64_t id) {
      const auto* known = id == id_ ? nullptr : slurm_.FindJob(id);
      return known != nullptr && *known && IsOurs(**known) && !(*known)->state.IsOver();
    });
  }

  // Row 21. Jobs of what runs stay.
  void Ungate() {
    const auto* known = id_ > 0 ? slurm_.FindJob(id_) : nullptr;
    if (id_ > 0 && (known == nullptr || !IsFresh(slurm_))) {
      const Duration held = world_.HeldFor("slurm does not tell");
      if (held < kUnheardIsTold) return plan_.RequeueAfter(kUnheardIsTold - held);
      known = nullptr;
    }
    if (known != nullptr && *known && IsOurs(**known) && !(*known)->state.IsOver() && members_.released.empty()) {
      return EndJob(plan_, **known, MarkOf(**known), "Ungated", "the bridge is to be taken away", NoPodIsReleased());
    }
    for (const Pod* pod : members_.gated) {
      if (!pod->HasGate(kGate)) {
        ShowOf(*pod).Warn("NotPlaced", "the bridge is to be taken away, and there is no scheduler " +
                                           pod->spec.scheduler_name +
                                           " for the pod; delete it, and its controller makes another");
        continue;
      }
      plan_.Add({.effect = plan::PatchTested("ungate", RefOf(*pod), pod->metadata.uid, UngatePatch(*pod)),
                 .reason = "the bridge is to be taken away; Kubernetes places the pod by itself",
                 .guards = {},
                 .after = {},
                 .event = plan::EventText{.reason = "Ungated", .action = "Ungate", .warning = true}});
    }
  }

  void Lives(bool knows_job) {
    if (settings_.ungate && !members_.gated.empty()) return Ungate();
    if (!slurm_.heard() || (id_ > 0 && slurm_.FindJob(id_) != nullptr && !IsFresh(slurm_))) return Unheard();
    const auto* known = id_ > 0 ? slurm_.FindJob(id_) : nullptr;
    if (!knows_job || (id_ > 0 && known == nullptr)) return Untold();
    if (id_ == 0) return Begin();
    if (!*known) return Absent();
    const slurm::Job& job = **known;
    if (!IsOurs(job)) return Strangers(job);
    // A job that stands in for one that was lost: those that do not bear it yet are to.
    for (const Pod* pod : members_.released)
      if (JobIdOf(*pod) > 0 && !members_.BearsIt(*pod)) Join({pod});
    if (!plan_.actions.empty()) return;
    if (job.state.Has(JobFlag::kRunning)) return Runs(job);
    if (job.state.Has(JobFlag::kSuspended)) return Suspended(job);
    slurm::JobState state = job.state;
    state.Remove(JobFlag::kCompleting);
    if (!state.IsPending() && state.IsOver()) return IsOver(job, state);
    Soon(members_.released, "Unknown", "JobUnknown",
         JobWords(id_) + " is " + job.state.ToString() + "; the pod goes on");
    if (state.IsPending()) return Waits(job);
    Soon(members_.gated, "False", "Pending", JobWords(id_) + " is " + job.state.ToString());
  }

  void Unheard() {  // row 4
    TellSilence(
        "slurm is not heard",
        "Slurm cannot be asked: " +
            (slurm_.heard() ? "it has not told how the bridge's jobs are for more than a minute" : slurm_.error()));
  }
  // Slurm answers, and not about this.
  void Untold() {
    TellSilence("slurm does not tell of the group", "Slurm has not told for more than a minute how the group's job is");
  }
  void TellSilence(std::string_view fact, const std::string& why) {
    const Duration held = world_.HeldFor(fact);
    if (held < kUnheardIsTold) return plan_.RequeueAfter(kUnheardIsTold - held);
    for (const Pod* pod : members_.gated) {
      if (HasStopped(*pod)) continue;
      const bool told = Show(world_, *pod).TellsOf(id_);
      Now({pod}, "Unknown", "SlurmUnreachable", (told ? JobWords(id_) + " was there, and " : "") + why);
    }
  }

  // What it says of the job is why nothing more is asked of Slurm, until its user says so.
  bool HasStopped(const Pod& pod) const { return Shows(pod, "CancelledInSlurm") || Shows(pod, "MarkChanged"); }
  bool AllHaveStopped() const {
    return std::ranges::all_of(members_.gated, [this](const Pod* pod) { return HasStopped(*pod); }) &&
           Newcomers().empty() && !WantsRetry();
  }
  bool WantsRetry() const {
    return std::ranges::any_of(members_.gated, [](const Pod* pod) {
      const std::string& retry = pod->metadata.Annotation(std::string(kRetry));
      return !retry.empty() && retry != pod->metadata.Annotation(std::string(kRetried));
    });
  }

  void Begin() {  // rows 5, 6
    if (!MayAsk()) return;
    LabelAll(members_.gated, members_.attempt, "it is to be scheduled by Slurm");
  }

  // Row 5. Ours is the last gate, and all that have to be there are, for long enough where nobody knows how many will come.
  bool MayAsk() {
    bool others = false;
    for (const Pod* pod : members_.gated) {
      for (const SchedulingGate& gate : pod->spec.scheduling_gates) {
        if (gate.name == kGate) continue;
        Soon({pod}, "False", "OtherGates", "waits until the scheduling gate " + gate.name + " is taken away");
        others = true;
        break;
      }
    }
    if (others) return false;
    if (!shape_.no_gang.empty()) {
      for (const Pod* pod : members_.gated) ShowOf(*pod).Warn("Refused", shape_.no_gang);
      return false;
    }
    if (!shape_.missing.empty()) {
      Soon(members_.gated, "False", "GroupIncomplete", "nothing is asked of Slurm yet: " + shape_.missing);
      return false;
    }
    if (!shape_.unread.empty()) {
      Soon(members_.gated, "Unknown", "OwnerUnread", "nothing is asked of Slurm yet: " + shape_.unread);
      return false;
    }
    if (shape_.settled) return true;
    const Duration held = world_.HeldFor("the group has so many: " + std::to_string(members_.living()));
    if (held < kRests) plan_.RequeueAfter(kRests - held);
    return held >= kRests;
  }

  // The label is the log: whoever reads it submits under the same id, and meets his own job. All of a group get the same, as the
  // latest attempt that one of them bears counts. Nobody else has changed the pod.
  void Label(const Pod& pod, int attempt, int64_t id, const std::string& reason) {
    json::JsonPatch patch;
    patch.Test("/metadata/resourceVersion", JsonQuoted(std::to_string(pod.metadata.resource_version)));
    if (pod.metadata.annotations.empty()) patch.Add("/metadata/annotations", "{}");
    patch.Add(json::JsonPointer({"metadata", "annotations", kAttempt}), JsonQuoted(std::to_string(attempt)));
    if (const std::string& retry = pod.metadata.Annotation(std::string(kRetry)); !retry.empty())
      patch.Add(json::JsonPointer({"metadata", "annotations", kRetried}), JsonQuoted(retry));
    patch.Add(json::JsonPointer({"metadata", "labels", kJobId}), JsonQuoted(std::to_string(id)));
    plan_.Add({.effect = plan::PatchTested("label", RefOf(pod), pod.metadata.uid, std::move(patch)),
               .reason = reason,
               .guards = {},
               .after = {},
               .event = {}});
  }
  int64_t IdOf(const Pod& first, int attempt) const {
    return JobId(mark_.cluster, first.metadata.uid, attempt, settings_.first_id, settings_.ids);
  }
  void LabelAll(const Pods& pods, int attempt, const std::string& reason) {
    if (pods.empty()) return;
    const int64_t id = IdOf(*pods.front(), attempt);
    for (const Pod* pod : pods) Label(*pod, attempt, id, reason);
  }
  // They join the job that the others bear.
  void Join(const Pods& pods) {
    for (const Pod* pod : pods) Label(*pod, members_.attempt, id_, "it is of the group of " + JobWords(id_));
  }

  void NextAttempt(const std::string& why) {
    if (MayAsk()) LabelAll(members_.gated, members_.attempt + 1, why);
  }

  void Absent() {  // rows 7, 8, 17
    // One that another bridge was given by Slurm was there, and is not asked for again under its id.
    const bool is_anothers = id_ < settings_.first_id || id_ >= settings_.first_id + settings_.ids;
    const bool was_seen = is_anothers || !members_.released.empty() || AnyTellsOfIt(members_.gated) ||
                          AnyTellsOfIt(members_.leaving) || AnyTellsOfIt(members_.ended);
    if (!was_seen) {
      if (!MayAsk()) return;
      const Pods newcomers = Newcomers();
      if (newcomers.empty()) return Submit();
      // It was another's, of the group's past, if none of those that wait bears it.
      return newcomers.size() < members_.gated.size() ? Join(newcomers) : NextAttempt("its pods are new");
    }
    if (members_.released.empty() && AllHaveStopped()) return;
    if (members_.released.empty() && WantsRetry()) return NextAttempt("its user asks again");
    const Duration held = world_.HeldFor("job is absent " + std::to_string(id_));
    if (held < kAbsenceHolds) return plan_.RequeueAfter(kAbsenceHolds - held);
    const std::string no_job = "Slurm has no " + JobWords(id_) + " any more";
    if (members_.released.empty()) return NextAttempt(no_job);
    Rebook(no_job);
    Soon(members_.gated, "False", "NoPlace",
         no_job + "; others of the group go on without it, and this pod waits for their end");
  }

  // Row 18. Pods that run get a job for the nodes where they are and the time that is left to them. Its id is told by arithmetic
  // until they bear it.
  void Rebook(const std::string& no_job) {
    const int64_t next = IdOf(*members_.released.front(), members_.attempt + 1);
    Now(members_.released, "Unknown", "JobUnknown", no_job + "; the pod goes on, and its nodes are booked anew");
    Follow(next);
    const auto* known = slurm_.FindJob(next);
    if (known == nullptr) return;
    if (*known && IsOurs(**known)) {
      for (const Pod* pod : members_.released)
        if (JobIdOf(*pod) > 0) Label(*pod, members_.attempt + 1, next, no_job);
      return;
    }
    auto order = OrderForPlaces();
    if (*known || !order) {
      Now(members_.released, "Unknown", "JobUnknown",
          no_job + "; the pod goes on without one: " +
              (*known ? JobWords(next) + " is another's" : order.error().message()));
      return;
    }
    SubmitAs(next, members_.attempt + 1, *std::move(order), {}, no_job,
             {.reason = "Rebooked", .action = "Submit", .warning = true});
  }

  Result<Order> OrderForPlaces() const {
    Shape shape = ShapeOf(world_, key_, members_, true);
    if (!shape.unread.empty()) return Fail(Code::kUnavailable, shape.unread);
    Result<Order> asked = OrderOf(members_.released, shape, settings_);
    // They run, and are charged as the policy says by now rather than to nobody.
    if (!asked && asked.error().code() == Code::kForbidden) {
      LeaveToPolicy(shape);
      asked = OrderOf(members_.released, shape, settings_);
    }
    CAPSTAN_TRY(Order order, std::move(asked));
    std::set<std::string> nodes;
    Time began = world_.now();
    for (const Pod* pod : members_.released) {
      CAPSTAN_TRY(std::string node, SlurmNodeOf(world_, slurm_, NodeOf(*pod)));
      nodes.insert(std::move(node));
      began = std::min(began, pod->status.start_time.value_or(began));
    }
    order.job.required_nodes.assign(nodes.begin(), nodes.end());
    // More, for those of the group that are missing, if Slurm has them now; those that run wait for nobody.
    order.job.nodes = int64_t(nodes.size());
    order.job.most_nodes = std::max(order.job.nodes, order.job.most_nodes);
    if (order.job.limit_minutes)
      order.job.limit_minutes = std::max<int64_t>(1, *order.job.limit_minutes - (world_.now() - began) / 1min);
    return order;
  }

  void Strangers(const slurm::Job& job) {  // rows 9, 17
    Now(members_.released, "Unknown", "JobUnknown",
        JobWords(id_) + " is not this pod's, as its admin_comment is " + JsonQuoted(OneLine(job.admin_comment, 100)) +
            "; the pod goes on, and nothing ends it with the job");
    const auto order = OrderOf(members_.gated, shape_, settings_);
    if (!WantsRetry() && job.external && order && job.name == order->job.name) {
      return Now(members_.gated, "False", "MarkChanged",
                 JobWords(id_) + " was submitted for this pod, but its admin_comment is " +
                     JsonQuoted(OneLine(job.admin_comment, 100)) +
                     " instead of the bridge's mark: a job_submit plugin or a person changes it. Let them leave "
                     "the comments of external jobs alone, cancel the job, and delete the pod, or give annotation " +
                     std::string(kRetry) + " another text, to ask again");
    }
    if (members_.released.empty()) WaitForNext(std::nullopt, JobWords(id_) + " is another's");
  }

  void Submit() {  // row 7
    if (HasEarlierJob()) return;
    Result<Order> order = OrderOf(members_.gated, shape_, settings_);
    if (!order) {
      for (const Pod* pod : members_.gated) ShowOf(*pod).Warn("Refused", order.error().message());
      return;
    }
    for (const plan::Failure& failure : world_.failures()) {
      if (failure.verb != "submit") continue;
      const bool refused = failure.code == Code::kInvalid || failure.code == Code::kForbidden;
      if (refused && WantsRetry())
        return NextAttempt("Slurm has refused " + JobWords(id_) + ", and is to be asked again");
      Soon(members_.gated, refused ? "False" : "Unknown", refused ? "Refused" : "SlurmUnreachable", failure.message);
    }
    Unsuitable unsuitable = UnsuitableFor(world_, members_.gated, order->job.partition);
    if (!unsuitable.none_left.empty()) {
      for (const Pod* pod : members_.gated) ShowOf(*pod).Warn("Refused", unsuitable.none_left);
      return;
    }
    const std::string reason = "to run " + std::string(members_.gated.size() == 1 ? "the pod" : "the group's pods") +
                               " in partition " + order->job.partition;
    SubmitAs(id_, members_.attempt, *std::move(order), std::move(unsuitable.nodes), reason,
             {.reason = "Submitted", .action = "Submit"});
  }

  void SubmitAs(int64_t id, int attempt, Order order, std::vector<std::string> excluded, const std::string& reason,
                plan::EventText event) {
    JobMark mark = mark_;
    mark.attempt = attempt;
    mark.pods_per_node = order.pods_per_node;
    mark.order = order.Hash();
    mark.policy = shape_.policy.Hash();
    order.job.excluded_nodes = std::move(excluded);
    order.job.id = id;
    order.job.admin_comment = mark.ToString();
    plan_.Add({.effect = plan::SubmitJob(kSlurm, std::move(order.job)),
               .reason = reason,
               .guards = {},
               .after = {},
               .event = std::move(event)});
  }

  // The policy of the namespace has changed since it was submitted, and it is not what would be submitted by now: whatever its pods
  // say, or do not say, keeps no job that the policy may not allow any more.
  bool IsBesidePolicy(const JobMark& mark) const {
    if (mark.policy.empty() || !shape_.refused.empty() || shape_.policy.ns.empty()) return false;
    if (mark.policy == shape_.policy.Hash()) return false;
    if (!shape_.missing.empty() || !shape_.unread.empty()) return true;
    const auto order = OrderOf(members_.gated, shape_, settings_);
    return !order || order->Hash() != mark.order;
  }
  void EndForPolicy(const slurm::Job& job, const JobMark& mark) {
    EndJob(plan_, job, mark, "Changed", "the policy of namespace " + ns() + " is another by now", NoPodIsReleased(),
           plan::EventText{.reason = "Changed", .action = "Cancel"});
  }

  void Waits(const slurm::Job& job) {  // row 10
    const auto order = OrderOf(members_.gated, shape_, settings_);
    Soon(members_.gated, "False", IsHeld(job) ? "Held" : "Pending",
         WhyPending(job, world_.now()) +
             (order ? "" : "; what is asked for by now is refused: " + order.error().message()));
    const JobMark mark = MarkOf(job);
    if (members_.released.empty() && IsBesidePolicy(mark)) return EndForPolicy(job, mark);
    if (!members_.released.empty() || !shape_.missing.empty() || !shape_.unread.empty()) return;
    const bool same = !order || mark.order.empty() || order->Hash() == mark.order;
    if (same && mark.outcome.empty()) return Join(Newcomers());
    if (!same) {
      const Duration held = world_.HeldFor("the order is another: " + order->Hash());
      if (held < kRests) return plan_.RequeueAfter(kRests - held);
    }
    EndJob(plan_, job, mark, "Changed", "another order takes its place, and its age in the queue is lost",
           NoPodIsReleased(), plan::EventText{.reason = "Changed", .action = "Cancel"}, JobFlag::kPending);
  }

  void IsOver(const slurm::Job& job, const slurm::JobState& state) {  // rows 13, 14, 16
    const std::string why = JobWords(id_) + " ended as " + state.ToString();
    EndPods(why, plan::JobHasEnded(kSlurm, id_, mark_.Prefix()), "Ended");
    if (members_.gated.empty()) return;
    const std::string outcome = MarkOf(job).outcome;
    const bool by_person = (state.Has(JobFlag::kCancelled) && outcome.empty()) || state.Has(JobFlag::kDeadline);
    const std::string ended = JobWords(id_) + " ended as " + job.state.ToString();
    if (const Pod* left = FirstThatRuns()) {
      return Soon(members_.gated, "False", "Resubmitting",
                  ended + "; the next is submitted once pod " + left->metadata.name + " has gone" +
                      (NodeOf(*left).empty() ? "" : " from Kubernetes node " + NodeOf(*left)));
    }
    if (by_person && Newcomers().empty() && !WantsRetry()) {
      return Now(members_.gated, "False", "CancelledInSlurm",
                 ended + " before the pod was started, by somebody's wish; delete the pod, or give annotation " +
                     std::string(kRetry) + " another text, to ask Slurm again");
    }
    // What we ended is no failure of Slurm's, but for a node that could not be used.
    if (by_person || outcome == "Changed" || outcome == "Succeeded" || outcome == "Failed") return NextAttempt(ended);
    WaitForNext(job.end_time, ended + " before the pod was started");
  }

  // One that was released and has not gone; nullptr: there is none.
  const Pod* FirstThatRuns() const {
    if (!members_.released.empty()) return members_.released.front();
    const auto found = std::ranges::find_if(members_.leaving, [this](const Pod* pod) { return IsReleased(*pod); });
    return found == members_.leaving.end() ? nullptr : *found;
  }

  // Row 14. `since`: when that came to be, where it is known.
  void WaitForNext(std::optional<Time> since, const std::string& why) {
    const Duration wait = std::min(kLongestWait, kFirstWait * (int64_t{1} << std::min(members_.attempt - 1, 10)));
    const Duration held = since ? world_.now() - *since : world_.HeldFor(why);
    if (held >= wait || WantsRetry()) return NextAttempt(why);
    plan_.RequeueAfter(wait - held);
    Soon(members_.gated, "False", "Resubmitting", why + "; the next is submitted soon");
  }

  // --- A job that runs -----------------------------------------------------------------------------------------------

  void Runs(const slurm::Job& job) {
    if (job.preempt_time) return GivesWay(job);
    const bool any_bound = std::ranges::any_of(members_.released, [](const Pod* pod) { return pod->IsBound(); });
    std::map<std::string, std::string> nodes;
    if (const auto names = slurm::HostSet::Parse(job.nodes); names && !members_.released.empty())
      for (const std::string& name : names->names())
        if (const auto node = KubernetesNodeOf(world_, slurm_, name)) nodes[*node] = name;
    for (const Pod* pod : members_.released) Placed(*pod, job, nodes, any_bound);
    if (!members_.gated.empty()) Allocated(job);
  }

  // Row 19. Its grace time is for the end of the pods.
  void GivesWay(const slurm::Job& job) {
    const std::string why = JobWords(id_) + " is preempted: Slurm gives its nodes to another";
    if (FirstThatRuns() == nullptr) {
      return EndJob(plan_, job, MarkOf(job), "Preempted", why, NoPodIsReleased(),
                    plan::EventText{.reason = "Preempted", .action = "Cancel", .warning = true});
    }
    EndPods(why, plan::JobGivesWay(kSlurm, id_, mark_.Prefix()), "Preempted");
    Soon(members_.gated, "False", "Pending", why);
  }

  // Row 20. Slurm has given its nodes to others, who share them with pods that nobody suspends.
  void Suspended(const slurm::Job& job) {
    const std::string is = JobWords(id_) + " is " + job.state.ToString();
    Soon(members_.gated, "False", "Pending", is);
    if (members_.released.empty()) return Join(Newcomers());
    Soon(members_.released, "Unknown", "JobUnknown", is + "; the pod goes on");
    const Duration held = world_.HeldFor(is);
    if (held < kSuspensionHolds) return plan_.RequeueAfter(kSuspensionHolds - held);
    EndJob(plan_, job, MarkOf(job), "Suspended", is + ", and its pods cannot be",
           plan::JobIsSuspended(kSlurm, id_, mark_.Prefix()),
           plan::EventText{.reason = "Suspended", .action = "Cancel", .warning = true}, JobFlag::kSuspended);
  }

  void Allocated(const slurm::Job& job) {                       // rows 11, 12
    if (world_.InFlight(plan::JobTarget(kSlurm, id_))) return;  // its end may be under way
    const JobMark mark = MarkOf(job);
    if (!mark.outcome.empty() && members_.released.empty()) return GiveUp(job, mark.outcome, "its end has begun");
    if (members_.released.empty() && IsBesidePolicy(mark)) return EndForPolicy(job, mark);
    Placing placing = PlaceIn(world_, members_, job, mark.pods_per_node, mark_.cluster);
    if (placing.unsuitable && members_.released.empty()) return GiveUp(job, "NodeUnsuitable", placing.trouble);
    if (!placing.trouble.empty()) return Unfit(job, "WaitsForNode", placing.trouble);
    if (const auto nodes = slurm::HostSet::Parse(job.nodes);
        nodes && members_.released.empty() && int64_t(nodes->size()) * mark.pods_per_node < shape_.least)
      return TooSmall(job, mark);
    if (FirstThatRuns() == nullptr && !shape_.missing.empty()) return Unfit(job, "GroupIncomplete", shape_.missing);
    Soon(placing.without_place, "False", "NoPlace",
         JobWords(id_) + " on " + job.nodes + " has no free place; the pod waits for one");
    // Those that join are released with the others, unless these are on their way already.
    if (!placing.newcomers.empty()) return Join(placing.newcomers);
    for (const Placing::Release& release : placing.releases) Release(job, release);
  }

  // Of the group as it was before: one of the same name, or with fewer pods.
  void TooSmall(const slurm::Job& job, const JobMark& mark) {
    Soon(members_.gated, "False", "Pending",
         JobWords(id_) + " on " + job.nodes +
             " has too few places for the group; another follows once no pod of it is left");
    EndJob(plan_, job, mark, "Changed", "it has too few places for the group as it is now", NoPodIsReleased(),
           plan::EventText{.reason = "Changed", .action = "Cancel"});
  }

  void Release(const slurm::Job& job, const Placing::Release& release) {
    const Pod& pod = *release.pod;
    if (!pod.HasGate(kGate)) return Bind(job, release);
    const auto patch = ReleasePatch(pod, release.node, settings_.scheduler_name);
    if (!patch) return Unfit(job, "WaitsForNode", patch.error().message());
    LetGo(job, release, plan::PatchTested("release", RefOf(pod), pod.metadata.uid, *patch), {});
  }
  // One that was taken over, and has no scheduler.
  void Bind(const slurm::Job& job, const Placing::Release& release) {
    const Pod& pod = *release.pod;
    if (!settings_.take_over)
      return Unfit(job, "NotPlaced", "only a bridge with takeOver binds it, as its scheduler is there no more");
    for (const plan::Failure& failure : world_.failures())
      if (failure.verb == "bind" && failure.target == RefOf(pod).ToString())
        Unfit(job, "WaitsForNode", failure.message);
    LetGo(job, release, BindPod(pod, release.node), NodeHasRoom(pod, release.node, settings_.scheduler_name));
  }
  // `also`: what else is proven just before; nullptr: nothing.
  void LetGo(const slurm::Job& job, const Placing::Release& release, std::shared_ptr<const plan::Effect> effect,
             std::shared_ptr<const plan::Guard> also) {
    // The whole mark: one with an outcome is of a job that is being ended.
    plan::Guards guards{plan::JobRunsOn(kSlurm, id_, job.admin_comment, release.slurm_node)};
    if (also != nullptr) guards.push_back(std::move(also));
    plan_.Add({.effect = std::move(effect),
               .reason = JobWords(id_) + " runs on Slurm node " + release.slurm_node,
               .guards = std::move(guards),
               .after = {},
               .event = plan::EventText{.reason = "Allocated", .action = "Release"}});
  }

  void Unfit(const slurm::Job& job, const std::string& reason, const std::string& why) {  // row 11
    if (members_.released.empty()) {
      const Duration held = world_.HeldFor("cannot use the nodes of " + std::to_string(id_));
      if (held >= settings_.bind_timeout) return GiveUp(job, "NodeUnsuitable", why);
      plan_.RequeueAfter(settings_.bind_timeout - held);
    }
    Soon(members_.gated, "False", reason, JobWords(id_) + " runs, and the pod waits: " + why);
  }

  void GiveUp(const slurm::Job& job, const std::string& outcome, const std::string& why) {
    for (const Pod* pod : members_.gated)
      if (world_.InFlight(RefOf(*pod).ToString())) return;  // it may be released just now
    EndJob(plan_, job, MarkOf(job), outcome, why, NoPodIsReleased(),
           plan::EventText{.reason = outcome, .action = "Cancel", .warning = true});
  }

  // Row 15. `nodes`: Slurm's, by the Kubernetes node that each is.
  void Placed(const Pod& pod, const slurm::Job& job, const std::map<std::string, std::string>& nodes, bool any_bound) {
    if (!pod.IsBound()) return Unplaced(pod, job, any_bound);
    const auto on = nodes.find(pod.spec.node_name);
    Soon({&pod}, "True", "Running",
         on == nodes.end() ? JobWords(id_) + " on Slurm node " + job.nodes + ", which is not Kubernetes node " +
                                 pod.spec.node_name + "; the pod is there"
                           : JobWords(id_) + " on Slurm node " + on->second);
  }

  // The scheduler refuses it. Its silence is no refusal. A group of which one is bound is not ended for another's sake.
  void Unplaced(const Pod& pod, const slurm::Job& job, bool any_bound) {
    const PodCondition* scheduled = pod.Condition("PodScheduled");
    if (scheduled == nullptr || scheduled->status != "False" || scheduled->reason != "Unschedulable") return;
    const std::string why = JobWords(id_) + " runs on Slurm node " + pod.metadata.Annotation(std::string(kSlurmNode)) +
                            ", and Kubernetes does not place the pod there: " + scheduled->message;
    Soon({&pod}, "False", "NotPlaced", why);
    if (any_bound || !plan_.actions.empty()) return;
    const Duration held = world_.HeldFor("is not placed under job " + std::to_string(id_));
    if (held < settings_.bind_timeout) return plan_.RequeueAfter(settings_.bind_timeout - held);
    EndJob(plan_, job, MarkOf(job), "NotPlaced", why, NoPodIsBound(ns(), id_),
           plan::EventText{.reason = "NotPlaced", .action = "Cancel", .warning = true});
  }

  // Row 16. One that does not bear the job is not ended with it.
  void EndPods(const std::string& why, const std::shared_ptr<const plan::Guard>& over, std::string_view event) {
    for (const Pod* pod : members_.released)
      if (members_.BearsIt(*pod)) EndPod(plan_, *pod, why, over, event);
  }

  const World& world_;
  const kube::Key& key_;
  const Settings& settings_;
  Members members_;
  const Shape shape_;
  const plan::SlurmView slurm_;
  int64_t id_;  // of its job; 0: it has none
  JobMark mark_;
  std::map<std::string, Show> shows_;  // by pod
  Plan plan_;
};

}  // namespace

Plan Decide(const World& world, const kube::Key& key) {
  const auto pods = world.By<Pod>(kGroup, key.ToString());
  if (pods.empty()) return Gone(world, key);
  const Namespace* system = world.Find<Namespace>(kSystem);
  if (system == nullptr) return {};
  return Group(world, key, pods, system->metadata.uid).Decide();
}

std::vector<plan::Right> Rights() {
  return {{&kube::kPods, "get list watch patch delete"},
          {&kube::kPods, "patch", "status"},
          {&kube::kNodes, "get list watch"},
          {&kube::kNamespaces, "get list watch"},
          {&kReplicaSets, "get"},
          {&kube::kDeployments, "get"},
          {&kube::kStatefulSets, "get"},
          {&Job::kResource, "get list watch"},
          {&PodGroup::kResource, "get list watch"},
          {&LeaderWorkerSet::kResource, "get list watch"},
          {&JobSet::kResource, "get list watch"}};
}

void AddPodStores(plan::Stores& stores, const std::string& bridge) {
  auto& pods = stores.Add<Pod>({.label_selector = std::string(kBridged) + "=" + bridge, .everywhere = true});
  // The answer to a write of another pod is kept here for a while, too, and belongs to no group.
  const auto is_bridged = [bridge](const Pod& pod) { return pod.metadata.Label(std::string(kBridged)) == bridge; };
  pods.AddIndex(kGroup, [is_bridged](const Pod& pod) {
    return is_bridged(pod) ? std::vector{GroupOf(pod)} : std::vector<std::string>();
  });
  // By the Kubernetes node that it is on, or was released to.
  pods.AddIndex("node", [is_bridged](const Pod& pod) {
    if (!is_bridged(pod)) return std::vector<std::string>();
    const std::string& node = pod.IsBound() ? pod.spec.node_name : pod.metadata.Annotation(std::string(kSlurmNode));
    return node.empty() ? std::vector<std::string>() : std::vector{node};
  });
  stores.Add<Job>({.everywhere = true});
  stores.Add<PodGroup>({.everywhere = true, .optional = true});
  stores.Add<LeaderWorkerSet>({.everywhere = true, .optional = true});
  stores.Add<JobSet>({.everywhere = true, .optional = true});
}

}  // namespace capstan::bridge::group
