#include "operator/accounting/decide.h"

#include "api/accounting.h"
#include "operator/names.h"
#include "operator/reconcile.h"

namespace capstan::op::accounting {

plan::Plan Decide(const plan::World& world, const kube::Key& key) {
  const auto* accounting = FindToServe<api::Accounting>(world, key);
  if (accounting == nullptr) return {};
  Reconcile reconcile(world, *accounting);
  const api::AccountingSpec& spec = reconcile.object.spec;
  if (spec.external.value_or(false) && spec.external_config) {
    const int port = spec.external_config->port;
    reconcile.findings.Ready("slurmdbd runs outside of Kubernetes, at " + spec.external_config->host + ":" +
                             std::to_string(port == 0 ? kSlurmdbdPort : port));
  } else {
    reconcile.findings.Problem(
        "NotManagedYet",
        "this version of Capstan does not run slurmdbd yet: run it yourself and set spec.external and "
        "spec.externalConfig, or remove the Accounting and the references to it");
  }
  return reconcile.Finish(accounting->status);
}

}  // namespace capstan::op::accounting
