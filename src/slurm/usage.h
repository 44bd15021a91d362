// What nodes, jobs and slurmctld itself are using and doing now: figures that differ at every look, for who counts them. Who
// decides about a node or a job reads a Snapshot (snapshot.h).
//
// Memory is in MiB, as Slurm has it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "slurm/gres.h"
#include "slurm/job_state.h"
#include "slurm/node_state.h"

namespace capstan::json {
class Schema;
}

namespace capstan::slurm {

struct NodeUsage {
  std::string name;
  NodeState state;
  std::string reason;  // of DRAIN, DOWN or FAIL
  std::optional<Time> reason_changed_at;
  std::vector<std::string> partitions;
  std::vector<std::string> features;
  std::string topology;         // "block:b1,tree:leaf3": in each topology the unit that it is a part of
  std::string gres, gres_used;  // as Slurm writes them (gres.h)
  int64_t cpus = 0;
  int64_t effective_cpus = 0;  // without those that are kept from jobs
  int64_t alloc_cpus = 0, idle_cpus = 0;
  int64_t memory_mib = 0;
  int64_t kept_memory_mib = 0;  // from jobs (MemSpecLimit)
  int64_t alloc_memory_mib = 0;
  std::optional<int64_t> free_memory_mib;  // as the operating system says; absent: slurmd has not told
};

// Trackable resources, as Slurm writes them: "cpu=8,mem=64G,node=2,billing=8,gres/gpu:a100=4". What cannot be read counts
// as nothing.
struct Tres {
  int64_t cpus = 0;
  int64_t memory_mib = 0;
  int64_t nodes = 0;
  std::map<std::string, int64_t, std::less<>> gres;  // "gpu", and with its type "gpu:a100"

  static Tres Parse(std::string_view text);
};

struct JobUsage {
  int64_t id = 0;
  int64_t tasks = 1;          // of an array those that this record stands for: the ones that wait
  int64_t tasks_at_once = 1;  // of them, those that may run at once
  JobState state;
  bool held = false;
  std::string state_reason;  // why it waits: "Resources"
  int64_t user_id = 0;
  std::string user, account;
  std::vector<std::string> partitions;  // one that waits may name several
  int64_t nodes = 0;                    // that it holds, or the fewest that it asks for
  bool shares = true;                   // a node with other jobs, as far as it was said when it was submitted
  std::string constraints;              // "gpu&(a100|h100)": features that its nodes are to have
  std::string tres_allocated;           // as Tres::Parse takes it
  std::string tres_requested;           // likewise
  std::string gres_requested;           // of a node or of the job, as Gres::Parse takes them
  int64_t most_nodes = 0;               // that it asks for; 0: any number
  std::optional<Time> eligible, started;
};

struct License {
  std::string name;
  int64_t total = 0, used = 0, reserved = 0;
};

// How often slurmctld was asked something, and what that took, since its statistics were reset.
struct RpcCount {
  std::string type;  // "REQUEST_NODE_INFO"
  int64_t count = 0;
  int64_t microseconds = 0;
  static const json::Schema& Schema();
};

// slurmctld's statistics, as `sdiag` shows them, under the names that REST has for them. Times are in microseconds. Counts
// begin anew at midnight (UTC), with slurmctld, and when somebody resets them.
struct Statistics {
  struct ScheduleExit {
    int64_t end_job_queue = 0, default_queue_depth = 0, max_job_start = 0, max_rpc_cnt = 0, max_sched_time = 0,
            licenses = 0;
    static const json::Schema& Schema();
  };
  struct BackfillExit {
    int64_t end_job_queue = 0, bf_max_job_start = 0, bf_max_job_test = 0, bf_max_time = 0, bf_node_space_size = 0,
            state_changed = 0;
    static const json::Schema& Schema();
  };
  int64_t server_thread_count = 0, agent_queue_size = 0, agent_count = 0, agent_thread_count = 0,
          dbd_agent_queue_size = 0;
  int64_t schedule_cycle_max = 0, schedule_cycle_last = 0, schedule_cycle_sum = 0, schedule_cycle_total = 0,
          schedule_cycle_mean = 0, schedule_cycle_mean_depth = 0, schedule_cycle_per_minute = 0,
          schedule_cycle_depth = 0, schedule_queue_length = 0;
  ScheduleExit schedule_exit;
  int64_t jobs_submitted = 0, jobs_started = 0, jobs_completed = 0, jobs_canceled = 0, jobs_failed = 0,
          jobs_pending = 0, jobs_running = 0;
  int64_t job_states_ts = 0;  // when those that are pending and running were counted; seconds since 1970
  bool bf_active = false;
  int64_t bf_backfilled_jobs = 0, bf_last_backfilled_jobs = 0, bf_backfilled_het_jobs = 0, bf_cycle_counter = 0,
          bf_cycle_mean = 0, bf_cycle_sum = 0, bf_cycle_max = 0, bf_cycle_last = 0, bf_depth_mean = 0,
          bf_depth_mean_try = 0, bf_depth_sum = 0, bf_depth_try_sum = 0, bf_last_depth = 0, bf_last_depth_try = 0,
          bf_queue_len = 0, bf_queue_len_mean = 0, bf_queue_len_sum = 0, bf_table_size = 0, bf_table_size_mean = 0,
          bf_table_size_sum = 0;
  int64_t bf_when_last_cycle = 0;  // seconds since 1970
  BackfillExit bf_exit;
  std::vector<RpcCount> rpcs;
  static const json::Schema& Schema();
};

}  // namespace capstan::slurm
