#include "operator/nodeset/pins.h"

#include <set>
#include <string_view>

#include "operator/nodeset/placement.h"

namespace capstan::op::nodeset {

Pins PinsOf(const plan::World& world, const api::NodeSet& set, const std::vector<Worker>& workers) {
  if (!set.spec.pin_to_node.value_or(false) || set.spec.IsDaemonSet()) return {};
  const auto placement = Placement::Of(set);
  if (!placement) return {};
  Pins pins;
  const auto pin = [&](const std::string& ordinal, const std::string& name) {
    const Node* node = world.Find<Node>({"", name});
    if (node != nullptr && placement->On(*node) == Fit::kRuns) pins.insert_or_assign(ordinal, name);
  };
  std::set<std::string_view> taken;
  for (const Worker& worker : workers) {
    if (worker.daemon || worker.stage == Stage::kLeaving || worker.pod->spec.node_name.empty()) continue;
    taken.insert(worker.pod->spec.node_name);
    if (worker.pod->status.phase == "Running") pin(std::to_string(worker.ordinal), worker.pod->spec.node_name);
  }
  // Two workers of one node would keep each other out.
  const bool shared = set.spec.oversubscribe_node.value_or(false);
  for (const auto& [ordinal, name] : set.status.ordinal_to_node) {
    if (!pins.contains(ordinal) && (shared || taken.insert(name).second)) pin(ordinal, name);
  }
  return pins;
}

void Pin(const Pins& pins, std::vector<Place>& places) {
  for (Place& place : places) {
    if (const auto found = pins.find(std::to_string(place.ordinal)); found != pins.end()) place.node = found->second;
  }
}

}  // namespace capstan::op::nodeset
