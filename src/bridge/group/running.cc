#include <algorithm>
#include <map>

#include "bridge/end_job.h"
#include "bridge/group/group.h"
#include "bridge/names.h"
#include "bridge/nodes.h"
#include "bridge/release.h"
#include "plan/slurm/jobs.h"
#include "slurm/hostlist.h"

namespace capstan::bridge::group {
namespace {

using slurm::JobFlag;

constexpr Duration kSuspensionHolds = 30s;

}  // namespace

void Group::Runs(const slurm::Job& job) {
  if (job.preempt_time) return GivesWay(job);
  const bool any_bound = std::ranges::any_of(members_.released, [](const Pod* pod) { return pod->IsBound(); });
  std::map<std::string, std::string> nodes;
  if (const auto names = slurm::HostSet::Parse(job.nodes); names && !members_.released.empty())
    for (const std::string& name : names->names())
      if (const auto node = KubernetesNodeOf(world_, slurm_, name)) nodes[*node] = name;
  for (const Pod* pod : members_.released) Placed(*pod, job, nodes, any_bound);
  if (!members_.gated.empty()) Allocated(job);
}

void Group::GivesWay(const slurm::Job& job) {
  const std::string why = JobWords(id_) + " is preempted: Slurm gives its nodes to another";
  if (FirstThatRuns() == nullptr) {
    return EndJob(plan_, job, MarkOf(job), "Preempted", why, NoPodIsReleased(),
                  plan::EventText{.reason = "Preempted", .action = "Cancel", .warning = true});
  }
  EndPods(why, plan::JobGivesWay(kSlurm, id_, mark_.Prefix()), "Preempted");
  Soon(members_.gated, "False", "Pending", why);
}

void Group::Suspended(const slurm::Job& job) {
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

void Group::Allocated(const slurm::Job& job) {                // rows 11, 12
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

void Group::TooSmall(const slurm::Job& job, const JobMark& mark) {
  Soon(members_.gated, "False", "Pending",
       JobWords(id_) + " on " + job.nodes +
           " has too few places for the group; another follows once no pod of it is left");
  EndJob(plan_, job, mark, "Changed", "it has too few places for the group as it is now", NoPodIsReleased(),
         plan::EventText{.reason = "Changed", .action = "Cancel"});
}

void Group::Release(const slurm::Job& job, const Placing::Release& release) {
  const Pod& pod = *release.pod;
  if (!pod.HasGate(kGate)) return Bind(job, release);
  const auto patch = ReleasePatch(pod, release.node, settings_.scheduler_name);
  if (!patch) return Unfit(job, "WaitsForNode", patch.error().message());
  LetGo(job, release, plan::PatchTested("release", RefOf(pod), pod.metadata.uid, *patch), {});
}

void Group::Bind(const slurm::Job& job, const Placing::Release& release) {
  const Pod& pod = *release.pod;
  if (!settings_.take_over)
    return Unfit(job, "NotPlaced", "only a bridge with takeOver binds it, as its scheduler is there no more");
  for (const plan::Failure& failure : world_.failures())
    if (failure.verb == "bind" && failure.target == RefOf(pod).ToString()) Unfit(job, "WaitsForNode", failure.message);
  LetGo(job, release, BindPod(pod, release.node), NodeHasRoom(pod, release.node, settings_.scheduler_name));
}

void Group::LetGo(const slurm::Job& job, const Placing::Release& release, std::shared_ptr<const plan::Effect> effect,
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

void Group::Unfit(const slurm::Job& job, const std::string& reason, const std::string& why) {  // row 11
  if (members_.released.empty()) {
    const Duration held = world_.HeldFor("cannot use the nodes of " + std::to_string(id_));
    if (held >= settings_.bind_timeout) return GiveUp(job, "NodeUnsuitable", why);
    plan_.RequeueAfter(settings_.bind_timeout - held);
  }
  Soon(members_.gated, "False", reason, JobWords(id_) + " runs, and the pod waits: " + why);
}

void Group::GiveUp(const slurm::Job& job, const std::string& outcome, const std::string& why) {
  for (const Pod* pod : members_.gated)
    if (world_.InFlight(RefOf(*pod).ToString())) return;  // it may be released just now
  EndJob(plan_, job, MarkOf(job), outcome, why, NoPodIsReleased(),
         plan::EventText{.reason = outcome, .action = "Cancel", .warning = true});
}

void Group::Placed(const Pod& pod, const slurm::Job& job, const std::map<std::string, std::string>& nodes,
                   bool any_bound) {
  if (!pod.IsBound()) return Unplaced(pod, job, any_bound);
  const auto on = nodes.find(pod.spec.node_name);
  Soon({&pod}, "True", "Running",
       on == nodes.end() ? JobWords(id_) + " on Slurm node " + job.nodes + ", which is not Kubernetes node " +
                               pod.spec.node_name + "; the pod is there"
                         : JobWords(id_) + " on Slurm node " + on->second);
}

void Group::Unplaced(const Pod& pod, const slurm::Job& job, bool any_bound) {
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

}  // namespace capstan::bridge::group
