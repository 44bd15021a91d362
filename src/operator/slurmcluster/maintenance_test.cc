#include "operator/slurmcluster/maintenance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/slurmcluster/contract.h"
#include "operator/slurmcluster/decide_test.h"
#include "operator/worker_comment.h"

namespace capstan::op::slurmcluster {
namespace {

using slurm::NodeFlag;
using test::ActionNames;
using test::ConditionOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const Time kNow = *ParseRfc3339("2026-11-21T08:00:00Z");

slurm::Reservation Present(Time start = kNow - 1h) {
  return {.name = "capstan-main",
          .nodes = "cpu-[0-2]",
          .flags = {"ALL_NODES", "IGNORE_JOBS", "MAINT", "SPEC_NODES"},
          .users = {"root", "slurm"},
          .start = start,
          .end = start + 365 * 24h};
}

TEST(MaintenanceReservation, IsOfAllNodesFromNowOn) {
  const auto made = NextReservation("capstan-main", nullptr, kNow + 300ms);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->name, "capstan-main");
  EXPECT_THAT(made->nodes, ElementsAre("ALL"));
  EXPECT_THAT(made->flags, ElementsAre("IGNORE_JOBS", "MAINT"));
  EXPECT_THAT(made->users, ElementsAre("root", "slurm"));
  EXPECT_EQ(made->start, kNow - 1min) << "also by a clock that is behind";
  EXPECT_EQ(NextReservation("capstan-main", nullptr, kNow + 299s)->start, made->start) << "sent twice it is the same";
  EXPECT_EQ(made->duration, 365 * 24h);
}

TEST(MaintenanceReservation, IsLeftAloneUntilItEndsSoonOrLacksNodes) {
  slurm::Reservation present = Present();
  EXPECT_FALSE(NextReservation("capstan-main", &present, kNow));
  const Time late = present.end - 29 * 24h;
  const auto longer = NextReservation("capstan-main", &present, late);
  ASSERT_TRUE(longer);
  EXPECT_EQ(present.start + *longer->duration, late + 365 * 24h);
  EXPECT_FALSE(longer->start) << "Slurm takes no new one once it has begun";
  EXPECT_THAT(longer->flags, IsEmpty());
  const auto earlier = NextReservation("capstan-main", &present, kNow - 2h);
  ASSERT_TRUE(earlier) << "the clock was put back";
  EXPECT_EQ(earlier->start, kNow - 2h - 1min);
  present.flags = {"IGNORE_JOBS", "MAINT", "SPEC_NODES"};
  const auto wider = NextReservation("capstan-main", &present, kNow);
  ASSERT_TRUE(wider);
  EXPECT_THAT(wider->nodes, ElementsAre("ALL"));
  EXPECT_FALSE(wider->start || wider->duration);
}

class MaintenanceTest : public SlurmClusterTest {
 protected:
  MaintenanceTest() {
    cluster.spec.mode = "Maintenance";
    cluster.metadata.finalizers = {"capstan.dev/maintenance"};
    HaveParts();
    Tell(nullptr);
    world.Nodes("slurm/main", {{.name = "cpu-0", .state = {NodeFlag::kIdle}}});
  }
  void Tell(std::shared_ptr<const slurm::Reservation> reservation) {
    if (reservation == nullptr) return world.Absent(kQuestion);
    world.Answer(kQuestion, std::move(reservation));
  }
  void TellOne(const slurm::Reservation& reservation) { Tell(std::make_shared<const slurm::Reservation>(reservation)); }
  void PutWorker(std::string_view phase) {
    op::Pod pod;
    pod.metadata = {.name = "main-worker-cpu-0", .namespace_ = "slurm"};
    pod.metadata.owner_references = {
        {.kind = "NodeSet", .name = "main-worker-cpu", .uid = "uid-main-worker-cpu", .controller = true}};
    pod.status.phase = phase;
    world.Put(pod);
  }
  void Delete() { cluster.metadata.deletion_timestamp = world.now; }
  std::string Says(std::string_view condition) { return ConditionOf(Look(), condition); }

  const std::string kQuestion = "Slurm reservation slurm/main/capstan-main";
  const std::string kWrites = "write reservation " + kQuestion, kRemoves = "remove reservation " + kQuestion;
  const std::string kHolds = "add finalizer SlurmCluster slurm/main",
                    kForgets = "remove finalizer SlurmCluster slurm/main";
};

TEST_F(MaintenanceTest, KeepsJobsOutByOneReservation) {
  cluster.metadata.finalizers.clear();
  EXPECT_THAT(ActionNames(Look()), ElementsAre(kHolds)) << "else it could be left behind";
  cluster.metadata.finalizers = {"capstan.dev/maintenance"};
  plan::Plan plan = Look();
  EXPECT_THAT(ActionNames(plan), ElementsAre(kWrites));
  EXPECT_EQ(plan.slurm_cluster, "slurm/main");
  EXPECT_EQ(plan.actions[0].guards.size(), 1U) << "a person may have changed the mode";
  EXPECT_EQ(ConditionOf(plan, "Progressing"),
            "True EnteringMaintenance: jobs still start: reservation capstan-main is not made yet");
  EXPECT_THAT(ConditionOf(plan, "Ready"), StartsWith("False EnteringMaintenance"));
  TellOne(Present(world.now - 1min));
  plan = Look();
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_EQ(Phase(plan), "Maintenance");
  EXPECT_EQ(ConditionOf(plan, "Ready"),
            "True Ready: no job starts, by the reservation capstan-main; no worker runs one");
  api::NodeSet set = Part<api::NodeSet>("main-worker-cpu");
  set.spec.replicas = set.status.desired = 3;
  set.status.slurm_allocated = 2;
  world.Put(set);
  EXPECT_THAT(Says("Ready"), HasSubstr("2 workers run jobs still"));
}

TEST_F(MaintenanceTest, WhoCannotBeAskedIsNotWrittenTo) {
  world.in_flight = {kQuestion};
  EXPECT_THAT(Look().actions, IsEmpty());
  world.in_flight.clear();
  world.Failed(kQuestion, "timeout");
  EXPECT_THAT(Look().actions, IsEmpty());
  EXPECT_THAT(Says("Progressing"), HasSubstr("it is not known whether jobs start: timeout"));
  world.slurm["slurm/main"].state = plan::SlurmLook::State::kUnreachable;
  EXPECT_THAT(Look().actions, IsEmpty());
  EXPECT_THAT(Says("Progressing"), HasSubstr("it is not known whether jobs start: Slurm is not heard"));
}

// slurmctld refuses a reservation of no node.
TEST_F(MaintenanceTest, WithoutAnyNodeThereIsNothingToKeepJobsFrom) {
  world.Nodes("slurm/main", {});
  EXPECT_THAT(Look().actions, IsEmpty());
  EXPECT_THAT(Says("Progressing"), HasSubstr("as Slurm has no node"));
}

TEST_F(MaintenanceTest, AReservationThatIsNotForMaintenanceIsSomebodyElses) {
  slurm::Reservation theirs = Present();
  theirs.flags = {"ALL_NODES", "SPEC_NODES"};
  TellOne(theirs);
  EXPECT_THAT(Look().actions, IsEmpty());
  EXPECT_THAT(Says("Degraded"),
              StartsWith("True NameConflict: Slurm has a reservation capstan-main that is not one of a maintenance"));
  EXPECT_THAT(Says("Ready"), StartsWith("False")) << "jobs start";
  EXPECT_EQ(Phase(Look()), "Degraded");
  cluster.spec.mode = "Run";
  EXPECT_THAT(ActionNames(Look()), ElementsAre(kForgets));
  EXPECT_EQ(Phase(Look()), "Ready");
}

TEST_F(MaintenanceTest, ASlurmctldOutsideIsLeftToWhoeverRunsIt) {
  api::Controller controller = Part<api::Controller>("main");
  controller.spec.external = true;
  world.Put(controller);
  EXPECT_THAT(Look().actions, IsEmpty());
  EXPECT_THAT(Says("Degraded"), StartsWith("True NotSupported: spec.mode is Maintenance, and slurmctld is outside"));
  EXPECT_THAT(Says("Ready"), StartsWith("False"));
}

TEST_F(MaintenanceTest, ItsEndUndoesIt) {
  TellOne(Present());
  cluster.spec.mode = "Run";
  plan::Plan plan = Look();
  EXPECT_THAT(ActionNames(plan), ElementsAre(kRemoves, kForgets));
  EXPECT_EQ(plan.actions[0].guards.size(), 1U);
  EXPECT_THAT(plan.actions[1].after, ::testing::SizeIs(1)) << "what was not removed is not forgotten";
  EXPECT_THAT(ConditionOf(plan, "Ready"), StartsWith("False LeavingMaintenance: "));
  world.in_flight = {kQuestion};
  EXPECT_THAT(Look().actions, IsEmpty());
  EXPECT_THAT(Says("Ready"), StartsWith("False LeavingMaintenance: "));
  world.in_flight.clear();
  cluster.metadata.finalizers.clear();
  plan = Look();
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_EQ(Phase(plan), "Ready");
}

TEST_F(MaintenanceTest, AnEndThatIsNotKnownOrHeldUpIsSaid) {
  cluster.spec.mode = "Run";
  world.slurm["slurm/main"].state = plan::SlurmLook::State::kUnreachable;
  EXPECT_THAT(Look().actions, IsEmpty());
  EXPECT_THAT(Says("Ready"), HasSubstr("reservation capstan-main may keep jobs out still: Slurm is not heard"));
  cluster.spec.paused = true;
  EXPECT_THAT(Look().actions, IsEmpty());
  EXPECT_THAT(Says("Ready"), HasSubstr("spec.paused is true"));
  cluster.spec.mode = "Maintenance";
  EXPECT_THAT(Look().actions, IsEmpty());
}

// Jobs that wait would start in the moment between the two.
TEST_F(MaintenanceTest, WhereWorkersGoItLastsUntilTheyAreGone) {
  TellOne(Present());
  cluster.spec.mode = "Stopped";
  PutWorker("Running");
  EXPECT_THAT(Look().actions, IsEmpty());
  EXPECT_THAT(Says("Progressing"), HasSubstr("keeps jobs out until all workers are gone"));
  PutWorker("Succeeded");
  plan::Plan plan = Look();
  EXPECT_THAT(ActionNames(plan), ElementsAre(kRemoves, kForgets)) << "else no record of a node could be removed";
  ASSERT_EQ(plan.actions[0].guards.size(), 2U);
  EXPECT_EQ(
      plan.actions[0].guards[0]->text(),
      "no pod with app.kubernetes.io/instance=main-worker-cpu,app.kubernetes.io/name=slurmd is left in slurm that "
      "has not ended");
  cluster.spec.mode = "Maintenance";
  cluster.spec.deletion_policy = "Drain";
  cluster.metadata.finalizers.emplace_back("capstan.dev/drain");
  Delete();
  EXPECT_THAT(ActionNames(Look()), ElementsAre("delete NodeSet slurm/main-worker-cpu", kRemoves, kForgets));
  PutWorker("Running");
  EXPECT_THAT(ActionNames(Look()), ElementsAre("delete NodeSet slurm/main-worker-cpu"));
}

// slurmctld may live on, and so does its state.
TEST_F(MaintenanceTest, ADeletionLeavesNoReservation) {
  TellOne(Present());
  Delete();
  EXPECT_THAT(ActionNames(Look()), ElementsAre(kRemoves, kForgets));
  cluster.spec.mode = "Stopped";
  PutWorker("Running");
  EXPECT_THAT(ActionNames(Look()), ElementsAre(kRemoves, kForgets)) << "deletionPolicy Now waits for no worker";
  cluster.metadata.finalizers.emplace_back("orphan");
  EXPECT_THAT(ActionNames(Look()), ElementsAre(kRemoves, kForgets));
  cluster.spec.paused = true;
  EXPECT_THAT(ActionNames(Look()), ElementsAre(kRemoves, kForgets));
  world.slurm["slurm/main"].state = plan::SlurmLook::State::kUnreachable;
  EXPECT_THAT(ActionNames(Look()), ElementsAre(kForgets)) << "nobody waits for a Slurm that goes as well";
}

TEST(SlurmClusterContract, AllowsAReservationInMaintenanceAlone) {
  const auto breach = [](std::string_view mode, const SlurmCall& call) {
    const json::Value cluster = *json::Parse(R"({"metadata":{"namespace":"slurm","name":"main"},"spec":{"mode":")" +
                                             std::string(mode) + R"("}})");
    return kContract.slurm_breach(cluster, call, std::nullopt, {}).has_value();
  };
  const SlurmCall make{.cluster = "slurm/main", .verb = "update", .reservation = "capstan-main"};
  SlurmCall remove = make, other = make, foreign = make, node = make;
  remove.verb = "delete";
  other.reservation = "course";
  foreign.cluster = "slurm/other";
  node.reservation.clear();
  node.node = "cpu-0";
  EXPECT_FALSE(breach("Maintenance", make));
  EXPECT_TRUE(breach("Run", make));
  EXPECT_TRUE(breach("Maintenance", remove));
  EXPECT_FALSE(breach("Stopped", remove));
  for (const SlurmCall& wrong : {other, foreign, node}) EXPECT_TRUE(breach("Maintenance", wrong));
}

}  // namespace
}  // namespace capstan::op::slurmcluster
