#include "slurm/usage_wire.h"

#include <algorithm>

#include "base/text.h"
#include "slurm/amount.h"

namespace capstan::slurm::wire {
namespace {

constexpr size_t kLongest = 256;           // bytes of a reason that becomes a label
constexpr int64_t kMostTasks = 4'000'001;  // the most that MaxArraySize may be

// "5", "0-99" or "0-99:2".
int64_t TasksOfRange(std::string_view range) {
  const size_t colon = range.find(':'), dash = range.find('-');
  if (dash == std::string_view::npos) return ParseInt(range) ? 1 : 0;
  const auto first = ParseInt(range.substr(0, dash)), last = ParseInt(range.substr(dash + 1, colon - dash - 1));
  const auto step = colon == std::string_view::npos ? 1 : ParseInt(range.substr(colon + 1)).value_or(0);
  if (!first || !last || *first < 0 || *last < *first || *last > kMostTasks || step < 1) return 0;
  return (*last - *first) / step + 1;
}

std::vector<std::string> Names(std::string_view list) {
  std::vector<std::string> names;
  for (const std::string_view name : Split(list, ',')) {
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(OneLine(name, kLongest));
  }
  return names;
}

// "gres/gpu:a100:2,gres/nic=1" as "gpu:a100:2,nic:1,": Slurm writes both.
std::string GresOf(std::string_view tres) {
  constexpr std::string_view kGres = "gres/";
  std::string gres;
  for (const std::string_view one : Split(tres, ',')) {
    if (one.starts_with(kGres)) gres.append(one.substr(kGres.size())).append(",");
  }
  std::ranges::replace(gres, '=', ':');
  return gres;
}

}  // namespace

int64_t TasksOf(std::string_view array) {
  int64_t tasks = 0;
  for (const std::string_view range : Split(array.substr(0, array.find('%')), ',')) tasks += TasksOfRange(range);
  return std::clamp<int64_t>(tasks, 1, kMostTasks);
}

NodeUsage NodeUsageRecord::ToUsage() && {
  for (std::string& partition : partitions) partition = OneLine(partition, kLongest);
  NodeUsage usage{.name = OneLine(name, kLongest),
                  .state = NodeState::FromNames(state),
                  .reason = OneLine(reason, kLongest),
                  .reason_changed_at = reason_changed_at.ToTime(),
                  .partitions = std::move(partitions),
                  .features = std::move(features),
                  .topology = std::move(topology),
                  .gres = std::move(gres),
                  .gres_used = std::move(gres_used),
                  .cpus = Amount(cpus),
                  .effective_cpus = Amount(effective_cpus),
                  .alloc_cpus = Amount(alloc_cpus),
                  .idle_cpus = Amount(alloc_idle_cpus),
                  .memory_mib = Amount(real_memory),
                  .kept_memory_mib = std::min(Amount(specialized_memory), Amount(real_memory)),
                  .alloc_memory_mib = Amount(alloc_memory),
                  .free_memory_mib = std::nullopt};
  if (free_mem.set && !free_mem.infinite) usage.free_memory_mib = Amount(free_mem.number);
  return usage;
}

JobUsage JobUsageRecord::ToUsage() && {
  const int64_t tasks = array_task_string.empty() ? 1 : TasksOf(array_task_string);
  return {.id = job_id,
          .tasks = tasks,
          .tasks_at_once = array_max_tasks.number > 0 ? std::min(tasks, array_max_tasks.number) : tasks,
          .state = JobState::FromNames(job_state),
          .held = hold,
          .state_reason = OneLine(state_reason, kLongest),
          .user_id = user_id,
          .user = OneLine(user_name, kLongest),
          .account = OneLine(account, kLongest),
          .partitions = Names(partition),
          .nodes = node_count.set ? node_count.number : 0,
          .shares = std::ranges::find(shared, "none") == shared.end(),
          .constraints = std::move(features),
          .tres_allocated = std::move(tres_alloc_str),
          .tres_requested = std::move(tres_req_str),
          .gres_requested = GresOf(tres_per_node) + GresOf(tres_per_job),
          .most_nodes = max_nodes.number,
          .eligible = eligible_time.ToTime(),
          .started = start_time.ToTime()};
}

License LicenseRecord::ToLicense() && {
  return {.name = std::move(name), .total = total, .used = used, .reserved = reserved};
}

// --- Tables ----------------------------------------------------------------------------------------------------------

const json::Schema& NodeUsageRecord::Schema() {
  using N = NodeUsageRecord;
  static const json::Schema schema = json::Object<N>({
      json::Field<&N::name>("name"),
      json::Field<&N::state>("state"),
      json::Field<&N::reason>("reason"),
      json::Field<&N::reason_changed_at>("reason_changed_at"),
      json::Field<&N::partitions>("partitions"),
      json::Field<&N::features>("features"),
      json::Field<&N::topology>("topology"),
      json::Field<&N::gres>("gres"),
      json::Field<&N::gres_used>("gres_used"),
      json::Field<&N::cpus>("cpus"),
      json::Field<&N::effective_cpus>("effective_cpus"),
      json::Field<&N::alloc_cpus>("alloc_cpus"),
      json::Field<&N::alloc_idle_cpus>("alloc_idle_cpus"),
      json::Field<&N::real_memory>("real_memory"),
      json::Field<&N::specialized_memory>("specialized_memory"),
      json::Field<&N::alloc_memory>("alloc_memory"),
      json::Field<&N::free_mem>("free_mem"),
  });
  return schema;
}

const json::Schema& JobUsageRecord::Schema() {
  using J = JobUsageRecord;
  static const json::Schema schema = json::Object<J>({
      json::Field<&J::job_id>("job_id"),
      json::Field<&J::user_id>("user_id"),
      json::Field<&J::hold>("hold"),
      json::Field<&J::job_state>("job_state"),
      json::Field<&J::state_reason>("state_reason"),
      json::Field<&J::user_name>("user_name"),
      json::Field<&J::account>("account"),
      json::Field<&J::partition>("partition"),
      json::Field<&J::array_task_string>("array_task_string"),
      json::Field<&J::array_max_tasks>("array_max_tasks"),
      json::Field<&J::features>("features"),
      json::Field<&J::shared>("shared"),
      json::Field<&J::tres_alloc_str>("tres_alloc_str"),
      json::Field<&J::tres_req_str>("tres_req_str"),
      json::Field<&J::tres_per_node>("tres_per_node"),
      json::Field<&J::tres_per_job>("tres_per_job"),
      json::Field<&J::max_nodes>("max_nodes"),
      json::Field<&J::node_count>("node_count"),
      json::Field<&J::eligible_time>("eligible_time"),
      json::Field<&J::start_time>("start_time"),
  });
  return schema;
}

const json::Schema& LicenseRecord::Schema() {
  using L = LicenseRecord;
  static const json::Schema schema = json::Object<L>({
      json::Field<&L::name>("LicenseName"),
      json::Field<&L::total>("Total"),
      json::Field<&L::used>("Used"),
      json::Field<&L::reserved>("Reserved"),
  });
  return schema;
}

const json::Schema& StatisticsAnswer::Schema() {
  static const json::Schema schema =
      json::Object<StatisticsAnswer>({json::Field<&StatisticsAnswer::statistics>("statistics")});
  return schema;
}

const json::Schema& StatisticsTimes::Schema() {
  static const json::Schema schema = json::Object<StatisticsTimes>({
      json::Field<&StatisticsTimes::job_states_ts>("job_states_ts"),
      json::Field<&StatisticsTimes::bf_when_last_cycle>("bf_when_last_cycle"),
  });
  return schema;
}

const json::Schema& StatisticsTimesAnswer::Schema() {
  static const json::Schema schema =
      json::Object<StatisticsTimesAnswer>({json::Field<&StatisticsTimesAnswer::statistics>("statistics")});
  return schema;
}

}  // namespace capstan::slurm::wire
