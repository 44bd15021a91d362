#include "bridge/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bridge/names.h"
#include "json/value.h"

namespace capstan::bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const AdmissionSettings kSettings{"slurm.slurm-bridge", "slurm-bridge-scheduler", "default-scheduler"};

kube::AdmissionRequest Creates(std::string_view pod) {
  kube::AdmissionRequest request;
  request.uid = "review";
  request.operation = "CREATE";
  request.resource = {"", "v1", "pods"};
  request.object.text = std::string(pod);
  return request;
}

kube::AdmissionAnswer Ask(const kube::AdmissionRequest& request) {
  const auto answer = Admit(kSettings, request);
  EXPECT_TRUE(answer) << answer.error().message();
  return answer ? *answer : kube::AdmissionAnswer{};
}
std::string PatchOf(std::string_view pod) { return Ask(Creates(pod)).patch.text(); }

TEST(Admit, LetsAPodWaitAndMakesItTheBridges) {
  const auto answer =
      Ask(Creates(R"({"metadata":{"name":"a"},"spec":{"schedulerName":"slurm-bridge-scheduler","nodeName":"n"}})"));
  EXPECT_TRUE(answer.allowed);
  const std::string patch = answer.patch.text();
  EXPECT_THAT(patch, HasSubstr(R"("capstan.dev/bridged":"slurm.slurm-bridge")"));
  EXPECT_THAT(patch, HasSubstr(R"({"name":"capstan.dev/slurm"})"));
  EXPECT_THAT(patch, HasSubstr(R"("scheduler.slinky.slurm.net/requested-scheduler":"slurm-bridge-scheduler")"));
  EXPECT_THAT(patch, HasSubstr(R"({"op":"remove","path":"/spec/nodeName"})"));
  EXPECT_THAT(patch, HasSubstr(R"("value":"default-scheduler")"));
}

TEST(Admit, ItsOwnOutputGoesThroughUnchanged) {
  EXPECT_EQ(
      PatchOf(R"({"metadata":{"labels":{"capstan.dev/bridged":"slurm.slurm-bridge"},)"
              R"("annotations":{"scheduler.slinky.slurm.net/requested-scheduler":"x"}},)"
              R"("spec":{"schedulingGates":[{"name":"capstan.dev/slurm"}],"schedulerName":"default-scheduler"}})"),
      "[]");
}

TEST(Admit, KeepsTheGatesOfOthers) {
  EXPECT_THAT(PatchOf(R"({"spec":{"schedulingGates":[{"name":"kueue"}]}})"),
              HasSubstr(R"({"name":"capstan.dev/slurm"})"));
  EXPECT_THAT(PatchOf(R"({"spec":{"schedulingGates":[{"name":"kueue"}]}})"), ::testing::Not(HasSubstr("remove")));
}

TEST(Admit, LeavesAloneWhatIsNotForSlurm) {
  for (const char* pod : {
           R"({"spec":{"schedulerName":"volcano"}})",
           R"({"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"d"}]},"spec":{}})",
           R"({"metadata":{"annotations":{"kubernetes.io/config.mirror":"x"}},"spec":{"nodeName":"n"}})",
       }) {
    const auto answer = Ask(Creates(pod));
    EXPECT_TRUE(answer.allowed) << pod;
    EXPECT_EQ(answer.patch.text(), "[]") << pod;
  }
  auto request = Creates("{}");
  request.operation = "UPDATE";
  EXPECT_EQ(Ask(request).patch.text(), "[]");
  request = Creates("{}");
  request.subresource = "binding";
  EXPECT_EQ(Ask(request).patch.text(), "[]");
}

TEST(Admit, RefusesWhatOnlyTheBridgeWritesAndWhatCouldNeverBePinned) {
  for (
      const auto& [pod, words] : std::vector<std::pair<std::string, std::string>>{
          {R"({"metadata":{"labels":{"scheduler.slinky.slurm.net/slurm-jobid":"7"}},"spec":{}})",
           "label scheduler.slinky.slurm.net/slurm-jobid is set by the bridge; remove it from the pod (or its "
           "template)"},
          {R"({"metadata":{"annotations":{"slinky.slurm.net/slurm-node":"n"}},"spec":{}})",
           "annotation slinky.slurm.net/slurm-node is set by the bridge; remove it from the pod (or its template)"},
          {R"({"metadata":{"annotations":{"capstan.dev/attempt":"9"}},"spec":{}})",
           "annotation capstan.dev/attempt is set by the bridge; remove it from the pod (or its template)"},
          {R"({"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{}]}}}}})",
           "this nodeAffinity matches no node: all of its nodeSelectorTerms are empty"}}) {
    const auto answer = Ask(Creates(pod));
    EXPECT_FALSE(answer.allowed) << pod;
    EXPECT_EQ(answer.message, words);
  }
}

TEST(Admit, WarnsOfWishesThatMayKeepAPodFromItsNode) {
  EXPECT_THAT(
      Ask(Creates(
              R"({"spec":{"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"a":1}]}}}})"))
          .warnings,
      ElementsAre(HasSubstr("a required podAntiAffinity")));
  EXPECT_THAT(
      Ask(Creates(R"({"spec":{"topologySpreadConstraints":[{"whenUnsatisfiable":"DoNotSchedule"}]}})")).warnings,
      ElementsAre(HasSubstr("DoNotSchedule")));
  EXPECT_THAT(
      Ask(Creates(R"({"spec":{"topologySpreadConstraints":[{"whenUnsatisfiable":"ScheduleAnyway"}]}})")).warnings,
      IsEmpty());
}

TEST(Admit, WhatIsNoPodIsNoAnswer) {
  EXPECT_FALSE(Admit(kSettings, Creates("[]")));
  EXPECT_FALSE(Admit(kSettings, Creates("{")));
}

}  // namespace
}  // namespace capstan::bridge
