#include "bridge/group/shape.h"

#include <algorithm>

#include "base/text.h"
#include "bridge/names.h"
#include "bridge/roots.h"

namespace capstan::bridge::group {
namespace {

using plan::World;

constexpr Duration kRootsAge = 10min;

std::string Count(size_t there, int64_t wanted) {
  return std::to_string(there) + " of " + std::to_string(wanted) + (wanted == 1 ? " pod is there" : " pods are there");
}

void TakeJobAnnotations(const json::ObjectMeta& from, std::map<std::string, std::string>& to) {
  for (const auto& [name, value] : from.annotations)
    if (name.starts_with(kJobAnnotations)) to[name] = value;
}

bool IsJob(const json::OwnerReference& owner) { return owner.kind == "Job" && owner.api_version == "batch/v1"; }

// nullptr: its controller is no Job, or that is not there.
const Job* JobOf(const World& world, const Pod& pod) {
  const json::OwnerReference* owner = pod.metadata.ControllerOwner();
  if (owner == nullptr || !IsJob(*owner)) return nullptr;
  const Job* job = world.Find<Job>({pod.metadata.namespace_, owner->name});
  return job != nullptr && job->metadata.uid == owner->uid ? job : nullptr;
}

void TakeJob(const Job& job, Shape& shape) {
  TakeJobAnnotations(job.metadata, shape.annotations);
  if (const auto seconds = job.spec.active_deadline_seconds; seconds && *seconds > 0)
    shape.limit_minutes = (*seconds - 1) / 60 + 1;
}

void OfPod(const World& world, const Pod& pod, bool for_order, Shape& shape) {
  const json::OwnerReference* owner = pod.metadata.ControllerOwner();
  if (const Job* job = JobOf(world, pod)) {
    TakeJob(*job, shape);
  } else if (owner != nullptr && IsJob(*owner)) {
    shape.unread = "its Job " + owner->name + " is not there";
  } else if (for_order && owner != nullptr && RootAnnotations::Knows(*owner)) {
    const auto above = world.Ask(RootAnnotations(pod.metadata.namespace_, *owner), kRootsAge);
    if (above.value != nullptr)
      shape.annotations = *above.value;
    else if (above.state == plan::AnswerState::kFailed)
      shape.unread = "the annotations above " + owner->kind + " " + owner->name + " cannot be read: " + above.error;
    else
      shape.unread = "the annotations above " + owner->kind + " " + owner->name + " are being read";
  }
  TakeJobAnnotations(pod.metadata, shape.annotations);
}

void OfGang(const World& world, const Members& members, Shape& shape) {
  const Job* job = JobOf(world, members.first());
  if (job == nullptr) {
    shape.missing = "its Job is not there";
    return;
  }
  TakeJob(*job, shape);
  shape.name = job->metadata.namespace_ + "/" + job->metadata.name;
  const auto done =
      std::ranges::count_if(members.ended, [](const Pod* pod) { return pod->status.phase == "Succeeded"; });
  const int64_t parallel = job->spec.parallelism.value_or(1);
  const int64_t left = job->spec.completions ? *job->spec.completions - int64_t(done) : parallel;
  shape.least = shape.most = std::max<int64_t>(1, std::min(parallel, left));
  shape.ends = job->HasFinished() || job->metadata.deleting();
  // A Job whose first pods have ended makes no more than are left to do.
  if (members.ended.empty() && std::cmp_less(members.living(), shape.least))
    shape.missing = Count(members.living(), shape.least);
}

void OfWorkers(const World& world, const Members& members, Shape& shape) {
  const Pod& first = members.first();
  const std::string& name = first.metadata.Label(std::string(kWorkerSetName));
  const LeaderWorkerSet* set = world.Find<LeaderWorkerSet>({first.metadata.namespace_, name});
  if (set == nullptr) {
    shape.missing = "LeaderWorkerSet " + name + " is not there";
    return;
  }
  TakeJobAnnotations(set->metadata, shape.annotations);
  shape.name = name + "-" + first.metadata.Label(std::string(kWorkerGroupIndex));
  shape.least = shape.most = std::max<int64_t>(1, set->spec.leader_worker_template.size.value_or(1));
  // The workers follow once the leader runs, in the places that are kept for them.
  const int64_t at_first = set->spec.startup_policy == "LeaderReady" ? 1 : shape.least;
  if (std::cmp_less(members.living(), at_first)) shape.missing = Count(members.living(), at_first);
}

// What makes no sense was not taken by the API server.
kube::Quantity QuantityOf(const std::map<std::string, std::string>& list, const std::string& resource) {
  const auto found = list.find(resource);
  return found == list.end() ? kube::Quantity() : kube::Quantity::Parse(found->second).value_or(kube::Quantity());
}

void OfPodGroup(const World& world, const kube::Key& key, const Members& members, Shape& shape) {
  const std::string name(RestOf(key.name));
  if (!world.Served<PodGroup>()) {
    shape.missing = "this cluster has no PodGroups (scheduling.x-k8s.io), and label " + std::string(kPodGroup) +
                    " names one: install scheduler-plugins' definitions, or take the label away";
    return;
  }
  const PodGroup* group = world.Find<PodGroup>({key.ns, name});
  if (group == nullptr) {
    shape.missing = "PodGroup " + name + " is not there";
    return;
  }
  TakeJobAnnotations(group->metadata, shape.annotations);
  shape.name = key.ns + "/" + name;
  shape.cpu = QuantityOf(group->spec.min_resources, "cpu");
  shape.memory = QuantityOf(group->spec.min_resources, "memory");
  const int64_t wanted = std::max<int64_t>(1, group->spec.min_member.value_or(1));
  const auto there = int64_t(members.living());
  shape.settled = false;
  shape.least = wanted;
  shape.most = std::max(wanted, there);
  if (there < wanted) shape.missing = Count(members.living(), wanted);
}

void TakePolicy(const World& world, const std::string& name, Shape& shape) {
  const Namespace* ns = world.Find<Namespace>({"", name});
  shape.policy.ns = name;
  if (ns == nullptr) {
    shape.unread = "namespace " + name + " is not known yet";
    return;
  }
  if (auto policy = Policy::Of(*ns))
    shape.policy = *std::move(policy);
  else
    shape.refused = policy.error().message();
}

}  // namespace

Shape ShapeOf(const World& world, const kube::Key& key, const Members& members, bool for_order) {
  const Pod& first = members.first();
  Shape shape{.name = first.metadata.namespace_ + "/" + first.metadata.name};
  switch (KindOf(key.name)) {
    case Kind::kPod:
      OfPod(world, first, for_order, shape);
      break;
    case Kind::kGang:
      OfGang(world, members, shape);
      break;
    case Kind::kLeaderWorkerSet:
      OfWorkers(world, members, shape);
      break;
    case Kind::kPodGroup:
      OfPodGroup(world, key, members, shape);
      break;
  }
  TakePolicy(world, first.metadata.namespace_, shape);
  return shape;
}

}  // namespace capstan::bridge::group
