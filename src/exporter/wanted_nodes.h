// How many workers the jobs of each partition, and of each NodeSet, want: the number of replicas that an autoscaler is to set.
//
//   wanted = workers with jobs + workers that pending jobs would fill + workers that take no jobs, while jobs are pending
//
// - Pending jobs count when more workers could start them. Held jobs do not, nor those that wait for another job, a time, a license,
//   a reservation, or a limit of their account or QOS. Each task of an array counts, as many as may run at once.
// - A job counts for one partition: the first that it names. It counts for one NodeSet: in the first of its partitions that names
//   NodeSets, for the one that its constraints name, else for the first. Slurm does not say which NodeSets are in a partition of all
//   nodes: those that other partitions name.
// - A job of one node fills the part of a worker that it asks for: of CPUs, memory and GRES the largest; and several, where it asks
//   for more than one has. A job of several nodes, or that shares with nobody, fills whole workers. So does each job while no worker
//   has been seen.
// - A job that started since the nodes were read keeps workers that were idle then, and wants no others.
// - Workers that take no jobs are those that are down or drained, without those that the operator takes away.
//
// So more are wanted than have jobs as long as a job waits that one more could start, and none once no job is there.
//
// Pure; any thread.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exporter/bounded.h"
#include "exporter/limits.h"
#include "slurm/source.h"
#include "slurm/usage.h"

namespace capstan::exporter {

// Of a partition or a NodeSet.
struct Workers {
  int64_t busy = 0;
  int64_t idle = 0;  // a job could start there
  int64_t unusable = 0;
  slurm::Tres largest;     // the most of each that one has
  slurm::Tres known_size;  // of those that were there before

  // Without CPUs: no worker has been seen.
  const slurm::Tres& size() const { return largest.cpus > 0 ? largest : known_size; }
};
// By the name of each. A NodeSet's is the one that Slurm has for it: a feature of its workers.
using Pools = std::map<std::string, Workers, std::less<>>;

// By partition those pools for one of which a job counts that names it: itself, or its NodeSets, in the order of its line (Nodes=).
using PoolsOfPartitions = std::map<std::string, std::vector<std::string>, std::less<>>;
PoolsOfPartitions Themselves(std::span<const slurm::Partition> partitions);
PoolsOfPartitions NodeSetsOf(std::span<const slurm::Partition> partitions);

// Those of `partitions` without workers, `most` of them; with the sizes that `before` knows.
Pools EmptyPools(const PoolsOfPartitions& partitions, const Pools& before, size_t most);

// Counts the node for each of `names` that is a pool: its partitions, or its features.
void AddNode(Pools& pools, const slurm::NodeUsage& node, std::span<const std::string> names);

class WantedNodes {
 public:
  // Both outlive it. `nodes_read`: since when nodes may have got jobs that are not in `pools`.
  WantedNodes(const PoolsOfPartitions& partitions, const Pools& pools, Time nodes_read)
      : partitions_(&partitions), pools_(&pools), nodes_read_(nodes_read) {}

  void Add(const slurm::JobUsage& job);

  // By pool, those without jobs included.
  std::map<std::string, int64_t> Wanted() const;

 private:
  // In workers.
  struct Filled {
    double pending = 0;  // that its pending jobs would fill
    double began = 0;    // that jobs fill which started since the nodes were read
  };
  const std::string* PoolOf(const slurm::JobUsage& job) const;

  const PoolsOfPartitions* partitions_;
  const Pools* pools_;
  Time nodes_read_;
  std::map<std::string, Filled, std::less<>> filled_;
};

}  // namespace capstan::exporter
