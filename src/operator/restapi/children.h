// The objects that a RestApi turns into. Pure functions, given resources whose specs have their defaults.
#pragma once

#include <string>

#include "api/controller.h"
#include "api/restapi.h"
#include "base/result.h"
#include "operator/settings.h"
#include "plan/plan.h"

namespace capstan::op::restapi {

// N-restapi: where clients, Capstan among them, reach slurmrestd.
Result<plan::Child> ServiceObject(const api::RestApi& rest_api);

// What the pods depend on besides the two resources; each change replaces them.
struct PodHashes {
  std::string slurm_key;
  std::string config;
  std::string restart_options;  // remembered, without effect on the pods (operator/restarts.h)
};

// N-restapi: slurmrestd. kInvalid: a template that cannot be merged.
Result<plan::Child> DeploymentObject(const api::RestApi& rest_api, const api::Controller& controller,
                                     const PodHashes& hashes, const Settings& settings);

}  // namespace capstan::op::restapi
