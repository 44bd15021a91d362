#include "operator/accounting/decide.h"

#include "api/accounting.h"
#include "json/codec.h"
#include "operator/names.h"
#include "operator/render/conditions.h"

namespace capstan::op::accounting {

plan::Plan Decide(const plan::World& world, const kube::Key& key) {
  const auto* accounting = world.Find<api::Accounting>(key);
  if (accounting == nullptr || accounting->metadata.deleting()) return {};
  api::AccountingStatus status = accounting->status;
  if (accounting->spec.external.value_or(false) && accounting->spec.external_config) {
    const int port = accounting->spec.external_config->port;
    render::Findings findings;
    findings.Ready("slurmdbd runs outside of Kubernetes, at " + accounting->spec.external_config->host + ":" +
                   std::to_string(port == 0 ? kSlurmdbdPort : port));
    status.conditions = render::ConditionsOf(status.conditions, findings, accounting->metadata.generation, world.now());
  } else {
    status.conditions = render::NotManagedYet(
        world, accounting->metadata, status.conditions,
        "this version of Capstan does not run slurmdbd yet: run it yourself and set spec.external and "
        "spec.externalConfig, or remove the Accounting and the references to it");
  }
  plan::Plan plan;
  plan.status = json::Encode(status);
  return plan;
}

}  // namespace capstan::op::accounting
