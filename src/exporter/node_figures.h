// What one list of nodes comes to, and its series.
#pragma once

#include <map>
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

// Why nodes take no jobs, for people and alerts: few classes, where reasons are free text.
//   "not_responding", "rebooted": slurmctld's own
//   "kill_task", "prolog", "epilog": something failed on the node
//   "registration": the node has less than slurm.conf says, or other GRES
//   "health_check": as NHC and such programs write it
//   "operator", "bridge": Capstan's own drains
//   "other"; "none": no reason
std::string_view ClassOf(std::string_view reason);

// How a node takes no jobs: "down", "fail", "drained", "draining", "not_responding". "": it takes them.
std::string_view Unavailability(const slurm::NodeState& state);

class NodeFigures {
 public:
  struct Gres {
    int64_t total = 0, used = 0;
  };

  void Add(slurm::NodeUsage node);

  // `partitions`: all that there are, so that those without nodes have series as well.
  void Show(Exposition& out, const Names& partitions) const;

  std::vector<Uncounted> uncounted() const;

 private:
  struct Unit {
    int64_t nodes = 0, idle = 0;
  };
  struct Row {
    std::string name;
    NodeCounts counts;
    bool knows_free_memory = false;
    std::vector<std::pair<std::string, Gres>> gres;  // by kind: "gpu", "gpu:a100"
    std::string_view unavailability, reason_class;   // of Unavailability and ClassOf
    std::optional<Time> since;
  };
  using TopologyUnit = std::pair<std::string, std::string>;

  void ShowPartitions(Exposition& out, const Names& partitions) const;
  void ShowRows(Exposition& out) const;
  void ShowGres(Exposition& out) const;
  void ShowUnits(Exposition& out) const;

  NodeCounts all_;
  std::vector<Row> rows_;
  int64_t uncounted_rows_ = 0;
  Bounded<std::string, NodeCounts> partitions_{kMostPartitions};
  Bounded<std::string, Gres> gres_{kMostGres};
  Bounded<TopologyUnit, Unit> units_{kMostUnits};
  std::map<std::pair<std::string_view, std::string_view>, int64_t> unavailable_;  // by state and class
};

}  // namespace capstan::exporter
