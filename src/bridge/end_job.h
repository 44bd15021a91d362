// The end of a job of ours, by us.
#pragma once

#include <string>

#include "bridge/mark.h"
#include "plan/plan.h"
#include "slurm/snapshot.h"

namespace capstan::bridge {

// Proof, by a fresh list: no pod of the group's namespace that bears the job's id could still run. A label in another
// namespace, where anybody may write it, holds no job.
std::shared_ptr<const plan::Guard> NoPodOfJobRuns(const JobMark& mark, int64_t job);

// Writes `outcome` into its mark, so that nobody takes the end for a person's, and then cancels it. `proof` must hold besides
// that the job is ours. A job that is ending already is left to it.
// `only_if`: its base state, which Slurm compares as it cancels.
void EndJob(plan::Plan& plan, const slurm::Job& job, JobMark mark, std::string outcome, const std::string& reason,
            std::shared_ptr<const plan::Guard> proof, std::optional<plan::EventText> event = {},
            std::optional<slurm::JobFlag> only_if = {});

}  // namespace capstan::bridge
