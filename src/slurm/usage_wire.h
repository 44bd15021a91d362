// The JSON of slurmrestd behind usage.h. Used by RestClient alone, as rest_wire.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "slurm/rest_wire.h"
#include "slurm/usage.h"

namespace capstan::slurm::wire {

struct NodeUsageRecord {
  std::string name, reason, topology, gres, gres_used;
  std::vector<std::string> state, partitions, features;
  int64_t cpus = 0, effective_cpus = 0, alloc_cpus = 0, alloc_idle_cpus = 0;
  int64_t real_memory = 0, specialized_memory = 0, alloc_memory = 0;
  Number free_mem, reason_changed_at;
  static const json::Schema& Schema();

  NodeUsage ToUsage() &&;
};

struct JobUsageRecord {
  int64_t job_id = 0, user_id = 0;
  bool hold = false;
  std::vector<std::string> job_state;
  std::string state_reason, user_name, account, partition, array_task_string, features, tres_per_node, tres_per_job,
      tres_alloc_str, tres_req_str;
  std::vector<std::string> shared;
  Number node_count, max_nodes, array_max_tasks, eligible_time, start_time;
  static const json::Schema& Schema();

  JobUsage ToUsage() &&;
};

struct LicenseRecord {
  std::string name;
  int64_t total = 0, used = 0, reserved = 0;
  static const json::Schema& Schema();

  License ToLicense() &&;
};

struct StatisticsAnswer {
  slurm::Statistics statistics;
  static const json::Schema& Schema();
};

// Of the statistics what stands in objects of its own.
struct StatisticsTimes {
  Number job_states_ts, bf_when_last_cycle;
  static const json::Schema& Schema();
};
struct StatisticsTimesAnswer {
  StatisticsTimes statistics;
  static const json::Schema& Schema();
};

// How many tasks "0-99:2,103%8" names; at least one, and at most what Slurm allows an array to have.
int64_t TasksOf(std::string_view array);

}  // namespace capstan::slurm::wire
