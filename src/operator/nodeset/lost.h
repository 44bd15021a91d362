// Workers that went with their machine, while Slurm waits for them: their jobs are told to begin anew at once.
//
// slurmctld takes a node that says nothing for lost after SlurmdTimeout, five minutes. Kubernetes knows it where somebody has
// said so: the machine's Node object was deleted, or bears the taint out-of-service, with which a person promises that it is
// off. A machine that is merely not ready proves nothing: its slurmd may run jobs that go well.
#pragma once

#include <vector>

#include "api/nodeset.h"
#include "operator/nodeset/workers.h"
#include "plan/plan.h"
#include "plan/world.h"

namespace capstan::op::nodeset {

// DOWN by us, for a worker that was lost with its machine.
bool IsLostWithMachine(const slurm::Node& node);

// Adds what sets records of the set to DOWN on which jobs run, whose machine is gone and behind whose name no pod is placed:
// proven by fresh reads of both. What somebody else has drained is left alone.
void GiveUpLost(const plan::World& world, const api::NodeSet& set, const plan::SlurmView& slurm,
                const std::vector<Worker>& workers, plan::Plan& plan);

}  // namespace capstan::op::nodeset
