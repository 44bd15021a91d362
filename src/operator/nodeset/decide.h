// One NodeSet: which worker pods to create, replace and remove, what Slurm is told about them, what the user reads.
//
// Scale-in always goes: cordon (the scale-in annotation), drain, wait until Slurm says drained, prove it with a fresh
// read, delete the pod, remove the record. Whatever interrupts it, the next look goes on from what is seen. A worker
// that is wanted again before it is gone gets its drain lifted, and its jobs never notice.
//
// Kubernetes work never waits for Slurm: pods are created and repaired, and the status is written, while slurmrestd is
// down. Only taking away a worker that runs does.
//
// contract.h says from the outside what this may do; the simulator holds it to that.
#pragma once

#include "kube/resource.h"
#include "plan/plan.h"
#include "plan/world.h"

namespace capstan::op::nodeset {

plan::Plan Decide(const plan::World& world, const kube::Key& key);

}  // namespace capstan::op::nodeset
