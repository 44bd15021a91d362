#include "bridge/end_job.h"

#include "bridge/names.h"
#include "bridge/settings.h"
#include "plan/objects/guards.h"
#include "plan/slurm/jobs.h"

namespace capstan::bridge {

void EndJob(plan::Plan& plan, const slurm::Job& job, JobMark mark, std::string outcome, WhatProves proof) {
  plan::Guards guards{plan::JobIsOurs(kSlurm, job.id, mark.Prefix())};
  if (proof == WhatProves::kPodsHaveEnded)
    guards.push_back(plan::PodsHaveEnded(mark.group.substr(0, mark.group.find('/')),
                                         std::string(kJobId) + "=" + std::to_string(job.id)));
  mark.outcome = std::move(outcome);
  std::vector<plan::ActionId> after;
  if (job.admin_comment != mark.ToString()) {
    after.push_back(plan.Add({.effect = plan::CommentJob(kSlurm, job.id, mark.ToString()),
                              .reason = "how its pods ended",
                              .guards = guards,
                              .after = {},
                              .event = {}}));
  }
  plan.Add({.effect = plan::CancelJob(kSlurm, {.id = job.id, .name = job.name, .user = job.user}),
            .reason = "its pods have ended: " + mark.outcome,
            .guards = std::move(guards),
            .after = std::move(after),
            .event = {}});
}

}  // namespace capstan::bridge
