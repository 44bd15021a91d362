// Who goes when there are too many.
#include "operator/nodeset/decide_test.h"
#include "plan/objects/effects.h"

namespace capstan::op::nodeset {
namespace {

using slurm::JobFlag;
using slurm::NodeFlag;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class ScaleInTest : public NodeSetTest {
 protected:
  static slurm::Job JobOn(std::string hosts, Duration began_ago, std::optional<Duration> limit,
                          slurm::JobState state = {JobFlag::kRunning}) {
    slurm::Job job;
    job.state = state;
    job.nodes = std::move(hosts);
    job.start_time = kNow - began_ago;
    job.time_limit = limit;
    return job;
  }
  void Hear(std::vector<slurm::Job> heard) { jobs = std::make_shared<const std::vector<slurm::Job>>(std::move(heard)); }
  // Chosen before, and told so.
  void Going(int ordinal, std::vector<NodeFlag> flags) {
    flags.push_back(NodeFlag::kDrain);
    Worker_(ordinal, std::move(flags), ScaleInReason({"slurm", "w-" + std::to_string(ordinal)}));
    PutMarked(MakePod(ordinal));
  }
};

TEST_F(ScaleInTest, StoppedAllGoWhateverTheNumberSays) {
  Worker_(0, {NodeFlag::kIdle});
  Worker_(1, {NodeFlag::kAllocated});
  set.metadata.annotations[std::string(kAnnotationStopped)] = "true";
  EXPECT_THAT(Acts(Look(2)), ::testing::IsSupersetOf({"cordon Pod slurm/w-0", "cordon Pod slurm/w-1"}));
  set.metadata.annotations.clear();
  EXPECT_THAT(Acts(Look(2)), IsEmpty());
}

// An administrator scales in by one and waits a week for the job on the last worker, while another was to be free in
// ten minutes.
TEST_F(ScaleInTest, OfBusyWorkersThoseGoWhoseJobsEndFirst) {
  for (int ordinal = 0; ordinal < 4; ++ordinal) Worker_(ordinal, {NodeFlag::kAllocated});
  Hear({JobOn("w-[0-1]", 50min, 1h), JobOn("w-0", 0s, 8h), JobOn("w-2", 48h, std::nullopt), JobOn("w-3", 1h, 3h)});
  EXPECT_THAT(Acts(Look(3)), ElementsAre("cordon Pod slurm/w-1", "drain Slurm node slurm/main/w-1"));
  EXPECT_THAT(Acts(Look(2)), ::testing::IsSupersetOf({"cordon Pod slurm/w-1", "cordon Pod slurm/w-3"}));
  EXPECT_THAT(Acts(Look(1)), ::testing::Not(Contains("cordon Pod slurm/w-2")))
      << "without a limit it may take for ever";
}

TEST_F(ScaleInTest, JobsAreReadOnlyWhileBusyWorkersMustBeChosenAmong) {
  Worker_(0, {NodeFlag::kIdle});
  Worker_(1, {NodeFlag::kMixed});
  Worker_(2, {NodeFlag::kMixed});
  EXPECT_FALSE(Look(3).slurm_jobs) << "nobody goes";
  EXPECT_FALSE(Look(2).slurm_jobs) << "the idle one goes";
  EXPECT_FALSE(Look(0).slurm_jobs) << "all go";
  EXPECT_TRUE(Look(1).slurm_jobs);
  Hear({JobOn("w-[1-2]", 0s, 1h)});
  EXPECT_TRUE(Look(1).slurm_jobs) << "nobody has been told yet";
  nodes.clear();
  Worker_(1, {NodeFlag::kMixed});
  Going(0, {NodeFlag::kIdle});
  Going(2, {NodeFlag::kMixed});
  EXPECT_FALSE(Look(1).slurm_jobs) << "the choice is made";
  slurm.state = plan::SlurmLook::State::kUnreachable;
  EXPECT_FALSE(Look(0).slurm_jobs);
}

TEST_F(ScaleInTest, TheChoiceAmongBusyWorkersWaitsForTheirJobsButNotForEver) {
  Worker_(0, {NodeFlag::kAllocated});
  Worker_(1, {NodeFlag::kAllocated});
  plan::Plan plan = Look(1);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_THAT(plan.slurm_expects, ElementsAre("w-0", "w-1"));
  EXPECT_LE(plan.requeue_after, 1s);

  held["choice down to 1"] = Tick() - 3s;
  slurm.age = 1s;
  Hear({JobOn("w-0", 0s, 1h), JobOn("w-1", 0s, 2h)});
  slurm.jobs_age = 10s;
  EXPECT_THAT(Acts(Look(1)), IsEmpty()) << "they were read before it had to be chosen";
  slurm.jobs_age = 2s;
  EXPECT_THAT(Acts(Look(1)), Contains("cordon Pod slurm/w-0"));

  jobs = nullptr;
  held["choice down to 1"] = Tick() - 30s;
  held["jobs for the choice down to 1"] = Tick() - 14s;
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  held["jobs for the choice down to 1"] = Tick() - 15s;
  plan = Look(1);
  EXPECT_THAT(Acts(plan), Contains("cordon Pod slurm/w-1"));
  EXPECT_TRUE(plan.slurm_jobs) << "were they forgotten now, others would come first before this is written down";
}

TEST_F(ScaleInTest, JobsAreAskedForAndAwaitedTwoMinutesAtMostHoweverOftenSlurmGoes) {
  Worker_(0, {NodeFlag::kAllocated});
  Worker_(1, {NodeFlag::kAllocated});
  held["choice down to 1"] = Tick() - 119s;
  const plan::Plan plan = Look(1);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_TRUE(plan.slurm_jobs);
  EXPECT_LE(plan.requeue_after, 1s);
  held["choice down to 1"] = Tick() - 2min;
  EXPECT_THAT(Acts(Look(1)), Contains("cordon Pod slurm/w-1"));
  EXPECT_FALSE(Look(1).slurm_jobs);
}

// A slurmrestd that dies of the question for jobs was asked it for ever, and nobody was ever chosen.
TEST_F(ScaleInTest, TheTimeToChooseGoesOnWhileSlurmIsNotHeard) {
  Worker_(0, {NodeFlag::kAllocated});
  Worker_(1, {NodeFlag::kAllocated});
  slurm.state = plan::SlurmLook::State::kUnreachable;
  Look(1);
  EXPECT_THAT(facts, Contains(::testing::Key("choice down to 1")));
  Look(2);
  EXPECT_THAT(facts, ::testing::Not(Contains(::testing::Key("choice down to 1"))));
}

// Idle for one poll between two jobs, another would go: the one that had been chosen took new jobs until that was seen.
TEST_F(ScaleInTest, WhoWasChosenStaysSoWhileTheChoiceIsOpen) {
  Worker_(0, {NodeFlag::kIdle});
  Going(1, {NodeFlag::kAllocated});
  Worker_(2, {NodeFlag::kAllocated});
  slurm.age = 10s;
  EXPECT_THAT(Acts(Look(2)), IsEmpty());
  slurm.age = 0s;
  slurm.state = plan::SlurmLook::State::kUnreachable;
  EXPECT_THAT(Acts(Look(2)), IsEmpty());
}

TEST_F(ScaleInTest, WhoWasChosenGoesWhileTheChoiceOfTheOthersIsOpen) {
  Worker_(0, {NodeFlag::kIdle});
  Worker_(1, {NodeFlag::kIdle});
  Going(2, {NodeFlag::kIdle});
  slurm.age = 10s;
  EXPECT_THAT(Acts(Look(1)), ElementsAre("delete Pod slurm/w-2"));
}

TEST_F(ScaleInTest, WhoGoesInAnyCaseDoesNotWaitForJobs) {
  Worker_(0, {NodeFlag::kAllocated});
  Worker_(1, {NodeFlag::kIdle});
  Worker_(2, {NodeFlag::kAllocated});
  Going(3, {NodeFlag::kIdle});
  EXPECT_THAT(Acts(Look(1)),
              UnorderedElementsAre("cordon Pod slurm/w-1", "drain Slurm node slurm/main/w-1", "delete Pod slurm/w-3"));
}

TEST_F(ScaleInTest, WhoWasChosenStaysChosenUntilAnotherIsIdle) {
  Worker_(0, {NodeFlag::kAllocated});
  Going(1, {NodeFlag::kAllocated});
  Worker_(2, {NodeFlag::kAllocated});
  Hear({JobOn("w-[0,2]", 0s, 1min), JobOn("w-1", 0s, 8h)});
  EXPECT_THAT(Acts(Look(2)), IsEmpty());
  EXPECT_THAT(Acts(Look(1)), UnorderedElementsAre("cordon Pod slurm/w-2", "drain Slurm node slurm/main/w-2"))
      << "one more of those that are left";
  nodes[0] = MakeNode(0, {NodeFlag::kIdle});
  EXPECT_THAT(Acts(Look(2)), UnorderedElementsAre("cordon Pod slurm/w-0", "drain Slurm node slurm/main/w-0"));
  PutMarked(MakePod(0));
  EXPECT_THAT(Acts(Look(2)), ElementsAre("drain Slurm node slurm/main/w-0")) << "it may get a job until then";
  nodes[0] = MakeNode(0, {NodeFlag::kIdle, NodeFlag::kDrain}, ScaleInReason({"slurm", "w-0"}));
  EXPECT_THAT(Acts(Look(2)), Contains("uncordon Pod slurm/w-1"));
}

TEST_F(ScaleInTest, WhoWasChosenIsLetGoAfterTwoMinutesThoughAnotherCannotBeTold) {
  Worker_(0, {NodeFlag::kIdle});
  Going(1, {NodeFlag::kAllocated});
  held["choice down to 1"] = Tick() - 119s;
  EXPECT_THAT(Acts(Look(1)), ::testing::Not(Contains("uncordon Pod slurm/w-1")));
  held["choice down to 1"] = Tick() - 2min;
  EXPECT_THAT(Acts(Look(1)), Contains("uncordon Pod slurm/w-1"));
}

// A drain that was lifted while the worker's deletion was on its way let in a job, which died with the worker.
TEST_F(ScaleInTest, NoDrainIsLiftedBeforeTheMarkIsOffOnWhichADeletionHangs) {
  Worker_(0, {NodeFlag::kIdle, NodeFlag::kDrain}, ScaleInReason({"slurm", "w-0"}));
  EXPECT_THAT(Acts(Look(0)), ElementsAre("cordon Pod slurm/w-0"));
  PutMarked(MakePod(0));
  const plan::Plan plan = Look(0);
  ASSERT_THAT(Acts(plan), ElementsAre("delete Pod slurm/w-0"));
  const json::ObjectMeta& seen = stores.Of<Pod>().Find({"slurm", "w-0"})->metadata;
  const auto unchanged = plan::DeleteUnchanged({&kube::kPods, {"slurm", "w-0"}}, seen.uid, seen.resource_version, "");
  EXPECT_EQ(plan.actions.front().effect->content(), unchanged.effect->content());
  EXPECT_EQ(plan.actions.front().guards.size(), 2u);
  EXPECT_THAT(Acts(Look(1)), ElementsAre("uncordon Pod slurm/w-0"));
  Put(MakePod(0));
  EXPECT_THAT(Acts(Look(1)), ElementsAre("undrain Slurm node slurm/main/w-0"));
}

TEST_F(ScaleInTest, NoWorkerIsDeletedWhileItsDrainMayBeBeingLifted) {
  Going(0, {NodeFlag::kIdle});
  EXPECT_THAT(Acts(Look(0)), Contains("delete Pod slurm/w-0"));
  in_flight = {plan::NodeTarget("slurm/main", "w-0")};
  EXPECT_THAT(Acts(Look(0)), ::testing::Not(Contains("delete Pod slurm/w-0")));
}

// Found by the simulator: an operator that had just started marked workers before it had heard of any job, and those
// stayed chosen.
TEST_F(ScaleInTest, NobodyIsChosenWhileSlurmIsNotHeard) {
  Worker_(0, {NodeFlag::kIdle});
  Worker_(1, {NodeFlag::kAllocated});
  slurm.state = plan::SlurmLook::State::kUnheard;
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  EXPECT_THAT(Acts(Look(0)), ElementsAre("cordon Pod slurm/w-1", "cordon Pod slurm/w-0")) << "all go";
  slurm.state = plan::SlurmLook::State::kHeard;
  EXPECT_THAT(Acts(Look(1)), Contains("cordon Pod slurm/w-0"));
}

// The Slinky projects' operator wrote down when a worker's jobs end. What it wrote last stands there for ever.
TEST_F(ScaleInTest, WhatAFormerOperatorWroteAboutJobsRanksNobody) {
  for (const int ordinal : {0, 1}) {
    Worker_(ordinal, {NodeFlag::kAllocated});
    Pod pod = MakePod(ordinal);
    pod.metadata.annotations["nodeset.slinky.slurm.net/pod-deadline"] =
        ordinal == 0 ? "2026-01-01T00:00:00Z" : "2026-01-02T00:00:00Z";
    Put(pod);
  }
  held["choice down to 1"] = Tick() - 2min;
  EXPECT_THAT(Acts(Look(1)), Contains("cordon Pod slurm/w-1"));
}

TEST_F(ScaleInTest, TheEndOfJobsIsThatOfTheLastWhichHoldsTheNode) {
  std::vector<Pod> pods;
  std::vector<Worker> workers;
  for (int i = 0; i < 5; ++i) pods.push_back(MakePod(i));
  std::vector<const Worker*> all;
  for (int i = 0; i < 5; ++i) workers.push_back({.ordinal = i, .host = pods[i].metadata.name, .pod = &pods[i]});
  for (const Worker& worker : workers) all.push_back(&worker);
  slurm::Job completing = JobOn("w-3", 5min, 8h, {JobFlag::kCancelled, JobFlag::kCompleting});
  completing.end_time = kNow - 1s;
  const JobEnds ends = JobEndsOf(
      {JobOn("w-[0-1],other", 10min, 1h), JobOn("w-1", 10min, 30min), JobOn("w-2", 1h, 2h, {JobFlag::kSuspended}),
       JobOn("w-2", 0s, 9h, {JobFlag::kPending}), JobOn("w-2", 0s, 9h, {JobFlag::kCompleted}), completing,
       JobOn("w-[", 0s, 9h), JobOn("w-4", 0s, Duration::max())},
      all);
  EXPECT_THAT(ends, ElementsAre(Pair("w-0", kNow + 50min), Pair("w-1", kNow + 50min), Pair("w-2", kNow + 1h),
                                Pair("w-3", kNow - 1s), Pair("w-4", Time::max())));
}

// 61293abe: the comparison of the Go operator was not antisymmetric.
TEST_F(ScaleInTest, TheOrderIsTheDocumentedOne) {
  std::vector<Pod> pods;
  std::vector<slurm::Node> records(8);
  for (int i = 0; i < 8; ++i) pods.push_back(MakePod(i));
  pods[0].spec.node_name = "";                                                // not placed
  pods[1].status.phase = "Unknown";                                           // phase
  pods[2].status.conditions[0].status = "False";                              // not ready
  pods[3].metadata.annotations[std::string(kAnnotationDeletionCost)] = "-5";  // cheap
  records[4].state.Add(NodeFlag::kMixed);                                     // busy
  records[5].state.Add(NodeFlag::kAllocated);                                 // busy, and for longer
  std::vector<Worker> workers;
  for (int i = 0; i < 8; ++i) {
    workers.push_back({.ordinal = i, .host = pods[i].metadata.name, .pod = &pods[i], .node = &records[i]});
  }
  workers[6].cordon = "a person wants it";
  std::vector<const Worker*> order;
  for (const Worker& worker : workers) order.push_back(&worker);
  SortForScaleIn(order, {{"w-4", kNow + 1h}, {"w-5", Time::max()}});
  std::vector<int> ordinals;
  for (const Worker* worker : order) ordinals.push_back(worker->ordinal);
  EXPECT_THAT(ordinals, ElementsAre(0, 1, 2, 3, 6, 7, 4, 5));
}

}  // namespace
}  // namespace capstan::op::nodeset
