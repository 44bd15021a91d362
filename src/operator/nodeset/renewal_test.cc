// How a new template reaches the workers.
#include "operator/nodeset/renewal.h"

#include "operator/host_keys.h"
#include "operator/nodeset/decide_test.h"
#include "operator/questions.h"

namespace capstan::op::nodeset {
namespace {

using slurm::NodeFlag;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

class RenewalTest : public NodeSetTest {
 protected:
  RenewalTest() { set.spec.update_strategy = api::NodeSetUpdateStrategy{.type = std::string(api::kUpdateRolling)}; }

  void AllowUnavailable(json::IntOrString most) {
    set.spec.update_strategy->rolling_update = api::NodeSetRollingUpdate{.max_unavailable = std::move(most)};
  }
  // From now on workers are made from another template than those that are there.
  void ChangeTemplate(std::string extra_conf = "Weight=2") { set.spec.extra_conf = std::move(extra_conf); }
  void IdleWorkers(int count) {
    for (int ordinal = 0; ordinal < count; ++ordinal) Worker_(ordinal, {NodeFlag::kIdle});
  }
  // Serving, of the template before ChangeTemplate().
  Pod MakeOld(int ordinal) {
    Pod pod = MakePod(ordinal);
    pod.metadata.labels[std::string(kLabelRevision)] = "old";
    return pod;
  }
  // Told to go for an update, and drained.
  void Going(int ordinal, NodeFlag base) {
    PutMarked(MakePod(ordinal));
    const std::string name = "w-" + std::to_string(ordinal);
    std::erase_if(nodes, [&](const slurm::Node& node) { return node.name == name; });
    nodes.push_back(MakeNode(ordinal, {base, NodeFlag::kDrain}, ScaleInReason({"slurm", name})));
  }
  // The same worker, of the template as it is now.
  void Renewed(int ordinal, bool ready = true) { Put(MakePod(ordinal, "Running", ready)); }
  void MakeControllerProgress(std::string message) {
    api::Controller controller{.metadata = {.name = "main", .namespace_ = "slurm", .uid = "c-uid"}};
    controller.status.conditions.push_back({.type = std::string(api::kProgressing),
                                            .status = "True",
                                            .reason = "Starting",
                                            .message = std::move(message)});
    Put(std::move(controller));
  }
};

TEST_F(RenewalTest, OneOfFourIsDrainedAfterTheOther) {
  IdleWorkers(4);
  EXPECT_THAT(Acts(Look(4)), IsEmpty());
  ChangeTemplate();
  const plan::Plan plan = Look(4);
  EXPECT_THAT(Acts(plan), ElementsAre("cordon Pod slurm/w-3", "drain Slurm node slurm/main/w-3"));
  EXPECT_EQ(plan.actions.back().event->reason, "RollingUpdate");
  EXPECT_THAT(ConditionOf(plan, "Progressing").message, HasSubstr("4 of 4 workers are of an older template"));
}

// Workers that ran would have made way for ones that wait for a Secret.
TEST_F(RenewalTest, NoneGoesWhileWhatSshNeedsIsNotThere) {
  IdleWorkers(2);
  set.spec.ssh = api::NodeSetSsh{.enabled = true, .sssd_conf_ref = {.name = "sssd", .key = "sssd.conf"}};
  const auto know = [this](const std::string& question, auto value) {
    answers.entries()[question] = {.state = plan::AnswerState::kKnown,
                                   .value = std::make_shared<const decltype(value)>(std::move(value))};
  };
  SecretDigest::Value keys;
  for (const std::string_view file : kHostKeyFiles) keys.digests.emplace(file, "x");
  answers.entries()["secret slurm/w-ssh-host-keys"] = {.state = plan::AnswerState::kAbsent};
  know("secret slurm/sssd", SecretDigest::Value{{{"sssd.conf", "x"}}});
  EXPECT_THAT(Acts(Look(2)), ElementsAre("create Secret slurm/w-ssh-host-keys"));
  know("secret slurm/w-ssh-host-keys", keys);
  know("host keys slurm/w-ssh-host-keys", std::string());
  answers.entries()["secret slurm/sssd"] = {.state = plan::AnswerState::kAbsent};
  const plan::Plan plan = Look(2);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_THAT(ConditionOf(plan, "Progressing").message,
              HasSubstr("what sshd and SSSD of a new worker read is not there"));
  know("secret slurm/sssd", SecretDigest::Value{{{"sssd.conf", "x"}}});
  EXPECT_THAT(Acts(Look(2)), ElementsAre("cordon Pod slurm/w-1", "drain Slurm node slurm/main/w-1"));
}

TEST_F(RenewalTest, ADrainedOneIsDeletedByProofAndComesBackOfTheNewTemplate) {
  IdleWorkers(2);
  const Pod old = MakePod(1);
  ChangeTemplate();
  PutMarked(old);
  nodes[1] = MakeNode(1, {NodeFlag::kIdle, NodeFlag::kDrain}, kOurDrain);
  const plan::Plan plan = Look(2);
  ASSERT_THAT(Acts(plan), Contains("delete Pod slurm/w-1"));
  const auto& removal = plan.actions.back();
  EXPECT_THAT(Proofs(removal), ::testing::SizeIs(2));
  EXPECT_THAT(removal.reason, StartsWith("update to revision"));
}

TEST_F(RenewalTest, MaxUnavailableIsACountOrAPercentageRoundedUp) {
  IdleWorkers(5);
  ChangeTemplate();
  const auto told = [&](json::IntOrString most) {
    AllowUnavailable(std::move(most));
    return std::ranges::count_if(Acts(Look(5)), [](const std::string& act) { return act.starts_with("drain"); });
  };
  EXPECT_EQ(told(2), 2);
  EXPECT_EQ(told("25%"), 2);
  EXPECT_EQ(told("100%"), 5);
  EXPECT_EQ(told(7), 5);
}

TEST_F(RenewalTest, ANewWorkerThatIsNotInServiceHoldsTheNext) {
  IdleWorkers(3);
  ChangeTemplate();
  Renewed(2, false);
  plan::Plan plan = Look(3);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_THAT(ConditionOf(plan, "Progressing").message,
              HasSubstr("the next goes when fewer than 1 are out of service (now 1)"));
  Renewed(2);
  EXPECT_THAT(Acts(Look(3)), Contains("drain Slurm node slurm/main/w-1"));
}

TEST_F(RenewalTest, AMissingWorkerCounts) {
  IdleWorkers(2);
  ChangeTemplate();
  EXPECT_THAT(Acts(Look(3)), Not(Contains(StartsWith("drain"))));
}

// Else a fleet of which nothing works could not be mended by a better template.
TEST_F(RenewalTest, OldOnesThatAreOutOfServiceAreRenewedBesideTheBudget) {
  for (int ordinal = 0; ordinal < 3; ++ordinal) {
    Put(MakePod(ordinal, "Running", false));
    nodes.push_back(MakeNode(ordinal, {NodeFlag::kDown}, "Not responding"));
  }
  ChangeTemplate();
  EXPECT_THAT(Acts(Look(3)), IsSupersetOf({"drain Slurm node slurm/main/w-0", "drain Slurm node slurm/main/w-1",
                                           "drain Slurm node slurm/main/w-2"}));
}

// Kubelets that are away for a moment drained a whole set at its next update.
TEST_F(RenewalTest, OldOnesThatAreNotReadyForAMomentCountAndWait) {
  IdleWorkers(3);
  for (int ordinal = 0; ordinal < 3; ++ordinal) {
    Pod pod = MakePod(ordinal, "Running", false);
    pod.status.conditions[0].last_transition_time = kNow - 20s;
    Put(pod);
  }
  ChangeTemplate();
  const plan::Plan plan = Look(3);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_EQ(plan.requeue_after, 40s);
  Put(MakeOld(0));
  Put(MakeOld(1));
  EXPECT_THAT(Acts(Look(3)), Contains("drain Slurm node slurm/main/w-2")) << "it is out of service anyway";
  EXPECT_THAT(Acts(Look(3)), Not(Contains("drain Slurm node slurm/main/w-1")));
}

// slurmd is up, so the pod is ready; slurmctld takes no node of that size.
TEST_F(RenewalTest, AnUpdateThatSlurmRefusesStops) {
  IdleWorkers(3);
  ChangeTemplate();
  Pod renewed = MakePod(2);
  renewed.metadata.creation_timestamp = kNow - 1min;
  Put(renewed);
  const auto drained = [&](std::string reason, std::string by, Time at, std::vector<NodeFlag> more = {}) {
    more.insert(more.end(), {NodeFlag::kIdle, NodeFlag::kDrain});
    nodes[2] = MakeNode(2, more, std::move(reason));
    nodes[2].reason_set_by = std::move(by);
    nodes[2].reason_changed_at = at;
    return Acts(Look(3));
  };
  EXPECT_THAT(drained("Low RealMemory", "slurm", kNow - 30s), IsEmpty());
  EXPECT_THAT(drained("gres/gpu count", "root", kNow - 2min, {NodeFlag::kInvalidReg}), IsEmpty());
  EXPECT_THAT(drained("bad disk", "slurm", kNow - 2min), Contains("drain Slurm node slurm/main/w-1")) << "from before";
  EXPECT_THAT(drained("bad disk", "ada", kNow - 30s), Contains("drain Slurm node slurm/main/w-1")) << "a person";
}

// A person's drain of a worker that had been renewed held up nothing, and a person's DOWN everything.
TEST_F(RenewalTest, WhatAPersonTookDownHoldsUpNothing) {
  IdleWorkers(2);
  ChangeTemplate();
  Renewed(1);
  nodes[1] = MakeNode(1, {NodeFlag::kDown}, "look at the disk");
  EXPECT_THAT(Acts(Look(2)), Contains("drain Slurm node slurm/main/w-0"));
  nodes[1] = MakeNode(1, {NodeFlag::kDown}, "Not responding");
  EXPECT_THAT(Acts(Look(2)), Not(Contains("drain Slurm node slurm/main/w-0")));
}

// Workers marked in a scale-in that ended before their drains: an update went on with all of them.
TEST_F(RenewalTest, MarksOfAFormerScaleInDoNotWidenTheBudget) {
  IdleWorkers(4);
  for (int ordinal = 0; ordinal < 3; ++ordinal) PutMarked(MakePod(ordinal));
  ChangeTemplate();
  EXPECT_THAT(Acts(Look(4)),
              ElementsAre("drain Slurm node slurm/main/w-0", "uncordon Pod slurm/w-1", "uncordon Pod slurm/w-2"));
}

TEST_F(RenewalTest, WhoGoesStaysWhileNoneCanBeMade) {
  IdleWorkers(2);
  const Pod old = MakePod(1);
  ChangeTemplate("Weight");
  PutMarked(old);
  nodes[1] = MakeNode(1, {NodeFlag::kIdle, NodeFlag::kDrain}, kOurDrain);
  EXPECT_THAT(Acts(Look(2)), Not(Contains("delete Pod slurm/w-1")));
  ChangeTemplate();
  EXPECT_THAT(Acts(Look(2)), Contains("delete Pod slurm/w-1"));
}

// Whoever became idle last used to take the place of one that was being drained.
TEST_F(RenewalTest, WhoIsGoingStaysChosenAlthoughAnotherIsIdleNow) {
  IdleWorkers(3);
  Going(0, NodeFlag::kAllocated);
  ChangeTemplate();
  EXPECT_THAT(Acts(Look(3)), IsEmpty());
}

TEST_F(RenewalTest, IdleOnesGoFirstAndThoseThatAPersonHoldsLast) {
  Worker_(0, {NodeFlag::kAllocated});
  Worker_(1, {NodeFlag::kIdle});
  Worker_(2, {NodeFlag::kIdle, NodeFlag::kDrain}, "broken fan");
  ChangeTemplate();
  EXPECT_THAT(Acts(Look(3)), ElementsAre("cordon Pod slurm/w-1", "drain Slurm node slurm/main/w-1"));
  Renewed(1);
  EXPECT_THAT(Acts(Look(3)), ElementsAre("cordon Pod slurm/w-0", "drain Slurm node slurm/main/w-0"));
  Renewed(0);
  EXPECT_THAT(Acts(Look(3)), Contains("cordon Pod slurm/w-2"));
}

// A job without a limit held up the update, while another worker was free in a minute.
TEST_F(RenewalTest, OfBusyOnesTheOneGoesWhoseJobsEndFirst) {
  for (int ordinal = 0; ordinal < 2; ++ordinal) Worker_(ordinal, {NodeFlag::kAllocated});
  ChangeTemplate();
  plan::Plan plan = Look(2);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_TRUE(plan.slurm_jobs);
  slurm::Job endless, short_one;
  endless.state = short_one.state = {slurm::JobFlag::kRunning};
  endless.nodes = "w-1";
  short_one.nodes = "w-0";
  endless.start_time = short_one.start_time = kNow;
  short_one.time_limit = 1min;
  jobs = std::make_shared<const std::vector<slurm::Job>>(std::vector{endless, short_one});
  EXPECT_THAT(Acts(Look(2)), ElementsAre("cordon Pod slurm/w-0", "drain Slurm node slurm/main/w-0"));
}

TEST_F(RenewalTest, WhileSlurmIsNotHeardNobodyIsChosenAndTheChosenStay) {
  IdleWorkers(3);
  Going(0, NodeFlag::kAllocated);
  ChangeTemplate();
  AllowUnavailable(2);
  slurm.state = plan::SlurmLook::State::kUnreachable;
  EXPECT_THAT(Acts(Look(3)), IsEmpty());
}

TEST_F(RenewalTest, TheOldTemplatePutBackEndsIt) {
  IdleWorkers(3);
  Going(0, NodeFlag::kAllocated);
  EXPECT_THAT(Acts(Look(3)), ElementsAre("uncordon Pod slurm/w-0")) << "and the drain is lifted once that is done";
}

TEST_F(RenewalTest, OnDeleteRenewsNobody) {
  set.spec.update_strategy->type = api::kUpdateOnDelete;
  IdleWorkers(3);
  ChangeTemplate();
  const plan::Plan plan = Look(3);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_EQ(ConditionOf(plan, "Progressing").status, "False");
}

TEST_F(RenewalTest, TheControllerComesFirst) {
  IdleWorkers(2);
  ChangeTemplate();
  MakeControllerProgress("pod main-controller-0 is not ready");
  const plan::Plan plan = Look(2);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_THAT(ConditionOf(plan, "Progressing").message,
              HasSubstr("its Controller comes first, which is not settled (pod main-controller-0 is not ready)"));
}

TEST_F(RenewalTest, ATemplateOfWhichNoWorkerCanBeMadeRenewsNobody) {
  IdleWorkers(2);
  ChangeTemplate("Weight");
  EXPECT_THAT(Acts(Look(2)), IsEmpty());
}

// A worker that goes in a scale-in is none of the update's.
TEST_F(RenewalTest, ScaleInAndUpdateGoTogether) {
  IdleWorkers(3);
  ChangeTemplate();
  EXPECT_THAT(Acts(Look(2)), ElementsAre("cordon Pod slurm/w-2", "drain Slurm node slurm/main/w-2",
                                         "cordon Pod slurm/w-1", "drain Slurm node slurm/main/w-1"));
}

}  // namespace
}  // namespace capstan::op::nodeset
