// Pods that a NodeSet of this name has left behind, as `kubectl delete --cascade=orphan` does, or a backup that was restored:
// the next NodeSet of that name and Controller takes them back, with their jobs. Pure.
#pragma once

#include <string>
#include <string_view>

#include "api/nodeset.h"
#include "operator/objects.h"
#include "plan/objects/effects.h"
#include "plan/plan.h"
#include "plan/world.h"

namespace capstan::op::nodeset {

// Makes the object of this uid the NodeSet's, and nobody else's: in the version that was seen, so that nobody else has it, and
// proven by a fresh read of the NodeSet, which may be going.
plan::Action MakeOwned(std::string_view verb, const api::NodeSet& set, plan::ObjectRef ref, const std::string& uid,
                       uint64_t resource_version, std::string reason);

// It has no owner, and name and labels of a worker of the NodeSet.
bool IsOrphanOf(const api::NodeSet& set, const Pod& pod);

void AdoptOrphans(const plan::World& world, const api::NodeSet& set, plan::Plan& plan);

}  // namespace capstan::op::nodeset
