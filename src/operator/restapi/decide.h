// One RestApi: slurmrestd and its Service. It waits for its Controller, the key and the published configuration; what
// runs already keeps running while one of these cannot be told or is missing.
#pragma once

#include "kube/resource.h"
#include "plan/plan.h"
#include "plan/world.h"

namespace capstan::op::restapi {

plan::Plan Decide(const plan::World& world, const kube::Key& key);

}  // namespace capstan::op::restapi
