#include <array>

#include "operator/controller/decide_test.h"
#include "operator/names.h"

namespace capstan::op::controller {
namespace {

using test::ActionNames;
using test::BodyOf;
using test::ConditionOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class HaTest : public ControllerTest {
 protected:
  HaTest() {
    HaveKeys();
    controller.spec.ha = api::HighAvailability{true, 1};
    controller.spec.persistence = api::Persistence();
    controller.spec.persistence->enabled = true;
    controller.spec.persistence->existing_claim = "state";
    Modes({"ReadWriteMany"});
  }
  void Modes(std::vector<std::string> modes) {
    world.Answer("claim slurm/state",
                 std::make_shared<const VolumeClaim::Value>(VolumeClaim::Value{"uid-claim", std::move(modes)}));
  }
  void PutPods() {
    StatefulSet set;
    set.metadata = {
        .name = "main-controller", .uid = "set", .owner_references = {{.uid = "uid-main", .controller = true}}};
    set.spec.service_name = "main-controller-internal";
    world.Put(set);
    for (const Pod& pod : pods) world.Put(pod);
  }
  void Charge(InCharge::Value value) {
    std::vector<InCharge::Candidate> candidates;
    for (const Pod& pod : pods) candidates.push_back({pod.metadata.name, pod.status.pod_ip});
    world.Answer(InCharge("slurm/main", std::move(candidates)).id(),
                 std::make_shared<const InCharge::Value>(std::move(value)));
  }
  static Pod MakePod(int ordinal) {
    Pod pod;
    pod.metadata = {.name = "main-controller-" + std::to_string(ordinal),
                    .owner_references = {{.uid = "set", .controller = true}}};
    pod.status.pod_ip = "10.0.0." + std::to_string(1 + ordinal);
    return pod;
  }

  std::array<Pod, 2> pods = {MakePod(0), MakePod(1)};
};

TEST_F(HaTest, RunsBackupsOnOneClaim) {
  const plan::Plan plan = Look();
  const auto set = json::Parse(BodyOf(plan, "StatefulSet", "main-controller"));
  ASSERT_TRUE(set.has_value());
  EXPECT_EQ(json::Serialize(*json::Find(*set, {"spec", "replicas"})), "2");
  EXPECT_EQ(json::Find(*set, {"spec", "volumeClaimTemplates"}), nullptr);
  EXPECT_EQ(json::FindText(*set, {"spec", "template", "metadata", "labels", kLabelActive}), "");
  EXPECT_THAT(SlurmConf(plan),
              HasSubstr("SlurmctldHost=main-controller-1(main-controller-1.main-controller-internal.slurm)\n"));
  EXPECT_THAT(SlurmConf(plan), HasSubstr("SlurmctldTimeout=15\n"));
  EXPECT_THAT(SlurmConf(plan), Not(HasSubstr("SlurmctldAddr=")));
}

TEST_F(HaTest, RefusesAClaimOfOnePod) {
  Modes({"ReadWriteOnce"});
  const plan::Plan plan = Look();
  EXPECT_EQ(BodyOf(plan, "StatefulSet", "main-controller"), "");
  EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("ClaimRefused: spec.ha needs access mode ReadWriteMany"));
}

TEST_F(HaTest, AcceptsAClaimThatIsNotThereYet) {
  world.Absent("claim slurm/state");
  EXPECT_NE(BodyOf(Look(), "StatefulSet", "main-controller"), "");
}

TEST_F(HaTest, RefusesWithoutASharedClaim) {
  controller.spec.persistence->existing_claim = "";
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), HasSubstr("spec.ha needs spec.persistence.existingClaim"));
  controller.spec.persistence->enabled = false;
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), HasSubstr("spec.ha needs spec.persistence: "));
}

// Each of them is asked, not slurmrestd, which also calls one that stands by responding.
TEST_F(HaTest, TheServiceFollowsTheOneInCharge) {
  PutPods();
  plan::Plan plan = Look();
  EXPECT_THAT(ActionNames(plan), ElementsAre("activate Pod slurm/main-controller-0"));
  EXPECT_THAT(ConditionOf(plan, "SlurmctldInCharge"), StartsWith("Unknown NotAnswering"));
  Charge({.pod = "main-controller-1"});
  plan = Look();
  EXPECT_THAT(ActionNames(plan), ElementsAre("activate Pod slurm/main-controller-1"));
  EXPECT_THAT(ConditionOf(plan, "SlurmctldInCharge"),
              StartsWith("True InCharge: slurmctld of pod main-controller-1 is in charge"));
}

// The Service had no endpoint at all until somebody had taken over and the operator had looked.
TEST_F(HaTest, TheServiceAlwaysLeadsToSomebody) {
  pods[1].metadata.labels[std::string(kLabelActive)] = "true";
  PutPods();
  Charge({});
  plan::Plan plan = Look();
  EXPECT_THAT(ActionNames(plan), IsEmpty()) << "nobody is in charge: it stays where it was";
  EXPECT_THAT(ConditionOf(plan, "SlurmctldInCharge"), StartsWith("False NobodyInCharge"));
  pods[1].metadata.deletion_timestamp = Time(1s);
  PutPods();
  EXPECT_THAT(ActionNames(Look()), ElementsAre("activate Pod slurm/main-controller-0"));
}

TEST_F(HaTest, OneThatIsCutOffAndWritesIsNamed) {
  PutPods();
  Charge({.writer = 0});
  plan::Plan plan = Look();
  EXPECT_THAT(ConditionOf(plan, "SlurmctldInCharge"),
              StartsWith("False CutOff: slurmctld of pod main-controller-0 cannot be reached, and still writes"));
  EXPECT_THAT(ConditionOf(plan, "Degraded"), StartsWith("False")) << "a takeover may come yet";
  EXPECT_LE(plan.requeue_after, 30s);
  EXPECT_THAT(ConditionOf(world.Decide(&Decide, "main", 30s), "Degraded"), StartsWith("True CutOff: "));
}

TEST(InChargeTest, WhoWroteLastIsReadFromOneThatStandsBy) {
  EXPECT_EQ(InCharge::WriterIn(R"({"files":{},"heartbeat":{"server":0,"age_s":3}})"), 0);
  EXPECT_EQ(InCharge::WriterIn(R"({"files":{},"heartbeat":{"server":1,"age_s":10}})"), 1);
  EXPECT_EQ(InCharge::WriterIn(R"({"files":{},"heartbeat":{"server":1,"age_s":11}})"), std::nullopt);
  for (const char* other : {"{}", R"({"heartbeat":{}})", R"({"heartbeat":{"server":-1,"age_s":1}})", "no"})
    EXPECT_EQ(InCharge::WriterIn(other), std::nullopt) << other;
}

}  // namespace
}  // namespace capstan::op::controller
