// What Slurm looked like when it was last read: nodes and, when asked for, jobs. Immutable once published and
// shared by everybody who looks; a newer one replaces it as a whole, never in parts.
//
// A snapshot is always old. Who decides something that cannot be undone checks its age, or asks anew
// (Source::FreshNodes).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "slurm/job_state.h"
#include "slurm/node_state.h"

namespace capstan::slurm {

// A node's record in slurmctld. Records outlive slurmd: a node that is gone for good stays here until it is
// deleted. Only fields that change when something happens are kept; loads and counters would make every read
// a change.
struct Node {
  std::string name;
  NodeState state;
  std::string reason;         // of DRAIN, DOWN or FAIL; Slurm forgets it once none of these is left
  std::string reason_set_by;  // the user who did
  std::string comment;
  std::string extra;
  std::vector<std::string> features, active_features;  // as Slurm orders them
  std::vector<std::string> partitions;
  std::string address, hostname;
  std::string topology;
  std::string reservation;
  std::string gres;
  std::string version;  // of slurmd; "" until it has registered
  int64_t weight = 0;
  int64_t cpus = 0;
  int64_t memory_mib = 0;
  int64_t job_cpus = 0;           // without those that CoreSpecCount and its like keep from jobs
  int64_t job_memory_mib = 0;     // likewise MemSpecLimit
  std::optional<Time> boot_time;  // of the machine; absent until registered, and for a moment after UNDRAIN or RESUME
  std::optional<Time> slurmd_start_time;  // of the slurmd that registered last; also new after a reconfigure
  std::optional<Time> reason_changed_at;

  bool operator==(const Node&) const = default;
};

// A job, as far as somebody who looks after nodes needs it.
struct Job {
  int64_t id = 0;
  JobState state;
  std::string state_reason;  // why it is pending or failed: "Resources", "BeginTime"
  std::string name, user, partition;
  std::string nodes;  // hostlist of what it holds or held; "" while pending
  std::string admin_comment;
  bool external = false;  // Slurm starts no processes for it (external_job.h)
  std::optional<Time> submit_time;
  std::optional<Time> start_time;  // while it is pending: when Slurm expects it to begin, where it does
  std::optional<Time> end_time;
  std::optional<Time> preempt_time;    // when Slurm told it to make room for another; its grace time goes on
  std::optional<Duration> time_limit;  // absent: none

  bool operator==(const Job&) const = default;
};

// One life of slurmctld: from its start, or its last reconfigure (which starts it anew), to the next. After
// it begins, dynamic nodes that were lost with the old life are missing until their slurmd registers again.
struct Incarnation {
  std::string id;                  // differs between lives; compare only
  Tick up_since{};                 // when it began, or the earliest moment it is known to have been up
  Duration slurmd_timeout = 300s;  // SlurmdTimeout, when Slurm tells it

  bool operator==(const Incarnation&) const = default;

  // Whether a read that began at `began` may take "there is no such node" as a fact. Before this, every node
  // has had too little time to come back.
  bool AbsenceIsKnown(Tick began) const { return began >= up_since + slurmd_timeout + 60s; }
};

// When a read was sent and when its answer was complete. What it says was true at some moment in between.
struct Reading {
  Tick began{}, ended{};
};

struct Snapshot {
  uint64_t generation = 0;  // grows when nodes, jobs, incarnation or release differ from the snapshot before
  std::string release;      // of Slurm: "26.05.5"
  Incarnation incarnation;

  std::shared_ptr<const std::vector<Node>> nodes;  // sorted by name; never null
  Reading nodes_read;                              // the last read that confirmed `nodes`

  std::shared_ptr<const std::vector<Job>> jobs;  // sorted by id; null: unknown, as nobody asked for jobs
  Reading jobs_read;

  // The node of that name, or null when the list has none. Whether that means it does not exist: see
  // Incarnation.
  const Node* FindNode(std::string_view name) const;

  Duration Age(Tick now) const { return now - nodes_read.began; }
};

// Names of nodes that were added, removed or changed from `before` to `after`, sorted. Either may be null,
// which counts as empty.
std::vector<std::string> ChangedNodes(const Snapshot* before, const Snapshot* after);

}  // namespace capstan::slurm
