#include "operator/nodeset/decide_test.h"
#include "operator/nodeset/placement.h"

namespace capstan::op::nodeset {
namespace {

using slurm::NodeFlag;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Kubernetes nodes k0, k1 and so on; the worker of each is called in Slurm as it is.
class DaemonSetMode : public NodeSetTest {
 protected:
  DaemonSetMode() {
    machines_come_with_pods = false;
    set.spec.scaling_mode = std::string(api::kScalingDaemonSet);
  }

  static Node Machine(int i) { return MakeMachine("k" + std::to_string(i)); }
  std::string PodName(int i) { return DaemonPodName(set, "k" + std::to_string(i)); }
  Pod DaemonPod(int i) {
    Pod pod = MakePod(i);
    pod.metadata.name = PodName(i);
    pod.metadata.labels[std::string(kLabelPodHostname)] = "k" + std::to_string(i);
    pod.metadata.labels[std::string(kLabelScalingMode)] = "DaemonSet";
    return pod;
  }
  slurm::Node Record(int i, std::vector<NodeFlag> flags, std::string reason = "") {
    slurm::Node node{.name = "k" + std::to_string(i), .reason = std::move(reason)};
    for (const NodeFlag flag : flags) node.state.Add(flag);
    const Pod pod = DaemonPod(i);
    node.comment = RecordComment({.host = node.name, .pod = &pod}, set);
    return node;
  }
  void Serving(int i) {
    Put(Machine(i));
    Put(DaemonPod(i));
    nodes.push_back(Record(i, {NodeFlag::kIdle}));
  }
  std::string Why(int i) const {
    return std::string(kReasonPrefix) + "Pod (slurm/" + DaemonPodName(set, "k" + std::to_string(i)) +
           ") is pending termination for scale-in";
  }
  static const plan::Action* Find(const plan::Plan& plan, std::string_view verb) {
    for (const plan::Action& action : plan.actions) {
      if (action.effect->verb() == verb) return &action;
    }
    return nullptr;
  }
  std::string Cordon(int i) { return "cordon Pod slurm/" + PodName(i); }
  static std::string Drain(int i) { return "drain Slurm node slurm/main/k" + std::to_string(i); }
};

TEST_F(DaemonSetMode, EachNodeThatFitsGetsAWorkerBoundToItAndCalledAfterIt) {
  for (const int i : {0, 1}) Put(Machine(i));
  Node tainted = Machine(2);
  tainted.spec.taints = {{"k", "", "NoSchedule"}};
  Put(tainted);
  const plan::Plan plan = Look(7);
  EXPECT_THAT(Acts(plan), UnorderedElementsAre("create Pod slurm/" + PodName(0), "create Pod slurm/" + PodName(1)));
  const auto status = json::Decode<api::NodeSetStatus>(*plan.status);
  EXPECT_EQ(status->desired, 2) << "replicas mean nothing";
}

TEST_F(DaemonSetMode, AtRestNothingIsDone) {
  for (const int i : {0, 1}) Serving(i);
  const plan::Plan plan = Look(0);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_EQ(ConditionOf(plan, "Ready").status, "True") << ConditionOf(plan, "Ready").message;
  EXPECT_THAT(ConditionOf(plan, "Ready").message, HasSubstr("2 of 2 workers"));
}

TEST_F(DaemonSetMode, StoppedAllGo) {
  for (const int i : {0, 1}) Serving(i);
  set.metadata.annotations[std::string(kAnnotationStopped)] = "true";
  const plan::Plan plan = Look(7);
  EXPECT_THAT(Acts(plan), UnorderedElementsAre(Cordon(0), Cordon(1), Drain(0), Drain(1)));
  EXPECT_EQ(Find(plan, "cordon")->reason, "its SlurmCluster is stopped");
}

TEST_F(DaemonSetMode, AWorkerWhoseNodeDoesNotFitAnyMoreIsDrainedFirst) {
  for (const int i : {0, 1}) Serving(i);
  nodes[1].state = {NodeFlag::kAllocated};
  Node tainted = Machine(1);
  tainted.spec.taints = {{"broken", "", "NoExecute"}};
  Put(tainted);
  EXPECT_THAT(Acts(Look(0)), UnorderedElementsAre(Cordon(1), Drain(1)));
  PutMarked(DaemonPod(1));
  nodes[1] = Record(1, {NodeFlag::kAllocated, NodeFlag::kDrain}, Why(1));
  EXPECT_THAT(Acts(Look(0)), IsEmpty()) << "its job goes on";
  nodes[1] = Record(1, {NodeFlag::kIdle, NodeFlag::kDrain}, Why(1));
  const plan::Plan plan = Look(0);
  const plan::Action* removal = Find(plan, "delete");
  ASSERT_NE(removal, nullptr);
  EXPECT_THAT(Proofs(*removal), ElementsAre("NodeSet slurm/w asks for what was seen", HasSubstr("k1 is drained")));
}

TEST_F(DaemonSetMode, ATaintThatCameLaterKeepsNobodyOut) {
  Serving(0);
  Node tainted = Machine(0);
  tainted.spec.taints = {{"k", "", "NoSchedule"}};
  Put(tainted);
  const plan::Plan plan = Look(0);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_EQ(json::Decode<api::NodeSetStatus>(*plan.status)->desired, 1);
}

// An API server that was restored, or a watch that has not begun, shows none.
TEST_F(DaemonSetMode, WithoutAnyNodeAllStay) {
  Put(DaemonPod(0));
  nodes = {Record(0, {NodeFlag::kIdle})};
  EXPECT_THAT(Acts(Look(0)), IsEmpty());
  PutMarked(DaemonPod(0));
  EXPECT_THAT(Acts(Look(0)), IsEmpty()) << "one that was told to go is not told to stay";
}

// It was removed with the drain, and the next worker took jobs until it was drained, too.
TEST_F(DaemonSetMode, TheDrainOfACordonedNodeStaysWhenItsWorkerIsMadeAnew) {
  Node machine = Machine(0);
  machine.spec.unschedulable = true;
  Put(machine);
  nodes = {Record(0, {NodeFlag::kIdle, NodeFlag::kDrain},
                  "slurm-operator: Node (k0) was cordoned, Pod (slurm/" + PodName(0) + ") must be cordoned")};
  EXPECT_THAT(Acts(Look(0)), ElementsAre("create Pod slurm/" + PodName(0)));
  Put(Machine(0));
  EXPECT_THAT(Acts(Look(0)), ElementsAre("remove record Slurm node slurm/main/k0", "create Pod slurm/" + PodName(0)));
}

TEST_F(DaemonSetMode, AWorkerOfAnotherNameIsRenewedOnceItIsFree) {
  Serving(0);
  Node renamed = Machine(0);
  renamed.metadata.annotations[std::string(kAnnotationHostnameOverride)] = "gpu-7";
  Put(renamed);
  EXPECT_THAT(Acts(Look(0)), UnorderedElementsAre(Cordon(0), Drain(0)));
}

// They are one node in Slurm: a drain of the one would be lifted for the other, and the end of the one sets both DOWN.
TEST_F(DaemonSetMode, OfTwoWorkersOnOneNodeNeitherIsTouchedOnceBothMayRun) {
  Serving(0);
  nodes[0].state = {NodeFlag::kAllocated};
  Pod twin = DaemonPod(0);
  twin.metadata.name = "w-x7k2p";
  twin.metadata.uid = "twin";
  twin.status.conditions = {{.type = "Ready", .status = "False"}};
  Put(twin);
  const plan::Plan plan = Look(0);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_THAT(ConditionOf(plan, "Degraded").message,
              HasSubstr("pods w-x7k2p and " + PodName(0) + " are one node in Slurm, k0; delete the one"));
  twin.status.phase = "Failed";
  Put(twin);
  EXPECT_THAT(Acts(Look(0)), ElementsAre("delete Pod slurm/w-x7k2p"));
}

// The second slurmd of a name takes over the record of the first, whose job is lost.
TEST_F(DaemonSetMode, ANameThatMovesToAnotherNodeWaitsForWhoHasIt) {
  Serving(0);
  nodes[0].state = {NodeFlag::kAllocated};
  Node from = Machine(0), to = Machine(1);
  from.metadata.annotations[std::string(kAnnotationHostnameOverride)] = "k9";
  to.metadata.annotations[std::string(kAnnotationHostnameOverride)] = "k0";
  Put(from);
  Put(to);
  const plan::Plan plan = Look(0);
  EXPECT_THAT(Acts(plan), UnorderedElementsAre(Cordon(0), Drain(0)));
  EXPECT_THAT(ConditionOf(plan, "Progressing").message,
              HasSubstr("after the name k0 in Slurm, which pod " + PodName(0)));
}

TEST_F(DaemonSetMode, TwoNodesOfOneNameHaveOneWorkerAndTheOtherIsNamed) {
  Node a = Machine(0), b = Machine(1);
  a.metadata.name = "k0.east";
  b.metadata.name = "k0.west";
  Put(a);
  Put(b);
  const plan::Plan plan = Look(0);
  EXPECT_THAT(Acts(plan), ElementsAre("create Pod slurm/" + DaemonPodName(set, "k0.east")));
  EXPECT_THAT(ConditionOf(plan, "Degraded").message,
              HasSubstr("Kubernetes node k0.west gets no worker called k0: the worker of another node is called so"));
}

TEST_F(DaemonSetMode, ANameThatAnothersNodeHasInSlurmIsNotTaken) {
  Put(Machine(0));
  nodes = {{.name = "k0", .state = {NodeFlag::kIdle}}};
  const plan::Plan plan = Look(0);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_THAT(ConditionOf(plan, "Degraded").message, HasSubstr("which is not this NodeSet's"));
}

TEST_F(DaemonSetMode, ANameThatIsNoneIsNamed) {
  Node node = Machine(0);
  node.metadata.annotations[std::string(kAnnotationHostnameOverride)] = "GPU 7";
  Put(node);
  const plan::Plan plan = Look(0);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_THAT(ConditionOf(plan, "Degraded").message, HasSubstr("a pod's hostname has small letters"));
}

// Both would wait for each other's place: a node has one worker.
TEST_F(DaemonSetMode, WorkersOfTheFormerModeGoAndTheirNodesFollow) {
  for (const int i : {0, 1}) Put(Machine(i));
  Worker_(0, {NodeFlag::kIdle});
  const plan::Plan plan = Look(1);
  EXPECT_THAT(Acts(plan), UnorderedElementsAre("cordon Pod slurm/w-0", "drain Slurm node slurm/main/w-0",
                                               "create Pod slurm/" + PodName(1)))
      << "k0 is taken still";
  PutMarked(MakePod(0));
  nodes[0] = MakeNode(0, {NodeFlag::kIdle, NodeFlag::kDrain}, ScaleInReason({"slurm", "w-0"}));
  EXPECT_NE(Find(Look(1), "delete"), nullptr);
}

// Two slurmds of one name on one machine was what became of it.
TEST_F(DaemonSetMode, WhileAWorkerOfBeforeMayYetComeToAnyMachineNoneIsMade) {
  for (const int i : {0, 1}) Put(Machine(i));
  set.spec.pod_template.spec.text = R"({"hostNetwork":true})";
  Pod pod = MakePod(0, "Pending", false);
  pod.spec.host_network = true;
  pod.metadata.labels.erase(std::string(kLabelPodHostname));
  pod.metadata.annotations[std::string(kAnnotationNamed)] = "machine";
  Put(pod);
  EXPECT_EQ(Find(Look(1), "create"), nullptr);
  EXPECT_NE(Find(Look(1), "delete"), nullptr) << "it is taken away as long as it is nowhere";
  pod.spec.node_name = "k0";
  Put(pod);
  const plan::Plan plan = Look(1);
  ASSERT_NE(Find(plan, "create"), nullptr);
  EXPECT_EQ(Find(plan, "create")->effect->target(), "Pod slurm/" + PodName(1));
}

TEST_F(DaemonSetMode, AndBack) {
  for (const int i : {0, 1}) Serving(i);
  set.spec.scaling_mode = std::string(api::kScalingStatefulSet);
  EXPECT_THAT(Acts(Look(1)), UnorderedElementsAre(Cordon(0), Drain(0), Cordon(1), Drain(1), "create Pod slurm/w-0"));
  PutMarked(DaemonPod(1));
  nodes[1] = Record(1, {NodeFlag::kIdle, NodeFlag::kDrain}, Why(1));
  set.spec.scaling_mode = std::string(api::kScalingDaemonSet);
  EXPECT_THAT(Acts(Look(1)), ElementsAre("uncordon Pod slurm/" + PodName(1))) << "in the middle of it";
  Put(DaemonPod(1));
  EXPECT_THAT(Acts(Look(1)), ElementsAre("undrain Slurm node slurm/main/k1"));
}

TEST_F(DaemonSetMode, ALostRecordStaysUntilItsNodeIsGoneAndTheUserWantsItGone) {
  Serving(0);
  Put(Machine(1));
  nodes.push_back(Record(1, {NodeFlag::kDown, NodeFlag::kNotResponding}, "Not responding"));
  const std::string removal = "remove record Slurm node slurm/main/k1";
  set.spec.pod_template.spec.text = R"({"nodeSelector":{"none":"has it"}})";
  EXPECT_THAT(Acts(Look(0)), ::testing::Not(::testing::Contains(removal)));
  set.spec.prune_slurm_node_records = std::string(api::kPruneNodeNotFound);
  EXPECT_THAT(Acts(Look(0)), ::testing::Not(::testing::Contains(removal))) << "the node is there";
  const_cast<kube::Store<Node>&>(stores.Of<Node>()).Deleted({"", "k1"}, "k1", {});
  EXPECT_THAT(Acts(Look(0)), ::testing::Contains(removal));
}

TEST_F(DaemonSetMode, ALostRecordOfTheFormerModeIsNoMachinesThatMayComeBack) {
  Serving(0);
  slurm::Node record = MakeNode(3, {NodeFlag::kDown, NodeFlag::kNotResponding}, "Not responding");
  nodes.push_back(record);
  EXPECT_THAT(Acts(Look(0)), ElementsAre("remove record Slurm node slurm/main/w-3"));
}

// Its pods have names of the server's choice.
TEST_F(DaemonSetMode, WorkersOfAFormerOperatorAreTheWorkersOfTheirNodes) {
  Put(Machine(0));
  Pod pod = DaemonPod(0);
  pod.metadata.name = "w-x7k2p";
  Put(pod);
  nodes = {Record(0, {NodeFlag::kIdle})};
  nodes[0].comment = RecordComment({.host = "k0", .pod = &pod}, set);
  EXPECT_THAT(Acts(Look(0)), IsEmpty());
}

}  // namespace
}  // namespace capstan::op::nodeset
