#include "operator/nodeset/look.h"

#include <iterator>

#include "operator/names.h"
#include "operator/nodeset/deletion.h"
#include "operator/nodeset/drains.h"
#include "operator/reasons.h"
#include "plan/objects/effects.h"
#include "plan/slurm/effects.h"

namespace capstan::op::nodeset {

namespace {

constexpr Duration kLostRecordTimeout = kDeletionTimeout;  // of a worker that is ready

}  // namespace

plan::Plan Look::Part() const {
  plan::Plan part;
  part.slurm_cluster = cluster;
  return part;
}

bool Look::Lasts(plan::Plan& part, const std::string& fact, Duration wanted) const {
  const Duration held = world.HeldFor(fact);
  if (held < wanted) part.RequeueAfter(wanted - held);
  return held >= wanted;
}

plan::ActionId Look::Update(plan::Plan& part, std::string_view verb, const Worker& worker, slurm::NodeUpdate update,
                            std::string reason, plan::Guards guards) const {
  update.names = {worker.host};
  part.slurm_expects.push_back(worker.host);
  return part.Add({.effect = plan::UpdateNode(verb, cluster, std::move(update)),
                   .reason = std::move(reason),
                   .guards = std::move(guards),
                   .after = {},
                   .event = {}});
}

std::shared_ptr<const plan::Guard> Look::NotHeld(const Worker& worker) const {
  return plan::NodeIsNotHeld(cluster, worker.host, std::string(kReasonPrefix));
}

bool Look::IsComing(const Worker& worker) const {
  const bool registers = worker.stage == Stage::kUnregistered ||
                         (worker.stage == Stage::kDown && MayBeResumed(*worker.node, set) && worker.cordon.empty());
  return registers && worker.pod->status.phase == "Running" &&
         world.HeldFor((worker.pod->Ready() ? "back " : "coming ") + worker.pod->metadata.uid) < kRegistrationTimeout;
}

bool Look::IsForgotten(plan::Plan& part, const Worker& worker) const {
  return Lasts(part, UnknownFact(worker), kLostRecordTimeout);
}

bool Look::IsLate(plan::Plan& part, const Worker& worker) const {
  return Lasts(part, "unregistered " + worker.pod->metadata.uid, kRegistrationTimeout);
}

std::string UnknownFact(const Worker& worker) { return "forgotten " + worker.pod->metadata.uid; }

plan::ObjectRef PodRef(const Worker& worker) {
  return {&kube::kPods, {worker.pod->metadata.namespace_, worker.pod->metadata.name}};
}

void AddPart(plan::Plan& plan, plan::Plan part) {
  const auto append = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  append(plan.children, part.children);
  append(plan.actions, part.actions);
  append(plan.slurm_expects, part.slurm_expects);
  plan.slurm_jobs |= part.slurm_jobs;
  plan.RequeueAfter(part.requeue_after);
}

plan::Action MarkOf(const Worker& worker, bool goes, std::string reason) {
  const json::ObjectMeta& pod = worker.pod->metadata;
  std::string patch =
      R"({"metadata":{"annotations":{")" + std::string(kAnnotationScaleIn) + R"(":)" + (goes ? R"("true")" : "null");
  if (!pod.Annotation(AsKey<kFormerAnnotationScaleIn>()).empty())
    patch += R"(,")" + std::string(kFormerAnnotationScaleIn) + R"(":null)";
  patch += "}}}";
  return {.effect = plan::MergePatch(goes ? "cordon" : "uncordon", PodRef(worker), pod.uid, std::move(patch)),
          .reason = std::move(reason),
          .guards = {},
          .after = {},
          .event = {}};
}

plan::Action RemovalOf(const Worker& worker, std::string reason) {
  const json::ObjectMeta& meta = worker.pod->metadata;
  plan::Action remove = plan::DeleteUnchanged(PodRef(worker), meta.uid, meta.resource_version, std::move(reason));
  remove.event = {.reason = EventWord("SuccessfulDelete"), .action = "Delete"};
  return remove;
}

}  // namespace capstan::op::nodeset
