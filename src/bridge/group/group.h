// The pods of a group and their job, in one Decide: the rows of decide.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bridge/group/members.h"
#include "bridge/group/order.h"
#include "bridge/group/placing.h"
#include "bridge/group/pods.h"
#include "bridge/group/shape.h"
#include "bridge/group/show.h"
#include "bridge/mark.h"
#include "bridge/objects.h"
#include "bridge/settings.h"
#include "plan/objects/effects.h"
#include "plan/plan.h"
#include "plan/world.h"
#include "slurm/snapshot.h"

namespace capstan::bridge::group {

// For so long a job has to be absent before that counts.
inline constexpr Duration kAbsenceHolds = 30s;
// So soon come the pods that a controller makes in place of those that have ended.
inline constexpr Duration kFollowersCome = 20s;
// So long rests a group that still grows, or an order that is being changed.
inline constexpr Duration kRests = 1s;

// Refers to the World: lives as long as one Decide.
class Group {
 public:
  Group(const plan::World& world, const kube::Key& key, kube::ObjectList<Pod> pods, const std::string& cluster);

  plan::Plan Decide() &&;

 private:
  using Pods = std::vector<const Pod*>;

  void Follow(int64_t id);
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
  bool Shows(const Pod& pod, std::string_view reason) const;
  bool AnyTellsOfIt(const Pods& pods) const {
    return std::ranges::any_of(pods, [this](const Pod* pod) { return Show(world_, *pod).TellsOf(id_); });
  }
  // Gated pods that do not bear the job: they came later, or a crash has left them.
  Pods Newcomers() const;

  // --- The end of pods -----------------------------------------------------------------------------------------------

  std::string Outcome() const;
  // Row 16. One that does not bear the job is not ended with it.
  void EndPods(const std::string& why, const std::shared_ptr<const plan::Guard>& over, std::string_view event);
  // One that was released and has not gone; nullptr: there is none.
  const Pod* FirstThatRuns() const;

  // Row 2. The condition says that nothing is left to do: pods that have ended may stay for days.
  void Ended();

  // Row 3. What waits at the gate when its deletion begins never runs, though a finalizer may hold the object for long.
  void Leaving();

  // Row 3, where it may last for ever: only the kubelet can say that a pod has ended.
  void TellOfLostNodes();

  // --- Pods that live ------------------------------------------------------------------------------------------------

  // No pod bears a job. Those that did may have gone, and their job may still be there with its places: then it is the group's.
  // False: that is not known yet, or its end has begun.
  bool FindJobOfGroup();

  // Another job of the group is there: its end comes first.
  bool HasEarlierJob() const;

  // Row 21. Jobs of what runs stay.
  void Ungate();

  void Lives(bool knows_job);

  void Unheard();  // row 4
  // Slurm answers, and not about this.
  void Untold() {
    TellSilence("slurm does not tell of the group", "Slurm has not told for more than a minute how the group's job is");
  }
  void TellSilence(std::string_view fact, const std::string& why);

  // What it says of the job is why nothing more is asked of Slurm, until its user says so.
  bool HasStopped(const Pod& pod) const { return Shows(pod, "CancelledInSlurm") || Shows(pod, "MarkChanged"); }
  bool AllHaveStopped() const;
  bool WantsRetry() const;

  // --- Before the job runs, and after it (asking.cc) ----------------------------------------------------------------

  void Begin();  // rows 5, 6

  // Row 5. Ours is the last gate, and all that have to be there are, for long enough where nobody knows how many will come.
  bool MayAsk();

  // The label is the log: whoever reads it submits under the same id, and meets his own job. All of a group get the same, as the
  // latest attempt that one of them bears counts. Nobody else has changed the pod.
  void Label(const Pod& pod, int attempt, int64_t id, const std::string& reason);
  int64_t IdOf(const Pod& first, int attempt) const {
    return JobId(mark_.cluster, first.metadata.uid, attempt, settings_.first_id, settings_.ids);
  }
  void LabelAll(const Pods& pods, int attempt, const std::string& reason);
  // They join the job that the others bear.
  void Join(const Pods& pods) {
    for (const Pod* pod : pods) Label(*pod, members_.attempt, id_, "it is of the group of " + JobWords(id_));
  }

  void NextAttempt(const std::string& why) {
    if (MayAsk()) LabelAll(members_.gated, members_.attempt + 1, why);
  }

  void Absent();  // rows 7, 8, 17

  // Row 18. Pods that run get a job for the nodes where they are and the time that is left to them. Its id is told by arithmetic
  // until they bear it.
  void Rebook(const std::string& no_job);

  Result<Order> OrderForPlaces() const;

  void Strangers(const slurm::Job& job);  // rows 9, 17

  void Submit();  // row 7

  void SubmitAs(int64_t id, int attempt, Order order, std::vector<std::string> excluded, const std::string& reason,
                plan::EventText event);

  // The policy of the namespace has changed since it was submitted, and it is not what would be submitted by now: whatever its pods
  // say, or do not say, keeps no job that the policy may not allow any more.
  bool IsBesidePolicy(const JobMark& mark) const;
  void EndForPolicy(const slurm::Job& job, const JobMark& mark);

  void Waits(const slurm::Job& job);  // row 10

  void IsOver(const slurm::Job& job, const slurm::JobState& state);  // rows 13, 14, 16

  // Row 14. `since`: when that came to be, where it is known.
  void WaitForNext(std::optional<Time> since, const std::string& why);

  // --- While it runs (running.cc) -----------------------------------------------------------------------------------

  void Runs(const slurm::Job& job);

  // Row 19. Its grace time is for the end of the pods.
  void GivesWay(const slurm::Job& job);

  // Row 20. Slurm has given its nodes to others, who share them with pods that nobody suspends.
  void Suspended(const slurm::Job& job);

  void Allocated(const slurm::Job& job);  // rows 11, 12

  // Of the group as it was before: one of the same name, or with fewer pods.
  void TooSmall(const slurm::Job& job, const JobMark& mark);

  void Release(const slurm::Job& job, const Placing::Release& release);
  // One that was taken over, and has no scheduler.
  void Bind(const slurm::Job& job, const Placing::Release& release);
  // `also`: what else is proven just before; nullptr: nothing.
  void LetGo(const slurm::Job& job, const Placing::Release& release, std::shared_ptr<const plan::Effect> effect,
             std::shared_ptr<const plan::Guard> also);

  void Unfit(const slurm::Job& job, const std::string& reason, const std::string& why);  // row 11

  void GiveUp(const slurm::Job& job, const std::string& outcome, const std::string& why);

  // Row 15. `nodes`: Slurm's, by the Kubernetes node that each is.
  void Placed(const Pod& pod, const slurm::Job& job, const std::map<std::string, std::string>& nodes, bool any_bound);

  // The scheduler refuses it. Its silence is no refusal. A group of which one is bound is not ended for another's sake.
  void Unplaced(const Pod& pod, const slurm::Job& job, bool any_bound);

  const plan::World& world_;
  const kube::Key& key_;
  const Settings& settings_;
  Members members_;
  const Shape shape_;
  const plan::SlurmView slurm_;
  int64_t id_;  // of its job; 0: it has none
  JobMark mark_;
  std::map<std::string, Show> shows_;  // by pod
  plan::Plan plan_;
};

}  // namespace capstan::bridge::group
