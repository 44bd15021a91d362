// The exporter's series of real daemons.
#include <gmock/gmock.h>

#include <fstream>

#include "base/text.h"
#include "exporter/collector.h"
#include "real_slurm.h"

namespace capstan::slurm {
namespace {

class RealExporter : public RealSlurm {
 protected:
  RealExporter() : collector(loop, client, {.interval = 1s + 1ms}) {}

  void SetUp() override {
    RealSlurm::SetUp();
    auto run = [](exporter::Collector& one) -> async::Task<void> { co_await one.Run(); };
    tasks.Spawn("collector", run(collector));
    ASSERT_TRUE(RunUntil([this] { return collector.has_begun(); }, 30s));
  }
  void TearDown() override {
    tasks.Cancel();
    RunUntil([this] { return tasks.size() == 0; }, 10s);
    RealSlurm::TearDown();
  }

  std::string Value(const std::string& series) const {
    std::string text = "\n";
    collector.AppendTo(text);
    const std::string line = "\n" + series + " ";
    const size_t at = text.find(line);
    return at == std::string::npos ? "" : text.substr(at + line.size(), text.find('\n', at + 1) - at - line.size());
  }
  // Fails with what the series says in the end.
  void Becomes(const std::string& series, const std::string& value) {
    if (!RunUntil([&] { return Value(series) == value; }, 20s)) ADD_FAILURE() << series << " is " << Value(series);
  }

  exporter::Collector collector;
};

TEST_F(RealExporter, CountsNodesAndJobs) {
  Becomes("slurm_up", "1");
  Becomes("slurm_nodes_total", "2");
  Becomes("slurm_nodes_idle_total", "2");
  Becomes("slurm_controller_up{controller=\"ctl\",role=\"primary\"}", "1");
  const std::string id = RunJob("w-0", "-n1 --mem=64");
  Becomes("slurm_jobs_running_total", "1");
  Becomes("slurm_jobs_cpus_alloc_total", Shell("$SLURM_EXEC squeue -h -o %C -j " + id));
  Becomes("slurm_partition_jobs_running_total{partition=\"all\"}", "1");
  Becomes("slurm_nodes_idle_total", "1");
  EXPECT_NE(Value("slurm_node_cpus_alloc_total{node=\"w-0\"}"), "0");
  EXPECT_EQ(Value("slurm_node_cpus_alloc_total{node=\"w-1\"}"), "0");
  EXPECT_NE(Value("slurm_partition_jobs_running_mean_wait_seconds{partition=\"all\"}"), "");

  // Three tasks of an array that wait are one record; a job that names two partitions is in both.
  ASSERT_NE(Shell("$SLURM_EXEC sbatch --parsable --hold --array=1-3 --wrap true"), "");
  Becomes("slurm_partition_jobs_pending_tasks{partition=\"all\"}", "3");
  EXPECT_NE(Value("slurm_jobs_hold_total"), "0");
  EXPECT_EQ(Value("slurm_jobs_pending_total"), "1");
  EXPECT_EQ(Value("slurm_jobs_pending_by_reason{partition=\"all\",reason=\"JobHeldUser\"}"), "1");

  ASSERT_TRUE(Update("w-1", NodeAction::kDrain, "ada looks at the fan"));
  Becomes("slurm_nodes_unavailable{state=\"drained\",class=\"other\"}", "1");
}

TEST_F(RealExporter, ShowsWhatSlurmctldCounts) {
  EXPECT_TRUE(RunUntil([this] { return !Value("slurm_rpc_calls_total{rpc=\"REQUEST_NODE_INFO\"}").empty(); }, 20s));
  EXPECT_NE(Value("slurm_scheduler_thread_total"), "");
  EXPECT_NE(Value("slurm_bfscheduler_lastcycle_timestamp"), "");
  for (const char* collected :
       {"statistics", "controllers", "partitions", "nodes", "jobs", "licenses", "reservations", "shares"}) {
    EXPECT_EQ(Value("slurm_exporter_collection_failures_total{collector=\"" + std::string(collected) + "\"}"), "0")
        << collected;
    EXPECT_NE(Value("slurm_exporter_snapshot_age_seconds{collector=\"" + std::string(collected) + "\"}"), "")
        << collected;
  }
}

TEST_F(RealExporter, KeepsWhatItKnowsWhileSlurmctldIsAway) {
  Becomes("slurm_nodes_total", "2");
  Shell("$SLURM_CONTROL kill slurmctld");
  EXPECT_TRUE(
      RunUntil([this] { return Value("slurm_controller_up{controller=\"ctl\",role=\"primary\"}") == "0"; }, 60s));
  EXPECT_EQ(Value("slurm_nodes_total"), "2");
  EXPECT_EQ(Value("slurm_up"), "1");
  Shell("$SLURM_CONTROL start slurmctld");
  Becomes("slurm_controller_up{controller=\"ctl\",role=\"primary\"}", "1");
}

class RealAutoscaling : public RealExporter {
 protected:
  void SetUp() override {
    RealExporter::SetUp();
    std::ifstream file(Env("SLURM_CONF_FILE"));
    conf_ = std::string(std::istreambuf_iterator<char>(file), {});
    Has("NodeSet=burst Feature=burst\nPartitionName=burst Nodes=burst State=UP\n");
  }
  void TearDown() override {
    Shell("$SLURM_EXEC scancel --user root");
    Has("");
    RealExporter::TearDown();
  }
  void Waits(const std::string& options) {
    EXPECT_NE(Shell("$SLURM_EXEC sbatch --parsable -p burst " + options + " --wrap true"), "") << options;
  }

 private:
  void Has(const std::string& lines) {
    std::ofstream(Env("SLURM_CONF_FILE")) << conf_ << lines;
    Shell("$SLURM_EXEC scontrol reconfigure");
  }
  std::string conf_;
};

constexpr auto kWanted = "slurm_nodeset_wanted_nodes{nodeset=\"burst\"}";

// Whatever reasons slurmctld finds for jobs that no node could run yet.
TEST_F(RealAutoscaling, ANodeSetWithoutWorkersWantsOneForEachJob) {
  Becomes(kWanted, "0");
  Waits("-n1");
  Waits("--exclusive");
  Waits("-N3");
  Waits("--array=0-9%4");
  Waits("--hold");
  Waits("--begin=now+1hour");
  Becomes(kWanted, "9");
  Becomes("slurm_partition_wanted_nodes{partition=\"burst\"}", "9");
  // Once it has looked at them all.
  EXPECT_TRUE(RunUntil([] { return Shell("$SLURM_EXEC squeue -h -o %r | grep -c None") == "0"; }, 20s));
  Becomes("slurm_jobs_pending_by_reason{partition=\"burst\",reason=\"PartitionConfig\"}", "4");
  Becomes(kWanted, "9");
  Shell("$SLURM_EXEC scancel --user root");
  Becomes(kWanted, "0");
}

TEST_F(RealAutoscaling, JobsOfOneNodeFillAWorker) {
  ASSERT_NE(Shell("$SLURM_EXEC scontrol update nodename=w-0 availablefeatures=workers,burst && echo done"), "");
  const std::string cpus = Shell("$SLURM_EXEC sinfo -h -n w-0 -o %c");
  Shell("$SLURM_EXEC scontrol update nodename=w-0 state=drain reason=test");
  for (int i = 0; i <= std::stoi(cpus); ++i) Waits("-n1 --mem=1");
  // Two of their own, and one for that which takes no jobs.
  Becomes(kWanted, "3");
  Waits("-n1 --mem=1 -C burst");
  Waits("--exclusive");
  Becomes(kWanted, "4");
  Shell("$SLURM_EXEC scancel --user root");
  Shell("$SLURM_EXEC scontrol update nodename=w-0 state=resume");
  Shell("$SLURM_EXEC scontrol update nodename=w-0 availablefeatures=workers");
}

}  // namespace
}  // namespace capstan::slurm
