// The pod of a Slurm worker: what it tolerates, and what it takes of its machine. Nobody watches it, as there may be thousands.
#pragma once

#include <string>

#include "bridge/objects.h"
#include "kube/resource.h"
#include "plan/question.h"

namespace capstan::bridge::node {

class WorkerPod final : public plan::Question {
 public:
  using Value = Pod;  // without its annotations
  explicit WorkerPod(kube::Key pod) : pod_(std::move(pod)) {}

  std::string id() const override { return "worker pod " + pod_.ToString(); }
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

 private:
  kube::Key pod_;
};

}  // namespace capstan::bridge::node
