#include "operator/nodeset/deadlines.h"

#include <algorithm>

#include "base/text.h"
#include "operator/names.h"
#include "plan/objects/effects.h"

namespace capstan::op::nodeset {
namespace {

constexpr std::string_view kNever = "9999-12-31T23:59:59Z";

bool IsOnCordonedNode(const Worker& worker) { return worker.machine != nullptr && worker.machine->spec.unschedulable; }

// A write would hold up the deletion of one that is free and goes.
bool IsTold(const Worker& worker) {
  if (worker.node == nullptr || worker.stage == Stage::kLeaving || worker.stage == Stage::kEnded) return false;
  return !(worker.marked() && worker.node->state.IsDrained());
}

void Tell(const Worker& worker, const std::string& deadline, plan::Plan& plan) {
  const json::ObjectMeta& pod = worker.pod->metadata;
  if (pod.Annotation(AsKey<kAnnotationPodDeadline>()) == deadline) return;
  std::string patch = R"({"metadata":{"annotations":{)" + JsonQuoted(kAnnotationPodDeadline) + ":" +
                      (deadline.empty() ? "null" : JsonQuoted(deadline)) + "}}}";
  plan.Add({.effect = plan::MergePatch("date", {&kube::kPods, {pod.namespace_, pod.name}}, pod.uid, std::move(patch)),
            .reason = "when the jobs on it end",
            .guards = {},
            .after = {},
            .event = {}});
}

std::string TextOf(const JobEnds& ends, const Worker& worker) {
  const auto end = ends.find(worker.host);
  if (end == ends.end() || end->second == Time::min()) return "";
  return end->second == Time::max() ? std::string(kNever) : FormatRfc3339(end->second);
}

}  // namespace

bool IsAutoscaled(const api::NodeSet& set) {
  return std::ranges::any_of(set.metadata.managed_fields, [](const json::ManagedField& entry) {
    return entry.subresource == "scale" && !entry.manager.starts_with("kubectl");
  });
}

void TellDeadlines(const api::NodeSet& set, const std::vector<Worker>& workers, const plan::SlurmView& slurm,
                   plan::Plan& plan) {
  const bool wanted = !workers.empty() && (IsAutoscaled(set) || std::ranges::any_of(workers, &IsOnCordonedNode));
  if (!wanted) {
    for (const Worker& worker : workers) {
      if (IsTold(worker)) Tell(worker, "", plan);
    }
    return;
  }
  plan.slurm_jobs = true;
  const std::vector<slurm::Job>* jobs = slurm.heard() ? slurm.Jobs() : nullptr;
  if (jobs == nullptr) return;
  std::vector<const Worker*> told;
  for (const Worker& worker : workers) {
    if (IsTold(worker)) told.push_back(&worker);
  }
  const JobEnds ends = JobEndsOf(*jobs, told);
  for (const Worker* worker : told) Tell(*worker, TextOf(ends, *worker), plan);
}

}  // namespace capstan::op::nodeset
