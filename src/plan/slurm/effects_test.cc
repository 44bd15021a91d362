// What is proven before Slurm or a worker is touched, on a modelled slurmrestd.
#include "plan/slurm/effects_test.h"

#include <gmock/gmock.h>

namespace capstan::plan {
namespace {

using async::Deadline;
using async::Task;

constexpr auto kOurs = "slurm-operator: ";

TEST_F(SlurmGuards, ANodeIsDownForOneReasonAtATime) {
  const auto guard = NodeIsDownFor(kSlurmCluster, "w-0", "burnt");
  EXPECT_EQ(Prove(guard), Proof::kNo) << "it serves";
  Update("DOWN", "burnt");
  EXPECT_EQ(Prove(guard), Proof::kYes);
  Update("DOWN", "wet");
  EXPECT_EQ(Prove(guard), Proof::kNo);
  Update("RESUME", "");
  EXPECT_EQ(Prove(guard), Proof::kNo);
  Update("DRAIN", "burnt");
  EXPECT_EQ(Prove(guard), Proof::kNo) << "it is drained, not DOWN";
  EXPECT_EQ(Prove(NodeIsDownFor(kSlurmCluster, "w-1", "burnt")), Proof::kNo) << "there is no such node";
  rest.SetFault(slurm::testing::Fault::kRefused);
  EXPECT_EQ(Prove(guard), Proof::kUnknown);
}

TEST_F(SlurmGuards, ANodeIsSilentWhileSlurmDoesNotHearIt) {
  const auto silent = NodeIsSilent(kSlurmCluster, "w-0");
  EXPECT_EQ(Prove(silent), Proof::kNo);
  slurm.StopSlurmd("w-0");
  loop.Advance(3min);
  EXPECT_EQ(Prove(silent), Proof::kYes);
  slurm.StartSlurmd({.name = "w-0", .address = "10.0.0.1", .features = {}, .topology = ""});
  loop.Advance(1s);
  EXPECT_EQ(Prove(silent), Proof::kNo) << "it is back";
  EXPECT_EQ(Prove(NodeIsSilent(kSlurmCluster, "w-1")), Proof::kNo) << "there is no such node";
  rest.SetFault(slurm::testing::Fault::kRefused);
  EXPECT_EQ(Prove(silent), Proof::kUnknown);
}

// Seen on a real cluster: the node of a suspended job is IDLE, so that its worker went, and the job with it.
TEST_F(SlurmGuards, ANodeThatASuspendedJobHoldsIsNotFree) {
  const auto job = slurm.StartJob({.nodes = {"w-0"}});
  const auto drained = NodeIsDrained(kSlurmCluster, "w-0", false);
  const auto ours = NodeIsOurs(kSlurmCluster, "w-0", kOurs, true);
  EXPECT_EQ(Prove(NodeIsOurs(kSlurmCluster, "none", kOurs, true)), Proof::kYes) << "it is removed";
  EXPECT_EQ(Prove(NodeIsOurs(kSlurmCluster, "none", kOurs, false)), Proof::kNo) << "absence proves nothing";
  Update("DRAIN", "slurm-operator: scale-in");
  EXPECT_EQ(Prove(drained), Proof::kNo) << "it runs";
  ASSERT_TRUE(slurm.SuspendJob(*job));
  ASSERT_TRUE(slurm.NodeNamed("w-0")->state.IsDrained()) << "Slurm shows nothing of it";
  EXPECT_EQ(Prove(drained), Proof::kNo);
  EXPECT_EQ(Prove(ours), Proof::kNo);
  slurm.CancelJob(*job);
  loop.Advance(3s);
  EXPECT_EQ(Prove(drained), Proof::kYes);
  EXPECT_EQ(Prove(ours), Proof::kYes);
}

TEST_F(SlurmGuards, AJobThatIsSuspendedOrResumedWhileItsNodeIsProvenIsSeen) {
  const auto job = slurm.StartJob({.nodes = {"w-0"}});
  Update("DRAIN", "slurm-operator: scale-in");
  const auto drained = NodeIsDrained(kSlurmCluster, "w-0", false);
  const auto while_proven = [&](const std::function<void(bool jobs)>& asked) {
    rest.SetFate([&](const net::Request& request) {
      asked(request.target.find("/jobs/state/") != std::string::npos);
      return slurm::testing::Fault::kNone;
    });
    const auto proof = Prove(drained);
    rest.Heal();
    return proof;
  };
  slurm.SuspendJob(*job);
  EXPECT_EQ(while_proven([&](bool jobs) {
              if (jobs) slurm.ResumeJob(*job);
            }),
            Proof::kNo);
  bool read = false;
  EXPECT_EQ(while_proven([&](bool jobs) {
              if (!jobs && read) slurm.SuspendJob(*job);
              read |= jobs;
            }),
            Proof::kNo);
  EXPECT_TRUE(slurm.NodeNamed("w-0")->state.IsDrained());
}

TEST_F(SlurmGuards, JobsThatCannotBeReadProveNothing) {
  Update("DRAIN", "slurm-operator: scale-in");
  rest.SetFate([](const net::Request& request) {
    const bool jobs = request.target.find("/jobs/state/") != std::string::npos;
    return jobs ? slurm::testing::Fault::kError500 : slurm::testing::Fault::kNone;
  });
  EXPECT_EQ(Prove(NodeIsDrained(kSlurmCluster, "w-0", false)), Proof::kUnknown);
  EXPECT_EQ(Prove(NodeIsNotHeld(kSlurmCluster, "w-0", kOurs)), Proof::kYes) << "which asks for no jobs";
}

TEST_F(SlurmGuards, ProofsOfOneTurnShareTheirReads) {
  for (const char* name : {"w-1", "w-2", "w-3"})
    slurm.StartSlurmd({.name = name, .address = "10.0.0.1", .features = {}, .topology = ""});
  std::vector<std::optional<Proof>> proofs(4);
  async::TaskGroup group(loop);
  for (int i = 0; i < 4; ++i) {
    const auto guard = NodeIsDrained(kSlurmCluster, "w-" + std::to_string(i), false);
    group.Spawn("guard", [](auto guard, Services& services, Deadline deadline, auto& out) -> Task<void> {
      out = co_await guard->Prove(services, deadline);
    }(guard, services, loop.After(30s), proofs[i]));
  }
  loop.RunUntil([&] { return group.size() == 0; }, 1min);
  EXPECT_THAT(proofs, ::testing::Each(Proof::kNo));
  EXPECT_EQ(rest.RequestsFor("/slurm/v0.0.44/jobs/state/"), 1u);
}

// What is proven of a node while we write to it may be of before or after.
TEST_F(SlurmGuards, AProofIsOfReadsThatBeganAfterOurWriteWasAnswered) {
  Update("DRAIN", "slurm-operator: scale-in");
  const auto drained = NodeIsDrained(kSlurmCluster, "w-0", false);
  rest.SetLatency(1s);
  std::optional<Result<void>> written;
  const auto write = [&](std::chrono::milliseconds wait) {
    return [&, wait] {
      loop.Advance(wait);
      Write(written, slurm::NodeAction::kDrain);
    };
  };
  EXPECT_EQ(Prove(drained, write(0ms)), Proof::kUnknown);
  EXPECT_EQ(Prove(drained, write(500ms)), Proof::kUnknown) << "it began while the node was read, and has ended";
  EXPECT_EQ(Prove(drained), Proof::kYes);
  EXPECT_TRUE(written && *written);
}

// An undrain that was heard of no more took effect after the proof: a job began, and died with the worker.
TEST_F(SlurmGuards, AnUndrainOfUnknownOutcomeIsFollowedByADrainBeforeAProofCounts) {
  Update("DRAIN", "slurm-operator: scale-in");
  const auto drained = NodeIsDrained(kSlurmCluster, "w-0", false);
  std::optional<Result<void>> written;
  const auto fail = [&](slurm::testing::Fault fault, slurm::NodeAction action) {
    rest.SetFate([fault](const net::Request& request) {
      return request.method == "POST" ? fault : slurm::testing::Fault::kNone;
    });
    Write(written, action);
    loop.Advance(1s);
    rest.Heal();
  };
  fail(slurm::testing::Fault::kLate, slurm::NodeAction::kUndrain);
  EXPECT_EQ(written->error().code(), Code::kUnknownOutcome);
  ASSERT_TRUE(slurm.NodeNamed("w-0")->state.IsDrained()) << "it is on its way";
  EXPECT_EQ(Prove(drained), Proof::kUnknown);
  EXPECT_TRUE(clusters.Look(kSlurmCluster).may_be_lifted.contains("w-0"));
  fail(slurm::testing::Fault::kHang, slurm::NodeAction::kDrain);
  loop.Advance(1min);
  EXPECT_EQ(Prove(drained), Proof::kUnknown) << "nobody knows of that drain";
  fail(slurm::testing::Fault::kNone, slurm::NodeAction::kDrain);
  EXPECT_EQ(Prove(drained), Proof::kYes);
  EXPECT_TRUE(clusters.Look(kSlurmCluster).may_be_lifted.empty());

  fail(slurm::testing::Fault::kHang, slurm::NodeAction::kResume);
  loop.Advance(1min);
  EXPECT_EQ(Prove(drained), Proof::kUnknown);
  loop.Advance(SlurmClusters::kLiftTimeout);
  EXPECT_EQ(Prove(drained), Proof::kYes) << "it is not waited for for ever";
}

// The operator ended just after it had sent an undrain, and its successor proved the node free before that was done. Seen
// in the simulator: one of 20,000 stories.
TEST_F(SlurmGuards, AnUndrainOfAPredecessorIsFollowedByADrainBeforeAProofCounts) {
  Update("DRAIN", "slurm-operator: scale-in");
  SlurmClusters successor{
      loop, client, [this](const SlurmConnection&, SlurmClusters::SignToken sign) { return Connect(std::move(sign)); },
      [](const std::string&, const std::vector<std::string>&) {}, 2};
  successor.Keep(kSlurmCluster, kConnection);
  const auto heard = [&] { return successor.Look(kSlurmCluster).state == SlurmLook::State::kHeard; };
  ASSERT_TRUE(loop.RunUntil(heard, 1min));
  const auto counts = [&] {
    std::optional<Result<SlurmClusters::FreshNode>> read;
    writes.Spawn("read", async::testing::Into(read, successor.ReadForProof(kSlurmCluster, "w-0", loop.After(30s))));
    loop.Advance(1s);
    return read && *read && successor.Look(kSlurmCluster).may_be_lifted.empty();
  };
  EXPECT_FALSE(counts());
  std::optional<Result<void>> written;
  slurm::NodeUpdate drain{.names = {"w-0"}, .action = slurm::NodeAction::kDrain, .reason = "slurm-operator: scale-in"};
  writes.Spawn("write", async::testing::Into(written, successor.UpdateNode(kSlurmCluster, drain, loop.After(30s))));
  loop.Advance(1s);
  ASSERT_TRUE(written && *written);
  EXPECT_TRUE(counts());
  writes.Spawn("stop", successor.Stop());
  loop.RunUntil([&] { return writes.size() == 0; }, 1min);
}

TEST_F(SlurmGuards, AnUndrainThatSlurmRefusedLiftsNothing) {
  Update("DRAIN", "slurm-operator: scale-in");
  std::optional<Result<void>> written;
  slurm.DeleteNode("w-0");
  Write(written, slurm::NodeAction::kUndrain);
  loop.Advance(1s);
  ASSERT_TRUE(written && !*written);
  EXPECT_TRUE(clusters.Look(kSlurmCluster).may_be_lifted.empty());
}

TEST_F(SlurmGuards, FailIsAlwaysSomebodyElses) {
  Update("FAIL", "slurm-operator: a person left our words there");
  EXPECT_EQ(Prove(NodeIsNotHeld(kSlurmCluster, "w-0", kOurs)), Proof::kNo);
  EXPECT_EQ(Prove(NodeIsOurs(kSlurmCluster, "w-0", kOurs, true)), Proof::kNo);
  EXPECT_EQ(Prove(NodeIsDrained(kSlurmCluster, "w-0", false)), Proof::kYes) << "no job is there, and none will start";
}

// A drain would take the node from it.
TEST_F(SlurmGuards, ANodeThatAJobWaitsForCountsAsHeld) {
  slurm.CreateNode(slurm::CloudNode{.name = "c-0", .cpus = 1, .memory_mib = 1024, .conf = "", .idle = 1h});
  const auto free = NodeIsNotHeld(kSlurmCluster, "c-0", kOurs);
  EXPECT_EQ(Prove(free), Proof::kYes);
  ASSERT_TRUE(slurm.StartJob({.nodes = {"c-0"}, .whole_nodes = true, .user = "ann", .runs_for = {}}));
  EXPECT_EQ(Prove(free), Proof::kNo) << "it is about to be powered up";
  slurm.PowerUp("c-0");
  EXPECT_EQ(Prove(free), Proof::kNo);
}

TEST_F(SlurmGuards, ALaterLookThatWasAnsweredSoonerMustAgree) {
  const auto free = NodeIsNotHeld(kSlurmCluster, "w-0", kOurs);
  EXPECT_EQ(ProveSlowly(free, [] {}), Proof::kYes);
  EXPECT_EQ(ProveSlowly(free, [this] { Update("DRAIN", "look at the disk"); }), Proof::kNo);

  const auto drained = NodeIsDrained(kSlurmCluster, "w-0", false);
  EXPECT_EQ(ProveSlowly(drained, [] {}), Proof::kYes);
  EXPECT_EQ(ProveSlowly(drained, [this] { Update("RESUME", ""); }), Proof::kNo);
  EXPECT_EQ(ProveSlowly(free, [] {}), Proof::kYes);

  Update("DOWN", "slurm-operator: Pod is terminating");
  const auto ours = NodeIsOurs(kSlurmCluster, "w-0", kOurs, true);
  EXPECT_EQ(ProveSlowly(ours, [] {}), Proof::kYes);
  EXPECT_EQ(ProveSlowly(ours, [this] { Update("DOWN", "burnt"); }), Proof::kNo);
}

TEST_F(SlurmGuards, ANodeIsFreeOnceNoJobIsThereAndNoneBegins) {
  const auto free = NodeIsFree(kSlurmCluster, "w-0");
  EXPECT_EQ(Prove(free), Proof::kNo) << "a job may begin there";
  const auto job = slurm.StartJob({.nodes = {"w-0"}, .whole_nodes = true, .user = "ann", .runs_for = {}});
  ASSERT_TRUE(job);
  Update("DRAIN", "look at the disk");
  EXPECT_EQ(Prove(free), Proof::kNo);
  ASSERT_TRUE(slurm.SuspendJob(*job));
  EXPECT_EQ(Prove(free), Proof::kNo) << "its record does not show it";
  slurm.CancelJob(*job);
  loop.Advance(1s);
  EXPECT_EQ(Prove(free), Proof::kYes);
  Update("RESUME", "");
  slurm.StopSlurmd("w-0");
  loop.Advance(3min);
  EXPECT_EQ(Prove(free), Proof::kYes) << "nobody hears it";
}

}  // namespace
}  // namespace capstan::plan
