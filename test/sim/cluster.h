// The world of one run: a modelled Kubernetes and Slurm, everybody who acts in them besides the operator, and the wires
// by which the operator reaches them. All of it in one loop's virtual time and drawn from one seed.
//
// The operator is the only user of the wires. `connected` is its process: once false, nothing that it sends takes
// effect any more.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "async/loop.h"
#include "base/random.h"
#include "kube/testing/fake_api_server.h"
#include "slurm/testing/fake_slurm.h"
#include "slurm/testing/fake_slurmrestd.h"

namespace capstan::sim {

inline const kube::Key kSet{"slurm", "w"};
inline const kube::Key kMain{"slurm", "main"};

// What happened, line by line, with virtual times. Printed when a run fails.
class Story {
 public:
  Story(const async::Loop& loop, bool echo) : loop_(loop), echo_(echo) {}
  void Add(const std::string& line);
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  const async::Loop& loop_;
  bool echo_;
  std::vector<std::string> lines_;
};

// How many percent of the operator's requests to slurmrestd go wrong, and how.
struct SlurmFault {
  slurm::testing::Fault kind = slurm::testing::Fault::kNone;
  unsigned percent = 0;
};

class Cluster {
 public:
  struct Options {
    int machines = 3;            // Kubernetes nodes
    bool share_machines = true;  // several workers on one
  };
  Cluster(uint64_t seed, Options options, bool echo);

  async::VirtualLoop loop;
  Story story;
  Random random;
  Options options;
  kube::testing::FakeApiServer api;
  slurm::testing::FakeSlurm slurm;
  slurm::testing::FakeSlurmrestd rest;

  // --- The operator's side
  bool connected = false;
  bool slurmrestd_runs = false;
  void SetSlurmFault(SlurmFault fault);
  net::Transport& slurm_wire() { return slurm_wire_; }
  // Called for each request of the operator that changes something: as it has taken effect on the API server, and as it
  // is sent to slurmrestd.
  std::function<void(const kube::testing::ApiWrite&)> on_api_write;
  std::function<void(const net::Request&)> on_slurm_write;

  // The node as it was before each change by a person, or by slurmctld (a DOWN node returned to service), that the
  // operator may not know of: it has had no time yet to act on an answer of Slurm to a question that it asked after the
  // change. Two who write to Slurm at the same moment cannot be told apart.
  std::vector<slurm::Node> BeforeOthers(const std::string& node) const;

  // --- What users and administrators do
  void Install(int replicas);
  void Scale(int replicas);
  // Deletes the NodeSet, as `kubectl delete --cascade=...` does.
  void DeleteSet(const std::string& propagation);
  void ForceDeletion();
  // Deletes everything that Install made, as `helm uninstall` does.
  void TearDown();
  void Cordon(const std::string& machine);
  void Uncordon(const std::string& machine);
  int replicas() const;
  int most_replicas() const { return most_replicas_; }  // ever asked for
  void DeletePod(const std::string& name);
  void FailPod(const std::string& name);  // evicted by its kubelet
  void Submit(Duration runs_for, std::string node = {});
  void UpdateNode(const std::string& node, const std::string& state, const std::string& reason);
  // A job that runs, drawn at random; and until it is resumed, which is tried until there is room.
  void SuspendSome(Duration lasts);
  void ResumeAll();
  void RestartSlurmctld(Duration away, bool forgets);
  void CancelQueue() { queue_.clear(); }  // jobs that have not started

  // --- What there is
  bool SetIsGone() const { return api.Find(SetKind(), kSet) == nullptr; }
  const std::set<std::string>& cordoned() const { return cordoned_; }
  // The NodeSet as it is, or was last.
  const json::Value& LastSet();
  // Somebody has asked for an end of the workers whatever runs on them, or has left the operator nobody to ask.
  bool JobsMayEnd() const;
  std::string MachineOf(const std::string& pod) const;         // "" when it has none
  std::vector<std::string> Workers() const;                    // names of the set's pods, by name
  bool IsStarting(const std::string& pod) const;               // it runs, and its slurmd has not begun
  std::vector<std::string> PodTexts() const;                   // all pods of the namespace as JSON
  std::vector<int64_t> JobsOn(const std::string& node) const;  // running or suspended
  bool JobsLeft() const { return !queue_.empty() || AnyRuns(); }
  // Jobs that ended otherwise than by themselves and for which no person and no fault of the story is to blame.
  std::vector<int64_t> LostJobs() const;
  Duration UpTo(Duration most) { return Duration(int64_t(random.Below(uint64_t(most.count()) + 1))); }
  Duration Between(Duration least, Duration most) { return least + UpTo(most - least); }
  void After(Duration wait, std::function<void()> work) { loop.Schedule(loop.Now() + wait, std::move(work)); }

 private:
  static const kube::Resource& SetKind();

  int most_replicas_ = 0;
  // slurmrestd as the operator reaches it.
  class SlurmWire final : public net::Transport {
   public:
    explicit SlurmWire(Cluster& cluster) : cluster_(cluster) {}
    async::Task<Result<net::Response>> Send(net::Request request, async::Deadline deadline) override;
    async::Task<Result<std::unique_ptr<net::BodyStream>>> Open(net::Request request, async::Deadline deadline) override;

   private:
    void Note(const net::Request& request);
    void Answered(const net::Request& request, int status, Tick asked);
    Cluster& cluster_;
  };

  struct Read {
    std::string target;
    Tick asked, answered;
  };
  struct OthersAct {
    Tick at;
    slurm::Node before;
  };
  bool IsKnown(const OthersAct& act) const;

  void Written(const kube::testing::ApiWrite& write);
  bool AnyRuns() const;

  // Pods, as scheduler and kubelets have them.
  void Place(const kube::Key& key, const std::string& uid);
  std::string FreeMachine();
  void Start(const kube::Key& key, const std::string& uid);
  bool StartSlurmd(const kube::Key& key, const std::string& uid);
  void SayThatItRuns(const kube::Key& key, const std::string& uid);
  void BecomeReady(const kube::Key& key, const std::string& uid);
  std::optional<Duration> Stop(const json::Value& pod);
  void RunStopHook(const std::string& host, const std::string& uid);
  void EndSlurmd(const std::string& host, const std::string& uid);
  const json::Value* Living(const kube::Key& key, const std::string& uid) const;

  // StatefulSet and Deployment, as their controllers have them.
  void SyncSlurmctld();
  void SyncSlurmrestd();
  void Report(const kube::Resource& resource, const std::string& name, int ready);

  void Resume(int64_t job);
  void Schedule();  // Slurm's scheduler
  void Forgive(const std::string& node);
  void NoteSilence();  // Slurm can be heard, or cannot, from now on
  void PlaceWaiting();

  struct Waiting {
    Duration runs_for;
    std::string node;  // "" any
  };

  SlurmWire slurm_wire_;
  std::vector<std::pair<kube::Key, std::string>> unplaced_;  // and their uids
  std::map<std::string, std::string> slurmd_of_;             // Slurm node -> uid of the pod whose slurmd runs
  std::set<std::string> deleted_by_operator_;                // uids
  std::set<int64_t> forgiven_;
  std::vector<Read> reads_;                                     // of nodes, by the operator
  std::map<std::string, std::vector<OthersAct>> others_acted_;  // by node
  std::vector<Waiting> queue_;
  SlurmFault slurm_fault_;
  std::optional<Tick> silent_since_;
  Tick jobs_may_end_until_{};
  std::set<std::string> cordoned_;
  bool jobs_may_end_ = false;  // until it is installed again
  json::Value last_set_;
  bool scheduling_ = false;
};

}  // namespace capstan::sim
