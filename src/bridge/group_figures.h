// What the bridge shows of the groups of pods that it looks after (group/members.h), at /metrics:
//
//   slurm_bridge_waiting_groups{reason}         of which a pod waits, by what its condition capstan.dev/SlurmJob says; "None": nothing
//   slurm_bridge_oldest_wait_seconds{reason}    since the oldest pod that waits for that reason was made
//   slurm_bridge_released_groups                whose pods have all been let go and not all ended
//   slurm_bridge_start_to_bound_seconds         of pods that were seen: from the start of the job in Slurm until Kubernetes bound the
//                                               pod. Both are whole seconds, of two clocks
//
// Counted every 15 seconds. Reasons that nobody has any more are 0. Thread: the loop's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_set>

#include "async/loop.h"
#include "async/task.h"
#include "bridge/objects.h"
#include "kube/store.h"
#include "net/metrics.h"
#include "slurm/source.h"

namespace capstan::bridge {

class GroupFigures {
 public:
  // `jobs`: those that are followed, as Slurm told last; null: none. REQUIRES: all outlive it.
  using Jobs = std::function<std::shared_ptr<const slurm::FollowedJobs>()>;
  GroupFigures(net::Metrics& metrics, const kube::Store<Pod>& pods, std::string scheduler_name, Jobs jobs);

  void Count(Time now);
  // Until cancelled.
  async::Task<void> Run(async::Loop& loop);

 private:
  struct Waiting {
    net::Gauge* groups;
    net::Gauge* oldest;
  };
  const Waiting& WaitingFor(const std::string& reason);
  void NoteBound(const Pod& pod);

  net::Metrics& metrics_;
  const kube::Store<Pod>& pods_;
  const std::string scheduler_name_;
  const Jobs jobs_;
  net::Gauge& released_;
  net::Histogram& start_to_bound_;
  std::map<std::string, Waiting> waiting_;  // by reason
  std::unordered_set<std::string> bound_;   // uids of pods that are bound
  bool counted_ = false;                    // what is bound at the first count has been so before
};

}  // namespace capstan::bridge
