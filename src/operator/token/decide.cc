#include "operator/token/decide.h"

#include "api/token.h"
#include "operator/reconcile.h"

namespace capstan::op::token {

plan::Plan Decide(const plan::World& world, const kube::Key& key) {
  const auto* token = FindToServe<api::Token>(world, key);
  if (token == nullptr) return {};
  Reconcile reconcile(world, *token);
  reconcile.findings.Problem(
      "NotManagedYet",
      "this version of Capstan does not issue tokens yet: use `scontrol token` in a slurmctld or worker pod");
  return reconcile.Finish(token->status);
}

}  // namespace capstan::op::token
