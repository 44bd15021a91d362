#include "operator/render/conditions.h"

#include <algorithm>
#include <array>

namespace capstan::op::render {
namespace {

constexpr int kConflictTries = 3;

api::Condition Make(std::string_view type, bool status, int64_t generation, Finding finding) {
  return {.type = std::string(type),
          .status = status ? "True" : "False",
          .observed_generation = generation,
          .last_transition_time = {},
          .reason = std::move(finding.reason),
          .message = std::move(finding.message)};
}

// The first finding's reason, and everybody's sentence.
Finding Joined(const std::vector<Finding>& findings) {
  Finding joined{findings.front().reason, ""};
  for (const Finding& finding : findings) {
    if (!joined.message.empty()) joined.message += "; ";
    joined.message += finding.message;
  }
  return joined;
}

Finding WhyNotReady(const Findings& findings) {
  if (!findings.problems.empty()) return Joined(findings.problems);
  if (!findings.waits.empty()) return Joined(findings.waits);
  return {"NotReady", "it is not ready yet"};
}

// Reasons for waiting that do not pass by themselves.
bool IsTrouble(std::string_view reason) {
  constexpr auto kReasons =
      std::to_array<std::string_view>({"ImagePullBackOff", "ErrImagePull", "InvalidImageName", "CrashLoopBackOff",
                                       "CreateContainerConfigError", "CreateContainerError", "RunContainerError"});
  return std::ranges::find(kReasons, reason) != kReasons.end();
}

std::string ContainerTrouble(const std::vector<ContainerStatus>& statuses) {
  for (const ContainerStatus& status : statuses) {
    if (!status.state.waiting || !IsTrouble(status.state.waiting->reason)) continue;
    const ContainerWaiting& waiting = *status.state.waiting;
    return "container " + status.name + ": " + waiting.reason + (waiting.message.empty() ? "" : ": " + waiting.message);
  }
  return {};
}

}  // namespace

void Findings::AddFailures(const plan::World& world) {
  for (const plan::Failure& failure : world.failures()) {
    const bool named = failure.reason != "ActionFailed";
    if (failure.code == Code::kConflict && !named && failure.tries < kConflictTries) continue;
    const bool name_taken = failure.reason == "NameConflict";
    Problem(std::string(failure.reason),
            name_taken ? failure.message : failure.verb + " " + failure.target + " failed: " + failure.message);
  }
}

api::Conditions ConditionsOf(const api::Conditions& before, const Findings& findings, int64_t generation, Time now) {
  api::Conditions conditions;
  for (const std::string_view type : {api::kReady, api::kProgressing, api::kDegraded}) {
    if (const api::Condition* condition = api::FindCondition(before, type)) conditions.push_back(*condition);
  }
  api::SetCondition(conditions,
                    Make(api::kReady, findings.ready.has_value(), generation,
                         findings.ready ? *findings.ready : WhyNotReady(findings)),
                    now);
  api::SetCondition(conditions,
                    Make(api::kProgressing, !findings.waits.empty(), generation,
                         findings.waits.empty() ? Finding{"Settled", "nothing is under way"} : Joined(findings.waits)),
                    now);
  api::SetCondition(
      conditions,
      Make(api::kDegraded, !findings.problems.empty(), generation,
           findings.problems.empty() ? Finding{"AsExpected", "nothing is wrong"} : Joined(findings.problems)),
      now);
  return conditions;
}

api::Conditions NotManagedYet(const plan::World& world, const json::ObjectMeta& metadata, const api::Conditions& before,
                              std::string message) {
  Findings findings;
  findings.Problem("NotManagedYet", std::move(message));
  return ConditionsOf(before, findings, metadata.generation, world.now());
}

std::string PodTrouble(const Pod& pod) {
  if (const PodCondition* scheduled = pod.Condition("PodScheduled");
      scheduled != nullptr && scheduled->status == "False" && scheduled->reason == "Unschedulable") {
    return "pod " + pod.metadata.name + " cannot be placed: " + scheduled->message;
  }
  std::string trouble = ContainerTrouble(pod.status.init_container_statuses);
  if (trouble.empty()) trouble = ContainerTrouble(pod.status.container_statuses);
  return trouble.empty() ? "" : "pod " + pod.metadata.name + ", " + trouble;
}

bool NeverRan(const Pod& pod) {
  const PodCondition* scheduled = pod.Condition("PodScheduled");
  if (pod.spec.node_name.empty()) return scheduled != nullptr && scheduled->status == "False";
  return std::ranges::any_of(pod.status.container_statuses, [](const ContainerStatus& status) {
    return status.state.waiting && status.container_id.empty() && status.restart_count == 0;
  });
}

}  // namespace capstan::op::render
