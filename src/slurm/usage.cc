#include "slurm/usage.h"

#include <charconv>

#include "base/text.h"
#include "json/schema.h"
#include "slurm/amount.h"

namespace capstan::slurm {
namespace {

constexpr std::string_view kGresPrefix = "gres/";

// "64G", "512M", "1.50T" or "4096", which are MiB. 0: none of these.
int64_t MemoryMib(std::string_view text) {
  double mib_per_unit = 1;
  if (!text.empty()) {
    constexpr std::string_view kUnits = "KMGTP";
    if (const size_t unit = kUnits.find(text.back()); unit != std::string_view::npos) {
      text.remove_suffix(1);
      mib_per_unit = 1.0 / 1024;
      for (size_t i = 0; i < unit; ++i) mib_per_unit *= 1024;
    }
  }
  double amount = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), amount, std::chars_format::fixed);
  constexpr double kMost = 9e15;
  const bool is_amount = read.ec == std::errc() && read.ptr == text.data() + text.size() && amount >= 0;
  return is_amount && amount * mib_per_unit < kMost ? int64_t(amount * mib_per_unit) : 0;
}

}  // namespace

Tres Tres::Parse(std::string_view text) {
  Tres tres;
  for (const std::string_view one : Split(text, ',')) {
    const size_t equals = one.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = one.substr(0, equals), amount = one.substr(equals + 1);
    if (name == "mem") {
      tres.memory_mib = Amount(MemoryMib(amount));
      continue;
    }
    const auto count = ParseInt(amount);
    if (!count || *count < 0) continue;
    if (name == "cpu") tres.cpus = Amount(*count);
    if (name == "node") tres.nodes = Amount(*count);
    if (name.starts_with(kGresPrefix))
      tres.gres.insert_or_assign(std::string(name.substr(kGresPrefix.size())), Amount(*count));
  }
  return tres;
}

const json::Schema& RpcCount::Schema() {
  static const json::Schema schema = json::Object<RpcCount>({
      json::Field<&RpcCount::type>("message_type"),
      json::Field<&RpcCount::count>("count"),
      json::Field<&RpcCount::microseconds>("total_time"),
  });
  return schema;
}

const json::Schema& Statistics::ScheduleExit::Schema() {
  using E = ScheduleExit;
  static const json::Schema schema = json::Object<E>({
      json::Field<&E::end_job_queue>("end_job_queue"),
      json::Field<&E::default_queue_depth>("default_queue_depth"),
      json::Field<&E::max_job_start>("max_job_start"),
      json::Field<&E::max_rpc_cnt>("max_rpc_cnt"),
      json::Field<&E::max_sched_time>("max_sched_time"),
      json::Field<&E::licenses>("licenses"),
  });
  return schema;
}

const json::Schema& Statistics::BackfillExit::Schema() {
  using E = BackfillExit;
  static const json::Schema schema = json::Object<E>({
      json::Field<&E::end_job_queue>("end_job_queue"),
      json::Field<&E::bf_max_job_start>("bf_max_job_start"),
      json::Field<&E::bf_max_job_test>("bf_max_job_test"),
      json::Field<&E::bf_max_time>("bf_max_time"),
      json::Field<&E::bf_node_space_size>("bf_node_space_size"),
      json::Field<&E::state_changed>("state_changed"),
  });
  return schema;
}

const json::Schema& Statistics::Schema() {
  using S = Statistics;
  static const json::Schema schema = json::Object<S>({
      json::Field<&S::server_thread_count>("server_thread_count"),
      json::Field<&S::agent_queue_size>("agent_queue_size"),
      json::Field<&S::agent_count>("agent_count"),
      json::Field<&S::agent_thread_count>("agent_thread_count"),
      json::Field<&S::dbd_agent_queue_size>("dbd_agent_queue_size"),
      json::Field<&S::schedule_cycle_max>("schedule_cycle_max"),
      json::Field<&S::schedule_cycle_last>("schedule_cycle_last"),
      json::Field<&S::schedule_cycle_sum>("schedule_cycle_sum"),
      json::Field<&S::schedule_cycle_total>("schedule_cycle_total"),
      json::Field<&S::schedule_cycle_mean>("schedule_cycle_mean"),
      json::Field<&S::schedule_cycle_mean_depth>("schedule_cycle_mean_depth"),
      json::Field<&S::schedule_cycle_per_minute>("schedule_cycle_per_minute"),
      json::Field<&S::schedule_cycle_depth>("schedule_cycle_depth"),
      json::Field<&S::schedule_queue_length>("schedule_queue_length"),
      json::Field<&S::schedule_exit>("schedule_exit"),
      json::Field<&S::jobs_submitted>("jobs_submitted"),
      json::Field<&S::jobs_started>("jobs_started"),
      json::Field<&S::jobs_completed>("jobs_completed"),
      json::Field<&S::jobs_canceled>("jobs_canceled"),
      json::Field<&S::jobs_failed>("jobs_failed"),
      json::Field<&S::jobs_pending>("jobs_pending"),
      json::Field<&S::jobs_running>("jobs_running"),
      json::Field<&S::bf_active>("bf_active"),
      json::Field<&S::bf_backfilled_jobs>("bf_backfilled_jobs"),
      json::Field<&S::bf_last_backfilled_jobs>("bf_last_backfilled_jobs"),
      json::Field<&S::bf_backfilled_het_jobs>("bf_backfilled_het_jobs"),
      json::Field<&S::bf_cycle_counter>("bf_cycle_counter"),
      json::Field<&S::bf_cycle_mean>("bf_cycle_mean"),
      json::Field<&S::bf_cycle_sum>("bf_cycle_sum"),
      json::Field<&S::bf_cycle_max>("bf_cycle_max"),
      json::Field<&S::bf_cycle_last>("bf_cycle_last"),
      json::Field<&S::bf_depth_mean>("bf_depth_mean"),
      json::Field<&S::bf_depth_mean_try>("bf_depth_mean_try"),
      json::Field<&S::bf_depth_sum>("bf_depth_sum"),
      json::Field<&S::bf_depth_try_sum>("bf_depth_try_sum"),
      json::Field<&S::bf_last_depth>("bf_last_depth"),
      json::Field<&S::bf_last_depth_try>("bf_last_depth_try"),
      json::Field<&S::bf_queue_len>("bf_queue_len"),
      json::Field<&S::bf_queue_len_mean>("bf_queue_len_mean"),
      json::Field<&S::bf_queue_len_sum>("bf_queue_len_sum"),
      json::Field<&S::bf_table_size>("bf_table_size"),
      json::Field<&S::bf_table_size_mean>("bf_table_size_mean"),
      json::Field<&S::bf_table_size_sum>("bf_table_size_sum"),
      json::Field<&S::bf_exit>("bf_exit"),
      json::Field<&S::rpcs>("rpcs_by_message_type"),
  });
  return schema;
}

}  // namespace capstan::slurm
