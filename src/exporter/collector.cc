#include "exporter/collector.h"

#include <algorithm>
#include <map>
#include <optional>

#include "async/timer.h"
#include "base/log.h"
#include "exporter/job_figures.h"
#include "exporter/node_figures.h"
#include "exporter/scheduler_figures.h"
#include "exporter/share_figures.h"

namespace capstan::exporter {
namespace {

constexpr int kPausePerTook = 9;  // so that Slurm is asked for one thing a tenth of the time at most
constexpr Duration kLongestPauseAfterFailure = 30s;
constexpr Duration kSharesInterval = 1min;  // slurmctld works them out every five (PriorityCalcPeriod)
constexpr std::string_view kStatistics = "statistics", kNodeList = "nodes";

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

Collector::Collector(async::Loop& loop, slurm::RestClient& client, Options options)
    : loop_(loop), client_(client), options_(std::move(options)) {
  const auto add = [this](std::string_view name, async::Task<Result<void>> (Collector::*read)(Part&)) {
    parts_.push_back({.name = name, .read = read, .interval = options_.interval});
  };
  // Partitions before what is counted by them; nodes before jobs (wanted_nodes.h).
  add(kStatistics, &Collector::ReadStatistics);
  add("controllers", &Collector::ReadControllers);
  add("partitions", &Collector::ReadPartitions);
  add(kNodeList, &Collector::ReadNodes);
  add("jobs", &Collector::ReadJobs);
  add("licenses", &Collector::ReadLicenses);
  add("reservations", &Collector::ReadReservations);
  add("shares", &Collector::ReadShares);
  parts_.back().interval = std::max(options_.interval, kSharesInterval);
}

async::Task<void> Collector::Run() {
  while (true) {
    for (Part& part : parts_)
      if (loop_.Now() >= part.due) co_await Look(part);
    begun_ = true;
    const Tick next = std::ranges::min(parts_, {}, &Part::due).due;
    if (next > loop_.Now()) co_await async::Sleep(loop_, next - loop_.Now());
  }
}

async::Task<void> Collector::Look(Part& part) {
  part.began = loop_.Now();
  const auto read = co_await (this->*part.read)(part);
  const Duration took = loop_.Now() - part.began;
  Duration pause = kPausePerTook * took;
  Duration interval = part.interval;
  if (!read) {
    pause = std::min(pause, kLongestPauseAfterFailure);
    interval = std::min(interval, std::max(options_.interval, kLongestPauseAfterFailure));
  }
  part.due = loop_.Now() + std::max(interval - took, pause);
  if (!read && !part.fails) {
    log::Warn("Slurm does not say what is asked for; what it said last is shown for a while",
              {{"what", part.name}, {"error", read.error().message()}});
  }
  if (read && part.fails) log::Info("Slurm says again what is asked for", {{"what", part.name}});
  part.fails = !read;
  const std::scoped_lock lock(mutex_);
  if (read) part.took = took;
  part.failures += !read;
}

void Collector::Publish(Part& part, Exposition text) {
  std::string all = text.Take();
  all.shrink_to_fit();
  auto shared = std::make_shared<const std::string>(std::move(all));
  const std::scoped_lock lock(mutex_);
  part.text.swap(shared);
  part.read_at = part.began;
}

void Collector::Note(std::span<const Uncounted> uncounted, std::string_view list) {
  const std::scoped_lock lock(mutex_);
  for (const Uncounted& one : uncounted)
    uncounted_.insert_or_assign({std::string(list), std::string(one.label)}, one.records);
}

void Collector::NoteCut(std::string_view list, std::string_view label, size_t count, size_t most) {
  const Uncounted one{label, int64_t(count - std::min(count, most))};
  Note({&one, 1}, list);
}

// --- What is asked for -----------------------------------------------------------------------------------------------

async::Task<Result<void>> Collector::ReadStatistics(Part& part) {
  CAPSTAN_CO_TRY(const auto statistics, co_await client_.ReadStatistics(loop_.After(options_.call_limit)));
  Exposition out(options_.cluster);
  ShowStatistics(out, statistics);
  Publish(part, std::move(out));
  co_return Result<void>();
}

async::Task<Result<void>> Collector::ReadControllers(Part& part) {
  CAPSTAN_CO_TRY(const auto controllers, co_await client_.Ping(loop_.After(options_.call_limit)));
  Exposition out(options_.cluster);
  ShowControllers(out, controllers);
  Publish(part, std::move(out));
  co_return Result<void>();
}

async::Task<Result<void>> Collector::ReadPartitions(Part& part) {
  CAPSTAN_CO_TRY(const auto list, co_await client_.Partitions(loop_.After(options_.call_limit)));
  partitions_.clear();
  by_partition_.of = Themselves(list.records);
  by_nodeset_.of = NodeSetsOf(list.records);
  Exposition out(options_.cluster);
  out.Family("slurm_partition_accepts_jobs", "1 if jobs may be queued in the partition");
  for (const slurm::Partition& partition : list.records) {
    if (partitions_.size() >= kMostPartitions) break;
    partitions_.insert(partition.name);
    out.Sample({{"partition", partition.name}}, int64_t(partition.open));
  }
  Publish(part, std::move(out));
  NoteCut(part.name, "partition", list.records.size(), kMostPartitions);
  Names nodesets;
  for (const auto& [partition, names] : by_nodeset_.of) nodesets.insert(names.begin(), names.end());
  NoteCut(part.name, "nodeset", nodesets.size(), kMostNodeSets);
  co_return Result<void>();
}

async::Task<Result<void>> Collector::ReadNodes(Part& part) {
  NodeFigures figures;
  Pools partitions, nodesets;
  Time asked{};
  const auto begin = [&] {
    asked = loop_.WallNow();
    figures = NodeFigures();
    partitions = EmptyPools(by_partition_.of, by_partition_.pools, kMostPartitions);
    nodesets = EmptyPools(by_nodeset_.of, by_nodeset_.pools, kMostNodeSets);
  };
  const auto take = [&](slurm::NodeUsage&& node) {
    AddNode(partitions, node, node.partitions);
    AddNode(nodesets, node, node.features);
    figures.Add(std::move(node));
  };
  CAPSTAN_CO_TRY(const auto end, co_await client_.VisitNodes({begin, take}, loop_.After(options_.call_limit)));
  nodes_read_ = asked;
  by_partition_.pools = std::move(partitions);
  by_nodeset_.pools = std::move(nodesets);
  Exposition out(options_.cluster);
  out.Family("slurm_info", "Slurm's release, and the cluster as Slurm calls it");
  out.Sample({{"release", end.release}, {"slurm_cluster", end.cluster}}, int64_t(1));
  figures.Show(out, partitions_);
  Publish(part, std::move(out));
  Note(figures.uncounted(), part.name);
  co_return Result<void>();
}

async::Task<Result<void>> Collector::ReadJobs(Part& part) {
  JobFigures figures;
  std::optional<WantedNodes> partitions, nodesets;
  const auto begin = [&] {
    figures = JobFigures();
    partitions.emplace(by_partition_.of, by_partition_.pools, nodes_read_);
    nodesets.emplace(by_nodeset_.of, by_nodeset_.pools, nodes_read_);
  };
  const auto take = [&](slurm::JobUsage&& job) {
    figures.Add(job);
    partitions->Add(job);
    nodesets->Add(job);
  };
  CAPSTAN_CO_CHECK_OK(co_await client_.VisitJobs({begin, take}, loop_.After(options_.jobs_limit)));
  Exposition out(options_.cluster);
  figures.Show(out, partitions_, loop_.WallNow());
  if (partitions && AreNodesKnown()) {
    out.Family("slurm_partition_wanted_nodes", "Workers that the running and pending jobs of a partition want");
    for (const auto& [name, count] : partitions->Wanted()) out.Sample({{"partition", name}}, count);
    out.Family("slurm_nodeset_wanted_nodes", "Workers that the running and pending jobs of a NodeSet want");
    for (const auto& [name, count] : nodesets->Wanted()) out.Sample({{"nodeset", name}}, count);
  }
  Publish(part, std::move(out));
  Note(figures.uncounted(), part.name);
  co_return Result<void>();
}

async::Task<Result<void>> Collector::ReadLicenses(Part& part) {
  CAPSTAN_CO_TRY(const auto list, co_await client_.Licenses(loop_.After(options_.call_limit)));
  Exposition out(options_.cluster);
  ShowLicenses(out, list.records);
  Publish(part, std::move(out));
  NoteCut(part.name, "license", list.records.size(), kMostLicenses);
  co_return Result<void>();
}

async::Task<Result<void>> Collector::ReadReservations(Part& part) {
  CAPSTAN_CO_TRY(const auto list, co_await client_.Reservations(loop_.After(options_.call_limit)));
  Exposition out(options_.cluster);
  ShowReservations(out, list.records);
  Publish(part, std::move(out));
  NoteCut(part.name, "reservation", list.records.size(), kMostReservations);
  co_return Result<void>();
}

async::Task<Result<void>> Collector::ReadShares(Part& part) {
  CAPSTAN_CO_TRY(const auto list, co_await client_.Shares(loop_.After(options_.call_limit)));
  Exposition out(options_.cluster);
  const auto uncounted = ShowShares(out, list.records);
  Publish(part, std::move(out));
  Note(uncounted, part.name);
  co_return Result<void>();
}

// --- What is shown ---------------------------------------------------------------------------------------------------

// A list that comes rarely, as it takes Slurm long, is not gone before the next could be there. REQUIRES: mutex_ is held.
bool Collector::IsShown(const Part& part, Tick now) const {
  const Duration keep = std::max({options_.keep, 2 * part.interval, (kPausePerTook + 3) * part.took});
  return part.text != nullptr && now - part.read_at <= keep;
}

bool Collector::AreNodesKnown() const {
  const std::scoped_lock lock(mutex_);
  return IsShown(*std::ranges::find(parts_, kNodeList, &Part::name), loop_.Now());
}

// REQUIRES: mutex_ is held.
std::string Collector::OwnSeries(Tick now) const {
  Exposition out(options_.cluster);
  const auto statistics = std::ranges::find(parts_, kStatistics, &Part::name);
  out.Family("slurm_up", "1 while slurmctld has answered of late");
  out.Sample({}, int64_t(IsShown(*statistics, now)));
  out.Family("slurm_exporter_snapshot_age_seconds", "Time since Slurm was asked for its last answer");
  for (const Part& part : parts_)
    if (part.text != nullptr) out.Sample({{"collector", part.name}}, Seconds(now - part.read_at));
  out.Family("slurm_exporter_collection_seconds", "Time that Slurm's last answer took");
  for (const Part& part : parts_) out.Sample({{"collector", part.name}}, Seconds(part.took));
  out.Family("slurm_exporter_collection_failures_total", "Failed collections", "counter");
  for (const Part& part : parts_) out.Sample({{"collector", part.name}}, int64_t(part.failures));
  out.Family("slurm_exporter_uncounted_records",
             "Records of the last answer without series by that label, of which there are too many");
  for (const auto& [key, records] : uncounted_) out.Sample({{"collector", key.first}, {"label", key.second}}, records);
  return out.Take();
}

void Collector::AppendTo(std::string& text) const {
  const Tick now = loop_.Now();
  std::vector<std::shared_ptr<const std::string>> pieces;
  {
    const std::scoped_lock lock(mutex_);
    pieces.push_back(std::make_shared<const std::string>(OwnSeries(now)));
    for (const Part& part : parts_)
      if (IsShown(part, now)) pieces.push_back(part.text);
  }
  size_t bytes = text.size();
  for (const auto& piece : pieces) bytes += piece->size();
  text.reserve(bytes);
  for (const auto& piece : pieces) text += *piece;
}

}  // namespace capstan::exporter
