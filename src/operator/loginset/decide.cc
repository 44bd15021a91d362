#include "operator/loginset/decide.h"

#include "api/loginset.h"
#include "operator/names.h"
#include "operator/reconcile.h"

namespace capstan::op::loginset {

plan::Plan Decide(const plan::World& world, const kube::Key& key) {
  const auto* login_set = FindToServe<api::LoginSet>(world, key);
  if (login_set == nullptr) return {};
  Reconcile reconcile(world, *login_set);
  reconcile.findings.Problem(
      "NotManagedYet",
      "this version of Capstan does not run login hosts yet: use a worker (kubectl exec) for Slurm's commands");
  api::LoginSetStatus status = login_set->status;
  // Whoever reads the scale subresource, an autoscaler for one, is told which pods these would be.
  if (status.selector.empty())
    status.selector = std::string(kLabelInstance) + "=" + key.name + "," + std::string(kLabelName) + "=login";
  return reconcile.Finish(std::move(status));
}

}  // namespace capstan::op::loginset
