#include "operator/nodeset/pod_conditions.h"

#include "operator/nodeset/decide_test.h"

namespace capstan::op::nodeset {
namespace {

using slurm::NodeFlag;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NodeStateOnPods : public NodeSetTest {
 protected:
  std::vector<std::string> Told(Pod pod) {
    Put(std::move(pod));
    Look(1);
    return told;
  }
  Pod With(std::vector<std::string> types, std::string message = "") {
    Pod pod = MakePod(0);
    for (const std::string& type : types)
      pod.status.conditions.push_back({.type = "SlurmNodeState" + type, .status = "True", .message = message});
    return pod;
  }
};

TEST_F(NodeStateOnPods, AreWrittenOnceAndLeftAloneWhileTheyAreSo) {
  nodes = {MakeNode(0, {NodeFlag::kMixed, NodeFlag::kDrain}, "bad disk")};
  EXPECT_THAT(Told(With({})), ElementsAre("Pod slurm/w-0/status"));
  EXPECT_THAT(Told(With({"Mixed", "Drain"}, "bad disk")), IsEmpty());
  EXPECT_THAT(Told(With({"Mixed", "Drain"}, "other")), ElementsAre("Pod slurm/w-0/status")) << "the reason";
  EXPECT_THAT(Told(With({"Mixed", "Drain", "Idle"}, "bad disk")), ElementsAre("Pod slurm/w-0/status"));
}

TEST_F(NodeStateOnPods, GoWithTheRecordAndStayWhileSlurmIsNotHeard) {
  EXPECT_THAT(Told(With({"Idle"})), ElementsAre("Pod slurm/w-0/status"));
  slurm.state = plan::SlurmLook::State::kUnreachable;
  EXPECT_THAT(Told(With({"Idle"})), IsEmpty());
}

// The write would make another version of the pod, and its deletion, which is of the one that was seen, would fail.
TEST_F(NodeStateOnPods, AreLeftAloneOnAPodThatIsBeingDeleted) {
  PutMarked(MakePod(0));
  nodes = {MakeNode(0, {NodeFlag::kIdle, NodeFlag::kDrain}, ScaleInReason({"slurm", "w-0"}))};
  EXPECT_THAT(Acts(Look(0)), ::testing::Contains("delete Pod slurm/w-0"));
  EXPECT_THAT(told, IsEmpty());
}

TEST_F(NodeStateOnPods, OfEachStateOfANode) {
  const auto types = [&](std::vector<NodeFlag> flags) {
    return NodeStateConditions(MakeNode(0, std::move(flags)).state);
  };
  EXPECT_THAT(types({NodeFlag::kIdle}), ElementsAre("SlurmNodeStateIdle"));
  EXPECT_THAT(types({NodeFlag::kAllocated, NodeFlag::kCompleting}),
              ElementsAre("SlurmNodeStateAllocated", "SlurmNodeStateCompleting"));
  EXPECT_THAT(types({NodeFlag::kDown, NodeFlag::kNotResponding, NodeFlag::kDynamicNorm}),
              ElementsAre("SlurmNodeStateDown", "SlurmNodeStateNotResponding"));
  EXPECT_THAT(types({NodeFlag::kIdle, NodeFlag::kInvalidReg, NodeFlag::kDrain}),
              ElementsAre("SlurmNodeStateDrain", "SlurmNodeStateIdle", "SlurmNodeStateInvalidReg"));
  EXPECT_THAT(types({NodeFlag::kUnknown}), ElementsAre("SlurmNodeStateUnknown"));
  EXPECT_THAT(types({NodeFlag::kExternal}), ElementsAre("SlurmNodeStateUnknown"));
}

}  // namespace
}  // namespace capstan::op::nodeset
