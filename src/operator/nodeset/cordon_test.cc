#include "operator/nodeset/decide_test.h"

namespace capstan::op::nodeset {
namespace {

using slurm::NodeFlag;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Cordoned : public NodeSetTest {
 protected:
  void Cordon(const std::string& name, const std::string& why = "") {
    Node node{.metadata = {.name = name, .uid = name}, .spec = {.unschedulable = true, .taints = {}}};
    if (!why.empty()) node.metadata.annotations[std::string(kAnnotationNodeCordonReason)] = why;
    Put(node);
  }
  void PutUnprotected(int ordinal) {
    Pod pod = MakePod(ordinal);
    pod.metadata.labels.erase(std::string(kLabelPodProtect));
    Put(std::move(pod));
  }
  // The reason of the update of that Slurm node; the texts are compared by the content of the actions.
  void ExpectDrainFor(const plan::Plan& plan, const std::string& reason) {
    ASSERT_THAT(Acts(plan), ElementsAre("drain Slurm node slurm/main/w-1"));
    const auto wanted = plan::UpdateNode("drain", "slurm/main",
                                         {.names = {"w-1"}, .action = slurm::NodeAction::kDrain, .reason = reason});
    EXPECT_EQ(plan.actions[0].effect->content(), wanted->content());
    EXPECT_EQ(plan.actions[0].guards.size(), 1u) << "somebody may have drained it since";
  }
};

TEST_F(Cordoned, AWorkerOnACordonedNodeIsDrainedAndSaysWhy) {
  Worker_(0, {NodeFlag::kIdle});
  Worker_(1, {NodeFlag::kIdle});
  Cordon("k1");
  const plan::Plan plan = Look(2);
  ExpectDrainFor(plan, "slurm-operator: Node (k1) was cordoned, Pod (slurm/w-1) must be cordoned");
  EXPECT_THAT(ConditionOf(plan, "Degraded").message, HasSubstr("Node (k1) was cordoned"));
}

TEST_F(Cordoned, TheReasonIsWhatThePersonSaysOnTheNode) {
  Worker_(1, {NodeFlag::kIdle});
  Cordon("k1", "  new\tdisk\x1b ");
  ExpectDrainFor(Look(1), "slurm-operator: new disk");
  nodes = {MakeNode(1, {NodeFlag::kIdle, NodeFlag::kDrain}, "slurm-operator: new disk")};
  PutUnprotected(1);
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  Cordon("k1", "old disk");
  ExpectDrainFor(Look(1), "slurm-operator: old disk");
}

TEST_F(Cordoned, OtherwiseTheReasonIsWhatTheNodesConditionsSay) {
  settings.propagated_node_conditions = {"BadGpu", "BadCpu", "Quiet"};
  Worker_(1, {NodeFlag::kIdle});
  Node node{.metadata = {.name = "k1", .uid = "k1"}, .spec = {.unschedulable = true, .taints = {}}, .status = {}};
  node.status.conditions = {{"BadCpu", "True", "Mce", "CPU 17:\tMachine Check"},
                            {"Ready", "True", "KubeletReady", "all is well"},
                            {"Quiet", "False", "Fine", "nothing"},
                            {"BadGpu", "True", "CountMismatch", "7 of 8"}};
  Put(node);
  ExpectDrainFor(Look(1), "slurm-operator: (CountMismatch: 7 of 8); (Mce: CPU 17: Machine Check)");
  node.metadata.annotations[std::string(kAnnotationNodeCordonReason)] = "new board";
  Put(node);
  ExpectDrainFor(Look(1), "slurm-operator: new board");  // a person knows better
}

TEST_F(Cordoned, ALongReasonIsCutBetweenCharacters) {
  Worker_(1, {NodeFlag::kIdle});
  std::string why(255, 'x');
  Cordon("k1", why + "\u00e9 and more");
  ExpectDrainFor(Look(1), "slurm-operator: " + why);
}

TEST_F(Cordoned, APodThatAPersonCordonsIsDrained) {
  Worker_(1, {NodeFlag::kIdle});
  Pod pod = MakePod(1);
  pod.metadata.annotations[std::string(kAnnotationPodCordon)] = "true";
  Put(pod);
  ExpectDrainFor(Look(1), "slurm-operator: Pod (slurm/w-1) was cordoned");
}

TEST_F(Cordoned, ADrainForACordonIsLiftedWithIt) {
  for (const char* reason : {"slurm-operator: Node (k1) was cordoned, Pod (slurm/w-1) must be cordoned",
                             "slurm-operator: Pod (slurm/w-1) was cordoned"}) {
    Put(MakePod(1));
    nodes = {MakeNode(1, {NodeFlag::kIdle, NodeFlag::kDrain}, reason)};
    EXPECT_THAT(Acts(Look(1)), ElementsAre("undrain Slurm node slurm/main/w-1")) << reason;
  }
}

// A worker that stopped on a cordoned machine left DOWN and DRAIN; the drain was lifted with the cordon, the DOWN never.
TEST_F(Cordoned, ADownFromBeforeTheCordonIsLiftedWithItOnceTheWorkerIsBack) {
  const std::string reason = "slurm-operator: Node (k1) was cordoned, Pod (slurm/w-1) must be cordoned";
  PutUnprotected(1);
  nodes = {MakeNode(1, {NodeFlag::kDown, NodeFlag::kDrain}, "slurm-operator: Pod is terminating")};
  Cordon("k1");
  ExpectDrainFor(Look(1), reason);
  nodes = {MakeNode(1, {NodeFlag::kDown, NodeFlag::kDrain}, reason)};
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  Put(MakeMachine("k1"));
  EXPECT_THAT(Acts(Look(1)), ElementsAre("protect Pod slurm/w-1"));
  Put(MakePod(1));
  EXPECT_THAT(Acts(Look(1)), ElementsAre("resume Slurm node slurm/main/w-1"));
  nodes = {MakeNode(1, {NodeFlag::kDown}, reason)};
  EXPECT_THAT(Acts(Look(1)), ElementsAre("resume Slurm node slurm/main/w-1"))
      << "without the drain, as it was left once";
}

TEST_F(Cordoned, WhatSomebodyElseTookOutOfServiceStaysTheirs) {
  Cordon("k1");
  Put(MakePod(1));
  for (const NodeFlag flag : {NodeFlag::kDrain, NodeFlag::kDown, NodeFlag::kFail}) {
    nodes = {MakeNode(1, {NodeFlag::kIdle, flag}, "bad disk")};
    EXPECT_THAT(Acts(Look(1)), IsEmpty());
  }
}

// It was protected only once a job had been seen on it, up to fifteen seconds late.
TEST_F(Cordoned, AWorkerMayBeEvictedOnceItIsOutOfServiceAndProvenIdle) {
  Worker_(1, {NodeFlag::kIdle});
  EXPECT_THAT(Acts(Look(1)), IsEmpty()) << "an idle one is protected";
  Cordon("k1");
  const std::string reason = "slurm-operator: Node (k1) was cordoned, Pod (slurm/w-1) must be cordoned";
  nodes = {MakeNode(1, {NodeFlag::kAllocated, NodeFlag::kDrain}, reason)};
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  for (const auto& [flags, why] : {std::pair(std::vector{NodeFlag::kIdle, NodeFlag::kDrain}, reason),
                                   std::pair(std::vector{NodeFlag::kDown}, std::string(kReasonTerminating))}) {
    nodes = {MakeNode(1, flags, why)};
    const plan::Plan plan = Look(1);
    ASSERT_THAT(Acts(plan), ElementsAre("unprotect Pod slurm/w-1"));
    EXPECT_THAT(
        Proofs(plan.actions[0]),
        ElementsAre("Slurm node w-1 was taken out of service by us and no job holds it, suspended ones included"));
  }
}

// Its slurmd may run jobs under another name.
TEST_F(Cordoned, AWorkerWhoseRecordMayBeAnotherSlurmdsMayBeEvictedOnceItsPodSaysSoToo) {
  Worker_(1, {NodeFlag::kIdle});
  Cordon("k1");
  nodes = {MakeNode(1, {NodeFlag::kDown, NodeFlag::kNotResponding}, std::string(kReasonTerminating))};
  nodes[0].address = "10.0.0.6";
  const plan::Plan plan = Look(1);
  ASSERT_THAT(Acts(plan), ElementsAre("unprotect Pod slurm/w-1"));
  EXPECT_THAT(Proofs(plan.actions[0]),
              ElementsAre(::testing::_, "pod slurm/w-1 says that its slurmd is w-1 and has no job step"));
}

TEST_F(Cordoned, AWorkerIsProtectedAgainBeforeJobsMayBeginThere) {
  PutUnprotected(1);
  nodes = {MakeNode(1, {NodeFlag::kIdle, NodeFlag::kDrain}, "slurm-operator: Pod (slurm/w-1) was cordoned")};
  EXPECT_THAT(Acts(Look(1)), ElementsAre("protect Pod slurm/w-1"));
  Put(MakePod(1));
  in_flight = {"Pod slurm/w-1"};
  EXPECT_THAT(Acts(Look(1)), IsEmpty()) << "its protection may be being taken away";
  in_flight.clear();
  EXPECT_THAT(Acts(Look(1)), ElementsAre("undrain Slurm node slurm/main/w-1"));
  PutUnprotected(1);
  nodes = {MakeNode(1, {NodeFlag::kDown}, std::string(kReasonTerminating))};
  EXPECT_THAT(Acts(Look(1)), ElementsAre("protect Pod slurm/w-1"));
}

TEST_F(Cordoned, WhereNobodyWantsProtectionThereIsNone) {
  set.spec.workload_disruption_protection = false;
  Worker_(1, {NodeFlag::kAllocated});
  EXPECT_THAT(Acts(Look(1)), ElementsAre("unprotect Pod slurm/w-1"));
  PutUnprotected(1);
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  nodes = {MakeNode(1, {NodeFlag::kIdle, NodeFlag::kDrain}, "slurm-operator: Pod (slurm/w-1) was cordoned")};
  EXPECT_THAT(Acts(Look(1)), ElementsAre("undrain Slurm node slurm/main/w-1"));
}

// Pods of a former release are not born with it.
TEST_F(Cordoned, AWorkerThatIsNotProtectedBecomesSoWhateverSlurmSays) {
  PutUnprotected(1);
  EXPECT_THAT(Acts(Look(1)), ElementsAre("protect Pod slurm/w-1")) << "Slurm has no record of it";
  slurm.state = plan::SlurmLook::State::kUnreachable;
  EXPECT_THAT(Acts(Look(1)), ElementsAre("protect Pod slurm/w-1"));
}

// A drain that an undrain of ours may lift at any moment proves nothing; it is followed by another, and then does.
TEST_F(Cordoned, ADrainThatMayBeLiftedIsRepeated) {
  slurm.may_be_lifted = {"w-1"};
  Cordon("k1");
  const std::string reason = "slurm-operator: Node (k1) was cordoned, Pod (slurm/w-1) must be cordoned";
  Worker_(1, {NodeFlag::kIdle, NodeFlag::kDrain}, reason);
  ExpectDrainFor(Look(1), reason);
  PutMarked(MakePod(1));
  const std::string both = reason + "; Pod (slurm/w-1) is pending termination for scale-in";
  for (const NodeFlag base : {NodeFlag::kIdle, NodeFlag::kAllocated}) {
    nodes = {MakeNode(1, {base, NodeFlag::kDrain}, both)};
    ExpectDrainFor(Look(0), both);
  }
}

TEST_F(Cordoned, AWorkerOnACordonedNodeGoesFirst) {
  for (int i : {0, 1, 2}) Worker_(i, {NodeFlag::kIdle});
  Cordon("k0");
  EXPECT_THAT(Acts(Look(2)), ElementsAre("cordon Pod slurm/w-0", "drain Slurm node slurm/main/w-0"));
}

// Each owner of a drain comes and goes by itself; the drain stands while one of them is left.
TEST_F(Cordoned, TheReasonNamesAllWhoWantTheWorkerOutOfService) {
  Worker_(1, {NodeFlag::kIdle});
  Pod pod = MakePod(1);
  pod.metadata.annotations[std::string(kAnnotationPodCordon)] = "true";
  pod.metadata.annotations[std::string(kAnnotationFailedChecks)] = "gpu, disk,gpu";
  Put(pod);
  Cordon("k1", "new disk");
  const std::string all = "slurm-operator: new disk; Pod (slurm/w-1) was cordoned; check disk; check gpu";
  ExpectDrainFor(Look(1), all);
  pod.metadata.labels.erase(std::string(kLabelPodProtect));
  Put(pod);
  nodes = {MakeNode(1, {NodeFlag::kIdle, NodeFlag::kDrain}, all)};
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  Put(MakeMachine("k1"));
  ExpectDrainFor(Look(1), "slurm-operator: Pod (slurm/w-1) was cordoned; check disk; check gpu");
  pod.metadata.annotations.erase(std::string(kAnnotationPodCordon));
  pod.metadata.annotations[std::string(kAnnotationFailedChecks)] = "gpu";
  Put(pod);
  const plan::Plan plan = Look(1);
  ExpectDrainFor(plan, "slurm-operator: check gpu");
  EXPECT_THAT(ConditionOf(plan, "Degraded").message,
              HasSubstr("takes no new jobs, as health checks want it (check gpu)"));
  Put(MakePod(1));
  EXPECT_THAT(Acts(Look(1)), ElementsAre("undrain Slurm node slurm/main/w-1"));
}

TEST_F(Cordoned, AScaleInJoinsAndLeavesTheOthers) {
  const std::string cordoned = "slurm-operator: Node (k1) was cordoned, Pod (slurm/w-1) must be cordoned";
  const std::string both = cordoned + "; Pod (slurm/w-1) is pending termination for scale-in";
  Cordon("k1");
  PutMarked(MakePod(1));
  nodes = {MakeNode(1, {NodeFlag::kAllocated, NodeFlag::kDrain}, cordoned)};
  ExpectDrainFor(Look(0), both);
  nodes = {MakeNode(1, {NodeFlag::kAllocated, NodeFlag::kDrain}, both)};
  EXPECT_THAT(Acts(Look(0)), IsEmpty());
  Put(MakeMachine("k1"));
  ExpectDrainFor(Look(0), ScaleInReason({"slurm", "w-1"}));
  Cordon("k1");
  Put(MakePod(1));
  ExpectDrainFor(Look(1), cordoned);
}

TEST_F(Cordoned, AUnionThatNamesAnothersPodIsNotOurs) {
  Put(MakePod(1));
  for (const char* reason : {"slurm-operator: check gpu; Pod (slurm/other-1) is pending termination for scale-in",
                             "slurm-operator: Pod (slurm/w-1) was cordoned; Pod (other/w-1) was cordoned"}) {
    nodes = {MakeNode(1, {NodeFlag::kIdle, NodeFlag::kDrain}, reason)};
    EXPECT_THAT(Acts(Look(1)), IsEmpty()) << reason;
  }
}

// Such a drain would never have been lifted: it read as that of another NodeSet.
TEST_F(Cordoned, WhatAPersonSaysOfANodeIsNeverTakenForWordsAboutAPod) {
  Worker_(1, {NodeFlag::kIdle});
  Cordon("k1", "Pod (x) was slow; Pod (y) too");
  const std::string reason = "slurm-operator: Node (k1): Pod (x) was slow, Pod (y) too";
  ExpectDrainFor(Look(1), reason);
  Put(MakeMachine("k1"));
  nodes = {MakeNode(1, {NodeFlag::kIdle, NodeFlag::kDrain}, reason)};
  EXPECT_THAT(Acts(Look(1)), ElementsAre("undrain Slurm node slurm/main/w-1"));
}

// The second that its Kubernetes node was deleted, a cordoned worker was put back to work on a machine that was not there.
TEST_F(Cordoned, ADrainEndsBecauseTheMachineIsSeenInOrderNotBecauseItIsNotSeen) {
  const std::string reason = "slurm-operator: Node (k1) was cordoned, Pod (slurm/w-1) must be cordoned";
  Worker_(1, {NodeFlag::kIdle, NodeFlag::kDrain}, reason);
  RemoveMachine("k1");
  plan::Plan plan = Look(1);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_THAT(ConditionOf(plan, "Degraded").message, HasSubstr("Kubernetes node k1 is not there"));
  Node machine = MakeMachine("k1", "k1 again");
  machine.status.conditions[0].status = "Unknown";
  Put(machine);
  plan = Look(1);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_THAT(ConditionOf(plan, "Degraded").message, HasSubstr("Kubernetes node k1 is not ready"));
  machine = MakeMachine("k1", "k1 again");
  machine.spec.taints = {{.key = "node.kubernetes.io/out-of-service", .value = "", .effect = "NoExecute"}};
  Put(machine);
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  Put(MakeMachine("k1", "k1 again"));
  plan = Look(1);
  ASSERT_THAT(Acts(plan), ElementsAre("undrain Slurm node slurm/main/w-1"));
  EXPECT_THAT(Proofs(plan.actions[0]),
              ElementsAre("Kubernetes node k1 is there, schedulable and ready", HasSubstr("w-1")));
}

TEST_F(Cordoned, ADrainEndsOnceTheWorkerIsReadyAndAnswersSlurm) {
  const std::string reason = "slurm-operator: Pod (slurm/w-1) was cordoned";
  nodes = {MakeNode(1, {NodeFlag::kIdle, NodeFlag::kDrain}, reason)};
  Put(MakePod(1, "Running", false));
  plan::Plan plan = Look(1);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_THAT(ConditionOf(plan, "Degraded").message, HasSubstr("w-1 takes no new jobs, as before (\"" + reason));
  Put(MakePod(1));
  nodes = {MakeNode(1, {NodeFlag::kIdle, NodeFlag::kDrain, NodeFlag::kNotResponding}, reason)};
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  nodes = {MakeNode(1, {NodeFlag::kIdle, NodeFlag::kDrain}, reason)};
  EXPECT_THAT(Acts(Look(1)), ElementsAre("undrain Slurm node slurm/main/w-1"));
}

TEST_F(Cordoned, ADownEndsOnceTheMachineIsSeenInOrder) {
  Worker_(1, {NodeFlag::kDown}, "Not responding");
  RemoveMachine("k1");
  const plan::Plan plan = Look(1);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_THAT(ConditionOf(plan, "Degraded").message, HasSubstr("Kubernetes node k1 is not there"));
  Put(MakeMachine("k1", "k1 again"));
  EXPECT_THAT(Acts(Look(1)), ElementsAre("resume Slurm node slurm/main/w-1"));
}

TEST_F(Cordoned, ADownOfOursSaysWhatItsMachineLacks) {
  Worker_(1, {NodeFlag::kDown}, std::string(kReasonTerminating));
  RemoveMachine("k1");
  EXPECT_THAT(ConditionOf(Look(1), "Degraded").message,
              HasSubstr("Kubernetes node k1 is not there; it is resumed once"));
  Put(MakeMachine("k1", "k1 again"));
  Put(MakePod(1, "Running", false));
  EXPECT_EQ(ConditionOf(Look(1), "Degraded").status, "False") << "it is starting";
}

TEST_F(Cordoned, TheWordsOfAMachineThatIsGoneStayBesideOthers) {
  Pod pod = MakePod(1);
  pod.metadata.annotations[std::string(kAnnotationPodCordon)] = "true";
  pod.metadata.labels.erase(std::string(kLabelPodProtect));
  Put(pod);
  nodes = {MakeNode(
      1, {NodeFlag::kIdle, NodeFlag::kDrain},
      "slurm-operator: Node (k1) was cordoned, Pod (slurm/w-1) must be cordoned; Pod (slurm/w-1) was cordoned")};
  RemoveMachine("k1");
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  Put(MakeMachine("k1", "k1 again"));
  ExpectDrainFor(Look(1), "slurm-operator: Pod (slurm/w-1) was cordoned");
}

TEST_F(Cordoned, ACheckThatCannotBeNamedInSlurmIsTold) {
  Worker_(1, {NodeFlag::kIdle});
  Pod pod = MakePod(1);
  pod.metadata.annotations[std::string(kAnnotationFailedChecks)] = "gpu,no such; check";
  Put(pod);
  const plan::Plan plan = Look(1);
  ExpectDrainFor(plan, "slurm-operator: check gpu");
  EXPECT_THAT(*plan.status, HasSubstr("which is no name of a check"));
}

}  // namespace
}  // namespace capstan::op::nodeset
