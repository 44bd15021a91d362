// The states of a worker, one after the other, as docs/workers.md draws them. Read off what is seen on both sides, never
// stored. Pure.
#pragma once

#include <string_view>

#include "operator/nodeset/workers.h"

namespace capstan::op::nodeset {

enum class Phase : uint8_t {
  kCreating,     // its pod waits for a node, or its containers are starting
  kRegistering,  // slurmd runs, and Slurm does not know it, or not as one that is up
  kReady,        // Slurm gives it jobs. Also while Slurm is not heard
  kCordoned,     // stays, and takes no new jobs: somebody wants it out of service. Jobs on it end in peace
  kDraining,     // goes: no new jobs, and its own end in peace
  kDrained,      // goes, and no job is left, as far as was seen: a proof, and its pod is deleted
  kDeleting,     // its pod is terminating or has ended
  kGone,         // there is no pod
};

std::string_view Name(Phase phase);

// `worker`: nullptr when no pod is there.
Phase PhaseOf(const Worker* worker);

}  // namespace capstan::op::nodeset
