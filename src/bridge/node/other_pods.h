// What is on the machines of Slurm workers besides them: pods that Slurm knows nothing of, and that use what it gives out to jobs. Nobody
// watches them, as there may be very many; one question is for all machines.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "bridge/objects.h"
#include "kube/quantity.h"
#include "kube/resource.h"
#include "plan/question.h"

namespace capstan::bridge::node {

// A pod on a machine that has not ended, and that no job of Slurm stands for: it bears no job's id. Workers are among them.
struct OtherPod {
  kube::Key key;
  kube::Quantity cpu, memory;  // requested
  int64_t gpus = 0;
  bool of_the_machine = false;  // a DaemonSet's, the kubelet's own, or a slurmd's
};

class OtherPods final : public plan::Question {
 public:
  using Value = std::map<std::string, std::vector<OtherPod>>;  // by Kubernetes node

  std::string id() const override { return "pods that no job stands for"; }
  Duration limit() const override { return 2min; }
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;
};

// Of one machine, what is there besides its workers.
struct Besides {
  kube::Quantity cpu, memory;
  int64_t gpus = 0;
  size_t foreign = 0;                // that are not of the machine
  std::vector<std::string> largest;  // "ns/name" of a few of these, those with the most CPUs first
};
Besides BesidesWorkers(const OtherPods::Value& pods, const std::string& node, std::span<const kube::Key> workers);

}  // namespace capstan::bridge::node
