// The series of slurm-exporter, one by one: its dashboards and alerts find each name with its labels.
#include <set>

#include "base/text.h"
#include "exporter/exporter_test.h"

namespace capstan::exporter {
namespace {

constexpr auto kNode = R"({"name":"w-0","state":["IDLE"],"partitions":["all"],"cpus":4,"real_memory":100,
  "free_mem":{"set":true,"infinite":false,"number":50}})";
constexpr auto kJob = R"({"job_id":7,"job_state":["RUNNING"],"partition":"all","account":"physics","user_id":1000,
  "user_name":"ada"})";

// Families by the labels that each of their series has.
std::map<std::string, std::string> Families(const std::string& text) {
  std::map<std::string, std::string> families;
  for (const std::string_view line : Split(text, '\n')) {
    if (line.empty() || line.starts_with("#")) continue;
    const size_t open = line.find('{'), end = line.find_first_of("{ ");
    std::string labels;
    if (open == end) {
      for (const std::string_view one : Split(line.substr(open + 1, line.find('}') - open - 1), ','))
        labels += (labels.empty() ? "" : ",") + std::string(one.substr(0, one.find('=')));
    }
    families[std::string(line.substr(0, end))] = labels;
  }
  return families;
}

struct Family {
  const char* labels;
  const char* prefix;
  const char* names;  // with blanks between them
};

constexpr auto kJobNames =
    "total bootfail_total cancelled_total completed_total deadline_total failed_total pending_total preempted_total "
    "running_total suspended_total timeout_total nodefail_total outofmemory_total completing_total configuring_total "
    "powerupnode_total stageout_total hold_total cpus_alloc_total memory_alloc_bytes";
constexpr auto kNodeNames =
    "total allocated_total down_total error_total future_total idle_total mixed_total unknown_total completing_total "
    "drain_total fail_total maintenance_total notresponding_total planned_total rebootrequested_total reserved_total";
constexpr auto kResourceNames =
    "cpus_total cpus_effective_total cpus_alloc_total cpus_idle_total memory_bytes memory_effective_bytes "
    "memory_alloc_bytes memory_free_bytes";

constexpr Family kFamilies[] = {
    {"", "slurm_nodes_", kNodeNames},
    {"", "slurm_jobs_", kJobNames},
    {"node", "slurm_node_", kResourceNames},
    {"partition", "slurm_partition_nodes_", kNodeNames},
    {"partition", "slurm_partition_nodes_", kResourceNames},
    {"partition", "slurm_partition_jobs_", kJobNames},
    {"partition", "slurm_partition_jobs_", "pending_maxnodecount_total"},
    {"account", "slurm_account_jobs_", kJobNames},
    {"userid,username", "slurm_user_jobs_", kJobNames},
    {"", "slurm_scheduler_",
     "cycle_depth_total cycle_last_seconds cycle_max_seconds cycle_mean_seconds cycle_depth_mean_total "
     "cycle_perminute_total cycle_sum_seconds_total cycle_total queue_total defaultqueuedepth_total "
     "endjobqueue_total licenses_total maxjobstart_total maxrpc_total maxschedtime_total jobs_stats_timestamp "
     "jobs_canceled_total jobs_completed_total jobs_failed_total jobs_started_total jobs_submitted_total "
     "jobs_pending_total jobs_running_total agent_total agent_queue_total agent_thread_total thread_total "
     "dbdagentqueue_total"},
    {"", "slurm_bfscheduler_",
     "active_bool backfilledhetjobs_total backfilledjobs_total cycle_total cycle_seconds cycle_max_seconds "
     "cycle_mean_seconds cycle_sum_seconds depth_mean_total depth_try_total depth_sum_total depth_trysum_total "
     "lastbackfilledjobs_total lastdepth_total lastdepthtry_total queue_total queue_mean_total queue_sum_total "
     "table_total tablemean_total tablesum_total lastcycle_timestamp maxjobstart_total maxjobtest_total "
     "maxtime_total nodespace_total endjobqueue_total statechanged_total"},
};

class Names : public ExporterTest {
 protected:
  std::string Collected() {
    slurm.bodies["nodes/"] = std::string(R"({"nodes":[)") + kNode + "]}";
    slurm.bodies["jobs/"] = std::string(R"({"jobs":[)") + kJob + "]}";
    slurm.bodies["partitions/"] = R"({"partitions":[{"name":"all"}]})";
    Start();
    return Text();
  }
};

TEST_F(Names, AndLabelsAreThoseOfSlurmExporterAndAllAreGauges) {
  const std::string text = Collected();
  const auto families = Families(text);
  for (const Family& family : kFamilies) {
    for (const std::string_view each : Words(family.names)) {
      const std::string name = std::string(family.prefix).append(each);
      const auto found = families.find(name);
      ASSERT_NE(found, families.end()) << name;
      EXPECT_EQ(found->second, family.labels) << name;
      EXPECT_NE(text.find("# TYPE " + name + " gauge\n"), std::string::npos) << name;
    }
  }
}

TEST_F(Names, EachFamilyIsDescribedOnceBeforeItsSeries) {
  std::set<std::string, std::less<>> described;
  std::string_view now;
  const std::string text = Collected();
  for (const std::string_view line : Split(text, '\n')) {
    if (line.starts_with("# HELP ")) {
      now = Words(line)[2];
      EXPECT_TRUE(described.emplace(now).second) << now;
    } else if (!line.empty() && !line.starts_with("#")) {
      EXPECT_EQ(line.substr(0, line.find_first_of("{ ")), now);
    }
  }
}

}  // namespace
}  // namespace capstan::exporter
