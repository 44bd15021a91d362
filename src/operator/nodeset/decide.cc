#include "operator/nodeset/decide.h"

#include <algorithm>

#include "api/controller.h"
#include "operator/names.h"
#include "operator/nodeset/scale.h"
#include "operator/nodeset/status.h"
#include "operator/nodeset/workers.h"
#include "operator/render/conditions.h"
#include "operator/render/revision.h"
#include "operator/render/settings.h"
#include "operator/render/worker_pod.h"
#include "operator/resources.h"
#include "plan/kube_effects.h"
#include "plan/slurm_effects.h"

namespace capstan::op::nodeset {
namespace {

using plan::Action;
using slurm::NodeAction;

constexpr Duration kChoiceTime = 5s;
constexpr Duration kRegistrationTime = 2min;  // longer than slurmd takes from its start to its registration
constexpr std::string_view kNotResponding = "Not responding";  // slurmctld's own reason

// One Decide at work: what it sees, and the Plan that grows.
class Deciding {
 public:
  Deciding(const plan::World& world, const api::NodeSet& set)
      : world_(world),
        set_(set),
        spec_(api::WithDefaults(set.spec)),
        settings_(render::SettingsOf(world)),
        cluster_(ClusterOf(set.metadata.namespace_, set.spec.controller_ref.name)),
        slurm_(world.Slurm(cluster_)),
        controller_(world.Find<api::Controller>({set.metadata.namespace_, set.spec.controller_ref.name})),
        workers_(Workers(world, set, slurm_)),
        scale_(ScaleTo(*spec_.replicas, workers_)) {
    plan_.slurm_cluster = cluster_;
    if (auto revision = render::Revision(set))
      revision_ = *std::move(revision);
    else
      render_error_ = revision.error().message();
  }

  plan::Plan Run() {
    for (const Worker& worker : workers_) {
      if (worker.stage == Stage::kEnded) RemoveEnded(worker);
    }
    if (ChoiceIsFresh()) {
      for (const Worker* worker : scale_.condemned) Condemn(*worker);
    }
    for (const Worker* worker : scale_.kept) Keep(*worker);
    for (const Worker& worker : workers_) Label(worker);
    if (spec_.ssh && *spec_.ssh->enabled) plan_.children.push_back(render::SshConfig(set_));
    CreateMissing();
    RemoveRecords();
    plan_.status = StatusOf({world_, set_, spec_, controller_, slurm_, workers_, scale_, revision_, render_error_});
    return std::move(plan_);
  }

 private:
  plan::ObjectRef PodRef(const Worker& worker) const {
    return {&kube::kPods, {worker.pod->metadata.namespace_, worker.pod->metadata.name}};
  }
  kube::Key PodKey(const Worker& worker) const { return PodRef(worker).key; }

  plan::ActionId Annotate(std::string_view verb, const Worker& worker, std::string_view value, std::string reason) {
    std::string patch =
        R"({"metadata":{"annotations":{")" + std::string(kAnnotationScaleIn) + R"(":)" + std::string(value) + "}}}";
    return plan_.Add({.effect = plan::MergePatch(verb, PodRef(worker), worker.pod->metadata.uid, std::move(patch)),
                      .reason = std::move(reason)});
  }

  plan::ActionId Update(std::string_view verb, const Worker& worker, slurm::NodeUpdate update, std::string reason) {
    update.names = {worker.host};
    plan_.slurm_expects.push_back(worker.host);
    return plan_.Add({.effect = plan::UpdateNode(verb, cluster_, std::move(update)), .reason = std::move(reason)});
  }

  // A person may have spoken since the snapshot was read: their reason is neither written over nor lifted.
  std::shared_ptr<const plan::Guard> NotHeld(const Worker& worker) const {
    return plan::NodeIsNotHeld(cluster_, worker.host, std::string(kReasonPrefix));
  }

  // --- Pods that are over --------------------------------------------------------------------------------------------

  // Nothing of it runs, so nothing can be lost; the exact version that was seen is the proof.
  void RemoveEnded(const Worker& worker) {
    RemoveUnchanged(worker, "the worker has ended (" + worker.pod->status.phase + ") and is replaced");
  }

  void RemoveUnchanged(const Worker& worker, std::string reason) {
    const json::ObjectMeta& meta = worker.pod->metadata;
    Action remove = plan::DeleteUnchanged(PodRef(worker), meta.uid, meta.resource_version, std::move(reason));
    remove.event = {.reason = "SuccessfulDelete", .action = "Delete"};
    plan_.Add(std::move(remove));
  }

  // --- Scale-in ------------------------------------------------------------------------------------------------------

  // Who goes depends on who is busy: a new choice is made on what Slurm said after it became necessary, so that a
  // worker that has just got a job is not drained for nothing. Not for ever: a drain costs no job.
  bool ChoiceIsFresh() {
    if (scale_.condemned.empty() || !slurm_.heard()) return true;
    if (std::ranges::all_of(scale_.condemned, &Worker::condemned)) return true;
    const Duration needed = world_.HeldFor("choice of " + std::to_string(scale_.condemned.size()));
    if (slurm_.age() <= needed || needed >= kChoiceTime) return true;
    for (const Worker& worker : workers_) plan_.slurm_expects.push_back(worker.host);
    plan_.LookAgainIn(kChoiceTime - needed);
    return false;
  }

  void Condemn(const Worker& worker) {
    switch (worker.stage) {
      case Stage::kLeaving:
      case Stage::kEnded:
        return;
      case Stage::kUnbound:
        // Placing it would change it: the exact version that was seen proves that it never ran.
        RemoveUnchanged(worker, "scale-in to " + Wanted() + ": the worker was never placed on a node");
        return;
      case Stage::kUnknown:
        MarkGoing(worker);
        return;
      case Stage::kUnregistered:
        MarkGoing(worker);
        // Absence never justifies deleting a worker that is ready, nor one that is about to register.
        if (!worker.pod->Ready() && slurm_.absence_counts() && Stuck(worker)) RemoveProven(worker, true);
        return;
      case Stage::kHeld:
        MarkGoing(worker);
        if (worker.node->state.IsDrained())
          RemoveProven(worker, false);
        else
          plan_.slurm_expects.push_back(worker.host);
        return;
      case Stage::kDrained:
        MarkGoing(worker);
        RemoveProven(worker, false);
        return;
      case Stage::kDraining:
        MarkGoing(worker);
        plan_.slurm_expects.push_back(worker.host);
        return;
      case Stage::kDown:
      case Stage::kServing:
        Drain(worker);
        return;
    }
  }

  // It will not register any more, as far as one can tell: the kubelet says why, or it has had its time.
  bool Stuck(const Worker& worker) {
    if (!render::PodTrouble(*worker.pod).empty()) return true;
    if (world_.HeldFor("unregistered " + worker.pod->metadata.uid) >= kRegistrationTime) return true;
    plan_.LookAgainIn(kRegistrationTime / 4);
    return false;
  }

  std::vector<plan::ActionId> MarkGoing(const Worker& worker) {
    if (worker.condemned()) return {};
    return {Annotate("cordon", worker, R"("true")", "scale-in to " + Wanted())};
  }

  void Drain(const Worker& worker) {
    const std::vector<plan::ActionId> cordoned = MarkGoing(worker);
    // A reason that a person gave for a DOWN stays; slurmctld's own may go.
    const std::string& present = worker.node->reason;
    const bool keep = worker.stage == Stage::kDown && !present.empty() && present != kNotResponding &&
                      !present.starts_with(kReasonPrefix);
    slurm::NodeUpdate update{.action = NodeAction::kDrain, .reason = keep ? present : ScaleInReason(PodKey(worker))};
    Update("drain", worker, std::move(update), "scale-in to " + Wanted());
    if (!keep) plan_.actions.back().guards = {NotHeld(worker)};
    plan_.actions.back().after = cordoned;
    plan_.actions.back().event = {.reason = "ScalingDown", .action = "ScaleDown"};
  }

  void RemoveProven(const Worker& worker, bool absent_is_enough) {
    Action remove = plan::Delete(PodRef(worker), worker.pod->metadata.uid,
                                 plan::Proven(plan::NodeIsDrained(cluster_, worker.host, absent_is_enough)),
                                 "scale-in to " + Wanted() + ": the worker is drained and runs no job");
    remove.event = {.reason = "SuccessfulDelete", .action = "Delete"};
    plan_.slurm_expects.push_back(worker.host);
    plan_.Add(std::move(remove));
  }

  // --- Workers that stay ---------------------------------------------------------------------------------------------

  void Keep(const Worker& worker) {
    if (worker.condemned()) Annotate("uncordon", worker, "null", "the worker is wanted again");
    if (worker.stage == Stage::kUnregistered) Replace(worker);
    if (worker.node == nullptr) return;
    const slurm::Node& node = *worker.node;
    if (IsOurDown(node)) {
      // Its own preStop hook set it DOWN, in an earlier life; only a worker that is back can be resumed.
      if (worker.pod->Ready()) {
        Update("resume", worker, {.action = NodeAction::kResume}, "the worker is back");
        plan_.actions.back().guards = {NotHeld(worker)};
      }
    } else if (IsOurDrain(node) && !worker.cordoned()) {
      Update("undrain", worker, {.action = NodeAction::kUndrain}, "the worker is wanted again");
      plan_.actions.back().guards = {NotHeld(worker)};
    }
  }

  // slurmd registers when it starts and never again: a worker whose record was lost stays outside until it is replaced.
  // No job can be on a node that slurmctld does not know.
  void Replace(const Worker& worker) {
    if (worker.pod->status.phase != "Running" || worker.pod->Ready() || !slurm_.absence_counts()) return;
    if (world_.HeldFor("unregistered " + worker.pod->metadata.uid) < kRegistrationTime) {
      plan_.LookAgainIn(kRegistrationTime / 4);
      return;
    }
    Action remove = plan::Delete(PodRef(worker), worker.pod->metadata.uid,
                                 plan::Proven(plan::NodeIsDrained(cluster_, worker.host, true)),
                                 "Slurm has no record of the worker; a new one will register");
    remove.event = {.reason = "SlurmNodeNotRegistered", .action = "Delete", .warning = true};
    plan_.Add(std::move(remove));
  }

  // What Slurm's record and the pod's labels say about each other; for every worker that runs, going or not.
  void Label(const Worker& worker) {
    if (worker.node == nullptr || worker.stage == Stage::kLeaving || worker.stage == Stage::kEnded) return;
    if (worker.stage != Stage::kUnbound) {
      std::string comment = RecordComment(worker, set_);
      if (worker.node->comment != comment) {
        Update("note", worker, {.comment = std::move(comment)}, "who stands behind the Slurm node");
      }
    }
    const bool protect = *spec_.workload_disruption_protection && worker.node->state.IsBusy();
    const std::string& label = worker.pod->metadata.Label(std::string(kLabelPodProtect));
    if (protect == (label == "true")) return;
    std::string patch = R"({"metadata":{"labels":{")" + std::string(kLabelPodProtect) + R"(":)" +
                        (protect ? R"("true")" : "null") + "}}}";
    plan_.Add({.effect = plan::MergePatch(protect ? "protect" : "unprotect", PodRef(worker), worker.pod->metadata.uid,
                                          std::move(patch)),
               .reason = protect ? "jobs run here" : "no job runs here any more"});
  }

  // --- Scale-out -----------------------------------------------------------------------------------------------------

  void CreateMissing() {
    if (controller_ == nullptr || controller_->metadata.deleting() || !render_error_.empty()) return;
    if (spec_.scaling_mode == api::kScalingDaemonSet) return;
    for (const int ordinal : scale_.create) {
      const auto pod = render::WorkerPod(set_, *controller_, ordinal, settings_);
      if (!pod) {
        render_error_ = pod.error().message();
        return;
      }
      // A record that is being removed must not be that of the worker which registers next.
      if (world_.InFlight(plan::NodeTarget(cluster_, pod->host))) continue;
      std::vector<plan::ActionId> claimed;
      for (const render::Claim& claim : pod->claims) {
        const plan::ObjectRef ref{&kube::kPersistentVolumeClaims, {set_.metadata.namespace_, claim.name}};
        claimed.push_back(plan_.Add({.effect = plan::Create(ref, claim.body, ""), .reason = "volume of " + pod->name}));
      }
      const plan::ObjectRef ref{&kube::kPods, {set_.metadata.namespace_, pod->name}};
      plan_.Add({.effect = plan::Create(ref, pod->body, set_.metadata.uid),
                 .reason = "scale-out to " + Wanted(),
                 .after = std::move(claimed),
                 .event = {{.reason = "SuccessfulCreate", .action = "Create"}}});
      created_hosts_.push_back(pod->host);
    }
  }

  // --- Records without a worker --------------------------------------------------------------------------------------

  // Only what we took out of service, or nobody hears of, goes; and only while no pod, present or about to be, bears
  // the name.
  void RemoveRecords() {
    if (!slurm_.heard()) return;
    for (const slurm::Node& node : slurm_.All()) {
      if (!IsRecordOf(node, set_)) continue;
      const bool worker = std::ranges::any_of(workers_, [&](const Worker& w) { return w.host == node.name; });
      const bool soon = std::ranges::find(created_hosts_, node.name) != created_hosts_.end();
      if (worker || soon || node.state.IsBusy()) continue;
      // Its slurmd went without a word, and slurmctld itself has given it up.
      const bool lost = node.state.IsDown() && node.state.IsNotResponding() && node.reason == kNotResponding;
      if (!lost && !IsOurDrain(node) && !IsOurDown(node)) continue;
      plan_.slurm_expects.push_back(node.name);
      plan_.Add({.effect = plan::DeleteNode(cluster_, node.name),
                 .reason = "its worker is gone",
                 .guards = {plan::NodeIsOurs(cluster_, node.name, std::string(lost ? kNotResponding : kReasonPrefix))},
                 .event = {{.reason = "SlurmNodeRemoved", .action = "Delete"}}});
    }
  }

  std::string Wanted() const { return std::to_string(*spec_.replicas); }

  const plan::World& world_;
  const api::NodeSet& set_;
  api::NodeSetSpec spec_;
  render::Settings settings_;
  std::string cluster_;
  plan::SlurmView slurm_;
  const api::Controller* controller_;
  std::vector<Worker> workers_;
  Scale scale_;
  std::vector<std::string> created_hosts_;
  std::string revision_;
  std::string render_error_;
  plan::Plan plan_;
};

}  // namespace

plan::Plan Decide(const plan::World& world, const kube::Key& key) {
  const api::NodeSet* set = world.Find<api::NodeSet>(key);
  // A NodeSet that is being deleted leaves its pods to the garbage collector; their preStop hooks tell Slurm.
  if (set == nullptr || set->metadata.deleting()) return {};
  return Deciding(world, *set).Run();
}

}  // namespace capstan::op::nodeset
