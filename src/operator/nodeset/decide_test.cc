#include "operator/nodeset/decide_test.h"

#include <limits>

#include "operator/host_keys.h"
#include "operator/questions.h"
#include "plan/objects/effects.h"

namespace capstan::op::nodeset {
namespace {

using slurm::NodeFlag;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(NodeSetTest, AtRestNothingIsDone) {
  Worker_(0, {NodeFlag::kIdle});
  Worker_(1, {NodeFlag::kIdle});
  const plan::Plan plan = Look(2);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_EQ(ConditionOf(plan, "Ready").status, "True");
  EXPECT_EQ(ConditionOf(plan, "Degraded").status, "False");
}

TEST_F(NodeSetTest, CreatesMissingWorkersAtTheLowestFreeOrdinals) {
  Worker_(1, {NodeFlag::kIdle});
  EXPECT_THAT(Acts(Look(3)), ElementsAre("create Pod slurm/w-0", "create Pod slurm/w-2"));
}

// Each Plan rendered every worker that was missing: with two thousand million of them the operator stood still.
TEST_F(NodeSetTest, APlanAsksForAPartOfALargeScaleOut) {
  Worker_(1, {slurm::NodeFlag::kIdle});
  plan::Plan plan = Look(1000);
  EXPECT_EQ(plan.actions.size(), 128u);
  EXPECT_EQ(Acts(plan).front(), "create Pod slurm/w-0");
  EXPECT_EQ(Acts(plan).back(), "create Pod slurm/w-128");
  EXPECT_THAT(ConditionOf(plan, "Progressing").message, HasSubstr("creating 999 workers"));
  EXPECT_EQ(Look(std::numeric_limits<int32_t>::max()).actions.size(), 128u);

  set.spec.volume_claim_templates.text = R"([{"metadata":{"name":"a"},"spec":{}},{"metadata":{"name":"b"},"spec":{}}])";
  EXPECT_EQ(Look(1000).actions.size(), 249u) << "three objects for each worker";

  set.spec.volume_claim_templates.text.clear();
  set.spec.slurmd.text = R"({"env":[{"name":"BIG","value":")" + std::string(1 << 20, 'x') + R"("}]})";
  EXPECT_LE(Look(1000).actions.size(), 8u) << "their text is kept until they are there";
  EXPECT_GE(Look(1000).actions.size(), 1u);
}

// The lowest ordinals may all be refused: their names are taken.
TEST_F(NodeSetTest, WhatCannotBeCreatedDoesNotKeepOthersFromIt) {
  for (int i = 0; i < 130; ++i)
    failures.push_back({.verb = "create", .target = "Pod slurm/w-" + std::to_string(i), .message = "refused"});
  const plan::Plan plan = Look(1000);
  EXPECT_EQ(plan.actions.size(), 250u);
  EXPECT_EQ(Acts(plan).front(), "create Pod slurm/w-0") << "still wanted, in its own time";
  EXPECT_EQ(Acts(plan).back(), "create Pod slurm/w-249");
}

// A name of more than nine digits is not known again as a worker's: it would be created for ever.
TEST_F(NodeSetTest, NumbersBeyondTheirMaximumCountAsTheMaximum) {
  set.spec.ordinal_padding = 2'000'000'000;
  EXPECT_EQ(Acts(Look(1)).front(), "create Pod slurm/w-000000000");
}

TEST_F(NodeSetTest, ADeletedWorkerComesBackUnderItsOwnOrdinal) {
  Worker_(0, {NodeFlag::kIdle});
  Pod leaving = MakePod(1);
  leaving.metadata.deletion_timestamp = kNow - 100s;
  Put(leaving);
  EXPECT_THAT(Acts(Look(2)), IsEmpty()) << "until the old one is gone its ordinal is taken";
}

TEST_F(NodeSetTest, CreatesWorkersWhileSlurmIsDown) {
  slurm.state = plan::SlurmLook::State::kUnreachable;
  EXPECT_THAT(Acts(Look(1)), ElementsAre("create Pod slurm/w-0"));
}

TEST_F(NodeSetTest, ScaleInCordonsAndThenDrains) {
  Worker_(0, {NodeFlag::kIdle});
  Worker_(1, {NodeFlag::kMixed});
  Worker_(2, {NodeFlag::kIdle});
  const plan::Plan plan = Look(2);
  ASSERT_THAT(Acts(plan), ElementsAre("cordon Pod slurm/w-2", "drain Slurm node slurm/main/w-2"));
  EXPECT_THAT(plan.actions[1].after, ElementsAre(plan.actions[0].id()));
}

TEST_F(NodeSetTest, WaitsForTheJobsOnADrainingWorker) {
  Worker_(0, {NodeFlag::kAllocated});
  Worker_(1, {NodeFlag::kAllocated, NodeFlag::kDrain}, kOurDrain);
  const plan::Plan plan = Look(0);
  EXPECT_THAT(Acts(plan), Not(Contains(StartsWith("delete"))));
  EXPECT_THAT(ConditionOf(plan, "Progressing").message, HasSubstr("waiting for the jobs on w-1"));
  EXPECT_THAT(plan.slurm_expects, Contains("w-1"));
}

TEST_F(NodeSetTest, ADrainedWorkerGoesOnlyWithAFreshProof) {
  Worker_(0, {NodeFlag::kIdle});
  Worker_(1, {NodeFlag::kIdle, NodeFlag::kDrain}, kOurDrain);
  Pod pod = MakePod(1);
  pod.metadata.annotations[std::string(kAnnotationScaleIn)] = "true";
  Put(pod);
  const plan::Plan plan = Look(1);
  ASSERT_THAT(Acts(plan), ElementsAre("delete Pod slurm/w-1"));
  EXPECT_THAT(Proofs(plan.actions[0]),
              ElementsAre("NodeSet slurm/w asks for what was seen",
                          "Slurm node w-1 is drained and no job holds it, suspended ones included"));
}

class SlurmUnheard : public NodeSetTest, public testing::WithParamInterface<plan::SlurmLook::State> {};

// op#12 in the list of traps: without a REST API every worker counted as drained, and scale-in killed running jobs.
TEST_P(SlurmUnheard, KeepsRunningPods) {
  Worker_(0, {NodeFlag::kIdle, NodeFlag::kDrain}, kOurDrain);
  slurm.state = GetParam();
  slurm.error = "connection refused";
  const plan::Plan plan = Look(0);
  EXPECT_THAT(Acts(plan), Not(Contains(StartsWith("delete"))));
  EXPECT_THAT(ConditionOf(plan, "Progressing").message, HasSubstr("connection refused"));
}

INSTANTIATE_TEST_SUITE_P(All, SlurmUnheard,
                         ::testing::Values(plan::SlurmLook::State::kNone, plan::SlurmLook::State::kUnheard,
                                           plan::SlurmLook::State::kUnreachable));

TEST_F(NodeSetTest, AbsenceNeverRemovesAReadyWorker) {
  Put(MakePod(0));
  EXPECT_THAT(Acts(Look(0)), ElementsAre("cordon Pod slurm/w-0"));
}

TEST_F(NodeSetTest, AbsenceRemovesAStuckWorkerOnceItCounts) {
  Pod pod = MakePod(0, "Pending", false);
  pod.spec.node_name = "k0";
  pod.status.container_statuses = {{.name = "slurmd", .state = {.waiting = {{.reason = "ImagePullBackOff"}}}}};
  Put(pod);
  EXPECT_THAT(Acts(Look(0)), ElementsAre("cordon Pod slurm/w-0"));
  PutMarked(pod);
  slurm.absence_counts = false;
  EXPECT_THAT(Acts(Look(0)), IsEmpty());
  slurm.absence_counts = true;
  EXPECT_THAT(Acts(Look(0)), ElementsAre("delete Pod slurm/w-0"));
}

// Seen on a real cluster: slurmd was registered and idle two seconds before the kubelet said that the pod runs. Taken
// for "never started", it would have been deleted with the job that had just got there.
TEST_F(NodeSetTest, APlacedWorkerIsNeverTakenForOneThatNeverRan) {
  Pod pod = MakePod(0, "Pending", false);
  pod.spec.node_name = "k0";
  Put(pod);
  EXPECT_THAT(Acts(Look(0)), ElementsAre("cordon Pod slurm/w-0"));
  PutMarked(pod);
  EXPECT_THAT(Acts(Look(0)), IsEmpty()) << "it may be about to register";
  held["unregistered pod-0"] = Tick() - 3min;
  EXPECT_THAT(Acts(Look(0)), ElementsAre("delete Pod slurm/w-0"));
  nodes.push_back(MakeNode(0, {NodeFlag::kIdle}));
  EXPECT_THAT(Acts(Look(0)), Contains("drain Slurm node slurm/main/w-0"));
}

// Seen on a real cluster: a choice made on a snapshot from before the job started drained the busy worker and then, a
// moment later, took that back.
TEST_F(NodeSetTest, WhoGoesIsChosenOnWhatSlurmSaidAfterItBecameNecessary) {
  Worker_(0, {NodeFlag::kIdle});
  slurm.age = 10s;
  const plan::Plan plan = Look(0);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_THAT(plan.slurm_expects, ElementsAre("w-0")) << "asks for a newer snapshot";
  held["choice down to 0"] = Tick() - 2s;
  slurm.age = 1s;
  EXPECT_THAT(Acts(Look(0)), Contains("cordon Pod slurm/w-0"));
  held["choice down to 0"] = Tick() - 5s;
  slurm.age = 60s;
  EXPECT_THAT(Acts(Look(0)), Contains("cordon Pod slurm/w-0")) << "a slow Slurm delays it only so long";
}

TEST_F(NodeSetTest, AWorkerThatNeverStartedGoesWithoutAskingSlurm) {
  Put(MakePod(0, "Pending", false));
  slurm.state = plan::SlurmLook::State::kUnreachable;
  EXPECT_THAT(Acts(Look(0)), ElementsAre("delete Pod slurm/w-0"));
}

TEST_F(NodeSetTest, AFailedWorkerIsReplacedWithoutADrain) {
  Put(MakePod(0, "Failed", false));
  EXPECT_THAT(Acts(Look(1)), ElementsAre("delete Pod slurm/w-0"));
}

TEST_F(NodeSetTest, AMarkOfTheFormerNameIsTakenOffToo) {
  Worker_(1, {NodeFlag::kIdle});
  Pod pod = MakePod(1);
  pod.metadata.annotations[std::string(kFormerAnnotationScaleIn)] = "true";
  Put(pod);
  EXPECT_THAT(Acts(Look(1)), ElementsAre("uncordon Pod slurm/w-1"));
}

TEST_F(NodeSetTest, LiftsItsOwnDrainWhenTheWorkerIsWantedAgain) {
  Worker_(1, {NodeFlag::kAllocated, NodeFlag::kDrain}, kOurDrain);
  Pod pod = MakePod(1);
  pod.metadata.labels[std::string(kLabelPodProtect)] = "true";
  PutMarked(pod);
  EXPECT_THAT(Acts(Look(1)), ElementsAre("uncordon Pod slurm/w-1"));
  Put(pod);
  EXPECT_THAT(Acts(Look(1)), ElementsAre("undrain Slurm node slurm/main/w-1"));
}

// op PR#3: the operator lifted what an administrator had drained.
TEST_F(NodeSetTest, APersonsDrainIsNeverLifted) {
  Worker_(0, {NodeFlag::kIdle, NodeFlag::kDrain}, "bad\ndisk");
  const plan::Plan plan = Look(1);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_THAT(ConditionOf(plan, "Degraded").message, HasSubstr("bad disk"));
}

// Two NodeSets that had one name in Slurm lifted each other's drains, and removed each other's records.
TEST_F(NodeSetTest, ADrainThatNamesAnothersPodIsNotOurs) {
  for (const char* pod : {"slurm/x-0", "other/w-0", "slurm/w-x-0", "slurm/w"}) {
    nodes.clear();
    Worker_(0, {NodeFlag::kIdle, NodeFlag::kDrain},
            "slurm-operator: Pod (" + std::string(pod) + ") is pending termination for scale-in");
    EXPECT_THAT(Acts(Look(1)), IsEmpty()) << pod;
    nodes[0].reason = "slurm-operator: Pod (" + std::string(pod) + ") was cordoned";
    EXPECT_THAT(Acts(Look(1)), IsEmpty()) << pod;
    EXPECT_THAT(ConditionOf(Look(1), "Degraded").message, HasSubstr(pod));
  }
}

// Found by the simulator: a drain set by a person since the last read was written over.
TEST_F(NodeSetTest, NoReasonIsWrittenOverOrLiftedWithoutLookingAgain) {
  Worker_(0, {NodeFlag::kIdle});
  const plan::Plan drained = Look(0);
  ASSERT_THAT(Acts(drained), ElementsAre("cordon Pod slurm/w-0", "drain Slurm node slurm/main/w-0"));
  EXPECT_EQ(drained.actions[1].guards.size(), 1u);
  nodes = {MakeNode(0, {NodeFlag::kIdle, NodeFlag::kDrain}, kOurDrain)};
  const plan::Plan lifted = Look(1);
  ASSERT_THAT(Acts(lifted), ElementsAre("undrain Slurm node slurm/main/w-0"));
  EXPECT_EQ(lifted.actions[0].guards.size(), 2u);
  nodes = {MakeNode(0, {NodeFlag::kDown}, std::string(kReasonTerminating))};
  const plan::Plan resumed = Look(1);
  ASSERT_THAT(Acts(resumed), ElementsAre("resume Slurm node slurm/main/w-0"));
  EXPECT_EQ(resumed.actions[0].guards.size(), 2u);
}

// Found by the simulator: the person had resumed it meanwhile, and it was drained under their old reason, for ever.
TEST_F(NodeSetTest, AWorkerThatAPersonSetDownIsDrainedUnderTheirReasonOnlyWhileItIsDown) {
  Worker_(0, {NodeFlag::kDown}, "burnt");
  const plan::Plan plan = Look(0);
  ASSERT_THAT(Acts(plan), ElementsAre("cordon Pod slurm/w-0", "drain Slurm node slurm/main/w-0"));
  ASSERT_EQ(plan.actions[1].guards.size(), 1u);
  EXPECT_EQ(plan.actions[1].guards[0]->text(), "Slurm node w-0 is DOWN (\"burnt\")");
}

TEST_F(NodeSetTest, ScaleInTakesAnIdleWorkerThatAPersonDrainedButKeepsTheDrain) {
  Worker_(0, {NodeFlag::kIdle, NodeFlag::kDrain}, "bad disk");
  EXPECT_THAT(Acts(Look(0)), ElementsAre("cordon Pod slurm/w-0")) << "no new reason is written";
  PutMarked(MakePod(0));
  EXPECT_THAT(Acts(Look(0)), ElementsAre("delete Pod slurm/w-0"));
}

// It was taken for serving: drained in a scale-in, which clears FAIL, and undrained when it was wanted again.
TEST_F(NodeSetTest, AWorkerThatAPersonSetToFailIsHeld) {
  for (const std::string reason : {"bad disk", kOurDrain.c_str(), ""}) {
    nodes.clear();
    Worker_(0, {NodeFlag::kAllocated, NodeFlag::kFail}, reason);
    const plan::Plan plan = Look(1);
    EXPECT_THAT(Acts(plan), ::testing::Not(Contains(HasSubstr("Slurm node")))) << reason;
    EXPECT_THAT(ConditionOf(plan, "Degraded").message, HasSubstr("was set to FAIL in Slurm by somebody else"));
    PutMarked(MakePod(0));
    EXPECT_THAT(Acts(Look(0)), ::testing::Not(Contains(HasSubstr("Slurm node")))) << "no drain is written over it";
    nodes = {MakeNode(0, {NodeFlag::kIdle, NodeFlag::kFail}, reason)};
    EXPECT_THAT(Acts(Look(0)), Contains("delete Pod slurm/w-0")) << "as one that a person drained";
    Put(MakePod(0));
  }
}

TEST_F(NodeSetTest, ARecordThatAPersonSetToFailStaysWhenItsWorkerIsGone) {
  nodes.push_back(MakeNode(0, {NodeFlag::kDown, NodeFlag::kFail}, kOurDrain));
  EXPECT_THAT(Acts(Look(0)), IsEmpty());
  // Its removal was asked for again and again, and refused by its proof each time.
  nodes = {MakeNode(0, {NodeFlag::kDown, NodeFlag::kNotResponding, NodeFlag::kFail}, "Not responding")};
  EXPECT_THAT(Acts(Look(0)), IsEmpty());
}

TEST_F(NodeSetTest, ARecordThatAPersonDrainedStaysWhenItsWorkerIsGone) {
  nodes.push_back(MakeNode(0, {NodeFlag::kDown, NodeFlag::kDrain}, "bad disk"));
  EXPECT_THAT(Acts(Look(0)), IsEmpty());
}

TEST_F(NodeSetTest, ResumesAWorkerThatItsOwnHookSetDown) {
  Worker_(0, {NodeFlag::kDown}, std::string(kReasonTerminating));
  EXPECT_THAT(Acts(Look(1)), ElementsAre("resume Slurm node slurm/main/w-0"));
}

// slurm.conf says nothing of ReturnToService: a node that was lost stayed DOWN though its worker was back.
TEST_F(NodeSetTest, ResumesAWorkerThatIsBackAfterSlurmctldHadLostIt) {
  for (const char* reason : {"Not responding", "Node unexpectedly rebooted"}) {
    Put(MakePod(0, "Running", false));
    nodes = {MakeNode(0, {NodeFlag::kDown}, reason)};
    EXPECT_THAT(Acts(Look(1)), IsEmpty()) << "not ready";
    EXPECT_THAT(ConditionOf(Look(1), "Degraded").message, HasSubstr("its pod is not ready; it is resumed once"));
    Put(MakePod(0));
    nodes = {MakeNode(0, {NodeFlag::kDown, NodeFlag::kNotResponding}, reason)};
    EXPECT_THAT(Acts(Look(1)), IsEmpty()) << "does not respond";
    nodes = {MakeNode(0, {NodeFlag::kDown}, reason)};
    const plan::Plan plan = Look(1);
    ASSERT_THAT(Acts(plan), ElementsAre("resume Slurm node slurm/main/w-0"));
    EXPECT_EQ(plan.actions[0].guards.size(), 2u);
    EXPECT_EQ(ConditionOf(plan, "Degraded").status, "False");
    EXPECT_THAT(ConditionOf(plan, "Progressing").message, HasSubstr("w-0 is coming back"));
  }
}

TEST_F(NodeSetTest, OnlySlurmctldsOwnWordsAreTakenForSlurmctlds) {
  Put(MakePod(0));
  for (const char* reason : {"Not responding, says alice", "not responding", "Low RealMemory", ""}) {
    nodes = {MakeNode(0, {NodeFlag::kDown}, reason)};
    EXPECT_THAT(Acts(Look(1)), IsEmpty()) << reason;
    EXPECT_THAT(ConditionOf(Look(1), "Degraded").message, HasSubstr("then resume it in Slurm")) << reason;
  }
  nodes = {MakeNode(0, {NodeFlag::kDown, NodeFlag::kDrain}, "Not responding")};
  EXPECT_THAT(Acts(Look(1)), IsEmpty()) << "somebody has drained it since";
}

TEST_F(NodeSetTest, LeavesAPersonsDownAlone) {
  Worker_(0, {NodeFlag::kDown}, "burnt");
  const plan::Plan plan = Look(1);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_THAT(ConditionOf(plan, "Degraded").message, HasSubstr("burnt"));
}

TEST_F(NodeSetTest, RemovesTheRecordOfAWorkerThatIsGone) {
  nodes.push_back(MakeNode(0, {NodeFlag::kDown, NodeFlag::kDrain}, kOurDrain));
  const plan::Plan plan = Look(0);
  ASSERT_THAT(Acts(plan), ElementsAre("remove record Slurm node slurm/main/w-0"));
  EXPECT_EQ(plan.actions[0].guards.size(), 1u);
}

// With its predecessor's record, a worker of fewer CPUs was INVALID_REG for ever, and a changed weight never took effect.
TEST_F(NodeSetTest, TheRecordOfItsPredecessorGoesBeforeAWorkerIsMade) {
  for (const auto& [flags, reason] :
       {std::pair(std::vector{NodeFlag::kDown, NodeFlag::kDrain}, std::string_view(kOurDrain)),
        std::pair(std::vector{NodeFlag::kDown}, kReasonTerminating),
        std::pair(std::vector{NodeFlag::kDown, NodeFlag::kNotResponding}, slurm::kReasonNotResponding)}) {
    nodes = {MakeNode(0, flags, std::string(reason))};
    const plan::Plan plan = Look(1);
    ASSERT_THAT(Acts(plan), ElementsAre("remove record Slurm node slurm/main/w-0", "create Pod slurm/w-0")) << reason;
    EXPECT_EQ(plan.actions[0].guards.size(), 1u);
    EXPECT_THAT(plan.actions[1].after, ElementsAre(plan.actions[0].id()));
    EXPECT_THAT(plan.slurm_expects, ElementsAre("w-0"));
  }
  held["old record of w-0"] = Tick() - 1min;
  EXPECT_THAT(Acts(Look(1)), ElementsAre("create Pod slurm/w-0")) << "Slurm holds no worker up for ever";
  held.clear();
  slurm.state = plan::SlurmLook::State::kUnreachable;
  EXPECT_THAT(Acts(Look(1)), ElementsAre("create Pod slurm/w-0"));
}

TEST_F(NodeSetTest, ARecordThatSomebodyHoldsOrThatIsNotOursStaysWhenItsWorkerIsMadeAnew) {
  Put(MakeMachine("k0"));
  nodes = {MakeNode(0, {NodeFlag::kDown, NodeFlag::kDrain}, "bad disk")};
  EXPECT_THAT(Acts(Look(1)), ElementsAre("create Pod slurm/w-0"));
  nodes = {MakeNode(0, {NodeFlag::kIdle})};
  EXPECT_THAT(Acts(Look(1)), ElementsAre("create Pod slurm/w-0")) << "its slurmd may run still";
  nodes = {MakeNode(0, {NodeFlag::kAllocated, NodeFlag::kDrain}, kOurDrain)};
  EXPECT_THAT(Acts(Look(1)), ElementsAre("create Pod slurm/w-0"));
  nodes = {MakeNode(0, {NodeFlag::kIdle, NodeFlag::kDrain}, kOurDrain)};
  Pod orphan = MakePod(3);
  orphan.metadata.owner_references.clear();
  orphan.metadata.labels = {{std::string(kLabelPodHostname), "w-0"}, {std::string(kLabelComponent), "worker"}};
  Put(orphan);
  const plan::Plan plan = Look(1);
  EXPECT_THAT(Acts(plan), IsEmpty()) << "another pod stands behind it";
  EXPECT_THAT(ConditionOf(plan, "Progressing").message,
              HasSubstr("creating 1 workers, after the name w-0 in Slurm, which pod w-3 has"));
  orphan.metadata.labels[std::string(kLabelCluster)] = "other";
  Put(orphan);
  EXPECT_THAT(Acts(Look(1)), Contains("create Pod slurm/w-0")) << "in another cluster";
}

// Its job ran on, nobody looked after it, and its name kept the new NodeSet from having a worker.
TEST_F(NodeSetTest, AnOrphanOfTheSameNameAndClusterIsTakenBack) {
  Pod orphan = MakePod(0);
  orphan.metadata.owner_references.clear();
  orphan.metadata.labels[std::string(kLabelInstance)] = "w";
  orphan.metadata.labels[std::string(kLabelComponent)] = "worker";
  orphan.metadata.labels[std::string(kLabelCluster)] = "main";
  Put(orphan);
  nodes = {MakeNode(0, {NodeFlag::kAllocated})};
  const plan::Plan plan = Look(2);
  EXPECT_THAT(Acts(plan), ElementsAre("adopt Pod slurm/w-0", "create Pod slurm/w-1"));
  EXPECT_THAT(Proofs(plan.actions[0]), ElementsAre("NodeSet slurm/w asks for what was seen")) << "it may be going";
  orphan.metadata.labels[std::string(kLabelCluster)] = "other";
  Put(orphan);
  EXPECT_THAT(Acts(Look(1)), ElementsAre("create Pod slurm/w-0")) << "which is refused, and told";
}

// A kubelet that takes no pod was sent the next one at once, for ever.
TEST_F(NodeSetTest, AWorkerThatEndsAtOnceIsNotReplacedAtOnce) {
  Pod pod = MakePod(0, "Failed", false);
  pod.metadata.creation_timestamp = kNow - 5s;
  Put(pod);
  const plan::Plan plan = Look(1);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_EQ(plan.requeue_after, 15s);
  for (const Duration age : {Duration(20s), Duration(-1h)}) {
    pod.metadata.creation_timestamp = kNow - age;
    Put(pod);
    EXPECT_THAT(Acts(Look(1)), ElementsAre("delete Pod slurm/w-0")) << FormatDuration(age);
  }
}

TEST_F(NodeSetTest, ARecordThatSomebodyHeldBeforeItsWorkerWasMadeIsSaidToBeTheOldOne) {
  Pod pod = MakePod(0);
  pod.metadata.creation_timestamp = kNow - 10s;
  Put(pod);
  for (const auto flag : {NodeFlag::kDrain, NodeFlag::kDown}) {
    nodes = {MakeNode(0, {NodeFlag::kIdle, flag}, "bad disk")};
    nodes[0].reason_changed_at = kNow - 5s;
    EXPECT_THAT(ConditionOf(Look(1), "Degraded").message, Not(HasSubstr("of the worker before it")));
    nodes[0].reason_changed_at = kNow - 1h;
    EXPECT_THAT(ConditionOf(Look(1), "Degraded").message, HasSubstr("its record is that of the worker before it"));
  }
}

TEST_F(NodeSetTest, RemovesTheRecordOfAWorkerThatWentBeforeItWasNoted) {
  slurm::Node record = MakeNode(0, {NodeFlag::kDown, NodeFlag::kDynamicNorm}, std::string(kReasonTerminating));
  record.comment.clear();
  record.features = {"w"};
  nodes.push_back(record);
  EXPECT_THAT(Acts(Look(0)), ElementsAre("remove record Slurm node slurm/main/w-0"));
}

// Found by the simulator: a worker that went while slurmctld was away, so that its hook could tell nobody.
TEST_F(NodeSetTest, RemovesTheRecordOfAWorkerThatWentWithoutAWord) {
  nodes.push_back(MakeNode(0, {NodeFlag::kDown, NodeFlag::kNotResponding}, "Not responding"));
  EXPECT_THAT(Acts(Look(0)), ElementsAre("remove record Slurm node slurm/main/w-0"));
  nodes[0].reason = "Node unexpectedly rebooted";
  EXPECT_THAT(Acts(Look(0)), ElementsAre("remove record Slurm node slurm/main/w-0"));
  nodes[0].reason = "burnt";
  EXPECT_THAT(Acts(Look(0)), IsEmpty()) << "a person has said what is wrong with it";
}

// Found by the simulator: a NodeSet that was let go without Slurm and installed anew with fewer workers.
TEST_F(NodeSetTest, TheRecordsOfAPredecessorAreRemovedToo) {
  nodes.push_back(MakeNode(0, {NodeFlag::kDown}, std::string(kReasonTerminating)));
  nodes[0].comment = R"({"namespace":"slurm","podName":"w-0","node":"k0","nodeSetName":"w","nodeSetUID":"before"})";
  EXPECT_THAT(Acts(Look(0)), ElementsAre("remove record Slurm node slurm/main/w-0"));
}

TEST_F(NodeSetTest, RecordsOfOthersAreNotTouched) {
  slurm::Node other = MakeNode(0, {NodeFlag::kDown, NodeFlag::kDrain}, kOurDrain);
  other.comment = R"({"namespace":"slurm","podName":"x-0","node":"k0","nodeSetName":"x","nodeSetUID":"another"})";
  slurm::Node foreign{.name = "bare-metal", .reason = std::string(kReasonTerminating)};
  foreign.state.Add(NodeFlag::kDown);
  nodes = {other, foreign};
  EXPECT_THAT(Acts(Look(0)), IsEmpty());
}

TEST_F(NodeSetTest, APendingWorkerSaysWhy) {
  Pod pod = MakePod(0, "Pending", false);
  pod.status.conditions.push_back(
      {.type = "PodScheduled", .status = "False", .reason = "Unschedulable", .message = "0/3 nodes are available"});
  Put(pod);
  EXPECT_THAT(ConditionOf(Look(1), "Degraded").message, HasSubstr("0/3 nodes are available"));
}

TEST_F(NodeSetTest, WhatIsNotHeededIsSaid) {
  set.spec.scaling_mode = api::kScalingDaemonSet;
  set.spec.claim_retention = api::ClaimRetentionPolicy{.when_deleted = {}, .when_scaled = std::string(api::kDelete)};
  const api::Condition degraded = ConditionOf(Look(0), "Degraded");
  EXPECT_EQ(degraded.reason, "NotSupported");
  EXPECT_THAT(degraded.message, HasSubstr("persistentVolumeClaimRetentionPolicy.whenScaled"));
}

TEST_F(NodeSetTest, ATemplateThatCannotBeMakesNoWorkersAndTakesNoneAway) {
  Worker_(0, {NodeFlag::kIdle});
  set.spec.pod_template.spec.text = R"({"hostNetwork":true})";
  set.spec.ssh = api::NodeSetSsh{.enabled = true, .sssd_conf_ref = {.name = "sssd", .key = "sssd.conf"}};
  for (const int replicas : {1, 2}) {
    const plan::Plan plan = Look(replicas);
    EXPECT_THAT(Acts(plan), ::testing::Not(::testing::Contains(::testing::HasSubstr("Pod"))));
    EXPECT_EQ(ConditionOf(plan, "Degraded").reason, "InvalidSpec");
    EXPECT_THAT(ConditionOf(plan, "Degraded").message, HasSubstr("port 22"));
  }
}

TEST_F(NodeSetTest, AWorkerWithHostNetworkThatWasToldItsNameIsOneLikeOthers) {
  Pod pod = MakePod(0);
  pod.spec.host_network = true;
  pod.metadata.annotations[std::string(kAnnotationNamed)] = "true";
  Put(pod);
  nodes.push_back(MakeNode(0, {NodeFlag::kIdle}));
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  EXPECT_THAT(Acts(Look(0)), ElementsAre("cordon Pod slurm/w-0", "drain Slurm node slurm/main/w-0"));

  // The record of one that was there before it, in DaemonSet mode, was taken for its own.
  nodes.push_back(MakeNode(1, {NodeFlag::kDown, NodeFlag::kDrain}, std::string(kReasonTerminating)));
  nodes.back().name = pod.spec.node_name;
  EXPECT_THAT(Acts(Look(1)), ElementsAre("remove record Slurm node slurm/main/k0"));
}

TEST_F(NodeSetTest, AWorkerWithHostNetworkIsCalledAsItsMachineOnceItIsPlaced) {
  set.spec.pod_template.spec.text = R"({"hostNetwork":true})";
  Pod pod = MakePod(0, "Pending", false);
  pod.spec.host_network = true;
  pod.metadata.labels.erase(std::string(kLabelPodHostname));
  pod.metadata.annotations[std::string(kAnnotationNamed)] = "machine";
  Put(pod);
  slurm::Node stray = MakeNode(7, {NodeFlag::kIdle, NodeFlag::kDrain}, ScaleInReason({"slurm", "w-7"}));
  stray.name = "k0";
  nodes = {stray};
  EXPECT_THAT(Acts(Look(1)), IsEmpty()) << "it may be placed there, and register under that record";
  EXPECT_THAT(Acts(Look(2)), ElementsAre("remove record Slurm node slurm/main/k0", "create Pod slurm/w-1"));
  pod.spec.node_name = "k0";
  pod.status.phase = "Running";
  pod.status.conditions = {{.type = "Ready", .status = "True"}};
  Put(pod);
  nodes = {MakeNode(0, {NodeFlag::kIdle})};
  nodes[0].name = "k0";
  plan::Plan plan = Look(1);
  ASSERT_THAT(Acts(plan), ElementsAre("label Pod slurm/w-0"));
  EXPECT_EQ(plan.actions[0].effect->content(),
            plan::MergePatch("label", {&kube::kPods, {"slurm", "w-0"}}, "pod-0",
                             R"({"metadata":{"labels":{"nodeset.slinky.slurm.net/pod-hostname":"k0"}}})")
                ->content());
  pod.metadata.labels[std::string(kLabelPodHostname)] = "k0";
  Put(pod);
  EXPECT_THAT(Acts(Look(0)), ElementsAre("cordon Pod slurm/w-0", "drain Slurm node slurm/main/k0"));
}

// slurmd is there under a machine's name. Looked for under the pod's, it counted as unregistered for ever, and was
// deleted with its jobs on a proof about a node that does not exist.
TEST_F(NodeSetTest, AWorkerWithHostNetworkOfAnotherReleaseIsLeftAlone) {
  Pod pod = MakePod(0, "Running", false);
  pod.spec.host_network = true;
  pod.metadata.labels[std::string(kLabelPodHostname)] = "";
  Put(pod);
  nodes.push_back(MakeNode(0, {NodeFlag::kDown, NodeFlag::kDrain}, kOurDrain));
  nodes[0].name = "machine";
  held["unregistered pod-0"] = Tick() - 1h;
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  Pod unprotected = pod;
  unprotected.metadata.labels.erase(std::string(kLabelPodProtect));
  Put(unprotected);
  EXPECT_THAT(Acts(Look(1)), ElementsAre("protect Pod slurm/w-0")) << "nobody can say that no job runs there";
  Put(pod);
  EXPECT_THAT(ConditionOf(Look(1), "Degraded").message, HasSubstr("w-0 has its Kubernetes node's network"));
  pod.metadata.annotations[std::string(kAnnotationScaleIn)] = "true";
  Put(pod);
  const plan::Plan plan = Look(0);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_THAT(ConditionOf(plan, "Progressing").message, HasSubstr("waiting for somebody to drain w-0 in Slurm"));
}

TEST_F(NodeSetTest, AnActionThatFailedEndsInACondition) {
  failures = {
      {.verb = "create", .target = "Pod slurm/w-0", .code = Code::kForbidden, .message = "quota exceeded", .tries = 1}};
  EXPECT_THAT(ConditionOf(Look(1), "Degraded").message, HasSubstr("quota exceeded"));
}

TEST_F(NodeSetTest, WritesWhoStandsBehindARecord) {
  Worker_(0, {NodeFlag::kIdle});
  nodes[0].comment.clear();
  EXPECT_THAT(Acts(Look(1)), ElementsAre("note Slurm node slurm/main/w-0"));
}

// Found by the simulator: a record's removal, slow on its way, hit the worker that had just registered under that name.
TEST_F(NodeSetTest, AWorkerIsNotCreatedWhileItsOldRecordIsBeingRemoved) {
  in_flight = {"Slurm node slurm/main/w-0"};
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  in_flight.clear();
  EXPECT_THAT(Acts(Look(1)), ElementsAre("create Pod slurm/w-0"));
}

// slurmd registers until its first success only: its pod stayed ready, outside of Slurm, for ever.
TEST_F(NodeSetTest, AReadyWorkerWhoseRecordIsLostIsReplacedOnceThatIsCertain) {
  Put(MakePod(0));
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  held["forgotten pod-0"] = Tick() - 10min + 1s;
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  EXPECT_LE(Look(1).requeue_after, 1s);
  held["forgotten pod-0"] = Tick() - 10min;
  slurm.absence_counts = false;
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  EXPECT_THAT(facts, Not(Contains(::testing::Key("forgotten pod-0")))) << "it counts from when absence does";
  slurm.absence_counts = true;
  const plan::Plan plan = Look(1);
  ASSERT_THAT(Acts(plan), ElementsAre("delete Pod slurm/w-0"));
  EXPECT_THAT(Proofs(plan.actions[0]),
              ElementsAre("pod slurm/w-0 says that its slurmd is w-0 and has no job step",
                          "Slurm node w-0 is drained and no job holds it, suspended ones included"));
  const json::ObjectMeta& seen = stores.Of<Pod>().Find({"slurm", "w-0"})->metadata;
  const auto unchanged = plan::DeleteUnchanged({&kube::kPods, {"slurm", "w-0"}}, seen.uid, seen.resource_version, "");
  EXPECT_EQ(plan.actions[0].effect->content(), unchanged.effect->content());
  EXPECT_EQ(plan.actions[0].event->reason, "SlurmNodeNotRegistered");
  EXPECT_TRUE(plan.actions[0].event->warning);
}

// It was waited for in Slurm for ever.
TEST_F(NodeSetTest, AScaleInOfAWorkerWhoseRecordIsLostEnds) {
  PutMarked(MakePod(0));
  EXPECT_THAT(Acts(Look(0)), IsEmpty());
  held["forgotten pod-0"] = Tick() - 10min;
  const plan::Plan plan = Look(0);
  ASSERT_THAT(Acts(plan), ElementsAre("delete Pod slurm/w-0"));
  EXPECT_EQ(plan.actions[0].guards.size(), 3u);
}

// A worker that needed more than two minutes before it began slurmd (drivers, large images) was deleted again and again.
TEST_F(NodeSetTest, AWorkerThatStartsIsWaitedForUnlessTheKubeletSaysWhatIsWrong) {
  Pod pod = MakePod(0, "Running", false);
  Put(pod);
  held["unregistered pod-0"] = Tick() - 1h;
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  EXPECT_THAT(ConditionOf(Look(1), "Progressing").message, HasSubstr("w-0 has not registered"));
  pod.status.container_statuses = {{.name = "slurmd", .state = {.waiting = {{.reason = "CrashLoopBackOff"}}}}};
  Put(pod);
  held["unregistered pod-0"] = Tick() - 119s;
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  held["unregistered pod-0"] = Tick() - 2min;
  ASSERT_THAT(Acts(Look(1)), ElementsAre("delete Pod slurm/w-0"));
  EXPECT_EQ(Look(1).actions[0].guards.size(), 2u);
}

// Seen on a real cluster: all were idle, and the NodeSet said so up to fifteen seconds later.
TEST_F(NodeSetTest, AWorkerThatIsAboutToRegisterIsLookedForButNotForEver) {
  Put(MakePod(0, "Pending", false));
  EXPECT_THAT(Look(1).slurm_expects, IsEmpty()) << "it does not run yet";
  Put(MakePod(0, "Running", false));
  EXPECT_THAT(Look(1).slurm_expects, ElementsAre("w-0"));
  EXPECT_THAT(Look(0).slurm_expects, ElementsAre("w-0")) << "it goes once Slurm can say that no job runs there";
  nodes = {MakeNode(0, {NodeFlag::kDown}, std::string(kReasonTerminating))};
  EXPECT_THAT(Look(1).slurm_expects, ElementsAre("w-0")) << "the record is that of the pod before";
  held["coming pod-0"] = Tick() - 2min;
  EXPECT_THAT(Look(1).slurm_expects, IsEmpty());
  nodes = {MakeNode(0, {NodeFlag::kIdle})};
  held.clear();
  EXPECT_THAT(Look(1).slurm_expects, IsEmpty()) << "it has come";
}

TEST_F(NodeSetTest, WorkersWithSshGetTheirConfig) {
  EXPECT_THAT(Look(0).children, IsEmpty());
  set.spec.ssh = api::NodeSetSsh{.enabled = true, .sssd_conf_ref = {.name = "sssd", .key = "sssd.conf"}};
  const plan::Plan plan = Look(0);
  ASSERT_EQ(plan.children.size(), 1u);
  EXPECT_EQ(plan.children[0].key.name, "w-ssh-config");
}

// Each worker made its own at every start: whoever came back to a name met a host that they did not know.
TEST_F(NodeSetTest, WorkersWithSshHaveHostKeysThatStay) {
  set.spec.ssh = api::NodeSetSsh{.enabled = true, .sssd_conf_ref = {.name = "sssd", .key = "sssd.conf"}};
  Worker_(0, {NodeFlag::kIdle});
  EXPECT_THAT(Acts(Look(2)), IsEmpty()) << "whether they are there is not known yet";
  answers.entries()["secret slurm/w-ssh-host-keys"] = {.state = plan::AnswerState::kAbsent};
  const plan::Plan plan = Look(2);
  EXPECT_THAT(Acts(plan), ElementsAre("create Secret slurm/w-ssh-host-keys")) << "the worker that runs stays";
  EXPECT_EQ(ConditionOf(plan, "Progressing").reason, "CreatingKeys");
  SecretDigest::Value keys;
  for (const std::string_view file : kHostKeyFiles) keys.digests.emplace(file, "x");
  answers.entries()["secret slurm/w-ssh-host-keys"] = {.state = plan::AnswerState::kKnown,
                                                       .value = std::make_shared<const SecretDigest::Value>(keys)};
  answers.entries()["host keys slurm/w-ssh-host-keys"] = {.state = plan::AnswerState::kKnown,
                                                          .value = std::make_shared<const std::string>()};
  EXPECT_THAT(Acts(Look(2)), ElementsAre("create Pod slurm/w-1"));
  keys.digests.erase("ssh_host_rsa_key");
  answers.entries()["secret slurm/w-ssh-host-keys"].value = std::make_shared<const SecretDigest::Value>(keys);
  EXPECT_THAT(Acts(Look(2)), IsEmpty());
  EXPECT_THAT(ConditionOf(Look(2), "Degraded").message, HasSubstr("has no key \"ssh_host_rsa_key\""));
  set.spec.slurmd.text = R"({"image":"ghcr.example.org/slurmd:1"})";
  EXPECT_THAT(Acts(Look(2)), ElementsAre("create Pod slurm/w-1")) << "such an image makes its own";
}

// Each lifted the other's drains, and the workers of one were taken for the other's.
TEST_F(NodeSetTest, OfTwoNodeSetsWithOneNameInSlurmTheYoungerTouchesNothing) {
  Worker_(0, {NodeFlag::kIdle, NodeFlag::kDrain}, std::string(kReasonTerminating));
  nodes.push_back(MakeNode(3, {NodeFlag::kDown}, std::string(kReasonTerminating)));
  set.metadata.creation_timestamp = kNow - 1h;
  api::NodeSet other = set;
  other.metadata.name = "elder";
  other.metadata.uid = "elder-uid";
  other.metadata.creation_timestamp = kNow - 2h;
  for (const char* hostname : {"w-", "w", "w-1"}) {
    other.spec.pod_template.spec.text = R"({"hostname":")" + std::string(hostname) + R"("})";
    Put(other);
    for (const int replicas : {0, 2}) {
      const plan::Plan plan = Look(replicas);
      EXPECT_THAT(Acts(plan), IsEmpty()) << hostname;
      EXPECT_EQ(ConditionOf(plan, "Degraded").reason, "NameConflict");
      EXPECT_THAT(ConditionOf(plan, "Degraded").message, HasSubstr("NodeSet elder"));
      EXPECT_EQ(ConditionOf(plan, "Ready").status, "False");
    }
  }
  other.metadata.creation_timestamp = kNow - 1h;
  Put(other);
  EXPECT_EQ(ConditionOf(Look(1), "Degraded").reason, "NameConflict") << "by name, of equal age";
  other.metadata.creation_timestamp = kNow - 59min;
  Put(other);
  EXPECT_NE(ConditionOf(Look(1), "Degraded").reason, "NameConflict") << "the elder goes on";
  other.metadata.creation_timestamp = kNow - 2h;
  for (const char* hostname : {"w-x", "x-", "w-1-"}) {
    other.spec.pod_template.spec.text = R"({"hostname":")" + std::string(hostname) + R"("})";
    Put(other);
    EXPECT_NE(ConditionOf(Look(1), "Degraded").reason, "NameConflict") << hostname;
  }
  other.spec.pod_template.spec.text = R"({"hostname":"w-"})";
  other.spec.controller_ref.name = "another";
  Put(other);
  EXPECT_NE(ConditionOf(Look(1), "Degraded").reason, "NameConflict") << "of another cluster";
}

TEST(OrdinalOf, ReadsPaddedAndPlainOrdinalsOfThisSetOnly) {
  EXPECT_EQ(OrdinalOf("w", "w-3"), 3);
  EXPECT_EQ(OrdinalOf("w", "w-003"), 3);
  for (const char* name : {"w", "w-", "w-x", "w-1-2", "wx-1", "v-1", "w--1", "w-1234567890"}) {
    EXPECT_FALSE(OrdinalOf("w", name)) << name;
  }
}

}  // namespace
}  // namespace capstan::op::nodeset
