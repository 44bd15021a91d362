// The end of a job of ours, by us.
#pragma once

#include <string>

#include "bridge/mark.h"
#include "plan/plan.h"
#include "slurm/snapshot.h"

namespace capstan::bridge {

// What must hold besides that the job is ours.
enum class WhatProves : uint8_t {
  // By a fresh list: no pod of the group's namespace that bears its id could still run. A label in another namespace, where
  // anybody may write it, holds no job.
  kPodsHaveEnded,
  kCaller,  // the caller adds a guard to each action that this adds
};

// Writes `outcome` into its mark, so that nobody takes the end for a person's, and then cancels it.
void EndJob(plan::Plan& plan, const slurm::Job& job, JobMark mark, std::string outcome, WhatProves proof);

}  // namespace capstan::bridge
