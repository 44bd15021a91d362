// One Website: a ConfigMap with its page, a Deployment of servers, and a Service if a port is given; all called like the
// Website and controlled by it.
//
// A page that cannot be told (its footer is missing) changes nothing: what is published stays so, and the condition says
// what is wrong.
#pragma once

#include "kube/resource.h"
#include "plan/engine.h"
#include "plan/plan.h"
#include "plan/world.h"

namespace website {

// Everything that this operator does, as a function: no I/O, no clock, no memory. The runtime does the rest.
capstan::plan::Plan Decide(const capstan::plan::World& world, const capstan::kube::Key& key);

// Tells the engine which kinds Decide reads, and for which it decides.
void SetUp(capstan::plan::Engine& engine);

}  // namespace website
