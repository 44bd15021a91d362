#include "operator/restapi/decide.h"

#include "api/controller.h"
#include "api/restapi.h"
#include "operator/former.h"
#include "operator/names.h"
#include "operator/objects.h"
#include "operator/reconcile.h"
#include "operator/references.h"
#include "operator/render/own_words.h"
#include "operator/restapi/children.h"
#include "operator/restarts.h"
#include "operator/unknown_fields.h"
#include "operator/upgrades.h"
#include "slurm/conf.h"

namespace capstan::op::restapi {
namespace {

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
    WaitForSlurmctld();
    if (const std::string own = OwnWords(); !own.empty())
      findings.Remark("NotSupported", own + " is left out: slurmrestd has the configuration of its Controller");
    Runs(world.Find<Deployment>(key_), *spec.replicas, kRestApi.app);
    if (findings.ready && *spec.replicas == 0) findings.ready->message += ", and the operator cannot reach Slurm";
    return Finish(api::RestApiStatus());
  }

 private:
  std::string OwnWords() const {
    return render::OwnWordsIn(object.spec.slurmrestd, object.spec.pod_template.spec, render::kSlurmrestdOwnWords);
  }

  // What the Deployment is made from, when all of it is there.
  struct Ingredients {
    const api::Controller* controller = nullptr;
    PodHashes hashes;
  };

  std::optional<Ingredients> Gather() {
    const auto cluster = FindCluster(*this, controller_);
    if (!cluster) return std::nullopt;
    const ConfigMap* config = Config();
    if (config == nullptr || config->data.slurm_conf.empty()) {
      findings.Wait("WaitingForConfig",
                    "Controller " + controller_.ToString() + " has not published its configuration yet");
      return std::nullopt;
    }
    const auto* present = world.Find<Deployment>(key_);
    const PodTemplateMeta* pods = present == nullptr ? nullptr : &present->spec.pod_template.metadata;
    PodHashes hashes{.slurm_key = cluster->slurm_key, .restart_options = SlurmrestdOptions(config->data.slurm_conf)};
    hashes.config = HashFor(hashes.restart_options, present == nullptr ? nullptr : &present->metadata, pods,
                            MadeBefore(pods, config->data.slurm_conf) ? hashes.restart_options : "none")
                        .pods;
    return Ingredients{cluster->controller, std::move(hashes)};
  }

  // By an older release, with this very text.
  static bool MadeBefore(const PodTemplateMeta* pods, const std::string& slurm_conf) {
    if (pods == nullptr) return false;
    const auto hash = pods->annotations.find(std::string(kHashSlurmConfig));
    return hash != pods->annotations.end() && hash->second == slurm::ConfHash(slurm_conf);
  }

  const ConfigMap* Config() const { return world.Find<ConfigMap>({controller_.ns, ConfigName(controller_.name)}); }

  // False: what runs is to stay as it is.
  bool RunSlurmrestd() {
    const auto ingredients = Gather();
    if (!ingredients) return false;
    const std::string& config = ingredients->hashes.restart_options;
    const auto* present = world.Find<Deployment>(key_);
    if (present == nullptr && !HasSettled(config, kRestApi.app)) return false;
    auto deployment = DeploymentObject(object, *ingredients->controller, ingredients->hashes, SettingsOf(world));
    if (deployment && IsLeftAsItIs(*deployment, config)) return false;
    if (deployment && present != nullptr) {
      deployment = InOrder(*this, SlurmctldBefore(world, *ingredients->controller), kRestApi,
                           present->spec.pod_template, *std::move(deployment));
    }
    return Want(std::move(deployment));
  }

  // Its pods are ready only while slurmctld is.
  void WaitForSlurmctld() {
    const auto* deployment = world.Find<Deployment>(key_);
    const auto* controller = world.Find<api::Controller>(controller_);
    if (deployment == nullptr || controller == nullptr || deployment->status.ready_replicas > 0) return;
    if (*object.spec.replicas == 0 || controller->spec.external.value_or(false)) return;
    const auto* slurmctld = world.Find<StatefulSet>({controller_.ns, ControllerName(controller_.name)});
    if (slurmctld != nullptr && slurmctld->status.ready_replicas > 0) return;
    findings.Wait("WaitingForSlurmctld", "slurmrestd is ready once slurmctld is");
  }

  bool IsLeftAsItIs(const plan::Child& wanted, const std::string& config_hash) {
    const auto* present = world.Find<Deployment>(key_);
    if (present == nullptr || !IsOfFormer(present->metadata, object.metadata.uid)) return false;
    // What is wanted depends on the configuration, which its Controller is about to write for the first time: it first
    // takes the fields of the former operator over, and an instant later writes its own.
    const ConfigMap* config = Config();
    if (config == nullptr || !WrittenBy(config->metadata, kFieldManager, "Apply")) {
      findings.Wait("WaitingForConfig", "the Controller has not published its configuration yet");
      return true;
    }
    return !HasSettled(config_hash, kRestApi.app) || IsLeftToFormer(*this, present->metadata, wanted);
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
