#include "breaks.h"

#include <algorithm>
#include <array>
#include <optional>

#include "api/sharedroot.h"
#include "api/slurmcluster.h"
#include "operator/kind.h"
#include "operator/names.h"
#include "operator/nodeset/decide.h"
#include "operator/nodeset/drains.h"
#include "operator/nodeset/release.h"
#include "operator/nodeset/scale.h"
#include "operator/nodeset/worker_pod.h"
#include "operator/nodeset/workers.h"
#include "operator/sharedroot/decide.h"
#include "operator/sharedroot/jobs.h"
#include "operator/slurmcluster/decide.h"
#include "operator/slurmcluster/maintenance.h"
#include "plan/objects/effects.h"
#include "plan/services.h"
#include "plan/slurm/effects.h"

namespace capstan::sim {
namespace {

using op::nodeset::Worker;
using plan::Plan;
using plan::World;

// What the broken versions look at besides the real Plan.
struct Looked {
  Looked(const World& world, const kube::Key& key) : set(world.Find<api::NodeSet>(key)) {
    if (set == nullptr || set->metadata.deleting()) return;
    cluster = key.ns + "/" + set->spec.controller_ref.name;
    slurm.emplace(world.Slurm(cluster));
    workers = op::nodeset::Workers(world, *set, *slurm);
    scale = op::nodeset::ScaleTo(set->spec.replicas.value_or(1), workers, *slurm);
  }
  const api::NodeSet* set;
  std::string cluster;
  std::optional<plan::SlurmView> slurm;
  std::vector<Worker> workers;
  op::nodeset::Scale scale;
};

void Delete(Plan& plan, const Worker& worker) {
  const json::ObjectMeta& meta = worker.pod->metadata;
  if (meta.deleting()) return;
  plan.Add(
      plan::DeleteUnchanged({&kube::kPods, {meta.namespace_, meta.name}}, meta.uid, meta.resource_version, "broken"));
}

void Undrain(Plan& plan, const std::string& cluster, const std::string& node) {
  plan.Add({.effect = plan::UpdateNode("undrain", cluster, {.names = {node}, .action = slurm::NodeAction::kUndrain}),
            .reason = "broken",
            .guards = {},
            .after = {},
            .event = {}});
}

Plan WithoutProof(const World& world, const kube::Key& key) {
  Plan plan = op::nodeset::Decide(world, key);
  for (plan::Action& action : plan.actions) action.guards.clear();
  return plan;
}

// A proof of less than it should be: of what the node shows alone.
class Weak final : public plan::Guard {
 public:
  Weak(std::string cluster, std::string node) : cluster_(std::move(cluster)), node_(std::move(node)) {}

  std::string text() const override { return "Slurm node " + node_ + " looks free"; }

  async::Task<plan::Proof> Prove(plan::Services& services, async::Deadline deadline) const override {
    const auto fresh = co_await services.slurm.Fresh(cluster_, node_, deadline);
    if (!fresh) co_return plan::Proof::kUnknown;
    if (!fresh->node) co_return fresh->absence_counts ? plan::Proof::kYes : plan::Proof::kNo;
    const slurm::NodeState& state = fresh->node->state;
    const bool free = (state.IsDraining() || state.IsDown()) && !state.IsBusy();
    co_return free ? plan::Proof::kYes : plan::Proof::kNo;
  }

 private:
  std::string cluster_;
  std::string node_;
};

// In place of the proofs that no job is on a node; of workers that are called as their pods.
Plan WithoutJobs(const World& world, const kube::Key& key) {
  Plan plan = op::nodeset::Decide(world, key);
  for (plan::Action& action : plan.actions) {
    const std::string target = action.effect->target();
    for (auto& guard : action.guards) {
      if (guard->text().find("no job holds it") == std::string::npos) continue;
      guard = std::make_shared<Weak>(plan.slurm_cluster, target.substr(target.rfind('/') + 1));
    }
  }
  return plan;
}

Plan NobodyWakes(const World& world, const kube::Key& key) {
  Plan plan = op::nodeset::Decide(world, key);
  const Looked looked(world, key);
  if (looked.set == nullptr || looked.set->metadata.Annotation(std::string(op::kAnnotationPower)).empty()) return plan;
  std::erase_if(plan.actions, [](const plan::Action& action) {
    return action.effect->verb() == "create" && action.effect->target().starts_with("Pod ");
  });
  return plan;
}

Plan WithoutDrain(const World& world, const kube::Key& key) {
  Plan plan = op::nodeset::Decide(world, key);
  const Looked looked(world, key);
  for (const Worker* worker : looked.scale.surplus) Delete(plan, *worker);
  return plan;
}

Plan WithoutOwner(const World& world, const kube::Key& key) {
  Plan plan = op::nodeset::Decide(world, key);
  const Looked looked(world, key);
  for (const Worker* worker : looked.scale.kept) {
    if (worker->node != nullptr && worker->node->state.IsDraining()) Undrain(plan, looked.cluster, worker->host);
  }
  return plan;
}

// As it was: a worker without a record has no jobs.
Plan WhateverItsName(const World& world, const kube::Key& key) {
  Plan plan = op::nodeset::Decide(world, key);
  for (plan::Action& action : plan.actions) {
    std::erase_if(action.guards,
                  [](const auto& guard) { return guard->text().find("says that its slurmd") != std::string::npos; });
  }
  return plan;
}

// As it was: a machine that is not there is not cordoned.
Plan ByAbsence(const World& world, const kube::Key& key) {
  Plan plan = op::nodeset::Decide(world, key);
  const Looked looked(world, key);
  for (const Worker* worker : looked.scale.kept) {
    if (worker->machine != nullptr || worker->node == nullptr || !worker->cordon.empty()) continue;
    if (op::nodeset::IsOurDrain(*worker->node, *looked.set)) Undrain(plan, looked.cluster, worker->host);
  }
  return plan;
}

// As it was: a machine that Kubernetes has given up is lost, though Slurm hears its slurmd.
Plan WhomSlurmHears(const World& world, const kube::Key& key) {
  Plan plan = op::nodeset::Decide(world, key);
  const Looked looked(world, key);
  if (!looked.slurm || !looked.slurm->heard()) return plan;
  for (const slurm::Node& node : looked.slurm->All()) {
    const std::string machine = op::nodeset::MachineOfRecord(node);
    if (!node.state.IsBusy() || node.state.IsDown() || !op::nodeset::IsRecordOf(node, *looked.set)) continue;
    if (machine.empty() || world.Find<op::Node>({"", machine}) != nullptr) continue;
    plan.Add({.effect = plan::UpdateNode("down", looked.cluster,
                                         {.names = {node.name},
                                          .action = slurm::NodeAction::kDown,
                                          .reason = std::string(op::kReasonPrefix) + "broken"}),
              .reason = "broken",
              .guards = {},
              .after = {},
              .event = {}});
  }
  return plan;
}

// As it was: a node that has been given to a job and is off is drained as any.
Plan DrainsTheAwaited(const World& world, const kube::Key& key) {
  Plan plan = op::nodeset::Decide(world, key);
  const Looked looked(world, key);
  if (!looked.slurm || !looked.slurm->heard()) return plan;
  for (const slurm::Node& node : looked.slurm->All()) {
    if (!node.state.AwaitsSlurmd() || node.state.IsDraining() || !op::nodeset::IsRecordOf(node, *looked.set)) continue;
    plan.Add({.effect = plan::UpdateNode("drain", looked.cluster,
                                         {.names = {node.name},
                                          .action = slurm::NodeAction::kDrain,
                                          .reason = std::string(op::kReasonPrefix) + "broken"}),
              .reason = "broken",
              .guards = {},
              .after = {},
              .event = {}});
  }
  return plan;
}

Plan LiftsOthers(const World& world, const kube::Key& key) {
  Plan plan = op::nodeset::Decide(world, key);
  const Looked looked(world, key);
  if (!looked.slurm || !looked.slurm->heard()) return plan;
  for (const slurm::Node& node : looked.slurm->All()) {
    const auto own = std::ranges::find(looked.workers, node.name, &Worker::host);
    const bool others = own == looked.workers.end() || !own->cordon.empty();
    if (others && node.state.IsDraining()) Undrain(plan, looked.cluster, node.name);
  }
  return plan;
}

Plan UnknownIsDrained(const World& world, const kube::Key& key) {
  Plan plan = op::nodeset::Decide(world, key);
  const Looked looked(world, key);
  if (!looked.slurm || looked.slurm->heard()) return plan;
  for (const Worker* worker : looked.scale.surplus) Delete(plan, *worker);
  return plan;
}

Plan AnyRecord(const World& world, const kube::Key& key) {
  Plan plan = op::nodeset::Decide(world, key);
  const Looked looked(world, key);
  if (!looked.slurm || !looked.slurm->heard()) return plan;
  for (const slurm::Node& node : looked.slurm->All()) {
    const bool out = node.state.IsDraining() || node.state.IsDown();
    if (!out || std::ranges::find(looked.workers, node.name, &Worker::host) != looked.workers.end()) continue;
    plan.Add({.effect = plan::DeleteNode(looked.cluster, node.name),
              .reason = "broken",
              .guards = {},
              .after = {},
              .event = {}});
  }
  return plan;
}

Plan AtOnce(const World& world, const kube::Key& key) {
  Plan plan = op::nodeset::Decide(world, key);
  const auto* set = world.Find<api::NodeSet>(key);
  if (set == nullptr || !set->metadata.deleting() || !plan.status) return plan;
  plan.actions = {op::nodeset::Release(*set, {}, "broken")};
  return plan;
}

// Another uid, and another text each time: refused as a new thing whenever it is decided.
Plan NoPatience(const World& world, const kube::Key& key) {
  Plan plan = op::nodeset::Decide(world, key);
  const Looked looked(world, key);
  for (const Worker& worker : looked.workers) {
    const json::ObjectMeta& meta = worker.pod->metadata;
    std::string patch = R"({"metadata":{"labels":{"nodeset.slinky.slurm.net/pod-protect":")" +
                        std::to_string(world.now().time_since_epoch().count()) + "\"}}}";
    plan.Add({.effect =
                  plan::MergePatch("insist", {&kube::kPods, {meta.namespace_, meta.name}}, "nobodys", std::move(patch)),
              .reason = "broken",
              .guards = {},
              .after = {},
              .event = {}});
  }
  return plan;
}

// What it holds on to is kept, so that nothing else is wrong with it.
Plan Blind(const World& world, const kube::Key& key) {
  const World copy = world;  // NOLINT(performance-unnecessary-copy-initialization): it notes what it is asked
  Plan plan = op::nodeset::Decide(copy, key);
  for (const auto& [fact, since] : copy.facts()) world.HeldFor(fact);
  return plan;
}

// What its neighbours do with their pods, this one does too.
Plan Neighbourly(const World& world, const kube::Key& key) {
  Plan plan = op::nodeset::Decide(world, key);
  for (const api::NodeSet& set : world.In<api::NodeSet>(key.ns)) {
    if (set.metadata.name == key.name) continue;
    for (plan::Action& action : op::nodeset::Decide(world, {key.ns, set.metadata.name}).actions) {
      if (action.effect->target().starts_with("Pod ")) plan.Add(std::move(action));
    }
  }
  return plan;
}

// An update takes one more than it may.
Plan BeyondBudget(const World& world, const kube::Key& key) {
  Plan plan = op::nodeset::Decide(world, key);
  const Looked looked(world, key);
  if (looked.set == nullptr || looked.set->spec.IsDaemonSet() || !looked.slurm->heard()) return plan;
  const bool updates = std::ranges::any_of(looked.workers, [](const Worker& worker) { return worker.marked(); });
  if (!updates || !looked.scale.surplus.empty()) return plan;
  for (const Worker* worker : looked.scale.kept) {
    if (worker->marked() || worker->stage != op::nodeset::Stage::kServing) continue;
    plan.Add({.effect = plan::UpdateNode("drain", looked.cluster,
                                         {.names = {worker->host},
                                          .action = slurm::NodeAction::kDrain,
                                          .reason = op::nodeset::ScaleInReason({key.ns, worker->pod->metadata.name})}),
              .reason = "broken",
              .guards = {},
              .after = {},
              .event = {}});
    break;
  }
  return plan;
}

// slurmctld takes its slurmd for that of a machine which was booted unexpectedly.
Plan BeforeSlurmAsks(const World& world, const kube::Key& key) {
  Plan plan = op::nodeset::Decide(world, key);
  const Looked looked(world, key);
  if (!looked.slurm || !looked.slurm->heard() ||
      looked.set->metadata.Annotation(std::string(op::kAnnotationPower)).empty())
    return plan;
  const auto* controller = world.Find<api::Controller>({key.ns, looked.set->spec.controller_ref.name});
  if (controller == nullptr) return plan;
  api::NodeSet set = *looked.set;
  set.spec = api::WithDefaults(set.spec);
  auto workers = op::nodeset::WorkerTemplate::Of(set, *controller, op::SettingsOf(world), true);
  for (int ordinal = 0; workers && ordinal < *set.spec.replicas; ++ordinal) {
    const op::nodeset::NewWorker worker = workers->Stamp({.ordinal = ordinal, .node = {}, .host = {}});
    const slurm::Node* record = looked.slurm->Find(worker.host);
    const bool has_pod = std::ranges::find(looked.workers, worker.host, &Worker::host) != looked.workers.end();
    if (record == nullptr || !record->state.IsOff() || !record->state.IsBusy() || has_pod) continue;
    plan.Add({.effect = plan::Create({&kube::kPods, {key.ns, worker.name}}, worker.body, set.metadata.uid),
              .reason = "broken",
              .guards = {},
              .after = {},
              .event = {}});
  }
  return plan;
}

void LacksARight(plan::Reconciler& reconciler) {
  std::erase_if(reconciler.uses,
                [](const plan::Right& right) { return *right.resource == kube::kControllerRevisions; });
}

// As if nobody else had a say in the numbers of its workers.
Plan ItsOwnNumbers(const World& world, const kube::Key& key) {
  Plan plan = op::slurmcluster::Decide(world, key);
  for (plan::Child& child : plan.children) {
    if (child.resource->kind != "NodeSet") continue;
    json::Value body = *json::Parse(child.body);
    json::MakeObject(body, {"spec"})["replicas"] = 1;
    child.body = json::SerializeCanonical(body);
    child.keeps.clear();
  }
  return plan;
}

Plan AlwaysInMaintenance(const World& world, const kube::Key& key) {
  Plan plan = op::slurmcluster::Decide(world, key);
  const auto* cluster = world.Find<api::SlurmCluster>(key);
  if (cluster == nullptr || cluster->spec.mode == api::kModeMaintenance || !world.Slurm(plan.slurm_cluster).heard())
    return plan;
  plan.Add({.effect = plan::WriteReservation(
                plan.slurm_cluster,
                *op::slurmcluster::NextReservation(op::slurmcluster::ReservationName(key.name), nullptr, world.now())),
            .reason = "broken"});
  return plan;
}

// What it would write to Slurm, or remove there, is left out.
Plan WithoutReservation(const World& world, const kube::Key& key) {
  Plan plan = op::slurmcluster::Decide(world, key);
  std::erase_if(plan.actions, [](const plan::Action& action) { return action.effect->target().starts_with("Slurm "); });
  return plan;
}

// Workers that are to go, and are not drained yet, get jobs.
Plan TooEarly(const World& world, const kube::Key& key) {
  Plan plan = op::slurmcluster::Decide(world, key);
  const auto* cluster = world.Find<api::SlurmCluster>(key);
  if (cluster != nullptr && cluster->spec.mode == api::kModeStopped && world.Slurm(plan.slurm_cluster).heard() &&
      std::ranges::find(cluster->metadata.finalizers, op::kFinalizerMaintenance) != cluster->metadata.finalizers.end())
    plan.Add({.effect = plan::DeleteReservation(plan.slurm_cluster, op::slurmcluster::ReservationName(key.name)),
              .reason = "broken"});
  return plan;
}

std::optional<api::SharedRoot> RootWithDefaults(const World& world, const kube::Key& key) {
  const auto* found = world.Find<api::SharedRoot>(key);
  if (found == nullptr) return std::nullopt;
  api::SharedRoot root = *found;
  root.spec = api::WithDefaults(root.spec);
  return root;
}

// Sessions get a root that is not there yet.
Plan BeforeItIsFilled(const World& world, const kube::Key& key) {
  Plan plan = op::sharedroot::Decide(world, key);
  const std::optional<api::SharedRoot> root = RootWithDefaults(world, key);
  if (!root) return plan;
  for (plan::Child& child : plan.children) {
    if (child.key.name.contains(op::sharedroot::kFill))
      child = *op::sharedroot::SwitchJob(*root, op::sharedroot::GenerationName(root->spec), root->status.claim_uid, {});
  }
  return plan;
}

// As it was: what a switch did that nobody wants any more stays, once its Job is gone.
Plan NothingUndone(const World& world, const kube::Key& key) {
  Plan plan = op::sharedroot::Decide(world, key);
  const auto* root = world.Find<api::SharedRoot>(key);
  if (root == nullptr) return plan;
  const api::SharedRootSpec spec = api::WithDefaults(root->spec);
  const api::CurrentRoot& current = root->status.current;
  if (current.generation != op::sharedroot::GenerationName(spec) || current.keep != *spec.keep) return plan;
  plan.children.clear();
  plan.children_complete = true;
  return plan;
}

// Roots are removed without a look at who is in them.
Plan NobodyIsIn(const World& world, const kube::Key& key) {
  Plan plan = op::sharedroot::Decide(world, key);
  const std::optional<api::SharedRoot> root = RootWithDefaults(world, key);
  if (!root) return plan;
  for (plan::Child& child : plan.children) {
    if (!child.key.name.contains(op::sharedroot::kRemove)) continue;
    const auto body = json::Parse(child.body);
    const json::Value& container = body->at_pointer("/spec/template/spec/containers/0");
    std::vector<std::string> generations;
    for (const json::Value& word : container.at("command").as_array()) {
      if (word.as_string().starts_with("g-")) generations.emplace_back(word.as_string());
    }
    child = *op::sharedroot::RemoveJob(*root, generations, {}, root->status.claim_uid, {});
  }
  return plan;
}

constexpr auto kBreaks = std::to_array<Break>({
    {"proof", "nothing is proven before it is done", &WithoutProof},
    {"jobs", "a node that is drained and IDLE counts as free, though suspended jobs hold it", &WithoutJobs},
    {"asleep", "a node that Slurm powers up gets no worker", &NobodyWakes},
    {"given", "a worker starts as soon as a job has its node, before Slurm powers it up", &BeforeSlurmAsks},
    {"awaited", "a node that a job waits for is drained", &DrainsTheAwaited},
    {"drain", "workers that are too many are deleted without a drain", &WithoutDrain},
    {"owner", "every drain is lifted, whosever it is", &WithoutOwner},
    {"lift", "a drain of another NodeSet in the cluster is lifted, or one that a cordon asks for", &LiftsOthers},
    {"name", "a worker without a record is replaced, whatever its slurmd is called", &WhateverItsName},
    {"absence", "a drain is lifted because its machine is not there", &ByAbsence},
    {"heard", "a machine without a Node object is lost, though Slurm hears its slurmd", &WhomSlurmHears},
    {"unknown", "while Slurm is not heard, workers count as drained", &UnknownIsDrained},
    {"record", "records are removed, whoever drained them", &AnyRecord},
    {"patience", "what was refused is sent again at once, a little changed", &NoPatience},
    {"release", "a NodeSet that is deleted is let go at once", &AtOnce},
    {"blind", "nothing of what is looked at wakes the key when it changes", &Blind},
    {"neighbour", "what another NodeSet does with its pods, this one does too", &Neighbourly},
    {"budget", "an update takes one worker more out of service than it may", &BeyondBudget},
    {"right", "the row does not name the right to write down revisions", nullptr, &LacksARight},
    {"number", "a SlurmCluster writes numbers of workers that it does not name", &ItsOwnNumbers, nullptr,
     "slurmcluster"},
    {"unkept", "a SlurmCluster in maintenance keeps no jobs out", &WithoutReservation, nullptr, "slurmcluster"},
    {"early", "a SlurmCluster that is stopped after a maintenance lets jobs in before its workers are gone", &TooEarly,
     nullptr, "slurmcluster"},
    {"reserve", "a SlurmCluster keeps jobs out in any mode", &AlwaysInMaintenance, nullptr, "slurmcluster"},
    {"fill", "a SharedRoot switches to a generation that is not filled", &BeforeItIsFilled, nullptr, "sharedroot"},
    {"inside", "roots are removed while sessions are in them", &NobodyIsIn, nullptr, "sharedroot"},
    {"undone", "a switch that nobody wants any more is not undone", &NothingUndone, nullptr, "sharedroot"},
});

}  // namespace

std::span<const Break> Breaks() { return kBreaks; }

const Break* FindBreak(std::string_view name) {
  const auto found = std::ranges::find(kBreaks, name, &Break::name);
  return found == kBreaks.end() ? nullptr : &*found;
}

std::vector<plan::Reconciler> ReconcilersWith(const Break* broken) {
  std::vector<plan::Reconciler> reconcilers = op::Reconcilers();
  for (plan::Reconciler& reconciler : reconcilers) {
    if (broken == nullptr || reconciler.kind != broken->kind) continue;
    if (broken->decide != nullptr) reconciler.decide = broken->decide;
    if (broken->change != nullptr) broken->change(reconciler);
  }
  return reconcilers;
}

}  // namespace capstan::sim
