#include "operator/loginset/decide.h"

#include "api/loginset.h"
#include "json/codec.h"
#include "operator/names.h"
#include "operator/render/conditions.h"

namespace capstan::op::loginset {

plan::Plan Decide(const plan::World& world, const kube::Key& key) {
  const auto* login_set = world.Find<api::LoginSet>(key);
  if (login_set == nullptr || login_set->metadata.deleting()) return {};
  api::LoginSetStatus status = login_set->status;
  // Whoever reads the scale subresource, an autoscaler for one, is told which pods these would be.
  if (status.selector.empty()) {
    status.selector = std::string(kLabelInstance) + "=" + key.name + "," + std::string(kLabelName) + "=login";
  }
  status.conditions = render::NotManagedYet(
      world, login_set->metadata, status.conditions,
      "this version of Capstan does not run login hosts yet: use a worker (kubectl exec) for Slurm's commands");
  plan::Plan plan;
  plan.status = json::Encode(status);
  return plan;
}

}  // namespace capstan::op::loginset
