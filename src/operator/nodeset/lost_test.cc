#include "operator/nodeset/lost.h"

#include "operator/nodeset/decide_test.h"
#include "plan/services.h"

namespace capstan::op::nodeset {
namespace {

using slurm::NodeFlag;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

// Worker 0 stands on k0, a job runs on its node in Slurm, and Slurm has not heard from it for a minute; k1 is there.
class LostTest : public NodeSetTest {
 protected:
  LostTest() {
    machines_come_with_pods = false;
    PutMachine("k0");
    PutMachine("k1");
    Worker_(0, {NodeFlag::kMixed, NodeFlag::kNotResponding});
    held[kSilence] = Tick(-60s);
  }

  void PutMachine(const std::string& name, std::vector<Taint> taints = {}) {
    Node machine = MakeMachine(name);
    machine.spec.taints = std::move(taints);
    Put(std::move(machine));
  }
  // The pod has no machine any more, or has another one now.
  void PutPod(std::string phase, std::string machine) {
    Pod pod = MakePod(0, std::move(phase), false);
    pod.spec.node_name = std::move(machine);
    Put(std::move(pod));
  }

  const std::string kSilence = "silence of w-0 without k0";
};

constexpr std::string_view kDown = "down Slurm node slurm/main/w-0";

TEST_F(LostTest, WhoIsLostWithItsMachineIsDownByProof) {
  RemoveMachine("k0");
  PutPod("Pending", "");
  const plan::Plan plan = Look(1);
  ASSERT_THAT(Acts(plan), ElementsAre(kDown));
  EXPECT_THAT(Proofs(plan.actions[0]),
              ElementsAre("Kubernetes node k0 is gone or out of service", "Slurm does not hear from node w-0",
                          "no pod slurm/w-0 runs", ::testing::HasSubstr("w-0")));
}

TEST_F(LostTest, AMachineThatSlurmHearsIsNotLostThoughKubernetesHasGivenItUp) {
  RemoveMachine("k0");
  PutPod("Pending", "");
  nodes[0] = MakeNode(0, {NodeFlag::kMixed});
  EXPECT_THAT(Acts(Look(1)), Not(Contains(kDown)));
  nodes[0] = MakeNode(0, {NodeFlag::kMixed, NodeFlag::kNotResponding});
  held.clear();
  const plan::Plan plan = Look(1);
  EXPECT_THAT(Acts(plan), Not(Contains(kDown))) << "for a moment nothing was heard";
  EXPECT_TRUE(facts.contains(kSilence));
  EXPECT_LE(plan.requeue_after, 60s);
}

TEST_F(LostTest, TheNextWorkerWaitsForTheNameThatMayBeInUse) {
  const auto made = [this] { return Acts(Look(1)); };
  constexpr std::string_view kCreate = "create Pod slurm/w-0";
  RemoveMachine("k0");
  const_cast<kube::Store<Pod>&>(stores.Of<Pod>()).Deleted({"slurm", "w-0"}, "pod-0", {});
  held.clear();
  EXPECT_THAT(made(), Not(Contains(kCreate))) << "jobs ran there, and nobody has given them up";
  nodes[0] = MakeNode(0, {NodeFlag::kIdle});
  EXPECT_THAT(made(), Not(Contains(kCreate))) << "Slurm hears it, and may begin a job there";
  EXPECT_THAT(ConditionOf(Look(1), "Progressing").message,
              ::testing::HasSubstr("which still hears it from Kubernetes node k0"));
  slurm.state = plan::SlurmLook::State::kUnreachable;
  EXPECT_THAT(made(), Not(Contains(kCreate))) << "so it was when Slurm was heard last";
  slurm.state = plan::SlurmLook::State::kHeard;
  nodes[0] = MakeNode(0, {NodeFlag::kIdle, NodeFlag::kNotResponding});
  EXPECT_THAT(made(), Not(Contains(kCreate))) << "for a moment nothing was heard";
  held["Slurm does not hear from w-0"] = Tick(-60s);
  EXPECT_THAT(made(), Contains(kCreate));
  const auto proofs = [this] {
    const plan::Plan plan = Look(1);
    for (const plan::Action& action : plan.actions)
      if (action.effect->verb() == "create") return Proofs(action);
    return std::vector<std::string>();
  };
  constexpr auto kFree = "Slurm node w-0 begins no job and no job holds it, suspended ones included";
  EXPECT_THAT(proofs(), ElementsAre(kFree));
  nodes[0] = MakeNode(0, {NodeFlag::kIdle, NodeFlag::kDrain}, "look at the disk");
  EXPECT_THAT(proofs(), ElementsAre(kFree)) << "a suspended job leaves it IDLE";
  nodes[0] = MakeNode(0, {NodeFlag::kDown, NodeFlag::kNotResponding}, "Not responding");
  EXPECT_THAT(made(), Contains(kCreate));
  nodes[0] = MakeNode(0, {NodeFlag::kMixed});
  Put(MakeMachine("k0", "k0-again"));
  EXPECT_THAT(made(), Contains(kCreate)) << "its kubelet ends what has no pod any more";
}

TEST_F(LostTest, SoIsWhosePodHasEndedOrIsGone) {
  RemoveMachine("k0");
  PutPod("Failed", "k0");
  EXPECT_THAT(Acts(Look(1)), Contains(kDown));
}

TEST_F(LostTest, APersonsTaintSaysThatTheMachineIsOff) {
  nodes[0] = MakeNode(0, {NodeFlag::kMixed});
  held.clear();
  PutMachine("k0", {{.key = "node.kubernetes.io/out-of-service", .value = "", .effect = "NoExecute"}});
  PutPod("Pending", "");
  const plan::Plan plan = Look(1);
  ASSERT_THAT(Acts(plan), Contains(kDown));
  EXPECT_THAT(Proofs(plan.actions[0]), Contains("Kubernetes node k0 is out of service"));
}

TEST_F(LostTest, WhateverMayRunIsLeftAlone) {
  PutPod("Pending", "");
  EXPECT_THAT(Acts(Look(1)), Not(Contains(kDown))) << "the machine is there";
  RemoveMachine("k0");
  PutPod("Running", "k0");
  EXPECT_THAT(Acts(Look(1)), Not(Contains(kDown))) << "its pod has not ended";
  PutPod("Pending", "k1");
  EXPECT_THAT(Acts(Look(1)), Not(Contains(kDown))) << "the next one is placed, and the record may be its";
}

TEST_F(LostTest, WhatIsNotKnownOrSomebodyElsesIsLeftAlone) {
  RemoveMachine("k0");
  PutPod("Pending", "");
  nodes[0] = MakeNode(0, {NodeFlag::kMixed, NodeFlag::kNotResponding, NodeFlag::kDrain}, "bad disk");
  EXPECT_THAT(Acts(Look(1)), Not(Contains(kDown))) << "a person has drained it";
  nodes[0] = MakeNode(0, {NodeFlag::kMixed, NodeFlag::kNotResponding});
  nodes[0].comment = "";
  EXPECT_THAT(Acts(Look(1)), Not(Contains(kDown))) << "nobody knows where it was";
  nodes[0] = MakeNode(0, {NodeFlag::kMixed, NodeFlag::kNotResponding});
  slurm.state = plan::SlurmLook::State::kUnreachable;
  EXPECT_THAT(Acts(Look(1)), Not(Contains(kDown))) << "Slurm is not heard";
  slurm.state = plan::SlurmLook::State::kHeard;
  RemoveMachine("k1");
  EXPECT_THAT(Acts(Look(1)), Not(Contains(kDown))) << "Kubernetes has no node at all, it says";
}

TEST_F(LostTest, WhoIsBackIsResumed) {
  nodes[0] = MakeNode(0, {NodeFlag::kDown}, "slurm-operator: Machine (k9) is gone, and Pod (slurm/w-0) with it");
  EXPECT_TRUE(IsLostWithMachine(nodes[0]));
  EXPECT_THAT(Acts(Look(1)), Contains("resume Slurm node slurm/main/w-0"));
}

}  // namespace
}  // namespace capstan::op::nodeset
