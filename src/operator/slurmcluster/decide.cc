#include "operator/slurmcluster/decide.h"

#include <algorithm>

#include "api/accounting.h"
#include "api/controller.h"
#include "api/loginset.h"
#include "api/nodeset.h"
#include "api/restapi.h"
#include "api/slurmcluster.h"
#include "base/text.h"
#include "operator/names.h"
#include "operator/objects.h"
#include "operator/questions.h"
#include "operator/reconcile.h"
#include "operator/render/cluster.h"
#include "operator/render/metadata.h"
#include "operator/slurmcluster/parts.h"
#include "plan/objects/guards.h"
#include "plan/objects/lists.h"
#include "plan/objects/secrets.h"

namespace capstan::op::slurmcluster {
namespace {

constexpr size_t kLongestMessage = 500;  // of a part, in the status

// Nobody but the image's own accounts: sssd does not start without a domain.
constexpr std::string_view kNobodysSssdConf =
    "[sssd]\nconfig_file_version = 2\nservices = nss,pam\ndomains = DEFAULT\n\n[nss]\nfilter_users = root,slurm\n"
    "filter_groups = root,slurm\n\n[pam]\n\n[domain/DEFAULT]\nid_provider = proxy\nproxy_lib_name = files\n"
    "auth_provider = proxy\nproxy_pam_target = sssd-shadowutils\n";

class Deciding : Reconcile<api::SlurmCluster> {
 public:
  Deciding(const plan::World& seen, const api::SlurmCluster& found)
      : Reconcile(seen, found),
        ns_(found.metadata.namespace_),
        name_(found.metadata.name),
        held_(std::ranges::find(found.metadata.finalizers, kFinalizerDrain) != found.metadata.finalizers.end()) {}

  plan::Plan Run() {
    if (object.metadata.deleting()) return Leave();
    HoldOrRelease();
    if (*object.spec.paused)
      KeepWhatIsThere();
    else
      Compose();
    LookAtParts();
    if (std::ranges::all_of(status_.parts, &api::ClusterPart::ready)) findings.Ready(ReadyText());
    return Told(Phase());
  }

 private:
  plan::ObjectRef Self() const { return {&api::SlurmCluster::kResource, {ns_, name_}}; }
  bool IsStopped() const { return object.spec.mode == api::kModeStopped; }
  bool DrainsFirst() const { return object.spec.deletion_policy == api::kDeleteDrained; }

  // --- What is wanted

  void HoldOrRelease() {
    if (DrainsFirst() && !held_) {
      plan.Add({.effect = plan::AddFinalizer(Self(), object.metadata, kFinalizerDrain),
                .reason = "its workers are to be drained before it goes"});
    } else if (!DrainsFirst() && held_) {
      plan.Add({.effect = plan::RemoveFinalizer(Self(), object.metadata, kFinalizerDrain),
                .reason = "spec.deletionPolicy is Now"});
    }
  }

  void Compose() {
    const Settings settings = SettingsOf(world);
    const api::SlurmClusterSpec& spec = object.spec;
    if (auto files = FileParts(object)) {
      std::ranges::move(*files, std::back_inserter(plan.children));
    } else {
      findings.Problem("InvalidSpec", files.error().message());
      KeepWhatIsThere();
    }
    Want(ControllerPart(object, settings));
    Want(RestApiPart(object, settings));
    if (spec.accounting) Want(AccountingPart(object, settings));
    if (spec.login) {
      if (spec.login->sssd_conf_ref.name.empty()) MakeSssdConf();
      Want(LoginSetPart(object, settings));
    }
    for (const api::ClusterNodeSet& set : spec.node_sets) Want(NodeSetPart(object, set, settings));
    const auto* controller = world.Find<api::Controller>({ns_, name_});
    if (controller != nullptr && NamesWhatIsNotWanted(*controller, object)) KeepWhatIsThere();
  }

  void MakeSssdConf() {
    const kube::Key secret{ns_, SssdSecretName(name_)};
    if (!world.Ask(SecretDigest(secret), kReferenceAge).absent()) return;
    render::JsonObject metadata;
    metadata["ownerReferences"] = render::OwnerReferences(render::OwnerOf(object));
    plan.Add({.effect = plan::CreateSecret(
                  {.key = secret, .metadata = json::Serialize(json::Value(std::move(metadata)))},
                  plan::SecretText(std::string(kSssdKey), {{.text = std::string(kNobodysSssdConf)}})),
              .reason = "logins want an sssd.conf, and spec.login.sssdConfRef names none"});
  }

  // --- What there is

  void LookAtParts() {
    const api::SlurmClusterSpec& spec = object.spec;
    Look<api::Controller>(name_);
    if (const auto* rest_api = Look<api::RestApi>(name_)) status_.endpoints.rest = render::RestApiUrl(*rest_api);
    if (spec.accounting) Look<api::Accounting>(name_);
    if (spec.login) LookAtLogins(Look<api::LoginSet>(LoginSetName(name_)));
    for (const api::ClusterNodeSet& set : spec.node_sets) {
      const auto* part = Look<api::NodeSet>(NodeSetName(name_, set.name));
      if (part == nullptr) continue;
      Count(part->status);
      const bool numbered = IsStopped() || !part->spec.IsDaemonSet();
      if (numbered) Counts(part->metadata, part->spec.replicas, part->status.desired);
    }
  }

  // What runs does not yet follow the number that is wanted now: no generation tells that it was stopped, or is no more. Of the part
  // that was looked at last.
  void Counts(const json::ObjectMeta& metadata, std::optional<int32_t> replicas, int32_t told) {
    const int32_t wanted = IsStopped() ? 0 : replicas.value_or(1);
    api::ClusterPart& part = status_.parts.back();
    if (!part.ready || (op::IsStopped(metadata) == IsStopped() && told == wanted)) return;
    part.ready = false;
    part.message = std::to_string(told) + " are wanted of it still, to be " + std::to_string(wanted);
    findings.Wait("PartNotReady", part.kind + " " + part.name + ": " + part.message);
  }

  void LookAtLogins(const api::LoginSet* login) {
    if (login == nullptr) return;
    const int32_t port = login->spec.service.port.value_or(0);
    status_.endpoints.ssh = login->metadata.name + "." + ns_ + ":" + std::to_string(port > 0 ? port : kSshPort);
    status_.logins.desired = IsStopped() ? 0 : login->spec.replicas.value_or(1);
    Counts(login->metadata, login->spec.replicas, login->status.replicas);
    const auto* deployment = world.Find<Deployment>({ns_, login->metadata.name});
    if (deployment != nullptr) status_.logins.ready = deployment->status.ready_replicas;
  }

  void Count(const api::NodeSetStatus& set) {
    api::ClusterNodes& nodes = status_.nodes;
    nodes.desired += set.desired;
    nodes.ready += set.ready_replicas;
    nodes.idle += set.slurm_idle;
    nodes.allocated += set.slurm_allocated;
    nodes.drained += set.slurm_drain;
    nodes.down += set.slurm_down;
    workers_ += set.replicas;
  }

  // Pods of it that are there, also while their sessions go on.
  bool HasLogins() const { return !world.By<Pod>(kIndexDeployment, ns_ + "/" + LoginSetName(name_)).empty(); }

  // Says how far the part is; nullptr: it is not there, or somebody else's.
  template <class T>
  const T* Look(const std::string& part_name) {
    const std::string kind(T::kResource.kind), who = kind + " " + part_name;
    api::ClusterPart& part = status_.parts.emplace_back();
    part.kind = kind;
    part.name = part_name;
    const T* found = world.Find<T>({ns_, part_name});
    if (found == nullptr || found->metadata.deleting()) {
      part.message = found == nullptr ? "it is not there yet" : "it is being deleted";
      findings.Wait("CreatingParts", who + ": " + part.message);
      return nullptr;
    }
    const json::OwnerReference* owner = found->metadata.ControllerOwner();
    if (owner == nullptr || owner->uid != object.metadata.uid) {
      part.message = "it belongs to somebody else";
      findings.Wait("PartNotReady", who + ": " + part.message);
      return nullptr;
    }
    LookAtConditions(part, who, found->metadata.generation, found->status.conditions);
    return found;
  }

  void LookAtConditions(api::ClusterPart& part, const std::string& who, int64_t generation,
                        const api::Conditions& conditions) {
    const api::Condition* ready = api::FindCondition(conditions, api::kReady);
    const api::Condition* degraded = api::FindCondition(conditions, api::kDegraded);
    const api::Condition* progressing = api::FindCondition(conditions, api::kProgressing);
    const bool current = ready != nullptr && ready->observed_generation >= generation;
    const bool moves = progressing != nullptr && progressing->status == "True";
    part.ready = current && ready->status == "True" && !moves;
    part.message = OneLine(!current ? "nobody has looked at its change yet"
                           : moves  ? progressing->message
                                    : ready->message,
                           kLongestMessage);
    if (degraded != nullptr && degraded->status == "True")
      findings.Problem("PartDegraded", who + ": " + OneLine(degraded->message, kLongestMessage));
    if (!part.ready) findings.Wait("PartNotReady", who + ": " + part.message);
  }

  std::string ReadyText() const {
    if (IsStopped()) return "it is stopped";
    return std::to_string(status_.nodes.ready) + " workers are ready, and so is all the rest";
  }

  // --- Words

  std::string_view Phase() const {
    if (*object.spec.paused) return "Paused";
    if (IsStopped()) return workers_ == 0 && !HasLogins() && findings.ready ? "Stopped" : "Stopping";
    Findings all = findings;
    all.AddFailures(world);
    if (!all.problems.empty()) return "Degraded";
    if (findings.ready) return "Ready";
    const std::string& before = object.status.phase;
    return before.empty() || before == "Installing" ? "Installing" : "Updating";
  }

  plan::Plan Told(std::string_view phase) {
    status_.phase = phase;
    status_.observed_generation = object.metadata.generation;
    return Finish(std::move(status_));
  }

  // --- Its end

  // Without the finalizer Kubernetes collects all at once.
  plan::Plan Leave() {
    if (!held_) return {};
    const auto& finalizers = object.metadata.finalizers;
    plan::Action release{.effect = plan::RemoveFinalizer(Self(), object.metadata, kFinalizerDrain),
                         .reason = "spec.deletionPolicy is Now"};
    if (std::ranges::find(finalizers, kFinalizerOrphan) != finalizers.end()) {
      release.reason = "its parts are to live on without it";
    } else if (DrainsFirst()) {
      TakeAway<api::NodeSet>();
      TakeAway<api::LoginSet>();
      if (HasLogins()) findings.Wait("Deleting", "logins wait until nobody is logged in");
      if (!findings.waits.empty()) return Told("Deleting");
      release.reason = "no worker and no login is left";
      release.guards = NobodyIsLeft();
    }
    plan.Add(std::move(release));
    return Told("Deleting");
  }

  plan::Guards NobodyIsLeft() const {
    std::vector<std::string> labels;
    for (const auto& [key, value] : render::SelectorLabels(kLogin, LoginSetName(name_)))
      labels.push_back(key + "=" + value);
    return {plan::NothingControlled(api::NodeSet::kResource, ns_, object.metadata.uid),
            plan::NothingControlled(api::LoginSet::kResource, ns_, object.metadata.uid),
            plan::PodsHaveEnded(ns_, Join(labels, ","))};
  }

  template <class T>
  void TakeAway() {
    for (const T& part : world.OwnedBy<T>(object.metadata.uid)) {
      const json::ObjectMeta& metadata = part.metadata;
      const std::string who = std::string(T::kResource.kind) + " " + metadata.name;
      const api::Condition* says = api::FindCondition(part.status.conditions, api::kProgressing);
      findings.Wait("Deleting", who + (metadata.deleting() && says ? ": " + says->message : " goes first"));
      if (metadata.deleting()) continue;
      plan.Add(plan::DeleteUnchanged({&T::kResource, {ns_, metadata.name}}, metadata.uid, metadata.resource_version,
                                     "its SlurmCluster is being deleted"));
    }
  }

  const std::string ns_, name_;
  const bool held_;  // by our finalizer
  api::SlurmClusterStatus status_;
  int32_t workers_ = 0;  // pods that are there
};

}  // namespace

plan::Plan Decide(const plan::World& world, const kube::Key& key) {
  const auto* cluster = world.Find<api::SlurmCluster>(key);
  return cluster == nullptr ? plan::Plan() : Deciding(world, *cluster).Run();
}

}  // namespace capstan::op::slurmcluster
