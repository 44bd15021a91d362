// What must never happen, by what slurmctld and the API server hold: checked at every write of the bridge and after every moment
// of a run.
//
//   S1   no pod is released unless a job of its group runs on that node (or did until just before)
//   S2   no two jobs of one group run
//   S3   nothing is written to a job without our mark
//   S4   no pod that runs is deleted or failed unless its job is over, preempted or suspended
//   S5   a node of a job holds one live pod of it, and nobody is pinned twice
//   S6   no pod is released to a node where another job's pod still is
//   S7   a job that a person cancelled is not asked for again, unless its user says so
//   S8   of a gang all are released or none, once faults have ended; unless slurmctld has lost its jobs
//   S9   no job outlives its pods, once faults have ended
//   S10  no job of a group is cancelled while a pod of the group runs under it
//   S11  a Slurm node that somebody else holds (drained, DOWN) is left alone; a drain of ours is lifted only while the machine takes
//        work, and stands on it once faults have ended only if that does not
#pragma once

#include <map>
#include <optional>
#include <string>

#include "kube/testing/fake_api_server.h"
#include "yard.h"

namespace capstan::sim::bridge {

class Rules {
 public:
  explicit Rules(Yard& yard);

  const std::optional<std::string>& broken() const { return broken_; }
  int writes() const { return writes_; }
  std::function<void()> on_write;
  // Looks at what shows only afterwards.
  void Look();
  // S8 and S9, and that every pod is where it can be; nullopt: all is as it should be.
  std::optional<std::string> Unmatched() const;
  uint64_t fingerprint() const { return fingerprint_; }

 private:
  void OnApiWrite(const kube::testing::ApiWrite& write);
  void OnRequest(const net::Request& request);
  void Released(const Pod& pod);
  void Ended(const kube::Key& key);
  void Submitted(const std::string& body);
  void Cancelled(const std::string& body);
  void WroteNode(const std::string& slurm_node, const std::string& body);
  bool TakesWork(const std::string& node) const;
  const slurm::Job* JobOf(const Pod& pod) const;
  void Break(const std::string& what);
  void Wrote(const std::string& title);

  Yard& yard_;
  std::optional<std::string> broken_;
  std::map<std::string, std::string> pins_;  // of pods that were released, by uid
  std::map<int64_t, slurm::Job> last_;       // jobs as they were seen last
  std::map<int64_t, Tick> ran_until_;        // jobs that have run: when that was seen last
  std::map<std::string, Tick> held_since_;   // Slurm nodes that somebody else than the bridge holds
  std::map<std::string, Tick> took_work_;    // Kubernetes nodes: when that was seen last
  std::map<kube::Key, Pod> pods_;            // before the write that is being judged
  int writes_ = 0;
  uint64_t fingerprint_ = 0;
};

}  // namespace capstan::sim::bridge
