// The one patch by which the bridge lets a pod go, against the real API server. What is learnt here stands in
// docs/kubernetes-facts.md.
#include <gmock/gmock.h>

#include "api_test.h"
#include "bridge/names.h"
#include "bridge/objects.h"
#include "bridge/release.h"

namespace capstan::bridge {
namespace {

using kube::PatchType;
using kube::testing::ApiTest;
using ::testing::HasSubstr;

class BridgeItTest : public ApiTest {
 protected:
  // As the webhook leaves it.
  Pod CreateGated(const std::string& more_spec) {
    const std::string pod =
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"capstan.dev/bridged":"b"}},)"
        R"("spec":{"schedulingGates":[{"name":"capstan.dev/slurm"}],)" +
        more_spec + std::string(kube::testing::kPodSpec.substr(1)) + "}";
    const auto made = json::Decode<Pod>(Create(kube::kPods, {ns_, ""}, pod));
    EXPECT_TRUE(made);
    return *made;
  }
  Result<std::string> Patch(const std::string& patch) {
    return Run(client().Patch(kube::kPods, KeyOf("p"), PatchType::kJson, patch, {}, Soon()));
  }
  Pod PodNow() { return *Run(client().Get<Pod>(kube::kPods, KeyOf("p"), {}, Soon())); }
};

TEST_F(BridgeItTest, OnePatchPinsAndUngatesAPodWhateverItsUserWrote) {
  const std::string affinity =
      R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)"
      R"({"matchExpressions":[{"key":"zone","operator":"In","values":["a"]}]},{},)"
      R"({"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["n-9"]}]}]}}},)";
  for (const std::string& spec :
       {std::string(), affinity, std::string(R"("tolerations":[{"key":"k","operator":"Exists"}],)")}) {
    const Pod before = CreateGated(spec);
    const auto patch = ReleasePatch(before, "n-1", "slurm-bridge-scheduler");
    ASSERT_TRUE(patch);
    const auto released = Patch(patch->text());
    ASSERT_TRUE(released) << released.error().message();
    const Pod after = PodNow();
    EXPECT_FALSE(after.HasGate(kGate));
    EXPECT_THAT(after.spec.affinity.text, HasSubstr("n-1"));
    EXPECT_THAT(after.spec.tolerations.text, HasSubstr("slurm-bridge-scheduler"));
    EXPECT_EQ(after.metadata.Annotation(std::string(kSlurmNode)), "n-1");
    // A second time its tests fail: nothing is pinned twice.
    const auto again = Patch(patch->text());
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code(), Code::kInvalid);
    EXPECT_THAT(again.error().message(), HasSubstr("the server rejected our request due to an error in our request"));
    ASSERT_TRUE(Run(client().Delete(kube::kPods, KeyOf("p"), {.grace_seconds = 0}, Soon())));
  }
}

TEST_F(BridgeItTest, AGateMayOnlyBeTakenAwayAndAPinnedPodIsNotMoved) {
  const Pod before = CreateGated("");
  ASSERT_TRUE(Patch(ReleasePatch(before, "n-1", "s")->text()));
  EXPECT_FALSE(Patch(R"([{"op":"add","path":"/spec/schedulingGates","value":[{"name":"capstan.dev/slurm"}]}])"));
  const auto moved = Patch(R"([{"op":"remove","path":"/spec/affinity"}])");
  ASSERT_FALSE(moved);
  EXPECT_THAT(moved.error().message(), HasSubstr("is invalid")) << "told apart from a test that failed";
}

// As Slinky's slurm-bridge leaves a pod that waits.
TEST_F(BridgeItTest, APodWithoutAGateIsBoundOnceByItsUidAndItsAnnotationsComeWithThat) {
  Create(
      kube::kPods, {ns_, ""},
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"schedulerName":"slurm-bridge-scheduler",)" +
          std::string(kube::testing::kPodSpec.substr(1)) + "}");
  Pod pod = PodNow();
  const auto bind = [this](const Pod& seen) {
    return Run(client().Create(kube::kPods, KeyOf("p"), Binding(seen, "n-1"), {.subresource = "binding"}, Soon()));
  };
  Pod other = pod;
  other.metadata.uid = "1b4e28ba-2fa1-11d2-883f-0016d3cca427";
  const auto refused = bind(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kConflict);
  ASSERT_TRUE(bind(pod));
  EXPECT_EQ(PodNow().spec.node_name, "n-1");
  EXPECT_EQ(PodNow().metadata.Annotation(std::string(kSlurmNode)), "n-1");
  EXPECT_EQ(bind(pod).error().code(), Code::kConflict);
}

}  // namespace
}  // namespace capstan::bridge
