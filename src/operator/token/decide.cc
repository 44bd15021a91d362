#include "operator/token/decide.h"

#include "api/token.h"
#include "json/codec.h"
#include "operator/render/conditions.h"

namespace capstan::op::token {

plan::Plan Decide(const plan::World& world, const kube::Key& key) {
  const auto* token = world.Find<api::Token>(key);
  if (token == nullptr || token->metadata.deleting()) return {};
  api::TokenStatus status = token->status;
  status.conditions = render::NotManagedYet(
      world, token->metadata, status.conditions,
      "this version of Capstan does not issue tokens yet: use `scontrol token` in a slurmctld or worker pod");
  plan::Plan plan;
  plan.status = json::Encode(status);
  return plan;
}

}  // namespace capstan::op::token
