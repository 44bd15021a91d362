// A Token: accepted and not managed yet. It gets conditions that say so, and nothing else: no object is made, and
// none of the same name is touched.
#pragma once

#include "kube/resource.h"
#include "plan/plan.h"
#include "plan/world.h"

namespace capstan::op::token {

plan::Plan Decide(const plan::World& world, const kube::Key& key);

}  // namespace capstan::op::token
