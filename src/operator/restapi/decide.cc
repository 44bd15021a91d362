#include "operator/restapi/decide.h"

#include <algorithm>

#include "api/controller.h"
#include "api/restapi.h"
#include "base/hash.h"
#include "json/codec.h"
#include "operator/controller/keys.h"
#include "operator/names.h"
#include "operator/objects.h"
#include "operator/render/conditions.h"
#include "operator/render/unknown_fields.h"
#include "operator/restapi/children.h"
#include "plan/kube_effects.h"
#include "slurm/conf.h"

namespace capstan::op::restapi {
namespace {

// As for slurmctld: not started for a configuration that is about to change.
constexpr Duration kSettleTime = 1s;

// What the Deployment is made from, when all of it is there.
struct Ingredients {
  const api::Controller* controller = nullptr;
  PodHashes hashes;
};

std::optional<Ingredients> Gather(const plan::World& world, const api::RestApi& rest_api, render::Findings& findings) {
  const kube::Key key{rest_api.metadata.namespace_, rest_api.spec.controller_ref.name};
  const auto* controller = world.Find<api::Controller>(key);
  if (controller == nullptr) {
    findings.Problem("ControllerMissing",
                     "Controller " + key.ToString() +
                         ", named in spec.controllerRef, does not exist; create it, or correct the name");
    return std::nullopt;
  }
  Ingredients ingredients{controller, {}};
  const auto& ref = controller->spec.slurm_key_ref;
  if (ref) {
    const controller::Key slurm =
        controller::FindKey(world, key.ns, &*ref, "spec.slurmKeyRef of Controller " + key.name);
    if (!slurm.known()) {
      // Its Controller says what is wrong with it; here one only waits.
      findings.Wait("WaitingForKey", slurm.message);
      return std::nullopt;
    }
    ingredients.hashes.slurm_key = slurm.digest;
  }
  const ConfigMap* config = world.Find<ConfigMap>({key.ns, ConfigName(key.name)});
  if (config == nullptr || config->data.slurm_conf.empty()) {
    findings.Wait("WaitingForConfig", "Controller " + key.ToString() + " has not published its configuration yet");
    return std::nullopt;
  }
  ingredients.hashes.config = slurm::ConfHash(config->data.slurm_conf);
  return ingredients;
}

void Settle(const plan::World& world, const api::RestApi& rest_api, render::Findings& findings) {
  const auto* deployment = world.Find<Deployment>({rest_api.metadata.namespace_, RestApiName(rest_api.metadata.name)});
  if (deployment == nullptr) {
    if (findings.waits.empty() && findings.problems.empty()) findings.Wait("Creating", "slurmrestd is being created");
    return;
  }
  const bool current = deployment->status.observed_generation >= deployment->metadata.generation;
  const int32_t wanted = rest_api.spec.replicas.value_or(1);
  const int32_t ready = deployment->status.ready_replicas;
  const std::string counted = std::to_string(ready) + " of " + std::to_string(wanted);
  if (wanted == 0)
    findings.Ready("spec.replicas is 0: no slurmrestd is wanted, and the operator cannot reach Slurm");
  else if (ready > 0)
    findings.Ready(wanted == 1 ? "slurmrestd is ready" : counted + " slurmrestd are ready");
  if (!current || ready < wanted || deployment->status.updated_replicas < wanted) {
    findings.Wait("Starting", "slurmrestd is starting: " + counted + " ready");
  }
}

bool HasSettled(const plan::World& world, const std::string& config, render::Findings& findings, plan::Plan& plan) {
  const Duration held = world.HeldFor("configuration " + config);
  if (held >= kSettleTime) return true;
  plan.RequeueAfter(kSettleTime - held);
  findings.Wait("Settling", "the configuration is new; slurmrestd is started in a second");
  return false;
}

bool WrittenBy(const json::ObjectMeta& object, std::string_view manager, std::string_view operation) {
  return std::ranges::any_of(object.managed_fields, [&](const json::ManagedField& entry) {
    return entry.manager == manager && entry.operation == operation && entry.subresource.empty();
  });
}

// A Deployment that a former operator made is left as it is until something else is wanted of it than on the day of the
// switch: applying ours would start slurmrestd anew for nothing but our own way to write it.
bool IsLeftToFormer(const plan::World& world, const api::RestApi& rest_api, const plan::Child& wanted,
                    const std::string& config_hash, render::Findings& findings, plan::Plan& plan) {
  const auto* present = world.Find<Deployment>(wanted.key);
  if (present == nullptr || !WrittenBy(present->metadata, kFormerFieldManager, "Update")) return false;
  const json::OwnerReference* owner = present->metadata.ControllerOwner();
  const bool own = owner != nullptr && owner->uid == rest_api.metadata.uid;
  if (!own || WrittenBy(present->metadata, kFieldManager, "Apply")) return false;
  const std::string digest = Sha256Hex(wanted.body);
  const std::string& noted = present->metadata.Annotation(std::string(kAnnotationTakenOver));
  if (!noted.empty()) return noted == digest;
  // What is wanted depends on the configuration, which its Controller is about to write for the first time: it first
  // takes the fields of the former operator over, and an instant later writes its own.
  const auto* config = world.Find<ConfigMap>({wanted.key.ns, ConfigName(rest_api.spec.controller_ref.name)});
  if (config == nullptr || !WrittenBy(config->metadata, kFieldManager, "Apply")) {
    findings.Wait("WaitingForConfig", "the Controller has not published its configuration yet");
    return true;
  }
  if (!HasSettled(world, config_hash, findings, plan)) return true;
  std::string patch =
      R"({"metadata":{"annotations":{")" + std::string(kAnnotationTakenOver) + R"(":")" + digest + R"("}}})";
  plan.Add({.effect = plan::MergePatch("take over", {&kube::kDeployments, wanted.key}, present->metadata.uid,
                                       std::move(patch)),
            .reason = "a former operator made it, and it serves as it is",
            .guards = {},
            .after = {},
            .event = {}});
  return true;
}

void DecideChildren(const plan::World& world, const api::RestApi& rest_api, render::Findings& findings,
                    plan::Plan& plan) {
  if (auto service = ServiceObject(rest_api)) {
    plan.children.push_back(*std::move(service));
  } else {
    findings.Problem("ServiceRefused", service.error().message());
    plan.children_complete = false;
  }
  const auto ingredients = Gather(world, rest_api, findings);
  if (!ingredients) {
    plan.children_complete = false;
    return;
  }
  const std::string& config = ingredients->hashes.config;
  const kube::Key key{rest_api.metadata.namespace_, RestApiName(rest_api.metadata.name)};
  if (world.Find<Deployment>(key) == nullptr && !HasSettled(world, config, findings, plan)) {
    plan.children_complete = false;
    return;
  }
  auto deployment =
      DeploymentObject(rest_api, *ingredients->controller, ingredients->hashes, render::SettingsOf(world));
  if (deployment && IsLeftToFormer(world, rest_api, *deployment, config, findings, plan)) {
    plan.children_complete = false;
  } else if (deployment) {
    plan.children.push_back(*std::move(deployment));
  } else {
    findings.Problem("TemplateRefused", deployment.error().message());
    plan.children_complete = false;
  }
}

}  // namespace

plan::Plan Decide(const plan::World& world, const kube::Key& key) {
  const api::RestApi* found = world.Find<api::RestApi>(key);
  // One that is being deleted leaves its children to the garbage collector.
  if (found == nullptr || found->metadata.deleting()) return {};
  api::RestApi rest_api = *found;
  rest_api.spec = api::WithDefaults(std::move(rest_api.spec));

  plan::Plan plan;
  render::Findings findings;
  render::DropUnknownPodFields(world, key, {"spec.template.spec", &rest_api.spec.pod_template.spec},
                               {{"spec.slurmrestd", &rest_api.spec.slurmrestd}}, findings);
  render::DropUnknownServiceFields(world, key, {"spec.service.spec", &rest_api.spec.service.spec}, findings);
  DecideChildren(world, rest_api, findings, plan);
  Settle(world, rest_api, findings);
  findings.AddFailures(world);
  api::RestApiStatus status;
  status.conditions =
      render::ConditionsOf(rest_api.status.conditions, findings, rest_api.metadata.generation, world.now());
  plan.status = json::Encode(status);
  return plan;
}

}  // namespace capstan::op::restapi
