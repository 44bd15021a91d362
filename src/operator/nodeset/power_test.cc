// Workers on demand.
#include "operator/nodeset/power.h"

#include "operator/nodeset/decide_test.h"
#include "operator/nodeset/worker_pod.h"
#include "operator/topology.h"

namespace capstan::op::nodeset {
namespace {

using slurm::NodeFlag;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

constexpr std::string_view kProof = " is powered down and no job holds it, suspended ones included";

class PowerTest : public NodeSetTest {
 protected:
  PowerTest() {
    set.metadata.annotations[std::string(kAnnotationPower)] = "OnDemand idle=5m";
    set.spec.slurmd = json::Raw{R"({"resources":{"limits":{"cpu":"2","memory":"1Gi"}}})"};
  }

  // As slurmctld has it since it was made.
  void Record(int ordinal, std::vector<NodeFlag> flags, std::string reason = "") {
    flags.push_back(NodeFlag::kCloud);
    flags.push_back(NodeFlag::kDynamicNorm);
    slurm::Node node = MakeNode(ordinal, std::move(flags), std::move(reason));
    if (is_new) node.comment = "";
    node.features = {"w"};
    nodes.push_back(std::move(node));
  }
  // One whose slurmd is there.
  void Up(int ordinal, std::vector<NodeFlag> flags) {
    flags.push_back(NodeFlag::kCloud);
    flags.push_back(NodeFlag::kDynamicNorm);
    Worker_(ordinal, std::move(flags));
  }
  bool is_new = true;  // nobody has written to the records that are put from now on
  void Down(int ordinal) { Record(ordinal, {NodeFlag::kIdle, NodeFlag::kPoweredDown}); }
  static std::vector<std::string> ProofsOf(const plan::Plan& plan, std::string_view act) {
    for (const plan::Action& action : plan.actions) {
      if (std::string(action.effect->verb()) + " " + action.effect->target() == act) return Proofs(action);
    }
    return {"it is not done"};
  }
};

TEST_F(PowerTest, NodesAreMadeInSlurmAndNoPod) {
  const plan::Plan plan = Look(2);
  EXPECT_THAT(Acts(plan),
              UnorderedElementsAre("register Slurm node slurm/main/w-0", "register Slurm node slurm/main/w-1"));
  EXPECT_EQ(ConditionOf(plan, "Ready").status, "True") << "none is wanted now";
  Down(0);
  EXPECT_THAT(Acts(Look(2)), ElementsAre("register Slurm node slurm/main/w-1"));
  Down(1);
  EXPECT_THAT(Acts(Look(2)), IsEmpty());
}

TEST_F(PowerTest, WithTopologyByLabelsANodeThatIsPoweredDownStandsAtAnUnknownPlace) {
  const auto publish = [this](const std::string& tree) {
    Put(ConfigMap{.metadata = {.name = "main-config", .namespace_ = "slurm", .uid = "config-uid"},
                  .data = {.slurm_conf = "ClusterName=main", .cgroup_conf = "", .topology_yaml = tree}});
  };
  publish(TopologyOfOneSwitch());
  EXPECT_EQ(Look(1).actions.at(0).effect->content(),
            plan::CreateNode("slurm/main", slurm::CloudNode{.name = "w-0",
                                                            .cpus = 2,
                                                            .memory_mib = 1024,
                                                            .conf = "Features=w Topology=default:root/:unknown",
                                                            .idle = 5min})
                ->content());
  Down(0);
  for (const char* place : {"", "default:root/:s1"}) {
    nodes[0].topology = place;
    EXPECT_THAT(Acts(Look(1)), ElementsAre("describe Slurm node slurm/main/w-0"));
  }
  nodes[0].topology = "default:root/:unknown";
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  nodes[0].topology = "default:root/:s1";
  set.spec.extra_conf = "Topology=default:root/:s1";
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  set.spec.extra_conf = "";
  publish("");
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
}

TEST_F(PowerTest, ANodeThatSlurmPowersUpGetsItsPod) {
  Down(0);
  Record(1, {NodeFlag::kAllocated, NodeFlag::kPoweringUp, NodeFlag::kNotResponding});
  EXPECT_THAT(Acts(Look(2)), ElementsAre("create Pod slurm/w-1"));
  Put(MakePod(1, "Pending", false));
  const plan::Plan plan = Look(2);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_EQ(ConditionOf(plan, "Ready").status, "False");
  nodes.clear();
  Down(0);
  Up(1, {NodeFlag::kAllocated});
  EXPECT_THAT(Acts(Look(2)), IsEmpty());
  EXPECT_EQ(ConditionOf(Look(2), "Ready").status, "True");
}

// A slurmd that registers before Slurm asks for it ends the job.
TEST_F(PowerTest, ANodeThatAJobWasGivenGetsItsPodOnceSlurmPowersItUp) {
  for (const NodeFlag down : {NodeFlag::kPoweredDown, NodeFlag::kPoweringDown}) {
    nodes.clear();
    Record(0, {NodeFlag::kAllocated, down});
    EXPECT_THAT(Acts(Look(1)), IsEmpty());
  }
  nodes.clear();
  Record(0, {NodeFlag::kAllocated, NodeFlag::kPoweredDown, NodeFlag::kPoweringUp});
  EXPECT_THAT(Acts(Look(1)), ElementsAre("create Pod slurm/w-0"));
}

// Its mark comes first: an old look at the NodeSet then takes nothing away.
TEST_F(PowerTest, APodGoesOnceSlurmHasPoweredItsNodeDown) {
  for (const NodeFlag down : {NodeFlag::kPoweringDown, NodeFlag::kPoweredDown}) {
    nodes.clear();
    Up(0, {NodeFlag::kIdle, down});
    Put(MakePod(0));
    EXPECT_THAT(Acts(Look(1)), ElementsAre("cordon Pod slurm/w-0"));
    PutMarked(MakePod(0));
    const plan::Plan plan = Look(1);
    EXPECT_THAT(Acts(plan), ElementsAre("delete Pod slurm/w-0"));
    EXPECT_THAT(ProofsOf(plan, "delete Pod slurm/w-0"), ElementsAre("Slurm node w-0" + std::string(kProof)));
  }
}

// Its slurmd would register as soon as slurmctld is back, and get a job, or end one, as it is taken for powered down and deleted.
TEST_F(PowerTest, WhileSlurmIsSilentNoPodIsMadeForWhatItHadPoweredDown) {
  set.metadata.annotations.clear();
  for (const std::vector<NodeFlag>& state : {std::vector{NodeFlag::kIdle, NodeFlag::kPoweredDown},
                                             std::vector{NodeFlag::kAllocated, NodeFlag::kPoweredDown}}) {
    nodes.clear();
    Record(0, state);
    slurm.state = plan::SlurmLook::State::kUnreachable;
    const plan::Plan plan = Look(2);
    EXPECT_THAT(Acts(plan), ElementsAre("create Pod slurm/w-1")) << "of which Slurm has no record";
    EXPECT_THAT(ConditionOf(plan, "Progressing").message, HasSubstr("the node w-0"));
  }
  nodes.clear();
  Down(0);
  EXPECT_THAT(ConditionOf(Look(1), "Progressing").message,
              HasSubstr("is not heard, and said last that the node w-0 is powered down"));
  slurm.state = plan::SlurmLook::State::kHeard;
  EXPECT_THAT(Acts(Look(1)), ElementsAre("remove record Slurm node slurm/main/w-0", "create Pod slurm/w-0"));
}

// DRAIN and DOWN would end it, unless it may be queued again.
TEST_F(PowerTest, WhatAJobWaitsForIsNotTakenFromIt) {
  for (const NodeFlag state : {NodeFlag::kPoweredDown, NodeFlag::kPoweringDown, NodeFlag::kPoweringUp}) {
    nodes.clear();
    Up(0, {NodeFlag::kAllocated, state});
    Pod pod = MakePod(0);
    pod.metadata.annotations[std::string(kAnnotationPodCordon)] = "true";
    Put(std::move(pod));
    for (const int replicas : {1, 0}) EXPECT_THAT(Acts(Look(replicas)), Not(Contains(HasSubstr("Slurm node"))));
    set.metadata.annotations.erase(std::string(kAnnotationPower));
    EXPECT_THAT(Acts(Look(0)), Not(Contains(HasSubstr("Slurm node"))));
    set.metadata.annotations[std::string(kAnnotationPower)] = "OnDemand";
  }
}

TEST_F(PowerTest, ABusyOrServingNodeKeepsItsPod) {
  Up(0, {NodeFlag::kIdle});
  Up(1, {NodeFlag::kAllocated, NodeFlag::kPowerDown});
  Up(2, {NodeFlag::kIdle, NodeFlag::kCompleting, NodeFlag::kPoweringDown});
  EXPECT_THAT(Acts(Look(3)), IsEmpty());
}

// Slurm waits for a slurmd that begins after its request: the one that was about to go never counts.
TEST_F(PowerTest, APodOfBeforeThePowerUpIsReplaced) {
  Record(0, {NodeFlag::kAllocated, NodeFlag::kPoweringUp});
  PutMarked(MakePod(0));
  const plan::Plan plan = Look(1);
  EXPECT_THAT(Acts(plan), ElementsAre("delete Pod slurm/w-0"));
  EXPECT_THAT(ProofsOf(plan, "delete Pod slurm/w-0"),
              ElementsAre(HasSubstr("slurmd"), "Slurm waits for node w-0 to begin"));
  Put(MakePod(0));
  EXPECT_THAT(Acts(Look(1)), IsEmpty()) << "it may be the one that was made for it";
  held["unregistered pod-0"] = Tick() - 3min;
  EXPECT_THAT(Acts(Look(1)), ElementsAre("delete Pod slurm/w-0"));
}

// A new one would count; slurmctld waits for it until ResumeTimeout.
TEST_F(PowerTest, APodOfBeforeThePowerUpIsReplacedThoughItGoes) {
  Record(0, {NodeFlag::kAllocated, NodeFlag::kPoweringUp});
  Pod pod = MakePod(0);
  pod.metadata.labels[std::string(kLabelRevision)] = "older";
  PutMarked(pod);
  EXPECT_THAT(Acts(Look(1)), Contains("delete Pod slurm/w-0")) << "an update";
  set.metadata.annotations.clear();
  EXPECT_THAT(Acts(Look(0)), ElementsAre("delete Pod slurm/w-0")) << "a scale-in";
  nodes[0].state = {NodeFlag::kAllocated, NodeFlag::kPoweredDown};
  EXPECT_THAT(Acts(Look(0)), IsEmpty()) << "it is powered up within seconds";
}

TEST_F(PowerTest, APodThatAJobWaitsForIsNotDeletedBeforeItHasAPlace) {
  set.metadata.annotations.clear();
  Put(MakePod(0, "Pending", false));
  Record(0, {NodeFlag::kAllocated, NodeFlag::kPoweringUp});
  EXPECT_THAT(Acts(Look(0)), IsEmpty());
  nodes.clear();
  EXPECT_THAT(Acts(Look(0)), ElementsAre("delete Pod slurm/w-0"));
}

TEST_F(PowerTest, OfTooManyThoseWithoutAPodGoFirst) {
  Up(0, {NodeFlag::kIdle});
  Down(1);
  Up(2, {NodeFlag::kAllocated});
  Down(3);
  const plan::Plan plan = Look(2);
  EXPECT_THAT(Acts(plan), UnorderedElementsAre("remove record Slurm node slurm/main/w-1",
                                               "remove record Slurm node slurm/main/w-3"));
  EXPECT_THAT(ProofsOf(plan, "remove record Slurm node slurm/main/w-1"),
              ElementsAre("Slurm node w-1" + std::string(kProof)));
  EXPECT_THAT(Acts(Look(1)), ::testing::IsSupersetOf({"cordon Pod slurm/w-0", "drain Slurm node slurm/main/w-0"}))
      << "then by the rules of any scale-in";
}

TEST_F(PowerTest, AStartThatTookTooLongIsTriedAgain) {
  Record(0, {NodeFlag::kDown, NodeFlag::kPoweredDown}, "ResumeTimeout reached");
  Put(MakePod(0, "Pending", false));
  EXPECT_THAT(Acts(Look(1)), ElementsAre("delete Pod slurm/w-0")) << "it was never placed";
  const_cast<kube::Store<Pod>&>(stores.Of<Pod>()).Deleted({"slurm", "w-0"}, "pod-0", {});
  EXPECT_THAT(Acts(Look(1)), ElementsAre("remove record Slurm node slurm/main/w-0"));
  nodes.clear();
  EXPECT_THAT(Acts(Look(1)), ElementsAre("register Slurm node slurm/main/w-0"));
}

// The record still says of which pod and machine it was: of the life before.
TEST_F(PowerTest, TheFormerMachineOfANodeThatPowersUpMayBeGone) {
  is_new = machines_come_with_pods = false;
  Put(MakeMachine("k9"));
  Put(MakePod(0, "Pending", false));
  held["silence of w-0 without k0"] = Tick() - 10min;
  for (const NodeFlag state : {NodeFlag::kPoweringUp, NodeFlag::kPoweredDown, NodeFlag::kPoweringDown}) {
    nodes.clear();
    Record(0, {NodeFlag::kAllocated, state, NodeFlag::kNotResponding});
    EXPECT_THAT(Acts(Look(1)), IsEmpty()) << "DOWN would end the job that waits for it";
  }
}

TEST_F(PowerTest, APodOfALaterLifeGoesOnceItIsProvenFree) {
  slurm::Node down = MakeNode(0, {NodeFlag::kDown, NodeFlag::kCloud, NodeFlag::kPoweredDown}, "ResumeTimeout reached");
  down.address = "w-0";
  down.slurmd_start_time = kNow - 1h;
  nodes = {down};
  Pod pod = MakePod(0, "Running", false);
  pod.metadata.creation_timestamp = kNow - 15min;
  PutMarked(std::move(pod));
  const plan::Plan plan = Look(1);
  EXPECT_THAT(Acts(plan), ElementsAre("delete Pod slurm/w-0"));
  EXPECT_THAT(ProofsOf(plan, "delete Pod slurm/w-0"),
              ElementsAre(HasSubstr("slurmd"), "Slurm node w-0" + std::string(kProof)));
}

TEST_F(PowerTest, AWorkerThatAJobWaitsForIsNotTooMany) {
  Up(0, {NodeFlag::kIdle});
  Record(1, {NodeFlag::kAllocated, NodeFlag::kPoweringUp});
  EXPECT_THAT(Acts(Look(1)),
              UnorderedElementsAre("create Pod slurm/w-1", "cordon Pod slurm/w-0", "drain Slurm node slurm/main/w-0"));
  Put(MakePod(1, "Pending", false));
  EXPECT_THAT(Acts(Look(1)), UnorderedElementsAre("cordon Pod slurm/w-0", "drain Slurm node slurm/main/w-0"))
      << "the same again";
}

// It would be asked for again and again, and slurmctld would have nothing to do.
TEST_F(PowerTest, ANameThatAnothersNodeHasIsTold) {
  Down(0);
  nodes.back().features = {"others"};
  const plan::Plan plan = Look(2);
  EXPECT_THAT(Acts(plan), ElementsAre("register Slurm node slurm/main/w-1"));
  EXPECT_THAT(ConditionOf(plan, "Degraded").message, HasSubstr("Slurm has a node w-0 which is not this NodeSet's"));
}

TEST_F(PowerTest, WhatAPersonDrainedStays) {
  Record(0, {NodeFlag::kIdle, NodeFlag::kDrain, NodeFlag::kPoweredDown}, "a fan");
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  EXPECT_THAT(Acts(Look(0)), IsEmpty()) << "it has a reason to be there";
}

TEST_F(PowerTest, WhileSlurmIsSilentNothingIsMadeOrTakenAway) {
  Up(0, {NodeFlag::kIdle, NodeFlag::kPoweredDown});
  Record(1, {NodeFlag::kAllocated, NodeFlag::kPoweringUp});
  slurm.state = plan::SlurmLook::State::kUnreachable;
  EXPECT_THAT(Acts(Look(4)), IsEmpty());
}

// A NodeSet that ran all the time: its Slurm nodes are drained, and made anew.
TEST_F(PowerTest, WorkersOfBeforeGoAsInAScaleIn) {
  Worker_(0, {NodeFlag::kIdle, NodeFlag::kDynamicNorm});
  EXPECT_THAT(Acts(Look(2)), UnorderedElementsAre("cordon Pod slurm/w-0", "drain Slurm node slurm/main/w-0",
                                                  "register Slurm node slurm/main/w-1"));
}

// And back: what is powered down is made anew as it registers itself.
TEST_F(PowerTest, WithoutTheAnnotationAllHavePods) {
  set.metadata.annotations.clear();
  Down(0);
  Up(1, {NodeFlag::kIdle, NodeFlag::kPoweredDown});
  const std::vector<std::string> acts = Acts(Look(2));
  EXPECT_THAT(acts, ::testing::IsSupersetOf(
                        {"remove record Slurm node slurm/main/w-0", "create Pod slurm/w-0", "cordon Pod slurm/w-1"}));
}

// Also in the other mode.
TEST_F(PowerTest, WithoutTheAnnotationANodeThatAJobWasGivenWaitsForSlurm) {
  set.metadata.annotations.clear();
  for (const NodeFlag down : {NodeFlag::kPoweredDown, NodeFlag::kPoweringDown}) {
    nodes.clear();
    Record(0, {NodeFlag::kAllocated, down});
    const plan::Plan plan = Look(1);
    EXPECT_THAT(Acts(plan), IsEmpty());
    EXPECT_THAT(ConditionOf(plan, "Progressing").message, HasSubstr("which has given a job the node w-0"));
  }
  nodes.clear();
  Record(0, {NodeFlag::kAllocated, NodeFlag::kPoweringUp});
  EXPECT_THAT(Acts(Look(1)), ElementsAre("create Pod slurm/w-0"));
}

// It would be taken for powered down, deleted, and made again.
TEST_F(PowerTest, WithoutTheAnnotationANodeWhoseRecordStaysOffGetsNoPod) {
  set.metadata.annotations.clear();
  for (const NodeFlag why : {NodeFlag::kDrain, NodeFlag::kMaintenance}) {
    nodes.clear();
    Record(0, {NodeFlag::kIdle, NodeFlag::kPoweredDown, why}, "a fan");
    const plan::Plan plan = Look(1);
    EXPECT_THAT(Acts(plan), IsEmpty());
    EXPECT_THAT(
        ConditionOf(plan, "Progressing").message,
        HasSubstr(why == NodeFlag::kDrain ? "out of service (a fan); resume it" : "in a maintenance reservation"));
  }
  nodes.clear();
  Record(0, {NodeFlag::kDown, NodeFlag::kPoweredDown}, "person: a fan");
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  nodes[0].features = {"other"};
  EXPECT_THAT(ConditionOf(Look(1), "Progressing").message, HasSubstr("powered down and not this NodeSet's"));
  Down(0);
  nodes.erase(nodes.begin());
  EXPECT_THAT(Acts(Look(1)), ElementsAre("remove record Slurm node slurm/main/w-0", "create Pod slurm/w-0"));
}

// slurmctld waits for it as for a machine that boots, whatever the mode is now.
TEST_F(PowerTest, SlurmdOfACloudNodeSaysThatItsMachineWasBooted) {
  const api::Controller controller{.metadata = {.name = "main", .namespace_ = "slurm"}};
  const auto body = [&](bool boots) {
    return WorkerTemplate::Of(set, controller, {}, boots)->Stamp({.ordinal = 0, .node = {}, .host = {}}).body;
  };
  EXPECT_THAT(body(true), HasSubstr(R"("-b")"));
  EXPECT_THAT(body(true), HasSubstr("'CPUs=2 RealMemory=1024 Features=w'")) << "what its record has";
  EXPECT_THAT(body(true), HasSubstr(R"("name":"POD_CPUS","value":"0")"));
  EXPECT_THAT(body(false), Not(HasSubstr(R"("-b")")));
  const auto made = [&] {
    const plan::Plan plan = Look(1);
    EXPECT_THAT(Acts(plan), ElementsAre("create Pod slurm/w-0"));
    return plan.actions.at(0).effect->content();
  };
  Record(0, {NodeFlag::kAllocated, NodeFlag::kPoweringUp});
  const uint64_t on_demand = made();
  set.metadata.annotations.clear();
  EXPECT_EQ(made(), on_demand) << "a job waits for it";
  nodes.clear();
  EXPECT_NE(made(), on_demand);
}

TEST_F(PowerTest, ADeletedNodeSetTakesItsSlurmNodesAlong) {
  Down(0);
  set.metadata.deletion_timestamp = kNow;
  EXPECT_THAT(Acts(Look(1)), ElementsAre("remove record Slurm node slurm/main/w-0"));
  nodes.clear();
  Up(1, {NodeFlag::kIdle, NodeFlag::kPoweringDown});
  PutMarked(MakePod(1));
  EXPECT_THAT(Acts(Look(1)), ElementsAre("delete Pod slurm/w-1"));
}

TEST_F(PowerTest, WhatCannotBeOnDemandIsTold) {
  Up(0, {NodeFlag::kIdle});
  Down(1);
  const auto said = [&] {
    const plan::Plan plan = Look(2);
    EXPECT_THAT(Acts(plan), IsEmpty()) << "all stays as it is";
    return ConditionOf(plan, "Degraded").message;
  };
  set.spec.slurmd = {};
  EXPECT_THAT(said(), HasSubstr("needs spec.slurmd.resources.limits with cpu and memory"));
  set.spec.slurmd = json::Raw{R"({"resources":{"limits":{"cpu":"2","memory":"1Gi"}}})"};
  for (const char* text : {"Always", "OnDemand idle=", "OnDemand idle=-1m", "OnDemand idle=10m now", "ondemand"}) {
    set.metadata.annotations[std::string(kAnnotationPower)] = text;
    EXPECT_THAT(said(), HasSubstr(R"(must be "OnDemand", or like "OnDemand idle=10m")")) << text;
  }
}

TEST(CloudNodeOfAWorker, HasItsLimitsAndWhatItRegistersWith) {
  EXPECT_EQ(
      slurm::LineOf(
          slurm::CloudNode{.name = "w-0", .cpus = 2, .memory_mib = 1024, .conf = "Features=a,w Weight=7", .idle = 5min})
          .value(),
      "NodeName=w-0 State=CLOUD SuspendTime=300 CPUs=2 RealMemory=1024 Features=a,w Weight=7");
  EXPECT_EQ(slurm::LineOf(slurm::CloudNode{.name = "w-0",
                                           .cpus = 2,
                                           .memory_mib = 1024,
                                           .conf = "CoresPerSocket=4 Features=w RealMemory=5 Sockets=2",
                                           .idle = 1s})
                .value(),
            "NodeName=w-0 State=CLOUD SuspendTime=1 CoresPerSocket=4 Features=w RealMemory=5 Sockets=2");
  EXPECT_EQ(
      slurm::LineOf(
          slurm::CloudNode{
              .name = "w-0", .cpus = 2, .memory_mib = 5, .conf = "Features=w Gres=gpu:h100:8,nic,gpu:2", .idle = 1s})
          .value(),
      "NodeName=w-0 State=CLOUD SuspendTime=1 CPUs=2 RealMemory=5 Features=w Gres=gpu:h100:8,nic,gpu:2 "
      "GresConf=\"count=8,name=gpu,type=h100+count=1,name=nic+count=2,name=gpu\"");
  // With each of them slurmctld ended: it makes such a node from the line.
  for (const char* conf :
       {"Port=0", "nodeaddr=a,b", "NodeHostname=a,b Weight=2", "BcastAddr=a", "State=DOWN", "GresConf=x"})
    EXPECT_FALSE(slurm::LineOf(slurm::CloudNode{.name = "w-0", .conf = conf, .idle = 10s})) << conf;
  for (const char* name : {"all", "ALL", "Default"})
    EXPECT_FALSE(slurm::LineOf(slurm::ExternalNode{.name = name, .cpus = 1, .memory_mib = 1})) << name;
  EXPECT_FALSE(slurm::LineOf(slurm::CloudNode{.name = "w-0", .idle = 10ms}));
  EXPECT_FALSE(slurm::LineOf(slurm::CloudNode{.name = "w 0", .idle = 10s}));
}

}  // namespace
}  // namespace capstan::op::nodeset
