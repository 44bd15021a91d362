#include "bridge/group_figures.h"

#include <algorithm>

#include "async/timer.h"
#include "bridge/group/members.h"
#include "bridge/names.h"

namespace capstan::bridge {
namespace {

constexpr Duration kCount = 15s;
constexpr size_t kMostReasons = 32;  // the bridge has fewer; whoever may write a pod's status may write others

std::string ReasonOf(const Pod& pod) {
  const PodCondition* told = pod.Condition(kJobCondition);
  return told == nullptr || told->reason.empty() ? "None" : told->reason;
}

}  // namespace

GroupFigures::GroupFigures(net::Metrics& metrics, const kube::Store<Pod>& pods, std::string scheduler_name, Jobs jobs)
    : metrics_(metrics),
      pods_(pods),
      scheduler_name_(std::move(scheduler_name)),
      jobs_(std::move(jobs)),
      released_(metrics.AddGauge("slurm_bridge_released_groups",
                                 "Groups whose pods have been let go and have not all ended")),
      start_to_bound_(metrics.AddHistogram("slurm_bridge_start_to_bound_seconds",
                                           "From the start of a pod's Slurm job until Kubernetes bound the pod",
                                           {0, 1, 2, 5, 10, 30, 60, 120, 300, 600})) {}

const GroupFigures::Waiting& GroupFigures::WaitingFor(const std::string& reason) {
  const std::string label = waiting_.contains(reason) || waiting_.size() < kMostReasons ? reason : "Other";
  const auto [found, is_new] = waiting_.try_emplace(label);
  if (is_new) {
    const net::Labels labels{{"reason", label}};
    found->second = {
        &metrics_.AddGauge("slurm_bridge_waiting_groups", "Groups of pods that wait, by what they say", labels),
        &metrics_.AddGauge("slurm_bridge_oldest_wait_seconds", "Since the oldest pod that waits was made", labels)};
  }
  return found->second;
}

void GroupFigures::NoteBound(const Pod& pod) {
  if (bound_.contains(pod.metadata.uid)) return;
  const auto jobs = jobs_();
  const auto job = jobs == nullptr ? slurm::FollowedJobs::const_iterator() : jobs->find(group::JobIdOf(pod));
  const bool known = jobs != nullptr && job != jobs->end() && job->second && job->second->start_time;
  // One whose job cannot be read now may tell the next time.
  if (counted_ && !known && !pod.HasEnded()) return;
  bound_.insert(pod.metadata.uid);
  const PodCondition* scheduled = pod.Condition("PodScheduled");
  if (!counted_ || !known || scheduled == nullptr || !scheduled->last_transition) return;
  start_to_bound_.Observe(std::max(Duration(0), Duration(*scheduled->last_transition - *job->second->start_time)));
}

void GroupFigures::Count(Time now) {
  if (!pods_.Synced()) return;
  std::map<std::string, std::string> reasons;  // of groups that wait
  std::map<std::string, Time> oldest;          // by reason
  std::set<std::string> released;
  std::unordered_set<std::string> gone = bound_;
  for (const Pod& pod : pods_.All()) {
    gone.erase(pod.metadata.uid);
    if (!pod.metadata.labels.contains(std::string(kBridged))) continue;
    if (pod.IsBound()) NoteBound(pod);
    if (pod.HasEnded()) continue;
    if (pod.IsReleased(scheduler_name_)) {
      released.insert(group::GroupOf(pod));
      continue;
    }
    const std::string reason = ReasonOf(pod);
    reasons.try_emplace(group::GroupOf(pod), reason);
    const Time made = pod.metadata.creation_timestamp.value_or(now);
    const auto [found, is_new] = oldest.try_emplace(reason, made);
    if (!is_new) found->second = std::min(found->second, made);
  }
  for (const std::string& uid : gone) bound_.erase(uid);
  counted_ = true;
  std::map<const Waiting*, double> groups, ages;
  for (const auto& [group, reason] : reasons) {
    groups[&WaitingFor(reason)] += 1;
    released.erase(group);
  }
  for (const auto& [reason, since] : oldest) {
    double& age = ages[&WaitingFor(reason)];
    age = std::max(age, std::chrono::duration<double>(now - since).count());
  }
  for (const auto& [_, waiting] : waiting_) {
    waiting.groups->Set(groups[&waiting]);
    waiting.oldest->Set(ages[&waiting]);
  }
  released_.Set(double(released.size()));
}

async::Task<void> GroupFigures::Run(async::Loop& loop) {
  while (true) {
    Count(loop.WallNow());
    co_await async::Sleep(loop, kCount);
  }
}

}  // namespace capstan::bridge
