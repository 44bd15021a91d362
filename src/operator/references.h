// What several kinds need of the cluster that they belong to.
#pragma once

#include <optional>
#include <string>

#include "api/controller.h"
#include "operator/reconcile.h"

namespace capstan::op {

struct FoundCluster {
  const api::Controller* controller = nullptr;
  std::string slurm_key;  // its digest; "" when the Controller names none
};

// The Controller that spec.controllerRef names, and its key. nullopt: one of them is not there; the findings say which.
std::optional<FoundCluster> FindCluster(ReconcileBase& reconcile, const kube::Key& controller);

}  // namespace capstan::op
