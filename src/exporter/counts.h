// How many jobs or nodes are in which state, and what they have: one set of counts for the cluster, and one for each
// partition, account and user.
//
// Names and meanings of the series are those of slurm-exporter of the Slinky project, whose dashboards they serve: all of
// them are gauges, and what is called _bytes counts MiB.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "slurm/usage.h"

namespace capstan::exporter {

struct JobCounts {
  int64_t jobs = 0;  // records: the tasks of an array that wait are one
  std::array<int64_t, 12> states{};
  std::array<int64_t, 4> flags{};
  int64_t held = 0;
  int64_t cpus = 0, memory_mib = 0;  // of those that hold nodes

  // `allocated`: what tres_allocated of that job says.
  void Add(const slurm::JobUsage& job, const slurm::Tres& allocated);
};

struct NodeCounts {
  int64_t nodes = 0;
  int64_t usable = 0;  // idle, and nothing keeps a job from starting there
  std::array<int64_t, 7> states{};
  std::array<int64_t, 8> flags{};
  int64_t cpus = 0, effective_cpus = 0, alloc_cpus = 0, idle_cpus = 0;
  int64_t memory_mib = 0, effective_memory_mib = 0, alloc_memory_mib = 0, free_memory_mib = 0;

  void Add(const slurm::NodeUsage& node);
};

// One family of series.
template <class Counts>
struct CountSeries {
  std::string_view suffix;  // of the family's name: "_pending_total"
  std::string_view help;
  int64_t (*value)(const Counts&);
};

// Behind "slurm_jobs", "slurm_partition_jobs", "slurm_account_jobs" and "slurm_user_jobs".
std::span<const CountSeries<JobCounts>> SeriesOfJobs();
// Behind "slurm_nodes" and "slurm_partition_nodes".
std::span<const CountSeries<NodeCounts>> SeriesOfNodes();
// Behind "slurm_partition_nodes" as well.
std::span<const CountSeries<NodeCounts>> SeriesOfNodeResources();

}  // namespace capstan::exporter
