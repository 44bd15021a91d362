// One Controller: slurmctld with its Services, configuration and keys; and for all of the cluster's kinds, the workers'
// Service and disruption budget, and the way to Slurm.
//
// It is the only writer of all of these. What it cannot know yet (a Secret, a ConfigMap of the user's) it asks for, and
// leaves everything as it is meanwhile: slurmctld is neither started with half a configuration nor taken away because a
// question is open. A configuration that Slurm would refuse is not published; the last good one stays, and the Degraded
// condition says why.
//
// Reads, besides its own object and children: NodeSets and RestApis by the index "controller" ("ns/name"), Accounting
// by name. contract.h says from the outside what this may do.
#pragma once

#include "kube/resource.h"
#include "plan/plan.h"
#include "plan/world.h"

namespace capstan::op::controller {

plan::Plan Decide(const plan::World& world, const kube::Key& key);

}  // namespace capstan::op::controller
