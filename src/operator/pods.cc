#include "operator/pods.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "plan/objects/effects.h"

namespace capstan::op {
namespace {

constexpr Duration kLostTime = 1min;

constexpr size_t kLongestWords = 300;  // bytes

// Reasons for waiting that do not pass by themselves.
bool IsTrouble(std::string_view reason) {
  constexpr auto kReasons =
      std::to_array<std::string_view>({"ImagePullBackOff", "ErrImagePull", "InvalidImageName", "CrashLoopBackOff",
                                       "CreateContainerConfigError", "CreateContainerError", "RunContainerError"});
  return std::ranges::find(kReasons, reason) != kReasons.end();
}

// The last thing that a container said before it ended, where it is known.
std::string LastWords(const ContainerStatus& status) {
  if (!status.last_state.terminated) return {};
  const std::string_view said = Trim(status.last_state.terminated->message);
  const std::string_view line = said.substr(said.rfind('\n') + 1);
  return line.empty() ? "" : "; it said: " + std::string(Trim(line.substr(0, kLongestWords)));
}

std::string ContainerTrouble(const std::vector<ContainerStatus>& statuses) {
  for (const ContainerStatus& status : statuses) {
    if (!status.state.waiting || !IsTrouble(status.state.waiting->reason)) continue;
    const ContainerWaiting& waiting = *status.state.waiting;
    return "container " + status.name + ": " + waiting.reason +
           (waiting.message.empty() ? "" : ": " + waiting.message) + LastWords(status);
  }
  return {};
}

}  // namespace

std::string PodTrouble(const Pod& pod) {
  if (const PodCondition* scheduled = pod.Condition("PodScheduled");
      scheduled != nullptr && scheduled->status == "False" && scheduled->reason == "Unschedulable") {
    return "pod " + pod.metadata.name + " cannot be placed: " + scheduled->message;
  }
  std::string trouble = ContainerTrouble(pod.status.init_container_statuses);
  if (trouble.empty()) trouble = ContainerTrouble(pod.status.container_statuses);
  return trouble.empty() ? "" : "pod " + pod.metadata.name + ", " + trouble;
}

Duration UntilLost(const Pod& pod, Time now) {
  return std::max(Duration::zero(), *pod.metadata.deletion_timestamp + kLostTime - now);
}

std::string LostPod(const Pod& pod) {
  const std::string& node = pod.spec.node_name;
  return "pod " + pod.metadata.name + " should have ended, and node " + node +
         " does not say that it has. No other is made while it may run on that machine, since two would be in each "
         "other's way. If the machine is off for good, delete the node, or run: kubectl taint nodes " +
         node + " node.kubernetes.io/out-of-service=nodeshutdown:NoExecute";
}

bool NeverRan(const Pod& pod) {
  const PodCondition* scheduled = pod.Condition("PodScheduled");
  if (pod.spec.node_name.empty()) return scheduled != nullptr && scheduled->status == "False";
  return std::ranges::any_of(pod.status.container_statuses, [](const ContainerStatus& status) {
    return status.state.waiting && status.container_id.empty() && status.restart_count == 0;
  });
}

void AnnotatePod(plan::Plan& plan, std::string_view verb, const Pod& pod, std::string_view annotation,
                 const std::string& value, std::string reason, std::vector<plan::ActionId> after) {
  const kube::Key key{pod.metadata.namespace_, pod.metadata.name};
  const std::string patch = R"({"metadata":{"annotations":{")" + std::string(annotation) + R"(":")" + value + R"("}}})";
  plan.Add({.effect = plan::MergePatch(verb, {&kube::kPods, key}, pod.metadata.uid, patch),
            .reason = std::move(reason),
            .guards = {},
            .after = std::move(after),
            .event = {}});
}

}  // namespace capstan::op
