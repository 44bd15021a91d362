#include "operator/references.h"

#include "operator/keys.h"

namespace capstan::op {

std::optional<FoundCluster> FindCluster(ReconcileBase& reconcile, const kube::Key& controller) {
  FoundCluster found{reconcile.world.Find<api::Controller>(controller), ""};
  if (found.controller == nullptr) {
    reconcile.findings.Problem("ControllerNotFound",
                               "Controller " + controller.ToString() +
                                   ", named in spec.controllerRef, does not exist; create it, or correct the name");
    return std::nullopt;
  }
  const auto& ref = found.controller->spec.slurm_key_ref;
  if (!ref) return found;
  const FoundKey key =
      FindKey(reconcile.world, controller.ns, &*ref, "spec.slurmKeyRef of Controller " + controller.name);
  if (!key.known()) {
    // Its Controller says what is wrong with it; here one only waits.
    reconcile.findings.Wait("WaitingForKey", key.message);
    return std::nullopt;
  }
  found.slurm_key = key.digest;
  return found;
}

}  // namespace capstan::op
