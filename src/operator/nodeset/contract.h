// What a NodeSet promises, from the outside: everything its key may ever send, what must never happen, and what done
// means for the user. Written against the API alone; it shares no code with Decide, which the simulator holds to it.
//
// Safety:
// - Of Kubernetes: pods called <set>-<ordinal>, their volume claims, the ConfigMap <set>-ssh-config, and the NodeSet's
//   own status and finalizer. Pods are created with the NodeSet as their controller, patched in a label and an
//   annotation, deleted by uid; never forced. Nobody else's finalizer is touched, and none added to a NodeSet that is
//   being deleted.
// - No pod is deleted, or may be evicted, and no NodeSet is let go, while a job holds its Slurm node, suspended or not.
// - At no moment two workers have one ordinal or one name in Slurm.
// - Of Slurm: nodes of this set only. IDLE and DOWN are never asked for. A drain carries our reason. What a person has
//   drained, set DOWN or set to FAIL is never taken back, its reason is never replaced and its record never removed.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/nodeset.h"
#include "operator/controller/contract.h"
#include "slurm/snapshot.h"

namespace capstan::op::nodeset {

using controller::Call;

// Why the key of `set`, which is as it was before, must not send `call`; nullopt: it may. `busy`: jobs hold the Slurm
// node of the pod that is named, or, when the NodeSet is, on any of its workers, and nobody has asked for their end.
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

// What there is around a NodeSet at one moment.
struct Surroundings {
  std::vector<std::string> pods;  // of its namespace, as JSON
  std::vector<slurm::Node> records;
  std::set<std::string> cordoned;  // Kubernetes nodes
};

// Whether everything is as the user wants it; a sentence about the first thing that is not. Given the NodeSet as JSON.
std::optional<std::string> Unmatched(const std::string& set, const Surroundings& around);

// What is left of a NodeSet that was deleted with its workers; nullopt: nothing but what people hold.
std::optional<std::string> Remains(const std::string& set, const Surroundings& around);

// Two workers that are one, by ordinal or by name in Slurm; nullopt: there are none.
std::optional<std::string> Clash(const std::string& set, const Surroundings& around);

}  // namespace capstan::op::nodeset
