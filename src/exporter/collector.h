// Asks slurmrestd for what the exporter shows, one thing after another, and keeps it as text. A scrape is a copy of that text:
// nobody who scrapes makes Slurm work.
//
// - What is asked for, each for itself: statistics, controllers, partitions, nodes, jobs, licenses, reservations, shares.
// - Each is asked for every `interval`, shares every minute, and for a tenth of the time at most: a list of jobs that takes three
//   seconds comes every half minute.
// - After a failure it is asked for again within half a minute, or `interval`. Meanwhile its last values stay for `keep`, or for
//   as long as it takes to be asked for again; then its series are gone, and with those of the statistics slurm_up is 0.
// - A failure is logged when it begins, and its end.
//
// Thread: everything is the loop's, but AppendTo, which any thread may call.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/loop.h"
#include "async/task.h"
#include "exporter/exposition.h"
#include "exporter/limits.h"
#include "exporter/wanted_nodes.h"
#include "slurm/rest_client.h"

namespace capstan::exporter {

class Collector {
 public:
  struct Options {
    Duration interval = 5s;
    Duration keep = 5min;
    std::string cluster;  // value of the label "cluster"; empty: series have none
    Duration call_limit = 30s;
    Duration jobs_limit = 3min;
  };

  // `client` outlives it.
  Collector(async::Loop& loop, slurm::RestClient& client, Options options);

  // Runs until it is cancelled.
  async::Task<void> Run();

  // All series, as they were last read, and how old that is, behind what `text` holds.
  void AppendTo(std::string& text) const;

  // Each thing has been asked for once, with whatever result.
  bool has_begun() const { return begun_; }

 private:
  // One thing that is asked for.
  struct Part {
    std::string_view name;
    async::Task<Result<void>> (Collector::*read)(Part&);
    Duration interval;
    Tick due{}, began{};
    bool fails = false;
    // Shared with AppendTo.
    std::shared_ptr<const std::string> text;
    Tick read_at{};   // when it was asked for
    Duration took{};  // its answer
    uint64_t failures = 0;
  };

  async::Task<void> Look(Part& part);
  void Publish(Part& part, Exposition text);
  async::Task<Result<void>> ReadStatistics(Part& part);
  async::Task<Result<void>> ReadControllers(Part& part);
  async::Task<Result<void>> ReadPartitions(Part& part);
  async::Task<Result<void>> ReadNodes(Part& part);
  async::Task<Result<void>> ReadJobs(Part& part);
  async::Task<Result<void>> ReadLicenses(Part& part);
  async::Task<Result<void>> ReadReservations(Part& part);
  async::Task<Result<void>> ReadShares(Part& part);
  void Note(std::span<const Uncounted> uncounted, std::string_view list);
  void NoteCut(std::string_view list, std::string_view label, size_t count, size_t most);
  bool IsShown(const Part& part, Tick now) const;
  bool AreNodesKnown() const;
  std::string OwnSeries(Tick now) const;

  async::Loop& loop_;
  slurm::RestClient& client_;
  Options options_;
  Names partitions_;
  // For wanted_nodes.h: of the partitions, and as nodes were last read.
  struct Wanting {
    PoolsOfPartitions of;
    Pools pools;
  };
  Wanting by_partition_, by_nodeset_;
  Time nodes_read_{};  // those pools
  bool begun_ = false;
  mutable std::mutex mutex_;
  std::vector<Part> parts_;                                           // `text` and what follows: under mutex_
  std::map<std::pair<std::string, std::string>, int64_t> uncounted_;  // by list and label; under mutex_
};

}  // namespace capstan::exporter
