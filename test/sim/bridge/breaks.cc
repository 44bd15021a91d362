#include "breaks.h"

#include <algorithm>
#include <array>

#include "bridge/group/decide.h"
#include "bridge/group/members.h"
#include "bridge/mark.h"
#include "bridge/names.h"
#include "bridge/node/decide.h"
#include "bridge/node/steps.h"
#include "bridge/nodes.h"
#include "bridge/release.h"
#include "bridge/settings.h"
#include "plan/objects/effects.h"
#include "plan/slurm/effects.h"
#include "plan/slurm/jobs.h"
#include "slurm/hostlist.h"

namespace capstan::sim::bridge {
namespace {

using namespace capstan::bridge;  // NOLINT(google-build-using-namespace)
using plan::Plan;
using plan::World;
using slurm::JobFlag;

// What the broken versions look at besides the real Plan.
struct Looked {
  Looked(const World& world, const kube::Key& key)
      : pods(world.By<Pod>(group::kGroup, key.ToString())), slurm(world.Slurm(kSlurm)) {
    if (pods.empty()) return;
    members.emplace(pods, SettingsOf(world).scheduler_name);
    const auto* known = slurm.FindJob(members->job);
    if (known != nullptr && *known) job = &**known;
  }
  bool Runs() const { return job != nullptr && job->state.Has(JobFlag::kRunning); }
  kube::ObjectList<Pod> pods;
  plan::SlurmView slurm;
  std::optional<group::Members> members;
  const slurm::Job* job = nullptr;
};

plan::Action Do(std::shared_ptr<const plan::Effect> effect) {
  return {.effect = std::move(effect), .reason = "broken", .guards = {}, .after = {}, .event = {}};
}

void Release(Plan& plan, const World& world, const Pod& pod, const std::string& node) {
  const auto patch = ReleasePatch(pod, node, SettingsOf(world).scheduler_name);
  if (patch) plan.Add(Do(plan::PatchTested("release", {&kube::kPods, pod.key()}, pod.metadata.uid, *patch)));
}

void SubmitNext(Plan& plan, const World& world, const kube::Key& key, const Looked& looked) {
  const auto* system = world.Find<Namespace>({"", "kube-system"});
  const Settings& settings = SettingsOf(world);
  if (system == nullptr) return;
  const int attempt = looked.members->attempt + 1;
  const JobMark mark{system->metadata.uid, settings.bridge, key.ToString(), attempt};
  const int64_t id =
      JobId(mark.cluster, looked.members->first().metadata.uid, attempt, settings.first_id, settings.ids);
  plan.slurm_cluster = kSlurm;
  plan.Add(Do(plan::SubmitJob(
      kSlurm, {.id = id, .name = "broken", .partition = settings.partition, .admin_comment = mark.ToString()})));
}

bool IsVerb(const plan::Action& action, std::string_view verb) { return action.effect->verb() == verb; }

Plan ReleasesWhatWaits(const World& world, const kube::Key& key) {
  Plan plan = group::Decide(world, key);
  const Looked looked(world, key);
  if (looked.job == nullptr || !looked.job->state.IsPending()) return plan;
  for (const Pod* pod : looked.members->gated) Release(plan, world, *pod, "k0");
  return plan;
}

Plan AsksTwice(const World& world, const kube::Key& key) {
  Plan plan = group::Decide(world, key);
  const Looked looked(world, key);
  if (looked.Runs() && !looked.members->none_lives()) SubmitNext(plan, world, key, looked);
  return plan;
}

Plan CancelsWhatIsThere(const World& world, const kube::Key& key) {
  Plan plan = group::Decide(world, key);
  const Looked looked(world, key);
  if (looked.job != nullptr && !JobMark::Of(looked.job->admin_comment)) {
    plan.Add(Do(plan::CancelJob(kSlurm, {.id = looked.job->id, .name = looked.job->name})));
  }
  return plan;
}

Plan DeletesWhatSlurmHasLost(const World& world, const kube::Key& key) {
  Plan plan = group::Decide(world, key);
  const Looked looked(world, key);
  if (!looked.members) return plan;
  const auto* known = looked.slurm.FindJob(looked.members->job);
  if (known == nullptr || *known) return plan;
  for (const Pod* pod : looked.members->released)
    plan.Add(
        plan::DeleteUnchanged({&kube::kPods, pod->key()}, pod->metadata.uid, pod->metadata.resource_version, "broken"));
  return plan;
}

Plan PutsAllOnOneNode(const World& world, const kube::Key& key) {
  Plan plan = group::Decide(world, key);
  const Looked looked(world, key);
  if (std::ranges::count_if(plan.actions, [](const auto& one) { return IsVerb(one, "release"); }) < 2) return plan;
  std::erase_if(plan.actions, [](const auto& one) { return IsVerb(one, "release"); });
  const auto node = KubernetesNodeOf(world, looked.slurm, slurm::HostSet::Parse(looked.job->nodes)->names().front());
  for (const Pod* pod : looked.members->gated)
    if (node) Release(plan, world, *pod, *node);
  return plan;
}

Plan LooksAtNobodyElse(const World& world, const kube::Key& key) {
  Plan plan = group::Decide(world, key);
  const Looked looked(world, key);
  if (!looked.Runs() || std::ranges::any_of(plan.actions, [](const auto& one) { return IsVerb(one, "release"); }))
    return plan;
  const auto nodes = slurm::HostSet::Parse(looked.job->nodes);
  if (!nodes || nodes->size() != 1 || looked.members->gated.size() != 1 || !looked.members->released.empty())
    return plan;
  if (!looked.members->BearsIt(*looked.members->gated[0]) || !JobMark::Of(looked.job->admin_comment)) return plan;
  const auto node = KubernetesNodeOf(world, looked.slurm, nodes->names().front());
  if (node) Release(plan, world, *looked.members->gated[0], *node);
  return plan;
}

Plan KnowsBetterThanPeople(const World& world, const kube::Key& key) {
  Plan plan = group::Decide(world, key);
  const Looked looked(world, key);
  if (!looked.members || looked.members->gated.empty()) return plan;
  const PodCondition* told = looked.members->gated[0]->Condition(kJobCondition);
  if (told != nullptr && told->reason == "CancelledInSlurm") SubmitNext(plan, world, key, looked);
  return plan;
}

Plan ReleasesHalf(const World& world, const kube::Key& key) {
  Plan plan = group::Decide(world, key);
  const Looked looked(world, key);
  if (!looked.members || looked.members->living() < 2) return plan;
  std::erase_if(plan.actions, [&](const plan::Action& action) {
    return IsVerb(action, "release") &&
           action.effect->target().find(looked.members->gated.back()->metadata.name) != std::string::npos;
  });
  return plan;
}

Plan LeavesJobs(const World& world, const kube::Key& key) {
  Plan plan = group::Decide(world, key);
  if (world.By<Pod>(group::kGroup, key.ToString()).empty()) plan.actions.clear();
  return plan;
}

// The first that has ended, in place of the last.
Plan EndsWithTheFirst(const World& world, const kube::Key& key) {
  Plan plan = group::Decide(world, key);
  const Looked looked(world, key);
  if (!looked.Runs() || (looked.members->ended.empty() && looked.members->leaving.empty())) return plan;
  if (JobMark::Of(looked.job->admin_comment))
    plan.Add(Do(plan::CancelJob(kSlurm, {.id = looked.job->id, .name = looked.job->name})));
  return plan;
}

// Whoever drained it.
Plan LiftsWhatOthersHold(const World& world, const kube::Key& key) {
  Plan plan = node::Decide(world, key);
  const auto* node = world.Find<Node>(key);
  if (node == nullptr || !node->TakesWork()) return plan;
  for (const slurm::Node* record : RecordsOn(world, world.Slurm(kSlurm), *node))
    if (node::Steps::HeldByOthers(*record))
      plan.Add(
          Do(plan::UpdateNode("undrain", kSlurm, {.names = {record->name}, .action = slurm::NodeAction::kResume})));
  return plan;
}

constexpr auto kBreaks = std::to_array<Break>({
    {"S1", "pods are released while their job waits", &ReleasesWhatWaits},
    {"S2", "another job is submitted while the first runs", &AsksTwice},
    {"S3", "a stranger's job under the id is cancelled", &CancelsWhatIsThere},
    {"S4", "pods are deleted when Slurm has lost their job", &DeletesWhatSlurmHasLost},
    {"S5", "all pods of a job go to one node", &PutsAllOnOneNode},
    {"S6", "nobody looks who else is on the node", &LooksAtNobodyElse},
    {"S7", "a cancelled job is asked for again", &KnowsBetterThanPeople},
    {"S8", "one of a gang is never released", &ReleasesHalf},
    {"S9", "jobs stay when their pods are gone", &LeavesJobs},
    {"S10", "a job ends with the first of its pods", &EndsWithTheFirst},
    {"S11", "a node is taken back from whoever has drained it", &LiftsWhatOthersHold, "node"},
});

}  // namespace

std::span<const Break> Breaks() { return kBreaks; }

const Break* FindBreak(std::string_view name) {
  const auto found = std::ranges::find(kBreaks, name, &Break::name);
  return found == kBreaks.end() ? nullptr : &*found;
}

}  // namespace capstan::sim::bridge
