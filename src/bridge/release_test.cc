#include "bridge/release.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bridge/bridge_test.h"

namespace capstan::bridge {
namespace {

using ::testing::HasSubstr;

constexpr auto kScheduler = "slurm-bridge-scheduler";

TEST(ReleasePatch, PinsAndUngatesInOneStep) {
  const auto patch = ReleasePatch(testing::GatedPod(), "node-1", kScheduler);
  ASSERT_TRUE(patch);
  EXPECT_EQ(
      patch->text(),
      R"([{"op":"test","path":"/metadata/resourceVersion","value":"0"},)"
      R"({"op":"add","path":"/spec/affinity","value":{"nodeAffinity":{)"
      R"("requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name",)"
      R"("operator":"In","values":["node-1"]}]}]}}}},)"
      R"({"op":"add","path":"/spec/tolerations","value":[{"key":"slinky.slurm.net/managed-node","operator":"Equal",)"
      R"("value":"slurm-bridge-scheduler"},)"
      R"({"key":"slinky.slurm.net/slurm-drained","operator":"Exists","effect":"NoSchedule"}]},)"
      R"({"op":"add","path":"/metadata/annotations","value":{}},)"
      R"({"op":"add","path":"/metadata/annotations/slinky.slurm.net~1slurm-node","value":"node-1"},)"
      R"({"op":"remove","path":"/spec/schedulingGates"}])");
}

TEST(ReleasePatch, NarrowsEachTermThatTheUserWroteAndLeavesTheRest) {
  Pod pod = testing::GatedPod();
  pod.spec.affinity.text =
      R"({"podAntiAffinity":{"x":1},"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)"
      R"({"matchExpressions":[{"key":"zone","operator":"In","values":["a"]}]},{},)"
      R"({"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["b"]}]}]}}})";
  pod.spec.tolerations.text = R"([{"key":"k"}])";
  const auto patch = ReleasePatch(pod, "node-1", kScheduler);
  ASSERT_TRUE(patch);
  const std::string pin = R"({"key":"metadata.name","operator":"In","values":["node-1"]})";
  EXPECT_THAT(
      patch->text(),
      HasSubstr(R"({"matchExpressions":[{"key":"zone","operator":"In","values":["a"]}],"matchFields":[)" + pin +
                R"(]},{},{"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["b"]},)" + pin + "]}"));
  EXPECT_THAT(patch->text(), HasSubstr(R"({"op":"add","path":"/spec/tolerations/-","value":)"));
}

TEST(ReleasePatch, LeavesTheGatesOfOthers) {
  Pod pod = testing::GatedPod();
  pod.spec.scheduling_gates.push_back({"other/gate"});
  EXPECT_THAT(ReleasePatch(pod, "node-1", kScheduler)->text(),
              HasSubstr(R"({"op":"replace","path":"/spec/schedulingGates","value":[{"name":"other/gate"}]})"));
}

TEST(ReleasePatch, RefusesAnAffinityThatMatchesNothing) {
  Pod pod = testing::GatedPod();
  pod.spec.affinity.text =
      R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{},{"matchFields":[]}]}}})";
  const auto patch = ReleasePatch(pod, "node-1", kScheduler);
  ASSERT_FALSE(patch);
  EXPECT_THAT(patch.error().message(), HasSubstr("matches no node"));
}

}  // namespace
}  // namespace capstan::bridge
