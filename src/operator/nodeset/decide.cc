#include "operator/nodeset/decide.h"

#include <algorithm>
#include <set>
#include <span>

#include "api/controller.h"
#include "operator/host_keys.h"
#include "operator/keys.h"
#include "operator/names.h"
#include "operator/nodeset/adoption.h"
#include "operator/nodeset/claims.h"
#include "operator/nodeset/deletion.h"
#include "operator/nodeset/history.h"
#include "operator/nodeset/node_annotations.h"
#include "operator/nodeset/pins.h"
#include "operator/nodeset/pod_conditions.h"
#include "operator/nodeset/records.h"
#include "operator/nodeset/release.h"
#include "operator/nodeset/renewal.h"
#include "operator/nodeset/reservation.h"
#include "operator/nodeset/revision.h"
#include "operator/nodeset/scale.h"
#include "operator/nodeset/status.h"
#include "operator/nodeset/takeover.h"
#include "operator/nodeset/worker_pod.h"
#include "operator/nodeset/workers.h"
#include "operator/pods.h"
#include "operator/reasons.h"
#include "operator/reconcile.h"
#include "operator/render/cluster.h"
#include "operator/settings.h"
#include "plan/objects/effects.h"
#include "plan/slurm/effects.h"

namespace capstan::op::nodeset {
namespace {

using plan::Action;
using slurm::NodeAction;

constexpr Duration kFreshReadTimeout = 5s;
constexpr Duration kJobsTimeout = 15s;      // some polls of a busy slurmrestd
constexpr Duration kJobsPollInterval = 1s;  // jobs that are read anew and found unchanged wake nobody
constexpr Duration kChoiceTimeout = 2min;   // for a choice as a whole: to hear of jobs, and to tell those who go
constexpr Duration kAnnounceTime = 10s;
constexpr Duration kEndedPause = 20s;  // between the births of two pods of one worker that ended
constexpr Duration kHeldAgain = 1min;  // until a proof is tried of what somebody else drained and an old write may lift
constexpr Duration kRegistrationTimeout = 2min;  // from the start of a worker, and from its readiness
constexpr Duration kOldRecordTimeout = 1min;     // until a worker is made in spite of its predecessor's record
constexpr Duration kLostRecordTimeout = kDeletionTimeout;  // of a worker that is ready
constexpr Duration kClaimsAge = 1min;                      // no store shows claims: they are read again after it
constexpr Duration kReservationAge = 30s;                  // nor reservations
constexpr int kMostNewWorkers = 128;                   // in one Plan, besides those whose creation has failed before
constexpr size_t kMostCreatedBytes = size_t{8} << 20;  // of the workers in one Plan

// One Decide at work: what it sees, and the Plan that grows.
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
        deletion_(DeletionOf(world, set, slurm_, workers_)) {
    if (!set.metadata.deleting()) elder_ = render::ElderNamesake(world.By<api::NodeSet>("controller", cluster_), set);
    scale_ = FindScale();
    pins_ = PinsOf(world, set, workers_);
    Pin(pins_, scale_.create);
    object.spec.replicas = scale_.wanted;
    plan.slurm_cluster = cluster_;
    if (auto revision = Revision(set)) {
      revisions_.former = FormerRevision(set, *revision);
      revisions_.current = *std::move(revision);
    } else {
      render_error_ = revision.error().message();
    }
    if (const auto usable = CheckTemplate(set); !usable) render_error_ = usable.error().message();
  }

  plan::Plan Run() {
    if (!HasFinalizer(set_, kFinalizerDrain))
      plan.Add(Hold(set_));
    else if (HasFinalizer(set_, kFormerFinalizerDrain))
      plan.Add(Release(set_, {}, "the finalizer has another name now"));
    else if (IsManaged())
      KeepReservation();
    if (!IsManaged()) {
      plan.children_complete = false;
      return Finished();
    }
    if (HasFinalizer(set_, kFinalizerDrain)) AdoptOrphans(world, set_, plan);
    TakeOverWorkers(workers_, revisions_.former, revisions_.current, plan);
    if (!revisions_.current.empty()) KeepHistory(world, set_, workers_, revisions_.current, plan);
    RemoveAllEnded();
    const Choice choice = Choose();
    for (const Worker* worker : choice.go) ScaleIn(*worker);
    host_keys_ = HaveHostKeys();
    ChooseToRenew();
    for (const Worker* worker : renewal_.go) ScaleIn(*worker);
    for (const Worker* worker : scale_.kept) {
      if (!(choice.open && worker->marked()) && !IsRenewed(*worker)) Keep(*worker);
    }
    for (const Worker& worker : workers_) {
      if (!scale_.twins.contains(&worker)) Note(worker);
      Protect(worker);
    }
    if (HasSsh(set_)) plan.children.push_back(SshConfig(set_));
    if (host_keys_) CreateMissing();
    if (AreRemovedInScaleIn(object.spec) && !object.spec.IsDaemonSet()) RemoveClaimsOfScaleIn();
    RemoveRecords(world, set_, slurm_, workers_, created_hosts_, plan);
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
        LetGo();
        break;
      case DeletionState::kForced:
      case DeletionState::kAbandoned:
      case DeletionState::kSilent:
        GiveUp();
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
  // What runs stays as it is while another NodeSet has the names.
  bool IsManaged() const { return elder_ == nullptr; }

  Scale FindScale() {
    const int replicas = set_.metadata.deleting() ? 0 : std::clamp(*object.spec.replicas, 0, api::kMostWorkers);
    if (!IsManaged()) {
      Scale scale = KeepAll(workers_);
      scale.wanted = replicas;
      return scale;
    }
    if (set_.metadata.deleting() || !object.spec.IsDaemonSet()) return ScaleTo(replicas, workers_, slurm_);
    const auto placement = Placement::Of(set_);
    if (placement) return ScaleToNodes(set_, *placement, world.In<Node>(""), workers_, slurm_);
    render_error_ = placement.error().message();
    return KeepAll(workers_);
  }

  plan::Plan Finished() {
    const Seen seen{world,    set_,          object.spec, controller_, slurm_,        workers_, scale_,
                    renewal_, renewal_held_, elder_,      revisions_,  render_error_, deletion_};
    plan.RequeueAfter(NextChange(seen));
    api::NodeSetStatus status = StatusOf(seen, findings);
    status.ordinal_to_node = pins_;
    return Finish(std::move(status));
  }

  // A reservation that comes again would stay for good. For as long as for the workers' sake, and not longer.
  bool AwaitsSlurm() const { return !slurm_.heard() && deletion_.state == DeletionState::kDraining; }

  // Before anything else: it is one write or two, and the two finalizers cannot both go from one version of the NodeSet.
  plan::Plan ReleaseReservationFirst() {
    const bool forced = set_.metadata.Annotation(std::string(kAnnotationForceDelete)) == "true";
    const bool asks = slurm_.heard() && !forced && deletion_.state != DeletionState::kOrphaning;
    ReleaseReservation(set_, asks, plan);
    return Finished();
  }

  // --- Deletion ------------------------------------------------------------------------------------------------------

  // Whose a worker is may have changed since it was seen: it is not taken away once it was orphaned.
  void TakeAllAway() {
    RemoveAllEnded();
    for (const Worker* worker : scale_.surplus) {
      const size_t first = plan.actions.size();
      ScaleIn(*worker);
      const auto owned = WorkerIsOwned(PodKey(*worker), worker->pod->metadata.uid, set_.metadata.uid);
      for (Action& action : std::span(plan.actions).subspan(first)) action.guards.insert(action.guards.begin(), owned);
    }
    for (const Worker& worker : workers_) {
      Note(worker);
      Protect(worker);
    }
    RemoveRecords(world, set_, slurm_, workers_, created_hosts_, plan);
    for (const std::string& record : deletion_.records) plan.slurm_expects.push_back(record);
  }

  void LetGo() {
    std::vector<plan::ActionId> removed;
    if (AreRemovedAtTheEnd(object.spec)) {
      const auto claims = world.Ask(Claims(set_.metadata.namespace_, set_.metadata.name), kClaimsAge);
      if (claims.value == nullptr && !Lasts("claims are not known", kDeletionTimeout)) return;
      if (claims.value != nullptr) removed = RemoveClaims(*claims.value);
    }
    Action release = Release(set_, {NoWorkerIsLeft(set_)}, "no worker is left");
    release.after = std::move(removed);
    plan.Add(std::move(release));
  }

  std::vector<plan::ActionId> RemoveClaims(const std::vector<SeenClaim>& claims) {
    std::vector<plan::ActionId> removed;
    for (Action& removal : RemovalsOfClaims(set_, claims, workers_)) removed.push_back(plan.Add(std::move(removal)));
    return removed;
  }

  // Said first, so that whoever watches reads it while the object is there; but not for ever.
  void GiveUp() {
    if (!workers_.empty() && !SaysThatItGivesUp(set_)) {
      const Duration held = world.HeldFor("giving up");
      if (held < kAnnounceTime) return plan.RequeueAfter(kAnnounceTime - held);
    }
    plan::Guards guards;
    if (deletion_.state == DeletionState::kAbandoned) guards = {ClusterIsAbandoned(set_)};
    if (deletion_.state == DeletionState::kSilent) guards = {SlurmIsSilent(cluster_, set_.metadata.name)};
    std::vector<plan::ActionId> handed;
    if (AreRemovedAtTheEnd(object.spec) && !Lasts("claims are handed over", kDeletionTimeout)) {
      const auto claims = world.Ask(Claims(set_.metadata.namespace_, set_.metadata.name), kClaimsAge);
      if (claims.value == nullptr) return;
      for (Action& action : HandOverClaims(set_, *claims.value, guards)) handed.push_back(plan.Add(std::move(action)));
    }
    Action release = Release(set_, std::move(guards), "its workers go without a drain: " + deletion_.why);
    release.after = std::move(handed);
    if (!workers_.empty()) release.event = {.reason = EventWord("DrainSkipped"), .action = "Delete", .warning = true};
    plan.Add(std::move(release));
  }

  // --- What is said and done to one worker ---------------------------------------------------------------------------

  plan::ObjectRef PodRef(const Worker& worker) const {
    return {&kube::kPods, {worker.pod->metadata.namespace_, worker.pod->metadata.name}};
  }
  kube::Key PodKey(const Worker& worker) const { return PodRef(worker).key; }

  plan::ActionId Annotate(std::string_view verb, const Worker& worker, std::string_view value, std::string reason) {
    std::string patch =
        R"({"metadata":{"annotations":{")" + std::string(kAnnotationScaleIn) + R"(":)" + std::string(value);
    if (!worker.pod->metadata.Annotation(std::string(kFormerAnnotationScaleIn)).empty())
      patch += R"(,")" + std::string(kFormerAnnotationScaleIn) + R"(":null)";
    patch += "}}}";
    return plan.Add({.effect = plan::MergePatch(verb, PodRef(worker), worker.pod->metadata.uid, std::move(patch)),
                     .reason = std::move(reason)});
  }

  plan::ActionId Update(std::string_view verb, const Worker& worker, slurm::NodeUpdate update, std::string reason) {
    update.names = {worker.host};
    plan.slurm_expects.push_back(worker.host);
    return plan.Add({.effect = plan::UpdateNode(verb, cluster_, std::move(update)), .reason = std::move(reason)});
  }

  // A person may have spoken since the snapshot was read: their reason is neither written over nor lifted.
  std::shared_ptr<const plan::Guard> NotHeld(const Worker& worker) const {
    return plan::NodeIsNotHeld(cluster_, worker.host, std::string(kReasonPrefix));
  }

  // --- Pods that are over --------------------------------------------------------------------------------------------

  void RemoveAllEnded() {
    for (const Worker& worker : workers_) {
      if (worker.stage == Stage::kEnded) RemoveEnded(worker);
    }
  }

  // Nothing of it runs, so nothing can be lost; the exact version that was seen is the proof.
  void RemoveEnded(const Worker& worker) {
    // A kubelet that takes none would be asked again at once, for ever. A clock that was put back tells nothing.
    const auto created = worker.pod->metadata.creation_timestamp;
    const Duration age = created ? world.now() - *created : kEndedPause;
    if (age > -kEndedPause && age < kEndedPause)
      return plan.RequeueAfter(kEndedPause - std::max(age, Duration::zero()));
    RemoveUnchanged(worker, "the worker has ended (" + worker.pod->status.phase + ") and is replaced");
  }

  void RemoveUnchanged(const Worker& worker, std::string reason) {
    const json::ObjectMeta& meta = worker.pod->metadata;
    Action remove = plan::DeleteUnchanged(PodRef(worker), meta.uid, meta.resource_version, std::move(reason));
    remove.event = {.reason = EventWord("SuccessfulDelete"), .action = "Delete"};
    plan.Add(std::move(remove));
    removed_.insert(worker.pod);
  }

  // --- Scale-in ------------------------------------------------------------------------------------------------------

  struct Choice {
    std::vector<const Worker*> go;  // may be told so, or have been before
    bool open = false;              // not all are known, or have been told: who was chosen before stays so
  };

  // Who goes depends on who is busy: a new choice is made on what Slurm said after it became necessary, so that a worker
  // that has just got a job is not drained for nothing. Not for ever: a drain costs no job.
  Choice Choose() {
    const std::vector<const Worker*>& all = scale_.surplus;
    const auto told = [](const Worker* worker) { return worker->marked() && worker->stage != Stage::kServing; };
    if (std::ranges::all_of(all, told)) return {.go = all};
    // It is the same choice while those who were chosen leave, and while Slurm is not heard.
    const std::string what = "choice down to " + std::to_string(scale_.kept.size());
    const Duration needed = world.HeldFor(what);
    if (!slurm_.heard()) return {.go = all, .open = true};
    const bool fresh = slurm_.age() <= needed || needed >= kFreshReadTimeout;
    const bool complete = scale_.by_job_end == 0 || !AwaitsJobs(needed, what);
    if (needed < kChoiceTimeout) plan.RequeueAfter(kChoiceTimeout - needed);
    if (fresh && complete) return {.go = all, .open = needed < kChoiceTimeout};
    for (const Worker& worker : workers_) plan.slurm_expects.push_back(worker.host);
    if (!fresh) plan.RequeueAfter(kFreshReadTimeout - needed);
    Choice choice{.go = {}, .open = true};
    const size_t certain = fresh ? all.size() - scale_.by_job_end : 0;
    for (size_t i = 0; i < all.size(); ++i) {
      if (i < certain || all[i]->marked()) choice.go.push_back(all[i]);
    }
    return choice;
  }

  // The jobs are wanted until those who go are marked, since only then does the choice no longer hang on them; and not
  // for ever: they may be what slurmrestd dies of each time that it is heard.
  bool AwaitsJobs(Duration needed, const std::string& choice) {
    if (needed >= kChoiceTimeout) return false;
    plan.slurm_jobs = true;
    const Duration asked = world.HeldFor("jobs for the " + choice);
    if (asked >= kJobsTimeout) return false;
    plan.RequeueAfter(std::min(kJobsPollInterval, kJobsTimeout - asked));
    return slurm_.Jobs() == nullptr || slurm_.jobs_age() > needed;
  }

  void ScaleIn(const Worker& worker) {
    switch (worker.stage) {
      case Stage::kLeaving:
      case Stage::kEnded:
        return;
      case Stage::kUnbound:
        // Placing it would change it: the exact version that was seen proves that it never ran.
        RemoveUnchanged(worker, WhyItGoes(worker) + ": the worker was never placed on a node");
        return;
      case Stage::kUnknown:
        // While Slurm is not heard nobody knows who is busy, nor can Slurm be told anything: who goes is chosen later.
        if (slurm_.heard() || scale_.kept.empty()) MarkGoing(worker);
        return;
      case Stage::kUnregistered:
        MarkGoing(worker);
        if (IsComing(worker)) plan.slurm_expects.push_back(worker.host);
        // Absence alone justifies deleting neither a worker that is ready nor one that is about to register.
        if (slurm_.absence_counts() && (worker.pod->Ready() ? Forgotten(worker) : Stuck(worker)))
          RemoveProven(worker, true);
        return;
      case Stage::kHeld:
        MarkGoing(worker);
        if (worker.may_be_lifted)
          plan.RequeueAfter(kHeldAgain);
        else if (worker.node->state.IsDrained())
          RemoveProven(worker, false);
        else
          plan.slurm_expects.push_back(worker.host);
        return;
      case Stage::kDrained:
        if (worker.may_be_lifted) return Drain(worker);
        MarkGoing(worker);
        RemoveProven(worker, false);
        return;
      case Stage::kDraining:
        if (worker.may_be_lifted) return Drain(worker);
        MarkGoing(worker);
        plan.slurm_expects.push_back(worker.host);
        return;
      case Stage::kDown:
      case Stage::kServing:
        Drain(worker);
        return;
    }
  }

  // It will not register any more, as far as one can tell: the kubelet says why, or it has had its time.
  bool Stuck(const Worker& worker) { return InTrouble(worker) || IsLate(worker); }

  static bool InTrouble(const Worker& worker) { return !PodTrouble(*worker.pod).empty(); }

  bool IsLate(const Worker& worker) { return Lasts("unregistered " + worker.pod->metadata.uid, kRegistrationTimeout); }

  // It was ready without a record for so long that its record is taken for lost.
  bool Forgotten(const Worker& worker) { return Lasts("forgotten " + worker.pod->metadata.uid, kLostRecordTimeout); }

  bool Lasts(const std::string& fact, Duration wanted) {
    const Duration held = world.HeldFor(fact);
    if (held < wanted) plan.RequeueAfter(wanted - held);
    return held >= wanted;
  }

  std::vector<plan::ActionId> MarkGoing(const Worker& worker) {
    if (worker.marked()) return {};
    return {Annotate("cordon", worker, R"("true")", WhyItGoes(worker))};
  }

  void Drain(const Worker& worker) {
    const std::vector<plan::ActionId> cordoned = MarkGoing(worker);
    // A reason that a person gave for a DOWN stays; slurmctld's own may go.
    const std::string& present = worker.node->reason;
    const bool keep = worker.stage == Stage::kDown && !present.empty() && !slurm::IsReasonOfSlurmctld(present) &&
                      !present.starts_with(kReasonPrefix);
    slurm::NodeUpdate update{.action = NodeAction::kDrain, .reason = keep ? present : ScaleInReason(PodKey(worker))};
    Update("drain", worker, std::move(update), WhyItGoes(worker));
    plan.actions.back().guards = {keep ? plan::NodeIsDownFor(cluster_, worker.host, present) : NotHeld(worker)};
    plan.actions.back().after = cordoned;
    if (IsRenewed(worker) && IsScheduled(object.spec))
      plan.actions.back().event = {.reason = EventWord("ScheduledUpdate"), .action = "Update"};
    else if (IsRenewed(worker))
      plan.actions.back().event = {.reason = EventWord("RollingUpdate"), .action = "Update"};
    else
      plan.actions.back().event = {.reason = EventWord("ScalingDown"), .action = "ScaleDown"};
  }

  // Fewer workers may have been wanted once than are now, and an API server that lags shows that again. Only who has been
  // marked goes, and only as long as the mark stands: a deletion on its way, even one that nobody has heard of since,
  // fails once the mark has been taken off, and no drain is lifted before.
  void RemoveProven(const Worker& worker, bool absent_is_enough) {
    if (!worker.marked()) return;
    if (IsRenewed(worker) && !WhyNoneIsMade().empty()) return;
    // Its drain may be being lifted still, as of when it was wanted: what is proven now would not hold for long.
    if (world.InFlight(plan::NodeTarget(cluster_, worker.host))) return;
    RemoveUnchanged(worker, WhyItGoes(worker) + ": the worker is drained and runs no job");
    plan.actions.back().guards = {AsksForTheSame(set_), plan::NodeIsDrained(cluster_, worker.host, absent_is_enough)};
    plan.slurm_expects.push_back(worker.host);
  }

  // --- Scheduled update ----------------------------------------------------------------------------------------------

  // The finalizer comes first and goes last, so that no reservation is left behind.
  void KeepReservation() {
    const bool wanted = IsScheduled(object.spec) && *object.spec.replicas > 0;
    const bool held = HasFinalizer(set_, kFinalizerReservation);
    if (!wanted && held) return ReleaseReservation(set_, slurm_.heard(), plan);
    if (!wanted) return;
    if (!held) return void(plan.Add(HoldForReservation(set_)));
    const std::string name = ReservationName(set_);
    const auto seen = world.Ask(ReservationInSlurm(cluster_, name), kReservationAge);
    if (seen.value == nullptr && !seen.absent()) {
      findings.Own(api::kReservationCreated, "Unknown", "SlurmNotAsked",
                   "Slurm has not said yet whether there is a reservation " + name +
                       (seen.error.empty() ? "" : " (" + seen.error + ")"));
      return;
    }
    std::vector<std::string> nodes;
    for (const Worker* worker : scale_.kept) {
      if (worker->node != nullptr) nodes.push_back(worker->host);
    }
    std::ranges::sort(nodes);
    const slurm::Reservation* present = seen.value;
    const ReservationStep step = NextReservation(object.spec, name, present, nodes, world.now());
    if (present != nullptr) {
      findings.Own(api::kReservationCreated, "True", "Created",
                   "Slurm has reservation " + name + " from " + FormatRfc3339(present->start) + " to " +
                       FormatRfc3339(present->end) + (step.held.empty() ? "" : "; " + step.held));
      AwaitReservation(*present);
    } else {
      findings.Own(api::kReservationCreated, "False", "NotExists",
                   "Slurm has no reservation " + name + (step.held.empty() ? "; it is being made" : ": " + step.held));
    }
    const bool writes = world.InFlight(plan::ReservationTarget(cluster_, name));
    if (!(step.write || step.remove) || writes || !slurm_.heard() || !(seen.known() || seen.absent())) return;
    std::vector<plan::ActionId> removed;
    if (step.remove) {
      removed.push_back(plan.Add(
          {.effect = plan::DeleteReservation(cluster_, name), .reason = step.why, .guards = {AsksForTheSame(set_)}}));
    }
    if (!step.write) return;
    plan.Add({.effect = plan::WriteReservation(cluster_, *step.write),
              .reason = step.why,
              .guards = {AsksForTheSame(set_)},
              .after = std::move(removed)});
  }

  // Its nodes tell that it has begun.
  void AwaitReservation(const slurm::Reservation& reservation) {
    if (world.now() < reservation.start) return plan.RequeueAfter(reservation.start - world.now());
    if (world.now() >= reservation.end) return;
    for (const Worker* worker : scale_.kept) {
      if (!revisions_.IsCurrent(*worker->pod) && !IsInReservation(*worker, reservation.name))
        plan.slurm_expects.push_back(worker->host);
    }
  }

  // --- Rolling update ------------------------------------------------------------------------------------------------

  // Of the workers that stay, those of an older template are renewed in turn.
  void ChooseToRenew() {
    const auto is_current = [&](const Worker* worker) { return revisions_.IsCurrent(*worker->pod); };
    if (!std::ranges::all_of(scale_.kept, is_current)) renewal_held_ = WhyNoneIsRenewed();
    renewal_ = Renew(renewal_held_.empty());
    plan.RequeueAfter(renewal_.requeue_after);
    if (!renewal_.takes_busy) return;
    const std::string what = "choice of one of " + std::to_string(renewal_.old.size()) + " to renew";
    if (AwaitsJobs(world.HeldFor(what), what)) renewal_ = Renew(false);
  }

  Renewal Renew(bool begin) const {
    return RenewalOf(object.spec, scale_.kept, revisions_, begin, slurm_.Jobs(), ReservationName(set_), world.now());
  }

  std::string WhyNoneIsMade() {
    if (controller_ == nullptr || controller_->metadata.deleting()) return "their Controller is not there";
    if (Template() == nullptr) return "no worker can be made from the template as it is";
    if (!HaveSshFiles()) return "what sshd and SSSD of a new worker read is not there";
    return "";
  }

  std::string WhyNoneIsRenewed() {
    if (std::string why = WhyNoneIsMade(); !why.empty()) return why;
    if (!slurm_.heard()) return "Slurm must say which of them run jobs, and is not heard (" + slurm_.error() + ")";
    const api::Condition* progressing = api::FindCondition(controller_->status.conditions, api::kProgressing);
    if (progressing != nullptr && progressing->status == "True")
      return "its Controller comes first, which is not settled (" + progressing->message + ")";
    return "";
  }

  bool IsRenewed(const Worker& worker) const { return std::ranges::find(renewal_.go, &worker) != renewal_.go.end(); }

  // --- Workers that stay ---------------------------------------------------------------------------------------------

  void Keep(const Worker& worker) {
    const bool marked = worker.marked();
    if (marked) Annotate("uncordon", worker, "null", "the worker is wanted again");
    if (IsComing(worker)) plan.slurm_expects.push_back(worker.host);
    if (worker.stage == Stage::kUnregistered) Replace(worker);
    if (worker.node == nullptr) return;
    if (!worker.cordon.empty()) return KeepOut(worker);
    // A deletion may be on its way still: a job that began now would die with the worker. See RemoveProven.
    if (marked || !IsProtected(worker)) return;
    const slurm::Node& node = *worker.node;
    if (MayBeResumed(node, set_)) {
      if (worker.back()) {
        Update("resume", worker, {.action = NodeAction::kResume}, "the worker is back");
        plan.actions.back().guards = {NotHeld(worker)};
      }
    } else if (IsOurDrain(node, set_)) {
      Update("undrain", worker, {.action = NodeAction::kUndrain}, "the worker is wanted again");
      plan.actions.back().guards = {NotHeld(worker)};
    }
  }

  // It runs and is due to register: what Slurm says of it is about to change. Not for ever: one that never comes is no
  // reason to poll Slurm closely.
  bool IsComing(const Worker& worker) {
    const bool registers = worker.stage == Stage::kUnregistered ||
                           (worker.stage == Stage::kDown && MayBeResumed(*worker.node, set_) && worker.cordon.empty());
    return registers && worker.pod->status.phase == "Running" &&
           world.HeldFor((worker.pod->Ready() ? "back " : "coming ") + worker.pod->metadata.uid) < kRegistrationTimeout;
  }

  // Its jobs end in peace, and no new ones begin, until the cordon is lifted. A node that is out of service for another
  // reason stays so: it is not resumed, and needs no drain.
  void KeepOut(const Worker& worker) {
    const bool drained = worker.stage == Stage::kDraining || worker.stage == Stage::kDrained;
    const bool again = drained && (worker.node->reason != worker.cordon || worker.may_be_lifted);
    if (worker.stage != Stage::kServing && !again) return;
    Update("drain", worker, {.action = NodeAction::kDrain, .reason = worker.cordon}, "a person has cordoned it");
    plan.actions.back().guards = {NotHeld(worker)};
    plan.actions.back().event = {.reason = EventWord("NodeCordon"), .action = "Cordon"};
  }

  // slurmd registers until its first success and never again: a worker whose record was lost stays outside until it is
  // replaced. No job can be on a node that slurmctld does not know. One that is not ready may be starting still, however
  // long that takes, unless the kubelet says what is wrong with it.
  void Replace(const Worker& worker) {
    if (worker.pod->status.phase != "Running" || !slurm_.absence_counts()) return;
    if (worker.pod->Ready() ? !Forgotten(worker) : !(IsLate(worker) && InTrouble(worker))) return;
    RemoveUnchanged(worker, "Slurm has no record of the worker; a new one will register");
    plan.actions.back().guards = {plan::NodeIsDrained(cluster_, worker.host, true)};
    plan.actions.back().event = {.reason = EventWord("SlurmNodeNotRegistered"), .action = "Delete", .warning = true};
  }

  // Each side about the other, of every worker that runs, going or not: on the pod what Slurm says, in Slurm who stands
  // behind the record and what its Kubernetes node is.
  void Note(const Worker& worker) {
    // A deletion is of the version that was seen.
    if (removed_.contains(worker.pod)) return;
    if (auto told = TellNodeState(worker)) plan.Add(*std::move(told));
    FollowNodeAnnotations(worker, set_, plan);
    if (worker.stage == Stage::kLeaving || worker.stage == Stage::kEnded || worker.stage == Stage::kUnbound) return;
    if (worker.node == nullptr) return;
    std::string comment = RecordComment(worker, set_);
    if (worker.node->comment == comment) return;
    Update("note", worker, {.comment = std::move(comment)}, "who stands behind the Slurm node");
  }

  // A worker is protected against eviction from its birth, so that no job on it ever has to be noticed first; until it is
  // drained and proven idle, and again before its drain is lifted. One that goes in a scale-in needs no eviction.
  void Protect(const Worker& worker) {
    if (worker.stage == Stage::kLeaving || worker.stage == Stage::kEnded) return;
    const bool wanted = *object.spec.workload_disruption_protection;
    const bool is = worker.pod->metadata.Label(std::string(kLabelPodProtect)) == "true";
    const bool out = worker.stage == Stage::kDrained || (worker.stage == Stage::kDown && IsOurDown(*worker.node, set_));
    if (wanted && out && (worker.marked() || !worker.cordon.empty())) {
      if (!is || worker.marked() || worker.may_be_lifted) return;
      SetProtected(worker, false, "it is out of service and runs no job");
      plan.actions.back().guards = {plan::NodeIsOurs(cluster_, worker.host, std::string(kReasonPrefix))};
      return;
    }
    if (is != wanted) SetProtected(worker, wanted, wanted ? "jobs may run here" : "nobody wants protection");
  }

  void SetProtected(const Worker& worker, bool is, std::string reason) {
    std::string patch =
        R"({"metadata":{"labels":{")" + std::string(kLabelPodProtect) + R"(":)" + (is ? R"("true")" : "null") + "}}}";
    plan.Add({.effect = plan::MergePatch(is ? "protect" : "unprotect", PodRef(worker), worker.pod->metadata.uid,
                                         std::move(patch)),
              .reason = std::move(reason)});
  }

  // As far as it is to be; so that a job may begin there.
  bool IsProtected(const Worker& worker) const {
    if (!*object.spec.workload_disruption_protection) return true;
    return worker.pod->metadata.Label(std::string(kLabelPodProtect)) == "true" &&
           !world.InFlight(PodRef(worker).ToString());
  }

  // --- Scale-out -----------------------------------------------------------------------------------------------------

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
      auto made = WorkerTemplate::Of(set_, *controller_, settings_);
      if (!made) {
        render_error_ = made.error().message();
        return nullptr;
      }
      template_ = *std::move(made);
    }
    return &*template_;
  }

  void CreateMissing() {
    if (scale_.create.empty()) return;
    WorkerTemplate* workers = Template();
    if (workers == nullptr) return;
    std::set<std::string_view> failed;
    for (const plan::Failure& failure : world.failures()) failed.insert(failure.target);
    int creations = 0, fresh = 0;
    size_t bytes = 0;
    for (const Place& place : scale_.create) {
      const NewWorker worker = workers->Stamp(place);
      // Its name may be another's still: an override that has moved, a mode or a hostname that was changed. slurmctld would
      // take the job of the one that is there for lost.
      if (!hosts_) hosts_ = HostsWithPod(world, set_, workers_);
      if (const auto other = hosts_->find(worker.host);
          other != hosts_->end() && (other->second->metadata.name != worker.name || IsOrphanOf(set_, *other->second))) {
        scale_.waiting.push_back("the name " + worker.host + " in Slurm, which pod " + other->second->metadata.name +
                                 " has");
        continue;
      }
      // A record that is being removed must not be that of the worker which registers next.
      if (world.InFlight(plan::NodeTarget(cluster_, worker.host))) continue;
      creations += 1 + int(worker.claims.size());
      bytes += worker.body.size();
      const bool first = created_hosts_.empty();
      if (!first && (creations > kMostCreations || bytes > kMostCreatedBytes)) return;
      if (!CreateWorker(worker, failed) && ++fresh == kMostNewWorkers) return;
    }
  }

  // True: its creation has failed before.
  bool CreateWorker(const NewWorker& worker, const std::set<std::string_view>& failed) {
    bool any_failed = false;
    const auto create = [&](Action action) {
      any_failed |= failed.contains(action.effect->target());
      return plan.Add(std::move(action));
    };
    std::vector<plan::ActionId> after = RemoveOldRecord(worker.host);
    for (const NewClaim& claim : worker.claims) {
      const plan::ObjectRef ref{&kube::kPersistentVolumeClaims, {set_.metadata.namespace_, claim.name}};
      Action made{.effect = plan::Create(ref, claim.body, ""), .reason = "volume of " + worker.name};
      if (AreRemovedInScaleIn(object.spec)) made.guards = {ClaimStays(ref.key)};
      after.push_back(create(std::move(made)));
    }
    const plan::ObjectRef ref{&kube::kPods, {set_.metadata.namespace_, worker.name}};
    create({.effect = plan::Create(ref, worker.body, set_.metadata.uid),
            .reason = "scale-out to " + Wanted(),
            .after = std::move(after),
            .event = {{.reason = EventWord("SuccessfulCreate"), .action = "Create"}}});
    created_hosts_.insert(worker.host);
    return any_failed;
  }

  // While nobody comes or goes: those without a worker are of workers that are not wanted back.
  void RemoveClaimsOfScaleIn() {
    const auto comes_or_goes = [](const Worker& worker) {
      return worker.stage == Stage::kLeaving || worker.stage == Stage::kEnded;
    };
    const auto claims = world.Ask(Claims(set_.metadata.namespace_, set_.metadata.name), kClaimsAge);
    if (scale_.missing > 0 || !scale_.surplus.empty() || std::ranges::any_of(workers_, comes_or_goes)) return;
    if (claims.known()) RemoveClaims(*claims.value);
  }

  // A registration changes hardly anything of a record that is there: the new worker would have the size, the features
  // and the weight of the one before it. Not for ever: workers are made whatever Slurm does. In an active maintenance
  // reservation Slurm removes none.
  std::vector<plan::ActionId> RemoveOldRecord(const std::string& host) {
    const slurm::Node* record = slurm_.heard() ? slurm_.Find(host) : nullptr;
    if (record == nullptr || !IsRecordOf(*record, set_) || record->state.Has(slurm::NodeFlag::kMaintenance)) return {};
    if (!hosts_) hosts_ = HostsWithPod(world, set_, workers_);
    if (hosts_->contains(host)) return {};
    if (Lasts("old record of " + host, kOldRecordTimeout)) return {};
    const auto removal = RemoveRecord(*record, set_, slurm_, plan);
    return removal ? std::vector{*removal} : std::vector<plan::ActionId>();
  }

  std::string Wanted() const { return std::to_string(*object.spec.replicas); }
  std::string WhyItGoes(const Worker& worker) const {
    if (IsRenewed(worker)) return "update to revision " + revisions_.current;
    if (set_.metadata.deleting()) return "the NodeSet is being deleted";
    const auto why = scale_.why.find(&worker);
    return why != scale_.why.end() ? why->second : "scale-in to " + Wanted();
  }

  const api::NodeSet& set_;  // as its user wrote it
  Settings settings_;
  std::string cluster_;
  plan::SlurmView slurm_;
  const api::Controller* controller_;
  const api::NodeSet* elder_ = nullptr;
  std::vector<Worker> workers_;
  Deletion deletion_;
  Scale scale_;
  Pins pins_;
  std::set<std::string, std::less<>> created_hosts_;
  std::set<const Pod*> removed_;
  std::optional<PodsByHost> hosts_;  // once it was needed
  Revisions revisions_;
  Renewal renewal_;
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
