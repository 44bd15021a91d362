// One Slurm cluster of a run: a Controller and its RestApi, or a SlurmCluster that makes them, the slurmctld and slurmrestd that run for them, jobs, and the
// wire by which the operator reaches them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cluster_story.h"
#include "machines.h"
#include "slurm/testing/fake_slurm.h"
#include "slurm/testing/fake_slurmrestd.h"

namespace capstan::sim {

class SetStory;

// How many percent of the operator's requests to slurmrestd go wrong, and how.
struct SlurmFault {
  slurm::testing::Fault kind = slurm::testing::Fault::kNone;
  unsigned percent = 0;
};

class Site {
 public:
  // REQUIRES: `machines` outlives this.
  Site(Machines& machines, kube::Key controller, bool one_object);

  const kube::Key key;  // of the Controller, and of the RestApi
  Machines& machines;
  slurm::testing::FakeSlurm slurm;
  slurm::testing::FakeSlurmrestd rest;
  const std::unique_ptr<ClusterStory> cluster;  // null: its user makes each object by himself

  // --- The operator's side
  net::Transport& wire() { return wire_; }
  void SetFault(SlurmFault fault);
  // Called for each request of the operator that changes something, as it is sent to slurmrestd.
  std::function<void(const net::Request&)> on_write;
  bool Answers(std::string_view address) const;  // of its slurmctld or slurmrestd

  // The node as it was before each change by a person, or by slurmctld (a DOWN node returned to service), that the
  // operator may not know of: it has had no time yet to act on an answer of Slurm to a question that it asked after the
  // change. Two who write to Slurm at the same moment cannot be told apart.
  std::vector<slurm::Node> BeforeOthers(const std::string& node) const;

  // --- What users and administrators do
  void Install();
  void TearDown();         // everything in it, as `helm uninstall` does
  void TearDownDrained();  // the same, and jobs end first. REQUIRES: cluster->IsHeld()
  void Submit(Duration runs_for, std::string node = {});
  void UpdateNode(const std::string& node, const std::string& state, const std::string& reason);
  // A job that runs, drawn at random; and until it is resumed, which is tried until there is room.
  void SuspendSome(Duration lasts);
  void ResumeAll();
  void Restart(Duration away, bool forgets);  // slurmctld
  void CancelQueue() { queue_.clear(); }      // jobs that have not started

  // --- What there is
  void Add(SetStory& set) { sets_.push_back(&set); }
  const std::vector<SetStory*>& sets() const { return sets_; }
  bool JobsMayEnd() const;                                     // the operator has had nobody to ask for too long
  std::vector<int64_t> JobsOn(const std::string& node) const;  // running or suspended
  // A job is not lost that Slurm has sent to a slurmd which was dead before.
  // Nor one that waits for a slurmd to begin.
  bool IsBusy(const std::string& node) const;
  bool JobsLeft() const;
  // Jobs that ended otherwise than by themselves and for which no person and no fault of the story is to blame.
  std::vector<int64_t> LostJobs() const;

  // --- What kubelets and workload controllers do
  void StartSlurmd(const std::string& host, const std::string& uid, const std::string& address,
                   const std::string& feature, bool boots);
  void RunStopHook(const std::string& host, const std::string& uid);
  void EndSlurmd(const std::string& host, const std::string& uid);
  void LookAtRegistration(const std::string& host, const std::string& uid);  // as entry/registration.h
  bool Runs(const std::string& host, const std::string& uid) const;          // the slurmd of that pod
  bool HasRegistered(const std::string& host) const { return slurm.HasRegistered(host); }
  void Forgive(const std::string& node);                                // its jobs may be lost
  void WorkerDeleted(const std::string& host, const std::string& uid);  // by the operator
  void Applied(const kube::Resource& resource, const kube::Key& object);

 private:
  // slurmrestd as the operator reaches it.
  class Wire final : public net::Transport {
   public:
    explicit Wire(Site& site) : site_(site) {}
    async::Task<Result<net::Response>> Send(net::Request request, async::Deadline deadline) override;
    async::Task<Result<std::unique_ptr<net::BodyStream>>> Open(net::Request request, async::Deadline deadline) override;

   private:
    void Note(const net::Request& request);
    void Answered(const net::Request& request, int status, Tick asked);
    Site& site_;
  };

  struct Read {
    std::string target;
    Tick asked, answered;
  };
  struct OthersAct {
    Tick at;
    slurm::Node before;
  };
  struct Waiting {
    Duration runs_for;
    std::string node;  // "" any
  };

  kube::Key Named(std::string_view suffix) const { return {key.ns, key.name + std::string(suffix)}; }
  bool IsKnown(const OthersAct& act) const;
  void SyncSlurmctld();
  void SyncSlurmrestd();
  void Resume(int64_t job);
  void Schedule();  // Slurm's scheduler
  void EndWithController();
  void NoteSilence();  // Slurm can be heard, or cannot, from now on

  Wire wire_;
  std::vector<SetStory*> sets_;
  bool slurmrestd_runs_ = false;
  std::map<std::string, std::string> slurmd_of_;  // Slurm node -> uid of the pod whose slurmd runs
  std::set<std::string> deleted_by_operator_;     // uids
  std::set<std::string> failed_;  // hosts that lost their slurmd by no deletion of the operator's; jobs may still start
  std::set<int64_t> forgiven_;
  std::vector<Read> reads_;                                     // of nodes, by the operator
  std::map<std::string, std::vector<OthersAct>> others_acted_;  // by node
  std::vector<Waiting> queue_;
  SlurmFault fault_;
  std::optional<Tick> silent_since_;
  Tick jobs_may_end_until_{};
  bool scheduling_ = false;
};

}  // namespace capstan::sim
