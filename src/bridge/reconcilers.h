// Makes an engine the bridge's.
#pragma once

#include <string>
#include <vector>

#include "plan/engine.h"

namespace capstan::bridge {

// What it decides. docs/bridge.md shows it at work, docs/design.md how it is made.
std::vector<plan::Reconciler> Reconcilers();

// What the bridge may do on the API server.
std::vector<plan::Right> BridgeRights();

// The same as a Helm template, "slurm-bridge.rules"; charts/slurm-bridge/templates/_rules.tpl is this.
std::string RulesTemplate();

// The stores that Reconcilers() read. `bridge`: Settings::bridge.
void AddStores(plan::Stores& stores, const std::string& bridge);

}  // namespace capstan::bridge
