// What only a Controller's Decide asks.
#pragma once

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

}  // namespace capstan::op::controller
