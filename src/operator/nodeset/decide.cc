#include "operator/nodeset/decide.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "api/controller.h"
#include "operator/host_keys.h"
#include "operator/keys.h"
#include "operator/names.h"
#include "operator/nodeset/adoption.h"
#include "operator/nodeset/choice.h"
#include "operator/nodeset/claims.h"
#include "operator/nodeset/creating.h"
#include "operator/nodeset/deadlines.h"
#include "operator/nodeset/deletion.h"
#include "operator/nodeset/farewell.h"
#include "operator/nodeset/gate.h"
#include "operator/nodeset/going.h"
#include "operator/nodeset/gres.h"
#include "operator/nodeset/history.h"
#include "operator/nodeset/live_conf.h"
#include "operator/nodeset/look.h"
#include "operator/nodeset/lost.h"
#include "operator/nodeset/pins.h"
#include "operator/nodeset/power.h"
#include "operator/nodeset/records.h"
#include "operator/nodeset/release.h"
#include "operator/nodeset/renewal.h"
#include "operator/nodeset/reservation.h"
#include "operator/nodeset/revision.h"
#include "operator/nodeset/scale.h"
#include "operator/nodeset/scheduled.h"
#include "operator/nodeset/status.h"
#include "operator/nodeset/staying.h"
#include "operator/nodeset/takeover.h"
#include "operator/nodeset/worker_pod.h"
#include "operator/nodeset/workers.h"
#include "operator/reasons.h"
#include "operator/reconcile.h"
#include "operator/render/cluster.h"
#include "operator/settings.h"

namespace capstan::op::nodeset {
namespace {

// One Decide at work: the steps in their order, and what they hand to each other.
class Deciding : Reconcile<api::NodeSet> {
 public:
  Deciding(const plan::World& seen, const api::NodeSet& set)
      : Reconcile(seen, set),
        set_(set),
        settings_(SettingsOf(world)),
        cluster_(ClusterOf(set.metadata.namespace_, set.spec.controller_ref.name)),
        slurm_(world.Slurm(cluster_)),
        controller_(world.Find<api::Controller>({set.metadata.namespace_, set.spec.controller_ref.name})),
        workers_(Workers(world, set, slurm_)),
        look_{world, set_, object.spec, cluster_, slurm_, controller_, workers_, PlacingOf(world, controller_)},
        deletion_(DeletionOf(world, set, slurm_, workers_)) {
    if (!set.metadata.deleting()) elder_ = render::ElderNamesake(world.By<api::NodeSet>("controller", cluster_), set);
    scale_ = FindScale();
    pins_ = PinsOf(world, set, workers_);
    Pin(pins_, scale_.create);
    object.spec.replicas = scale_.wanted;
    plan.slurm_cluster = cluster_;
    if (auto revision = Revision(set)) {
      revisions_.former = FormerRevision(set, *revision);
      revisions_.alike = AlikeRevisions(world, set, *revision);
      revisions_.current = *std::move(revision);
    } else {
      render_error_ = revision.error().message();
    }
    if (const auto usable = CheckTemplate(set); !usable) render_error_ = usable.error().message();
    if (controller_ != nullptr) {
      if (auto gres = GresOf(set, *controller_)) gres_ = *std::move(gres);
    }
  }

  plan::Plan Run() {
    if (!HasFinalizer(set_, kFinalizerDrain))
      plan.Add(Hold(set_));
    else if (HasFinalizer(set_, kFormerFinalizerDrain))
      plan.Add(Release(set_, {}, "the finalizer has another name now"));
    else if (IsManaged())
      Take(KeepReservation(look_, scale_.kept, revisions_, findings));
    if (!IsManaged()) {
      plan.children_complete = false;
      return Finished();
    }
    if (HasFinalizer(set_, kFinalizerDrain)) AdoptOrphans(world, set_, plan);
    TakeOverWorkers(workers_, revisions_.former, revisions_.current, plan);
    FollowExtraConf(set_, workers_, revisions_, plan);
    if (!revisions_.current.empty()) KeepHistory(world, set_, workers_, revisions_.current, plan);
    RemoveAllEnded();
    Choice choice = ChooseToGo(look_, scale_);
    Take(std::move(choice.wants));
    for (const Worker* worker : choice.go) LetGoOf(*worker);
    LetGoOfPoweredDown();
    host_keys_ = HaveHostKeys();
    ChooseToRenew();
    for (const Worker* worker : renewal_.go) LetGoOf(*worker);
    for (const Worker* worker : scale_.kept) {
      if (worker->marked() && (choice.open || scale_.unknown)) continue;
      if (!IsRenewed(*worker)) Take(Stay(look_, *worker));
    }
    for (const Worker& worker : workers_) {
      if (!scale_.twins.contains(&worker)) Tell(worker);
      Take(Protect(look_, worker));
    }
    TellDeadlines(set_, workers_, slurm_, plan);
    if (HasSsh(set_)) plan.children.push_back(SshConfig(set_));
    if (host_keys_) Create();
    if (AreRemovedInScaleIn(object.spec) && !object.spec.IsDaemonSet())
      Take(RemoveClaimsOfScaleIn(look_, scale_.missing == 0 && scale_.surplus.empty(), scale_.keep));
    MakeNodes();
    Take(PlaceCloudNodes(look_, scale_));
    RemoveRecords(world, set_, slurm_, workers_, created_hosts_, RecordsToKeep(), plan);
    GiveUpLost(world, set_, slurm_, workers_, plan);
    return Finished();
  }

  // The same for a NodeSet that is being deleted.
  plan::Plan RunDeletion() {
    if (HasFinalizer(set_, kFinalizerReservation) && !AwaitsSlurm()) return ReleaseReservationFirst();
    switch (deletion_.state) {
      case DeletionState::kNone:
        return {};
      case DeletionState::kOrphaning:
        plan.Add(Release(set_, {}, "its workers are to live on without it"));
        break;
      case DeletionState::kDone:
        Take(LetGo(look_));
        break;
      case DeletionState::kForced:
      case DeletionState::kAbandoned:
      case DeletionState::kSilent:
        Take(GiveUp(look_, deletion_));
        break;
      case DeletionState::kDraining:
      case DeletionState::kTidying:
        TakeAllAway();
        break;
    }
    if (deletion_.requeue_after != Duration::max()) plan.RequeueAfter(deletion_.requeue_after);
    return Finished();
  }

 private:
  void Take(plan::Plan part) { AddPart(plan, std::move(part)); }

  // A deletion is of the version that was seen: nothing else is written to that pod.
  void TakeOf(const Worker& worker, plan::Plan part) {
    const std::string target = PodRef(worker).ToString();
    for (const plan::Action& action : part.actions) {
      if (action.effect->verb() == "delete" && action.effect->target() == target) removed_.insert(worker.pod);
    }
    Take(std::move(part));
  }

  // What runs stays as it is while another NodeSet has the names.
  bool IsManaged() const { return elder_ == nullptr; }

  Scale FindScale() {
    const bool none = set_.metadata.deleting() || IsStopped(set_.metadata);
    const int replicas = none ? 0 : std::clamp(*object.spec.replicas, 0, api::kMostWorkers);
    if (!IsManaged()) {
      Scale scale = KeepAll(workers_);
      scale.wanted = replicas;
      return scale;
    }
    if (IsStopped(set_.metadata)) return ScaleTo(replicas, workers_, slurm_, "its SlurmCluster is stopped");
    auto power = PowerOf(set_);
    if (!power && !none) {
      render_error_ = power.error().message();
      return KeepAll(workers_);
    }
    if (power && *power && !none) {
      power_ = **power;
      return ScaleOnDemand(replicas, set_, workers_, slurm_);
    }
    if (none || !object.spec.IsDaemonSet()) return ScaleTo(replicas, workers_, slurm_);
    const auto placement = Placement::Of(set_);
    if (placement) return ScaleToNodes(set_, *placement, world.In<Node>(""), workers_, slurm_);
    render_error_ = placement.error().message();
    return KeepAll(workers_);
  }

  plan::Plan Finished() {
    const Seen seen{world,         set_,   object.spec, controller_,   slurm_,    workers_, scale_,       renewal_,
                    renewal_held_, elder_, revisions_,  render_error_, deletion_, gres_,    look_.placing};
    plan.RequeueAfter(NextChange(seen));
    api::NodeSetStatus status = StatusOf(seen, findings);
    status.ordinal_to_node = pins_;
    return Finish(std::move(status));
  }

  // --- Deletion ------------------------------------------------------------------------------------------------------

  // A reservation that comes again would stay for good. For as long as for the workers' sake, and not longer.
  bool AwaitsSlurm() const { return !slurm_.heard() && deletion_.state == DeletionState::kDraining; }

  // Before anything else: it is one write or two, and the two finalizers cannot both go from one version of the NodeSet.
  plan::Plan ReleaseReservationFirst() {
    const bool forced = set_.metadata.Annotation(AsKey<kAnnotationForceDelete>()) == "true";
    const bool asks = slurm_.heard() && !forced && deletion_.state != DeletionState::kOrphaning;
    ReleaseReservation(set_, asks, plan);
    return Finished();
  }

  // Of a NodeSet that is being deleted: whose a worker is may have changed since it was seen, and it is not taken away once it was orphaned.
  plan::Plan Owned(const Worker& worker, plan::Plan part) const {
    if (!set_.metadata.deleting()) return part;
    const auto owned = WorkerIsOwned(PodRef(worker).key, worker.pod->metadata.uid, set_.metadata.uid);
    for (plan::Action& action : part.actions) action.guards.insert(action.guards.begin(), owned);
    return part;
  }

  void TakeAllAway() {
    RemoveAllEnded();
    for (const Worker* worker : scale_.surplus) {
      TakeOf(*worker, Owned(*worker, Go(look_, *worker, ErrandOf(*worker))));
    }
    LetGoOfPoweredDown();
    for (const Worker& worker : workers_) {
      Tell(worker);
      Take(Protect(look_, worker));
    }
    RemoveRecords(world, set_, slurm_, workers_, created_hosts_, {}, plan);
    if (deletion_.reserved) return;  // for hours, perhaps
    for (const std::string& record : deletion_.records) plan.slurm_expects.push_back(record);
  }

  // --- Workers that go -----------------------------------------------------------------------------------------------

  void RemoveAllEnded() {
    for (const Worker& worker : workers_) {
      if (worker.stage == Stage::kEnded) TakeOf(worker, RemoveEnded(look_, worker));
    }
  }

  void LetGoOf(const Worker& worker) { TakeOf(worker, Go(look_, worker, ErrandOf(worker))); }

  void LetGoOfPoweredDown() {
    const Errand errand{.why = "Slurm has powered it down",
                        .event = {.reason = EventWord("PoweredDown"), .action = "PowerDown"}};
    for (const Worker* worker : scale_.powered_down) TakeOf(*worker, Owned(*worker, Go(look_, *worker, errand)));
  }

  Errand ErrandOf(const Worker& worker) {
    Errand errand{.why = WhyItGoes(worker), .event = {}, .to_none = scale_.kept.empty()};
    const bool renewed = IsRenewed(worker);
    errand.may_be_deleted = !renewed || WhyNoneIsMade().empty();
    if (renewed && IsScheduled(object.spec))
      errand.event = {.reason = EventWord("ScheduledUpdate"), .action = "Update"};
    else if (renewed)
      errand.event = {.reason = EventWord("RollingUpdate"), .action = "Update"};
    else
      errand.event = {.reason = EventWord("ScalingDown"), .action = "ScaleDown"};
    return errand;
  }

  std::string WhyItGoes(const Worker& worker) const {
    if (IsRenewed(worker)) return "update to revision " + revisions_.current;
    if (set_.metadata.deleting()) return "the NodeSet is being deleted";
    const auto why = scale_.why.find(&worker);
    return why != scale_.why.end() ? why->second : "scale-in to " + std::to_string(*object.spec.replicas);
  }

  void Tell(const Worker& worker) {
    if (!removed_.contains(worker.pod)) Take(Note(look_, worker));
  }

  // --- Updates -------------------------------------------------------------------------------------------------------

  // Of the workers that stay, those of an older template are renewed in turn.
  void ChooseToRenew() {
    const auto is_current = [&](const Worker* worker) { return revisions_.IsCurrent(*worker->pod); };
    if (!std::ranges::all_of(scale_.kept, is_current)) {
      renewal_held_ = WhyNoneIsMade();
      if (renewal_held_.empty()) renewal_held_ = WhyNoneIsRenewed(look_);
    }
    Renew(renewal_held_.empty());
    plan.RequeueAfter(renewal_.requeue_after);
    if (!renewal_.takes_busy) return;
    const std::string what = "choice of one of " + std::to_string(renewal_.old.size()) + " to renew";
    plan::Plan part = look_.Part();
    const bool awaits = AwaitsJobs(look_, world.HeldFor(what), what, part);
    Take(std::move(part));
    if (awaits) Renew(false);
  }

  void Renew(bool begin) {
    renewal_ =
        RenewalOf(object.spec, scale_.kept, revisions_, begin, slurm_.Jobs(), ReservationName(set_), world.now());
    renewed_ = {renewal_.go.begin(), renewal_.go.end()};
  }

  bool IsRenewed(const Worker& worker) const { return renewed_.contains(&worker); }

  // --- Workers that are missing --------------------------------------------------------------------------------------

  std::string WhyNoneIsMade() {
    if (controller_ == nullptr || controller_->metadata.deleting()) return "their Controller is not there";
    if (Template() == nullptr) return "no worker can be made from the template as it is";
    if (!HaveSshFiles()) return "what sshd and SSSD of a new worker read is not there";
    return "";
  }

  // Those that workers which are made now would wait for, if any. A worker that runs has them.
  bool HaveHostKeys() {
    const auto live = ReadsFilesLive(set_, settings_);
    if (!HasSsh(set_) || !live || !*live) return true;
    return FindHostKeys(world, {set_.metadata.namespace_, set_.metadata.name}, kWorker, plan, findings).has_value();
  }

  // What sshd and SSSD of a new worker read.
  bool HaveSshFiles() const {
    if (!HasSsh(set_)) return true;
    const api::SecretKeySelector& sssd = object.spec.ssh->sssd_conf_ref;
    return host_keys_ && FindKey(world, set_.metadata.namespace_, &sssd, "spec.ssh.sssdConfRef").known();
  }

  // From which workers are made now; nullptr: none can be.
  WorkerTemplate* Template() {
    if (controller_ == nullptr || controller_->metadata.deleting() || !render_error_.empty()) return nullptr;
    if (!template_) {
      auto made = WorkerTemplate::Of(set_, *controller_, settings_, power_.has_value() || HasCloudNodes());
      if (!made) {
        render_error_ = made.error().message();
        return nullptr;
      }
      template_ = *std::move(made);
    }
    return &*template_;
  }

  void Create() {
    if (scale_.create.empty()) return;
    WorkerTemplate* workers = Template();
    if (workers == nullptr) return;
    Creation creation = CreateMissing(look_, scale_, *workers);
    created_hosts_ = std::move(creation.hosts);
    scale_.waiting = std::move(creation.waiting);
    Take(std::move(creation.wants));
  }

  // Without a pod; of those that Slurm has powered down.
  std::set<std::string, std::less<>> RecordsToKeep() const {
    std::set<std::string, std::less<>> keep;
    for (const auto& [ordinal, host] : scale_.keep) keep.insert(host);
    if (!scale_.unknown || !slurm_.heard()) return keep;
    for (const slurm::Node& node : slurm_.All()) {
      if (node.state.IsPoweredDown()) keep.insert(node.name);
    }
    return keep;
  }

  // Some of its Slurm nodes are Slurm's to start, also once it is not on demand any more.
  bool HasCloudNodes() const {
    return slurm_.heard() && std::ranges::any_of(slurm_.All(), [&](const slurm::Node& node) {
             return node.state.Has(slurm::NodeFlag::kCloud) && IsRecordOf(node, set_);
           });
  }

  // On demand: what Slurm is to schedule for.
  void MakeNodes() {
    if (!power_ || !WhyNoneIsMade().empty()) return;
    if (auto made = MakeCloudNodes(look_, scale_, *power_))
      Take(*std::move(made));
    else
      render_error_ = made.error().message();
  }

  const api::NodeSet& set_;  // as its user wrote it
  Settings settings_;
  std::string cluster_;
  plan::SlurmView slurm_;
  const api::Controller* controller_;
  const api::NodeSet* elder_ = nullptr;
  std::vector<Worker> workers_;
  Look look_;
  Deletion deletion_;
  std::optional<Power> power_;  // it is on demand
  Scale scale_;
  Pins pins_;
  std::set<std::string, std::less<>> created_hosts_;
  std::unordered_set<const Pod*> removed_;
  Revisions revisions_;
  GresWish gres_;
  Renewal renewal_;
  std::unordered_set<const Worker*> renewed_;
  bool host_keys_ = false;    // workers that are made now need none, or they are there
  std::string renewal_held_;  // why no further worker is renewed now; "" when nothing but the budget holds it
  std::optional<WorkerTemplate> template_;  // once it was needed
  std::string render_error_;
};

}  // namespace

plan::Plan Decide(const plan::World& world, const kube::Key& key) {
  const api::NodeSet* set = world.Find<api::NodeSet>(key);
  if (set == nullptr) return {};
  Deciding deciding(world, *set);
  return set->metadata.deleting() ? deciding.RunDeletion() : deciding.Run();
}

}  // namespace capstan::op::nodeset
