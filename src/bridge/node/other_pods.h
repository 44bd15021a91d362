// What is on the machine of a Slurm worker besides it: pods that Slurm knows nothing of, and that use what it gives out to jobs. Nobody
// watches them.
#pragma once

#include <string>
#include <vector>

#include "bridge/objects.h"
#include "kube/quantity.h"
#include "kube/resource.h"
#include "plan/question.h"

namespace capstan::bridge::node {

class OtherPods final : public plan::Question {
 public:
  // Of pods that have not ended, and are neither bridged nor workers.
  struct Value {
    kube::Quantity cpu, memory;  // requested by all of them
    int64_t gpus = 0;
    // Those that are neither a DaemonSet's nor the kubelet's own: how many, and of a few "ns/name", those with the most CPUs first.
    size_t foreign = 0;
    std::vector<std::string> largest;
  };
  // `workers`: pods whose slurmd is on the machine.
  OtherPods(std::string node, std::vector<kube::Key> workers) : node_(std::move(node)), workers_(std::move(workers)) {}

  std::string id() const override;
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

 private:
  std::string node_;
  std::vector<kube::Key> workers_;
};

}  // namespace capstan::bridge::node
