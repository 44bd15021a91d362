#include "bridge/group/group.h"

#include <algorithm>

#include "bridge/end_job.h"
#include "bridge/group/leftovers.h"
#include "bridge/marked_jobs.h"
#include "bridge/names.h"
#include "bridge/release.h"
#include "plan/objects/effects.h"

namespace capstan::bridge::group {
namespace {

using plan::Plan;
using plan::World;
using slurm::JobFlag;

constexpr Duration kUnheardIsTold = 1min, kNotReadyIsTold = 1min;

}  // namespace

Group::Group(const World& world, const kube::Key& key, kube::ObjectList<Pod> pods, const std::string& cluster)
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

Plan Group::Decide() && {
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

void Group::Follow(int64_t id) {
  auto& ids = plan_.slurm_follows;
  if (id > 0 && std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
}

bool Group::Shows(const Pod& pod, std::string_view reason) const {
  const Show show(world_, pod);
  return show.Is(reason) && show.TellsOf(id_);
}

Group::Pods Group::Newcomers() const {
  Pods pods;
  std::ranges::copy_if(members_.gated, std::back_inserter(pods),
                       [this](const Pod* pod) { return !members_.BearsIt(*pod); });
  return pods;
}

std::string Group::Outcome() const {
  const bool failed = std::ranges::any_of(members_.ended, [](const Pod* pod) { return pod->status.phase == "Failed"; });
  return failed ? "Failed" : "Succeeded";
}

void Group::Ended() {
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

void Group::Leaving() {
  const auto* known = slurm_.FindJob(id_);
  const bool all_gated = std::ranges::none_of(members_.leaving, [this](const Pod* pod) { return IsReleased(*pod); });
  if (!all_gated || known == nullptr || !*known || !IsFresh(slurm_)) return;
  const slurm::Job& job = **known;
  if (IsOurs(job) && !job.state.IsOver())
    EndJob(plan_, job, MarkOf(job), "Deleted", "its pods are being deleted and were never released", NoPodIsReleased());
}

void Group::TellOfLostNodes() {
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

bool Group::FindJobOfGroup() {
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

bool Group::HasEarlierJob() const {
  return std::ranges::any_of(world_.follows(), [this](int64_t id) {
    const auto* known = id == id_ ? nullptr : slurm_.FindJob(id);
    return known != nullptr && *known && IsOurs(**known) && !(*known)->state.IsOver();
  });
}

void Group::Ungate() {
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

void Group::Lives(bool knows_job) {
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
  Soon(members_.released, "Unknown", "JobUnknown", JobWords(id_) + " is " + job.state.ToString() + "; the pod goes on");
  if (state.IsPending()) return Waits(job);
  Soon(members_.gated, "False", "Pending", JobWords(id_) + " is " + job.state.ToString());
}

void Group::Unheard() {  // row 4
  TellSilence(
      "slurm is not heard",
      "Slurm cannot be asked: " +
          (slurm_.heard() ? "it has not told how the bridge's jobs are for more than a minute" : slurm_.error()));
}

void Group::TellSilence(std::string_view fact, const std::string& why) {
  const Duration held = world_.HeldFor(fact);
  if (held < kUnheardIsTold) return plan_.RequeueAfter(kUnheardIsTold - held);
  for (const Pod* pod : members_.gated) {
    if (HasStopped(*pod)) continue;
    const bool told = Show(world_, *pod).TellsOf(id_);
    Now({pod}, "Unknown", "SlurmUnreachable", (told ? JobWords(id_) + " was there, and " : "") + why);
  }
}

bool Group::AllHaveStopped() const {
  return std::ranges::all_of(members_.gated, [this](const Pod* pod) { return HasStopped(*pod); }) &&
         Newcomers().empty() && !WantsRetry();
}

bool Group::WantsRetry() const {
  return std::ranges::any_of(members_.gated, [](const Pod* pod) {
    const std::string& retry = pod->metadata.Annotation(std::string(kRetry));
    return !retry.empty() && retry != pod->metadata.Annotation(std::string(kRetried));
  });
}

const Pod* Group::FirstThatRuns() const {
  if (!members_.released.empty()) return members_.released.front();
  const auto found = std::ranges::find_if(members_.leaving, [this](const Pod* pod) { return IsReleased(*pod); });
  return found == members_.leaving.end() ? nullptr : *found;
}

void Group::EndPods(const std::string& why, const std::shared_ptr<const plan::Guard>& over, std::string_view event) {
  for (const Pod* pod : members_.released)
    if (members_.BearsIt(*pod)) EndPod(plan_, *pod, why, over, event);
}

}  // namespace capstan::bridge::group
