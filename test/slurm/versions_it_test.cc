// What the library can do with a Slurm, by its release: docs/slurm-library.md has it as a table. Each row does it and looks at
// what came of it, or is refused in so many words.
#include <gmock/gmock.h>

#include <tuple>

#include "base/text.h"
#include "patience.h"
#include "real_slurm.h"
#include "slurm/external_job.h"

namespace capstan::slurm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class RealVersion;

// One thing that the library does.
struct Row {
  const char* name;
  Result<void> (*ask)(RealVersion&);
  const char* since = "24.11";  // the first release that can
  const char* refused = "";     // what an older one cannot, in the words of the error
};

class RealVersion : public RealSlurm, public ::testing::WithParamInterface<Row> {
 protected:
  void TearDown() override {
    Shell(
        "$SLURM_EXEC scancel --user root; $SLURM_EXEC scancel --user slurm; $SLURM_EXEC scontrol delete reservation "
        "kept");
  }

 public:
  using RealSlurm::Await;
  using RealSlurm::client;
  using RealSlurm::loop;
  using RealSlurm::NodeBecomes;
  using RealSlurm::NodeNow;
  using RealSlurm::RunJob;
  using RealSlurm::RunUntil;
  using RealSlurm::Soon;
  using RealSlurm::source;

  // The ids that a submitter chose, another one at each call.
  static int64_t NextId() {
    static int64_t next = 47'000'000;
    return next++;
  }
  bool Is(const std::string& job, const std::string& state) {
    return RunUntil([&] { return Shell("$SLURM_EXEC squeue -h -t all -o %T -j " + job) == state; }, 20s);
  }
  static std::string Held(const std::string& options = "") {
    return Shell("$SLURM_EXEC sbatch --parsable --hold " + options + " --wrap 'sleep 300'");
  }
  static NodeUpdate To(NodeAction action, std::vector<std::string> names) {
    NodeUpdate update;
    update.names = std::move(names);
    update.action = action;
    update.reason = "test";
    return update;
  }
  ReservationUpdate Kept() const {
    const Time now = std::chrono::floor<std::chrono::seconds>(loop.WallNow());
    return {
        .name = "kept", .nodes = {"w-0"}, .flags = {"MAINT"}, .users = {"slurm"}, .start = now + 1h, .duration = 30min};
  }
  Result<void> Submit(int64_t id) {
    return Await(client.Submit(ExternalJob{.id = id, .name = "pod", .mcs_label = {}, .admin_comment = {}}, Soon()));
  }
};

#define ASK(name, expression)            \
  const auto name = t.Await(expression); \
  if (!name) return Fail(name.error())

const Row kRows[] = {
    {"Ping",
     [](RealVersion& t) -> Result<void> {
       ASK(controllers, t.client.Ping(t.Soon()));
       EXPECT_THAT(*controllers, ElementsAre(ControllerPing{.hostname = "ctl", .responding = true, .primary = true}));
       return {};
     }},
    {"Statistics",
     [](RealVersion& t) -> Result<void> {
       ASK(statistics, t.client.ReadStatistics(t.Soon()));
       EXPECT_GT(statistics->server_thread_count, 0);
       EXPECT_THAT(statistics->rpcs, Not(IsEmpty()));
       return {};
     }},
    {"QueueForSlurmdbd",
     [](RealVersion& t) -> Result<void> {
       ASK(queue, t.client.ReadAccountingQueue(t.Soon()));
       EXPECT_EQ(queue->waiting, 0);
       EXPECT_GE(queue->capacity, 10'000);
       return {};
     }},
    {"LifeOfSlurmctld",
     [](RealVersion& t) -> Result<void> {
       ASK(life, t.client.ReadLife(t.Soon()));
       EXPECT_NE(life->id, "");
       EXPECT_LT(life->uptime, Duration(1h));
       return {};
     }},
    {"Nodes",
     [](RealVersion& t) -> Result<void> {
       ASK(nodes, t.client.Nodes(0, t.Soon()));
       EXPECT_EQ(nodes->records.size(), 2u);
       EXPECT_GT(nodes->records[0].memory_mib, 0);
       EXPECT_THAT(Shell("$SLURM_EXEC sinfo -V"), ::testing::EndsWith(" " + nodes->release));
       return {};
     }},
    {"NodesIfTheyChanged",
     [](RealVersion& t) -> Result<void> {
       auto nodes = t.Await(t.client.Nodes(0, t.Soon()));
       if (!nodes) return Fail(nodes.error());
       const bool can = RestClient::CanAskForChangedNodes(nodes->release);  // else all of them are the answer
       const Tick end = t.loop.Now() + capstan::testing::Patient(20s);
       do {
         Shell("sleep 0.2");  // Slurm counts in seconds
         nodes = t.Await(t.client.Nodes(nodes->update_time, t.Soon()));
       } while (nodes && can && !nodes->unchanged && t.loop.Now() < end);
       if (!nodes) return Fail(nodes.error());
       EXPECT_EQ(nodes->unchanged, can);
       EXPECT_EQ(nodes->records.size(), can ? 0u : 2u);
       return {};
     }},
    {"NodeNamed",
     [](RealVersion& t) -> Result<void> {
       ASK(node, t.client.NodeNamed("w-1", t.Soon()));
       EXPECT_TRUE(*node && (*node)->address == "192.0.2.11");
       ASK(none, t.client.NodeNamed("nope", t.Soon()));
       EXPECT_FALSE(*none);
       return {};
     }},
    {"DrainsAndResumes",
     [](RealVersion& t) -> Result<void> {
       CAPSTAN_CHECK_OK(t.Await(t.client.Update(RealVersion::To(NodeAction::kDrain, {"w-0", "w-1"}), t.Soon())));
       EXPECT_TRUE(t.NodeNow("w-0")->state.IsDrained() && t.NodeNow("w-1")->state.IsDrained());
       CAPSTAN_CHECK_OK(t.Await(t.client.Update(RealVersion::To(NodeAction::kUndrain, {"w-0"}), t.Soon())));
       CAPSTAN_CHECK_OK(t.Await(t.client.Update(RealVersion::To(NodeAction::kResume, {"w-1"}), t.Soon())));
       for (const char* name : {"w-0", "w-1"})
         EXPECT_TRUE(t.NodeBecomes(name, [](const Node& n) { return n.state.IsUsable(); }));
       return {};
     }},
    {"NotesAndFeatures",
     [](RealVersion& t) -> Result<void> {
       NodeUpdate update;
       update.names = {"w-0"};
       update.comment = "a \"comment\"";
       update.extra = "more";
       update.features = update.active_features = {"workers", "gpu"};
       update.weight = 7;
       CAPSTAN_CHECK_OK(t.Await(t.client.Update(update, t.Soon())));
       const auto node = t.NodeNow("w-0");
       EXPECT_EQ(std::tie(node->comment, node->extra, node->active_features, node->weight),
                 std::tie(*update.comment, *update.extra, *update.features, *update.weight));
       return {};
     }},
    {"TopologyOfANode",
     [](RealVersion& t) -> Result<void> {
       NodeUpdate update;
       update.names = {"w-0"};
       update.topology = "default";
       update.comment = "changed all the same";
       const auto done = t.Await(t.client.Update(update, t.Soon()));
       EXPECT_EQ(t.NodeNow("w-0")->comment, *update.comment);
       return done;
     },
     "25.05", "topologies of nodes"},
    {"MakesNodes",
     [](RealVersion& t) -> Result<void> {
       ExternalNode node{.name = "k9", .cpus = 4, .memory_mib = 2000, .address = "192.0.2.77"};
       CAPSTAN_CHECK_OK(t.Await(t.client.CreateNode(node, t.Soon())));
       EXPECT_TRUE(t.NodeNow("k9"));
       return t.Await(t.client.Delete("k9", t.Soon()));
     },
     "25.11", "making nodes"},
    {"DeletesNodes",
     [](RealVersion& t) -> Result<void> {
       CAPSTAN_CHECK_OK(t.Await(t.client.Delete("w-1", t.Soon())));
       EXPECT_FALSE(t.NodeNow("w-1"));
       EXPECT_EQ(t.Await(t.client.Delete("w-1", t.Soon())).error().code(), Code::kNotFound);
       return {};
     }},
    {"Jobs",
     [](RealVersion& t) -> Result<void> {
       const std::string id = RealVersion::Held("-J named -t 7");
       ASK(jobs, t.client.Jobs(0, t.Soon()));
       const auto job = std::ranges::find(jobs->records, *ParseInt(id), &Job::id);
       if (job == jobs->records.end()) return Fail(Code::kNotFound, id);
       EXPECT_EQ(job->name, "named");
       EXPECT_EQ(job->time_limit, std::optional<Duration>(7min));
       return {};
     }},
    {"JobsIfTheyChanged",
     [](RealVersion& t) -> Result<void> {
       auto jobs = t.Await(t.client.Jobs(0, t.Soon()));
       const Tick end = t.loop.Now() + capstan::testing::Patient(20s);
       while (jobs && !jobs->unchanged && t.loop.Now() < end) {
         Shell("sleep 0.2");  // Slurm counts in seconds
         jobs = t.Await(t.client.Jobs(jobs->update_time, t.Soon()));
       }
       if (!jobs) return Fail(jobs.error());
       EXPECT_TRUE(jobs->unchanged);
       return {};
     }},
    {"JobNumbered",
     [](RealVersion& t) -> Result<void> {
       const int64_t id = *ParseInt(RealVersion::Held());
       ASK(found, t.client.JobNumbered(id, t.Soon()));
       EXPECT_TRUE(found->size() == 1 && found->front().state.Has(JobFlag::kPending));
       ASK(none, t.client.JobNumbered(4711, t.Soon()));
       EXPECT_THAT(*none, IsEmpty());
       return {};
     }},
    {"StatesOfJobs",
     [](RealVersion& t) -> Result<void> {
       const int64_t id = *ParseInt(RealVersion::Held());
       ASK(all, t.client.JobStates(t.Soon()));
       EXPECT_NE(std::ranges::find(all->records, id, &RestClient::JobBrief::id), all->records.end());
       ASK(some, t.client.JobStates({id, 4711}, t.Soon()));
       if (some->records.size() != 1) return Fail(Code::kInvalid, std::to_string(some->records.size()) + " states");
       EXPECT_TRUE(some->records[0].id == id && some->records[0].state.Has(JobFlag::kPending));
       return {};
     }},
    {"SubmitsBatchJobs",
     [](RealVersion& t) -> Result<void> {
       BatchJob job{.script = "#!/bin/sh\ntrue\n", .working_directory = "/tmp", .name = "batch"};
       job.nodes = job.tasks = job.cpus_per_task = 1;
       job.memory_mib = 10;
       job.limit_minutes = 5;
       ASK(id, t.client.Submit(job, t.Soon()));
       EXPECT_TRUE(t.Is(std::to_string(*id), "COMPLETED"))
           << Shell("$SLURM_EXEC scontrol show job " + std::to_string(*id));
       const std::string shown = Shell("$SLURM_EXEC scontrol show job " + std::to_string(*id));
       for (const char* part : {"JobName=batch", "TimeLimit=00:05:00", "NumNodes=1 NumCPUs=1", "MinMemoryNode=10M"})
         EXPECT_THAT(shown, HasSubstr(part));
       job.partition = "nope";
       EXPECT_EQ(t.Await(t.client.Submit(job, t.Soon())).error().code(), Code::kInvalid);
       return {};
     }},
    {"SubmitsExternalJobs",
     [](RealVersion& t) -> Result<void> {
       const int64_t id = RealVersion::NextId();
       CAPSTAN_CHECK_OK(t.Submit(id));
       EXPECT_TRUE(t.Is(std::to_string(id), "RUNNING"));
       return {};
     },
     "25.05", "external jobs"},
    {"UpdatesJobs",
     [](RealVersion& t) -> Result<void> {
       const std::string id = RealVersion::Held();
       const JobUpdate update{.id = *ParseInt(id), .admin_comment = "seen", .name = "renamed"};
       CAPSTAN_CHECK_OK(t.Await(t.client.UpdateJob(update, t.Soon())));
       EXPECT_THAT(Shell("$SLURM_EXEC scontrol show job " + id), HasSubstr("JobName=renamed"));
       EXPECT_EQ(t.Await(t.client.JobNumbered(*ParseInt(id), t.Soon()))->front().admin_comment, "seen");
       return {};
     }},
    {"CancelsAJobAsItWasMeant",
     [](RealVersion& t) -> Result<void> {
       const std::string id = RealVersion::Held("-J mine");
       const auto cancel = [&](std::string name, JobFlag state) {
         return t.Await(t.client.CancelJob({.id = *ParseInt(id), .name = std::move(name), .only_if = state}, t.Soon()));
       };
       EXPECT_EQ(cancel("other", JobFlag::kPending).error().code(), Code::kConflict);
       EXPECT_EQ(cancel("mine", JobFlag::kRunning).error().code(), Code::kConflict);
       EXPECT_TRUE(t.Is(id, "PENDING"));
       CAPSTAN_CHECK_OK(cancel("mine", JobFlag::kPending));
       EXPECT_TRUE(t.Is(id, "CANCELLED"));
       EXPECT_EQ(cancel("mine", JobFlag::kPending).error().code(), Code::kNotFound);
       return {};
     }},
    {"CancelsJobsByAFilter",
     [](RealVersion& t) -> Result<void> {
       const std::string other = RealVersion::Held("-J other -A chemistry"),
                         first = RealVersion::Held("-J mine -A physics"),
                         second = RealVersion::Held("-J mine -A physics"),
                         array = RealVersion::Held("-J mine --array=0-9");
       // What narrows nothing would cancel all.
       for (const JobFilter& none :
            {JobFilter{.user = "nobody", .name = "mine"}, JobFilter{.account = "biology"},
             JobFilter{.partition = "nope"}, JobFilter{.qos = "nope"}, JobFilter{.reservation = "nope"},
             JobFilter{.name = "nope"}, JobFilter{.name = "mine", .only_if = JobFlag::kRunning}})
         t.Await(t.client.CancelJobs(none, t.Soon()));
       for (const std::string& job : {other, first, second, array}) EXPECT_TRUE(t.Is(job, "PENDING")) << job;
       CAPSTAN_CHECK_OK(t.Await(t.client.CancelJobs({.user = "root", .account = "physics", .name = "mine"}, t.Soon())));
       EXPECT_TRUE(t.Is(first, "CANCELLED") && t.Is(second, "CANCELLED"));
       EXPECT_TRUE(t.Is(other, "PENDING") && t.Is(array, "PENDING"));
       CAPSTAN_CHECK_OK(t.Await(t.client.CancelJobs({.partition = "all", .only_if = JobFlag::kPending}, t.Soon())));
       EXPECT_TRUE(t.Is(other, "CANCELLED") && t.Is(array, "CANCELLED"));
       return {};
     }},
    {"ResourcesOfAJob",
     [](RealVersion& t) -> Result<void> {
       const int64_t id = *ParseInt(t.RunJob("w-0", "-n1 -c1 --mem=10"));
       ASK(held, t.client.ResourcesOf(id, t.Soon()));
       if (held->size() != 1) return Fail(Code::kInvalid, std::to_string(held->size()) + " nodes");
       EXPECT_EQ(held->front().node, "w-0");
       EXPECT_GE(held->front().cores.size(), 1u);
       EXPECT_EQ(held->front().memory_mib, 10);
       EXPECT_EQ(t.Await(t.client.ResourcesOf(*ParseInt(RealVersion::Held()), t.Soon())).error().code(),
                 Code::kConflict);
       EXPECT_EQ(t.Await(t.client.ResourcesOf(4711, t.Soon())).error().code(), Code::kNotFound);
       return {};
     },
     "25.11", "a job's cores"},
    {"Partitions",
     [](RealVersion& t) -> Result<void> {
       ASK(partitions, t.client.Partitions(t.Soon()));
       EXPECT_EQ(partitions->records.at(0).name, "all");
       EXPECT_EQ(partitions->records.at(0).node_count, 2);
       EXPECT_EQ(partitions->records.at(0).time_limit, std::nullopt);
       return {};
     }},
    {"Reservations",
     [](RealVersion& t) -> Result<void> {
       Shell(
           "$SLURM_EXEC scontrol create reservation ReservationName=kept Users=slurm Flags=MAINT StartTime=now+1hour "
           "Duration=30 Nodes=w-0");
       ASK(all, t.client.Reservations(t.Soon()));
       if (all->records.size() != 1) return Fail(Code::kInvalid, std::to_string(all->records.size()) + " reservations");
       EXPECT_EQ(all->records[0].name, "kept");
       EXPECT_EQ(all->records[0].nodes, "w-0");
       EXPECT_EQ(all->records[0].end - all->records[0].start, Duration(30min));
       return {};
     }},
    {"MakesReservations",
     [](RealVersion& t) -> Result<void> {
       CAPSTAN_CHECK_OK(t.Await(t.client.WriteReservation(t.Kept(), t.Soon())));
       EXPECT_THAT(Shell("$SLURM_EXEC scontrol show reservation"), HasSubstr("ReservationName=kept"));
       return {};
     },
     "25.05", "making reservations"},
    {"DeletesReservations",
     [](RealVersion& t) -> Result<void> {
       Shell(
           "$SLURM_EXEC scontrol create reservation ReservationName=kept Users=slurm Flags=MAINT StartTime=now+1hour "
           "Duration=30 Nodes=w-0");
       auto done = t.Await(t.source.DeleteReservation("kept", t.Soon()));
       const bool there =
           Shell("$SLURM_EXEC scontrol show reservation").find("ReservationName=kept") != std::string::npos;
       EXPECT_EQ(there, !done) << "a reservation that is there is not told as gone";
       return done;
     },
     "25.05", "deleting reservations"},
    {"Licenses",
     [](RealVersion& t) -> Result<void> {
       ASK(licenses, t.client.Licenses(t.Soon()));
       if (licenses->records.size() != 1)
         return Fail(Code::kInvalid, std::to_string(licenses->records.size()) + " licences");
       EXPECT_EQ(licenses->records[0].name, "matlab");
       EXPECT_EQ(licenses->records[0].total, 5);
       return {};
     }},
    {"Shares",
     [](RealVersion& t) -> Result<void> {
       ASK(shares, t.client.Shares(t.Soon()));
       EXPECT_THAT(shares->records, IsEmpty()) << "there is no slurmdbd here";
       return {};
     }},
    {"Reconfigures",
     [](RealVersion& t) -> Result<void> {
       ASK(before, t.client.ReadLife(t.Soon()));
       Shell("sleep 1.1");  // Slurm tells lives apart by the second in which they begin
       CAPSTAN_CHECK_OK(t.Await(t.client.Reconfigure(t.Soon())));
       const auto is_new = [&] {
         const auto life = t.Await(t.client.ReadLife(t.Soon()));
         return life && life->id != before->id;
       };
       EXPECT_TRUE(t.RunUntil(is_new, 30s));
       return {};
     }},
};

#undef ASK

// "24.11.5" of "slurm-wlm 24.11.5".
std::string Release() {
  const std::string shown = Shell("$SLURM_EXEC sinfo -V");
  return shown.substr(shown.rfind(' ') + 1);
}

std::pair<int64_t, int64_t> YearAndMonth(std::string_view release) {
  const auto parts = Split(release, '.');
  return {ParseInt(parts.at(0)).value_or(0), ParseInt(parts.at(1)).value_or(0)};
}

TEST_P(RealVersion, DoesItOrSaysThatItIsNotSupported) {
  const Row& row = GetParam();
  const std::string release = Release();
  const auto done = row.ask(*this);
  if (YearAndMonth(release) >= YearAndMonth(row.since)) {
    EXPECT_TRUE(done) << done.error().message();
  } else {
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), Code::kInvalid);
    EXPECT_EQ(done.error().message(), std::string(row.refused) + ": not supported by this Slurm (" + release +
                                          "); Slurm " + row.since + " and newer can");
  }
}

INSTANTIATE_TEST_SUITE_P(Table, RealVersion, ::testing::ValuesIn(kRows),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace capstan::slurm
