#include "operator/accounting/decide.h"

#include "api/accounting.h"
#include "base/hash.h"
#include "operator/accounting/children.h"
#include "operator/accounting/config.h"
#include "operator/accounting/database.h"
#include "operator/accounting/questions.h"
#include "operator/former.h"
#include "operator/keys.h"
#include "operator/names.h"
#include "operator/questions.h"
#include "operator/reconcile.h"
#include "operator/render/metadata.h"
#include "operator/unknown_fields.h"
#include "plan/objects/secrets.h"

namespace capstan::op::accounting {
namespace {

constexpr std::string_view kConfFile = "slurmdbd.conf";

class Deciding : Reconcile<api::Accounting> {
 public:
  Deciding(const plan::World& seen, const api::Accounting& found)
      : Reconcile(seen, found), key_{found.metadata.namespace_, AccountingName(found.metadata.name)} {}

  plan::Plan Run() {
    if (object.spec.external.value_or(false))
      External();
    else
      Internal();
    return Finish(api::AccountingStatus());
  }

 private:
  void External() {
    if (!object.spec.external_config)
      return findings.Problem("InvalidSpec",
                              "spec.externalConfig must say where slurmdbd is when spec.external is true");
    const api::ExternalConfig& config = *object.spec.external_config;
    findings.Ready("slurmdbd runs outside of Kubernetes, at " + config.host + ":" +
                   std::to_string(config.port == 0 ? kSlurmdbdPort : config.port));
  }

  void Internal() {
    api::AccountingSpec& spec = object.spec;
    const kube::Key own{key_.ns, object.metadata.name};
    DropUnknownPodFields(world, own, {"spec.template.spec", &spec.pod_template.spec},
                         {{"spec.slurmdbd", &spec.slurmdbd}}, findings);
    DropUnknownServiceFields(world, own, {"spec.service.spec", &spec.service.spec}, findings);
    Want(ServiceObject(object));
    if (!EmbeddedDatabase(object).empty()) RunDatabase();
    if (!RunSlurmdbd()) KeepWhatIsThere();
    ReplaceStuckSlurmdbd();
    Runs(Set(), 1, kAccounting.app);
    if (!findings.ready && Set() != nullptr && spec.storage_config) WaitForDatabase(*spec.storage_config);
  }

  // slurmdbd does not listen before its database has let it in, and tries for ever: only its log says what is wrong.
  void WaitForDatabase(const api::StorageConfig& storage) {
    findings.Wait("WaitingForDatabase", "slurmdbd answers once its database at " + storage.host +
                                            " does; if it does not, `kubectl logs -n " + key_.ns + " " + key_.name +
                                            "-0` says why: that cannot be reached, or refuses user \"" +
                                            storage.username + "\" or the password in Secret " + key_.ns + "/" +
                                            storage.password_key_ref.name);
  }

  // slurmdbd waits for it by itself.
  void RunDatabase() {
    const kube::Key name{key_.ns, DatabaseName(object.metadata.name)};
    object.spec.storage_config = StorageOfDatabase(object);
    auto children = DatabaseObjects(object, SettingsOf(world), world.Find<StatefulSet>(name));
    if (!children) {
      findings.Problem("InvalidSpec", children.error().message());
      return KeepWhatIsThere();
    }
    for (plan::Child& child : *children) plan.children.push_back(std::move(child));
    const auto password = world.Ask(SecretDigest(name), kReferenceAge);
    if (!password.absent()) return;
    plan.Add(MakePassword(object));
    findings.Wait("CreatingKeys", "the password in Secret " + name.ToString() + " is being made");
  }

  // A slurmdbd with a wrong password runs, and never becomes ready. Parallel StatefulSets replace it themselves; nobody can
  // change the policy of one that an older release made.
  void ReplaceStuckSlurmdbd() {
    const StatefulSet* set = Set();
    const json::OwnerReference* owner = set == nullptr ? nullptr : set->metadata.ControllerOwner();
    if (owner == nullptr || owner->uid != object.metadata.uid || set->spec.pod_management_policy == "Parallel") return;
    ReplaceStuck(*set, [](const Pod& pod) { return !pod.Ready(); }, "it is not ready");
  }

  const StatefulSet* Set() const { return world.Find<StatefulSet>(key_); }

  // False: what runs is to stay as it is.
  bool RunSlurmdbd() {
    const api::AccountingSpec& spec = object.spec;
    auto conf = MakeSlurmdbdConf(object);
    if (!conf) {
      findings.Problem("ConfigRefused", "slurmdbd.conf cannot be made: " + conf.error().message());
      return false;
    }
    const FoundKey slurm =
        FindKey(world, key_.ns, spec.slurm_key_ref ? &*spec.slurm_key_ref : nullptr, "spec.slurmKeyRef");
    const FoundKey jwt = FindKey(world, key_.ns, api::JwtKey(spec), "spec.jwtKeyRef");
    if (!ReportKey(slurm, findings) || !ReportKey(jwt, findings)) return false;
    if (!CheckJwks(world, key_.ns, spec.jwks_key_ref, findings)) return false;
    const std::optional<std::string> written = Write(*conf);
    if (!written) return false;
    const StatefulSet* present = Set();
    auto set = SlurmdbdSet(object, {slurm.digest, jwt.digest, *written}, SettingsOf(world), present);
    if (set && present != nullptr && IsOfFormer(present->metadata, object.metadata.uid) &&
        IsLeftToFormer(*this, present->metadata, *set))
      return false;
    return Want(std::move(set));
  }

  // What stands for the configuration that is in its Secret; nullopt: the wanted one is not there (yet).
  std::optional<std::string> Write(const SlurmdbdConf& conf) {
    const api::SecretKeySelector& ref = object.spec.storage_config->password_key_ref;
    const api::SecretKeySelector& salt = *object.spec.slurm_key_ref;
    const kube::Key password{key_.ns, ref.name};
    const std::string named = "Secret " + password.ToString() + ", named in spec.storageConfig.passwordKeyRef, ";
    if (ref.name.empty() || ref.key.empty()) {
      findings.Problem("InvalidSpec", "spec.storageConfig.passwordKeyRef must name a Secret and a key in it");
      return std::nullopt;
    }
    const auto state = world.Ask(ConfState(key_, password, ref.key, {key_.ns, salt.name}, salt.key), kReferenceAge);
    if (state.value == nullptr) {
      findings.Wait("ReadingKeys",
                    named + (state.error.empty() ? "is being looked for" : "cannot be read: " + state.error));
      return std::nullopt;
    }
    if (!state.value->password_wrong.empty()) {
      findings.Problem("ReferenceInvalid", named + state.value->password_wrong);
      return std::nullopt;
    }
    if (state.value->present && state.value->controller_uid != object.metadata.uid) {
      findings.Problem("NameConflict",
                       "Secret " + key_.ToString() +
                           " exists and does not belong to this Accounting; remove it, or rename one of "
                           "the two");
      return std::nullopt;
    }
    std::string made_from = Sha256Hex(conf.before + "\n" + conf.after + "\n" + state.value->password_digest);
    if (state.value->present && state.value->made_from == made_from) return made_from;
    findings.Wait("WritingConfig", "slurmdbd.conf is being written");
    plan.Add({.effect = plan::WriteSecret(
                  {.key = key_, .metadata = SecretMetadata(made_from)}, object.metadata.uid,
                  plan::SecretText(std::string(kConfFile), {{.text = conf.before},
                                                            {.secret = password,
                                                             .data_key = ref.key,
                                                             .field = "spec.storageConfig.passwordKeyRef",
                                                             .write = &PasswordValue},
                                                            {.text = conf.after}})),
              .reason = state.value->present ? "the configuration of slurmdbd has changed"
                                             : "slurmdbd reads its configuration there",
              .guards = {},
              .after = {},
              .event = {}});
    return std::nullopt;
  }

  std::string SecretMetadata(const std::string& made_from) const {
    render::Metadata metadata = render::Inherited(object.metadata);
    metadata.Add(render::ComponentLabels(kAccounting, object.metadata.name),
                 {{std::string(kAnnotationMadeFrom), made_from}});
    render::JsonObject body = metadata.ToJson();
    body["ownerReferences"] = render::OwnerReferences(render::OwnerOf(object));
    return json::SerializeCanonical(body);
  }

  const kube::Key key_;  // of all that is made
};

}  // namespace

plan::Plan Decide(const plan::World& world, const kube::Key& key) {
  const auto* accounting = FindToServe<api::Accounting>(world, key);
  return accounting == nullptr ? plan::Plan() : Deciding(world, *accounting).Run();
}

}  // namespace capstan::op::accounting
