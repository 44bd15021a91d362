#include "bridge/end_job.h"

#include "bridge/names.h"
#include "bridge/settings.h"
#include "plan/objects/guards.h"
#include "plan/slurm/jobs.h"

namespace capstan::bridge {

std::shared_ptr<const plan::Guard> NoPodOfJobRuns(const JobMark& mark, int64_t job) {
  return plan::PodsHaveEnded(mark.ns(), std::string(kJobId) + "=" + std::to_string(job));
}

void EndJob(plan::Plan& plan, const slurm::Job& job, JobMark mark, std::string outcome, const std::string& reason,
            std::shared_ptr<const plan::Guard> proof, std::optional<plan::EventText> event,
            std::optional<slurm::JobFlag> only_if) {
  if (job.state.Has(slurm::JobFlag::kCompleting)) return;
  plan::Guards guards{plan::JobIsOurs(kSlurm, job.id, mark.Prefix()), std::move(proof)};
  mark.outcome = std::move(outcome);
  std::vector<plan::ActionId> after;
  if (job.admin_comment != mark.ToString()) {
    after.push_back(plan.Add({.effect = plan::CommentJob(kSlurm, job.id, mark.ToString()),
                              .reason = reason,
                              .guards = guards,
                              .after = {},
                              .event = {}}));
  }
  plan.Add({.effect = plan::CancelJob(kSlurm, {.id = job.id, .name = job.name, .only_if = only_if}),
            .reason = reason,
            .guards = std::move(guards),
            .after = std::move(after),
            .event = std::move(event)});
}

}  // namespace capstan::bridge
