// Each row of the table in decide.h.
#include "bridge/node/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bridge/node/node_fixture.h"

namespace capstan::bridge::node {
namespace {

using plan::testing::ActionNames;
using slurm::NodeFlag;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NodeTest;

TEST_F(NodeTest, IsMadeKnownToSlurmOnceItTakesWork) {
  EXPECT_THAT(ActionNames(Decide()), ElementsAre("register Slurm node slurm/gpu-7"));
  machine.spec.unschedulable = true;
  EXPECT_EQ(Shown(Decide()), "Waiting: it is made known to Slurm once it is Ready and schedulable");
  machine.spec.unschedulable = false;
  machine.status.conditions = {{"Ready", "Unknown"}};
  EXPECT_THAT(ToSlurm(Decide()), IsEmpty());
}

TEST_F(NodeTest, ARefusalIsShownInSlurmsWords) {
  world.failures = {{.verb = "register", .target = "Slurm node slurm/gpu-7", .message = "no such topology"}};
  EXPECT_EQ(Shown(Decide()), "Refused: no such topology");
}

TEST_F(NodeTest, NothingIsDoneWhileSlurmIsNotHeard) {
  world.slurm.clear();
  EXPECT_THAT(Decide().actions, IsEmpty());
}

TEST_F(NodeTest, WhatMakesNoSenseIsOneSentence) {
  Annotate(kNodePartitions, "a b");
  EXPECT_EQ(Shown(Decide()), "Invalid: the feature \"a b\" has a character that slurm.conf does not take in a name");
  machine.metadata.annotations.erase(std::string(kNodePartitions));
  Annotate(kNodeTopology, "s1 State=Cloud");
  EXPECT_THAT(Shown(Decide()), HasSubstr("Invalid: the topology"));
  machine.metadata.annotations.erase(std::string(kNodeTopology));
  settings.reserved_cpu = *kube::Quantity::Parse("3500m");
  EXPECT_THAT(Shown(Decide()), HasSubstr("it has 3920m CPUs and 2Gi of memory allocatable, and nodes.reserve"));
}

TEST_F(NodeTest, AnothersRecordIsLeftAlone) {
  slurm::Node slurmd = record;
  slurmd.state.Remove(NodeFlag::kExternal);
  EXPECT_EQ(ToSlurm(With(slurmd)), std::vector<std::string>());
  EXPECT_THAT(Shown(With(slurmd)), HasSubstr("NameTaken: Slurm node gpu-7 has a slurmd"));
  for (const std::string& comment :
       {std::string("by hand"), NodeMark{"another", settings.bridge, "gpu-7", ""}.ToString()}) {
    slurm::Node other = record;
    other.comment = comment;
    EXPECT_THAT(ToSlurm(With(other)), IsEmpty()) << comment;
    EXPECT_THAT(Shown(With(other)), HasSubstr("NameTaken: Slurm node gpu-7 is another's")) << comment;
  }
}

TEST_F(NodeTest, ARecordOfAnotherBridgeIsForThatToTell) {
  record.comment = NodeMark{testing::kCluster, "another", "gpu-7", ""}.ToString();
  EXPECT_THAT(With(record).actions, IsEmpty());
}

TEST_F(NodeTest, TwoMachinesAreNotOneNode) {
  Node other = testing::ReadyNode("gpu-8");
  other.metadata.labels = {{std::string(kExternalNode), ""}, {std::string(kSlurmNodeName), "gpu-7"}};
  world.Put(other);
  const plan::Plan plan = With(record);
  EXPECT_THAT(ToSlurm(plan), IsEmpty());
  EXPECT_THAT(Shown(plan), HasSubstr("NameTaken: Kubernetes node gpu-8 has the label"));
}

TEST_F(NodeTest, ARecordWithoutACommentIsMarked) {
  slurm::Node fresh = record;
  fresh.comment.clear();
  const plan::Plan plan = With(fresh);
  EXPECT_THAT(ActionNames(plan), ElementsAre("mark Slurm node slurm/gpu-7"));
}

TEST_F(NodeTest, SlurmIsToldItsAddressAndNeedNotLookUpItsName) {
  machine.status.addresses = {{"Hostname", "gpu-7"}, {"InternalIP", "10.0.0.7"}};
  EXPECT_EQ(ExternalNodeOf(machine, settings)->address, "10.0.0.7");
}

TEST_F(NodeTest, IsShownAndTaintedAndThenLeftAlone) {
  const plan::Plan plan = With(record);
  EXPECT_THAT(ActionNames(plan), ElementsAre("taint Node gpu-7", "set conditions Node gpu-7/status"));
  EXPECT_EQ(Shown(plan), "Registered: Slurm node gpu-7 has 3 CPUs, 2048 MiB, gpu:2");
  Settled();
  EXPECT_THAT(With(record).actions, IsEmpty());
  settings.node_taint = "";
  EXPECT_THAT(ActionNames(With(record)), ElementsAre("taint Node gpu-7"));
}

TEST_F(NodeTest, FeaturesAndTopologyFollowTheAnnotations) {
  Settled();
  Annotate(kNodePartitions, "a, b,");
  Annotate(kNodeTopology, "topo:s1");
  slurm::Node node = record;
  node.features = {"b", "a"};
  EXPECT_THAT(ToSlurm(With(node)), ElementsAre("set topology"));
  node.topology = "topo:s1";
  EXPECT_THAT(With(node).actions, IsEmpty());
  node.features = {"a"};
  EXPECT_THAT(ToSlurm(With(node)), ElementsAre("set features"));
  world.failures = {{.verb = "set features", .target = "Slurm node slurm/gpu-7", .message = "no"}};
  EXPECT_EQ(Shown(With(node)), "Refused: Slurm node gpu-7 stays as it was: no");
}

TEST_F(NodeTest, GresThatSlurmLeavesOutIsToldAndNotAskedForAgainAndAgain) {
  Settled();
  record.gres.clear();
  const plan::Plan plan = With(record, 1h);
  EXPECT_THAT(ToSlurm(plan), IsEmpty());
  EXPECT_THAT(Shown(plan), HasSubstr("GresMissing: Slurm node gpu-7 has no gpu:2, as GresTypes"));
}

TEST_F(NodeTest, ACordonedNodeIsDrainedAndTheDrainIsLiftedWithIt) {
  Settled();
  machine.spec.unschedulable = true;
  const plan::Plan plan = With(record);
  EXPECT_THAT(ToSlurm(plan), ElementsAre("drain"));
  EXPECT_EQ(plan.actions[0].reason, "slurm-bridge: cordoned");
  EXPECT_THAT(ToSlurm(With(Drained("slurm-bridge: cordoned"))), IsEmpty());
  machine.spec.unschedulable = false;
  const plan::Plan lifted = With(Drained("slurm-bridge: cordoned"));
  EXPECT_THAT(ToSlurm(lifted), ElementsAre("undrain"));
  EXPECT_THAT(lifted.actions[0].guards, ::testing::SizeIs(2));
}

TEST_F(NodeTest, ANodeThatIsNotReadyForAMinuteIsDrainedAndNothingIsLiftedBefore) {
  Settled();
  machine.status.conditions[0] = {"Ready", "Unknown"};
  EXPECT_THAT(ToSlurm(With(record, 59s)), IsEmpty());
  EXPECT_THAT(ToSlurm(With(record, 1min)), ElementsAre("drain"));
  EXPECT_THAT(ToSlurm(With(Drained("slurm-bridge: cordoned"), 30s)), IsEmpty()) << "it does not take work";
  EXPECT_THAT(ToSlurm(With(Drained("slurm-bridge: cordoned"), 1min)), ElementsAre("drain")) << "for another reason";
}

TEST_F(NodeTest, ADrainOfSomebodyElsesIsNeverTouchedAndKeepsPodsAway) {
  Settled();
  for (const bool cordoned : {false, true}) {
    machine.spec.unschedulable = cordoned;
    const plan::Plan plan = With(Drained("bad fan"));
    EXPECT_THAT(ActionNames(plan), ElementsAre("taint Node gpu-7", "set conditions Node gpu-7/status"));
    EXPECT_EQ(Shown(plan), "Drained: Slurm node gpu-7 is drained by ada: bad fan");
    Node told = machine;
    told.status.conditions.back() = {std::string(kNodeCondition), "True", "Drained",
                                     "Slurm node gpu-7 is drained by ada: bad fan"};
    std::swap(machine, told);
    EXPECT_EQ(Shown(With(Drained("bad fan", {NodeFlag::kMixed}))), "") << "a job there is no news";
    std::swap(machine, told);
  }
}

TEST_F(NodeTest, AnotherSizeIsDrainedAndThenMadeAnew) {
  Settled();
  machine.status.allocatable["cpu"] = "8";
  EXPECT_THAT(ToSlurm(With(record, 4min)), IsEmpty()) << "a device plugin may be starting anew";
  EXPECT_THAT(ToSlurm(With(record, 5min)), ElementsAre("drain"));
  EXPECT_THAT(ToSlurm(With(Drained("slurm-bridge: changing", {NodeFlag::kMixed}), 5min)), IsEmpty())
      << "a job is there";
  const plan::Plan plan = With(Drained("slurm-bridge: changing"), 5min);
  EXPECT_THAT(ToSlurm(plan), ElementsAre("remove record"));
  EXPECT_FALSE(plan.actions[0].guards.empty());
  machine.status.allocatable["cpu"] = "3";
  EXPECT_THAT(ToSlurm(With(Drained("slurm-bridge: changing"))), ElementsAre("undrain")) << "it is as it was";
}

TEST_F(NodeTest, FeaturesThatAllGoNeedANewRecord) {
  Settled();
  record.features = {"a"};
  EXPECT_THAT(ToSlurm(With(record, 5min)), ElementsAre("drain"));
}

TEST_F(NodeTest, WithoutTheLabelItsTaintsAndConditionGoOnceSlurmDoesNotKnowIt) {
  Settled();
  machine.metadata.labels.clear();
  EXPECT_THAT(With(record).actions, IsEmpty()) << "its record goes first";
  world.Nodes(kSlurm, {});
  world.slurm[kSlurm].absence_counts = false;
  EXPECT_THAT(Decide().actions, IsEmpty());
  world.Nodes(kSlurm, {});
  EXPECT_THAT(Decide(59s).actions, IsEmpty());
  EXPECT_THAT(ActionNames(Decide(1min)), ElementsAre("taint Node gpu-7", "set conditions Node gpu-7/status"));
  machine.spec.taints.text.clear();
  machine.status.conditions.pop_back();
  EXPECT_THAT(ActionNames(Decide(1min)), ElementsAre("disclaim Node gpu-7"));
  machine.metadata.annotations.clear();
  EXPECT_THAT(Decide(1min).actions, IsEmpty());
}

TEST_F(NodeTest, ANodeThatIsNobodysIsNotTouched) {
  machine.metadata.labels.clear();
  machine.metadata.annotations.clear();
  machine.spec.taints.text = testing::kTaints;
  EXPECT_THAT(Decide(1min).actions, IsEmpty());
}

TEST_F(NodeTest, OfSeveralBridgesTheOneThatMarkedTheNodeLooksAfterIt) {
  machine.metadata.annotations.clear();
  EXPECT_THAT(ActionNames(Decide()), ElementsAre("claim Node gpu-7"));
  machine.metadata.annotations = {{"a", "b"}};
  EXPECT_THAT(ActionNames(With(record)), ElementsAre("claim Node gpu-7"));
  Settled();
  Annotate(kNodeBridge, "another.bridge");
  EXPECT_THAT(With(record).actions, IsEmpty());
  machine.metadata.labels.clear();
  world.Nodes(kSlurm, {});
  EXPECT_THAT(Decide(1min).actions, IsEmpty()) << "its marks are not ours";
}

class UnwantedNode : public NodeTest {
 protected:
  std::vector<std::string> End(const slurm::Node& node, Duration settle = 1min) {
    world.Nodes(kSlurm, {node});
    const auto decide = [](const plan::World& seen, const kube::Key&) {
      plan::Plan plan;
      plan.slurm_cluster = kSlurm;
      EndUnwanted(plan, seen, testing::kCluster);
      return plan;
    };
    return ToSlurm(world.Decide(decide, "kube-system", settle));
  }
};

TEST_F(UnwantedNode, IsDrainedAndRemovedWithoutAJob) {
  EXPECT_THAT(End(record, 59s), IsEmpty());
  EXPECT_THAT(End(record), ElementsAre("drain"));
  EXPECT_THAT(End(Drained("slurm-bridge: removing", {NodeFlag::kAllocated})), IsEmpty());
  EXPECT_THAT(End(Drained("slurm-bridge: removing")), ElementsAre("remove record"));
  EXPECT_THAT(End(Drained("bad fan")), ElementsAre("remove record"));
}

TEST_F(UnwantedNode, IsOneThatAnotherBridgeLooksAfterByNow) {
  Annotate(kNodeBridge, "another.bridge");
  world.Put(machine);
  EXPECT_THAT(End(record), ElementsAre("drain"));
}

TEST_F(UnwantedNode, IsOneOfOursWhoseMachineIsGoneOrHasNoLabelOrAnotherName) {
  world.Put(machine);
  EXPECT_THAT(End(record), IsEmpty());
  machine.metadata.labels[std::string(kSlurmNodeName)] = "gpu-8";
  world.Put(machine);
  EXPECT_THAT(End(record), ElementsAre("drain"));
  machine.metadata.labels = {{std::string(kSlurmNodeName), "gpu-7"}};
  world.Put(machine);
  EXPECT_THAT(End(record), ElementsAre("drain"));
  for (const std::string& comment :
       {std::string(), std::string("by hand"), NodeMark{"another", settings.bridge, "gpu-7", ""}.ToString()}) {
    record.comment = comment;
    EXPECT_THAT(End(record), IsEmpty()) << comment;
  }
  record.comment = MarkOf(machine);
  record.state.Remove(NodeFlag::kExternal);
  EXPECT_THAT(End(record), IsEmpty()) << "a slurmd has taken its place";
}

}  // namespace
}  // namespace capstan::bridge::node
