// What Slurm says of a worker, on its pod: conditions `SlurmNodeState<State>`, for whoever watches pods and does not ask
// Slurm (health checkers, autoscalers). Of the base states one stands there, of the flags any number; each is "True" and
// has the node's reason as its message. A state that does not hold has no condition. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "operator/nodeset/workers.h"
#include "plan/action.h"

namespace capstan::op::nodeset {

// The types that stand on the pod of a node in this state.
std::set<std::string> NodeStateConditions(const slurm::NodeState& state);

// The write after which the pod's conditions are as Slurm says; nullopt: they are, or nobody can tell (kUnknown). A worker
// without a record has none.
std::optional<plan::Action> TellNodeState(const Worker& worker);

}  // namespace capstan::op::nodeset
