#include "operator/loginset/decide.h"

#include "api/loginset.h"
#include "base/hash.h"
#include "operator/former.h"
#include "operator/keys.h"
#include "operator/loginset/children.h"
#include "operator/loginset/host_keys.h"
#include "operator/loginset/questions.h"
#include "operator/names.h"
#include "operator/questions.h"
#include "operator/reconcile.h"
#include "operator/references.h"
#include "operator/render/metadata.h"
#include "operator/unknown_fields.h"
#include "operator/upgrades.h"
#include "plan/objects/secrets.h"

namespace capstan::op::loginset {
namespace {

constexpr Duration kLongestDrainCap = 24h * 30;

class Deciding : Reconcile<api::LoginSet> {
 public:
  Deciding(const plan::World& seen, const api::LoginSet& found)
      : Reconcile(seen, found), key_{found.metadata.namespace_, found.metadata.name} {}

  plan::Plan Run() {
    api::LoginSetSpec& spec = object.spec;
    DropUnknownPodFields(world, key_, {"spec.template.spec", &spec.pod_template.spec},
                         {{"spec.login", &spec.login}, {"spec.initconf", &spec.initconf}}, findings);
    DropUnknownServiceFields(world, key_, {"spec.service.spec", &spec.service.spec}, findings);
    plan.children.push_back(SshConfig(object));
    Want(ServiceObject(object));
    if (!RunLogins()) KeepWhatIsThere();
    const auto* deployment = world.Find<Deployment>(key_);
    Runs(deployment, *spec.replicas, "login");
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
    const bool host_keys = HaveHostKeys();
    const FoundKey sssd = FindKey(world, key_.ns, &object.spec.sssd_conf_ref, "spec.sssdConfRef");
    if (sssd.state == FoundKey::State::kUnknown) findings.Wait("ReadingReferences", sssd.message);
    if (sssd.state == FoundKey::State::kAbsent || sssd.state == FoundKey::State::kWrong)
      findings.Problem("ReferenceMissing", sssd.message);
    if (!cluster || !cap || !host_keys || !sssd.known() || !SssdConfIsGood()) return false;
    PodHashes hashes{.slurm_key = cluster->slurm_key, .sshd_config = {}, .sssd_config = {}, .host_keys = {}};
    if (live && !*live) {
      hashes.sshd_config = Sha256Hex(SshTexts(object));
      hashes.sssd_config = sssd.digest;
      hashes.host_keys = host_keys_;
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

  std::optional<Duration> DrainCap() {
    const std::string& text = object.metadata.Annotation(std::string(kAnnotationLoginDrainCap));
    if (text.empty()) return kDrainCap;
    const std::optional<Duration> cap = api::ParseGoDuration(text);
    if (cap && *cap >= Duration(0) && *cap <= kLongestDrainCap) return cap;
    findings.Problem("InvalidSpec", "annotation " + std::string(kAnnotationLoginDrainCap) + " is \"" + text +
                                        "\", must be a duration of at most 720h, such as 12h or 30m");
    return std::nullopt;
  }

  bool HaveHostKeys() {
    const kube::Key secret{key_.ns, SshHostKeysName(key_.name)};
    const auto answer = world.Ask(SecretDigest(secret), kReferenceAge);
    if (answer.absent()) {
      MakeHostKeys(secret);
      return false;
    }
    if (answer.value == nullptr) {
      findings.Wait("ReadingKeys",
                    "Secret " + secret.ToString() +
                        (answer.error.empty() ? " is being looked for" : " cannot be read: " + answer.error));
      return false;
    }
    for (const std::string_view type : kHostKeyTypes) {
      for (const std::string_view suffix : {"", ".pub"}) {
        const std::string file = "ssh_host_" + std::string(type) + "_key" + std::string(suffix);
        const auto digest = answer.value->digests.find(file);
        if (digest == answer.value->digests.end()) {
          findings.Problem("ReferenceInvalid", "Secret " + secret.ToString() + " has no key \"" + file +
                                                   "\"; add it, or delete the Secret to have all host keys made anew");
          return false;
        }
        host_keys_ += digest->second;
      }
    }
    host_keys_ = Sha256Hex(host_keys_);
    return IsGood(world.Ask(HostKeyFiles(secret), kReferenceAge), secret, "");
  }

  // It is read live: what is wrong with it is told, and what runs keeps what it understood last.
  bool SssdConfIsGood() {
    const api::SecretKeySelector& ref = object.spec.sssd_conf_ref;
    const kube::Key secret{key_.ns, ref.name};
    return IsGood(world.Ask(SssdFile(secret, ref.key), kReferenceAge), secret, ", named in spec.sssdConfRef,");
  }

  // `wrong`: what is wrong with the content of `secret`, where others have said what is missing.
  bool IsGood(const plan::Answer<std::string>& wrong, const kube::Key& secret, std::string_view named) {
    const std::string whose = "Secret " + secret.ToString() + std::string(named);
    if (wrong.value == nullptr) {
      findings.Wait("ReadingReferences",
                    whose + (wrong.error.empty() ? " is being looked at" : " cannot be read: " + wrong.error));
      return false;
    }
    if (!wrong.value->empty()) findings.Problem("ReferenceInvalid", whose + " " + *wrong.value);
    return wrong.value->empty();
  }

  void MakeHostKeys(const kube::Key& secret) {
    render::Metadata metadata;
    metadata.Add(render::ComponentLabels(kLogin, key_.name), {});
    plan.Add(
        {.effect = plan::CreateSecret(
             {.key = secret, .metadata = json::SerializeCanonical(metadata.ToJson()), .immutable = true}, HostKeys()),
         .reason = "the login hosts have no keys yet",
         .guards = {},
         .after = {},
         .event = {{.reason = EventWord("KeyCreated"), .action = "Create"}}});
    findings.Wait("CreatingKeys", "the host keys in Secret " + secret.ToString() + " are being made");
  }

  const kube::Key key_;    // of the LoginSet, its Deployment and its Service
  std::string host_keys_;  // a digest of them
};

}  // namespace

plan::Plan Decide(const plan::World& world, const kube::Key& key) {
  const auto* login_set = FindToServe<api::LoginSet>(world, key);
  return login_set == nullptr ? plan::Plan() : Deciding(world, *login_set).Run();
}

}  // namespace capstan::op::loginset
