#include "operator/nodeset/reservation.h"

#include "operator/nodeset/decide_test.h"
#include "slurm/hostlist.h"

namespace capstan::op::nodeset {
namespace {

using slurm::NodeFlag;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kName = "SlurmOperatorMaint-w";
const Time kMonday = *ParseRfc3339("2030-01-07T08:00:00Z");
const std::vector<std::string> kTwo = {"w-0", "w-1"};

api::NodeSetSpec Spec(Time start, std::vector<std::string> flags = {}, std::string duration = "30m") {
  api::NodeSetSpec spec;
  spec.replicas = 2;
  spec.update_strategy =
      api::NodeSetUpdateStrategy{.type = std::string(api::kUpdateScheduled),
                                 .scheduled_update = api::ScheduledUpdate{
                                     .start_time = start, .duration = std::move(duration), .flags = std::move(flags)}};
  return spec;
}

slurm::Reservation Present(Time start, std::vector<std::string> more = {}, Duration length = 30min) {
  slurm::Reservation present{.name = std::string(kName),
                             .nodes = slurm::CompressHostlist(kTwo),
                             .flags = {"IGNORE_JOBS", "MAINT", "SPEC_NODES"},
                             .users = {"slurm"},
                             .start = start,
                             .end = start + length};
  present.flags.insert(present.flags.end(), more.begin(), more.end());
  return present;
}

ReservationStep Next(const api::NodeSetSpec& spec, const slurm::Reservation* present, Time now,
                     const std::vector<std::string>& nodes = kTwo) {
  return NextReservation(spec, std::string(kName), present, nodes, now);
}

TEST(ReservationTest, IsMadeForTheTimeThatIsAskedFor) {
  const ReservationStep step = Next(Spec(kMonday, {"flex"}, "90s"), nullptr, kMonday - 1h);
  ASSERT_TRUE(step.write);
  EXPECT_EQ(step.write->name, kName);
  EXPECT_EQ(step.write->nodes, kTwo);
  EXPECT_THAT(step.write->flags, ElementsAre("FLEX", "IGNORE_JOBS", "MAINT"));
  EXPECT_THAT(step.write->users, ElementsAre("slurm"));
  EXPECT_EQ(step.write->start, kMonday);
  EXPECT_EQ(step.write->duration, 2min) << "whole minutes are all that Slurm knows";
  EXPECT_FALSE(step.remove);
  EXPECT_EQ(step.held, "");
}

TEST(ReservationTest, StaysWhileItIsAsItIsAskedFor) {
  const slurm::Reservation present = Present(kMonday);
  EXPECT_FALSE(Next(Spec(kMonday), &present, kMonday - 1h).write);
  EXPECT_FALSE(Next(Spec(kMonday), &present, kMonday + 1min).write);
  EXPECT_FALSE(Next(Spec(kMonday), &present, kMonday + 31min).write) << "it is over";
}

TEST(ReservationTest, IsNotMadeWithoutWorkersNorForATimeThatHasPassed) {
  EXPECT_THAT(Next(Spec(kMonday), nullptr, kMonday - 1h, {}).held, HasSubstr("no worker has registered"));
  const ReservationStep late = Next(Spec(kMonday), nullptr, kMonday + 1min);
  EXPECT_FALSE(late.write);
  EXPECT_THAT(late.held, HasSubstr("startTime has passed; name another one"));
  const slurm::Reservation present = Present(kMonday);
  const ReservationStep moved = Next(Spec(kMonday - 2h), &present, kMonday - 1h);
  EXPECT_FALSE(moved.write);
  EXPECT_TRUE(moved.remove) << "nobody asks for the time of the one that is there";
  EXPECT_THAT(moved.held, HasSubstr("startTime has passed"));
}

TEST(ReservationTest, IsMadeAnewForAnotherTimeLengthOrFlag) {
  const slurm::Reservation present = Present(kMonday);
  for (const auto& spec : {Spec(kMonday + 1h), Spec(kMonday, {}, "1h"), Spec(kMonday, {"DAILY"})}) {
    const ReservationStep step = Next(spec, &present, kMonday - 1h);
    ASSERT_TRUE(step.write);
    EXPECT_TRUE(step.remove);
    EXPECT_TRUE(step.write->start);
  }
  const slurm::Reservation daily = Present(kMonday, {"DAILY"});
  EXPECT_TRUE(Next(Spec(kMonday), &daily, kMonday - 1h).remove);
}

TEST(ReservationTest, ChangesButItsNodesNoMoreOnceItHasBegun) {
  const slurm::Reservation present = Present(kMonday);
  EXPECT_FALSE(Next(Spec(kMonday + 1h), &present, kMonday + 1min).write);
  for (const Time now : {kMonday - 1h, kMonday + 1min}) {
    const ReservationStep step = Next(Spec(kMonday), &present, now, {"w-0"});
    ASSERT_TRUE(step.write);
    EXPECT_FALSE(step.remove);
    EXPECT_THAT(step.write->nodes, ElementsAre("w-0"));
    EXPECT_FALSE(step.write->start || step.write->duration);
    EXPECT_THAT(step.write->flags, IsEmpty());
  }
}

TEST(ReservationTest, OneThatComesAgainMayHaveMovedOn) {
  for (const auto& [flag, period] : std::map<std::string, Duration>{{"HOURLY", 1h}, {"DAILY", 24h}, {"WEEKLY", 168h}}) {
    const slurm::Reservation present = Present(kMonday + 3 * period, {flag});
    const Time now = kMonday + 2 * period + 45min;
    EXPECT_FALSE(Next(Spec(kMonday, {flag}), &present, now).write) << flag;
    EXPECT_TRUE(Next(Spec(kMonday + 5min, {flag}), &present, now).remove) << flag;
  }
}

TEST(ReservationTest, OneThatComesAgainIsMadeForItsNextTime) {
  const auto start = [](std::string flag, Time now) { return Next(Spec(kMonday, {flag}), nullptr, now).write->start; };
  EXPECT_EQ(start("DAILY", kMonday - 1h), kMonday);
  EXPECT_EQ(start("HOURLY", kMonday + 90min), kMonday + 2h);
  EXPECT_EQ(start("DAILY", kMonday + 1min), kMonday + 24h);
  EXPECT_EQ(start("WEEKLY", kMonday + 15 * 24h), kMonday + 21 * 24h);
  EXPECT_EQ(start("WEEKDAY", kMonday + 4 * 24h + 1h), kMonday + 7 * 24h) << "after Friday comes Monday";
  EXPECT_EQ(start("WEEKEND", kMonday - 1h), kMonday + 5 * 24h) << "no Monday is one";
  EXPECT_EQ(Next(Spec(kMonday, {"DAILY", "force_start"}), nullptr, kMonday + 1h).write->start, kMonday)
      << "Slurm knows what to do";
}

class ScheduledTest : public NodeSetTest {
 protected:
  ScheduledTest() {
    set.spec.update_strategy = Spec(kNow + 1h).update_strategy;
    set.metadata.finalizers.emplace_back(kFinalizerReservation);
    Tell(nullptr);
    for (int ordinal : {0, 1}) Worker_(ordinal, {NodeFlag::kIdle});
  }
  void Tell(std::shared_ptr<const slurm::Reservation> reservation) {
    answers.entries()["Slurm reservation slurm/main/" + std::string(kName)] = {
        .state = reservation ? plan::AnswerState::kKnown : plan::AnswerState::kAbsent, .value = reservation};
  }
  void Begin() {
    Tell(std::make_shared<const slurm::Reservation>(Present(kNow - 1min)));
    for (slurm::Node& node : nodes) {
      node.state.Add(NodeFlag::kMaintenance);
      node.reservation = kName;
    }
  }
};

TEST_F(ScheduledTest, TheFinalizerComesBeforeTheReservation) {
  set.metadata.finalizers.pop_back();
  EXPECT_THAT(Acts(Look(2)), ElementsAre("add finalizer NodeSet slurm/w"));
  set.metadata.finalizers.emplace_back(kFinalizerReservation);
  const plan::Plan plan = Look(2);
  EXPECT_THAT(Proofs(plan.actions.back()), ::testing::SizeIs(1)) << "the NodeSet may be gone, or ask for another";
  EXPECT_THAT(Acts(plan), ElementsAre("write reservation Slurm reservation slurm/main/SlurmOperatorMaint-w"));
  EXPECT_EQ(ConditionOf(plan, api::kReservationCreated).status, "False");
  Tell(std::make_shared<const slurm::Reservation>(Present(kNow + 1h)));
  EXPECT_THAT(Acts(Look(2)), IsEmpty());
  EXPECT_EQ(ConditionOf(Look(2), api::kReservationCreated).reason, "Created");
}

TEST_F(ScheduledTest, ATimeThatPassedBeforeSlurmHeardOfItTakesTheFormerOneAway) {
  Tell(std::make_shared<const slurm::Reservation>(Present(kNow + 2h)));
  set.spec.update_strategy->scheduled_update->start_time = kNow - 1min;
  const plan::Plan plan = Look(2);
  EXPECT_THAT(Acts(plan), ElementsAre("remove reservation Slurm reservation slurm/main/SlurmOperatorMaint-w"));
}

TEST_F(ScheduledTest, AnotherTimeIsAnotherReservation) {
  Tell(std::make_shared<const slurm::Reservation>(Present(kNow + 2h)));
  const plan::Plan plan = Look(2);
  ASSERT_THAT(Acts(plan), ElementsAre("remove reservation Slurm reservation slurm/main/SlurmOperatorMaint-w",
                                      "write reservation Slurm reservation slurm/main/SlurmOperatorMaint-w"));
  EXPECT_THAT(plan.actions[1].after, ElementsAre(plan.actions[0].id()));
}

TEST_F(ScheduledTest, NothingIsDoneWhileSlurmDoesNotTell) {
  answers.entries().clear();
  const plan::Plan plan = Look(2);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_EQ(ConditionOf(plan, api::kReservationCreated).status, "Unknown");
  Tell(nullptr);
  slurm.state = plan::SlurmLook::State::kUnreachable;
  EXPECT_THAT(Acts(Look(2)), IsEmpty());
}

TEST_F(ScheduledTest, WorkersAreRenewedWithinItAllAtOnce) {
  set.spec.extra_conf = "Weight=2";
  Tell(std::make_shared<const slurm::Reservation>(Present(kNow + 1h)));
  EXPECT_THAT(Acts(Look(2)), IsEmpty()) << "it has not begun";
  Begin();
  const plan::Plan plan = Look(2);
  EXPECT_THAT(Acts(plan), ElementsAre("cordon Pod slurm/w-1", "drain Slurm node slurm/main/w-1", "cordon Pod slurm/w-0",
                                      "drain Slurm node slurm/main/w-0"));
  EXPECT_EQ(plan.actions.back().event->reason, "ScheduledUpdate");
  for (slurm::Node& node : nodes) node.reservation = "others";
  EXPECT_THAT(Acts(Look(2)), IsEmpty()) << "another reservation says nothing of an update";
}

TEST_F(ScheduledTest, AnOldWorkerThatIsOutOfServiceDoesNotWaitForIt) {
  set.spec.extra_conf = "Weight=2";
  nodes[1].state = slurm::NodeState{NodeFlag::kDown};
  nodes[1].reason = slurm::kReasonNotResponding;
  Tell(std::make_shared<const slurm::Reservation>(Present(kNow + 1h)));
  EXPECT_THAT(Acts(Look(2)), ElementsAre("cordon Pod slurm/w-1", "drain Slurm node slurm/main/w-1"));

  // One that a cordon held until now had been renewed instead of given back.
  nodes[1] = MakeNode(1, {NodeFlag::kIdle, NodeFlag::kDrain}, kOurDrain);
  EXPECT_THAT(Acts(Look(2)), ElementsAre("undrain Slurm node slurm/main/w-1"));
}

// Slurm refuses that for as long as the reservation lasts, and the worker would wait for nothing.
TEST_F(ScheduledTest, ARecordInTheReservationIsNotRemovedForANewWorker) {
  nodes.push_back(MakeNode(2, {NodeFlag::kIdle, NodeFlag::kDrain}, ScaleInReason({"slurm", "w-2"})));
  Begin();
  EXPECT_THAT(Acts(Look(3)), ::testing::Not(::testing::Contains("remove record Slurm node slurm/main/w-2")));
}

TEST_F(ScheduledTest, ItGoesWithTheLastWorkerOrWithTheStrategy) {
  const auto gone = ElementsAre("remove reservation Slurm reservation slurm/main/SlurmOperatorMaint-w",
                                "remove finalizer NodeSet slurm/w");
  set.spec.update_strategy->type = std::string(api::kUpdateOnDelete);
  EXPECT_THAT(Acts(Look(2)), gone);
  EXPECT_EQ(ConditionOf(Look(2), api::kReservationCreated).status, "");
  set.spec.update_strategy->type = std::string(api::kUpdateScheduled);
  nodes.clear();
  const plan::Plan plan = Look(0);
  EXPECT_THAT(Acts(plan),
              ::testing::IsSupersetOf({"remove reservation Slurm reservation slurm/main/SlurmOperatorMaint-w",
                                       "remove finalizer NodeSet slurm/w"}));
}

}  // namespace
}  // namespace capstan::op::nodeset
