// The objects that a Controller turns into. All functions are given a Controller whose spec has its defaults
// (api::WithDefaults), and are pure.
#pragma once

#include <string>
#include <vector>

#include "api/controller.h"
#include "base/result.h"
#include "operator/objects.h"
#include "operator/render/json.h"
#include "operator/settings.h"
#include "plan/plan.h"

namespace capstan::op::controller {

// The ConfigMaps whose keys become files in /etc/slurm, by name, each once.
std::vector<std::string> FileConfigMaps(const api::ControllerSpec& spec);

// N-config: what slurmctld, and slurmrestd beside it, read.
plan::Child ConfigObject(const api::Controller& controller, const PublishedConfig& config);

// N-controller-internal: gives every slurmctld pod the name by which slurm.conf knows it.
Result<plan::Child> InternalService(const api::Controller& controller);

// N-controller: what clients connect to. With another port than Slurm's own in spec.service.port, Slurm's stays open
// too: every client learns it from slurm.conf. `active`: it leads to the pods that are labelled so, else to all.
Result<plan::Child> ClientService(const api::Controller& controller, bool active);

// slurm-workers-N and slurm-workers-pdb-N: names for all workers of the cluster, and the promise not to evict one that
// runs jobs.
Result<plan::Child> WorkerService(const api::Controller& controller);
plan::Child WorkerBudget(const api::Controller& controller);

// What the slurmctld pods depend on besides the Controller itself; each change replaces them. Empty: not a reason.
struct PodHashes {
  std::string slurm_key;
  std::string jwt_key;
  std::string config;
  bool sidecar = false;         // a sidecar tells slurmctld of a changed configuration, as in older releases
  std::string restart_options;  // remembered, without effect on the pods (operator/restarts.h)
};

// The claim templates that the Controller asks for: one for the state, or none. kInvalid: its spec is not JSON.
Result<render::JsonArray> ClaimTemplates(const api::ControllerSpec& spec);

// N-controller: slurmctld. `present`: the one that is there, nullptr for none; what Kubernetes lets nobody change is
// taken from it. kInvalid: high availability without a shared claim, or a template that cannot be merged.
Result<plan::Child> SlurmctldSet(const api::Controller& controller, const PodHashes& hashes, const Settings& settings,
                                 const StatefulSet* present = nullptr);

}  // namespace capstan::op::controller
