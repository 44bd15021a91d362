#include "slurm/rest_source_test.h"

#include <gmock/gmock.h>

namespace capstan::slurm {
namespace {

using ::testing::ElementsAre;
using testing::Fault;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST_F(RestSourceTest, ReadsNodesAsTheyAre) {
  slurm.UpdateNodes({"w-1"}, {.state = "DRAIN",
                              .reason = "disk",
                              .comment = "{\"a\":\"b\\n\"}",
                              .extra = {},
                              .topology = {},
                              .features = {},
                              .active_features = {},
                              .weight = {},
                              .user = "ann"});
  Start();
  const auto snapshot = source->Latest().snapshot;
  EXPECT_EQ(*snapshot->nodes, slurm.Nodes());
  EXPECT_EQ(snapshot->release, "26.05.5");
  EXPECT_EQ(snapshot->FindNode("w-1")->reason_set_by, "ann");
  EXPECT_EQ(snapshot->jobs, nullptr);
  EXPECT_FALSE(source->Latest().error);
}

TEST_F(RestSourceTest, AtRestItAsksEachSecondWhetherSomethingChangedAndNoMore) {
  Start();
  loop.Advance(5s);
  const auto before = source->Latest().snapshot;
  const size_t requests = server.requests();
  loop.Advance(60s);
  EXPECT_LE(server.requests() - requests, 61u);
  EXPECT_EQ(source->Latest().snapshot->generation, before->generation);
  EXPECT_EQ(source->Latest().snapshot->nodes, before->nodes);  // the same memory: nothing was decoded
  EXPECT_GT(source->Latest().snapshot->nodes_read.began, before->nodes_read.began);
  EXPECT_GE(source->counters().lists_unchanged, 55u);
}

// What Slurm says is shown on pods: it was a quarter of a minute behind when a job began that nobody had announced.
TEST_F(RestSourceTest, AtRestAChangeThatNobodyExpectsIsSeenInLittleMoreThanASecond) {
  Start();
  for (int i = 0; i < 20; ++i) {
    loop.Advance(5s + 137ms * i);
    const auto id = slurm.StartJob({.nodes = {"w-1"}, .whole_nodes = true, .user = "ann", .runs_for = {}});
    ASSERT_TRUE(id);
    EXPECT_LE(TimeUntil([&] { return StateOf("w-1").starts_with("ALLOCATED"); }, 1min), Duration(1200ms));
    slurm.CancelJob(*id);
    EXPECT_LE(TimeUntil([&] { return StateOf("w-1").starts_with("IDLE"); }, 1min), Duration(1200ms));
  }
}

// A list of all jobs costs a hundred times what that of nodes does.
TEST_F(RestSourceTest, AtRestJobsAreReadEachQuarterOfAMinuteAndHoldUpNoNodes) {
  Start();
  const auto wanted = source->WantJobs();
  loop.Advance(5s);
  const size_t nodes = server.RequestsFor("/slurm/v0.0.44/nodes/"), jobs = server.RequestsFor("/slurm/v0.0.44/jobs/");
  loop.Advance(60s);
  EXPECT_GE(server.RequestsFor("/slurm/v0.0.44/nodes/") - nodes, 55u);
  EXPECT_LE(server.RequestsFor("/slurm/v0.0.44/jobs/") - jobs, 4u);
}

TEST_F(RestSourceTest, AnExpectedChangeIsSeenWithinASecond) {
  Start();
  loop.Advance(3s);
  const std::string names[] = {"w-0"};
  source->ExpectChange(names, loop.Now() + 1min);
  loop.Advance(10s);
  slurm.UpdateNodes({"w-0"}, {.state = "DOWN", .reason = "x"});
  const Duration took = TimeUntil([&] { return StateOf("w-0").starts_with("DOWN"); }, 1min);
  EXPECT_GE(took, Duration(0));
  EXPECT_LE(took, Duration(700ms));
}

// Seen on a machine that was busy with other things: after one list of three nodes that took seconds, the operator did
// not look again for a minute, and a NodeSet whose workers were all idle was "Starting".
TEST_F(RestSourceTest, OneSlowAnswerAboutFewNodesPutsNothingOff) {
  Start();
  loop.Advance(3s);
  const std::string names[] = {"w-0"};
  source->ExpectChange(names, loop.Now() + 10min);
  server.SetLatency(6s);
  loop.Advance(20s);
  server.SetLatency(2ms);
  slurm.UpdateNodes({"w-0"}, {.state = "DOWN", .reason = "x"});
  const Duration took = TimeUntil([&] { return StateOf("w-0").starts_with("DOWN"); }, 5min);
  EXPECT_GE(took, Duration(0));
  EXPECT_LE(took, Duration(7s));  // the slow answer that is under way, and the next look
}

TEST_F(RestSourceTest, ExpectationsEnd) {
  Start();
  const std::string names[] = {"w-0"};
  source->ExpectChange(names, loop.Now() + 10s);
  loop.Advance(20s);
  const size_t requests = server.requests();
  loop.Advance(60s);
  EXPECT_LE(server.requests() - requests, 61u);
}

TEST_F(RestSourceTest, AnExpectationEndsWithTheLastWhoHoldsIt) {
  Start();
  auto first = source->Expect({"w-0"});
  auto second = source->Expect({"w-0", "w-1"});
  const auto asked = [this] {
    const size_t before = server.requests();
    loop.Advance(1min);
    return server.requests() - before;
  };
  EXPECT_GE(asked(), 100u);
  first.reset();
  EXPECT_GE(asked(), 100u);
  second.reset();
  EXPECT_LE(asked(), 61u);
}

TEST_F(RestSourceTest, TellsSubscribersOncePerChangeAndNothingElse) {
  Start();
  loop.Advance(20s);
  int calls = 0;
  auto subscription = source->Subscribe([&] { ++calls; });
  loop.Advance(5min);
  EXPECT_EQ(calls, 0);
  slurm.UpdateNodes({"w-0"}, {.state = "DRAIN", .reason = "x"});
  loop.Advance(1min);
  EXPECT_EQ(calls, 1);
  subscription.reset();
  slurm.UpdateNodes({"w-1"}, {.state = "DRAIN", .reason = "x"});
  loop.Advance(1min);
  EXPECT_EQ(calls, 1);
}

TEST_F(RestSourceTest, OwnWritesShowAtOnce) {
  Start();
  loop.Advance(5s);
  ASSERT_TRUE(Update("w-0", NodeAction::kDrain, "capstan: test"));
  EXPECT_LE(TimeUntil([&] { return StateOf("w-0") == "IDLE+DRAIN+DYNAMIC_NORM"; }, 1min), Duration(200ms));
  EXPECT_EQ(source->Latest().snapshot->FindNode("w-0")->reason, "capstan: test");
  ASSERT_EQ(server.writes().size(), 1u);
  EXPECT_EQ(server.writes()[0].target, "/slurm/v0.0.44/node/w-0");
  EXPECT_EQ(server.writes()[0].body, R"({"state":["DRAIN"],"reason":"capstan: test"})");
}

TEST_F(RestSourceTest, AFreshReadSeesWhatNoSnapshotHas) {
  Start();
  loop.Advance(5s);
  ASSERT_TRUE(slurm.StartJob({.nodes = {"w-0"}, .whole_nodes = true, .user = "ann", .runs_for = {}}));
  EXPECT_EQ(StateOf("w-0"), "IDLE+DYNAMIC_NORM");
  const Tick asked = loop.Now();
  const auto fresh = Await(source->ReadNodes({"w-9", "w-0"}, loop.After(5s)));
  ASSERT_TRUE(fresh) << fresh.error().message();
  EXPECT_TRUE(fresh->Find("w-0")->state.IsBusy());
  EXPECT_THAT(fresh->absent, ElementsAre("w-9"));
  EXPECT_GE(fresh->read.began, asked);
  EXPECT_EQ(StateOf("w-0"), "ALLOCATED+DYNAMIC_NORM");  // and the snapshot has learnt it
}

TEST_F(RestSourceTest, AListThatBeganEarlierNeverUndoesAFreshRead) {
  for (int i = 10; i < 60; ++i)
    slurm.StartSlurmd(
        {.name = "x-" + std::to_string(i), .address = "", .features = {}, .topology = "", .weight = 1, .cpus = 1});
  server.SetLatency(400ms);
  RestSource::Options options;
  options.fast = 100ms;
  Start(options);
  const std::string names[] = {"w-0"};
  source->ExpectChange(names, loop.Now() + 1h);
  std::string last = StateOf("w-0");
  int changes = 0;
  auto subscription = source->Subscribe([&] {
    if (StateOf("w-0") != last) ++changes, last = StateOf("w-0");
  });
  for (int round = 0; round < 20; ++round) {
    loop.Advance(Duration(37ms) * round);
    slurm.UpdateNodes({"w-0"}, {.state = "DRAIN", .reason = "x"});
    ASSERT_TRUE(Await(source->ReadNodes({"w-0"}, loop.After(30s)))->Find("w-0")->state.IsDraining());
    EXPECT_EQ(last, "IDLE+DRAIN+DYNAMIC_NORM") << "round " << round;
    loop.Advance(5s);
    slurm.UpdateNodes({"w-0"}, {.state = "IDLE"});
    loop.Advance(5s);
    EXPECT_EQ(last, "IDLE+DYNAMIC_NORM") << "round " << round;
  }
  EXPECT_EQ(changes, 40);
}

// Found by the simulator: with slurmctld's clock put back every list was "unchanged", and the operator repeated a write
// of its own every five seconds for as long as that lasted.
TEST_F(RestSourceTest, AClockThatWasPutBackHidesNoWrite) {
  Start();
  loop.Advance(20s);
  loop.JumpWallClock(-1h);
  const std::vector<std::string> names{"w-1"};
  ASSERT_TRUE(Await(source->UpdateNode({.names = names, .comment = "ours"}, loop.After(30s))));
  const auto noted = [this] { return source->Latest().snapshot->FindNode("w-1")->comment == "ours"; };
  EXPECT_TRUE(loop.RunUntil(noted, 2s));
}

// On a large cluster, where nodes are read one by one, such a list even took back what they had shown.
TEST_F(RestSourceTest, AListThatSaysUnchangedTakesNothingBack) {
  Start();
  loop.Advance(20s);
  loop.JumpWallClock(-1h);
  slurm.UpdateNodes({"w-1"}, {.state = "DRAIN", .reason = "disk"});
  ASSERT_TRUE(Await(source->ReadNodes({"w-1"}, loop.After(30s))));
  ASSERT_EQ(StateOf("w-1"), slurm.NodeNamed("w-1")->state.ToString());
  EXPECT_FALSE(loop.RunUntil([&] { return StateOf("w-1") != slurm.NodeNamed("w-1")->state.ToString(); }, 1min));
}

TEST_F(RestSourceTest, AFreshReadThatFailsIsAnErrorAndNeverAbsence) {
  Start();
  for (const Fault fault : {Fault::kRefused, Fault::kError500, Fault::kErrorsIn200, Fault::kHang, Fault::kLostAnswer,
                            Fault::kCutOff, Fault::kGarbage}) {
    server.SetFault(fault);
    for (const auto& names : {std::vector<std::string>{"w-0"}, std::vector<std::string>{"w-0", "w-1", "w-2", "w-3"}}) {
      const auto fresh = Await(source->ReadNodes(names, loop.After(5s)));
      if (fault == Fault::kCutOff && fresh) continue;  // only lists are cut off
      ASSERT_FALSE(fresh) << int(fault);
      EXPECT_TRUE(fresh.error().code() == Code::kUnavailable || fresh.error().code() == Code::kInvalid)
          << fresh.error().message();
    }
    server.Heal();
  }
}

TEST_F(RestSourceTest, AnErrorNeverEmptiesTheSnapshotAndSaysSinceWhen) {
  Start();
  loop.Advance(5s);
  const Tick broke = loop.Now();
  server.SetFault(Fault::kErrorsIn200);
  loop.Advance(2min);
  const auto view = source->Latest();
  EXPECT_EQ(view.snapshot->nodes->size(), 3u);
  ASSERT_TRUE(view.error);
  EXPECT_THAT(view.error->message(),
              HasSubstr("slurmrestd answered 200: Unspecified error (Slurm error 1): it failed"));
  EXPECT_GE(view.error_since, broke);
  EXPECT_LE(view.error_since, broke + 20s);
  EXPECT_GE(view.snapshot->Age(loop.Now()), Duration(100s));
}

TEST_F(RestSourceTest, RecoveryIsNoticedWithinFiveSecondsAfterAnyFault) {
  Start();
  for (const Fault fault :
       {Fault::kRefused, Fault::kError500, Fault::kErrorsIn200, Fault::kLostAnswer, Fault::kCutOff, Fault::kGarbage}) {
    server.SetFault(fault);
    loop.Advance(10min);
    ASSERT_TRUE(source->Latest().error) << int(fault);
    server.Heal();
    const Duration took = TimeUntil([&] { return !source->Latest().error; }, 1min);
    EXPECT_GE(took, Duration(0)) << int(fault);
    EXPECT_LE(took, Duration(5s)) << int(fault);
  }
}

TEST_F(RestSourceTest, NeverPilesUpRequestsHoweverSlowTheServer) {
  Start();
  server.SetLatency(50s);
  const std::string names[] = {"w-0", "w-1"};
  source->ExpectChange(names, loop.Now() + 1h);
  int done = 0;
  auto call = [](RestSource& s, async::Loop& l, int& count) -> async::Task<void> {
    (void)co_await s.ReadNodes({"w-0"}, l.After(20s));
    ++count;
  };
  for (int i = 0; i < 50; ++i) tasks.Spawn("read", call(*source, loop, done));
  ASSERT_TRUE(loop.RunUntil([&] { return done == 50; }, 30min));
  EXPECT_LE(server.max_in_flight(), 5u);  // the poller's and max_calls
}

TEST_F(RestSourceTest, WhileSlurmctldIsAwayOnlyThePingIsAsked) {
  Start();
  slurm.StopController();
  ASSERT_TRUE(loop.RunUntil([&] { return source->Latest().error.has_value(); }, 1min));
  const size_t lists = server.RequestsFor("/slurm/v0.0.44/nodes/");
  loop.Advance(10min);
  EXPECT_EQ(server.RequestsFor("/slurm/v0.0.44/nodes/"), lists);
  EXPECT_THAT(source->Latest().error->message(), HasSubstr("no slurmctld responds"));
  slurm.StartController();
  EXPECT_LE(TimeUntil([&] { return !source->Latest().error; }, 1min), Duration(5s));
}

TEST_F(RestSourceTest, TheQueueForSlurmdbdIsReadWithWhatItHolds) {
  Start();
  slurm.accounting_queue = 1234;
  const auto queue = Await(source->ReadAccountingQueue(loop.After(1min)));
  ASSERT_TRUE(queue) << queue.error().message();
  EXPECT_EQ(*queue, (AccountingQueue{.waiting = 1234, .capacity = 20'000}));
}

TEST_F(RestSourceTest, PartitionsAreReadBeforeTheJobsThatNameThem) {
  Start();
  slurm.partitions = {{"all", "UP"}, {"held", "DOWN"}, {"ends", "DRAIN"}, {"gone", "INACTIVE"}};
  const auto ended = slurm.StartJob({.nodes = {"w-0"}, .runs_for = {}});
  slurm.FinishJob(*ended);
  const auto one = slurm.StartJob({.nodes = {"w-1"}, .runs_for = {}, .partition = "ends"});
  const auto other = slurm.StartJob({.nodes = {"w-2"}, .runs_for = {}, .partition = "ends,gone"});
  std::string asked;
  server.SetFate([&](const net::Request& request) {
    for (const char* word : {"partitions/", "jobs/state/", "jobs/?"})
      if (request.target.contains(word)) asked += word;
    return Fault::kNone;
  });
  const auto use = Await(source->ReadPartitionUse(3, loop.After(1min)));
  ASSERT_TRUE(use) << use.error().message();
  EXPECT_EQ(asked, "partitions/jobs/state/jobs/?");
  std::vector<std::pair<std::string, bool>> open;
  for (const Partition& partition : use->partitions) open.emplace_back(partition.name, partition.open);
  EXPECT_THAT(open, ElementsAre(Pair("all", true), Pair("ends", false), Pair("gone", false), Pair("held", true)));
  EXPECT_EQ(use->Find("none"), nullptr);
  EXPECT_TRUE(use->jobs_read);
  EXPECT_EQ(use->jobs.at("ends"), (PartitionUse::Jobs{.ids = {*one, *other}, .over = 0}));
  EXPECT_EQ(use->jobs.at("gone"), (PartitionUse::Jobs{.ids = {*other}, .over = 0}));
  EXPECT_EQ(use->jobs.at("all").ids.size() + use->jobs.at("all").over, 1u);
}

// A minute went by before it was asked again, after slurmrestd's pod had been replaced.
TEST_F(RestSourceTest, ASlurmrestdThatHangsIsNotWaitedForAsForManyJobs) {
  Start();
  for (const char* hangs : {"partitions/", "jobs/state/", "jobs/?"}) {
    server.SetFate(
        [&](const net::Request& request) { return request.target.contains(hangs) ? Fault::kHang : Fault::kNone; });
    const Tick before = loop.Now();
    EXPECT_FALSE(Await(source->ReadPartitionUse(1000, loop.After(1min))));
    EXPECT_LE(loop.Now() - before, Duration(11s)) << hangs;
  }
}

TEST_F(RestSourceTest, JobsThatAreTooManyAreNotReadForTheirPartitions) {
  Start();
  for (const char* node : {"w-0", "w-1"}) ASSERT_TRUE(slurm.StartJob({.nodes = {node}, .runs_for = {}}));
  const auto use = Await(source->ReadPartitionUse(1, loop.After(1min)));
  ASSERT_TRUE(use) << use.error().message();
  EXPECT_FALSE(use->jobs_read);
  EXPECT_EQ(use->job_count, 2u);
  EXPECT_EQ(server.RequestsFor("/slurm/v0.0.44/jobs/?"), 0u);
}

// Before v0.0.45 nobody tells what it holds: Slurm's least is sure.
TEST_F(RestSourceTest, TheQueueOfAnOlderSlurmHoldsTheLeast) {
  testing::FakeSlurmrestd older(slurm, {.versions = {43, 44}});
  RestSource old(loop, older, [this](Duration lifetime) { return Sign(lifetime); });
  slurm.accounting_queue = 7;
  const auto queue = Await(old.ReadAccountingQueue(loop.After(1min)));
  ASSERT_TRUE(queue) << queue.error().message();
  EXPECT_EQ(*queue, (AccountingQueue{.waiting = 7, .capacity = 10'000}));
}

// A NodeSet that waited for the end of its reservation was never deleted.
TEST_F(RestSourceTest, AReservationThatIsNotThereIsDeletedAlsoWhereSlurmCanDeleteNone) {
  testing::FakeSlurm slurm_2411(loop, {.release = "24.11.5"});
  testing::FakeSlurmrestd slurmrestd(slurm_2411, {.versions = {40, 41, 42}});
  RestSource old(loop, slurmrestd, [this](Duration lifetime) { return Sign(lifetime); });
  const auto remove = [&] { return Await(old.DeleteReservation("r", loop.After(1min))); };
  EXPECT_TRUE(remove());
  slurm_2411.StartSlurmd(
      {.name = "w-0", .address = "10.0.0.1", .features = {}, .topology = "", .weight = 1, .cpus = 2});
  slurm_2411.WriteReservation(
      {.name = "r", .nodes = {"w-0"}, .flags = {}, .users = {"slurm"}, .start = loop.WallNow() + 1h, .duration = 1h});
  EXPECT_EQ(remove().error().message(),
            "deleting reservations: not supported by this Slurm (24.11.5); Slurm 25.05 and newer can");
  slurmrestd.SetFault(Fault::kError500);
  EXPECT_EQ(remove().error().code(), Code::kUnavailable);
}

TEST_F(RestSourceTest, ARestartedSlurmctldIsANewIncarnationAndAbsenceIsUnknownForAWhile) {
  Start();
  const Incarnation before = source->Latest().snapshot->incarnation;
  slurm.RestartController(testing::FakeSlurm::Lose::kNodes);
  const auto fresh = Await(source->ReadNodes({"w-0"}, loop.After(5s)));
  ASSERT_TRUE(fresh);
  EXPECT_THAT(fresh->absent, ElementsAre("w-0"));
  EXPECT_NE(fresh->incarnation.id, before.id);
  EXPECT_FALSE(fresh->incarnation.AbsenceIsKnown(fresh->read.began));
  loop.Advance(1min);
  EXPECT_EQ(source->Latest().snapshot->incarnation, fresh->incarnation);
  EXPECT_THAT(*source->Latest().snapshot->nodes, ::testing::IsEmpty())
      << "their slurmds have registered once, and do so no more";
  loop.Advance(6min);
  EXPECT_TRUE(source->Latest().snapshot->incarnation.AbsenceIsKnown(loop.Now()));
}

// Found by the simulator: a person had drained the node while slurmrestd, being slow, was asked for more than the node,
// and their reason was written over.
TEST_F(RestSourceTest, AFreshReadOfNodesThatExistAsksForNothingElse) {
  Start();
  loop.Advance(5s);
  server.SetLatency(2s);
  const Tick began = loop.Now();
  const auto fresh = Await(source->ReadNodes({"w-0"}, loop.After(30s)));
  ASSERT_TRUE(fresh);
  EXPECT_EQ(loop.Now() - began, Duration(2s));
}

TEST_F(RestSourceTest, ALongRunningSlurmctldIsKnownToBeOldFromTheFirstRead) {
  loop.Advance(1h);
  Start();
  EXPECT_TRUE(source->Latest().snapshot->incarnation.AbsenceIsKnown(loop.Now()));
}

TEST_F(RestSourceTest, ReadsJobsOnlyWhileSomebodyWantsThem) {
  Start();
  const auto id = slurm.StartJob(
      {.nodes = {"w-0", "w-1"}, .whole_nodes = true, .user = "ann", .runs_for = {}, .time_limit = 90min});
  auto wanted = source->WantJobs();
  ASSERT_TRUE(loop.RunUntil([&] { return source->Latest().snapshot->jobs != nullptr; }, 1s));
  ASSERT_EQ(source->Latest().snapshot->jobs->size(), 1u);
  EXPECT_EQ(source->Latest().snapshot->jobs->front(), slurm.jobs().at(*id));
  EXPECT_EQ(source->Latest().snapshot->jobs->front().nodes, "w-[0-1]");
  loop.Advance(5min);  // "no change" comes as an empty list, and is not taken for one
  EXPECT_EQ(source->Latest().snapshot->jobs->size(), 1u);
  EXPECT_GT(source->Latest().snapshot->jobs_read.began, Tick(4min));
  wanted.reset();
  loop.Advance(1min);
  EXPECT_EQ(source->Latest().snapshot->jobs, nullptr);
  const size_t asked = server.RequestsFor("/slurm/v0.0.44/jobs/");
  loop.Advance(5min);
  EXPECT_EQ(server.RequestsFor("/slurm/v0.0.44/jobs/"), asked);
}

// A list of all jobs may be too long for slurmrestd, while that of nodes is not. Nobody would know any more who is idle.
TEST_F(RestSourceTest, JobsThatCannotBeReadLeaveTheNodesHeard) {
  Start();
  server.SetFate(
      [](const net::Request& request) { return request.target.contains("/jobs/") ? Fault::kGarbage : Fault::kNone; });
  const auto wanted = source->WantJobs();
  loop.Advance(1min);
  EXPECT_GT(server.RequestsFor("/slurm/v0.0.44/jobs/"), 0u);
  EXPECT_FALSE(source->Latest().error);
  EXPECT_LT(source->Latest().snapshot->Age(loop.Now()), 20s);
  EXPECT_EQ(source->Latest().snapshot->jobs, nullptr);
  server.Heal();
  loop.Advance(20s);
  EXPECT_NE(source->Latest().snapshot->jobs, nullptr);
}

TEST_F(RestSourceTest, NodesOfSuspendedJobsAreToldThoughTheyShowNothing) {
  Start();
  EXPECT_THAT(*SuspendedOn(), IsEmpty());
  const auto running = slurm.StartJob({.nodes = {"w-0"}});
  const auto suspended = slurm.StartJob({.nodes = {"w-1", "w-2"}});
  ASSERT_TRUE(running && suspended && slurm.SuspendJob(*suspended));
  EXPECT_THAT(*SuspendedOn(), ElementsAre("w-1", "w-2"));
  slurm.CancelJob(*suspended);
  EXPECT_THAT(*SuspendedOn(), IsEmpty()) << "its nodes show that they tidy up after it";
}

TEST_F(RestSourceTest, WhichJobsAreSuspendedIsUnknownUnlessEveryAnswerMakesSense) {
  Start();
  const auto suspended = slurm.StartJob({.nodes = {"w-1"}});
  ASSERT_TRUE(suspended && slurm.SuspendJob(*suspended));
  for (const Fault fault : {Fault::kRefused, Fault::kError500, Fault::kErrorsIn200, Fault::kGarbage}) {
    for (const char* path : {"/jobs/state/", "/job/"}) {
      server.SetFate([&](const net::Request& request) {
        return request.target.find(path) != std::string::npos ? fault : Fault::kNone;
      });
      EXPECT_FALSE(SuspendedOn()) << path << " " << int(fault);
    }
  }
}

// One read for each would take longer than a proof may.
TEST_F(RestSourceTest, ManySuspendedJobsAreReadAsAList) {
  Start();
  for (int i = 0; i < 300; ++i) {
    const auto job = slurm.StartJob({.nodes = {"w-1"}});
    ASSERT_TRUE(job && slurm.SuspendJob(*job));
  }
  EXPECT_THAT(*SuspendedOn(), ElementsAre("w-1"));
  EXPECT_EQ(server.RequestsFor("/slurm/v0.0.44/job/"), 0u);
  EXPECT_EQ(server.RequestsFor("/slurm/v0.0.44/jobs/?"), 1u);
}

TEST_F(RestSourceTest, WritesSayWhatBecameOfThem) {
  Start();
  EXPECT_EQ(Update("nope", NodeAction::kDrain, "x").error().code(), Code::kNotFound);
  EXPECT_EQ(Update("w-0", NodeAction::kResume).error().code(), Code::kConflict);
  EXPECT_EQ(Update("w-0", NodeAction::kDrain).error().code(), Code::kInvalid);
  EXPECT_EQ(Update("w-[0-1]", NodeAction::kDrain, "x").error().code(), Code::kInvalid);
  ASSERT_TRUE(slurm.StartJob({.nodes = {"w-1"}, .whole_nodes = true, .user = "a", .runs_for = {}}));
  EXPECT_EQ(Await(source->DeleteNode("w-1", loop.After(5s))).error().code(), Code::kConflict);
  EXPECT_TRUE(Await(source->DeleteNode("nope", loop.After(5s))));
  EXPECT_TRUE(Await(source->DeleteNode("w-2", loop.After(5s))));
  EXPECT_FALSE(slurm.NodeNamed("w-2"));
  server.SetFault(Fault::kLostAnswer);
  EXPECT_EQ(Update("w-0", NodeAction::kDrain, "x").error().code(), Code::kUnknownOutcome);
  EXPECT_TRUE(slurm.NodeNamed("w-0")->state.IsDraining());
  server.SetFault(Fault::kRefused);
  EXPECT_EQ(Update("w-0", NodeAction::kDrain, "x").error().code(), Code::kUnavailable);
  server.SetFault(Fault::kErrorsIn200);
  EXPECT_FALSE(Update("w-0", NodeAction::kDrain, "x"));
}

TEST_F(RestSourceTest, OneUpdateOfManyNodesChangesAllOrNone) {
  Start();
  NodeUpdate update;
  update.names = {"w-0", "w-1"};
  update.action = NodeAction::kDrain;
  update.reason = "rack";
  ASSERT_TRUE(Await(source->UpdateNode(update, loop.After(5s))));
  EXPECT_TRUE(slurm.NodeNamed("w-0")->state.IsDraining() && slurm.NodeNamed("w-1")->state.IsDraining());
  update.names = {"w-2", "nope"};
  EXPECT_EQ(Await(source->UpdateNode(update, loop.After(5s))).error().code(), Code::kNotFound);
  EXPECT_FALSE(slurm.NodeNamed("w-2")->state.IsDraining());
}

TEST_F(RestSourceTest, TokensAreSignedAnewBeforeTheyExpireAndWhenRefused) {
  server.SetKey(key);
  Start();
  EXPECT_EQ(signed_tokens, 1);
  loop.Advance(1h);
  EXPECT_FALSE(source->Latest().error);
  EXPECT_GE(signed_tokens, 5);
  EXPECT_LE(signed_tokens, 6);
  key = Secret("another key of thirty-two bytes.");
  server.SetKey(key);
  ASSERT_TRUE(Await(source->ReadNodes({"w-0"}, loop.After(5s))));
  EXPECT_FALSE(source->Latest().error);
}

TEST_F(RestSourceTest, AWrongKeyIsUnauthenticatedAndEndsWithTheRightOne) {
  server.SetKey(Secret("the right one"));
  Start();
  ASSERT_TRUE(source->Latest().error);
  EXPECT_EQ(source->Latest().error->code(), Code::kUnauthenticated);
  key = Secret("the right one");
  EXPECT_LE(TimeUntil([&] { return !source->Latest().error; }, 1min), Duration(5s));
}

// The sentence that a NodeSet's condition passes on; it was slurmrestd's "Authentication failure" alone for a wrong key.
TEST_F(RestSourceTest, EachFaultIsToldInASentenceOfOneLine) {
  Start();
  const std::pair<Fault, const char*> faults[] = {{Fault::kRefused, "connect"},
                                                  {Fault::kError500, "slurmrestd answered 500: "},
                                                  {Fault::kErrorsIn200, "slurmrestd answered 200: "},
                                                  {Fault::kHang, "time"},
                                                  {Fault::kGarbage, "slurmrestd's answer makes no sense: "},
                                                  {Fault::kCutOff, "broke in the middle of the answer"}};
  for (const auto& [fault, words] : faults) {
    server.SetFault(fault);
    loop.Advance(5min);
    ASSERT_TRUE(source->Latest().error) << words;
    EXPECT_THAT(source->Latest().error->message(), HasSubstr(words));
    EXPECT_FALSE(source->Latest().error->message().contains('\n'));
    EXPECT_EQ(source->Latest().snapshot->nodes->size(), 3u) << "what was known stays";
  }
  server.Heal();
  loop.Advance(1min);
  server.SetKey(Secret("the right one"));
  loop.Advance(5min);
  ASSERT_TRUE(source->Latest().error);
  EXPECT_THAT(source->Latest().error->message(),
              HasSubstr("; the key that signs tokens is another than slurmctld's, or the clocks of the "
                        "machines differ"));
}

TEST_F(RestSourceTest, FallsBackToTheVersionThatTheServerHas) {
  for (const auto& versions : {std::vector{42}, std::vector{42, 43}, std::vector{45, 46}}) {
    testing::FakeSlurmrestd old(
        slurm, {.latency = 2ms, .per_node = 0ns, .versions = versions, .controller_patience = 10s, .piece = 7});
    RestSource other(loop, old, [this](Duration lifetime) { return Sign(lifetime); });
    async::TaskGroup group(loop);
    group.Spawn("poll", other.Run());
    EXPECT_TRUE(loop.RunUntil([&] { return other.Latest().snapshot != nullptr; }, 10s)) << versions[0];
    group.Cancel();
    loop.RunUntil([&] { return group.size() == 0; }, 1s);
  }
}

TEST_F(RestSourceTest, OldServersAreNeverAskedForChangesOfNodes) {
  testing::FakeSlurm::Options options;
  options.release = "25.11.4";
  testing::FakeSlurm old(loop, options);
  testing::FakeSlurmrestd front(
      old, {.latency = 2ms, .per_node = 0ns, .versions = {42, 43, 44}, .controller_patience = 10s, .piece = 100});
  RestSource other(loop, front, [this](Duration lifetime) { return Sign(lifetime); });
  async::TaskGroup group(loop);
  group.Spawn("poll", other.Run());
  loop.Advance(2min);
  old.StartSlurmd({.name = "n", .address = "", .features = {}, .topology = "", .weight = 1, .cpus = 1});
  loop.Advance(2min);
  EXPECT_FALSE(other.Latest().error);
  EXPECT_EQ(other.counters().failures, 0u);
  EXPECT_LE(other.counters().lists, 20u) << "its lists are whole ones";
  EXPECT_NE(other.Latest().snapshot->FindNode("n"), nullptr);
  group.Cancel();
  loop.RunUntil([&] { return group.size() == 0; }, 1s);
}

TEST_F(RestSourceTest, OnALargeClusterExpectedNodesAreReadOneByOne) {
  for (int i = 0; i < 2000; ++i)
    slurm.StartSlurmd(
        {.name = "big-" + std::to_string(i), .address = "", .features = {}, .topology = "", .weight = 1, .cpus = 1});
  testing::FakeSlurmrestd::Options options;
  options.per_node = 250us;
  options.piece = 60000;
  testing::FakeSlurmrestd front(slurm, options);
  RestSource other(loop, front, [this](Duration lifetime) { return Sign(lifetime); });
  async::TaskGroup group(loop);
  group.Spawn("poll", other.Run());
  loop.Advance(10s);
  const std::string names[] = {"big-7"};
  other.ExpectChange(names, loop.Now() + 1min);
  loop.Advance(5s);
  slurm.UpdateNodes({"big-7"}, {.state = "DRAIN", .reason = "x"});
  EXPECT_LE(TimeUntil([&] { return other.Latest().snapshot->FindNode("big-7")->state.IsDraining(); }, 1min),
            Duration(700ms));
  loop.Advance(1min);
  EXPECT_LE(other.counters().lists * 500ms, Duration(12s));  // a tenth of the time and a little
  group.Cancel();
  loop.RunUntil([&] { return group.size() == 0; }, 1s);
}

TEST_F(RestSourceTest, MixedAndAllocatedOfOneNodeDoNotMakeSnapshotsWaver) {
  Start();
  ASSERT_TRUE(slurm.StartJob({.nodes = {"w-0"}, .whole_nodes = false, .user = "a", .runs_for = {}}));
  loop.Advance(20s);
  EXPECT_EQ(StateOf("w-0"), "MIXED+DYNAMIC_NORM");
  for (int i = 10; i < 60; ++i)
    slurm.StartSlurmd(
        {.name = "x-" + std::to_string(i), .address = "", .features = {}, .topology = "", .weight = 1, .cpus = 1});
  loop.Advance(20s);
  const uint64_t generation = source->Latest().snapshot->generation;
  ASSERT_TRUE(Await(source->ReadNodes({"w-0"}, loop.After(5s)))->Find("w-0")->state.IsBusy());
  EXPECT_EQ(source->Latest().snapshot->generation, generation);
}

TEST(RestClient, KnowsWhichServersCanTellWhetherNodesChanged) {
  for (const char* release : {"26.05.3", "26.05.5", "26.11.0", "27.05.0-0rc1", "26.05.10"})
    EXPECT_TRUE(RestClient::CanAskForChangedNodes(release)) << release;
  for (const char* release : {"26.05.2", "25.11.9", "24.11.5", "", "26.05", "x.y.z"})
    EXPECT_FALSE(RestClient::CanAskForChangedNodes(release)) << release;
}

}  // namespace
}  // namespace capstan::slurm
