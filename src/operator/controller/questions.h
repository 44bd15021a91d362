// What only a Controller's Decide asks.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kube/resource.h"
#include "plan/question.h"

namespace capstan::op::controller {

// The access modes of a volume claim.
struct ClaimModes final : plan::Question {
  using Value = std::vector<std::string>;
  explicit ClaimModes(kube::Key key) : key(std::move(key)) {}
  std::string id() const override { return "claim modes " + key.ToString(); }
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  kube::Key key;
};

// The host name of the slurmctld in charge: the first that responds. Absent: none does.
struct InCharge final : plan::Question {
  using Value = std::string;
  explicit InCharge(std::string cluster) : cluster(std::move(cluster)) {}
  std::string id() const override { return "slurmctld in charge of " + cluster; }
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  std::string cluster;  // "ns/controller"
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

// Which configuration is live, as the container of slurmctld says (entry/reconfigurer.h). Absent: nobody listens there, as
// in a pod whose image has no capstan-entry.
struct LiveConfiguration final : plan::Question {
  using Files = std::map<std::string, std::string>;  // name: SHA-256 in hex
  struct Value {
    Files live;
    std::string since;   // RFC 3339
    Files refused = {};  // what is mounted instead, if it was refused
    std::string message = {};
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
