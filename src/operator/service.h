// The operator's stores and reconcilers, put into an engine. The same for the program and for the simulator.
#pragma once

#include "plan/engine.h"

namespace capstan::op {

// Adds every kind that the operator reads, and a reconciler for each custom resource. REQUIRES: before engine.Run().
void AddReconcilers(plan::Engine& engine);

}  // namespace capstan::op
