// Workers that went with their machine, while Slurm waits for them: their jobs are told to begin anew at once.
//
// slurmctld takes a node that says nothing for lost after SlurmdTimeout, five minutes. It is known earlier:
// - at once, where the machine bears the taint out-of-service, with which a person promises that it is off;
// - where its Node object was deleted and slurmctld has not heard from the node for a minute. Either alone proves nothing: a
//   machine that is cut off from Kubernetes, whose Node object and pods were deleted by whoever took it for lost, may run its
//   jobs, and DOWN would end them.
// A machine that is merely not ready proves nothing either.
#pragma once

#include <vector>

#include "api/nodeset.h"
#include "operator/nodeset/workers.h"
#include "plan/plan.h"
#include "plan/world.h"

namespace capstan::op::nodeset {

// DOWN by us, for a worker that was lost with its machine.
bool IsLostWithMachine(const slurm::Node& node);

// Adds what sets records of the set to DOWN on which jobs run, whose machine is known to be lost and behind whose name no pod
// is placed: proven by fresh reads. What somebody else has drained is left alone.
void GiveUpLost(const plan::World& world, const api::NodeSet& set, const plan::SlurmView& slurm,
                const std::vector<Worker>& workers, plan::Plan& plan);

}  // namespace capstan::op::nodeset
