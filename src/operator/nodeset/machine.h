// The Kubernetes node of a worker: what must be seen of it before jobs may begin there again, and proofs about it.
//
// A drain of ours ends, and a DOWN, because something is seen: the Kubernetes node is there, schedulable and ready, and its
// worker is ready and answers Slurm. It never ends because something is absent: a deleted Kubernetes node is not cordoned.
#pragma once

#include <memory>
#include <string>

#include "operator/nodeset/workers.h"
#include "operator/objects.h"
#include "plan/action.h"

namespace capstan::op::nodeset {

// It has the taint node.kubernetes.io/out-of-service, by which a person promises that the machine is off.
bool IsOutOfService(const Node& machine);

bool IsReady(const Node& machine);

// What keeps work from the worker's machine, in words: "Kubernetes node k1 is not there"; "": nothing.
std::string MachineTrouble(const Worker& worker);

// What is missing before jobs may begin on the worker again, its machine's trouble first; "": nothing.
// REQUIRES: there is a record.
std::string WhyNotInService(const Worker& worker);

// The API server says, asked just now: the machine is gone or out of service.
std::shared_ptr<const plan::Guard> MachineIsGone(std::string machine);

// The API server says, asked just now: the machine is there, and out of service.
std::shared_ptr<const plan::Guard> MachineIsOutOfService(std::string machine);

// The API server says, asked just now: the machine is there, schedulable, ready and not out of service.
std::shared_ptr<const plan::Guard> MachineTakesWork(std::string machine);

}  // namespace capstan::op::nodeset
