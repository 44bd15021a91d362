#include "bridge/cluster.h"

#include "bridge/group/decide.h"
#include "bridge/mark.h"
#include "bridge/marked_jobs.h"
#include "bridge/node/decide.h"
#include "bridge/objects.h"
#include "bridge/settings.h"
#include "bridge/take_over.h"

namespace capstan::bridge {
namespace {

// Younger than this, an answer is handed on: its arrival decides the key at once, and decides later than this find nothing new
// in it.
constexpr Duration kNew = 10min;

}  // namespace

plan::Plan DecideCluster(const plan::World& world, const kube::Key& key) {
  plan::Plan plan;
  const Namespace* system = world.Find<Namespace>(key);
  if (key.name != "kube-system" || system == nullptr) return plan;
  const Settings& settings = SettingsOf(world);
  plan.slurm_cluster = kSlurm;
  plan.slurm = {.server = settings.slurm_rest_api, .token_file = settings.token_file};
  if (!world.Slurm(kSlurm).heard()) return plan;
  TakeOver(plan, world, system->metadata.uid);
  node::EndUnwanted(plan, world, system->metadata.uid);
  const auto jobs = world.Ask(MarkedJobs(), kMarkedJobsAge);
  if (!jobs.known() || jobs.age > kNew) return plan;
  for (const auto& [prefix, ids] : *jobs.value) {
    const auto mark = JobMark::OfPrefix(prefix);
    if (!mark || mark->cluster != system->metadata.uid || mark->bridge != settings.bridge) continue;
    for (const int64_t id : ids) plan.hands_over.push_back({group::kGroup, mark->group, id});
  }
  return plan;
}

}  // namespace capstan::bridge
