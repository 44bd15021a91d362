// What only a NodeSet's Decide asks.
#pragma once

#include <string>
#include <vector>

#include "plan/question.h"

namespace capstan::op::nodeset {

// Those of a Kubernetes node's annotations that say what Slurm is to know of its worker, and nobody tells Slurm. Absent:
// there is no such node.
struct NodeAnnotations final : plan::Question {
  using Value = std::vector<std::string>;
  explicit NodeAnnotations(std::string node) : node(std::move(node)) {}
  std::string id() const override { return "annotations of node " + node; }
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  std::string node;
};

}  // namespace capstan::op::nodeset
