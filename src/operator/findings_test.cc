#include "operator/findings.h"

#include <gtest/gtest.h>

#include "operator/pods.h"

namespace capstan::op {
namespace {

TEST(Conditions, KeepTheirTimeWhileTheyStand) {
  const Time start = *ParseRfc3339("2026-11-21T08:00:00Z");
  Findings findings;
  findings.Wait("Starting", "0 of 1 ready");
  api::Conditions conditions = ConditionsOf({}, findings, 1, start);
  findings = {};
  findings.Wait("Starting", "still 0 of 1 ready");
  conditions = ConditionsOf(conditions, findings, 2, start + 1h);
  EXPECT_EQ(api::FindCondition(conditions, api::kReady)->last_transition_time, start);
  EXPECT_EQ(api::FindCondition(conditions, api::kReady)->message, "still 0 of 1 ready");
  EXPECT_EQ(api::FindCondition(conditions, api::kReady)->observed_generation, 2);
  findings = {};
  findings.Ready("ready");
  conditions = ConditionsOf(conditions, findings, 2, start + 2h);
  EXPECT_EQ(api::FindCondition(conditions, api::kReady)->last_transition_time, start + 2h);
  EXPECT_EQ(api::FindCondition(conditions, api::kDegraded)->last_transition_time, start);
  EXPECT_EQ(conditions.size(), 3u);
}

TEST(Conditions, SayEveryProblemAndKeepReadyTrue) {
  Findings findings;
  findings.Ready("ready");
  findings.Remark("NotSupported", "three");
  findings.Problem("KeyMissing", "one");
  findings.Problem("InvalidSpec", "two");
  const api::Conditions conditions = ConditionsOf({}, findings, 1, Time());
  EXPECT_EQ(api::ConditionStatus(conditions, api::kReady), "True");
  EXPECT_EQ(api::FindCondition(conditions, api::kDegraded)->message, "one; two; three");
  EXPECT_EQ(api::FindCondition(conditions, api::kDegraded)->reason, "KeyMissing");
}

TEST(PodTrouble, SaysWhatDoesNotPassByItself) {
  Pod pod;
  pod.metadata.name = "w-3";
  pod.status.conditions = {
      {.type = "PodScheduled", .status = "False", .reason = "Unschedulable", .message = "no node is left"}};
  EXPECT_EQ(PodTrouble(pod), "pod w-3 cannot be placed: no node is left");
  pod.status.conditions.clear();
  pod.status.container_statuses = {{.name = "slurmd", .state = {.waiting = ContainerWaiting{"ContainerCreating", ""}}}};
  EXPECT_EQ(PodTrouble(pod), "");
  pod.status.init_container_statuses = {
      {.name = "logfile", .state = {.waiting = ContainerWaiting{"CrashLoopBackOff", "back-off"}}}};
  EXPECT_EQ(PodTrouble(pod), "pod w-3, container logfile: CrashLoopBackOff: back-off");
}

}  // namespace
}  // namespace capstan::op
