// What only a Controller's Decide asks.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "kube/resource.h"
#include "plan/question.h"
#include "slurm/source.h"

namespace capstan::op::controller {

// Which of several slurmctld is in charge: the one that says so itself, at /readyz. When none does, a pod that stands by
// tells who wrote the state last (entry/heartbeat.h).
struct InCharge final : plan::Question {
  struct Candidate {
    std::string pod;
    std::string address;  // "": it has none yet
  };
  struct Value {
    std::string pod;  // "": nobody who answers
    std::optional<int> writer =
        {};  // without a pod: whose heartbeat is at most ten seconds old, in the order of SlurmctldHost
    friend bool operator==(const Value&, const Value&) = default;
  };
  InCharge(std::string cluster, std::vector<Candidate> candidates)
      : cluster(std::move(cluster)), candidates(std::move(candidates)) {}
  std::string id() const override;
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  // What the container of one that stands by answers (entry/reconfigurer.h). nullopt: nobody has written lately.
  static std::optional<int> WriterIn(std::string_view json);

  std::string cluster;  // "ns/controller"
  std::vector<Candidate> candidates;
};

// How full slurmctld's queue of messages for slurmdbd is.
struct AccountingQueueFill final : plan::Question {
  struct Value {
    int tenths = 0;        // full ones; 10: it is full
    int64_t capacity = 0;  // messages
  };
  explicit AccountingQueueFill(std::string cluster) : cluster(std::move(cluster)) {}
  std::string id() const override { return "accounting queue of " + cluster; }
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  std::string cluster;  // "ns/controller"
};

// What Slurm has of these partitions, and which jobs name them.
struct PartitionsInUse final : plan::Question {
  // More jobs of a cluster than these are not read: 10,000 are 82 MB, ten seconds and 2.7 GB of slurmrestd's memory.
  static constexpr size_t kMostJobs = 10'000;
  using Value = slurm::PartitionUse;  // of these partitions alone
  PartitionsInUse(std::string cluster, std::vector<std::string> names)
      : cluster(std::move(cluster)), names(std::move(names)) {}
  std::string id() const override { return "use of partitions of " + cluster + ": " + Join(names, ","); }
  Duration limit() const override { return 60s; }
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  std::string cluster;             // "ns/controller"
  std::vector<std::string> names;  // sorted
};

// Which nodes slurmctld has left out of what its files say: those that they name, and that registered after it had read them.
struct UnreadNodes final : plan::Question {
  struct Value {
    std::vector<std::string> nodes;  // sorted
    std::string life;                // of slurmctld (slurm::Incarnation)
  };
  UnreadNodes(std::string cluster, std::vector<std::string> named)
      : cluster(std::move(cluster)), named(std::move(named)) {}
  std::string id() const override;
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  // Pure: of what Slurm's nodes say. kInvalid: the hostlists are more than can be compared.
  static Result<Value> In(const slurm::Snapshot& snapshot, const std::vector<std::string>& named);

  std::string cluster;             // "ns/controller"
  std::vector<std::string> named;  // hostlists (slurm/named_nodes.h)
};

// Which configuration is live, as the container of slurmctld says (entry/reconfigurer.h). Absent: nobody listens there, as
// in a pod whose image has no capstan-entry.
struct LiveConfiguration final : plan::Question {
  using Files = std::map<std::string, std::string>;  // name: SHA-256 in hex
  struct Value {
    Files live;
    std::string since;   // RFC 3339
    Files refused = {};  // what is mounted instead, if it was refused
    std::string message = {};
    bool runs = true;  // slurmctld; nothing is live while it does not. Images before this release do not say so
  };
  LiveConfiguration(kube::Key pod, std::string address) : pod(std::move(pod)), address(std::move(address)) {}
  std::string id() const override { return "live configuration of " + pod.ToString() + " at " + address; }
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  // kInvalid: it is not an answer.
  static Result<Value> Parse(std::string_view json);

  kube::Key pod;
  std::string address;  // of the pod
};

}  // namespace capstan::op::controller
