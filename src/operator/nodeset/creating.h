// Making the workers that are missing: their claims, their pods, and room for their records in Slurm. Pure.
//
// Creation is paced. One Plan makes a bounded number; and while Slurm is heard, only so many are on a machine that it does not
// know yet, since slurmctld takes registrations one by one, each of which makes it rebuild what it knows of all nodes. One that
// has failed, or that does not register for two minutes, holds up no other; and while Slurm is not heard none is waited for. Slurm
// itself is waited for, for half a minute, until a new process has heard it.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/nodeset/look.h"
#include "operator/nodeset/scale.h"
#include "operator/nodeset/worker_pod.h"

namespace capstan::op::nodeset {

inline constexpr int kMostNewWorkers = 128;  // in one Plan, besides those whose creation has failed before
inline constexpr int kMostComing = 256;      // that have a machine, and are to register

struct Creation {
  plan::Plan wants;
  std::set<std::string, std::less<>> hosts;  // names in Slurm of those that are made
  std::vector<std::string> waiting;          // for what others are made later; no sentences
};

// `places` are to be filled from `workers`.
Creation CreateMissing(const Look& look, const Scale& scale, WorkerTemplate& workers);

}  // namespace capstan::op::nodeset
