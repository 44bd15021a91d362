// When the last job on a worker ends, on its pod: the annotation `nodeset.slinky.slurm.net/pod-deadline` of the Slinky projects,
// for whoever chooses among workers or waits for one. Slurm's jobs, which are many, are read for it only while somebody may
// look: something else than a person scales the NodeSet, or a Kubernetes node is cordoned. Else the annotation is taken away. (A
// scale-in reads the jobs itself, when it has to choose among busy workers.) Pure.
#pragma once

#include <vector>

#include "api/nodeset.h"
#include "operator/nodeset/workers.h"
#include "plan/plan.h"
#include "plan/world.h"

namespace capstan::op::nodeset {

// An autoscaler has written spec.replicas: something else than kubectl has, through the scale subresource.
bool IsAutoscaled(const api::NodeSet& set);

// Asks for the jobs while they are wanted; adds the writes after which the annotations say what Slurm does. A job without a
// limit ends with the year 9999.
void TellDeadlines(const api::NodeSet& set, const std::vector<Worker>& workers, const plan::SlurmView& slurm,
                   plan::Plan& plan);

}  // namespace capstan::op::nodeset
