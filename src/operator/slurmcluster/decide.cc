#include "operator/slurmcluster/decide.h"

#include <algorithm>

#include "api/accounting.h"
#include "api/controller.h"
#include "api/loginset.h"
#include "api/nodeset.h"
#include "api/restapi.h"
#include "api/sharedroot.h"
#include "api/slurmcluster.h"
#include "base/text.h"
#include "operator/names.h"
#include "operator/objects.h"
#include "operator/questions.h"
#include "operator/reconcile.h"
#include "operator/render/cluster.h"
#include "operator/render/metadata.h"
#include "operator/reservations.h"
#include "operator/slurmcluster/maintenance.h"
#include "operator/slurmcluster/parts.h"
#include "plan/objects/guards.h"
#include "plan/objects/lists.h"
#include "plan/objects/secrets.h"
#include "plan/slurm/effects.h"

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
        held_(Has(kFinalizerDrain)),
        may_be_reserved_(Has(kFinalizerMaintenance)) {
    plan.slurm_cluster = ClusterOf(ns_, name_);
  }

  plan::Plan Run() {
    if (object.metadata.deleting()) return Leave();
    HoldOrRelease();
    if (*object.spec.paused)
      KeepWhatIsThere();
    else
      Compose();
    LookAtParts();
    LookAtReservation();
    if (std::ranges::all_of(status_.parts, &api::ClusterPart::ready) &&
        (IsInMaintenance() ? keeps_jobs_out_ : lets_jobs_in_))
      findings.Ready(ReadyText());
    return Told(Phase());
  }

 private:
  plan::ObjectRef Self() const { return {&api::SlurmCluster::kResource, {ns_, name_}}; }
  bool IsInMaintenance() const { return object.spec.mode == api::kModeMaintenance && !object.metadata.deleting(); }
  bool IsStopped() const { return object.spec.mode == api::kModeStopped; }
  bool Has(std::string_view finalizer) const {
    const auto& finalizers = object.metadata.finalizers;
    return std::ranges::find(finalizers, finalizer) != finalizers.end();
  }
  // Its end waits for its workers.
  bool Drains() const { return held_ && DrainsFirst() && !Has(kFinalizerOrphan); }
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
    if (HasAnotherVolume()) return KeepWhatIsThere();
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
    const bool can_mount = CanMount();
    if (!can_mount) KeepWhatIsThere();
    if (spec.shared_root && can_mount) Want(SharedRootPart(object, settings));
    if (spec.login && spec.login->sssd_conf_ref.name.empty()) MakeSssdConf();
    if (spec.login) {
      const auto* there = world.Find<api::LoginSet>({ns_, LoginSetName(name_)});
      api::SlurmCluster wanted = object;
      const Root root = there == nullptr ? Root::kGets : RootOf(there->spec.login, there->spec.pod_template.spec);
      if (root == Root::kWaits) wanted.spec.shared_root.reset();
      if (root != Root::kStays && (can_mount || !wanted.spec.shared_root)) Want(LoginSetPart(wanted, settings));
    }
    for (const api::ClusterNodeSet& set : spec.node_sets) {
      const auto* there = world.Find<api::NodeSet>({ns_, NodeSetName(name_, set.name)});
      api::ClusterNodeSet wanted = set;
      const Root root = !*set.shared_root || there == nullptr
                            ? Root::kGets
                            : RootOf(there->spec.slurmd, there->spec.pod_template.spec);
      if (root == Root::kWaits) wanted.shared_root = false;
      if (root != Root::kStays && (can_mount || !*wanted.shared_root)) Want(NodeSetPart(object, wanted, settings));
    }
    const auto* controller = world.Find<api::Controller>({ns_, name_});
    if (controller != nullptr && NamesWhatIsNotWanted(*controller, object)) KeepWhatIsThere();
  }

  // What becomes of a part that is there until a generation is current: pods that were renewed for its volume would wait for what perhaps
  // never comes.
  enum class Root : uint8_t {
    kGets,   // it has the volume already, or a generation is current
    kWaits,  // it runs without a root, and goes on so
    kStays,  // it has another volume: nothing of it is changed
  };

  // `container`, `pod_spec`: of the part, as it is there.
  Root RootOf(const json::Raw& container, const json::Raw& pod_spec) {
    if (!object.spec.shared_root) return Root::kGets;
    const auto* root = world.Find<api::SharedRoot>({ns_, name_});
    if (root != nullptr && !root->status.current.generation.empty()) return Root::kGets;
    const bool has_one = container.text.contains(kRootVariable);
    if (has_one && HasClaim(pod_spec, RootClaimName(object))) return Root::kGets;
    findings.Wait("FillingRoot",
                  "logins and node sets that are there get the shared root once a generation of it is current");
    if (!has_one) return Root::kWaits;
    KeepWhatIsThere();
    return Root::kStays;
  }

  static bool HasClaim(const json::Raw& pod_spec, std::string_view claim) {
    const auto spec = json::ParseObject(pod_spec, "");
    const json::Value* volumes = spec ? json::Find(*spec, {"volumes"}) : nullptr;
    return volumes != nullptr && volumes->is_array() &&
           std::ranges::any_of(volumes->get_array(), [&](const json::Value& volume) {
             return json::FindText(volume, {"persistentVolumeClaim", "claimName"}) == claim;
           });
  }

  // A spec.sharedRoot that was taken away and written anew before its SharedRoot has gone: no pod gets a volume that root is not on.
  bool HasAnotherVolume() {
    if (!object.spec.shared_root) return false;
    const auto* root = world.Find<api::SharedRoot>({ns_, name_});
    if (root == nullptr || root->metadata.deleting()) return false;
    const json::OwnerReference* owner = root->metadata.ControllerOwner();
    if (owner == nullptr || owner->uid != object.metadata.uid || root->spec.claim == object.spec.shared_root->claim)
      return false;
    findings.Problem("InvalidSpec", "spec.sharedRoot.claim is not that of SharedRoot " + name_ +
                                        ", which cannot change: delete that SharedRoot, whose volume stays, or write "
                                        "the claim as it was; nothing is changed until then");
    return true;
  }

  // The volumes of spec.sharedRoot.mounts are there for many pods: one that is not would hold up every worker and login that is renewed.
  bool CanMount() {
    bool can = true;
    if (!object.spec.shared_root) return can;
    for (const api::RootMount& mount : object.spec.shared_root->mounts) {
      const kube::Key key{ns_, mount.claim};
      const std::string what =
          "PersistentVolumeClaim " + key.ToString() + ", named in spec.sharedRoot.mounts for " + mount.path + ", ";
      const auto claim = world.Ask(VolumeClaim(key), kReferenceAge);
      const auto is_for_many = [](const std::string& mode) {
        return mode == "ReadWriteMany" || mode == "ReadOnlyMany";
      };
      const std::string until = ": the root, logins and node sets stay as they are until then";
      if (mount.claim == RootClaimName(object)) {
        findings.Problem("InvalidSpec", what + "is that of the shared root itself; name another one" + until);
      } else if (claim.absent()) {
        findings.Problem("ReferenceMissing", what + "does not exist; create it, or correct the name" + until);
      } else if (claim.value == nullptr) {
        findings.Wait("ReadingReferences",
                      what + (claim.error.empty() ? "is being looked for" : "cannot be read: " + claim.error));
      } else if (claim.value->is_block || std::ranges::none_of(claim.value->access_modes, is_for_many)) {
        findings.Problem("ClaimRefused",
                         what +
                             (claim.value->is_block ? "is a device without a file system"
                                                    : "has neither access mode ReadWriteMany nor ReadOnlyMany, and "
                                                      "pods on all nodes mount it") +
                             until);
      } else {
        continue;
      }
      can = false;
    }
    return can;
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
    if (const auto* rest_api = Look<api::RestApi>(name_))
      status_.endpoints.rest = render::RestApiUrl(*rest_api, SettingsOf(world));
    if (spec.accounting) Look<api::Accounting>(name_);
    if (spec.shared_root) {
      if (const auto* root = Look<api::SharedRoot>(name_))
        status_.shared_root.generation = root->status.current.generation;
    }
    if (spec.login) LookAtLogins(Look<api::LoginSet>(LoginSetName(name_)));
    for (const api::ClusterNodeSet& set : spec.node_sets) {
      const auto* part = Look<api::NodeSet>(NodeSetName(name_, set.name));
      if (part == nullptr) continue;
      Count(part->status);
      // On demand, as many as Slurm has powered up are wanted.
      const bool on_demand = !part->metadata.Annotation(std::string(kAnnotationPower)).empty();
      const bool numbered = IsStopped() || !(part->spec.IsDaemonSet() || on_demand);
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

  // --- Maintenance

  // Slurm has the reservation of a maintenance exactly while one is wanted. The finalizer comes before it and goes after it, so that
  // none is left behind.
  void LookAtReservation() {
    const bool wanted = IsInMaintenance();
    if (wanted && IsOutside()) {
      findings.Problem(
          "NotSupported",
          "spec.mode is Maintenance, and slurmctld is outside of Kubernetes (spec.controller.spec.external): whoever "
          "runs it keeps jobs out");
      return;
    }
    if (!wanted && !may_be_reserved_) return;
    const Reserved seen{
        .name = ReservationName(name_),
        .slurm = world.Slurm(plan.slurm_cluster),
        .answer = world.Ask(ReservationInSlurm(plan.slurm_cluster, ReservationName(name_)), kReservationAge)};
    if (wanted)
      KeepJobsOut(seen);
    else
      LetJobsIn(seen);
  }

  struct Reserved {
    std::string name;
    plan::SlurmView slurm;
    plan::Answer<slurm::Reservation> answer;

    bool is_somebody_elses() const { return answer.value != nullptr && !IsForMaintenance(*answer.value); }
    bool is_read() const { return slurm.heard() && (answer.known() || answer.absent()); }
    // Why it is not known whether there is one; "": it is.
    std::string WhyUnknown() const {
      if (is_read()) return "";
      if (!slurm.heard()) return "Slurm is not heard";
      return answer.error.empty() ? "Slurm is being asked" : answer.error;
    }
  };

  bool IsOutside() const {
    const auto* controller = world.Find<api::Controller>({ns_, name_});
    return controller != nullptr && controller->spec.external.value_or(false);
  }

  bool IsBeingWritten(const Reserved& seen) const {
    return world.InFlight(plan::ReservationTarget(plan.slurm_cluster, seen.name));
  }

  void KeepJobsOut(const Reserved& seen) {
    if (seen.is_somebody_elses()) {
      findings.Problem("NameConflict", "Slurm has a reservation " + seen.name +
                                           " that is not one of a maintenance: delete it, or give it another name");
      return;
    }
    const slurm::Reservation* present = seen.answer.value;
    keeps_jobs_out_ = present != nullptr && op::slurmcluster::KeepsJobsOut(*present, world.now());
    const bool no_node = seen.is_read() && present == nullptr && seen.slurm.All().empty();
    if (!keeps_jobs_out_) {
      const std::string unknown = seen.WhyUnknown();
      findings.Wait("EnteringMaintenance", unknown.empty()
                                               ? "jobs still start: reservation " + seen.name + " is not made yet" +
                                                     (no_node ? ", as Slurm has no node" : "")
                                               : "it is not known whether jobs start: " + unknown);
    }
    if (*object.spec.paused) return;
    if (!may_be_reserved_) {
      plan.Add({.effect = plan::AddFinalizer(Self(), object.metadata, kFinalizerMaintenance),
                .reason = "a reservation in Slurm is to go before it"});
      return;
    }
    if (!seen.is_read() || no_node || IsBeingWritten(seen)) return;
    auto update = NextReservation(seen.name, present, world.now());
    if (!update) return;
    plan.Add({.effect = plan::WriteReservation(plan.slurm_cluster, *std::move(update)),
              .reason = "spec.mode is Maintenance: no job is to start",
              .guards = {AsksForTheSame()}});
  }

  void LetJobsIn(const Reserved& seen) {
    const bool deleting = object.metadata.deleting();
    const bool workers_go = deleting ? Drains() : IsStopped();
    const auto leaving = [&](const std::string& what) {
      lets_jobs_in_ = false;
      findings.Wait("LeavingMaintenance", "reservation " + seen.name + " " + what);
    };
    if (!deleting && *object.spec.paused) return leaving("may keep jobs out still: spec.paused is true");
    if (IsBeingWritten(seen)) return leaving("is being removed");
    if (const std::string unknown = seen.WhyUnknown(); !unknown.empty()) {
      const bool waits = workers_go && !world.OwnedBy<api::NodeSet>(object.metadata.uid).empty();
      if (!deleting || seen.slurm.heard() || waits) return leaving("may keep jobs out still: " + unknown);
      return ForgetReservation("Slurm cannot be asked, and the SlurmCluster goes", {});
    }
    if (seen.is_somebody_elses()) return ForgetReservation("the reservation is somebody else's", {});
    if (workers_go && HasWorkers()) return leaving("keeps jobs out until all workers are gone");
    leaving("is being removed");
    plan::Guards guards = workers_go ? NoWorkerIsLeft() : plan::Guards();
    guards.push_back(AsksForTheSame());
    ForgetReservation("it has no reservation in Slurm any more",
                      {plan.Add({.effect = plan::DeleteReservation(plan.slurm_cluster, seen.name),
                                 .reason = workers_go ? "no worker is left" : "spec.mode is not Maintenance",
                                 .guards = std::move(guards)})});
  }

  void ForgetReservation(std::string reason, std::vector<plan::ActionId> after) {
    plan.Add({.effect = plan::RemoveFinalizer(Self(), object.metadata, kFinalizerMaintenance),
              .reason = std::move(reason),
              .guards = {},
              .after = std::move(after)});
  }

  bool HasWorkers() const {
    return std::ranges::any_of(world.OwnedBy<api::NodeSet>(object.metadata.uid), [&](const api::NodeSet& set) {
      return std::ranges::any_of(world.OwnedBy<Pod>(set.metadata.uid), [](const Pod& pod) { return !pod.Ended(); });
    });
  }

  // By fresh lists.
  plan::Guards NoWorkerIsLeft() const {
    plan::Guards guards;
    for (const api::NodeSet& set : world.OwnedBy<api::NodeSet>(object.metadata.uid))
      guards.push_back(NoPodIsLeft(kWorker, set.metadata.name));
    return guards;
  }

  std::shared_ptr<const plan::Guard> NoPodIsLeft(const Component& component, const std::string& instance) const {
    std::vector<std::string> labels;
    for (const auto& [key, value] : render::SelectorLabels(component, instance)) labels.push_back(key + "=" + value);
    return plan::PodsHaveEnded(ns_, Join(labels, ","));
  }

  std::shared_ptr<const plan::Guard> AsksForTheSame() const {
    return plan::SameGeneration(Self(), object.metadata.uid, object.metadata.generation);
  }

  std::string ReadyText() const {
    if (IsStopped()) return "it is stopped";
    if (IsInMaintenance()) {
      const int32_t busy = status_.nodes.allocated;
      return "no job starts, by the reservation " + ReservationName(name_) + "; " +
             (busy == 0 ? "no worker runs one" : std::to_string(busy) + " workers run jobs still");
    }
    return std::to_string(status_.nodes.ready) + " workers are ready, and so is all the rest";
  }

  // --- Words

  std::string_view Phase() const {
    if (*object.spec.paused) return "Paused";
    if (IsStopped()) return workers_ == 0 && !HasLogins() && findings.ready ? "Stopped" : "Stopping";
    Findings all = findings;
    all.AddFailures(world);
    if (!all.problems.empty()) return "Degraded";
    if (keeps_jobs_out_) return "Maintenance";
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

  // Without a finalizer Kubernetes collects all at once.
  plan::Plan Leave() {
    if (!held_ && !may_be_reserved_) return {};
    if (Drains()) {
      TakeAway<api::NodeSet>();
      TakeAway<api::LoginSet>();
      if (HasLogins()) findings.Wait("Deleting", "logins wait until nobody is logged in");
    }
    if (held_ && findings.waits.empty()) plan.Add(Release());
    LookAtReservation();
    return Told("Deleting");
  }

  plan::Action Release() const {
    plan::Action release{.effect = plan::RemoveFinalizer(Self(), object.metadata, kFinalizerDrain),
                         .reason = "spec.deletionPolicy is Now"};
    if (Has(kFinalizerOrphan)) release.reason = "its parts are to live on without it";
    if (!Drains()) return release;
    release.reason = "no worker and no login is left";
    release.guards = NobodyIsLeft();
    return release;
  }

  plan::Guards NobodyIsLeft() const {
    return {plan::NothingControlled(api::NodeSet::kResource, ns_, object.metadata.uid),
            plan::NothingControlled(api::LoginSet::kResource, ns_, object.metadata.uid),
            NoPodIsLeft(kLogin, LoginSetName(name_))};
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
  const bool held_;             // until its workers are drained
  const bool may_be_reserved_;  // there may be the reservation of a maintenance
  api::SlurmClusterStatus status_;
  int32_t workers_ = 0;          // pods that are there
  bool keeps_jobs_out_ = false;  // the reservation of the maintenance that is asked for
  bool lets_jobs_in_ = true;     // there is no reservation of one that is over
};

}  // namespace

plan::Plan Decide(const plan::World& world, const kube::Key& key) {
  const auto* cluster = world.Find<api::SlurmCluster>(key);
  return cluster == nullptr ? plan::Plan() : Deciding(world, *cluster).Run();
}

}  // namespace capstan::op::slurmcluster
