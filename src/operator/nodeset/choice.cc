#include "operator/nodeset/choice.h"

#include <algorithm>

namespace capstan::op::nodeset {
namespace {

constexpr Duration kFreshReadTimeout = 5s;
constexpr Duration kJobsTimeout = 15s;      // some polls of a busy slurmrestd
constexpr Duration kJobsPollInterval = 1s;  // jobs that are read anew and found unchanged wake nobody
constexpr Duration kChoiceTimeout = 2min;   // for a choice as a whole: to hear of jobs, and to tell those who go

}  // namespace

Choice ChooseToGo(const Look& look, const Scale& scale) {
  Choice choice{.wants = look.Part(), .go = scale.surplus};
  const std::vector<const Worker*>& all = scale.surplus;
  const auto told = [](const Worker* worker) { return worker->marked() && worker->stage != Stage::kServing; };
  if (std::ranges::all_of(all, told)) return choice;
  // It is the same choice while those who were chosen leave, and while Slurm is not heard.
  const std::string what = "choice down to " + std::to_string(scale.kept.size());
  const Duration needed = look.world.HeldFor(what);
  choice.open = true;
  if (!look.slurm.heard()) return choice;
  const bool fresh = look.slurm.age() <= needed || needed >= kFreshReadTimeout;
  const bool complete = scale.by_job_end == 0 || !AwaitsJobs(look, needed, what, choice.wants);
  if (needed < kChoiceTimeout) choice.wants.RequeueAfter(kChoiceTimeout - needed);
  choice.open = needed < kChoiceTimeout;
  if (fresh && complete) return choice;
  choice.open = true;
  for (const Worker& worker : look.workers) {
    if (!worker.host.empty()) choice.wants.slurm_expects.push_back(worker.host);
  }
  if (!fresh) choice.wants.RequeueAfter(kFreshReadTimeout - needed);
  choice.go.clear();
  const size_t certain = fresh ? all.size() - scale.by_job_end : 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i < certain || all[i]->marked()) choice.go.push_back(all[i]);
  }
  return choice;
}

bool AwaitsJobs(const Look& look, Duration needed, const std::string& choice, plan::Plan& wants) {
  if (needed >= kChoiceTimeout) return false;
  wants.slurm_jobs = true;
  const Duration asked = look.world.HeldFor("jobs for the " + choice);
  if (asked >= kJobsTimeout) return false;
  wants.RequeueAfter(std::min(kJobsPollInterval, kJobsTimeout - asked));
  return look.slurm.Jobs() == nullptr || look.slurm.jobs_age() > needed;
}

}  // namespace capstan::op::nodeset
