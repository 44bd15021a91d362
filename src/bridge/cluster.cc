#include "bridge/cluster.h"

#include <memory>

#include "base/hash.h"
#include "bridge/group/decide.h"
#include "bridge/mark.h"
#include "bridge/objects.h"
#include "bridge/settings.h"
#include "plan/question.h"
#include "plan/services.h"

namespace capstan::bridge {
namespace {

constexpr Duration kLookEvery = 1h;
// Younger than this, an answer is handed on: its arrival decides the key at once, and decides later than this find nothing new
// in it.
constexpr Duration kNew = 10min;

// A job of a bridge, and for whom it is.
struct MarkedJob {
  int64_t id;
  JobMark mark;
};

// All external jobs that are not over and bear a mark.
class MarkedJobs final : public plan::Question {
 public:
  using Value = std::vector<MarkedJob>;
  std::string id() const override { return std::string("marked jobs of ") + kSlurm; }
  Duration limit() const override { return 2min; }

  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override {
    CAPSTAN_CO_TRY(const auto source, services.slurm.Reach(kSlurm));
    CAPSTAN_CO_TRY(const auto jobs, co_await source->ReadExternalJobs(deadline));
    Value marked;
    uint64_t digest = 0;
    for (const slurm::Job& job : jobs) {
      auto mark = JobMark::Of(job.admin_comment);
      if (!mark) continue;
      digest = Fnv64(job.admin_comment, digest + uint64_t(job.id));
      marked.push_back({job.id, *std::move(mark)});
    }
    co_return Fetched{std::make_shared<const Value>(std::move(marked)), digest};
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
  const auto jobs = world.Ask(MarkedJobs(), kLookEvery);
  if (!jobs.known() || jobs.age > kNew) return plan;
  for (const MarkedJob& job : *jobs.value) {
    if (job.mark.cluster == system->metadata.uid && job.mark.bridge == settings.bridge)
      plan.hands_over.push_back({group::kGroup, job.mark.group, job.id});
  }
  return plan;
}

}  // namespace capstan::bridge
