#include "operator/controller/decide.h"

#include <algorithm>

#include "api/controller.h"
#include "base/hash.h"
#include "operator/controller/children.h"
#include "operator/controller/departed.h"
#include "operator/controller/immutable.h"
#include "operator/controller/inputs.h"
#include "operator/controller/live.h"
#include "operator/controller/partitions.h"
#include "operator/controller/questions.h"
#include "operator/controller/service_monitor.h"
#include "operator/controller/unheeded.h"
#include "operator/controller/unread.h"
#include "operator/keys.h"
#include "operator/names.h"
#include "operator/objects.h"
#include "operator/pods.h"
#include "operator/questions.h"
#include "operator/reasons.h"
#include "operator/reconcile.h"
#include "operator/render/cluster.h"
#include "operator/render/json.h"
#include "operator/render/metadata.h"
#include "operator/render/own_words.h"
#include "operator/restarts.h"
#include "operator/unknown_fields.h"
#include "operator/upgrades.h"
#include "plan/objects/effects.h"
#include "plan/objects/secrets.h"
#include "slurm/named_nodes.h"

namespace capstan::op::controller {
namespace {

constexpr size_t kKeyBytes = 64;
constexpr Duration kInChargeAge = 5s;
constexpr Duration kCutOff = 30s;  // by then one that stands by would have taken over
constexpr Duration kQueueAge = 30s;

// Whether the operator may make the key `which` ("slurm" or "jwt") when there is none: only if the Controller's annotation
// says "true", or the key's own name. A new key in place of a lost one cuts off every running daemon, so nobody gets one
// unasked.
bool MayGenerate(const api::Controller& controller, std::string_view which) {
  std::string wish = controller.metadata.Annotation(std::string(kAnnotationGenerateKeys));
  if (wish.empty()) wish = controller.metadata.Annotation(std::string(kFormerAnnotationGenerateKeys));
  return wish == "true" || wish == which;
}

// One Decide at work: what it sees, and the Plan that grows.
class Deciding : Reconcile<api::Controller> {
 public:
  Deciding(const plan::World& seen, const api::Controller& found)
      : Reconcile(seen, found), ns_(found.metadata.namespace_), name_(found.metadata.name) {
    plan.slurm_cluster = ClusterOf(ns_, name_);
  }

  plan::Plan Run() {
    DropUnknown();
    KeepClusterName();
    ConnectSlurm();
    WantForItsNodeSets(WorkerService(object));
    WantForItsNodeSets(WorkerBudget(object));
    ConfigInputs inputs = Collect(world, object, OwnSet(), LastPublished(), findings);
    KeepPartitions(inputs);
    const std::optional<PublishedConfig> config = Publish(inputs);
    if (External()) {
      CheckKeysOfExternal();
      SettleExternal(config.has_value());
    } else {
      Services(LabelActive());
      RunSlurmctld(inputs, config);
      FollowConfig(inputs, config);
      if (OwnSet() != nullptr) ReplaceStuck(*OwnSet(), &NeverRan, "it never ran");
      Monitor();
      Runs(Set(), object.spec.Replicas(), op::kController.app);
    }
    WatchAccountingQueue();
    AddUnheeded(object.spec, kUnheeded, findings);
    const std::string own =
        render::OwnWordsIn(object.spec.slurmctld, object.spec.pod_template.spec, render::kSlurmctldOwnWords);
    if (!own.empty()) {
      findings.Remark("NotSupported", own +
                                          " is left out: slurmctld has the configuration that is published, and the "
                                          "state that it saved");
    }
    return Finish(api::ControllerStatus());
  }

 private:
  bool External() const { return object.spec.external.value_or(false); }
  bool Ha() const { return object.spec.ha && object.spec.ha->enabled.value_or(false); }

  void Monitor() {
    if (!WantsServiceMonitor(object)) return;
    if (world.Served<ServiceMonitor>())
      plan.children.push_back(ServiceMonitorObject(object));
    else
      findings.Remark("NotSupported",
                      "spec.metrics.serviceMonitor: this API server has no kind ServiceMonitor; install the "
                      "Prometheus operator, or disable it");
  }

  void DropUnknown() {
    if (External()) return;
    api::ControllerSpec& spec = object.spec;
    DropUnknownPodFields(
        world, {ns_, name_}, {"spec.template.spec", &spec.pod_template.spec},
        {{"spec.slurmctld", &spec.slurmctld}, {"spec.reconfigure", &spec.reconfigure}, {"spec.logfile", &spec.logfile}},
        findings);
    DropUnknownServiceFields(world, {ns_, name_}, {"spec.service.spec", &spec.service.spec}, findings);
  }

  // The definition takes any name that ends with the Controller's in place of a derived one, since CEL does not see the
  // namespace.
  void KeepClusterName() {
    const PublishedConfig* last = LastPublished();
    const std::string kept = External() || !last ? "" : ClusterNameIn(last->slurm_conf);
    if (kept.empty() || kept == object.ClusterName()) return;
    findings.Problem("InvalidSpec", "the ClusterName would change from " + kept + " to " + object.ClusterName() +
                                        ", and slurmctld would refuse its state; it stays " + kept +
                                        ". Set spec.clusterName to that");
    object.spec.cluster_name = kept;
  }

  // Older releases had such an object owned by all NodeSets of the cluster, and by no controller.
  void WantForItsNodeSets(Result<plan::Child> child) {
    if (!Want(std::move(child))) return;
    for (const api::NodeSet& set : world.By<api::NodeSet>("controller", plan.slurm_cluster))
      plan.children.back().adoption.owners.push_back(set.metadata.uid);
  }

  // --- The way to Slurm ----------------------------------------------------------------------------------------------

  // Through the oldest RestApi: of several, one that comes later must not turn everybody around.
  void ConnectSlurm() {
    const api::RestApi* oldest = nullptr;
    for (const api::RestApi& rest_api : world.By<api::RestApi>("controller", plan.slurm_cluster)) {
      if (rest_api.metadata.deleting()) continue;
      if (oldest == nullptr || rest_api.metadata.creation_timestamp < oldest->metadata.creation_timestamp)
        oldest = &rest_api;
    }
    const api::SecretKeySelector* key = api::JwtKey(object.spec);
    if (oldest == nullptr || key == nullptr || !IsBehindItsService(*oldest)) return;
    plan.slurm = plan::SlurmConnection{.server = render::RestApiUrl(*oldest, SettingsOf(world)),
                                       .token_secret = {ns_, key->name},
                                       .token_key = key->key};
  }

  bool IsBehindItsService(const api::RestApi& rest_api) {
    const kube::Key name{ns_, RestApiName(rest_api.metadata.name)};
    const auto* service = world.Find<Service>(name);
    if (service == nullptr) return false;  // it is being made
    if (render::LeadsToItsPods(*service, rest_api)) return true;
    findings.Problem("NameConflict", "Slurm is not asked, as Service " + name.ToString() +
                                         " does not belong to RestApi " + rest_api.metadata.name +
                                         ", or leads elsewhere; remove it, or rename the RestApi");
    return false;
  }

  // --- Configuration -------------------------------------------------------------------------------------------------

  // The configuration that is to be there: the new one, or, when there cannot be a new one, that published last. The
  // latter is not written again: a write of ours says that it was made from inputs that are known (restapi/decide.cc).
  std::optional<PublishedConfig> Publish(const ConfigInputs& inputs) {
    if (inputs.complete && !WaitsForSlurmdbd()) {
      std::vector<std::string> doubts;
      auto made = MakeConfig(object, inputs, doubts);
      if (made && !MayPublish(*made)) {
        KeepWhatIsThere();
        return LastConfig();
      }
      if (made) {
        plan.children.push_back(ConfigObject(object, *made));
        for (std::string& doubt : doubts) findings.Remark("ConfigDoubtful", std::move(doubt));
        return *std::move(made);
      }
      findings.Problem("ConfigRefused", "the configuration is not published: " + made.error().message());
    }
    KeepWhatIsThere();
    return LastConfig();
  }

  void KeepPartitions(ConfigInputs& inputs) {
    if (External()) return;
    const auto settled = inputs.complete ? SettlePartitions(inputs.config, findings) : Result<void>();
    if (!settled) {
      inputs.complete = false;
      findings.Problem("ConfigRefused", "the configuration is not published: " + settled.error().message());
    }
    inputs.config.departed =
        KeepDeparted(*this, {ns_, ConfigName(name_)}, FindDeparted(inputs.config.published, inputs.config),
                     object.status.conditions);
  }

  // With state of before, and none of accounting, slurmctld does not start until it has heard slurmdbd.
  bool WaitsForSlurmdbd() {
    const auto slurmdbd = SlurmdbdBefore(world, object);
    if (!slurmdbd || OwnSet() == nullptr) return false;
    const PublishedConfig* last = LastPublished();
    if (!last || !last->slurm_conf.contains("AccountingStorageType=accounting_storage/none")) return false;
    if (slurmdbd->set != nullptr && slurmdbd->set->status.ready_replicas > 0) return false;
    findings.Wait("WaitingForSlurmdbd",
                  "accounting is turned on, and other changes of slurm.conf with it, once slurmdbd of " + slurmdbd->of +
                      " is ready; slurmctld runs on without");
    return true;
  }

  // A pod that got it from its kubelet, and was not started anew for options that need that, would cut slurmctld off.
  bool MayPublish(const PublishedConfig& made) {
    if (OwnSet() == nullptr || !HashOf(made).changed) return true;
    const api::ControllerSpec& spec = object.spec;
    const auto known = [&](const api::SecretKeySelector* ref) { return FindKey(world, ns_, ref, "").known(); };
    return known(spec.slurm_key_ref ? &*spec.slurm_key_ref : nullptr) && known(api::JwtKey(spec)) &&
           !ChangeOfClaim(spec, *OwnSet()).needs_volume;
  }

  // What the pods of one that was made by an older release run with is what was published last.
  TemplateHash HashOf(const PublishedConfig& config) const {
    const StatefulSet* present = OwnSet();
    const PublishedConfig* last = LastPublished();
    const std::string options = SlurmctldOptions(config.slurm_conf);
    const bool same = !last || last->slurm_conf == config.slurm_conf;
    return HashFor(options, present == nullptr ? nullptr : &present->metadata,
                   present == nullptr ? nullptr : &present->spec.pod_template.metadata,
                   same ? options : SlurmctldOptions(last->slurm_conf));
  }

  // nullptr: nothing, or by somebody else. One without an owner is of this Controller as it was before, as its StatefulSet is.
  const PublishedConfig* LastPublished() const {
    const ConfigMap* published = world.Find<ConfigMap>({ns_, ConfigName(name_)});
    if (published == nullptr || published->data.slurm_conf.empty()) return nullptr;
    const json::OwnerReference* owner = published->metadata.ControllerOwner();
    return owner != nullptr && owner->uid != object.metadata.uid ? nullptr : &published->data;
  }

  std::optional<PublishedConfig> LastConfig() const {
    const PublishedConfig* last = LastPublished();
    return last == nullptr ? std::nullopt : std::optional(*last);
  }

  // --- slurmctld -----------------------------------------------------------------------------------------------------

  // `labelled`: what must have been done before the Service leads to the labelled pods alone.
  void Services(std::vector<plan::ActionId> labelled) {
    Want(InternalService(object));
    if (Want(ClientService(object, Ha() || IsLabelled()))) plan.children.back().after = std::move(labelled);
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
    const Pod* pod = world.Find<Pod>({ns_, ControllerName(name_) + "-0"});
    return pod == nullptr || pod->metadata.deleting() || says_so(pod->metadata.labels);
  }

  void RunSlurmctld(const ConfigInputs& inputs, const std::optional<PublishedConfig>& config) {
    const api::ControllerSpec& spec = object.spec;
    const FoundKey slurm_key =
        FindKey(world, ns_, spec.slurm_key_ref ? &*spec.slurm_key_ref : nullptr, "spec.slurmKeyRef");
    const FoundKey jwt_key = FindKey(world, ns_, api::JwtKey(spec), "spec.jwtKeyRef");
    HandleKey(slurm_key, spec.slurm_key_ref ? &*spec.slurm_key_ref : nullptr, "slurm");
    HandleKey(jwt_key, api::JwtKey(spec), "jwt");
    const bool claim_fits = ClaimFits();
    if (!slurm_key.known() || !jwt_key.known() || !config || !inputs.complete || !claim_fits) {
      return KeepWhatIsThere();
    }
    if (Set() == nullptr && !HasSettled(ConfigHash(*config, {}), op::kController.app)) return KeepWhatIsThere();
    const StatefulSet* present = OwnSet();
    const TemplateHash hash = HashOf(*config);
    PodHashes hashes{.slurm_key = slurm_key.digest,
                     .jwt_key = jwt_key.digest,
                     .config = hash.pods,
                     .sidecar = present != nullptr && HasSidecar(*present),
                     .restart_options = SlurmctldOptions(config->slurm_conf)};
    auto set = SlurmctldSet(object, hashes, SettingsOf(world), present);
    if (set && present != nullptr && LacksVolume(*present)) return KeepWhatIsThere();
    if (set && present != nullptr) {
      set = InOrder(*this, SlurmdbdBefore(world, object), op::kController, present->spec.pod_template, *std::move(set),
                    NoneEverRan(*present));
    }
    if (set && hash.changed) set->event = {.reason = EventWord("SlurmctldRestarting"), .action = "Restart"};
    Want(std::move(set));
  }

  // The sidecar of an older release stays until slurmctld has another image, whose first process does its work.
  bool HasSidecar(const StatefulSet& present) const {
    const PodTemplateSpec& pod = present.spec.pod_template.spec;
    const auto image = std::ranges::find(pod.containers, op::kController.app, &ContainerImage::name);
    const auto before = SlurmctldBefore(world, object);
    return object.spec.inplace_reconfigure.value_or(false) && image != pod.containers.end() && before &&
           image->image == before->image &&
           std::ranges::find(pod.init_containers, "reconfigure", &ContainerImage::name) != pod.init_containers.end();
  }

  void FollowConfig(const ConfigInputs& inputs, const std::optional<PublishedConfig>& config) {
    if (OwnSet() == nullptr || !config || LastConfig() != config) return;
    LiveConfiguration::Files files = inputs.files;
    files["slurm.conf"] = Sha256Hex(config->slurm_conf);
    if (!config->cgroup_conf.empty()) files["cgroup.conf"] = Sha256Hex(config->cgroup_conf);
    if (!config->topology_yaml.empty()) files["topology.yaml"] = Sha256Hex(config->topology_yaml);
    std::vector<kube::Key> pods;
    for (int i = 0; i < object.spec.Replicas(); ++i) {
      const Pod* pod = world.Find<Pod>({ns_, PodOf(i)});
      if (pod != nullptr && !pod->metadata.deleting() && pod->status.phase == "Running")
        pods.push_back({ns_, pod->metadata.name});
    }
    if (pods.empty()) pods.push_back({ns_, PodOf(0)});
    Follow(*this,
           {.pods = std::move(pods),
            .files = std::move(files),
            .complete = inputs.complete,
            .hash = ConfigHash(*config, inputs.digests)},
           object.status.conditions);
    const auto on_its_way = [](const OwnCondition& one) {
      return one.type == api::kConfigLive && one.status == "False";
    };
    if (std::ranges::any_of(findings.own, on_its_way)) return;
    std::vector<std::string> named = inputs.nodes;
    std::ranges::move(slurm::NamedNodes("slurm.conf", config->slurm_conf), std::back_inserter(named));
    ReadWithNewNodes(*this, std::move(named), {ns_, PodOf(0)});
  }

  bool NoneEverRan(const StatefulSet& set) const {
    const auto pods = world.OwnedBy<Pod>(set.metadata.uid);
    const auto never = [](const Pod& pod) { return NeverRan(pod) && !PodTrouble(pod).empty(); };
    return !pods.empty() && std::ranges::all_of(pods, never);
  }

  void HandleKey(const FoundKey& key, const api::SecretKeySelector* ref, std::string_view which) {
    switch (key.state) {
      case FoundKey::State::kKnown:
        return;
      case FoundKey::State::kUnknown:
        return findings.Wait("ReadingKeys", key.message);
      case FoundKey::State::kWrong:
        return findings.Problem("KeyMissing", key.message);
      case FoundKey::State::kAbsent:
        break;
    }
    if (!MayGenerate(object, which)) {
      return findings.Problem("KeyMissing", key.message + ", or set the annotation " +
                                                std::string(kAnnotationGenerateKeys) +
                                                "=true on the Controller to have it made");
    }
    // A slurmctld that runs has a key that it got somewhere; another one would cut it off from its nodes.
    if (Set() != nullptr) return findings.Problem("KeyMissing", key.message);
    MakeKey(*ref);
  }

  // They are the other cluster's, and never made: slurmrestd and the operator speak to it with them.
  void CheckKeysOfExternal() {
    const api::ControllerSpec& spec = object.spec;
    for (const auto& [ref, field] : {std::pair(spec.slurm_key_ref ? &*spec.slurm_key_ref : nullptr, "spec.slurmKeyRef"),
                                     std::pair(api::JwtKey(spec), "spec.jwtKeyRef")}) {
      if (ref == nullptr) continue;
      ReportKey(FindKey(world, ns_, ref, field), findings);
    }
  }

  void MakeKey(const api::SecretKeySelector& ref) {
    const kube::Key secret{ns_, ref.name};
    render::JsonObject labels{{"app.kubernetes.io/part-of", "slurm"}, {kLabelInstance, name_}};
    const std::string metadata = json::SerializeCanonical(render::JsonObject{{"labels", std::move(labels)}});
    plan.Add({.effect = plan::CreateSecret({.key = secret, .metadata = metadata, .immutable = true},
                                           plan::RandomBytes(ref.key, kKeyBytes)),
              .reason = "the cluster has no key yet, and the Controller asks for one to be made",
              .guards = {},
              .after = {},
              .event = {{.reason = EventWord("KeyCreated"), .action = "Create"}}});
    findings.Wait("CreatingKeys", "Secret " + secret.ToString() + " is being created");
  }

  // Several slurmctld need a claim that several pods may write to. One that is not there yet may still become that.
  bool ClaimFits() {
    if (!Ha() || !object.spec.persistence || object.spec.persistence->existing_claim.empty()) return true;
    const kube::Key key{ns_, object.spec.persistence->existing_claim};
    const auto claim = world.Ask(VolumeClaim(key), kReferenceAge);
    if (claim.absent()) return true;
    if (claim.value == nullptr) {
      findings.Wait("ReadingReferences",
                    "PersistentVolumeClaim " + key.ToString() +
                        (claim.error.empty() ? " is being looked for" : " cannot be read: " + claim.error));
      return false;
    }
    if (std::ranges::find(claim.value->access_modes, "ReadWriteMany") != claim.value->access_modes.end()) return true;
    findings.Problem("ClaimRefused", "spec.ha needs access mode ReadWriteMany, which PersistentVolumeClaim " +
                                         key.ToString() + " does not have");
    return false;
  }

  // Says what the user asks of the state's volume and does not get. True when slurmctld would have none at all.
  bool LacksVolume(const StatefulSet& present) {
    const ClaimChange change = ChangeOfClaim(object.spec, present);
    if (change.what.empty()) return false;
    const std::string claim = "statesave-" + present.metadata.name + "-0";
    findings.Problem(
        "ClaimUnchanged",
        "spec.persistence asks for another volume than StatefulSet " + present.metadata.name + " has (" + change.what +
            "), and Kubernetes lets nobody change that; slurmctld keeps the one it has" +
            (change.needs_volume ? ", and nothing else of it changes either" : "") + ". To have the StatefulSet made " +
            "anew, while slurmctld runs on: " + MadeAnew(object) + ". No state is copied; a claim that is there (" +
            claim +
            ") stays as it is, and grows by its own spec.resources.requests, where its storage class allows it");
    return change.needs_volume;
  }

  // --- Who is in charge ----------------------------------------------------------------------------------------------

  // With several slurmctld the Service leads to the one in charge; while nobody says that he is, to the one it led to, or
  // to the first: one that stands by answers too, and whoever asks tries again.
  std::vector<plan::ActionId> LabelActive() {
    const StatefulSet* set = Set();
    if (!Ha() || set == nullptr) return {};
    std::vector<const Pod*> pods;
    for (const Pod& pod : world.OwnedBy<Pod>(set->metadata.uid)) {
      if (!pod.metadata.deleting()) pods.push_back(&pod);
    }
    std::ranges::sort(pods, {}, [](const Pod* pod) { return pod->metadata.name; });
    const std::string in_charge = FindInCharge(pods);
    const Pod* active = nullptr;
    for (const Pod* pod : pods) {
      if (pod->metadata.name == in_charge) active = pod;
    }
    for (const Pod* pod : pods) {
      if (active == nullptr && pod->metadata.Label(std::string(kLabelActive)) == "true") active = pod;
    }
    if (active == nullptr && !pods.empty()) active = pods.front();
    std::vector<plan::ActionId> labelled;
    for (const Pod* pod : pods) Label(*pod, pod == active, labelled);
    return labelled;
  }

  std::string PodOf(int ordinal) const { return ControllerName(name_) + "-" + std::to_string(ordinal); }

  // Its pod; "": nobody, or nobody knows. Says so in a condition.
  std::string FindInCharge(const std::vector<const Pod*>& pods) {
    std::vector<InCharge::Candidate> candidates;
    for (const Pod* pod : pods) candidates.push_back({pod->metadata.name, pod->status.pod_ip});
    const auto answer = world.Ask(InCharge(plan.slurm_cluster, std::move(candidates)), kInChargeAge);
    if (answer.value == nullptr) {
      findings.Own(api::kSlurmctldInCharge, "Unknown", "NotAnswering",
                   answer.error.empty() ? "the pods of slurmctld are being asked"
                                        : "the pods of slurmctld cannot be asked: " + answer.error);
      return "";
    }
    if (!answer.value->pod.empty()) {
      findings.Own(api::kSlurmctldInCharge, "True", "InCharge",
                   "slurmctld of pod " + answer.value->pod + " is in charge");
      return answer.value->pod;
    }
    const std::optional<int> writer = answer.value->writer;
    if (!writer) {
      findings.Own(api::kSlurmctldInCharge, "False", "NobodyInCharge",
                   "no slurmctld is in charge; one that stands by takes over when the one before has been silent for "
                   "SlurmctldTimeout");
      return "";
    }
    const std::string message =
        "slurmctld of pod " + PodOf(*writer) +
        " cannot be reached, and still writes the state: it stays in charge, and no other takes over, since two would "
        "destroy it. Mend the network of its node, or switch that machine off";
    findings.Own(api::kSlurmctldInCharge, "False", "CutOff", message);
    const Duration held = world.HeldFor("slurmctld " + std::to_string(*writer) + " is cut off");
    if (held >= kCutOff)
      findings.Problem("CutOff", message);
    else
      plan.RequeueAfter(kCutOff - held);
    return "";
  }

  void Label(const Pod& pod, bool active, std::vector<plan::ActionId>& labelled) {
    if ((pod.metadata.Label(std::string(kLabelActive)) == "true") == active) return;
    const std::string patch =
        R"({"metadata":{"labels":{")" + std::string(kLabelActive) + R"(":)" + (active ? R"("true")" : "null") + "}}}";
    const plan::ActionId id =
        plan.Add({.effect = plan::MergePatch(active ? "activate" : "deactivate",
                                             {&kube::kPods, {ns_, pod.metadata.name}}, pod.metadata.uid, patch),
                  .reason = active ? "this slurmctld is in charge" : "another slurmctld is in charge",
                  .guards = {},
                  .after = {},
                  .event = {}});
    if (active) labelled.push_back(id);
  }

  // --- Accounting ----------------------------------------------------------------------------------------------------

  // slurmctld keeps what slurmdbd does not take, as much as it can, and says nothing of it.
  void WatchAccountingQueue() {
    const auto& ref = object.spec.accounting_ref;
    if (!ref || ref->name.empty() || !world.Slurm(plan.slurm_cluster).heard()) return;
    const auto fill = world.Ask(AccountingQueueFill(plan.slurm_cluster), kQueueAge);
    if (fill.value == nullptr || fill.value->tenths == 0) return;
    const int tenths = fill.value->tenths;
    const std::string queue = "slurmctld's queue of messages for slurmdbd, which holds " +
                              std::to_string(fill.value->capacity) + ", is " +
                              (tenths == 10 ? "full" : std::to_string(tenths) + "0 % full");
    findings.Problem(
        "AccountingQueueFills",
        queue +
            (tenths == 10 ? ", and records of jobs are being lost" : ", and records of jobs are lost once it is full") +
            "; see why slurmdbd of Accounting " + ns_ + "/" + ref->name +
            " does not take them, or raise MaxDBDMsgs in spec.extraConf meanwhile");
  }

  // --- What is said about it -----------------------------------------------------------------------------------------

  const StatefulSet* Set() const { return world.Find<StatefulSet>({ns_, ControllerName(name_)}); }

  // nullptr also for one that somebody else controls; the apply says whose it is.
  const StatefulSet* OwnSet() const {
    const StatefulSet* set = Set();
    const json::OwnerReference* owner = set == nullptr ? nullptr : set->metadata.ControllerOwner();
    return owner != nullptr && owner->uid != object.metadata.uid ? nullptr : set;
  }

  void SettleExternal(bool published) {
    const std::string where = render::ConfServer(object);
    if (published)
      findings.Ready("slurmctld runs outside of Kubernetes, at " + where + "; its configuration is published");
  }

  const std::string ns_;
  const std::string name_;
};

}  // namespace

plan::Plan Decide(const plan::World& world, const kube::Key& key) {
  const auto* controller = FindToServe<api::Controller>(world, key);
  return controller == nullptr ? plan::Plan() : Deciding(world, *controller).Run();
}

}  // namespace capstan::op::controller
