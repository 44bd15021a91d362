// The exporter's series of real daemons.
#include <gmock/gmock.h>

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
    const std::string text = "\n" + collector.Text(), line = "\n" + series + " ";
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
       {"statistics", "controllers", "partitions", "nodes", "jobs", "licenses", "reservations"}) {
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

}  // namespace
}  // namespace capstan::slurm
