// Pods that a NodeSet of this name has left behind, as `kubectl delete --cascade=orphan` does, or a backup that was restored:
// the next NodeSet of that name and Controller takes them back, with their jobs. Pure.
#pragma once

#include <vector>

#include "api/nodeset.h"
#include "operator/objects.h"
#include "plan/plan.h"
#include "plan/world.h"

namespace capstan::op::nodeset {

// It has no owner, and name and labels of a worker of the NodeSet.
bool IsOrphanOf(const api::NodeSet& set, const Pod& pod);

// Makes each of them the NodeSet's, in the version that was seen, so that nobody else has it, and proven by a fresh read of
// the NodeSet: one that is being deleted may have let them go just now.
void AdoptOrphans(const plan::World& world, const api::NodeSet& set, plan::Plan& plan);

}  // namespace capstan::op::nodeset
