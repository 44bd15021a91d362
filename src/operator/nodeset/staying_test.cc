#include "operator/nodeset/staying.h"

#include "operator/nodeset/decide_test.h"

namespace capstan::op::nodeset {
namespace {

using slurm::NodeFlag;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Labels = NodeSetTest;

// Services lost sight of the worker, and its protection did.
TEST_F(Labels, ThatAPersonRemovesArePutBack) {
  Worker_(1, {NodeFlag::kIdle});
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  for (const auto& [label, value] :
       {std::pair(kLabelInstance, "w"), std::pair(kLabelName, "slurmd"), std::pair(kLabelCluster, "main"),
        std::pair(kLabelPodName, "w-1"), std::pair(kLabelPodIndex, "1"), std::pair(kLabelPodHostname, "w-1"),
        std::pair(kLabelScalingMode, "StatefulSet")}) {
    Pod pod = MakePod(1);
    pod.metadata.labels.erase(std::string(label));
    Put(pod);
    const plan::Plan plan = Look(1);
    ASSERT_THAT(Acts(plan), ElementsAre("label Pod slurm/w-1")) << label;
    EXPECT_EQ(plan.actions[0].effect->content(),
              plan::MergePatch("label", {&kube::kPods, {"slurm", "w-1"}}, "pod-1",
                               R"({"metadata":{"labels":{")" + std::string(label) + R"(":")" + value + R"("}}})")
                  ->content())
        << label;
  }
}

TEST_F(Labels, ThatAPersonChangesAreTheirs) {
  Worker_(1, {NodeFlag::kIdle});
  Pod pod = MakePod(1);
  pod.metadata.labels[std::string(kLabelPodName)] = "other";
  Put(pod);
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
}

}  // namespace
}  // namespace capstan::op::nodeset
