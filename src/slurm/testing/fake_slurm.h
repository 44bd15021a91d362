// A model of slurmctld and its slurmds: nodes, jobs and what happens to them, in the virtual time of a Loop.
//
// It knows what has surprised people: records outlive slurmd; IDLE wipes a drain with its reason; UNDRAIN and
// RESUME make a node NOT_RESPONDING until it is heard from; DRAIN and FAIL take each other's place, and UNDRAIN lifts both; a slurmd that registers again changes neither
// features nor weight of its record; active features must be among the features, or an update changes
// nothing; a machine booted since the node was heard last makes it DOWN unless ReturnToService is 2; DOWN kills jobs; jobs vanish MinJobAge after their end; a restarted slurmctld may have lost its
// nodes, and a slurmd that runs does not bring its record back. It schedules nothing: a test says which job
// runs where, also of external jobs, which wait until a test lets them run and end with their time limit. No job starts on a node in an active maintenance reservation, whose record cannot be removed; such a
// reservation changes but its nodes and its end no more. A cloud node that is powered down takes a job, which waits as CONFIGURING, and powers up at the next look for such nodes; a slurmd that registers before that was booted unexpectedly. One of the nodes ALL is also of those that come later. An external node is IDLE from the moment in which it is made, and never silent. test/slurm compares it with the real thing.
//
// FakeSlurmrestd (fake_slurmrestd.h) puts slurmrestd's HTTP in front of it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/loop.h"
#include "base/random.h"
#include "slurm/cloud_node.h"
#include "slurm/snapshot.h"
#include "slurm/source.h"

namespace capstan::slurm::testing {

// Slurm's answer to a request it refuses.
struct Refusal {
  int64_t number;
  std::string_view text;

  static const Refusal kNoSuchNode, kNodeExists, kTopology, kBusy, kTransition, kFeature, kReservation, kTime, kStarted;
  static const Refusal kNoSuchJob, kDuplicate, kNoSuchPartition, kFinished, kAlreadyOver, kFiltered;
  friend bool operator==(const Refusal& a, const Refusal& b) { return a.number == b.number; }
};
using Outcome = std::optional<Refusal>;  // nullopt: done

// How a slurmd presents itself (its host, and what stands in --conf).
struct SlurmdSpec {
  std::string name;
  std::string address;
  std::vector<std::string> features;
  std::string topology;
  int64_t weight = 1;
  int64_t cpus = 2;
  Time boot_time = Time(std::chrono::seconds(1'600'000'000));  // of its machine
};

class FakeSlurm {
 public:
  struct Options {
    int return_to_service = 2;       // as in slurm.conf
    Duration contact = 1500ms;       // until a node is heard from after UNDRAIN, RESUME or a restart of slurmctld
    Duration ping_interval = 100s;   // until a silent slurmd is noticed
    Duration slurmd_timeout = 300s;  // until it is DOWN for it
    Duration completing = 400ms;     // from a job's end until its nodes are free
    Duration min_job_age = 300s;
    Duration suspend_timeout = 30s;  // from POWERING_DOWN to POWERED_DOWN
    Duration resume_timeout = 900s;  // until a node that powers up is DOWN
    Duration power_check = 10s;  // between looks for nodes that a job waits for, or that have been idle for long enough
    std::string partition = "all";
    std::string release = "26.05.5";
  };
  FakeSlurm(async::Loop& loop, Options options);
  explicit FakeSlurm(async::Loop& loop) : FakeSlurm(loop, Options()) {}
  ~FakeSlurm();

  // --- slurmd
  void StartSlurmd(SlurmdSpec spec);            // registers at once, or when slurmctld is up again
  void StopSlurmd(const std::string& name);     // without a word; its jobs die with it
  void RestartSlurmd(const std::string& name);  // its jobs go on. REQUIRES: it runs
  bool SlurmdRuns(const std::string& name) const { return slurmds_.contains(name); }
  // It runs, and slurmctld has known it since it was started, whether or not it still does.
  bool HasRegistered(const std::string& name) const { return SlurmdRuns(name) && !unregistered_.contains(name); }
  // Called with a DOWN node as it was, when its slurmd is heard and it returns to service.
  std::function<void(const Node& before)> on_return;

  // --- jobs. Ids count from 1. REQUIRES: the nodes exist.
  struct JobSpec {
    std::vector<std::string> nodes;
    bool whole_nodes = true;  // false: the nodes are MIXED while it runs
    std::string user = "root";
    std::optional<Duration> runs_for;         // completes by itself
    std::optional<Duration> time_limit = {};  // whole minutes, as Slurm has them; what it says, not what ends it
    std::string partition = {};               // "": that of the options
  };
  // Called with a job whose node did not power up in time: it is gone, and is to be started anew.
  std::function<void(const JobSpec& spec)> on_requeue;
  // The id, or nullopt when Slurm would not start it there: a node that is neither usable nor powered down, or has no room.
  std::optional<int64_t> StartJob(JobSpec spec);
  void FinishJob(int64_t id) { EndJob(id, JobFlag::kCompleted); }
  void CancelJob(int64_t id) { EndJobAs(id, JobFlag::kCancelled); }
  // Its nodes are free for others meanwhile, as with SelectTypeParameters=CR_CPU, and do not show that it holds them.
  // Its time stands still. False: it does not run; or, to be resumed, is not suspended or finds no room.
  bool SuspendJob(int64_t id);
  bool ResumeJob(int64_t id);
  // External jobs (external_job.h) under the ids that their submitters chose. A pending one runs when a test says so: false
  // when it is not pending, or its nodes are not usable or have no room.
  Outcome SubmitJob(const ExternalJob& job);
  bool RunPending(int64_t id, const std::vector<std::string>& nodes);
  Outcome UpdateJob(const JobUpdate& update);
  Outcome CancelExactly(const JobCancel& cancel);
  // What was asked for; nullptr: it was no external job.
  const ExternalJob* OrderOf(int64_t id) const {
    const auto found = orders_.find(id);
    return found == orders_.end() ? nullptr : &found->second;
  }
  // It is to make room; it goes on until it is ended.
  void WarnOfPreemption(int64_t id);
  // Why it waits and when it shall begin, as Slurm's scheduler would say it. REQUIRES: it is there.
  void Expect(int64_t id, std::string reason, std::optional<Time> start);
  // It ends so, whatever it is doing: kTimeout, kNodeFail, kPreempted.
  void EndJobAs(int64_t id, JobFlag end);
  // Slurm forgets it at once, as a slurmctld that has lost its state.
  void ForgetJob(int64_t id);
  const std::map<int64_t, Job>& jobs() const { return jobs_; }
  // Jobs that ended because their node was set DOWN, fell silent, lost its slurmd or its record: what must never
  // happen by mistake.
  const std::vector<int64_t>& killed() const { return killed_; }

  // --- slurmctld
  // kNodes: the saved state is gone. A slurmd registers until its first success only, so that those which run stay
  // unknown.
  enum class Lose : uint8_t { kNothing, kNodes };
  void StopController();
  void StartController(Lose lose = Lose::kNothing);  // a new life begins
  void RestartController(Lose lose = Lose::kNothing) {
    StopController();
    StartController(lose);
  }
  bool controller_up() const { return controller_up_; }
  Time boot_time() const { return boot_time_; }

  // --- what clients and administrators ask for. `state` is one of DRAIN, UNDRAIN, RESUME, DOWN, IDLE, FAIL
  // or "".
  struct Update {
    std::string state;
    std::string reason;
    std::optional<std::string> comment, extra, topology;
    std::vector<std::string> features, active_features;  // empty: unchanged
    std::optional<int64_t> weight;
    std::string user = "slurm";
  };
  Outcome UpdateNodes(const std::vector<std::string>& names, const Update& update);
  // External nodes (external_node.h), which no slurmd speaks for.
  Outcome CreateNode(const ExternalNode& node);
  // Cloud nodes (cloud_node.h), whose slurmds a test starts and stops.
  Outcome CreateNode(const CloudNode& node);
  // As `scontrol update state=power_up` does. False: it is not powered down.
  bool PowerUp(const std::string& name);
  // As for want of jobs, once none is there.
  bool PowerDown(const std::string& name);
  Outcome DeleteNode(const std::string& name);
  Outcome WriteReservation(const ReservationUpdate& update);
  Outcome DeleteReservation(const std::string& name);
  // Sorted by name. Those that are over are gone, or have moved on.
  std::vector<Reservation> Reservations() const;

  // Nodes and jobs as slurmctld would report them now. Sorted.
  std::vector<Node> Nodes() const;
  std::optional<Node> NodeNamed(const std::string& name) const;
  size_t node_count() const { return records_.size(); }

  // When nodes or jobs last changed, by slurmctld's clock.
  Time nodes_changed() const { return nodes_changed_; }
  Time jobs_changed() const { return jobs_changed_; }

  // State by name: what slurm.conf says. Jobs heed it not.
  std::map<std::string, std::string> partitions;

  // GRES that slurm.conf names, and topologies that there are; others are left out, and refused.
  std::set<std::string> gres_types = {"gpu"}, topologies = {"topo"};

  // Messages for a slurmdbd that is away; it keeps the 20,000 that it keeps by default.
  int64_t accounting_queue = 0;

  const Options& options() const { return options_; }
  async::Loop& loop() { return loop_; }

 private:
  struct Record {
    Node node;               // state: base DOWN or IDLE and DRAIN, FAIL, NOT_RESPONDING only
    std::set<int64_t> jobs;  // running
    std::set<int64_t> suspended;
    std::set<int64_t> completing;
    std::optional<Time> heard;          // last; not before it has registered
    std::optional<Duration> idle;       // of a cloud node: until it is powered down
    std::optional<Tick> busy, powered;  // of that: since when it has had no job; when its state of power began
  };

  NodeState StateOf(const Record& record) const;
  std::vector<std::string> NodeNames() const;
  const Reservation* ActiveOn(const std::string& node) const;  // nullptr: none
  void FollowReservation(const std::string& name);
  Outcome CheckState(const Record& record, const std::string& state) const;
  bool HasTopology(const std::string& topology) const;
  static Outcome CheckFeatures(const Node& node, const Update& update);
  void ApplyState(Record& record, const Update& update);
  void SettleReason(Record& record);
  void Register(const std::string& name);
  void AwaitContact(const std::string& name);
  void Heard(Record& record);
  void WasRebooted(Record& record);
  static bool IsAsleep(const Record& record);
  bool IsStartable(const Record& record) const;
  void BeginPower(Record& record, NodeFlag flag);
  void FollowPower(const std::string& name);
  void Requeue(const Record& record);
  void EndResume(const std::string& name);
  void EndSuspend(const std::string& name);
  void CheckPower(const std::string& name);
  void BeginConfigured(const std::string& node);
  void SignOfLife(Record& record);
  void WentSilent(const std::string& name);
  void DownUnlessHeard(const std::string& name, Duration within);
  bool HasRoom(const Record& record, bool whole) const;
  void RunFor(int64_t id, Duration left);
  void EndJob(int64_t id, JobFlag end);
  void Retire(int64_t id);
  void FollowLimit(int64_t id);
  void KillJobsOn(const std::string& name);
  void NodesChanged() { nodes_changed_ = loop_.WallNow(); }
  void JobsChanged() { jobs_changed_ = loop_.WallNow(); }
  // Runs `work` after `wait`, unless this object is gone or slurmctld has begun another life by then.
  void Later(Duration wait, std::function<void()> work);

  async::Loop& loop_;
  Options options_;
  std::map<std::string, Record> records_;
  std::map<std::string, Reservation> reservations_;
  std::map<std::string, SlurmdSpec> slurmds_;  // those that run
  std::map<std::string, Time> slurmd_started_;
  std::map<std::string, Tick> slurmd_began_;
  std::set<std::string> unregistered_;  // of slurmds_, those that have never registered
  std::map<int64_t, Job> jobs_;
  std::map<int64_t, JobSpec> job_specs_;
  std::map<int64_t, ExternalJob> orders_;
  std::map<int64_t, Tick> job_ends_;      // of running ones that end by themselves
  std::map<int64_t, Duration> job_left_;  // of suspended ones, when they run again
  std::vector<int64_t> killed_;
  int64_t next_job_ = 1;
  bool controller_up_ = true;
  uint64_t life_ = 0;
  Time boot_time_, nodes_changed_, jobs_changed_;
  std::set<async::Loop::TimerId> timers_;
};

}  // namespace capstan::slurm::testing
