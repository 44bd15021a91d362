// How Prometheus finds slurmctld's metrics: a ServiceMonitor of the Prometheus operator, N-controller, for
// spec.metrics.serviceMonitor. It names the clients' Service alone, by a label that no other has, so that nothing is scraped
// twice and no standby is.
#pragma once

#include <optional>

#include "api/controller.h"
#include "plan/plan.h"

namespace capstan::op::controller {

// Whether one is asked for: metrics and their monitor are enabled, and slurmctld runs here.
bool WantsServiceMonitor(const api::Controller& controller);

// REQUIRES: WantsServiceMonitor(controller).
plan::Child ServiceMonitorObject(const api::Controller& controller);

}  // namespace capstan::op::controller
