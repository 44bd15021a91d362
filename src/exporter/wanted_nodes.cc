#include "exporter/wanted_nodes.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "exporter/node_figures.h"
#include "slurm/gres.h"

namespace capstan::exporter {
namespace {

constexpr std::string_view kAllNodes = "ALL";

// Reasons that more nodes would not change, as Slurm spells them.
constexpr std::array<std::string_view, 20> kOtherReasons = {"Dependency",        "DependencyNeverSatisfied",
                                                            "BeginTime",         "JobHeldUser",
                                                            "JobHeldAdmin",      "Licenses",
                                                            "Reservation",       "ReservationDeleted",
                                                            "InvalidAccount",    "InvalidQOS",
                                                            "AccountNotAllowed", "AccountingPolicy",
                                                            "JobArrayTaskLimit", "PartitionDown",
                                                            "PartitionInactive", "PartitionTimeLimit",
                                                            "BadConstraints",    "DeadLine",
                                                            "FedJobLock",        "Cleaning"};
constexpr std::array<std::string_view, 3> kBeginningsOfOtherReasons = {"Assoc", "QOS", "BurstBuffer"};

constexpr double kMostWorkersOfAJob = 1'000'000;
constexpr double kRounding = 1e-6;  // a hundred jobs that ask for a hundredth fill one worker

bool MoreNodesMayHelp(std::string_view reason) {
  return std::ranges::find(kOtherReasons, reason) == kOtherReasons.end() &&
         std::ranges::none_of(kBeginningsOfOtherReasons, [&](std::string_view one) { return reason.starts_with(one); });
}

bool IsNamedIn(std::string_view constraints, std::string_view feature) {
  constexpr std::string_view kBetween = "&|,[]()*: ";
  for (size_t at = constraints.find(feature); at != std::string_view::npos; at = constraints.find(feature, at + 1)) {
    const size_t end = at + feature.size();
    if ((at == 0 || kBetween.contains(constraints[at - 1])) &&
        (end == constraints.size() || kBetween.contains(constraints[end])))
      return true;
  }
  return false;
}

// Of "gpu,w-[0-3,7],cpu" the names that are no ranges.
std::vector<std::string> PlainNames(std::string_view nodes) {
  std::vector<std::string> names;
  int depth = 0;
  size_t begin = 0;
  for (size_t at = 0; at <= nodes.size(); ++at) {
    if (at < nodes.size() && nodes[at] == '[') ++depth;
    if (at < nodes.size() && nodes[at] == ']') depth = std::max(0, depth - 1);
    if (at < nodes.size() && (nodes[at] != ',' || depth > 0)) continue;
    const std::string_view name = nodes.substr(begin, at - begin);
    if (!name.empty() && !name.contains('[') && name != kAllNodes) names.emplace_back(name);
    begin = at + 1;
  }
  return names;
}

// As slurm-operator says of a worker that it takes away.
bool IsToGo(std::string_view reason) {
  return reason.contains(") is pending termination for scale-in") || reason == "slurm-operator: Pod is terminating";
}

double PartOf(int64_t asked, int64_t whole) {
  return whole > 0 ? double(std::max<int64_t>(0, asked)) / double(whole) : 0;
}

// What a job of one node, or of as many as it takes, fills of workers of that size.
double PartOfWorkers(const slurm::JobUsage& job, const slurm::Tres& worker) {
  const slurm::Tres asked = slurm::Tres::Parse(job.tres_requested);
  double part = std::max(PartOf(asked.cpus, worker.cpus), PartOf(asked.memory_mib, worker.memory_mib));
  const auto heed = [&](std::string_view name, int64_t count) {
    if (const auto has = worker.gres.find(name); has != worker.gres.end())
      part = std::max(part, PartOf(count, has->second));
  };
  for (const auto& [name, count] : asked.gres) heed(name, count);
  for (const auto& [name, count] : slurm::Gres::Parse(job.gres_requested).by_name) heed(name, count);
  if (part <= 0) return 1;
  // One that no such worker has room for may be for a larger one.
  return part <= 1 || job.most_nodes == 1 ? std::min(part, 1.0) : std::ceil(part);
}

double WorkersOf(const slurm::JobUsage& job, const Workers& workers) {
  const double tasks = double(std::max<int64_t>(1, job.tasks_at_once));
  double each = double(std::max<int64_t>(1, job.nodes));
  if (job.nodes <= 1 && job.shares && workers.size().cpus > 0) each = PartOfWorkers(job, workers.size());
  return std::min(each * tasks, kMostWorkersOfAJob);
}

int64_t WholeWorkers(double parts) {
  return parts > 0 ? std::max<int64_t>(1, std::llround(std::ceil(parts - kRounding))) : 0;
}

}  // namespace

PoolsOfPartitions Themselves(std::span<const slurm::Partition> partitions) {
  PoolsOfPartitions pools;
  for (const slurm::Partition& partition : partitions) pools[partition.name] = {partition.name};
  return pools;
}

PoolsOfPartitions NodeSetsOf(std::span<const slurm::Partition> partitions) {
  PoolsOfPartitions pools;
  Names all;
  for (const slurm::Partition& partition : partitions) {
    std::vector<std::string> names = PlainNames(partition.nodes);
    all.insert(names.begin(), names.end());
    pools[partition.name] = std::move(names);
  }
  for (const slurm::Partition& partition : partitions)
    if (partition.nodes == kAllNodes) pools[partition.name].assign(all.begin(), all.end());
  return pools;
}

Pools EmptyPools(const PoolsOfPartitions& partitions, const Pools& before, size_t most) {
  Pools pools;
  for (const auto& [partition, names] : partitions) {
    for (const std::string& name : names) {
      if (pools.size() >= most) return pools;
      const auto known = before.find(name);
      pools[name].known_size = known != before.end() ? known->second.size() : slurm::Tres();
    }
  }
  return pools;
}

void AddNode(Pools& pools, const slurm::NodeUsage& node, std::span<const std::string> names) {
  const bool busy = node.state.IsBusy();
  const bool unusable = !busy && !Unavailability(node.state).empty() && !IsToGo(node.reason);
  const slurm::Gres gres = slurm::Gres::Parse(node.gres);
  for (const std::string& name : names) {
    const auto found = pools.find(name);
    if (found == pools.end()) continue;
    Workers& workers = found->second;
    workers.busy += busy;
    workers.idle += !busy && node.state.IsUsable();
    workers.unusable += unusable;
    slurm::Tres& largest = workers.largest;
    largest.cpus = std::max(largest.cpus, node.effective_cpus > 0 ? node.effective_cpus : node.cpus);
    largest.memory_mib = std::max(largest.memory_mib, node.memory_mib - node.kept_memory_mib);
    for (const auto& [kind, count] : gres.by_name) {
      int64_t& most = largest.gres[kind];
      most = std::max(most, count);
    }
  }
}

const std::string* WantedNodes::PoolOf(const slurm::JobUsage& job) const {
  for (const std::string& partition : job.partitions) {
    const auto found = partitions_->find(partition);
    if (found == partitions_->end() || found->second.empty()) continue;
    const auto named =
        std::ranges::find_if(found->second, [&](const std::string& one) { return IsNamedIn(job.constraints, one); });
    return named != found->second.end() ? &*named : &found->second.front();
  }
  return nullptr;
}

void WantedNodes::Add(const slurm::JobUsage& job) {
  const bool waits = job.state.IsPending() && !job.held && MoreNodesMayHelp(job.state_reason);
  const bool began = job.state.Has(slurm::JobFlag::kRunning) && job.started && *job.started >= nodes_read_;
  if (!waits && !began) return;
  const std::string* pool = PoolOf(job);
  if (pool == nullptr) return;
  const auto workers = pools_->find(*pool);
  if (workers == pools_->end()) return;
  Filled& filled = filled_[*pool];
  (waits ? filled.pending : filled.began) += WorkersOf(job, workers->second);
}

std::map<std::string, int64_t> WantedNodes::Wanted() const {
  std::map<std::string, int64_t> wanted;
  for (const auto& [pool, workers] : *pools_) {
    int64_t& count = wanted[pool] = workers.busy;
    const auto filled = filled_.find(pool);
    if (filled == filled_.end()) continue;
    count += std::min(workers.idle, WholeWorkers(filled->second.began));
    if (filled->second.pending > 0) count += workers.unusable + WholeWorkers(filled->second.pending);
  }
  return wanted;
}

}  // namespace capstan::exporter
