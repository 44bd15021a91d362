#include "operator/nodeset/staying.h"

#include "base/text.h"
#include "operator/names.h"
#include "operator/nodeset/drains.h"
#include "operator/nodeset/identity.h"
#include "operator/nodeset/live_conf.h"
#include "operator/nodeset/machine.h"
#include "operator/nodeset/node_annotations.h"
#include "operator/nodeset/pod_conditions.h"
#include "operator/nodeset/power.h"
#include "operator/pods.h"
#include "operator/reasons.h"
#include "plan/objects/effects.h"
#include "plan/slurm/effects.h"

namespace capstan::op::nodeset {
namespace {

using slurm::NodeAction;

bool HasProtection(const Worker& worker) { return worker.pod->metadata.Label(AsKey<kLabelPodProtect>()) == "true"; }

// As far as it is to be; so that a job may begin there.
bool IsProtected(const Look& look, const Worker& worker) {
  if (!*look.spec.workload_disruption_protection) return true;
  return HasProtection(worker) && !look.world.InFlight(PodRef(worker).ToString());
}

// Its jobs end in peace, and no new ones begin, until nobody wants it out any more. A node that is out of service for another
// reason stays so: it is not resumed, and needs no drain.
void KeepOut(const Look& look, const Worker& worker, plan::Plan& wants) {
  const bool drained = worker.stage == Stage::kDraining || worker.stage == Stage::kDrained;
  // The words of a Kubernetes node that is gone stay: nobody has taken them back.
  const bool other = worker.machine != nullptr && worker.node->reason != worker.cordon;
  const bool again = drained && (other || worker.may_be_lifted);
  if (worker.stage != Stage::kServing && !again) return;
  look.Update(wants, "drain", worker, {.action = NodeAction::kDrain, .reason = worker.cordon},
              "it is to be out of service", {look.NotHeld(worker)});
  wants.actions.back().event = {.reason = EventWord("NodeCordon"), .action = "Cordon"};
}

// slurmd registers until its first success and never again: a worker whose record was lost stays outside until it is
// replaced. That no record is there proves nothing of its jobs (identity.h). One that is not ready may be starting still,
// however long that takes, unless the kubelet says what is wrong with it.
void Replace(const Look& look, const Worker& worker, plan::Plan& wants) {
  if (worker.pod->status.phase != "Running" || !look.slurm.absence_counts()) return;
  const bool lost = worker.pod->Ready() ? look.IsForgotten(wants, worker)
                                        : look.IsLate(wants, worker) && !PodTrouble(*worker.pod).empty();
  if (!lost) return;
  plan::Action remove = RemovalOf(worker, "Slurm has no record of the worker; a new one will register");
  remove.guards = {SlurmdIsFree(worker), plan::NodeIsDrained(look.cluster, worker.host, true)};
  remove.event = {.reason = EventWord("SlurmNodeNotRegistered"), .action = "Delete", .warning = true};
  wants.Add(std::move(remove));
}

void SetProtected(const Worker& worker, bool is, std::string reason, plan::Guards guards, plan::Plan& wants) {
  std::string patch =
      R"({"metadata":{"labels":{")" + std::string(kLabelPodProtect) + R"(":)" + (is ? R"("true")" : "null") + "}}}";
  wants.Add({.effect = plan::MergePatch(is ? "protect" : "unprotect", PodRef(worker), worker.pod->metadata.uid,
                                        std::move(patch)),
             .reason = std::move(reason),
             .guards = std::move(guards),
             .after = {},
             .event = {}});
}

// Services, the budget of evictions and the operator itself know a worker by them. One that was changed has a meaning to
// whoever did so; without component the operator sees no pod at all.
void PutLabelsBack(const Look& look, const Worker& worker, plan::Plan& wants) {
  const json::ObjectMeta& pod = worker.pod->metadata;
  std::string lost;
  const auto keep = [&](const std::string& label, auto value) {
    if (pod.Label(label).empty()) lost += (lost.empty() ? "" : ",") + JsonQuoted(label) + ":" + JsonQuoted(value());
  };
  keep(AsKey<kLabelName>(), [] { return kWorker.app; });
  keep(AsKey<kLabelInstance>(), [&] { return std::string_view(look.set.metadata.name); });
  keep(AsKey<kLabelCluster>(), [&] { return std::string_view(look.set.spec.controller_ref.name); });
  keep(AsKey<kLabelPodName>(), [&] { return std::string_view(pod.name); });
  keep(AsKey<kLabelScalingMode>(), [&] { return worker.daemon ? api::kScalingDaemonSet : api::kScalingStatefulSet; });
  if (worker.named() && !worker.host.empty())
    keep(AsKey<kLabelPodHostname>(), [&] { return std::string_view(worker.host); });
  if (!worker.daemon)
    keep(AsKey<kLabelPodIndex>(), [&] { return std::string_view(pod.name).substr(pod.name.rfind('-') + 1); });
  if (lost.empty()) return;
  wants.Add({.effect = plan::MergePatch("label", PodRef(worker), pod.uid, R"({"metadata":{"labels":{)" + lost + "}}}"),
             .reason = "somebody has removed labels by which it is known",
             .guards = {},
             .after = {},
             .event = {}});
}

}  // namespace

plan::Plan Stay(const Look& look, const Worker& worker) {
  plan::Plan wants = look.Part();
  if (worker.powering_up) {
    wants = ReplaceEarlier(look, worker);
    if (!wants.actions.empty()) return wants;
  }
  const bool marked = worker.marked();
  if (marked) wants.Add(MarkOf(worker, false, "the worker is wanted again"));
  if (look.IsComing(worker)) wants.slurm_expects.push_back(worker.host);
  if (worker.stage == Stage::kUnregistered && !worker.powering_up) Replace(look, worker, wants);
  if (worker.node == nullptr) return wants;
  if (!worker.cordon.empty()) {
    KeepOut(look, worker, wants);
    return wants;
  }
  // A deletion may be on its way still: a job that began now would die with the worker (going.cc).
  if (marked || !IsProtected(look, worker) || !WhyNotInService(worker).empty()) return wants;
  plan::Guards guards = {MachineTakesWork(worker.machine->metadata.name), look.NotHeld(worker)};
  if (MayBeResumed(*worker.node, look.set)) {
    look.Update(wants, "resume", worker, {.action = NodeAction::kResume}, "the worker is back", std::move(guards));
  } else if (IsOurDrain(*worker.node, look.set)) {
    look.Update(wants, "undrain", worker, {.action = NodeAction::kUndrain}, "the worker is wanted again",
                std::move(guards));
  }
  return wants;
}

plan::Plan Note(const Look& look, const Worker& worker) {
  plan::Plan wants = look.Part();
  if (auto told = TellNodeState(worker)) wants.Add(*std::move(told));
  if (worker.stage == Stage::kLeaving || worker.stage == Stage::kEnded) return wants;
  PutLabelsBack(look, worker, wants);
  if (auto own = TakenOverRecord(worker, look.set)) {
    look.Update(wants, "describe", worker, *std::move(own), "the record was that of another NodeSet's worker");
    return wants;
  }
  FollowNodeAnnotations(look, worker, wants);
  if (worker.stage == Stage::kUnbound || worker.node == nullptr) return wants;
  std::string comment = RecordComment(worker, look.set, look.slurm.life());
  if (worker.node->comment == comment) return wants;
  look.Update(wants, "note", worker, {.comment = std::move(comment)}, "who stands behind the Slurm node");
  return wants;
}

plan::Plan Protect(const Look& look, const Worker& worker) {
  plan::Plan wants = look.Part();
  if (worker.stage == Stage::kLeaving || worker.stage == Stage::kEnded) return wants;
  const bool wanted = *look.spec.workload_disruption_protection;
  const bool is = HasProtection(worker);
  const bool out =
      worker.stage == Stage::kDrained || (worker.stage == Stage::kDown && IsOurDown(*worker.node, look.set));
  if (wanted && out && (worker.marked() || !worker.cordon.empty())) {
    if (!is || worker.marked() || worker.may_be_lifted) return wants;
    plan::Guards guards{plan::NodeIsOurs(look.cluster, worker.host, std::string(kReasonPrefix), false)};
    if (!worker.record_is_sure) guards.push_back(SlurmdIsFree(worker));
    SetProtected(worker, false, "it is out of service and runs no job", std::move(guards), wants);
    return wants;
  }
  if (is != wanted) SetProtected(worker, wanted, wanted ? "jobs may run here" : "nobody wants protection", {}, wants);
  return wants;
}

}  // namespace capstan::op::nodeset
