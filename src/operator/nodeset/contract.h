// What a NodeSet promises (operator/contract.h).
//
// Safety:
// - Of Kubernetes: pods called <set>-<ordinal>, their volume claims, the ConfigMap <set>-ssh-config, the Secret
//   <set>-ssh-host-keys, created and never written to again, ControllerRevisions <set>-<revision>, of which only the number
//   changes, and the NodeSet's own status and finalizer. Pods are created with the NodeSet as their controller, made its
//   own where they have no owner, patched in our labels and annotations and in conditions SlurmNodeState*, deleted by uid; never
//   forced. Nobody else's finalizer is touched, and none added to a NodeSet that is being deleted.
// - No pod is deleted, or may be evicted, and no NodeSet is let go, while a job holds its Slurm node, suspended or not.
// - At no moment two workers have one ordinal or one name in Slurm.
// - Of Slurm: nodes of this set only. IDLE is never asked for; DOWN only where the machine is out of service, or its Node object
//   gone and nothing is heard of its slurmd. A drain carries our reason. What a person has
//   drained, set DOWN or set to FAIL is never taken back, its reason is never replaced and its record never removed.
//   No DRAIN or DOWN takes a node from a job that waits for its slurmd to begin.
//   No drain or DOWN is lifted while the machine of the worker is gone, cordoned or not ready.
#pragma once

#include "operator/contract.h"

namespace capstan::op::nodeset {

extern const Contract kContract;

// Somebody other than the operator and its pods' hooks has taken the node out of service.
bool IsHeldByPerson(const slurm::Node& node);

// A worker's name in Slurm; "": it is called as its machine, and not placed on one yet.
std::string HostOf(const json::Value& pod);

// `pod` is called as the workers of the NodeSet `set` are.
bool IsWorkerName(std::string_view set, std::string_view pod);

// Two workers of one NodeSet that are one, by ordinal or by name in Slurm; nullopt: there are none.
Broken Clash(const json::Value& set, const Around& around);

}  // namespace capstan::op::nodeset
