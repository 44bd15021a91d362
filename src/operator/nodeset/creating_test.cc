#include "operator/nodeset/creating.h"

#include "operator/nodeset/decide_test.h"

namespace capstan::op::nodeset {
namespace {

using slurm::NodeFlag;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PacedCreation : public NodeSetTest {
 protected:
  // Placed just now, and not known to Slurm.
  void PutComing(int from, int to, std::string phase = "Running") {
    for (int ordinal = from; ordinal < to; ++ordinal) {
      Pod pod = MakePod(ordinal, phase, false);
      pod.spec.node_name = "k" + std::to_string(ordinal);
      pod.metadata.creation_timestamp = kNow - 5s;
      Put(std::move(pod));
    }
  }
  static int Created(const plan::Plan& plan) {
    return int(std::ranges::count_if(plan.actions, [](const plan::Action& action) {
      return action.effect->verb() == "create" && action.effect->target().starts_with("Pod ");
    }));
  }
};

TEST_F(PacedCreation, FollowsWhatSlurmHasRegistered) {
  EXPECT_EQ(Created(Look(1000)), kMostNewWorkers);
  PutComing(0, 200);
  EXPECT_EQ(Created(Look(1000)), kMostComing - 200);
  PutComing(200, kMostComing, "Pending");
  plan::Plan plan = Look(1000);
  EXPECT_EQ(Created(plan), 0);
  EXPECT_THAT(ConditionOf(plan, "Progressing").message, HasSubstr("Slurm, which has yet to hear from 256 workers"));
  EXPECT_LE(plan.requeue_after, 2min) << "who never registers is not waited for";
  for (int ordinal = 0; ordinal < 100; ++ordinal) {
    Put(MakePod(ordinal));
    nodes.push_back(MakeNode(ordinal, {NodeFlag::kIdle}));
  }
  EXPECT_EQ(Created(Look(1000)), 100);
}

TEST_F(PacedCreation, WaitsForNoWorkerThatHasHadItsTime) {
  PutComing(0, kMostComing);
  for (int ordinal = 0; ordinal < kMostComing; ++ordinal) held["coming pod-" + std::to_string(ordinal)] = Tick(-10min);
  EXPECT_EQ(Created(Look(1000)), kMostNewWorkers);
}

// No node of that name registers: the worker would never come.
TEST_F(PacedCreation, AWorkerThatIsCalledAsANodeSetOfSlurmConfIsNotMade) {
  ConfigMap published;
  published.metadata = {.name = "main-config", .namespace_ = "slurm"};
  published.data.slurm_conf = "ClusterName=a\nNodeSet=w-1 Feature=w-1\nPartitionName=w-2 Nodes=w-1\n";
  Put(published);
  const plan::Plan plan = Look(3);
  EXPECT_THAT(Acts(plan), ElementsAre("create Pod slurm/w-0", "create Pod slurm/w-2"));
  EXPECT_THAT(ConditionOf(plan, "Progressing").message,
              HasSubstr("after the name w-1 in Slurm, which a NodeSet of slurm.conf has; rename either"));
}

// Found by the simulator: the operator had been on the machine that was lost, and knew nothing of the job on another one.
TEST_F(PacedCreation, ANewProcessWaitsAMomentForWhatSlurmSays) {
  slurm.state = plan::SlurmLook::State::kUnheard;
  EXPECT_EQ(Created(Look(3)), 3) << "a cluster that is about to begin";
  set.status.observed_generation = 1;
  const plan::Plan plan = Look(3);
  EXPECT_EQ(Created(plan), 0);
  EXPECT_LE(plan.requeue_after, 30s);
  EXPECT_THAT(ConditionOf(plan, "Progressing").message, HasSubstr("after Slurm, which has not answered yet"));
  held["Slurm has not answered yet"] = Tick() - 30s;
  EXPECT_EQ(Created(Look(3)), 3);
}

TEST_F(PacedCreation, DoesNotWaitForASlurmThatIsNotHeard) {
  PutComing(0, kMostComing);
  slurm.state = plan::SlurmLook::State::kUnreachable;
  EXPECT_EQ(Created(Look(1000)), kMostNewWorkers);
}

}  // namespace
}  // namespace capstan::op::nodeset
