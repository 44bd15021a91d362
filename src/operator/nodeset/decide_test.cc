#include "operator/nodeset/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/restapi.h"
#include "json/codec.h"
#include "operator/names.h"
#include "operator/nodeset/scale.h"
#include "operator/nodeset/workers.h"
#include "operator/objects.h"
#include "operator/resources.h"
#include "operator/testing/world.h"
#include "plan/slurm_effects.h"

namespace capstan::op::nodeset {
namespace {

using slurm::NodeFlag;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAre;

constexpr std::string_view kSetUid = "set-uid";
constexpr Time kNow = Time(10'000s);
const std::string kOurDrain = ScaleInReason({"slurm", "w-1"});

// A NodeSet "w" of a Controller "main" in namespace "slurm", its pods and their Slurm records, as the story of a test
// puts them.
class NodeSetTest : public testing::Test {
 protected:
  NodeSetTest() {
    stores.Add<api::Controller>().AddFeed("");
    stores.Add<api::NodeSet>().AddFeed("");
    stores.Add<Pod>().AddFeed("");
    stores.Add<CordonedNode>().AddFeed("");
    test::IndexByController(stores.Add<api::RestApi>());
    const_cast<kube::Store<api::RestApi>&>(stores.Of<api::RestApi>()).AddFeed("");
    Put(api::RestApi{.metadata = {.name = "main", .namespace_ = "slurm", .uid = "r-uid"},
                     .spec = {.controller_ref = {.name = "main"}}});
    api::Controller controller{
        .metadata = {.name = "main", .namespace_ = "slurm", .uid = "c-uid", .resource_version = 1}};
    Put(std::move(controller));
    set.metadata = {.name = "w", .namespace_ = "slurm", .uid = std::string(kSetUid), .generation = 1};
    set.metadata.finalizers = {std::string(kFinalizerDrain)};
    set.spec.controller_ref.name = "main";
    set.spec.replicas = 0;
  }

  template <class T>
  void Put(T object) {
    object.metadata.resource_version = ++version;
    ASSERT_TRUE(const_cast<kube::Store<T>&>(stores.Of<T>()).Answered(std::move(object), Tick()));
  }

  // A running, ready worker with its record; change what matters in a test.
  Pod MakePod(int ordinal, std::string phase = "Running", bool ready = true) {
    Pod pod;
    pod.metadata = {
        .name = "w-" + std::to_string(ordinal),
        .namespace_ = "slurm",
        .uid = "pod-" + std::to_string(ordinal),
        .owner_references = {{.kind = "NodeSet", .name = "w", .uid = std::string(kSetUid), .controller = true}}};
    pod.metadata.labels[std::string(kLabelPodHostname)] = pod.metadata.name;
    pod.spec.node_name = phase == "Pending" ? "" : "k" + std::to_string(ordinal);
    pod.status.phase = std::move(phase);
    pod.status.conditions = {{.type = "Ready", .status = ready ? "True" : "False"}};
    return pod;
  }
  slurm::Node MakeNode(int ordinal, std::vector<NodeFlag> flags, std::string reason = "") {
    slurm::Node node{.name = "w-" + std::to_string(ordinal), .reason = std::move(reason)};
    for (const NodeFlag flag : flags) node.state.Add(flag);
    Worker worker{.ordinal = ordinal, .host = node.name};
    const Pod pod = MakePod(ordinal);
    worker.pod = &pod;
    node.comment = RecordComment(worker, set);
    return node;
  }
  void Worker_(int ordinal, std::vector<NodeFlag> flags, std::string reason = "") {
    Put(MakePod(ordinal));
    nodes.push_back(MakeNode(ordinal, std::move(flags), std::move(reason)));
  }

  plan::Plan Look(int replicas) {
    set.spec.replicas = replicas;
    Put(set);
    auto snapshot = std::make_shared<slurm::Snapshot>();
    std::ranges::sort(nodes, {}, &slurm::Node::name);
    snapshot->nodes = std::make_shared<const std::vector<slurm::Node>>(nodes);
    plan::World::Parts parts;
    parts.now = kNow;
    parts.stores = &stores;
    parts.failures = failures;
    parts.held_since = held;
    parts.in_flight = in_flight;
    parts.slurm = [this, snapshot](const std::string&) {
      plan::SlurmLook look = slurm;
      look.snapshot = snapshot;
      return look;
    };
    const plan::World world(std::move(parts));
    return Decide(world, {"slurm", "w"});
  }

  static std::vector<std::string> Acts(const plan::Plan& plan) {
    std::vector<std::string> acts;
    for (const plan::Action& action : plan.actions) {
      acts.push_back(std::string(action.effect->verb()) + " " + action.effect->target());
    }
    return acts;
  }
  static api::Condition ConditionOf(const plan::Plan& plan, std::string_view type) {
    const auto status = json::Decode<api::NodeSetStatus>(*plan.status);
    const api::Condition* condition = api::FindCondition(status->conditions, type);
    return condition != nullptr ? *condition : api::Condition();
  }

  plan::Stores stores;
  api::NodeSet set;
  std::vector<slurm::Node> nodes;
  std::vector<plan::Failure> failures;
  std::map<std::string, Tick> held;
  std::set<std::string> in_flight;
  plan::SlurmLook slurm{.state = plan::SlurmLook::State::kHeard, .absence_counts = true};
  uint64_t version = 0;
};

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
  ASSERT_THAT(Acts(plan),
              ElementsAre("cordon Pod slurm/w-2", "drain Slurm node slurm/main/w-2", "protect Pod slurm/w-1"));
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
  ASSERT_EQ(plan.actions[0].guards.size(), 1u);
  EXPECT_EQ(plan.actions[0].guards[0]->text(), "Slurm node w-1 is drained and runs no job");
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
                         testing::Values(plan::SlurmLook::State::kNone, plan::SlurmLook::State::kUnheard,
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
  slurm.absence_counts = false;
  EXPECT_THAT(Acts(Look(0)), ElementsAre("cordon Pod slurm/w-0"));
  slurm.absence_counts = true;
  EXPECT_THAT(Acts(Look(0)), ElementsAre("cordon Pod slurm/w-0", "delete Pod slurm/w-0"));
}

// Seen on a real cluster: slurmd was registered and idle two seconds before the kubelet said that the pod runs. Taken
// for "never started", it would have been deleted with the job that had just got there.
TEST_F(NodeSetTest, APlacedWorkerIsNeverTakenForOneThatNeverRan) {
  Pod pod = MakePod(0, "Pending", false);
  pod.spec.node_name = "k0";
  Put(pod);
  EXPECT_THAT(Acts(Look(0)), ElementsAre("cordon Pod slurm/w-0")) << "it may be about to register";
  held["unregistered pod-0"] = Tick() - 3min;
  EXPECT_THAT(Acts(Look(0)), ElementsAre("cordon Pod slurm/w-0", "delete Pod slurm/w-0"));
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
  held["choice of 1"] = Tick() - 2s;
  slurm.age = 1s;
  EXPECT_THAT(Acts(Look(0)), Contains("cordon Pod slurm/w-0"));
  held["choice of 1"] = Tick() - 5s;
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

TEST_F(NodeSetTest, LiftsItsOwnDrainWhenTheWorkerIsWantedAgain) {
  Worker_(1, {NodeFlag::kAllocated, NodeFlag::kDrain}, kOurDrain);
  Pod pod = MakePod(1);
  pod.metadata.annotations[std::string(kAnnotationScaleIn)] = "true";
  pod.metadata.labels[std::string(kLabelPodProtect)] = "true";
  Put(pod);
  EXPECT_THAT(Acts(Look(1)), ElementsAre("uncordon Pod slurm/w-1", "undrain Slurm node slurm/main/w-1"));
}

// op PR#3: the operator lifted what an administrator had drained.
TEST_F(NodeSetTest, APersonsDrainIsNeverLifted) {
  Worker_(0, {NodeFlag::kIdle, NodeFlag::kDrain}, "bad disk");
  const plan::Plan plan = Look(1);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_THAT(ConditionOf(plan, "Degraded").message, HasSubstr("bad disk"));
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
  EXPECT_EQ(lifted.actions[0].guards.size(), 1u);
  nodes = {MakeNode(0, {NodeFlag::kDown}, std::string(kReasonTerminating))};
  const plan::Plan resumed = Look(1);
  ASSERT_THAT(Acts(resumed), ElementsAre("resume Slurm node slurm/main/w-0"));
  EXPECT_EQ(resumed.actions[0].guards.size(), 1u);
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
  EXPECT_THAT(Acts(Look(0)), ElementsAre("cordon Pod slurm/w-0", "delete Pod slurm/w-0")) << "no new reason is written";
}

TEST_F(NodeSetTest, ARecordThatAPersonDrainedStaysWhenItsWorkerIsGone) {
  nodes.push_back(MakeNode(0, {NodeFlag::kDown, NodeFlag::kDrain}, "bad disk"));
  EXPECT_THAT(Acts(Look(0)), IsEmpty());
}

TEST_F(NodeSetTest, ResumesAWorkerThatItsOwnHookSetDown) {
  Worker_(0, {NodeFlag::kDown}, std::string(kReasonTerminating));
  EXPECT_THAT(Acts(Look(1)), ElementsAre("resume Slurm node slurm/main/w-0"));
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

TEST_F(NodeSetTest, ARecordIsNotRemovedWhileItsWorkerIsAboutToComeBack) {
  nodes.push_back(MakeNode(0, {NodeFlag::kDown, NodeFlag::kDrain}, kOurDrain));
  EXPECT_THAT(Acts(Look(1)), ElementsAre("create Pod slurm/w-0"));
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
  set.spec.pin_to_node = true;
  set.spec.claim_retention = api::ClaimRetentionPolicy{.when_deleted = "Delete"};
  const api::Condition degraded = ConditionOf(Look(0), "Degraded");
  EXPECT_EQ(degraded.reason, "NotSupported");
  EXPECT_THAT(degraded.message, HasSubstr("pinToNode"));
  EXPECT_THAT(degraded.message, HasSubstr("claims are kept"));
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

TEST_F(NodeSetTest, AWorkerThatSlurmForgotIsReplacedOnceThatIsCertain) {
  Put(MakePod(0, "Running", false));
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  held["unregistered pod-0"] = Tick() - 2min;
  slurm.absence_counts = false;
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  slurm.absence_counts = true;
  const plan::Plan plan = Look(1);
  ASSERT_THAT(Acts(plan), ElementsAre("delete Pod slurm/w-0"));
  EXPECT_EQ(plan.actions[0].guards.size(), 1u);
}

TEST_F(NodeSetTest, WorkersWithSshGetTheirConfig) {
  EXPECT_THAT(Look(0).children, IsEmpty());
  set.spec.ssh = api::NodeSetSsh{.enabled = true, .sssd_conf_ref = {.name = "sssd", .key = "sssd.conf"}};
  const plan::Plan plan = Look(0);
  ASSERT_EQ(plan.children.size(), 1u);
  EXPECT_EQ(plan.children[0].key.name, "w-ssh-config");
}

// --- Cordons ---------------------------------------------------------------------------------------------------------

class Cordoned : public NodeSetTest {
 protected:
  void Cordon(const std::string& name, const std::string& why = "") {
    CordonedNode node{.metadata = {.name = name, .uid = name}};
    if (!why.empty()) node.metadata.annotations[std::string(kAnnotationNodeCordonReason)] = why;
    Put(node);
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
  ExpectDrainFor(Look(1), "slurm-operator: Node (k1) was cordoned: new disk");
  nodes = {MakeNode(1, {NodeFlag::kIdle, NodeFlag::kDrain}, "slurm-operator: Node (k1) was cordoned: new disk")};
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  Cordon("k1", "old disk");
  ExpectDrainFor(Look(1), "slurm-operator: Node (k1) was cordoned: old disk");
}

TEST_F(Cordoned, ALongReasonIsCutBetweenCharacters) {
  Worker_(1, {NodeFlag::kIdle});
  std::string why(255, 'x');
  Cordon("k1", why + "\u00e9 and more");
  ExpectDrainFor(Look(1), "slurm-operator: Node (k1) was cordoned: " + why);
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

TEST_F(Cordoned, WhatSomebodyElseTookOutOfServiceStaysTheirs) {
  Cordon("k1");
  Put(MakePod(1));
  for (const auto& [flag, reason] : {std::pair(NodeFlag::kDrain, "bad disk"), std::pair(NodeFlag::kDown, "bad disk"),
                                     std::pair(NodeFlag::kDown, "slurm-operator: Pod is terminating")}) {
    nodes = {MakeNode(1, {flag}, reason)};
    EXPECT_THAT(Acts(Look(1)), IsEmpty()) << reason;
  }
}

TEST_F(Cordoned, AWorkerOnACordonedNodeGoesFirst) {
  for (int i : {0, 1, 2}) Worker_(i, {NodeFlag::kIdle});
  Cordon("k0");
  EXPECT_THAT(Acts(Look(2)), ElementsAre("cordon Pod slurm/w-0", "drain Slurm node slurm/main/w-0"));
}

// --- Deletion --------------------------------------------------------------------------------------------------------

class Deleted : public NodeSetTest {
 protected:
  Deleted() { set.metadata.deletion_timestamp = kNow - 1min; }

  static std::vector<std::string> Proofs(const plan::Action& action) {
    std::vector<std::string> texts;
    for (const auto& guard : action.guards) texts.push_back(guard->text());
    return texts;
  }
  void RemoveController() {
    const_cast<kube::Store<api::Controller>&>(stores.Of<api::Controller>()).Deleted({"slurm", "main"}, "c-uid", {});
  }
  // It has been said before that the workers go without a drain.
  void SaidSo() {
    set.status.conditions = {
        {.type = "Degraded", .status = "True", .reason = std::string(kReasonDrainSkipped), .message = "m"}};
  }
};

TEST_F(NodeSetTest, ANodeSetIsHeldSoThatItsWorkersCanBeDrained) {
  set.metadata.finalizers = {"example.com/theirs"};
  const plan::Plan plan = Look(0);
  EXPECT_THAT(Acts(plan), ElementsAre("hold NodeSet slurm/w"));
}

TEST_F(Deleted, ItsWorkersGoAsInAScaleIn) {
  Worker_(0, {NodeFlag::kAllocated});
  Worker_(1, {NodeFlag::kIdle});
  const plan::Plan plan = Look(3);
  ASSERT_THAT(Acts(plan), ElementsAre("cordon Pod slurm/w-1", "drain Slurm node slurm/main/w-1", "cordon Pod slurm/w-0",
                                      "drain Slurm node slurm/main/w-0", "protect Pod slurm/w-0"))
      << "and none is made";
  for (const plan::Action& action : std::span(plan.actions).first(4)) {
    EXPECT_THAT(Proofs(action), Contains(HasSubstr("belongs to the NodeSet")));
  }
  const std::string message = ConditionOf(plan, "Progressing").message;
  EXPECT_THAT(message, HasSubstr("jobs still run on 1 of them (w-0)"));
  EXPECT_THAT(message, HasSubstr("kubectl annotate nodeset w nodeset.slinky.slurm.net/force-delete=true"));
  EXPECT_EQ(ConditionOf(plan, "Ready").status, "False");
}

TEST_F(Deleted, AWorkerGoesWithAFreshProofAndTheNodeSetStaysUntilItsRecordIsGone) {
  Worker_(0, {NodeFlag::kIdle, NodeFlag::kDrain}, ScaleInReason({"slurm", "w-0"}));
  Pod pod = MakePod(0);
  pod.metadata.annotations[std::string(kAnnotationScaleIn)] = "true";
  Put(pod);
  plan::Plan plan = Look(1);
  ASSERT_THAT(Acts(plan), ElementsAre("delete Pod slurm/w-0"));
  EXPECT_THAT(Proofs(plan.actions[0]), Contains("Slurm node w-0 is drained and runs no job"));
  pod.metadata.deletion_timestamp = kNow;
  Put(pod);
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  const_cast<kube::Store<Pod>&>(stores.Of<Pod>()).Deleted({"slurm", "w-0"}, "pod-0", {});
  EXPECT_THAT(Acts(Look(1)), ElementsAre("remove record Slurm node slurm/main/w-0"));
  nodes.clear();
  plan = Look(1);
  ASSERT_THAT(Acts(plan), ElementsAre("release NodeSet slurm/w"));
  EXPECT_THAT(Proofs(plan.actions[0]), ElementsAre("no worker of the NodeSet is left"));
  EXPECT_TRUE(plan.actions[0].effect->destructive());
  EXPECT_FALSE(plan.actions[0].event);
}

TEST_F(Deleted, JobsAreWaitedForWithoutEnd) {
  set.metadata.deletion_timestamp = kNow - 2h;
  Worker_(0, {NodeFlag::kAllocated, NodeFlag::kDrain}, kOurDrain);
  EXPECT_THAT(Acts(Look(1)), Not(Contains(HasSubstr("release"))));
  EXPECT_THAT(Acts(Look(1)), Not(Contains(StartsWith("delete"))));
}

TEST_F(Deleted, ARecordThatAPersonHoldsIsNotWaitedFor) {
  nodes = {MakeNode(0, {NodeFlag::kDown, NodeFlag::kDrain}, "bad disk")};
  EXPECT_THAT(Acts(Look(1)), ElementsAre("release NodeSet slurm/w"));
}

TEST_F(Deleted, ARecordThatStaysIsWaitedForTenMinutes) {
  nodes = {MakeNode(0, {NodeFlag::kIdle})};
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  held["no worker is left"] = Tick() - 10min;
  EXPECT_THAT(Acts(Look(1)), ElementsAre("release NodeSet slurm/w"));
}

TEST_F(Deleted, ForceLetsGoAtOnceAndSaysSo) {
  Worker_(0, {NodeFlag::kAllocated});
  set.metadata.annotations[std::string(kAnnotationForceDelete)] = "true";
  const plan::Plan said = Look(1);
  EXPECT_THAT(Acts(said), IsEmpty()) << "first it is said";
  EXPECT_EQ(ConditionOf(said, "Degraded").reason, kReasonDrainSkipped);
  EXPECT_LE(said.look_again, 10s);
  SaidSo();
  const plan::Plan plan = Look(1);
  ASSERT_THAT(Acts(plan), ElementsAre("release NodeSet slurm/w"));
  ASSERT_TRUE(plan.actions[0].event);
  EXPECT_TRUE(plan.actions[0].event->warning);
  EXPECT_THAT(plan.actions[0].reason, HasSubstr("force-delete"));
}

TEST_F(Deleted, WithoutItsControllerItGoesOnceThatIsProven) {
  Worker_(0, {NodeFlag::kAllocated});
  RemoveController();
  SaidSo();
  const plan::Plan plan = Look(1);
  ASSERT_THAT(Acts(plan), ElementsAre("release NodeSet slurm/w"));
  EXPECT_THAT(Proofs(plan.actions[0]), ElementsAre(HasSubstr("is gone or going")));
}

TEST_F(Deleted, AStatusThatCannotBeWrittenDelaysItOnlySoLong) {
  Worker_(0, {NodeFlag::kIdle});
  RemoveController();
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  held["giving up"] = Tick() - 10s;
  EXPECT_THAT(Acts(Look(1)), ElementsAre("release NodeSet slurm/w"));
}

TEST_F(Deleted, WithoutARestApiThereIsNobodyToAsk) {
  Put(api::RestApi{.metadata = {.name = "main", .namespace_ = "slurm", .uid = "r-uid", .deletion_timestamp = kNow},
                   .spec = {.controller_ref = {.name = "main"}}});
  Worker_(0, {NodeFlag::kIdle});
  SaidSo();
  EXPECT_THAT(Acts(Look(1)), ElementsAre("release NodeSet slurm/w"));
}

TEST_F(Deleted, ASilentSlurmIsWaitedForTenMinutesByBothClocks) {
  Worker_(0, {NodeFlag::kIdle});
  SaidSo();
  slurm.state = plan::SlurmLook::State::kUnreachable;
  slurm.error = "connection refused";
  held["Slurm is not heard"] = Tick() - 10min;
  plan::Plan plan = Look(1);
  EXPECT_THAT(Acts(plan), ElementsAre("cordon Pod slurm/w-0")) << "the deletion is a minute old";
  EXPECT_LE(plan.look_again, 9min);
  EXPECT_THAT(ConditionOf(plan, "Progressing").message, HasSubstr("connection refused"));
  set.metadata.deletion_timestamp = kNow - 1h;
  held["Slurm is not heard"] = Tick() - 9min;
  EXPECT_THAT(Acts(Look(1)), ElementsAre("cordon Pod slurm/w-0")) << "the silence is nine minutes old";
  held["Slurm is not heard"] = Tick() - 10min;
  plan = Look(1);
  ASSERT_THAT(Acts(plan), ElementsAre("release NodeSet slurm/w"));
  EXPECT_THAT(Proofs(plan.actions[0]), ElementsAre("Slurm does not answer"));
}

TEST_F(Deleted, OrphanedWorkersLiveOn) {
  Worker_(0, {NodeFlag::kIdle});
  set.metadata.finalizers.emplace_back("orphan");
  EXPECT_THAT(Acts(Look(1)), ElementsAre("release NodeSet slurm/w"));
}

// The garbage collector may be done before anybody looks: a pod with another owner, or none, stands behind the record.
TEST_F(Deleted, TheRecordOfAnOrphanedWorkerStays) {
  Pod pod = MakePod(0);
  pod.metadata.owner_references.clear();
  Put(pod);
  nodes = {MakeNode(0, {NodeFlag::kIdle, NodeFlag::kDrain}, kOurDrain)};
  EXPECT_THAT(Acts(Look(1)), ElementsAre("release NodeSet slurm/w"));
}

TEST_F(Deleted, AWorkerThatNeverEndsIsNotWaitedForWithoutEnd) {
  Pod pod = MakePod(0);
  pod.metadata.deletion_timestamp = kNow - 9min;
  Put(pod);
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  pod.metadata.deletion_timestamp = kNow - 10min;
  Put(pod);
  EXPECT_THAT(Acts(Look(1)), ElementsAre("release NodeSet slurm/w"));
}

TEST_F(Deleted, AReadyWorkerThatSlurmForgotGoesAfterTenMinutes) {
  Put(MakePod(0));
  held["unregistered pod-0"] = Tick() - 9min;
  EXPECT_THAT(Acts(Look(1)), ElementsAre("cordon Pod slurm/w-0"));
  held["unregistered pod-0"] = Tick() - 10min;
  EXPECT_THAT(Acts(Look(1)), ElementsAre("cordon Pod slurm/w-0", "delete Pod slurm/w-0"));
}

TEST_F(Deleted, WithoutOurFinalizerItIsTheGarbageCollectors) {
  Worker_(0, {NodeFlag::kIdle});
  set.metadata.finalizers = {"foregroundDeletion"};
  const plan::Plan plan = Look(3);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_FALSE(plan.status);
}

TEST(OrdinalOf, ReadsPaddedAndPlainOrdinalsOfThisSetOnly) {
  EXPECT_EQ(OrdinalOf("w", "w-3"), 3);
  EXPECT_EQ(OrdinalOf("w", "w-003"), 3);
  for (const char* name : {"w", "w-", "w-x", "w-1-2", "wx-1", "v-1", "w--1", "w-1234567890"}) {
    EXPECT_FALSE(OrdinalOf("w", name)) << name;
  }
}

// 61293abe: the comparison of the Go operator was not antisymmetric.
TEST_F(NodeSetTest, ScaleInOrderIsTheDocumentedOne) {
  std::vector<Pod> pods;
  std::vector<slurm::Node> records(8);
  for (int i = 0; i < 8; ++i) pods.push_back(MakePod(i));
  pods[0].spec.node_name = "";                                                // not placed
  pods[1].status.phase = "Unknown";                                           // phase
  pods[2].status.conditions[0].status = "False";                              // not ready
  pods[3].metadata.annotations[std::string(kAnnotationDeletionCost)] = "-5";  // cheap
  records[4].state.Add(NodeFlag::kMixed);                                     // busy
  pods[5].metadata.annotations[std::string(kAnnotationDeadline)] = "2026-01-01T00:00:00Z";
  std::vector<Worker> workers;
  for (int i = 0; i < 8; ++i) {
    workers.push_back({.ordinal = i, .host = pods[i].metadata.name, .pod = &pods[i], .node = &records[i]});
  }
  std::vector<const Worker*> order;
  for (const Worker& worker : workers) order.push_back(&worker);
  SortForScaleIn(order);
  std::vector<int> ordinals;
  for (const Worker* worker : order) ordinals.push_back(worker->ordinal);
  EXPECT_THAT(ordinals, ElementsAre(0, 1, 2, 3, 7, 6, 5, 4));
}

}  // namespace
}  // namespace capstan::op::nodeset
