#include "exporter/scheduler_figures.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "exporter/limits.h"
#include "slurm/hostlist.h"

namespace capstan::exporter {
namespace {

using slurm::Statistics;

struct Series {
  std::string_view name, help;
  int64_t (*value)(const Statistics&);
};
constexpr Series kSeries[] = {
    {"slurm_scheduler_cycle_depth_total", "Jobs that the cycles of the main scheduler looked at",
     [](const Statistics& s) { return int64_t(s.schedule_cycle_depth); }},
    {"slurm_scheduler_cycle_last_seconds", "Time of the last cycle, in microseconds",
     [](const Statistics& s) { return int64_t(s.schedule_cycle_last); }},
    {"slurm_scheduler_cycle_max_seconds", "Time of the longest cycle, in microseconds",
     [](const Statistics& s) { return int64_t(s.schedule_cycle_max); }},
    {"slurm_scheduler_cycle_mean_seconds", "Mean time of a cycle, in microseconds",
     [](const Statistics& s) { return int64_t(s.schedule_cycle_mean); }},
    {"slurm_scheduler_cycle_depth_mean_total", "Mean number of jobs that a cycle looked at",
     [](const Statistics& s) { return int64_t(s.schedule_cycle_mean_depth); }},
    {"slurm_scheduler_cycle_perminute_total", "Cycles in a minute",
     [](const Statistics& s) { return int64_t(s.schedule_cycle_per_minute); }},
    {"slurm_scheduler_cycle_sum_seconds_total", "Time of all cycles, in microseconds",
     [](const Statistics& s) { return int64_t(s.schedule_cycle_sum); }},
    {"slurm_scheduler_cycle_total", "Cycles", [](const Statistics& s) { return int64_t(s.schedule_cycle_total); }},
    {"slurm_scheduler_queue_total", "Jobs in the queue",
     [](const Statistics& s) { return int64_t(s.schedule_queue_length); }},
    {"slurm_scheduler_defaultqueuedepth_total", "Cycles that ended at default_queue_depth",
     [](const Statistics& s) { return int64_t(s.schedule_exit.default_queue_depth); }},
    {"slurm_scheduler_endjobqueue_total", "Cycles that ended at the end of the queue",
     [](const Statistics& s) { return int64_t(s.schedule_exit.end_job_queue); }},
    {"slurm_scheduler_licenses_total", "Cycles that ended as licenses were used up",
     [](const Statistics& s) { return int64_t(s.schedule_exit.licenses); }},
    {"slurm_scheduler_maxjobstart_total", "Cycles that ended at sched_max_job_start",
     [](const Statistics& s) { return int64_t(s.schedule_exit.max_job_start); }},
    {"slurm_scheduler_maxrpc_total", "Cycles that ended at max_rpc_cnt",
     [](const Statistics& s) { return int64_t(s.schedule_exit.max_rpc_cnt); }},
    {"slurm_scheduler_maxschedtime_total", "Cycles that ended at max_sched_time",
     [](const Statistics& s) { return int64_t(s.schedule_exit.max_sched_time); }},
    {"slurm_bfscheduler_active_bool", "1 while the backfill scheduler works",
     [](const Statistics& s) { return int64_t(s.bf_active); }},
    {"slurm_bfscheduler_backfilledhetjobs_total", "Components of heterogeneous jobs that backfill started",
     [](const Statistics& s) { return int64_t(s.bf_backfilled_het_jobs); }},
    {"slurm_bfscheduler_backfilledjobs_total", "Jobs that backfill started since slurmctld started",
     [](const Statistics& s) { return int64_t(s.bf_backfilled_jobs); }},
    {"slurm_bfscheduler_cycle_total", "Cycles of the backfill scheduler",
     [](const Statistics& s) { return int64_t(s.bf_cycle_counter); }},
    {"slurm_bfscheduler_cycle_seconds", "Time of the last cycle of backfill, in microseconds",
     [](const Statistics& s) { return int64_t(s.bf_cycle_last); }},
    {"slurm_bfscheduler_cycle_max_seconds", "Time of the longest cycle of backfill, in microseconds",
     [](const Statistics& s) { return int64_t(s.bf_cycle_max); }},
    {"slurm_bfscheduler_cycle_mean_seconds", "Mean time of a cycle of backfill, in microseconds",
     [](const Statistics& s) { return int64_t(s.bf_cycle_mean); }},
    {"slurm_bfscheduler_cycle_sum_seconds", "Time of all cycles of backfill, in microseconds",
     [](const Statistics& s) { return int64_t(s.bf_cycle_sum); }},
    {"slurm_bfscheduler_depth_mean_total", "Mean number of jobs that a cycle of backfill looked at",
     [](const Statistics& s) { return int64_t(s.bf_depth_mean); }},
    {"slurm_bfscheduler_depth_try_total", "Mean number of jobs that a cycle of backfill tried to start",
     [](const Statistics& s) { return int64_t(s.bf_depth_mean_try); }},
    {"slurm_bfscheduler_depth_sum_total", "Jobs that the cycles of backfill looked at",
     [](const Statistics& s) { return int64_t(s.bf_depth_sum); }},
    {"slurm_bfscheduler_depth_trysum_total", "Jobs that the cycles of backfill tried to start",
     [](const Statistics& s) { return int64_t(s.bf_depth_try_sum); }},
    {"slurm_bfscheduler_lastbackfilledjobs_total", "Jobs that backfill started since the statistics were reset",
     [](const Statistics& s) { return int64_t(s.bf_last_backfilled_jobs); }},
    {"slurm_bfscheduler_lastdepth_total", "Jobs that the last cycle of backfill looked at",
     [](const Statistics& s) { return int64_t(s.bf_last_depth); }},
    {"slurm_bfscheduler_lastdepthtry_total", "Jobs that the last cycle of backfill tried to start",
     [](const Statistics& s) { return int64_t(s.bf_last_depth_try); }},
    {"slurm_bfscheduler_queue_total", "Jobs in the queue of backfill",
     [](const Statistics& s) { return int64_t(s.bf_queue_len); }},
    {"slurm_bfscheduler_queue_mean_total", "Mean number of jobs that waited for backfill",
     [](const Statistics& s) { return int64_t(s.bf_queue_len_mean); }},
    {"slurm_bfscheduler_queue_sum_total", "Jobs that waited for backfill, summed over its cycles",
     [](const Statistics& s) { return int64_t(s.bf_queue_len_sum); }},
    {"slurm_bfscheduler_table_total", "Time slots that the last cycle of backfill looked at",
     [](const Statistics& s) { return int64_t(s.bf_table_size); }},
    {"slurm_bfscheduler_tablemean_total", "Mean number of time slots that a cycle of backfill looked at",
     [](const Statistics& s) { return int64_t(s.bf_table_size_mean); }},
    {"slurm_bfscheduler_tablesum_total", "Time slots that the cycles of backfill looked at",
     [](const Statistics& s) { return int64_t(s.bf_table_size_sum); }},
    {"slurm_bfscheduler_lastcycle_timestamp", "When the last cycle of backfill was, in seconds since 1970",
     [](const Statistics& s) { return int64_t(s.bf_when_last_cycle); }},
    {"slurm_bfscheduler_maxjobstart_total", "Cycles of backfill that ended at bf_max_job_start",
     [](const Statistics& s) { return int64_t(s.bf_exit.bf_max_job_start); }},
    {"slurm_bfscheduler_maxjobtest_total", "Cycles of backfill that ended at bf_max_job_test",
     [](const Statistics& s) { return int64_t(s.bf_exit.bf_max_job_test); }},
    {"slurm_bfscheduler_maxtime_total", "Cycles of backfill that ended at bf_max_time",
     [](const Statistics& s) { return int64_t(s.bf_exit.bf_max_time); }},
    {"slurm_bfscheduler_nodespace_total", "Cycles of backfill that ended as its table was full",
     [](const Statistics& s) { return int64_t(s.bf_exit.bf_node_space_size); }},
    {"slurm_bfscheduler_endjobqueue_total", "Cycles of backfill that ended at the end of the queue",
     [](const Statistics& s) { return int64_t(s.bf_exit.end_job_queue); }},
    {"slurm_bfscheduler_statechanged_total", "Cycles of backfill that ended as something had changed",
     [](const Statistics& s) { return int64_t(s.bf_exit.state_changed); }},
    {"slurm_scheduler_jobs_stats_timestamp", "When the jobs below were counted, in seconds since 1970",
     [](const Statistics& s) { return int64_t(s.job_states_ts); }},
    {"slurm_scheduler_jobs_canceled_total", "Jobs that were cancelled since the statistics were reset",
     [](const Statistics& s) { return int64_t(s.jobs_canceled); }},
    {"slurm_scheduler_jobs_completed_total", "Jobs that completed since the statistics were reset",
     [](const Statistics& s) { return int64_t(s.jobs_completed); }},
    {"slurm_scheduler_jobs_failed_total", "Jobs that failed since the statistics were reset",
     [](const Statistics& s) { return int64_t(s.jobs_failed); }},
    {"slurm_scheduler_jobs_started_total", "Jobs that were started since the statistics were reset",
     [](const Statistics& s) { return int64_t(s.jobs_started); }},
    {"slurm_scheduler_jobs_submitted_total", "Jobs that were submitted since the statistics were reset",
     [](const Statistics& s) { return int64_t(s.jobs_submitted); }},
    {"slurm_scheduler_jobs_pending_total", "Pending jobs", [](const Statistics& s) { return int64_t(s.jobs_pending); }},
    {"slurm_scheduler_jobs_running_total", "Running jobs", [](const Statistics& s) { return int64_t(s.jobs_running); }},
    {"slurm_scheduler_agent_total", "Agents of slurmctld", [](const Statistics& s) { return int64_t(s.agent_count); }},
    {"slurm_scheduler_agent_queue_total", "Messages queued for agents",
     [](const Statistics& s) { return int64_t(s.agent_queue_size); }},
    {"slurm_scheduler_agent_thread_total", "Threads of agents",
     [](const Statistics& s) { return int64_t(s.agent_thread_count); }},
    {"slurm_scheduler_thread_total", "Threads of slurmctld that serve requests",
     [](const Statistics& s) { return int64_t(s.server_thread_count); }},
    {"slurm_scheduler_dbdagentqueue_total", "Messages queued for slurmdbd",
     [](const Statistics& s) { return int64_t(s.dbd_agent_queue_size); }},
};

constexpr size_t kMostRpcs = 500;

template <class Records>
auto First(const Records& records, size_t most) {
  return std::span(records).first(std::min(records.size(), most));
}

}  // namespace

void ShowStatistics(Exposition& out, const Statistics& statistics) {
  for (const Series& series : kSeries) {
    out.Family(series.name, series.help);
    out.Sample({}, series.value(statistics));
  }
  const auto rpcs = First(statistics.rpcs, kMostRpcs);
  out.Family("slurm_rpc_calls_total", "Requests to slurmctld since its statistics were reset", "counter");
  for (const slurm::RpcCount& rpc : rpcs) out.Sample({{"rpc", rpc.type}}, rpc.count);
  out.Family("slurm_rpc_seconds_total", "Time that requests to slurmctld took since its statistics were reset",
             "counter");
  for (const slurm::RpcCount& rpc : rpcs) out.Sample({{"rpc", rpc.type}}, double(rpc.microseconds) / 1e6);
}

void ShowLicenses(Exposition& out, const std::vector<slurm::License>& licenses) {
  const auto show = [&](std::string_view name, std::string_view help, int64_t slurm::License::* count) {
    out.Family(name, help);
    for (const auto& license : First(licenses, kMostLicenses)) out.Sample({{"license", license.name}}, license.*count);
  };
  show("slurm_license_total", "Licenses", &slurm::License::total);
  show("slurm_license_used", "Licenses in use", &slurm::License::used);
  show("slurm_license_reserved", "Reserved licenses", &slurm::License::reserved);
}

void ShowReservations(Exposition& out, const std::vector<slurm::Reservation>& reservations) {
  const auto show = [&](std::string_view name, std::string_view help, const auto& value) {
    out.Family(name, help);
    for (const auto& one : First(reservations, kMostReservations))
      if (const std::optional<int64_t> number = value(one)) out.Sample({{"reservation", one.name}}, *number);
  };
  show("slurm_reservation_nodes", "Nodes of a reservation", [](const slurm::Reservation& one) {
    const auto nodes = slurm::Hostlist::Parse(one.nodes);
    return nodes ? std::optional(int64_t(nodes->size())) : std::nullopt;
  });
  show("slurm_reservation_start_timestamp_seconds", "Start of a reservation",
       [](const slurm::Reservation& one) { return UnixSeconds(one.start); });
  show("slurm_reservation_end_timestamp_seconds", "End of a reservation",
       [](const slurm::Reservation& one) { return UnixSeconds(one.end); });
}

void ShowControllers(Exposition& out, const std::vector<slurm::ControllerPing>& controllers) {
  out.Family("slurm_controller_up", "1 if slurmctld on that host answers");
  for (const slurm::ControllerPing& one : controllers)
    out.Sample({{"controller", one.hostname}, {"role", one.primary ? "primary" : "backup"}}, int64_t(one.responding));
}

}  // namespace capstan::exporter
