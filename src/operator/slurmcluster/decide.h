// One SlurmCluster: the objects that it is made of (parts.h), which their own keys run. It writes no pods and no claims.
//
// - Paused: nothing is written but its own status and finalizer.
// - Maintenance: Slurm has a reservation of all its nodes (maintenance.h), and no job starts.
// - Stopped: NodeSets and the LoginSet carry an annotation that stands for 0 replicas, so that the numbers of autoscalers survive.
// - Deleted under deletionPolicy Drain: NodeSets and the LoginSet go first, by their own rules, then all the rest. Where its parts
//   are to live on (kubectl delete --cascade=orphan) they are left alone.
#pragma once

#include "kube/resource.h"
#include "plan/plan.h"
#include "plan/world.h"

namespace capstan::op::slurmcluster {

plan::Plan Decide(const plan::World& world, const kube::Key& key);

}  // namespace capstan::op::slurmcluster
