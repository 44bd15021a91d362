// Rows 11 to 14 of the table in decide.h.
#include "bridge/node/hybrid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bridge/node/node_fixture.h"
#include "bridge/node/other_pods.h"

namespace capstan::bridge::node {
namespace {

using plan::testing::ActionNames;
using slurm::NodeFlag;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr auto kPod = "worker pod slurm/w-0";
constexpr auto kOthers = "pods that no job stands for";
constexpr auto kTolerations = R"([{"key":"slinky.slurm.net/managed-node","operator":"Exists"}])";
constexpr auto kRoom = "Slurm node w-0 gives out 2 CPUs and 1024 MiB";

class HybridNode : public testing::NodeTest {
 protected:
  HybridNode() {
    machine.metadata.labels.clear();
    machine.status.allocatable = {{"cpu", "3920m"}, {"memory", "2Gi"}};
    record = {.name = "w-0", .state = {NodeFlag::kIdle, NodeFlag::kDynamicNorm}};
    record.comment = R"({"namespace":"slurm","podName":"w-0","node":"gpu-7"})";
    record.job_cpus = 2;
    record.job_memory_mib = 1024;
    worker.spec.tolerations.text = kTolerations;
    worker.spec.containers = {{.resources = {.requests = {{"cpu", "100m"}, {"memory", "200Mi"}}, .limits = {}}}};
  }
  void Answer() {
    world.Answer(kPod, std::make_shared<const Pod>(worker));
    world.Answer(kOthers, std::make_shared<const OtherPods::Value>(
                              OtherPods::Value{{"gpu-7", others}, {"gpu-8", {Other("x", "9")}}}));
  }
  plan::Plan Look(Duration settle = 1s) {
    Answer();
    return With(record, settle);
  }
  void Says(std::string_view type, const std::string& status, const std::string& reason, const std::string& message) {
    machine.status.conditions.push_back({std::string(type), status, reason, message});
  }

  static OtherPod Other(const std::string& name, const std::string& cpu, bool of_the_machine = false) {
    return {.key = {"web", name}, .cpu = *kube::Quantity::Parse(cpu), .memory = {}, .of_the_machine = of_the_machine};
  }

  Pod worker;
  std::vector<OtherPod> others;  // on the machine
};

TEST_F(HybridNode, IsTaintedAndShownAndThenLeftAlone) {
  const plan::Plan plan = Look();
  EXPECT_THAT(ActionNames(plan), ElementsAre("taint Node gpu-7", "set conditions Node gpu-7/status"));
  EXPECT_EQ(Shown(plan), std::string("Registered: ") + kRoom);
  machine.spec.taints.text = testing::kTaints;
  Says(kNodeCondition, "True", "Registered", kRoom);
  EXPECT_THAT(Look().actions, IsEmpty());
}

TEST_F(HybridNode, NothingIsDoneBeforeItsPodIsKnown) { EXPECT_THAT(With(record).actions, IsEmpty()); }

// Its comment names the machine of its former life.
TEST_F(HybridNode, WhatPowerSavingHasStoppedIsOnNoMachine) {
  for (const slurm::NodeState& state : {slurm::NodeState{NodeFlag::kIdle, NodeFlag::kPoweredDown},
                                        {NodeFlag::kAllocated, NodeFlag::kPoweredDown},
                                        {NodeFlag::kAllocated, NodeFlag::kPoweringUp}}) {
    record.state = state;
    EXPECT_THAT(ActionNames(Look()), ::testing::Not(::testing::Contains(HasSubstr("taint")))) << state.ToString();
  }
}

// The worker itself could not come back to its machine.
TEST_F(HybridNode, HasNoTaintThatItsWorkerDoesNotTolerate) {
  for (const std::string tolerations :
       {"", R"([{"key":"slinky.slurm.net/managed-node","value":"another","operator":"Equal"}])",
        R"([{"key":"slinky.slurm.net/managed-node","operator":"Exists","effect":"NoExecute"}])"}) {
    worker.spec.tolerations.text = tolerations;
    machine.spec.taints.text.clear();
    plan::Plan plan = Look();
    EXPECT_THAT(ActionNames(plan), ElementsAre("set conditions Node gpu-7/status")) << tolerations;
    EXPECT_THAT(Shown(plan), StartsWith("Untainted: ")) << tolerations;
    machine.spec.taints.text = testing::kTaints;
    EXPECT_THAT(ActionNames(Look()), ElementsAre("taint Node gpu-7", "set conditions Node gpu-7/status"))
        << "it goes, " << tolerations;
  }
  settings.node_taint = "";
  machine.spec.taints.text.clear();
  EXPECT_EQ(Shown(Look()), std::string("Registered: ") + kRoom);
}

TEST_F(HybridNode, APodThatIsGoneLosesTheTaintAfterAMinute) {
  machine.spec.taints.text = testing::kTaints;
  world.Absent(kPod);
  world.Answer(kOthers, std::make_shared<const OtherPods::Value>());
  EXPECT_THAT(With(record, 59s).actions, IsEmpty());
  const plan::Plan plan = With(record, 1min);
  EXPECT_THAT(ActionNames(plan), ElementsAre("taint Node gpu-7", "set conditions Node gpu-7/status"));
  EXPECT_THAT(Shown(plan), HasSubstr("is not set: worker pod slurm/w-0 is gone"));
  settings.node_taint = "";
  EXPECT_THAT(Shown(With(record, 1min)), StartsWith("Registered"));
}

// NoExecute would evict the worker, and its jobs.
TEST_F(HybridNode, IsTaintedWithNoScheduleAtMost) {
  settings.node_taint = "NoExecute";
  machine.spec.taints.text = testing::kTaints;
  Says(kNodeCondition, "True", "Registered", kRoom);
  EXPECT_THAT(Look().actions, IsEmpty());
}

TEST_F(HybridNode, ADrainOfOursFromBeforeItsCommentIsLifted) {
  record = Drained("slurm-bridge: cordoned");
  EXPECT_THAT(ToSlurm(Look()), ElementsAre("undrain"));
  machine.spec.unschedulable = true;
  EXPECT_THAT(ToSlurm(Look()), IsEmpty());
}

TEST_F(HybridNode, ABridgeThatIsToGoLeavesNothingBehind) {
  settings.ungate = true;
  machine.spec.taints.text = testing::kTaints;
  EXPECT_THAT(ActionNames(Look()), ElementsAre("taint Node gpu-7"));
  machine.spec.taints.text.clear();
  EXPECT_THAT(ActionNames(Look()), ElementsAre("disclaim Node gpu-7"));
}

TEST_F(HybridNode, TheDrainsOfAWorkersNodeAreItsOperators) {
  machine.spec.unschedulable = true;
  EXPECT_THAT(ToSlurm(Look(5min)), IsEmpty());
  record = Drained("bad fan");
  machine.spec.taints.text = testing::kTaints;
  EXPECT_THAT(ActionNames(Look()), ElementsAre("set conditions Node gpu-7/status"));
}

TEST_F(HybridNode, TooLittleRoomIsTold) {
  worker.spec.containers[0].resources.requests["cpu"] = "2";
  EXPECT_THAT(Shown(Look()), StartsWith(std::string("TooLittleRoom: ") + kRoom +
                                        "; Kubernetes has room for 1920m CPUs and 1848 MiB, so that a pod"));
  worker.spec.containers[0].resources.requests["cpu"] = "1920m";
  EXPECT_THAT(Shown(Look()), StartsWith("Registered"));
  settings.reserved_memory = *kube::Quantity::Parse("1Gi");
  EXPECT_THAT(Shown(Look()), StartsWith("TooLittleRoom"));
}

// Pods of DaemonSets request something on every machine, for which the settings keep some.
TEST_F(HybridNode, WhatOtherPodsRequestIsNoRoomEither) {
  others = {Other("agent", "1820m", true)};
  EXPECT_THAT(Shown(Look()), StartsWith("Registered"));
  others.push_back(Other("log", "1m", true));
  EXPECT_THAT(Shown(Look()), AllOf(HasSubstr("Kubernetes has room for 1999m CPUs and 1848 MiB"),
                                   HasSubstr("; other pods request 1821m CPUs and 0 MiB there")));
  settings.reserved_cpu = *kube::Quantity::Parse("1");
  EXPECT_THAT(Shown(Look()), HasSubstr("room for 1999m CPUs")) << "that is theirs";
}

// They came before the taint, or tolerate it.
TEST_F(HybridNode, ForeignPodsAreToldApart) {
  others = {Other("c", "1m"), Other("a", "2m"), Other("e", "0"),
            Other("b", "2m"), Other("d", "0"),  Other("agent", "9m", true)};
  others.push_back({.key = {"slurm", "w-0"}, .cpu = *kube::Quantity::Parse("9"), .memory = {}});
  EXPECT_EQ(Shown(Look()), std::string("ForeignPods: ") + kRoom +
                               "; Slurm knows nothing of pods web/a, web/b, web/c and 2 more there: move to another "
                               "machine what is not to run beside jobs");
  others = {Other("a", "3")};
  EXPECT_THAT(Shown(Look()), AllOf(StartsWith("TooLittleRoom"), HasSubstr("knows nothing of pod web/a there")));
  settings.node_taint = "";
  EXPECT_THAT(Shown(Look()), HasSubstr("knows nothing of pod web/a")) << "it takes what Slurm gives out";
  others = {Other("a", "0")};
  EXPECT_THAT(Shown(Look()), StartsWith("Registered")) << "nobody keeps it away";
}

TEST_F(HybridNode, ItsRoomIsNotJudgedBeforeItsPodsAreKnown) {
  world.Answer(kPod, std::make_shared<const Pod>(worker));
  EXPECT_THAT(ActionNames(With(record)), ElementsAre("taint Node gpu-7"));
  world.Failed(kOthers, "forbidden");
  EXPECT_THAT(Shown(With(record)), StartsWith("Registered")) << "where they cannot be listed";
}

TEST_F(HybridNode, SeveralWorkersShareIt) {
  slurm::Node other = record;
  other.name = "x-0";
  other.comment = R"({"namespace":"slurm","podName":"x-0","node":"gpu-7"})";
  Answer();
  world.Answer("worker pod slurm/x-0", std::make_shared<const Pod>(worker));
  world.Put(machine);
  world.Nodes(kSlurm, {record, other});
  EXPECT_THAT(Shown(world.Decide(&node::Decide, "gpu-7")),
              StartsWith("TooLittleRoom: Slurm nodes w-0, x-0 give out 4 CPUs and 2048 MiB"));
}

TEST_F(HybridNode, GpusThatDifferAreToldAsSlinkyTellsThem) {
  machine.status.allocatable["nvidia.com/gpu"] = "2";
  plan::Plan plan = Look();
  EXPECT_THAT(plan.actions[1].reason, StartsWith("Slurm node w-0 has 0 GPUs, and Kubernetes 2 allocatable there"));
  EXPECT_EQ(plan.actions[1].event->reason, "IncompatibleSlurmGRES");
  EXPECT_TRUE(plan.actions[1].event->warning);
  record.gres = "gpu:a100:1,gpu:h100:1(S:0)";
  plan = Look();
  EXPECT_EQ(plan.actions[1].event->reason, "SlurmGRESCompatible");
  EXPECT_FALSE(plan.actions[1].event->warning);
  worker.spec.containers[0].resources.requests["nvidia.com/gpu"] = "2";
  EXPECT_THAT(Shown(Look()), HasSubstr("room for 3820m CPUs and 1848 MiB and 0 GPUs, so that"));
  machine.status.allocatable.erase("nvidia.com/gpu");
  worker.spec.containers[0].resources.requests.erase("nvidia.com/gpu");
  record.gres.clear();
  Says(kGresCondition, "True", "SlurmGRESCompatible", "");
  EXPECT_THAT(ActionNames(Look()),
              ElementsAre("taint Node gpu-7", "set conditions Node gpu-7/status", "set conditions Node gpu-7/status"))
      << "the condition goes";
}

// A slurmd of the machine itself.
class MachinesSlurmd : public HybridNode {
 protected:
  MachinesSlurmd() {
    record.name = "gpu-7";
    record.comment.clear();
    machine.spec.taints.text = testing::kTaints;
    world.Answer(kOthers, std::make_shared<const OtherPods::Value>());
  }
};

TEST_F(MachinesSlurmd, IsBelievedAfterAMinuteWithoutAPod) {
  EXPECT_THAT(With(record, 59s).actions, IsEmpty());
  EXPECT_EQ(Shown(With(record, 1min)), "Registered: Slurm node gpu-7 gives out 2 CPUs and 1024 MiB");
}

TEST_F(MachinesSlurmd, FollowsTheCordonOfItsMachine) {
  machine.spec.unschedulable = true;
  EXPECT_THAT(ToSlurm(With(record, 1min)), ElementsAre("drain"));
  record = Drained("slurm-bridge: cordoned");
  EXPECT_THAT(ToSlurm(With(record, 1min)), IsEmpty());
  machine.spec.unschedulable = false;
  EXPECT_THAT(ToSlurm(With(record, 1min)), ElementsAre("undrain"));
}

// UNDRAIN would leave it DOWN for ever.
TEST_F(MachinesSlurmd, ThatWasLostWhileDrainedIsResumedOnceItResponds) {
  record = Drained("slurm-bridge: not ready", {NodeFlag::kDown, NodeFlag::kNotResponding});
  record.state.Remove(NodeFlag::kIdle);
  const plan::Plan lost = With(record, 1min);
  EXPECT_THAT(ToSlurm(lost), IsEmpty());
  EXPECT_EQ(Shown(lost), "Drained: Slurm node gpu-7 is DOWN: slurm-bridge: not ready");
  record.state.Remove(NodeFlag::kNotResponding);
  EXPECT_THAT(ToSlurm(With(record, 1min)), ElementsAre("undrain"));
}

TEST_F(MachinesSlurmd, ADrainOfSomebodyElsesStandsOnTheMachine) {
  record = Drained("bad fan");
  const plan::Plan plan = With(record, 1min);
  EXPECT_THAT(ActionNames(plan), ElementsAre("taint Node gpu-7", "set conditions Node gpu-7/status"));
  EXPECT_EQ(Shown(plan), "Drained: Slurm node gpu-7 is drained by ada: bad fan");
}

TEST_F(MachinesSlurmd, IsTheOneThatTheLabelNames) {
  record.name = "rack-7";
  EXPECT_THAT(ActionNames(With(record, 1min)), ElementsAre("taint Node gpu-7")) << "it is not the machine's";
  machine.metadata.labels = {{std::string(kSlurmNodeName), "rack-7"}};
  slurm::Node namesake = record;
  namesake.name = "gpu-7";
  world.Put(machine);
  world.Nodes(kSlurm, {record, namesake});
  EXPECT_EQ(Shown(world.Decide(&node::Decide, "gpu-7", 1min)),
            "Registered: Slurm node rack-7 gives out 2 CPUs and 1024 MiB");
}

}  // namespace
}  // namespace capstan::bridge::node
