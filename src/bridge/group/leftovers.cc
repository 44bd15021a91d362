#include "bridge/group/leftovers.h"

#include <algorithm>

#include "bridge/end_job.h"
#include "bridge/settings.h"

namespace capstan::bridge::group {
namespace {

constexpr Duration kLateSubmission = 1min;

// False: there is nothing more to do about it.
bool EndLeftover(plan::Plan& plan, const plan::World& world, const JobMark& group, int64_t id,
                 const std::string& outcome) {
  const plan::SlurmView slurm = world.Slurm(kSlurm);
  const auto* known = slurm.FindJob(id);
  if (known == nullptr || !IsFresh(slurm)) return true;
  if (!*known) return MayComeLate(plan, world, id);
  const slurm::Job& job = **known;
  const auto mark = JobMark::Of(job.admin_comment);
  if (job.state.IsOver() || !mark || mark->Prefix() != group.Prefix()) return false;
  EndJob(plan, job, *mark, mark->outcome.empty() ? outcome : mark->outcome, "no pod of it is left",
         NoPodOfJobRuns(*mark, id));
  return true;
}

}  // namespace

bool MayComeLate(plan::Plan& plan, const plan::World& world, int64_t id) {
  const Duration held = world.HeldFor("job " + std::to_string(id) + " is left over and absent");
  if (held < kLateSubmission) plan.RequeueAfter(kLateSubmission - held);
  return held < kLateSubmission;
}

bool IsFresh(const plan::SlurmView& slurm) { return slurm.heard() && slurm.followed_age() <= kNewsHold; }

void EndLeftovers(plan::Plan& plan, const plan::World& world, const JobMark& group, std::span<const int64_t> current,
                  const std::string& outcome) {
  for (const int64_t id : world.follows())
    if (std::ranges::find(current, id) == current.end() && EndLeftover(plan, world, group, id, outcome))
      plan.slurm_follows.push_back(id);
}

}  // namespace capstan::bridge::group
