#include "operator/restapi/decide.h"

#include <algorithm>

#include "api/controller.h"
#include "api/restapi.h"
#include "base/hash.h"
#include "operator/keys.h"
#include "operator/names.h"
#include "operator/objects.h"
#include "operator/reconcile.h"
#include "operator/restapi/children.h"
#include "operator/unknown_fields.h"
#include "plan/objects/effects.h"
#include "slurm/conf.h"

namespace capstan::op::restapi {
namespace {

bool WrittenBy(const json::ObjectMeta& object, std::string_view manager, std::string_view operation) {
  return std::ranges::any_of(object.managed_fields, [&](const json::ManagedField& entry) {
    return entry.manager == manager && entry.operation == operation && entry.subresource.empty();
  });
}

// One Decide at work: what it sees, and the Plan that grows.
class Deciding : Reconcile<api::RestApi> {
 public:
  Deciding(const plan::World& seen, const api::RestApi& found)
      : Reconcile(seen, found),
        key_{found.metadata.namespace_, RestApiName(found.metadata.name)},
        controller_{found.metadata.namespace_, found.spec.controller_ref.name} {}

  plan::Plan Run() {
    api::RestApiSpec& spec = object.spec;
    const kube::Key own{key_.ns, object.metadata.name};
    DropUnknownPodFields(world, own, {"spec.template.spec", &spec.pod_template.spec},
                         {{"spec.slurmrestd", &spec.slurmrestd}}, findings);
    DropUnknownServiceFields(world, own, {"spec.service.spec", &spec.service.spec}, findings);
    Want(ServiceObject(object));
    if (!RunSlurmrestd()) KeepWhatIsThere();
    Runs(world.Find<Deployment>(key_), *spec.replicas, kRestApi.app);
    if (findings.ready && *spec.replicas == 0) findings.ready->message += ", and the operator cannot reach Slurm";
    return Finish(api::RestApiStatus());
  }

 private:
  // What the Deployment is made from, when all of it is there.
  struct Ingredients {
    const api::Controller* controller = nullptr;
    PodHashes hashes;
  };

  std::optional<Ingredients> Gather() {
    const auto* controller = world.Find<api::Controller>(controller_);
    if (controller == nullptr) {
      findings.Problem("ControllerNotFound",
                       "Controller " + controller_.ToString() +
                           ", named in spec.controllerRef, does not exist; create it, or correct the name");
      return std::nullopt;
    }
    Ingredients ingredients{controller, {}};
    if (const auto& ref = controller->spec.slurm_key_ref) {
      const FoundKey slurm =
          FindKey(world, controller_.ns, &*ref, "spec.slurmKeyRef of Controller " + controller_.name);
      if (!slurm.known()) {
        // Its Controller says what is wrong with it; here one only waits.
        findings.Wait("WaitingForKey", slurm.message);
        return std::nullopt;
      }
      ingredients.hashes.slurm_key = slurm.digest;
    }
    const ConfigMap* config = Config();
    if (config == nullptr || config->data.slurm_conf.empty()) {
      findings.Wait("WaitingForConfig",
                    "Controller " + controller_.ToString() + " has not published its configuration yet");
      return std::nullopt;
    }
    ingredients.hashes.config = slurm::ConfHash(config->data.slurm_conf);
    return ingredients;
  }

  const ConfigMap* Config() const { return world.Find<ConfigMap>({controller_.ns, ConfigName(controller_.name)}); }

  // False: what runs is to stay as it is.
  bool RunSlurmrestd() {
    const auto ingredients = Gather();
    if (!ingredients) return false;
    const std::string& config = ingredients->hashes.config;
    if (world.Find<Deployment>(key_) == nullptr && !HasSettled(config, kRestApi.app)) return false;
    auto deployment = DeploymentObject(object, *ingredients->controller, ingredients->hashes, SettingsOf(world));
    if (deployment && IsLeftToFormer(*deployment, config)) return false;
    return Want(std::move(deployment));
  }

  // A Deployment that a former operator made is left as it is until something else is wanted of it than on the day of the
  // switch: applying ours would start slurmrestd anew for nothing but our own way to write it.
  bool IsLeftToFormer(const plan::Child& wanted, const std::string& config_hash) {
    const auto* present = world.Find<Deployment>(key_);
    if (present == nullptr || !WrittenBy(present->metadata, kFormerFieldManager, "Update")) return false;
    const json::OwnerReference* owner = present->metadata.ControllerOwner();
    const bool own = owner != nullptr && owner->uid == object.metadata.uid;
    if (!own || WrittenBy(present->metadata, kFieldManager, "Apply")) return false;
    const std::string digest = Sha256Hex(wanted.body);
    const std::string& noted = present->metadata.Annotation(std::string(kAnnotationTakenOver));
    if (!noted.empty()) return noted == digest;
    // What is wanted depends on the configuration, which its Controller is about to write for the first time: it first
    // takes the fields of the former operator over, and an instant later writes its own.
    const ConfigMap* config = Config();
    if (config == nullptr || !WrittenBy(config->metadata, kFieldManager, "Apply")) {
      findings.Wait("WaitingForConfig", "the Controller has not published its configuration yet");
      return true;
    }
    if (!HasSettled(config_hash, kRestApi.app)) return true;
    std::string patch =
        R"({"metadata":{"annotations":{")" + std::string(kAnnotationTakenOver) + R"(":")" + digest + R"("}}})";
    plan.Add(
        {.effect = plan::MergePatch("take over", {&kube::kDeployments, key_}, present->metadata.uid, std::move(patch)),
         .reason = "a former operator made it, and it serves as it is",
         .guards = {},
         .after = {},
         .event = {}});
    return true;
  }

  const kube::Key key_;  // of the Deployment
  const kube::Key controller_;
};

}  // namespace

plan::Plan Decide(const plan::World& world, const kube::Key& key) {
  const auto* rest_api = FindToServe<api::RestApi>(world, key);
  return rest_api == nullptr ? plan::Plan() : Deciding(world, *rest_api).Run();
}

}  // namespace capstan::op::restapi
