// How the rest of Capstan sees Slurm: one Source per cluster, which reads for everybody and writes for
// everybody.
//
// A Source keeps a snapshot as fresh as somebody needs it. It never waits in Latest(), never empties a
// snapshot because a read failed, and says separately what it saw and what has gone wrong since. *Absent*,
// *unknown* and *failed* are three answers here: a node that is not in a list, a list that may be incomplete
// (Incarnation), and an error.
//
// Everything runs on the Loop the Source was made with, from that thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "async/deadline.h"
#include "async/task.h"
#include "base/result.h"
#include "slurm/cloud_node.h"
#include "slurm/external_job.h"
#include "slurm/snapshot.h"

namespace capstan::slurm {

// What an update may do to a node's state. IDLE is missing on purpose: it wipes a drain together with its
// reason, whoever set it.
enum class NodeAction : uint8_t {
  kDrain,    // no new jobs; running ones go on. Needs a reason
  kUndrain,  // takes a drain back; a DOWN node stays DOWN
  kResume,   // takes a drain back, and a DOWN node up again; refused (kConflict) when there is nothing to take
             // back
  kDown,     // kills the jobs on it at once. Needs a reason
};
std::string_view Name(NodeAction action);

// Members that are set are changed, the others left alone. An empty comment empties it; empty features are
// refused, since Slurm would ignore them. Features that are active must stay among the features, so name both
// when some are to go (kInvalid otherwise). An empty reason changes nothing.
//
// A topology is not supported by Slurm before 25.05 (kInvalid; all else of the update is changed).
//
// After kUndrain and kResume the node is NOT_RESPONDING for a second or two, until slurmctld has heard from
// it.
struct NodeUpdate {
  std::vector<std::string> names;  // one or more; all of them are changed, or none if one does not exist
  std::optional<NodeAction> action;
  std::optional<std::string> reason;
  std::optional<std::string> comment;
  std::optional<std::string> extra;
  std::optional<std::string> topology;
  std::optional<std::vector<std::string>> features, active_features;
  std::optional<int64_t> weight;
};

// The answer to a fresh read of some nodes.
struct FreshNodes {
  Reading read;
  Incarnation incarnation;          // as it was after the nodes were read, if any is absent; else the last known
  std::vector<Node> nodes;          // those that exist, sorted by name
  std::vector<std::string> absent;  // those slurmctld has no record of, sorted. See Incarnation::AbsenceIsKnown

  const Node* Find(std::string_view name) const;
};

// One of the cluster's controllers, as slurmrestd sees it.
struct ControllerPing {
  std::string hostname;
  bool responding = false;
  bool primary = false;  // by configuration; the first that responds is the one in charge

  bool operator==(const ControllerPing&) const = default;
};

// What slurmctld keeps for a slurmdbd that is away.
struct AccountingQueue {
  int64_t waiting = 0;   // messages
  int64_t capacity = 0;  // of at least so many; then records are lost (MaxDBDMsgs)

  bool operator==(const AccountingQueue&) const = default;
};

// A partition that slurmctld has.
struct Partition {
  std::string name;
  bool open = true;     // jobs may be queued there: its State is UP or DOWN, neither DRAIN nor INACTIVE
  std::string nodes{};  // of its line in slurm.conf: "gpu,w-[0-3]", "ALL"; NodeSets by their names
  std::string state{};  // as Slurm names it: "UP"
  int64_t node_count = 0, cpu_count = 0;
  std::optional<Duration> time_limit{};  // of its jobs; absent: none

  bool operator==(const Partition&) const = default;
};

// Partitions, and the jobs that name them.
struct PartitionUse {
  struct Jobs {
    std::vector<int64_t> ids;  // of those that are not over, sorted
    size_t over = 0;           // that are, and that slurmctld still remembers (MinJobAge)

    bool operator==(const Jobs&) const = default;
  };
  std::vector<Partition> partitions;              // sorted by name
  size_t job_count = 0;                           // of the whole cluster
  bool jobs_read = false;                         // false: they are too many to be read
  std::map<std::string, Jobs, std::less<>> jobs;  // by each partition that one names, of several each

  // nullptr: slurmctld has none of that name.
  const Partition* Find(std::string_view name) const;
};

// Nodes that are kept for somebody, for a time.
struct Reservation {
  std::string name;
  std::string nodes;               // hostlist, as Slurm writes it
  std::vector<std::string> flags;  // in capitals, sorted; with those that Slurm adds (SPEC_NODES, ALL_NODES)
  std::vector<std::string> users;
  Time start{}, end{};  // of one that comes again: of the next time, or of this one

  bool operator==(const Reservation&) const = default;
};

// Members that are set are changed, the others left alone; of a new reservation all but flags are needed. Slurm keeps
// nodes that it does not know out of it without a word. Once it has begun, only its nodes and its duration may change (kConflict).
struct ReservationUpdate {
  std::string name;
  std::vector<std::string> nodes;  // not empty; ALL alone: all, also those that come later
  std::vector<std::string> flags, users;
  std::optional<Time> start;         // at most ten minutes in the past
  std::optional<Duration> duration;  // whole minutes
};

// Jobs that somebody follows (Source::Follow), by id, as the last look at each found it; nullptr: slurmctld says that it has no
// job of that id. One that has not been looked at yet is not in here. A job that did not change is the same object in the next.
using FollowedJobs = std::map<int64_t, std::shared_ptr<const Job>>;

class Source {
 public:
  virtual ~Source() = default;

  // What is known now. Both may be set: a snapshot that grows old, and why it does.
  struct View {
    std::shared_ptr<const Snapshot> snapshot;      // null until the first read succeeded
    std::optional<Error> error;                    // of the last read; absent when it succeeded
    Tick error_since{};                            // when reads began to fail
    std::shared_ptr<const FollowedJobs> followed;  // never null; immutable, as the snapshot
    Tick followed_at{};  // the last look at all of them began; while looks fail this alone shows it
  };
  virtual View Latest() const = 0;

  // Calls `changed` after the View changed: a new generation, an error, the end of one. Not for reads that
  // found nothing new. It must not wait and may call anything of the Source but end its own Subscription.
  class Subscription {
   public:
    virtual ~Subscription() = default;  // ends it
  };
  using Changed = std::function<void()>;
  [[nodiscard]] virtual std::unique_ptr<Subscription> Subscribe(Changed changed) = 0;

  // Somebody did something after which these nodes will change, and wants to know soon: until `until`, they
  // are looked at often. A later call for a node replaces the earlier one if it ends later.
  virtual void ExpectChange(std::span<const std::string> nodes, Tick until) = 0;

  // The same for as long as one of these lives.
  class Expectation {
   public:
    virtual ~Expectation() = default;
  };
  [[nodiscard]] virtual std::unique_ptr<Expectation> Expect(std::vector<std::string> nodes) = 0;

  // Snapshots carry jobs while at least one of these lives. Reading all jobs is expensive; let go of it when it
  // can be.
  class JobsWanted {
   public:
    virtual ~JobsWanted() = default;
  };
  [[nodiscard]] virtual std::unique_ptr<JobsWanted> WantJobs() = 0;

  // These jobs stand in View::followed, and are looked at about every half second, for as long as one of these lives.
  class Following {
   public:
    virtual ~Following() = default;
  };
  [[nodiscard]] virtual std::unique_ptr<Following> Follow(std::vector<int64_t> ids) = 0;

  // The named nodes, by a read that begins after this call: what a guard asks before it lets something be
  // destroyed. Any error means unknown. Errors: kUnavailable, kUnauthenticated, kForbidden, kDeadline,
  // kInvalid.
  virtual async::Task<Result<FreshNodes>> ReadNodes(std::vector<std::string> names, async::Deadline deadline) = 0;

  // The nodes that jobs hold without keeping them busy, sorted: a suspended job leaves its node IDLE. (So may one in a
  // state that this version does not know.) By reads of all jobs' states and of those jobs that begin after this call;
  // of running jobs only the nodes tell. Any error means unknown; errors as of ReadNodes.
  virtual async::Task<Result<std::vector<std::string>>> ReadNodesOfSuspendedJobs(async::Deadline deadline) = 0;

  // --- Writes. All may be repeated without harm. kUnknownOutcome: it may or may not have happened;
  // kUnavailable: it did not, or trying again is the way to find out; kConflict: Slurm refuses as the node is
  // in another state than assumed (busy, for DeleteNode).

  // kNotFound when one of the names does not exist, and then nothing was changed.
  virtual async::Task<Result<void>> UpdateNode(NodeUpdate update, async::Deadline deadline) = 0;

  // Makes the record of an external or cloud node. Success also when one of that name is there: whose it is, the next look tells.
  // kInvalid: Slurm refuses it, in its words.
  virtual async::Task<Result<void>> CreateNode(NewNode node, async::Deadline deadline) = 0;

  // Removes a dynamic node's record. Success when it is gone, also when it already was. A slurmd that still
  // runs does not bring it back; one that starts does.
  virtual async::Task<Result<void>> DeleteNode(std::string name, async::Deadline deadline) = 0;

  // Makes the reservation of that name, or changes it. kInvalid: Slurm refuses its times, flags or nodes, or slurmrestd is
  // older than Slurm 25.05 and cannot.
  virtual async::Task<Result<void>> WriteReservation(ReservationUpdate update, async::Deadline deadline) = 0;

  // Removes a reservation. Success when there is none of that name. kConflict: jobs use it. kInvalid: it is there, and Slurm, before
  // 25.05, cannot.
  virtual async::Task<Result<void>> DeleteReservation(std::string name, async::Deadline deadline) = 0;

  // Makes slurmctld read its configuration anew; a new Incarnation begins.
  virtual async::Task<Result<void>> Reconfigure(async::Deadline deadline) = 0;

  // The partitions, and then, by a read that begins after that answer, the jobs that name them: of a partition that is
  // closed and that no job names, none will. Jobs are read only if there are `most_jobs` at most. Errors as of ReadNodes.
  virtual async::Task<Result<PartitionUse>> ReadPartitionUse(size_t most_jobs, async::Deadline deadline) = 0;

  // One job, by a read that begins after this call; empty: slurmctld has no job of that id. Errors as of ReadNodes.
  virtual async::Task<Result<std::optional<Job>>> ReadJob(int64_t id, async::Deadline deadline) = 0;

  // All external jobs that are not over, sorted by id, by one read of every job: expensive. Errors as of ReadNodes.
  virtual async::Task<Result<std::vector<Job>>> ReadExternalJobs(async::Deadline deadline) = 0;

  // External jobs (external_job.h). What they return is said of RestClient's calls of the same names; the job is looked at
  // soon afterwards if it is followed.
  virtual async::Task<Result<void>> SubmitJob(ExternalJob job, async::Deadline deadline) = 0;
  virtual async::Task<Result<void>> UpdateJob(JobUpdate update, async::Deadline deadline) = 0;
  virtual async::Task<Result<void>> CancelJob(JobCancel cancel, async::Deadline deadline) = 0;

  // Who is in charge. Answers in milliseconds also while no controller responds.
  virtual async::Task<Result<std::vector<ControllerPing>>> Ping(async::Deadline deadline) = 0;

  // All reservations, sorted by name. Errors as of ReadNodes.
  virtual async::Task<Result<std::vector<Reservation>>> ReadReservations(async::Deadline deadline) = 0;

  // How full the queue of messages for slurmdbd is. Errors as of ReadNodes.
  virtual async::Task<Result<AccountingQueue>> ReadAccountingQueue(async::Deadline deadline) = 0;
};

}  // namespace capstan::slurm
