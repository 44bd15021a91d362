// Who may be in a root on a volume: the pods that mount its claim.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kube/resource.h"
#include "plan/question.h"

namespace capstan::op::sharedroot {

// The pods of a claim that may run, whoever made them, as the API server lists them; without those of the Jobs of `root`. `after` names the
// switch that must have been made before: a pod that is created later has never had an older root.
struct PodsWithClaim final : plan::Question {
  using Value = std::vector<std::string>;  // "name/uid", in order
  PodsWithClaim(kube::Key claim, std::string root, std::string after)
      : claim(std::move(claim)), root(std::move(root)), after(std::move(after)) {}
  std::string id() const override { return "pods with claim " + claim.ToString() + " after switch " + after; }
  Duration limit() const override { return 60s; }
  // kInvalid: there are more than a Job can be told of.
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  kube::Key claim;
  std::string root;  // its name
  std::string after;
};

}  // namespace capstan::op::sharedroot
