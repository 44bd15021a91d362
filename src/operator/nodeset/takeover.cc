#include "operator/nodeset/takeover.h"

#include <algorithm>

#include "operator/names.h"
#include "plan/objects/effects.h"
#include "plan/objects/lists.h"
#include "plan/slurm/effects.h"

namespace capstan::op::nodeset {
namespace {

// Its annotation on a pod that nobody else but us has written to. That is guessed too rarely rather than too often: of a
// person's pod, and of one to which a person has done something else, it stays.
bool IsFormersCordon(const Pod& pod) {
  bool former = false;
  for (const json::ManagedField& entry : pod.metadata.managed_fields) {
    if (!entry.subresource.empty()) continue;
    if (entry.manager == kFormerFieldManager)
      former = true;
    else if (entry.manager != kFieldManager)
      return false;
  }
  return former;
}

bool HasCordon(const Pod& pod) { return pod.metadata.Annotation(AsKey<kAnnotationPodCordon>()) == "true"; }

void Relabel(const Pod& pod, std::string_view former_revision, std::string_view revision, plan::Plan& plan) {
  if (former_revision.empty() || pod.metadata.Label(AsKey<kLabelRevision>()) != former_revision) return;
  std::string patch =
      R"({"metadata":{"labels":{")" + std::string(kLabelRevision) + R"(":")" + std::string(revision) + R"("}}})";
  plan.Add({.effect = plan::MergePatch("relabel", {&kube::kPods, {pod.metadata.namespace_, pod.metadata.name}},
                                       pod.metadata.uid, std::move(patch)),
            .reason = "it is of the template as it is, under the revision of a former operator",
            .guards = {},
            .after = {},
            .event = {}});
}

void RemoveCordon(const Pod& pod, plan::Plan& plan) {
  if (!HasCordon(pod) || IsCordonedByPerson(pod)) return;
  // In the version that was seen: a person may have come since.
  std::string patch = R"({"metadata":{"resourceVersion":")" + std::to_string(pod.metadata.resource_version) +
                      R"(","annotations":{")" + std::string(kAnnotationPodCordon) + R"(":null}}})";
  plan.Add({.effect = plan::MergePatch("clear cordon", {&kube::kPods, {pod.metadata.namespace_, pod.metadata.name}},
                                       pod.metadata.uid, std::move(patch)),
            .reason = "a former operator noted a drain of its own there",
            .guards = {},
            .after = {},
            .event = {}});
}

}  // namespace

std::string FormerRevision(const api::NodeSet& set, std::string_view revision) {
  const bool same_spec = set.status.observed_generation == set.metadata.generation;
  return same_spec && !revision.empty() && set.status.node_set_hash != revision ? set.status.node_set_hash : "";
}

bool IsCordonedByPerson(const Pod& pod) { return HasCordon(pod) && !IsFormersCordon(pod); }

void TakeOverWorkers(const std::vector<Worker>& workers, std::string_view former_revision, std::string_view revision,
                     plan::Plan& plan) {
  for (const Worker& worker : workers) {
    if (worker.stage == Stage::kLeaving || worker.stage == Stage::kEnded) continue;
    Relabel(*worker.pod, former_revision, revision, plan);
    RemoveCordon(*worker.pod, plan);
  }
}

}  // namespace capstan::op::nodeset
