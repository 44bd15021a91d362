// A LoginSet: hosts that people log in to by SSH, with Slurm's commands.
//
// Its host keys are made once, in a Secret that nobody owns: they outlive the LoginSet, so that people who come back to
// one that was made anew meet the host that they know. Pods are replaced for a new template, and by nothing else where the
// image reads its files live (children.h).
#pragma once

#include "kube/resource.h"
#include "plan/plan.h"
#include "plan/world.h"

namespace capstan::op::loginset {

plan::Plan Decide(const plan::World& world, const kube::Key& key);

}  // namespace capstan::op::loginset
