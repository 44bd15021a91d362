#include "rules.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "bridge/group/members.h"
#include "bridge/names.h"
#include "bridge/node/steps.h"
#include "json/codec.h"
#include "json/value.h"
#include "slurm/hostlist.h"
#include "slurm/rest_wire.h"

namespace capstan::sim::bridge {
namespace {

using group::GroupOf;
using group::JobIdOf;
using slurm::JobFlag;

// Between a proof, or what was seen, and the write that rests on it.
constexpr Duration kAge = 25s;

bool Lives(const Pod& pod) { return !pod.HasEnded(); }
bool IsReleased(const Pod& pod) { return !pod.HasGate(kGate); }

}  // namespace

Rules::Rules(Yard& yard) : yard_(yard) {
  yard.api.on_write = [this](const kube::testing::ApiWrite& write) { OnApiWrite(write); };
  yard.on_request = [this](const net::Request& request) { OnRequest(request); };
}

void Rules::Break(const std::string& what) {
  if (!broken_) broken_ = what;
}

void Rules::Wrote(const std::string& title) {
  ++writes_;
  fingerprint_ = Fnv64(title, fingerprint_ + uint64_t(yard_.loop.Now().time_since_epoch().count()));
  yard_.Say("the bridge: " + title);
  if (on_write) on_write();
}

const slurm::Job* Rules::JobOf(const Pod& pod) const {
  const auto found = yard_.slurm.jobs().find(JobIdOf(pod));
  return found == yard_.slurm.jobs().end() ? nullptr : &found->second;
}

void Rules::Look() {
  std::map<std::string, int64_t> running;
  for (const auto& [id, job] : yard_.slurm.jobs()) {
    last_[id] = job;
    if (!job.state.Has(JobFlag::kRunning)) continue;
    ran_until_[id] = yard_.loop.Now();
    const auto mark = yard_.MarkOf(job);
    if (!mark) continue;
    const auto [other, first] = running.emplace(mark->group, id);
    if (!first)
      Break("S2: jobs " + std::to_string(id) + " and " + std::to_string(other->second) + " of " + mark->group + " run");
  }
  for (const std::string& node : yard_.nodes()) {
    const std::string slurm_node = Yard::SlurmNode(node);
    const auto record = yard_.slurm.NodeNamed(slurm_node);
    if (TakesWork(node)) took_work_[node] = yard_.loop.Now();
    if (record && node::Steps::HeldByOthers(*record))
      held_since_.emplace(slurm_node, yard_.loop.Now());
    else
      held_since_.erase(slurm_node);
  }
  pods_.clear();
  for (Pod& pod : yard_.Pods()) pods_[pod.key()] = std::move(pod);
}

// --- Kubernetes ------------------------------------------------------------------------------------------------------

void Rules::OnApiWrite(const kube::testing::ApiWrite& write) {
  if (!write.changed || write.resource != kube::kPods) return;
  const kube::Key key = write.key;
  const auto* object = yard_.api.Find(kube::kPods, key);
  const auto decoded = object == nullptr ? Result<Pod>(Pod()) : json::Decode<Pod>(json::Serialize(*object));
  const Pod pod = decoded ? *decoded : Pod();
  const auto before = pods_.find(key);
  const bool was_gated = before == pods_.end() || before->second.HasGate(kGate);
  if (write.verb == "delete" || (write.subresource == "status" && pod.status.phase == "Failed")) Ended(key);
  if (write.verb == "patch" && object != nullptr && write.subresource.empty() && was_gated && IsReleased(pod))
    Released(pod);
  if (object != nullptr) pods_[key] = pod;
  Wrote(write.verb + " " + key.name + (write.subresource.empty() ? "" : "/" + write.subresource) +
        (object != nullptr && was_gated && IsReleased(pod) ? " (released)" : ""));
}

void Rules::Released(const Pod& pod) {
  const std::string what = pod.metadata.name + " is released to " + pod.metadata.Annotation(std::string(kSlurmNode));
  const std::string& node = pod.metadata.Annotation(std::string(kSlurmNode));
  const int64_t id = JobIdOf(pod);
  const slurm::Job* now = JobOf(pod);
  const auto last = last_.find(id);
  const slurm::Job* job = now != nullptr ? now : last != last_.end() ? &last->second : nullptr;
  const auto ran = ran_until_.find(id);
  const bool runs = (now != nullptr && now->state.Has(JobFlag::kRunning)) ||
                    (ran != ran_until_.end() && yard_.loop.Now() - ran->second <= kAge);
  const auto mark = job == nullptr ? std::nullopt : yard_.MarkOf(*job);
  if (!runs || !mark) return Break("S1: " + what + ", and job " + std::to_string(id) + " does not run");
  if (mark->group != GroupOf(pod)) return Break("S1: " + what + " under a job of " + mark->group);
  const auto nodes = slurm::HostSet::Parse(job->nodes);
  if (!nodes || !nodes->Contains(Yard::SlurmNode(node)))
    return Break("S1: " + what + ", and its job is on " + job->nodes);
  const auto [pin, first] = pins_.emplace(pod.metadata.uid, node);
  if (!first && pin->second != node) return Break("S5: " + what + ", and was released to " + pin->second + " before");
  for (const Pod& other : yard_.Pods()) {
    if (other.metadata.uid == pod.metadata.uid || !Lives(other) || !IsReleased(other)) continue;
    if (other.metadata.Annotation(std::string(kSlurmNode)) != node) continue;
    if (JobIdOf(other) == id) return Break("S5: " + what + " where " + other.metadata.name + " of the same job is");
    const slurm::Job* others = JobOf(other);
    const bool holds = others != nullptr && others->state.Has(JobFlag::kRunning);
    if (!holds) return Break("S6: " + what + " where " + other.metadata.name + " of another job still is");
  }
}

void Rules::Ended(const kube::Key& key) {
  const auto pod = pods_.find(key);
  if (pod == pods_.end() || pod->second.status.phase != "Running") return;
  const slurm::Job* job = JobOf(pod->second);
  const std::string what = key.name + " runs and is deleted";
  if (job == nullptr) {
    const auto last = last_.find(JobIdOf(pod->second));
    if (last == last_.end() || !last->second.state.IsOver()) Break("S4: " + what + ", and Slurm has lost its job");
    return;
  }
  if (job->state.Has(JobFlag::kRunning) && !job->preempt_time) Break("S4: " + what + ", and its job runs");
}

// --- Slurm -----------------------------------------------------------------------------------------------------------

void Rules::OnRequest(const net::Request& request) {
  if (request.method == "GET") return;
  const std::string_view path = request.target;
  if (const size_t at = path.find("/node/"); at != path.npos) {
    WroteNode(std::string(path.substr(at + 6)), request.body);
    return Wrote("POST node/" + std::string(path.substr(at + 6)) + " " + OneLine(request.body, 300));
  }
  if (path.ends_with("/job/submit")) {
    Submitted(request.body);
  } else if (request.method == "DELETE") {
    Cancelled(request.body);
  } else {
    const auto id = ParseInt(path.substr(path.rfind('/') + 1));
    const auto job = yard_.slurm.jobs().find(id.value_or(0));
    if (job != yard_.slurm.jobs().end() && !yard_.MarkOf(job->second))
      Break("S3: job " + std::to_string(job->first) + " is not ours, and is changed");
  }
  Wrote(request.method + " " + std::string(path.substr(path.find("/job"))) + " " + OneLine(request.body, 300));
}

void Rules::Submitted(const std::string& body) {
  const auto order = json::Decode<slurm::wire::SubmitBody>(body);
  const auto mark = order ? JobMark::Of(order->job.admin_comment) : std::nullopt;
  if (!mark) return Break("S3: a submission without a mark");
  bool stopped = true, any = false;
  for (const Pod& pod : yard_.Pods()) {
    if (GroupOf(pod) != mark->group || !Lives(pod) || pod.metadata.deleting()) continue;
    any = true;
    const PodCondition* told = pod.Condition(kJobCondition);
    const std::string& retry = pod.metadata.Annotation(std::string(kRetry));
    // Its user has said so; or did, and the pod bears the next job, which its condition does not tell of yet.
    const bool wanted = told != nullptr && !retry.empty() &&
                        (retry != pod.metadata.Annotation(std::string(kRetried)) ||
                         !told->message.starts_with("job " + std::to_string(JobIdOf(pod)) + " "));
    stopped = stopped && told != nullptr && told->reason == "CancelledInSlurm" && !wanted;
  }
  if (any && stopped) Break("S7: " + mark->group + " is asked for again, though a person has cancelled its job");
}

void Rules::Cancelled(const std::string& body) {
  const auto order = json::Decode<slurm::wire::KillBody>(body);
  if (!order || order->jobs.size() != 1) return Break("S3: a cancellation of no job, or of several");
  const int64_t id = ParseInt(order->jobs.front()).value_or(0);
  const auto job = yard_.slurm.jobs().find(id);
  if (job == yard_.slurm.jobs().end() || job->second.state.IsOver()) return;
  const auto mark = yard_.MarkOf(job->second);
  if (!mark) return Break("S3: job " + std::to_string(id) + " is not ours, and is cancelled");
  if (job->second.state.Has(JobFlag::kSuspended)) return;
  for (const Pod& pod : yard_.Pods()) {
    if (GroupOf(pod) != mark->group || JobIdOf(pod) != id || !Lives(pod) || !pod.IsBound()) continue;
    return Break("S10: job " + std::to_string(id) + " is cancelled, and " + pod.metadata.name + " runs under it");
  }
}

bool Rules::TakesWork(const std::string& node) const {
  const auto* object = yard_.api.Find(kube::kNodes, {"", node});
  const auto decoded = object == nullptr ? Result<Node>(Node()) : json::Decode<Node>(json::Serialize(*object));
  return decoded && decoded->TakesWork();
}

void Rules::WroteNode(const std::string& slurm_node, const std::string& body) {
  const auto update = json::Decode<slurm::wire::UpdateBody>(body);
  const std::string what = "Slurm node " + slurm_node + " is changed: " + OneLine(body, 200);
  if (!update || !update->state || update->state->size() != 1) return Break("S11: " + what);
  const auto record = yard_.slurm.NodeNamed(slurm_node);  // the write has not come to it yet
  if (const auto held = held_since_.find(slurm_node); record && node::Steps::HeldByOthers(*record) &&
                                                      held != held_since_.end() &&
                                                      yard_.loop.Now() - held->second > kAge)
    return Break("S11: " + what + ", and somebody else holds it");
  if (update->state->front() == "DRAIN") {
    if (!update->reason.value_or("").starts_with(node::kDrainReason))
      Break("S11: " + what + ", without a reason of the bridge's");
    return;
  }
  const std::string node = Yard::KubernetesNode(slurm_node);
  const auto took = took_work_.find(node);
  if (!TakesWork(node) && (took == took_work_.end() || yard_.loop.Now() - took->second > kAge))
    Break("S11: " + what + ", and its machine takes no work");
}

// --- In the end ------------------------------------------------------------------------------------------------------

std::optional<std::string> Rules::Unmatched() const {
  std::map<std::string, std::pair<int, int>> gangs;  // gated and released ones of a group
  std::map<std::string, int> living;
  for (const Pod& pod : yard_.Pods()) {
    if (!Lives(pod)) continue;
    const std::string group = GroupOf(pod);
    ++living[group];
    if (pod.metadata.deleting()) return pod.metadata.name + " has not gone";
    const PodCondition* told = pod.Condition(kJobCondition);
    const std::string reason = told == nullptr ? "nothing" : told->reason;
    const slurm::Job* job = JobOf(pod);
    if (IsReleased(pod)) {
      if (!pod.IsBound()) return pod.metadata.name + " is not bound";
      if (job == nullptr || !job->state.Has(JobFlag::kRunning)) return pod.metadata.name + " runs without a job";
      if (reason != "Running") return pod.metadata.name + " runs and says " + reason;
    } else if (reason == "Pending" || reason == "Held") {
      if (job == nullptr || !(job->state.IsPending() || job->state.Has(JobFlag::kSuspended)))
        return pod.metadata.name + " says that it waits, and its job does not";
    } else if (reason != "CancelledInSlurm" && reason != "NoPlace") {
      return pod.metadata.name + " is gated and says " + reason + (told == nullptr ? "" : ": " + told->message);
    }
    if (group.find("/gang.") != group.npos || group.find("/lws.") != group.npos || group.find("/jobset.") != group.npos)
      ++(IsReleased(pod) ? gangs[group].second : gangs[group].first);
  }
  for (const auto& [group, pods] : gangs)
    if (pods.first > 0 && pods.second > 0 && !yard_.has_lost_jobs)
      return "S8: of " + group + " some are released and some are not";
  for (const std::string& node : yard_.nodes()) {
    const auto record = yard_.slurm.NodeNamed(Yard::SlurmNode(node));
    if (record && TakesWork(node) && record->reason.starts_with(node::kDrainReason))
      return "S11: " + record->name + " is " + record->reason + ", and its machine takes work";
  }
  for (const auto& [id, job] : yard_.slurm.jobs()) {
    const auto mark = yard_.MarkOf(job);
    if (mark && !job.state.IsOver() && !living.contains(mark->group))
      return "S9: job " + std::to_string(id) + " outlives its pods";
  }
  return std::nullopt;
}

}  // namespace capstan::sim::bridge
