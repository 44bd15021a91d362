#include "operator/controller/decide.h"

#include <algorithm>

#include "api/controller.h"
#include "json/codec.h"
#include "operator/controller/children.h"
#include "operator/controller/immutable.h"
#include "operator/controller/inputs.h"
#include "operator/controller/keys.h"
#include "operator/controller/questions.h"
#include "operator/names.h"
#include "operator/objects.h"
#include "operator/questions.h"
#include "operator/render/cluster.h"
#include "operator/render/json.h"
#include "operator/render/unheeded.h"
#include "operator/render/unknown_fields.h"
#include "plan/kube_effects.h"

namespace capstan::op::controller {
namespace {

constexpr size_t kKeyBytes = 64;
constexpr Duration kInChargeAge = 30s;
// A cluster is installed object by object. slurmctld is first started when its configuration has stood still for so
// long, so that it is not restarted at once for the NodeSets that come a moment after their Controller.
constexpr Duration kSettleTime = 1s;

// One Decide at work: what it sees, and the Plan that grows.
class Deciding {
 public:
  Deciding(const plan::World& world, api::Controller controller)
      : world_(world),
        controller_(std::move(controller)),
        ns_(controller_.metadata.namespace_),
        name_(controller_.metadata.name) {
    plan_.slurm_cluster = ClusterOf(ns_, name_);
  }

  plan::Plan Run() {
    DropUnknown();
    ConnectSlurm();
    plan_.children.push_back(OfItsNodeSetsBefore(WorkerService(controller_)));
    plan_.children.push_back(OfItsNodeSetsBefore(WorkerBudget(controller_)));
    const ConfigInputs inputs = Collect(world_, controller_, OwnSet(), findings_);
    const std::optional<PublishedConfig> config = Publish(inputs);
    if (External()) {
      CheckKeysOfExternal();
      SettleExternal(config.has_value());
    } else {
      Services(LabelActive());
      RunSlurmctld(inputs, config);
      ReplaceStuck();
      Settle();
    }
    findings_.AddFailures(world_);
    render::AddUnheeded(controller_.spec, findings_);
    api::ControllerStatus status;
    status.conditions =
        render::ConditionsOf(controller_.status.conditions, findings_, controller_.metadata.generation, world_.now());
    plan_.status = json::Encode(status);
    return std::move(plan_);
  }

 private:
  bool External() const { return controller_.spec.external.value_or(false); }
  bool Ha() const { return controller_.spec.ha && controller_.spec.ha->enabled.value_or(false); }

  void DropUnknown() {
    if (External()) return;
    api::ControllerSpec& spec = controller_.spec;
    render::DropUnknownPodFields(
        world_, {ns_, name_}, {"spec.template.spec", &spec.pod_template.spec},
        {{"spec.slurmctld", &spec.slurmctld}, {"spec.reconfigure", &spec.reconfigure}, {"spec.logfile", &spec.logfile}},
        findings_);
    render::DropUnknownServiceFields(world_, {ns_, name_}, {"spec.service.spec", &spec.service.spec}, findings_);
  }

  // Something wanted cannot be told now; what is there stays as it is.
  void KeepWhatIsThere() { plan_.children_complete = false; }

  // Older releases had this object owned by all NodeSets of the cluster, and by no controller.
  plan::Child OfItsNodeSetsBefore(plan::Child child) const {
    for (const api::NodeSet& set : world_.By<api::NodeSet>("controller", plan_.slurm_cluster))
      child.adoption.owners.push_back(set.metadata.uid);
    return child;
  }

  // --- The way to Slurm ----------------------------------------------------------------------------------------------

  // Through the oldest RestApi: of several, one that comes later must not turn everybody around.
  void ConnectSlurm() {
    const api::RestApi* oldest = nullptr;
    for (const api::RestApi& rest_api : world_.By<api::RestApi>("controller", plan_.slurm_cluster)) {
      if (rest_api.metadata.deleting()) continue;
      if (oldest == nullptr || rest_api.metadata.creation_timestamp < oldest->metadata.creation_timestamp)
        oldest = &rest_api;
    }
    const api::SecretKeySelector* key = api::JwtKey(controller_.spec);
    if (oldest == nullptr || key == nullptr) return;
    plan_.slurm = plan::SlurmConnection{
        .server = render::RestApiUrl(*oldest), .token_secret = {ns_, key->name}, .token_key = key->key};
  }

  // --- Configuration -------------------------------------------------------------------------------------------------

  // The configuration that is to be there: the new one, or, when there cannot be a new one, that published last. The
  // latter is not written again: a write of ours says that it was made from inputs that are known (restapi/decide.cc).
  std::optional<PublishedConfig> Publish(const ConfigInputs& inputs) {
    if (inputs.complete) {
      auto made = MakeConfig(controller_, inputs);
      if (made) {
        plan_.children.push_back(ConfigObject(controller_, *made));
        return *std::move(made);
      }
      findings_.Problem("ConfigRefused", "the configuration is not published: " + made.error().message());
    }
    KeepWhatIsThere();
    return LastPublished();
  }

  std::optional<PublishedConfig> LastPublished() const {
    const ConfigMap* published = world_.Find<ConfigMap>({ns_, ConfigName(name_)});
    if (published == nullptr || published->data.slurm_conf.empty()) return std::nullopt;
    const json::OwnerReference* owner = published->metadata.ControllerOwner();
    if (owner == nullptr || owner->uid != controller_.metadata.uid) return std::nullopt;
    return published->data;
  }

  // --- slurmctld -----------------------------------------------------------------------------------------------------

  // `labelled`: what must have been done before the Service leads to the labelled pods alone.
  void Services(std::vector<plan::ActionId> labelled) {
    plan_.children.push_back(InternalService(controller_));
    if (auto service = ClientService(controller_, Ha() || IsLabelled())) {
      service->after = std::move(labelled);
      plan_.children.push_back(*std::move(service));
    } else {
      findings_.Problem("ServiceRefused", service.error().message());
      KeepWhatIsThere();
    }
  }

  // The one slurmctld is labelled as the one in charge, and the next one made from what is there will be. Otherwise the
  // Service would lead to nobody: after a former operator, whose pods were not, as long as the StatefulSet is withheld.
  bool IsLabelled() const {
    const auto says_so = [](const auto& labels) {
      const auto found = labels.find(std::string(kLabelActive));
      return found != labels.end() && found->second == "true";
    };
    const StatefulSet* set = OwnSet();
    if (set != nullptr && !says_so(set->spec.pod_template.metadata.labels)) return false;
    const Pod* pod = world_.Find<Pod>({ns_, ControllerName(name_) + "-0"});
    return pod == nullptr || pod->metadata.deleting() || says_so(pod->metadata.labels);
  }

  void RunSlurmctld(const ConfigInputs& inputs, const std::optional<PublishedConfig>& config) {
    const api::ControllerSpec& spec = controller_.spec;
    const Key slurm_key = FindKey(world_, ns_, spec.slurm_key_ref ? &*spec.slurm_key_ref : nullptr, "spec.slurmKeyRef");
    const Key jwt_key = FindKey(world_, ns_, api::JwtKey(spec), "spec.jwtKeyRef");
    HandleKey(slurm_key, spec.slurm_key_ref ? &*spec.slurm_key_ref : nullptr, "slurm");
    HandleKey(jwt_key, api::JwtKey(spec), "jwt");
    const bool claim_fits = ClaimFits();
    if (!slurm_key.known() || !jwt_key.known() || !config || !inputs.complete || !claim_fits) {
      return KeepWhatIsThere();
    }
    if (Set() == nullptr && !HasSettled(*config)) return KeepWhatIsThere();
    PodHashes hashes{slurm_key.digest, jwt_key.digest, ""};
    if (!spec.inplace_reconfigure.value_or(false)) hashes.config = ConfigHash(*config, inputs.digests);
    const StatefulSet* present = OwnSet();
    auto set = SlurmctldSet(controller_, hashes, render::SettingsOf(world_), present);
    if (!set) {
      findings_.Problem("TemplateRefused", set.error().message());
      return KeepWhatIsThere();
    }
    if (present != nullptr && LacksVolume(*present)) return KeepWhatIsThere();
    plan_.children.push_back(*std::move(set));
  }

  bool HasSettled(const PublishedConfig& config) {
    const Duration held = world_.HeldFor("configuration " + ConfigHash(config, {}));
    if (held >= kSettleTime) return true;
    plan_.RequeueAfter(kSettleTime - held);
    findings_.Wait("Settling", "the configuration is new; slurmctld is started in a second");
    return false;
  }

  void HandleKey(const Key& key, const api::SecretKeySelector* ref, std::string_view which) {
    switch (key.state) {
      case Key::State::kKnown:
        return;
      case Key::State::kUnknown:
        return findings_.Wait("ReadingKeys", key.message);
      case Key::State::kWrong:
        return findings_.Problem("KeyMissing", key.message);
      case Key::State::kAbsent:
        break;
    }
    if (!MayGenerate(controller_, which)) {
      return findings_.Problem("KeyMissing", key.message + ", or set the annotation " +
                                                 std::string(kAnnotationGenerateKeys) +
                                                 "=true on the Controller to have it made");
    }
    // A slurmctld that runs has a key that it got somewhere; another one would cut it off from its nodes.
    if (Set() != nullptr) return findings_.Problem("KeyMissing", key.message);
    MakeKey(*ref);
  }

  // They are the other cluster's, and never made: slurmrestd and the operator speak to it with them.
  void CheckKeysOfExternal() {
    const api::ControllerSpec& spec = controller_.spec;
    for (const auto& [ref, field] : {std::pair(spec.slurm_key_ref ? &*spec.slurm_key_ref : nullptr, "spec.slurmKeyRef"),
                                     std::pair(api::JwtKey(spec), "spec.jwtKeyRef")}) {
      if (ref == nullptr) continue;
      const Key key = FindKey(world_, ns_, ref, field);
      if (key.state == Key::State::kUnknown) findings_.Wait("ReadingKeys", key.message);
      if (key.state == Key::State::kAbsent || key.state == Key::State::kWrong)
        findings_.Problem("KeyMissing", key.message);
    }
  }

  void MakeKey(const api::SecretKeySelector& ref) {
    const kube::Key secret{ns_, ref.name};
    render::JsonObject labels{{"app.kubernetes.io/part-of", "slurm"}, {kLabelInstance, name_}};
    const std::string metadata = json::SerializeCanonical(render::JsonObject{{"labels", std::move(labels)}});
    plan_.Add({.effect = plan::CreateKeySecret(secret, ref.key, kKeyBytes, metadata),
               .reason = "the cluster has no key yet, and the Controller asks for one to be made",
               .guards = {},
               .after = {},
               .event = {{.reason = "KeyCreated", .action = "Create"}}});
    findings_.Wait("CreatingKeys", "Secret " + secret.ToString() + " is being created");
  }

  // Several slurmctld need a claim that several pods may write to. One that is not there yet may still become that.
  bool ClaimFits() {
    if (!Ha() || !controller_.spec.persistence || controller_.spec.persistence->existing_claim.empty()) return true;
    const kube::Key key{ns_, controller_.spec.persistence->existing_claim};
    const auto modes = world_.Ask(ClaimModes(key), kReferenceAge);
    if (modes.absent()) return true;
    if (modes.value == nullptr) {
      findings_.Wait("ReadingReferences",
                     "PersistentVolumeClaim " + key.ToString() +
                         (modes.error.empty() ? " is being looked for" : " cannot be read: " + modes.error));
      return false;
    }
    if (std::ranges::find(*modes.value, "ReadWriteMany") != modes.value->end()) return true;
    findings_.Problem("ClaimRefused", "spec.ha needs access mode ReadWriteMany, which PersistentVolumeClaim " +
                                          key.ToString() + " does not have");
    return false;
  }

  // Says what the user asks of the state's volume and does not get. True when slurmctld would have none at all.
  bool LacksVolume(const StatefulSet& present) {
    const ClaimChange change = ChangeOfClaim(controller_.spec, present);
    if (change.what.empty()) return false;
    const std::string claim = "statesave-" + present.metadata.name + "-0";
    findings_.Problem(
        "ClaimUnchanged",
        "spec.persistence asks for another volume than StatefulSet " + present.metadata.name + " has (" + change.what +
            "), and Kubernetes lets nobody change that; slurmctld keeps the one it has" +
            (change.needs_volume ? ", and nothing else of it changes either" : "") + ". To have the StatefulSet made " +
            "anew, while slurmctld runs on: " + MadeAnew(controller_) +
            ". No state is copied; a claim that is there (" + claim +
            ") stays as it is, and grows by its own spec.resources.requests, where its storage class allows it");
    return change.needs_volume;
  }

  // A StatefulSet replaces no pod before it is ready, so that one which never can be holds up the template that mends it.
  void ReplaceStuck() {
    const StatefulSet* set = OwnSet();
    if (set == nullptr || set->metadata.deleting() || set->status.update_revision.empty()) return;
    if (set->status.observed_generation < set->metadata.generation) return;
    for (const Pod& pod : world_.OwnedBy<Pod>(set->metadata.uid)) {
      const std::string& revision = pod.metadata.Label(std::string(kLabelSetRevision));
      if (revision.empty() || revision == set->status.update_revision) continue;
      if (pod.metadata.deleting() || !render::NeverRan(pod)) continue;
      plan::Action remove =
          plan::DeleteUnchanged({&kube::kPods, {ns_, pod.metadata.name}}, pod.metadata.uid,
                                pod.metadata.resource_version, "it never ran, and its template has changed since");
      remove.event = {.reason = "SuccessfulDelete", .action = "Delete"};
      plan_.Add(std::move(remove));
    }
  }

  // --- Who is in charge ----------------------------------------------------------------------------------------------

  // With several slurmctld, the Service leads to the one in charge; without an answer from Slurm, to the first.
  std::vector<plan::ActionId> LabelActive() {
    const StatefulSet* set = Set();
    if (!Ha() || set == nullptr) return {};
    std::string active = ControllerName(name_) + "-0";
    if (plan_.slurm) {
      const auto in_charge = world_.Ask(InCharge(plan_.slurm_cluster), kInChargeAge);
      if (in_charge.state == plan::AnswerState::kPending || in_charge.state == plan::AnswerState::kFailed) {
        if (in_charge.value == nullptr && AnyLabelled(*set)) return {};  // nobody knows better than before
      }
      if (in_charge.value != nullptr) active = *in_charge.value;
    }
    std::vector<plan::ActionId> labelled;
    for (const Pod& pod : world_.OwnedBy<Pod>(set->metadata.uid)) Label(pod, pod.metadata.name == active, labelled);
    return labelled;
  }

  bool AnyLabelled(const StatefulSet& set) const {
    for (const Pod& pod : world_.OwnedBy<Pod>(set.metadata.uid)) {
      if (pod.metadata.Label(std::string(kLabelActive)) == "true") return true;
    }
    return false;
  }

  void Label(const Pod& pod, bool active, std::vector<plan::ActionId>& labelled) {
    if ((pod.metadata.Label(std::string(kLabelActive)) == "true") == active || pod.metadata.deleting()) return;
    const std::string patch =
        R"({"metadata":{"labels":{")" + std::string(kLabelActive) + R"(":)" + (active ? R"("true")" : "null") + "}}}";
    const plan::ActionId id =
        plan_.Add({.effect = plan::MergePatch(active ? "activate" : "deactivate",
                                              {&kube::kPods, {ns_, pod.metadata.name}}, pod.metadata.uid, patch),
                   .reason = active ? "this slurmctld is in charge" : "another slurmctld is in charge",
                   .guards = {},
                   .after = {},
                   .event = {}});
    if (active) labelled.push_back(id);
  }

  // --- What is said about it -----------------------------------------------------------------------------------------

  const StatefulSet* Set() const { return world_.Find<StatefulSet>({ns_, ControllerName(name_)}); }

  // nullptr also for one that somebody else controls; the apply says whose it is.
  const StatefulSet* OwnSet() const {
    const StatefulSet* set = Set();
    const json::OwnerReference* owner = set == nullptr ? nullptr : set->metadata.ControllerOwner();
    return owner != nullptr && owner->uid != controller_.metadata.uid ? nullptr : set;
  }

  void SettleExternal(bool published) {
    const std::string where = render::ConfServer(controller_);
    if (published)
      findings_.Ready("slurmctld runs outside of Kubernetes, at " + where + "; its configuration is published");
  }

  void Settle() {
    const StatefulSet* set = Set();
    const bool current = set != nullptr && set->status.observed_generation >= set->metadata.generation;
    const int32_t ready = current ? set->status.ready_replicas : 0;
    const int32_t wanted = controller_.spec.Replicas();
    if (ready > 0) {
      findings_.Ready(wanted == 1 ? "slurmctld is ready"
                                  : std::to_string(ready) + " of " + std::to_string(wanted) + " slurmctld are ready");
    }
    if (set == nullptr && findings_.waits.empty() && findings_.problems.empty()) {
      findings_.Wait("Creating", "slurmctld is being created");
    }
    if (set == nullptr || (current && ready >= wanted)) return;
    findings_.Wait("Starting",
                   "slurmctld is starting: " + std::to_string(ready) + " of " + std::to_string(wanted) + " ready");
    for (const Pod& pod : world_.OwnedBy<Pod>(set->metadata.uid)) {
      if (std::string trouble = render::PodTrouble(pod); !trouble.empty())
        findings_.Problem("PodFailing", std::move(trouble));
    }
  }

  const plan::World& world_;
  api::Controller controller_;  // with its defaults, and without the fields that the API server does not know
  const std::string ns_;
  const std::string name_;
  render::Findings findings_;
  plan::Plan plan_;
};

}  // namespace

plan::Plan Decide(const plan::World& world, const kube::Key& key) {
  const api::Controller* found = world.Find<api::Controller>(key);
  // One that is being deleted leaves its children to the garbage collector.
  if (found == nullptr || found->metadata.deleting()) return {};
  api::Controller controller = *found;
  controller.spec = api::WithDefaults(std::move(controller.spec));
  return Deciding(world, std::move(controller)).Run();
}

}  // namespace capstan::op::controller
