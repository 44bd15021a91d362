#include "operator/later/decide.h"

#include "api/accounting.h"
#include "api/loginset.h"
#include "api/token.h"
#include "json/codec.h"
#include "operator/names.h"
#include "operator/render/conditions.h"

namespace capstan::op::later {
namespace {

void NotYet(const plan::World& world, const json::ObjectMeta& metadata, std::string message,
            api::Conditions& conditions) {
  render::Findings findings;
  findings.Problem("NotManagedYet", std::move(message));
  conditions = render::ConditionsOf(conditions, findings, metadata.generation, world.now());
}

}  // namespace

plan::Plan DecideAccounting(const plan::World& world, const kube::Key& key) {
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
    NotYet(world, accounting->metadata,
           "this version of Capstan does not run slurmdbd yet: run it yourself and set spec.external and "
           "spec.externalConfig, or remove the Accounting and the references to it",
           status.conditions);
  }
  plan::Plan plan;
  plan.status = json::Encode(status);
  return plan;
}

plan::Plan DecideLoginSet(const plan::World& world, const kube::Key& key) {
  const auto* login_set = world.Find<api::LoginSet>(key);
  if (login_set == nullptr || login_set->metadata.deleting()) return {};
  api::LoginSetStatus status = login_set->status;
  // Whoever reads the scale subresource, an autoscaler for one, is told which pods these would be.
  if (status.selector.empty()) {
    status.selector = std::string(kLabelInstance) + "=" + key.name + "," + std::string(kLabelName) + "=login";
  }
  NotYet(world, login_set->metadata,
         "this version of Capstan does not run login hosts yet: use a worker (kubectl exec) for Slurm's commands",
         status.conditions);
  plan::Plan plan;
  plan.status = json::Encode(status);
  return plan;
}

plan::Plan DecideToken(const plan::World& world, const kube::Key& key) {
  const auto* token = world.Find<api::Token>(key);
  if (token == nullptr || token->metadata.deleting()) return {};
  api::TokenStatus status = token->status;
  NotYet(world, token->metadata,
         "this version of Capstan does not issue tokens yet: use `scontrol token` in a slurmctld or worker pod",
         status.conditions);
  plan::Plan plan;
  plan.status = json::Encode(status);
  return plan;
}

}  // namespace capstan::op::later
