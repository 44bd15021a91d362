#include "bridge/cluster.h"

#include <memory>

#include "base/hash.h"
#include "bridge/end_job.h"
#include "bridge/group/decide.h"
#include "bridge/mark.h"
#include "bridge/objects.h"
#include "bridge/settings.h"
#include "plan/question.h"
#include "plan/services.h"

namespace capstan::bridge {
namespace {

constexpr Duration kLookEvery = 1h;

// All external jobs that are not over.
class ExternalJobs final : public plan::Question {
 public:
  using Value = std::vector<slurm::Job>;
  std::string id() const override { return std::string("external jobs of ") + kSlurm; }
  Duration limit() const override { return 2min; }

  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override {
    CAPSTAN_CO_TRY(const auto source, services.slurm.Reach(kSlurm));
    CAPSTAN_CO_TRY(auto jobs, co_await source->ReadExternalJobs(deadline));
    uint64_t digest = 0;
    for (const slurm::Job& job : jobs) digest = Fnv64(job.admin_comment, digest + uint64_t(job.id));
    co_return Fetched{std::make_shared<const Value>(std::move(jobs)), digest};
  }
};

}  // namespace

plan::Plan DecideCluster(const plan::World& world, const kube::Key& key) {
  plan::Plan plan;
  const Namespace* system = world.Find<Namespace>(key);
  if (key.name != "kube-system" || system == nullptr) return plan;
  const Settings& settings = SettingsOf(world);
  plan.slurm_cluster = kSlurm;
  plan.slurm = {.server = settings.slurm_rest_api, .token_file = settings.token_file};
  if (!world.Slurm(kSlurm).heard()) return plan;
  const auto jobs = world.Ask(ExternalJobs(), kLookEvery);
  if (!jobs.known()) return plan;
  for (const slurm::Job& job : *jobs.value) {
    const auto mark = JobMark::Of(job.admin_comment);
    if (!mark || mark->cluster != system->metadata.uid || mark->bridge != settings.bridge) continue;
    // A group that still has a pod looks after its job itself. That none is left which could run is proven before the job ends.
    if (world.By<Pod>(group::kGroup, mark->group).empty())
      EndJob(plan, job, *mark, "Deleted", WhatProves::kPodsHaveEnded);
  }
  return plan;
}

}  // namespace capstan::bridge
