// What one list of jobs comes to, and its series.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exporter/bounded.h"
#include "exporter/counts.h"
#include "exporter/exposition.h"
#include "exporter/limits.h"

namespace capstan::exporter {

class JobFigures {
 public:
  void Add(const slurm::JobUsage& job);

  // `partitions`: all that there are, so that those without jobs have series as well. `now`: by the clock of Slurm's times.
  void Show(Exposition& out, const Names& partitions, Time now) const;

  std::vector<Uncounted> uncounted() const;

 private:
  struct Partition {
    JobCounts counts;
    int64_t most_pending_nodes = 0;  // that one job asks for, of those that wait and are not held
    int64_t pending_tasks = 0;       // as the jobs that wait, with each task of an array
    std::optional<Time> longest;     // since when the job waits that waits longest, of those that could start
    int64_t waited_s = 0;            // by those that run, before they did
    int64_t waited_jobs = 0;
  };
  using User = std::pair<int64_t, std::string>;
  using Reason = std::pair<std::string, std::string>;  // of a partition

  static void AddTo(Partition& partition, const slurm::JobUsage& job, const slurm::Tres& allocated);
  void ShowPartitions(Exposition& out, const Names& partitions, Time now) const;
  void ShowOwners(Exposition& out) const;

  JobCounts all_;
  Bounded<std::string, Partition> partitions_{kMostPartitions};
  Bounded<std::string, JobCounts> accounts_{kMostAccounts};
  Bounded<User, JobCounts> users_{kMostUsers};
  Bounded<Reason, int64_t> reasons_{kMostReasons};
};

}  // namespace capstan::exporter
