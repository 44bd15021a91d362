#include "operator/reconcile.h"

#include <algorithm>

#include "operator/names.h"
#include "operator/pods.h"
#include "operator/questions.h"
#include "operator/reasons.h"
#include "plan/objects/effects.h"

namespace capstan::op {
namespace {

constexpr Duration kSettleTime = 1s;
constexpr Duration kAskWhyNotEvery = 2s;

}  // namespace

bool ReconcileBase::Want(Result<plan::Child> child) {
  if (child) {
    plan.children.push_back(*std::move(child));
    return true;
  }
  findings.Problem("InvalidSpec", child.error().message());
  KeepWhatIsThere();
  return false;
}

bool ReconcileBase::HasSettled(const std::string& configuration, std::string_view daemon) {
  const Duration held = world.HeldFor("configuration " + configuration);
  if (held >= kSettleTime) return true;
  plan.RequeueAfter(kSettleTime - held);
  findings.Wait("Settling", "the configuration is new; " + std::string(daemon) + " is started in a second");
  return false;
}

void ReconcileBase::ReplaceStuck(const StatefulSet& set, bool (*stuck)(const Pod& pod), std::string_view why) {
  const std::string& newest = set.status.update_revision;
  if (set.metadata.deleting() || newest.empty() || set.status.observed_generation < set.metadata.generation) return;
  for (const Pod& pod : world.OwnedBy<Pod>(set.metadata.uid)) {
    const std::string& revision = pod.metadata.Label(std::string(kLabelSetRevision));
    if (revision.empty() || revision == newest || pod.metadata.deleting() || !stuck(pod)) continue;
    plan::Action remove =
        plan::DeleteUnchanged({&kube::kPods, {pod.metadata.namespace_, pod.metadata.name}}, pod.metadata.uid,
                              pod.metadata.resource_version, std::string(why) + ", and its template has changed since");
    remove.event = {.reason = EventWord("SuccessfulDelete"), .action = "Delete"};
    plan.Add(std::move(remove));
  }
}

void ReconcileBase::IsToCome(std::string_view daemon) {
  if (findings.waits.empty() && findings.problems.empty())
    findings.Wait("Creating", std::string(daemon) + " is being created");
}

bool ReconcileBase::IsComplete(const json::ObjectMeta& metadata, const WorkloadStatus& status, int32_t wanted,
                               std::string_view daemon) {
  const std::string name(daemon);
  const std::string counted = std::to_string(status.ready_replicas) + " of " + std::to_string(wanted);
  if (wanted == 0)
    findings.Ready("spec.replicas is 0: no " + name + " is wanted");
  else if (status.ready_replicas > 0)
    findings.Ready(wanted == 1 ? name + " is ready" : counted + " " + name + " are ready");
  const bool current = status.observed_generation >= metadata.generation;
  const bool renewed = status.updated_replicas >= std::max(wanted, status.replicas);
  if (current && status.ready_replicas >= wanted && renewed) return true;
  findings.Wait("Starting", name + " is starting: " + counted + " ready");
  return false;
}

void ReconcileBase::TellOf(const kube::ObjectList<Pod>& pods, std::string_view daemon) {
  for (const Pod& pod : pods) {
    if (std::string trouble = PodTrouble(pod); !trouble.empty()) findings.Problem("PodFailing", std::move(trouble));
    if (daemon == kAccounting.app || daemon == kRestApi.app) AskWhyNot(pod);
    if (!pod.metadata.deleting()) continue;
    const Duration left = UntilLost(pod, world.now());
    if (left > Duration(0))
      plan.RequeueAfter(left);
    else
      findings.Problem("NodeLost", LostPod(pod));
  }
}

// One that waits where it does not start says why; a kubelet says so of one that ends.
void ReconcileBase::AskWhyNot(const Pod& pod) {
  if (pod.Ready() || pod.metadata.deleting() || pod.status.phase != "Running" || pod.status.pod_ip.empty()) return;
  const kube::Key key{pod.metadata.namespace_, pod.metadata.name};
  const auto trouble = world.Ask(StartTrouble(key, pod.status.pod_ip), kAskWhyNotEvery);
  if (trouble.value != nullptr && !trouble.value->empty())
    findings.Problem("PodFailing", "pod " + key.name + ": " + *trouble.value);
}

}  // namespace capstan::op
