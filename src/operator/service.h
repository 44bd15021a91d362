// The operator's stores and reconcilers, put into an engine. The same for the program and for the simulator.
#pragma once

#include <vector>

#include "plan/engine.h"

namespace capstan::op {

// A reconciler for each custom resource.
std::vector<plan::Reconciler> Reconcilers();

// Adds every kind that the operator reads, and the reconcilers. REQUIRES: before engine.Run().
void AddReconcilers(plan::Engine& engine, std::vector<plan::Reconciler> reconcilers = Reconcilers());

}  // namespace capstan::op
