// The objects that an Accounting turns into. Pure functions, given an Accounting whose spec has its defaults.
#pragma once

#include <string>

#include "api/accounting.h"
#include "base/result.h"
#include "operator/objects.h"
#include "operator/settings.h"
#include "plan/plan.h"

namespace capstan::op::accounting {

// N-accounting: where slurmctld, and people's tools, reach slurmdbd.
Result<plan::Child> ServiceObject(const api::Accounting& accounting);

// What the pod depends on besides the Accounting; each change replaces it.
struct PodHashes {
  std::string slurm_key, jwt_key;
  std::string config;
};

// N-accounting: slurmdbd. `present`: the one that is there, nullptr for none; what Kubernetes lets nobody change is taken
// from it. kInvalid: a template that cannot be merged.
Result<plan::Child> SlurmdbdSet(const api::Accounting& accounting, const PodHashes& hashes, const Settings& settings,
                                const StatefulSet* present);

}  // namespace capstan::op::accounting
