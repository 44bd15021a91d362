#include "bridge/group/shape.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "bridge/names.h"
#include "bridge/roots.h"

namespace capstan::bridge::group {
namespace {

using plan::World;

constexpr Duration kRootsAge = 10min;
constexpr int64_t kMostPods = 1'000'000;  // of a Job
constexpr int64_t kMostJobs = 10'000;     // of one template of a JobSet

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

// Those of its JobSet stand below its own.
void TakeJob(const World& world, const Job& job, Shape& shape) {
  const json::OwnerReference* owner = job.metadata.ControllerOwner();
  if (owner != nullptr && owner->kind == JobSet::kResource.kind) {
    const JobSet* set = world.Find<JobSet>({job.metadata.namespace_, owner->name});
    if (set != nullptr && set->metadata.uid == owner->uid)
      TakeJobAnnotations(set->metadata, shape.annotations);
    else
      shape.unread = "its JobSet " + owner->name + " is not there";
  }
  TakeJobAnnotations(job.metadata, shape.annotations);
  if (const auto seconds = job.spec.active_deadline_seconds; seconds && *seconds > 0)
    shape.limit_minutes = (*seconds - 1) / 60 + 1;
}

void OfPod(const World& world, const Pod& pod, bool for_order, Shape& shape) {
  const json::OwnerReference* owner = pod.metadata.ControllerOwner();
  if (const Job* job = JobOf(world, pod)) {
    TakeJob(world, *job, shape);
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
  if (const std::string& gang = pod.metadata.Annotation(std::string(kGang)); !gang.empty())
    shape.no_gang = "annotation " + std::string(kGang) + " is " + JsonQuoted(OneLine(gang, 100)) +
                    R"(, and must be "job" on pods of a Job, or "jobset" on pods of a JobSet)";
}

// What makes the pods of a Job wait until their first has a node.
bool WaitsForItsFirst(const json::ObjectMeta& metadata) {
  return metadata.annotations.contains(std::string(kExclusiveTopology)) &&
         !metadata.annotations.contains(std::string(kExclusiveBySelector));
}

std::string CannotStartTogether(const std::string& why) {
  return why + ", so that its pods cannot start together; make it anew without that, or without the annotation " +
         std::string(kGang);
}

// Of one Job of a JobSet, its pods in the group.
struct JobPods {
  int64_t living = 0, succeeded = 0;
  bool any_ended = false;  // then no more come than are left to do
};

// As many of its pods as run at once, and no more than are left to do.
int64_t PlacesOf(const Job::Spec& spec, int64_t succeeded) {
  const int64_t parallel = std::clamp<int64_t>(spec.parallelism.value_or(1), 0, kMostPods);
  // Where both are left out there is one; where only `completions` is, nobody has said how many there will be.
  if (!spec.completions && spec.parallelism) return parallel;
  return std::clamp<int64_t>(std::min(spec.completions.value_or(1), kMostPods) - succeeded, 0, parallel);
}

void OfGang(const World& world, const Members& members, Shape& shape) {
  const Job* job = JobOf(world, members.first());
  if (job == nullptr) {
    shape.missing = "its Job is not there";
    return;
  }
  TakeJob(world, *job, shape);
  shape.name = job->metadata.namespace_ + "/" + job->metadata.name;
  const auto succeeded =
      std::ranges::count_if(members.ended, [](const Pod* pod) { return pod->status.phase == "Succeeded"; });
  shape.least = shape.most = std::max<int64_t>(1, PlacesOf(job->spec, int64_t(succeeded)));
  shape.ends = job->HasFinished() || job->metadata.deleting();
  if (members.ended.empty() && std::cmp_less(members.living(), shape.least))
    shape.missing = Count(members.living(), shape.least);
  if (shape.least > 1 && WaitsForItsFirst(job->metadata))
    shape.no_gang =
        CannotStartTogether("Job " + job->metadata.name + " has annotation " + std::string(kExclusiveTopology));
}

bool IsOfGang(const JobSet::ReplicatedJob& job) {
  return job.job_template.spec.pod_template.metadata.Annotation(std::string(kGang)) == "jobset";
}

// Why those of the JobSet's pods that are to start together cannot; "": they can.
std::string WhyNoGang(const JobSet& set) {
  std::set<std::string_view> names;
  for (const JobSet::ReplicatedJob& job : set.spec.replicated_jobs)
    if (IsOfGang(job)) names.insert(job.name);
  const std::string name = "JobSet " + set.metadata.name;
  if (names.size() > 1 && set.spec.startup_policy.startup_policy_order == "InOrder")
    return name + " has startupPolicyOrder InOrder, by which its Jobs wait for each other";
  for (const JobSet::ReplicatedJob& job : set.spec.replicated_jobs) {
    if (!names.contains(job.name)) continue;
    for (const JobSet::DependsOn& other : job.depends_on)
      if (names.contains(other.name))
        return name + " lets the Jobs " + job.name + " wait for " + other.name + " (dependsOn)";
    json::ObjectMeta both = job.job_template.metadata;  // the controller gives a Job the JobSet's, too
    both.annotations.insert(set.metadata.annotations.begin(), set.metadata.annotations.end());
    if (job.job_template.spec.parallelism.value_or(1) > 1 && WaitsForItsFirst(both))
      return name + " has annotation " + std::string(kExclusiveTopology);
  }
  return {};
}

// By template and number.
std::map<std::pair<std::string, int64_t>, JobPods> JobPodsOf(const Members& members) {
  std::map<std::pair<std::string, int64_t>, JobPods> jobs;
  const auto of = [&](const Pod& pod) -> JobPods& {
    return jobs[{pod.metadata.Label(std::string(kReplicatedJob)),
                 ParseInt(pod.metadata.Label(std::string(kReplicatedJobIndex))).value_or(0)}];
  };
  for (const auto* list : {&members.gated, &members.released})
    for (const Pod* pod : *list) ++of(*pod).living;
  for (const Pod* pod : members.ended) {
    JobPods& job = of(*pod);
    job.any_ended = true;
    job.succeeded += pod->status.phase == "Succeeded";
  }
  return jobs;
}

void OfJobSet(const World& world, const kube::Key& key, const Members& members, Shape& shape) {
  const std::string& name = members.first().metadata.Label(std::string(kJobSetName));
  if (!world.Served<JobSet>()) {
    shape.missing =
        "this cluster has no JobSets (jobset.x-k8s.io), and label " + std::string(kJobSetName) + " names one";
    return;
  }
  const JobSet* set = world.Find<JobSet>({key.ns, name});
  if (set == nullptr || (RestOf(key.name) != name && RestOf(key.name) != set->metadata.uid)) {
    shape.missing = "JobSet " + name + " is not there";
    return;
  }
  TakeJobAnnotations(set->metadata, shape.annotations);
  shape.name = key.ns + "/" + name;
  shape.ends = set->HasFinished() || set->metadata.deleting();
  if (const std::string why = WhyNoGang(*set); !why.empty()) shape.no_gang = CannotStartTogether(why);
  const auto pods = JobPodsOf(members);
  int64_t places = 0, wanted = 0, there = 0, limit = 0;
  bool all_have_limits = true;
  for (const JobSet::ReplicatedJob& job : set->spec.replicated_jobs) {
    if (!IsOfGang(job)) continue;
    const JobSet::JobSpec& spec = job.job_template.spec;
    const int64_t jobs = std::clamp<int64_t>(job.replicas.value_or(1), 0, kMostJobs);
    for (int64_t i = 0; i < jobs; ++i) {
      const std::string number = std::to_string(i);
      const Job* made = world.Find<Job>({key.ns, name + "-" + job.name + "-" + number});
      if (made != nullptr && made->HasFinished()) continue;  // its pods may be gone
      const auto found = pods.find({job.name, i});
      const JobPods own = found == pods.end() ? JobPods() : found->second;
      const int64_t left = PlacesOf({spec.parallelism, spec.completions, {}}, own.succeeded);
      places += left;
      if (own.any_ended) continue;
      wanted += left;
      there += std::min(own.living, left);
    }
    const int64_t seconds = spec.active_deadline_seconds.value_or(0);
    all_have_limits &= seconds > 0;
    limit = std::max(limit, seconds);
  }
  shape.least = shape.most = std::max<int64_t>(1, places);
  if (there < wanted) shape.missing = Count(size_t(there), wanted);
  if (all_have_limits && limit > 0) shape.limit_minutes = (limit - 1) / 60 + 1;
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
    case Kind::kJobSet:
      OfJobSet(world, key, members, shape);
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
