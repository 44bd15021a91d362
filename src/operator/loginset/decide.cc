#include "operator/loginset/decide.h"

#include "api/loginset.h"
#include "base/hash.h"
#include "operator/former.h"
#include "operator/host_keys.h"
#include "operator/loginset/children.h"
#include "operator/names.h"
#include "operator/questions.h"
#include "operator/reconcile.h"
#include "operator/references.h"
#include "operator/ssh_files.h"
#include "operator/unknown_fields.h"
#include "operator/upgrades.h"

namespace capstan::op::loginset {
namespace {

constexpr Duration kLongestDrainCap = 24h * 30;

class Deciding : Reconcile<api::LoginSet> {
 public:
  Deciding(const plan::World& seen, const api::LoginSet& found)
      : Reconcile(seen, found), key_{found.metadata.namespace_, found.metadata.name} {}

  plan::Plan Run() {
    api::LoginSetSpec& spec = object.spec;
    if (IsStopped(object.metadata)) spec.replicas = 0;
    DropUnknownPodFields(world, key_, {"spec.template.spec", &spec.pod_template.spec},
                         {{"spec.login", &spec.login}, {"spec.initconf", &spec.initconf}}, findings);
    DropUnknownServiceFields(world, key_, {"spec.service.spec", &spec.service.spec}, findings);
    plan.children.push_back(SshConfig(object));
    Want(ServiceObject(object));
    if (!RunLogins()) KeepWhatIsThere();
    const auto* deployment = world.Find<Deployment>(key_);
    Runs(deployment, *spec.replicas, "login");
    if (IsStopped(object.metadata) && findings.ready) findings.ready->message = "its SlurmCluster is stopped";
    api::LoginSetStatus status;
    status.replicas = deployment == nullptr ? 0 : deployment->status.replicas;
    status.selector =
        std::string(kLabelInstance) + "=" + key_.name + "," + std::string(kLabelName) + "=" + std::string(kLogin.app);
    return Finish(std::move(status));
  }

 private:
  // False: what runs is to stay as it is.
  bool RunLogins() {
    const auto cluster = FindCluster(*this, {key_.ns, object.spec.controller_ref.name});
    const auto live = ReadsFilesLive(object, SettingsOf(world));
    const std::optional<Duration> cap = DrainCap();
    const auto host_keys = FindHostKeys(world, key_, kLogin, plan, findings);
    const bool sssd = FindSssdConf(world, key_.ns, object.spec.sssd_conf_ref, "spec.sssdConfRef", findings);
    if (!cluster || !cap || !host_keys || !sssd) return false;
    PodHashes hashes{.slurm_key = cluster->slurm_key, .sshd_config = {}, .sssd_config = {}, .host_keys = {}};
    if (live && !*live) {
      const auto digest = DigestOfSssdConf(cluster->controller->spec);
      if (!digest) return false;
      hashes.sshd_config = Sha256Hex(SshTexts(object));
      hashes.sssd_config = *digest;
      hashes.host_keys = *host_keys;
    }
    auto deployment = LoginDeployment(object, *cluster->controller, hashes, *cap, SettingsOf(world));
    const auto* present = world.Find<Deployment>(key_);
    if (deployment && present != nullptr && IsOfFormer(present->metadata, object.metadata.uid) &&
        IsLeftToFormer(*this, present->metadata, *deployment))
      return false;
    if (deployment && present != nullptr) {
      deployment = InOrder(*this, SlurmctldBefore(world, *cluster->controller), kLogin, present->spec.pod_template,
                           *std::move(deployment));
    }
    return Want(std::move(deployment));
  }

  // nullopt: it is not known yet, or not now.
  std::optional<std::string> DigestOfSssdConf(const api::ControllerSpec& controller) {
    if (!controller.slurm_key_ref) return "";
    const auto digest =
        world.Ask(SssdDigest(key_.ns, object.spec.sssd_conf_ref, *controller.slurm_key_ref), kReferenceAge);
    if (!IsAnswered(digest, "Secret " + key_.ns + "/" + object.spec.sssd_conf_ref.name, findings)) return std::nullopt;
    return *digest.value;
  }

  std::optional<Duration> DrainCap() {
    const std::string& text = object.metadata.Annotation(std::string(kAnnotationLoginDrainCap));
    if (text.empty()) return kDrainCap;
    const std::optional<Duration> cap = api::ParseGoDuration(text);
    if (cap && *cap >= Duration(0) && *cap <= kLongestDrainCap) return cap;
    findings.Problem("InvalidSpec", "annotation " + std::string(kAnnotationLoginDrainCap) + " is \"" + text +
                                        "\", must be a duration of at most 720h, such as 12h or 30m");
    return std::nullopt;
  }

  const kube::Key key_;  // of the LoginSet, its Deployment and its Service
};

}  // namespace

plan::Plan Decide(const plan::World& world, const kube::Key& key) {
  const auto* login_set = FindToServe<api::LoginSet>(world, key);
  return login_set == nullptr ? plan::Plan() : Deciding(world, *login_set).Run();
}

}  // namespace capstan::op::loginset
