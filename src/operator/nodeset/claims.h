// The volume claims of a NodeSet's workers once their worker is gone. They hold people's data: without
// spec.persistentVolumeClaimRetentionPolicy nobody removes one. The policy speaks of two moments only: a worker that went
// in a scale-in and is not wanted back, and the end of the NodeSet after its last worker. A worker that is renewed, evicted
// or lost keeps its claims.
#pragma once

#include <string>
#include <vector>

#include "api/nodeset.h"
#include "operator/nodeset/workers.h"
#include "plan/action.h"
#include "plan/question.h"

namespace capstan::op::nodeset {

struct SeenClaim {
  std::string name, uid;
  uint64_t resource_version = 0;
  bool deleting = false;
  bool owned = false;  // by whomever
};

// The claims that bear the labels of the NodeSet's workers.
struct Claims final : plan::Question {
  using Value = std::vector<SeenClaim>;
  Claims(std::string ns, std::string set) : ns(std::move(ns)), set(std::move(set)) {}
  std::string id() const override { return "claims of NodeSet " + ns + "/" + set; }
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  std::string ns, set;
};

bool AreRemovedInScaleIn(const api::NodeSetSpec& spec);
bool AreRemovedAtTheEnd(const api::NodeSetSpec& spec);

// Those of `claims` that are named as claims of `templates` for an ordinal that none of `workers` has, and are not being
// deleted; nor those of `asleep`, ordinals of Slurm nodes that stay without a pod (scale.h). Each is removed as it was seen, proven by fresh reads: the pod of that ordinal is not there, and the NodeSet
// asks for the same still. Those of workers of DaemonSet mode, named after machines that may come back, go with the NodeSet
// only, once no worker of it is left.
std::vector<plan::Action> RemovalsOfClaims(const api::NodeSet& set, const std::vector<SeenClaim>& claims,
                                           const std::vector<Worker>& workers,
                                           const std::map<int, std::string>& asleep = {});

// The same claims become the NodeSet's, so that the garbage collector removes them once it and their pods are gone: for one
// that goes before its workers, which `guards` prove. Those that have an owner are left alone.
std::vector<plan::Action> HandOverClaims(const api::NodeSet& set, const std::vector<SeenClaim>& claims,
                                         const plan::Guards& guards);

// The API server says, asked just now: the claim is not being deleted. One that is not there yet will not be.
std::shared_ptr<const plan::Guard> ClaimStays(kube::Key claim);

}  // namespace capstan::op::nodeset
