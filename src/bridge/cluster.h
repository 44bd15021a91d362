// The one key of the Slurm cluster that the bridge talks to: keeps the connection, and once an hour, also soon after the start,
// looks for jobs of ours whose pods went while no process of ours was there to see it. Ends external nodes that nobody wants.
//
// Its object is the namespace kube-system, whose uid stands for the Kubernetes cluster in our marks.
#pragma once

#include "plan/reconciler.h"

namespace capstan::bridge {

plan::Plan DecideCluster(const plan::World& world, const kube::Key& key);

}  // namespace capstan::bridge
