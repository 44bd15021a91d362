// The Slurm library against real daemons. Run by run-slurm; see CMakeLists.txt.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/random.h"
#include "base/text.h"
#include "net/client.h"
#include "real_slurm.h"
#include "rsa_key.h"
#include "slurm/conf.h"
#include "slurm/hostlist.h"
#include "slurm/jwt.h"

namespace capstan::slurm {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(RealSlurm, NodesAreDecodedAsSlurmKnowsThem) {
  StartPolling();
  const auto snapshot = source.Latest().snapshot;
  ASSERT_EQ(snapshot->nodes->size(), 2u);
  EXPECT_THAT(Shell("$SLURM_EXEC sinfo -V"), ::testing::EndsWith(" " + snapshot->release));
  const Node* node = snapshot->FindNode("w-1");
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->state.ToString(), "IDLE+DYNAMIC_NORM");
  EXPECT_TRUE(node->state.unknown().empty());
  EXPECT_EQ(node->address, "192.0.2.11");
  EXPECT_EQ(node->hostname, "w-1");
  EXPECT_THAT(node->features, ElementsAre("workers"));
  EXPECT_THAT(node->partitions, ElementsAre("all"));
  EXPECT_EQ(node->version, snapshot->release);
  EXPECT_GT(node->cpus, 0);
  EXPECT_GT(node->memory_mib, 0);
  EXPECT_EQ(node->weight, 1);
  ASSERT_TRUE(node->slurmd_start_time && node->boot_time);
  EXPECT_LT(*node->slurmd_start_time, loop.WallNow());
  EXPECT_EQ(client.version(), "v0.0.44");
}

TEST_F(RealSlurm, DrainUndrainAndResumeDoWhatTheySay) {
  ASSERT_TRUE(Update("w-0", NodeAction::kDrain, "capstan: a \"reason\"\twith #"));
  auto node = NodeNow("w-0");
  EXPECT_TRUE(node->state.IsDrained()) << node->state.ToString();
  EXPECT_EQ(node->reason, "capstan: a \"reason\"\twith #");
  EXPECT_EQ(node->reason_set_by, "slurm");

  ASSERT_TRUE(Update("w-0", NodeAction::kUndrain));
  node = NodeNow("w-0");
  EXPECT_FALSE(node->state.IsDraining());
  EXPECT_EQ(node->reason, "");
  EXPECT_TRUE(NodeBecomes("w-0", [](const Node& n) { return n.state.IsUsable(); }, 10s));

  EXPECT_EQ(Update("w-0", NodeAction::kResume).error().code(), Code::kConflict);
  ASSERT_TRUE(Update("w-0", NodeAction::kDown, "capstan: down"));
  EXPECT_TRUE(NodeNow("w-0")->state.IsDown());
  ASSERT_TRUE(Update("w-0", NodeAction::kUndrain));
  EXPECT_TRUE(NodeNow("w-0")->state.IsDown());
  ASSERT_TRUE(Update("w-0", NodeAction::kResume));
  EXPECT_TRUE(NodeBecomes("w-0", [](const Node& n) { return n.state.IsUsable(); }, 10s));
}

TEST_F(RealSlurm, EveryMemberOfAnUpdateArrives) {
  NodeUpdate update;
  update.names = {"w-0", "w-1"};
  update.comment = "{\"namespace\":\"a\",\"x\":\"\\\"\\n\"}";
  update.extra = "extra";
  update.features = update.active_features = {"workers", "gpu"};
  update.weight = 7;
  ASSERT_TRUE(Await(client.Update(update, Soon())));
  for (const char* name : {"w-0", "w-1"}) {
    const auto node = NodeNow(name);
    EXPECT_EQ(node->comment, *update.comment);
    EXPECT_EQ(node->extra, "extra");
    EXPECT_EQ(node->features, *update.features);
    EXPECT_EQ(node->active_features, *update.active_features);
    EXPECT_EQ(node->weight, 7);
  }
  update.names = {"w-0", "nope"};
  update.comment = "none of them";
  EXPECT_EQ(Await(client.Update(update, Soon())).error().code(), Code::kNotFound);
  EXPECT_NE(NodeNow("w-0")->comment, "none of them");
}

TEST_F(RealSlurm, ANodeWithAJobIsBusyUntilNothingOfItIsLeft) {
  StartPolling();
  const std::string names[] = {"w-0"};
  source.ExpectChange(names, loop.Now() + 1min);
  const std::string id = RunJob("w-0");
  auto fresh = Await(source.ReadNodes({"w-0", "w-1"}, Soon()));
  ASSERT_TRUE(fresh);
  EXPECT_TRUE(fresh->Find("w-0")->state.IsBusy());
  EXPECT_FALSE(fresh->Find("w-1")->state.IsBusy());
  EXPECT_EQ(Await(source.DeleteNode("w-0", Soon())).error().code(), Code::kConflict);
  EXPECT_EQ(Update("w-0", NodeAction::kResume).error().code(), Code::kConflict);

  ASSERT_TRUE(Update("w-0", NodeAction::kDrain, "capstan: scale-in"));
  fresh = Await(source.ReadNodes({"w-0"}, Soon()));
  EXPECT_TRUE(fresh->Find("w-0")->state.IsDraining());
  EXPECT_FALSE(fresh->Find("w-0")->state.IsDrained());
  Shell("$SLURM_EXEC scancel " + id);
  EXPECT_TRUE(RunUntil([&] { return source.Latest().snapshot->FindNode("w-0")->state.IsDrained(); }, 15s));
  EXPECT_EQ(source.Latest().snapshot->FindNode("w-0")->reason, "capstan: scale-in");
}

TEST_F(RealSlurm, ANodeWhoseJobHasEndedIsNotTakenForBusyByAFreshRead) {
  // slurmrestd works out MIXED of a single node from counters that only a list refreshes.
  const std::string id = RunJob("w-0", "-n1 --mem=10 --oversubscribe");
  ASSERT_TRUE(Await(client.Nodes(0, Soon())));
  EXPECT_TRUE(NodeNow("w-0")->state.IsBusy());
  Shell("$SLURM_EXEC scancel " + id);
  EXPECT_TRUE(NodeBecomes("w-0", [](const Node& n) { return !n.state.IsBusy(); }, 10s));
}

// What the operator does for a scheduled update.
class RealReservation : public RealSlurm {
 protected:
  ReservationUpdate Maintenance(Time start, std::vector<std::string> flags = {"IGNORE_JOBS", "MAINT"}) const {
    return {.name = name,
            .nodes = {"w-0", "w-1"},
            .flags = std::move(flags),
            .users = {"slurm"},
            .start = start,
            .duration = 30min};
  }
  Result<void> Write(ReservationUpdate update) { return Await(source.WriteReservation(std::move(update), Soon())); }
  Result<void> OnlyNodes(std::vector<std::string> nodes) {
    return Write({.name = name, .nodes = std::move(nodes), .flags = {}, .users = {}, .start = {}, .duration = {}});
  }
  std::vector<Reservation> Read() {
    auto all = Await(source.ReadReservations(Soon()));
    EXPECT_TRUE(all) << all.error().message();
    return all ? *all : std::vector<Reservation>();
  }
  void TearDown() override { Await(source.DeleteReservation(name, Soon())); }

  const std::string name = "SlurmOperatorMaint-w";
  const Time now = std::chrono::floor<std::chrono::seconds>(loop.WallNow());
};

TEST_F(RealReservation, IsMadeReadChangedAndRemoved) {
  EXPECT_THAT(Read(), IsEmpty());
  ASSERT_TRUE(Write(Maintenance(now + 1h, {"DAILY", "IGNORE_JOBS", "MAINT"})));
  Reservation made{.name = name,
                   .nodes = "w-[0-1]",
                   .flags = {"DAILY", "IGNORE_JOBS", "MAINT", "SPEC_NODES"},
                   .users = {"slurm"},
                   .start = now + 1h,
                   .end = now + 90min};
  EXPECT_THAT(Read(), ElementsAre(made));
  ASSERT_TRUE(OnlyNodes({"nobody", "w-1"})) << "a node that is not there is left out without a word";
  made.nodes = "w-1";
  EXPECT_THAT(Read(), ElementsAre(made));
  ASSERT_TRUE(Write(Maintenance(now + 2h)));
  EXPECT_THAT(Read().front().flags, Contains("DAILY")) << "an update takes no flag back: it is made anew for that";
  EXPECT_EQ(OnlyNodes({"nobody"}).error().code(), Code::kNotFound);
  ASSERT_TRUE(Await(source.DeleteReservation(name, Soon())));
  EXPECT_THAT(Read(), IsEmpty());
  EXPECT_EQ(Write(Maintenance(now - 20min)).error().code(), Code::kInvalid) << "ten minutes late are not minded";
  const auto nonsense = Write(Maintenance(now + 1h, {"NONSENSE"}));
  EXPECT_EQ(nonsense.error().code(), Code::kInvalid) << nonsense.error().message();
}

TEST_F(RealReservation, OnceItHasBegunItsStartStaysAndItsNodesChange) {
  ASSERT_TRUE(Write(Maintenance(now + 2s)));
  const auto is_in_it = [this](const Node& n) { return n.state.Has(NodeFlag::kMaintenance) && n.reservation == name; };
  ASSERT_TRUE(NodeBecomes("w-0", is_in_it, 40s)) << "slurmctld looks every half minute";
  EXPECT_FALSE(NodeNow("w-0")->state.IsUsable());
  EXPECT_EQ(Write(Maintenance(now + 1h)).error().code(), Code::kConflict);
  ASSERT_TRUE(Update("w-0", NodeAction::kDrain, "capstan: going"));
  EXPECT_EQ(Await(client.Delete("w-0", Soon())).error().code(), Code::kConflict) << "its record stays as long";
  ASSERT_TRUE(OnlyNodes({"w-1"}));
  ASSERT_TRUE(NodeBecomes("w-0", [&](const Node& n) { return !is_in_it(n); }, 40s));
  ASSERT_TRUE(Await(source.DeleteReservation(name, Soon())));
  EXPECT_TRUE(NodeBecomes("w-1", [](const Node& n) { return n.state.IsUsable(); }, 40s));
}

// What keeps jobs out of a whole cluster.
TEST_F(RealReservation, OneOfAllNodesIsOfThoseThatComeLater) {
  const auto is_in_it = [this](const Node& n) { return n.state.Has(NodeFlag::kMaintenance) && n.reservation == name; };
  Shell("$SLURM_CONTROL stop w-1");
  ASSERT_TRUE(Await(client.Delete("w-1", Soon())));
  ReservationUpdate all = Maintenance(now - 1min);
  all.nodes = {"ALL"};
  all.users = {"root", "slurm"};
  ASSERT_TRUE(Write(all));
  ASSERT_EQ(Read().size(), 1U);
  EXPECT_EQ(Read().front().nodes, "w-0");
  EXPECT_THAT(Read().front().flags, ElementsAre("ALL_NODES", "IGNORE_JOBS", "MAINT", "SPEC_NODES"));
  Shell("$SLURM_CONTROL start w-1");
  ASSERT_TRUE(NodeBecomes("w-1", [](const Node& n) { return n.state.Has(NodeFlag::kIdle); }, 40s));
  const std::string job = Shell("$SLURM_EXEC sbatch --parsable -w w-1 --wrap hostname");
  ASSERT_TRUE(NodeBecomes("w-1", is_in_it, 40s)) << "once a job wants it";
  EXPECT_TRUE(NodeBecomes("w-0", is_in_it, 40s));
  EXPECT_EQ(Shell("$SLURM_EXEC squeue -h -o %T -j " + job), "PENDING");
  Shell("$SLURM_EXEC scancel " + job);
  EXPECT_EQ(Read().front().nodes, "w-[0-1]");
  EXPECT_EQ(Await(client.Delete("w-1", Soon())).error().code(), Code::kConflict);
  ASSERT_TRUE(
      Write({.name = name, .nodes = {"ALL"}, .flags = {}, .users = {}, .start = {}, .duration = Duration(90min)}));
  EXPECT_EQ(Read().front().end, now + 89min) << "its end changes, also once it has begun";
  ASSERT_TRUE(OnlyNodes({"w-0"}));
  EXPECT_THAT(Read().front().flags, ElementsAre("IGNORE_JOBS", "MAINT", "SPEC_NODES"));
}

TEST_F(RealSlurm, AReservationIsRemoved) {
  Shell(
      "$SLURM_EXEC scontrol create reservation ReservationName=SlurmOperatorMaint-w Users=slurm "
      "Flags=MAINT,IGNORE_JOBS "
      "StartTime=now+1hour Duration=30 Nodes=w-0");
  ASSERT_THAT(Shell("$SLURM_EXEC scontrol show reservation"), HasSubstr("SlurmOperatorMaint-w"));
  const auto removed = Await(source.DeleteReservation("SlurmOperatorMaint-w", Soon()));
  EXPECT_TRUE(removed) << removed.error().message();
  EXPECT_EQ(Shell("$SLURM_EXEC scontrol show reservation").find("SlurmOperatorMaint-w"), std::string::npos);
}

class RealSlurmThatFreesCores : public RealSlurm {
 protected:
  void SetUp() override {
    RealSlurm::SetUp();
    std::ifstream file(Env("SLURM_CONF_FILE"));
    conf = std::string(std::istreambuf_iterator<char>(file), {});
    std::ofstream(Env("SLURM_CONF_FILE")) << conf << kFreesCores;
    ASSERT_EQ(Shell("$SLURM_CONTROL reconfigure"), "");
    ASSERT_TRUE(NodeBecomes("w-0", [](const Node& n) { return n.state.IsUsable(); }));
  }
  void TearDown() override {
    std::ofstream(Env("SLURM_CONF_FILE")) << conf;
    Shell("$SLURM_EXEC scancel --user root; $SLURM_CONTROL reconfigure");
  }

  std::string conf;
};

// A worker whose job was suspended was drained, taken for free and deleted.
TEST_F(RealSlurmThatFreesCores, ANodeWhoseJobIsSuspendedShowsNothingOfItAndIsToldAllTheSame) {
  const auto held = [this] { return Await(source.ReadNodesOfSuspendedJobs(Soon())); };
  const std::string id = RunJob("w-0");
  ASSERT_TRUE(held());
  EXPECT_THAT(*held(), IsEmpty()) << "a running one shows in its node";
  const std::string array = Shell("$SLURM_EXEC sbatch --parsable -w w-1 -n1 --array=3,7 --wrap 'sleep 300'");
  ASSERT_TRUE(RunUntil(
      [&] { return Shell("$SLURM_EXEC squeue -h -t RUNNING -j " + array).find("_7") != std::string::npos; }, 20s));
  Shell("$SLURM_EXEC scontrol suspend " + id);
  ASSERT_TRUE(Update("w-0", NodeAction::kDrain, "capstan: scale-in"));
  ASSERT_TRUE(NodeBecomes("w-0", [](const Node& n) { return n.state.IsDrained(); }));
  EXPECT_THAT(*held(), ElementsAre("w-0"));
  Shell("$SLURM_EXEC scontrol suspend " + array + "_3 " + array + "_7");
  ASSERT_TRUE(NodeBecomes("w-1", [](const Node& n) { return !n.state.IsBusy(); }));
  EXPECT_THAT(*held(), ElementsAre("w-0", "w-1"));
  Shell("$SLURM_EXEC scontrol resume " + id);
  ASSERT_TRUE(NodeBecomes("w-0", [](const Node& n) { return n.state.IsBusy(); }));
  EXPECT_THAT(*held(), ElementsAre("w-1"));
  Shell("$SLURM_EXEC scancel " + id + " " + array);
  ASSERT_TRUE(NodeBecomes("w-0", [](const Node& n) { return n.state.IsDrained(); }));
  EXPECT_THAT(*held(), IsEmpty());
  EXPECT_THAT(Await(client.JobNumbered(4711, Soon())), Result<std::vector<Job>>(std::vector<Job>()));
}

TEST_F(RealSlurm, DrainAndUndrainBothClearFail) {
  const auto set_fail = [this] {
    Shell("$SLURM_EXEC scontrol update nodename=w-0 state=fail reason=disk");
    const auto node = NodeNow("w-0");
    EXPECT_TRUE(node->state.IsFailing() && node->state.IsDraining() && !node->state.IsUsable());
    EXPECT_FALSE(node->state.Has(NodeFlag::kDrain));
    EXPECT_EQ(node->reason, "disk");
  };
  set_fail();
  ASSERT_TRUE(Update("w-0", NodeAction::kUndrain));
  EXPECT_FALSE(NodeNow("w-0")->state.IsFailing());
  set_fail();
  ASSERT_TRUE(Update("w-0", NodeAction::kDrain, "capstan: scale-in"));
  EXPECT_FALSE(NodeNow("w-0")->state.IsFailing());
  set_fail();
  ASSERT_TRUE(Update("w-0", NodeAction::kResume));
  EXPECT_FALSE(NodeNow("w-0")->state.IsFailing());
}

TEST_F(RealSlurm, WhatIsNotThereIsNotFoundInEveryShape) {
  EXPECT_EQ(Await(client.NodeNamed("nope", Soon())), Result<std::optional<Node>>(std::optional<Node>()));
  EXPECT_EQ(Update("nope", NodeAction::kDrain, "x").error().code(), Code::kNotFound);
  EXPECT_EQ(Await(client.Delete("nope", Soon())).error().code(), Code::kNotFound);
  EXPECT_TRUE(Await(source.DeleteNode("nope", Soon())));
  EXPECT_EQ(Await(client.DeleteReservation("nope", Soon())).error().code(), Code::kNotFound);
  EXPECT_TRUE(Await(source.DeleteReservation("nope", Soon())));
  const auto fresh = Await(source.ReadNodes({"nope", "w-0"}, Soon()));
  ASSERT_TRUE(fresh);
  EXPECT_THAT(fresh->absent, ElementsAre("nope"));
}

TEST_F(RealSlurm, ADeletedNodeComesBackWhenItsSlurmdStarts) {
  ASSERT_TRUE(Update("w-1", NodeAction::kDrain, "capstan: going"));
  ASSERT_TRUE(Await(client.Delete("w-1", Soon())));
  EXPECT_FALSE(NodeNow("w-1"));
  Shell("$SLURM_CONTROL restart w-1");
  ASSERT_TRUE(NodeBecomes("w-1", [](const Node& n) { return n.state.IsUsable(); }, 10s));
  EXPECT_EQ(NodeNow("w-1")->reason, "");
}

TEST_F(RealSlurm, ABadTokenIsUnauthenticatedAndAnotherUserForbidden) {
  const auto expired = [&](Duration) {
    return SignToken({.user = "slurm",
                      .issuer = "t",
                      .id = "1",
                      .issued_at = loop.WallNow() - 2h,
                      .expires_at = loop.WallNow() - 1h},
                     key);
  };
  const auto forged = [&](Duration) {
    return SignToken(
        {.user = "slurm", .issuer = "t", .id = "1", .issued_at = loop.WallNow(), .expires_at = loop.WallNow() + 1h},
        Secret("wrong"));
  };
  for (const TokenFactory& sign : {TokenFactory(expired), TokenFactory(forged)}) {
    RestClient bad(loop, transport, sign);
    EXPECT_EQ(Await(bad.Nodes(0, Soon())).error().code(), Code::kUnauthenticated);
    EXPECT_EQ(Await(bad.NodeNamed("w-0", Soon())).error().code(), Code::kUnauthenticated);
    EXPECT_EQ(Await(bad.Delete("w-0", Soon())).error().code(), Code::kUnauthenticated);
  }
  RestClient ann(loop, transport, [&](Duration lifetime) {
    return SignToken(
        {.user = "ann", .issuer = "t", .id = "1", .issued_at = loop.WallNow(), .expires_at = loop.WallNow() + lifetime},
        key);
  });
  NodeUpdate update;
  update.names = {"w-0"};
  update.comment = "mine";
  EXPECT_TRUE(Await(ann.Nodes(0, Soon())));
  EXPECT_EQ(Await(ann.Update(update, Soon())).error().code(), Code::kForbidden);
  EXPECT_EQ(Await(ann.Delete("w-0", Soon())).error().code(), Code::kForbidden);
}

TEST_F(RealSlurm, TakesTokensOfAnRsaKeyWhoseOtherHalfItHas) {
  std::ifstream file(Env("SLURM_CONF_FILE"));
  const std::string conf(std::istreambuf_iterator<char>(file), {});
  const RsaKey trusted{.id = "site", .pem = capstan::testing::NewRsaKey()};
  const RsaKey stranger{.id = "site", .pem = capstan::testing::NewRsaKey()};
  std::ofstream(Env("SLURM_ROOT") + "/etc/slurm/jwks.json") << *Jwks(std::vector{trusted});
  constexpr std::string_view kKey = "jwt_key=/etc/slurm/jwt.key";
  std::string both = conf;
  both.insert(both.find(kKey) + kKey.size(), ",jwks=/etc/slurm/jwks.json");
  std::ofstream(Env("SLURM_CONF_FILE")) << both;
  ASSERT_EQ(Shell("$SLURM_CONTROL reconfigure"), "");
  const auto nodes_by = [&](const RsaKey& rsa) {
    RestClient asking(loop, transport, [&](Duration lifetime) {
      return SignToken({.user = "slurm",
                        .issuer = "t",
                        .id = "1",
                        .issued_at = loop.WallNow(),
                        .expires_at = loop.WallNow() + lifetime},
                       rsa);
    });
    return Await(asking.Nodes(0, Soon()));
  };
  EXPECT_TRUE(RunUntil([&] { return nodes_by(trusted).has_value(); }, 20s)) << nodes_by(trusted).error().message();
  EXPECT_EQ(nodes_by(stranger).error().code(), Code::kUnauthenticated);
  EXPECT_TRUE(Await(client.Nodes(0, Soon()))) << "and those of jwt.key, as before";
  std::ofstream(Env("SLURM_CONF_FILE")) << conf;
  EXPECT_EQ(Shell("$SLURM_CONTROL reconfigure"), "");
}

// By itself slurmrestd takes whoever comes through its socket for the user of the process (rest_auth/local), also with a token.
TEST_F(RealSlurm, IsAskedOverTheUnixSocketOfASlurmrestdThatTakesTokensThere) {
  Shell("$SLURM_EXEC install -d -o 65534 /run/restd");
  const std::string pid = Shell(
      "SLURM_JWT=daemon SLURMRESTD_SECURITY=disable_unshare_files,disable_unshare_sysv $SLURM_EXEC setpriv --reuid "
      "65534 --regid "
      "65534 --clear-groups slurmrestd -a rest_auth/jwt -s openapi/slurmctld unix:/run/restd/socket > /dev/null 2>&1 & "
      "echo $!");
  const std::string path = Env("SLURM_ROOT") + "/run/restd/socket";
  ASSERT_TRUE(RunUntil([&] { return std::filesystem::exists(path); }, 20s));
  net::HttpClient socket(loop, {.server = *net::Endpoint::Parse("unix://" + path)});
  RestClient asking(loop, socket, [this](Duration lifetime) { return Sign(lifetime); });
  const auto nodes = Await(asking.Nodes(0, Soon()));
  EXPECT_TRUE(nodes) << nodes.error().message();
  if (nodes) EXPECT_EQ(nodes->records.size(), 2u);
  RestClient nobody(loop, socket, [](Duration) -> Result<Secret> { return Secret(); });
  EXPECT_EQ(Await(nobody.Nodes(0, Soon())).error().code(), Code::kUnauthenticated);
  Shell("kill " + pid);
}

TEST_F(RealSlurm, UnchangedNodesAndJobsAreToldApartFromNone) {
  const auto settled = [&](auto read) {
    return RunUntil([] { return true; }, 1s) && read;  // a turn of the loop between reads
  };
  auto nodes = Await(client.Nodes(0, Soon()));
  auto jobs = Await(client.Jobs(0, Soon()));
  ASSERT_TRUE(settled(nodes && jobs));
  ASSERT_GT(nodes->update_time, 0);
  // Slurm counts in seconds and looks one back, so it takes up to two until nothing counts as new.
  const Tick end = loop.Now() + 10s;
  for (bool nodes_same = false, jobs_same = false; !nodes_same || !jobs_same;) {
    ASSERT_LT(loop.Now(), end);
    nodes = Await(client.Nodes(nodes->unchanged ? 0 : nodes->update_time, Soon()));
    ASSERT_TRUE(nodes) << nodes.error().message();
    nodes_same |= nodes->unchanged;
    jobs = Await(client.Jobs(jobs->unchanged ? 0 : jobs->update_time, Soon()));
    ASSERT_TRUE(jobs) << jobs.error().message();
    jobs_same |= jobs->unchanged;
    EXPECT_TRUE(nodes->unchanged || nodes->records.size() == 2);
    Shell("sleep 0.2");
  }
}

TEST_F(RealSlurm, JobsAreReadWhileWanted) {
  StartPolling();
  const std::string id = RunJob("w-0", "-t 7 -J named");
  auto wanted = source.WantJobs();
  ASSERT_TRUE(RunUntil([&] { return source.Latest().snapshot->jobs != nullptr; }, 10s));
  const auto jobs = source.Latest().snapshot->jobs;
  const auto job = std::ranges::find(*jobs, *ParseInt(id), &Job::id);
  ASSERT_NE(job, jobs->end());
  EXPECT_TRUE(job->state.HoldsNodes());
  EXPECT_EQ(job->nodes, "w-0");
  EXPECT_EQ(job->name, "named");
  EXPECT_EQ(job->user, "root");
  EXPECT_EQ(job->partition, "all");
  EXPECT_EQ(job->time_limit, std::optional<Duration>(7min));
  EXPECT_TRUE(job->submit_time && job->start_time);
}

TEST_F(RealSlurm, ARestartAndAReconfigureAreNewIncarnationsAndLoseNothing) {
  StartPolling();
  const Incarnation first = source.Latest().snapshot->incarnation;
  EXPECT_EQ(first.slurmd_timeout, Duration(300s));
  ASSERT_TRUE(Update("w-0", NodeAction::kDrain, "capstan: kept"));
  Shell("sleep 1.1");  // Slurm tells lives apart by the second they began in
  Shell("$SLURM_CONTROL restart slurmctld");
  ASSERT_TRUE(RunUntil([&] { return source.Latest().snapshot->incarnation.id != first.id; }, 40s));
  const Incarnation second = source.Latest().snapshot->incarnation;
  EXPECT_GT(second.up_since, first.up_since);
  EXPECT_FALSE(second.AbsenceIsKnown(loop.Now()));
  ASSERT_NE(source.Latest().snapshot->FindNode("w-0"), nullptr);
  EXPECT_EQ(source.Latest().snapshot->FindNode("w-0")->reason, "capstan: kept");
  Shell("sleep 1.1");
  ASSERT_TRUE(Await(source.Reconfigure(Soon())));
  EXPECT_TRUE(RunUntil([&] { return source.Latest().snapshot->incarnation.id != second.id; }, 40s));
}

class RealSlurmWithPartitions : public RealSlurm {
 protected:
  void SetUp() override {
    RealSlurm::SetUp();
    std::ifstream file(Env("SLURM_CONF_FILE"));
    conf = std::string(std::istreambuf_iterator<char>(file), {});
  }
  void TearDown() override {
    Shell("$SLURM_EXEC scancel --user root");
    Has("");
  }

  void Has(const std::string& lines) {
    std::ofstream(Env("SLURM_CONF_FILE")) << conf << lines;
    EXPECT_EQ(Shell("$SLURM_CONTROL reconfigure"), "");
    EXPECT_TRUE(RunUntil([] { return Shell("$SLURM_EXEC scontrol ping").find("UP") != std::string::npos; }, 20s));
  }
  std::string StateOf(const std::string& job) { return Shell("$SLURM_EXEC squeue -h -t all -o %T -j " + job); }
  std::string Queue(const std::string& options) {
    return Shell("$SLURM_EXEC sbatch --parsable --no-requeue " + options + " --wrap 'sleep 300'");
  }
  PartitionUse Use(size_t most_jobs = 1000) { return Await(source.ReadPartitionUse(most_jobs, Soon())).value(); }

  std::string conf;
};

// Why slurm.conf keeps partitions that nobody asks for any more, and with which State.
TEST_F(RealSlurmWithPartitions, AClosedOneLosesNoJobAndOneThatIsLeftOutLosesAll) {
  Has("NodeSet=x Feature=workers\nPartitionName=x Nodes=x State=UP\nPartitionName=z Nodes=ALL State=DOWN\n");
  const std::string runs = RunJob("w-0", "-p x --exclusive"), held = Queue("-p x -H"), several = Queue("-p x,z -H");
  PartitionUse use = Use();
  ASSERT_NE(use.Find("x"), nullptr);
  EXPECT_TRUE(use.Find("x")->open);
  EXPECT_TRUE(use.Find("z")->open) << "jobs may be queued in one that is DOWN";
  EXPECT_EQ(use.Find("y"), nullptr);
  const std::vector<int64_t> all = {*ParseInt(runs), *ParseInt(held), *ParseInt(several)};
  EXPECT_EQ(use.jobs.at("x").ids, all);
  EXPECT_THAT(use.jobs.at("z").ids, ElementsAre(all[2]));
  EXPECT_FALSE(Use(use.job_count - 1).jobs_read);

  // Nobody has the feature, as when the workers are gone.
  Has("NodeSet=x Feature=gone\nPartitionName=x Nodes=x State=DRAIN\nPartitionName=z State=INACTIVE\n");
  EXPECT_EQ(StateOf(runs), "RUNNING");
  EXPECT_EQ(StateOf(held), "PENDING");
  EXPECT_EQ(StateOf(several), "PENDING");
  EXPECT_THAT(Queue("-p x"), HasSubstr("Required partition not available (inactive or drain)"));
  use = Use();
  EXPECT_FALSE(use.Find("x")->open);
  EXPECT_FALSE(use.Find("z")->open);
  EXPECT_EQ(use.jobs.at("x").ids, all);

  // The NodeSet comes back, with the jobs that its partition has.
  Has("NodeSet=x Feature=workers\nPartitionName=x Nodes=x State=UP\nPartitionName=z State=DRAIN\n");
  EXPECT_EQ(StateOf(runs), "RUNNING");
  Shell("$SLURM_EXEC scancel " + several);
  const std::string more = Queue("-p x -H");

  Has("");
  EXPECT_TRUE(RunUntil([&] { return StateOf(runs) == "NODE_FAIL"; }, 20s)) << StateOf(runs);
  EXPECT_EQ(StateOf(held), "NODE_FAIL");
  EXPECT_EQ(StateOf(more), "NODE_FAIL");
  EXPECT_GE(Use().jobs.at("x").over, 3u);
}

// As of a worker that has moved to another machine. slurmd -b says that its machine was booted just now.
TEST_F(RealSlurm, ANodeOfAMachineThatWasBootedSinceIsDownUntilItIsResumed) {
  std::ifstream file(Env("SLURM_CONF_FILE"));
  const std::string conf(std::istreambuf_iterator<char>(file), {});
  std::ofstream(Env("SLURM_CONF_FILE")) << conf << "ReturnToService=0\n";
  ASSERT_EQ(Shell("$SLURM_CONTROL reconfigure"), "");
  ASSERT_TRUE(NodeBecomes("w-1", [](const Node& n) { return n.state.IsUsable(); }));
  Shell("$SLURM_CONTROL stop w-1; sleep 1.1");  // Slurm counts in seconds
  Shell("$SLURM_EXEC_ON w-1 slurmd -b -Z --conf-server ctl:6817 --conf Features=workers");
  EXPECT_TRUE(NodeBecomes("w-1", [](const Node& n) {
    return n.state.IsDown() && !n.state.IsNotResponding() && n.reason == kReasonRebooted;
  }));
  // Now and then slurmctld says the same once more right after that.
  bool usable = false;
  for (int tries = 0; tries < 3 && !usable; ++tries) {
    EXPECT_TRUE(Update("w-1", NodeAction::kResume));
    usable = NodeBecomes("w-1", [](const Node& n) { return n.state.IsUsable() && n.reason.empty(); });
  }
  EXPECT_TRUE(usable);
  Shell("$SLURM_EXEC_ON w-1 sh -c 'kill $(cat /run/slurm/slurmd.pid)'");
  std::ofstream(Env("SLURM_CONF_FILE")) << conf;
  Shell("$SLURM_CONTROL reconfigure; $SLURM_CONTROL start w-1");
  EXPECT_TRUE(NodeBecomes("w-1", [](const Node& n) { return n.state.IsUsable(); }));
}

TEST_F(RealSlurm, TellsOfTheQueueForSlurmdbdAndWhatItHolds) {
  const auto queue = Await(source.ReadAccountingQueue(Soon()));
  ASSERT_TRUE(queue) << queue.error().message();
  EXPECT_EQ(queue->waiting, 0);
  EXPECT_GE(queue->capacity, 20'000) << "MaxJobCount is 10,000 by default";
}

TEST_F(RealSlurm, WhileSlurmctldIsAwayAPingSaysSoAtOnce) {
  StartPolling();
  Shell("$SLURM_CONTROL stop slurmctld");
  const auto pings = Await(source.Ping(Soon()));
  ASSERT_TRUE(pings);
  EXPECT_THAT(*pings, ElementsAre(ControllerPing{.hostname = "ctl", .responding = false, .primary = true}));
  EXPECT_EQ(Await(source.ReadNodes({"w-0"}, Soon())).error().code(), Code::kUnavailable);
  ASSERT_TRUE(RunUntil([&] { return source.Latest().error.has_value(); }, 40s));
  EXPECT_EQ(source.Latest().snapshot->nodes->size(), 2u);
  Shell("$SLURM_CONTROL start slurmctld");
  EXPECT_TRUE(RunUntil([&] { return !source.Latest().error; }, 15s));
}

TEST_F(RealSlurm, SlurmrestdMayDieAndComeBack) {
  StartPolling();
  const std::string names[] = {"w-0"};
  source.ExpectChange(names, loop.Now() + 1min);
  Shell("$SLURM_CONTROL kill slurmrestd");
  ASSERT_TRUE(RunUntil([&] { return source.Latest().error.has_value(); }, 20s));
  EXPECT_EQ(source.Latest().error->code(), Code::kUnavailable);
  Shell("$SLURM_CONTROL start slurmrestd");
  EXPECT_TRUE(RunUntil([&] { return !source.Latest().error; }, 15s));
}

TEST_F(RealSlurm, HostlistsAgreeWithScontrol) {
  Random random(20261121);
  for (int i = 0; i < 25; ++i) {
    std::vector<std::string> names;
    for (uint64_t left = 1 + random.Below(12); left > 0; --left) {
      std::string number = std::to_string(random.Below(120));
      if (random.Percent(40) && number.size() < 3) number.insert(0, 3 - number.size(), '0');
      names.push_back(std::string(random.Percent(70) ? "n" : "rack2n") + number + (random.Percent(10) ? "-ib" : ""));
    }
    const HostSet set(names);
    EXPECT_EQ(Join(set.names(), "\n"), Shell("$SLURM_EXEC scontrol show hostnames '" + set.ToString() + "'"))
        << set.ToString();
  }
  for (const char* text : {"w-[0-3,7],x[08-10]", "rack[0-1]n[00-01]", "n[1-2]-ib", "a,b,a", "n[8-012]", "n[3,1]"})
    EXPECT_EQ(Join(*ExpandHostlist(text), "\n"),
              Shell(std::string("$SLURM_EXEC scontrol show hostnames '") + text + "'"))
        << text;
  for (const char* text : {"n[1-3", "n[]", "n[3-1]", "n[1-2,]"}) {
    EXPECT_FALSE(ExpandHostlist(text));
    EXPECT_THAT(Shell(std::string("$SLURM_EXEC scontrol show hostnames '") + text + "'"), HasSubstr("Invalid")) << text;
  }
}

TEST_F(RealSlurm, ConfTextIsReadAsItWasMeant) {
  const std::string path = Env("SLURM_CONF_FILE");
  std::ifstream file(path);
  const std::string original(std::istreambuf_iterator<char>(file), {});
  ASSERT_TRUE(ParseConf(original));

  const std::string program = "/bin/true with #blanks and \\ more";
  const ConfItem partition[] = {{"PartitionName", "written"}, {"Nodes", "ALL"}, {"State", "DOWN"}};
  const auto text = ConfText()
                        .Verbatim(original, "test")
                        .Section("TEST & MORE")
                        .Set("MailProg", "/bin/true")
                        .Set("UnkillableStepProgram", program)
                        .Line(partition)
                        .Verbatim("# mine\nKillWait=3 # three\n", "extra")
                        .Build();
  ASSERT_TRUE(text) << text.error().message();
  std::ofstream(path) << *text;
  EXPECT_EQ(Shell("$SLURM_CONTROL reconfigure"), "");
  ASSERT_TRUE(
      RunUntil([&] { return Shell("$SLURM_EXEC scontrol show config").find("KillWait") != std::string::npos; }, 20s));
  const std::string config = Shell("$SLURM_EXEC scontrol show config");
  EXPECT_THAT(config, HasSubstr("UnkillableStepProgram   = " + program + "\n"));
  EXPECT_THAT(config, HasSubstr("KillWait                = 3 sec"));
  EXPECT_THAT(Shell("$SLURM_EXEC scontrol show partition written"), HasSubstr("State=DOWN"));
  std::ofstream(path) << original;
  EXPECT_EQ(Shell("$SLURM_CONTROL reconfigure"), "");
}

}  // namespace
}  // namespace capstan::slurm
