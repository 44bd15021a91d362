// What a NodeSet promises, from the outside: everything its key may ever send, what must never happen, and what done
// means for the user. Written against the API alone; it shares no code with Decide, which the simulator holds to it.
//
// Safety:
// - Of Kubernetes: pods called <set>-<ordinal>, their volume claims, and the NodeSet's own status. Pods are created
// with
//   the NodeSet as their controller, patched in the labels and annotations named below, deleted by uid; never forced.
// - No pod is deleted while a job runs on its Slurm node.
// - Of Slurm: nodes of this set only. IDLE and DOWN are never asked for. A drain carries our reason. What a person has
//   drained or set DOWN is never taken back, its reason is never replaced and its record never removed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/nodeset.h"
#include "operator/controller/contract.h"
#include "slurm/snapshot.h"

namespace capstan::op::nodeset {

using controller::Call;

// Why the key of `set` must not send `call`; nullopt: it may. `busy`: jobs run on the Slurm node of the pod that is
// named.
std::optional<std::string> Breach(const api::NodeSet& set, const Call& call, bool busy);

// One write as it reaches slurmrestd.
struct SlurmCall {
  std::string verb;  // "update", "delete"
  std::string node;
  std::string state;  // "DRAIN", "UNDRAIN", "RESUME", ...; "": unchanged
  std::string reason;
};

// The same for a write to Slurm. `before` is the node's record when the call was made; nullopt: there was none.
std::optional<std::string> Breach(const SlurmCall& call, const std::optional<slurm::Node>& before);

// Somebody other than the operator and its pods' hooks has taken the node out of service.
bool IsHeldByPerson(const slurm::Node& node);

// Whether everything is as the user wants it; a sentence about the first thing that is not. Given the NodeSet and all
// pods of its namespace as JSON, and all of Slurm's records.
std::optional<std::string> Unmatched(const std::string& set, const std::vector<std::string>& pods,
                                     const std::vector<slurm::Node>& nodes);

}  // namespace capstan::op::nodeset
