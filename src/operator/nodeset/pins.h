// Which Kubernetes node each ordinal belongs to, with spec.pinToNode: a worker that comes back goes where it was, as long as
// that node is there and fits the template. The status holds it (`ordinalToNode`), since the pod does not outlive itself. Pure.
#pragma once

#include <map>
#include <string>

#include "api/nodeset.h"
#include "operator/nodeset/scale.h"
#include "plan/world.h"

namespace capstan::op::nodeset {

// By ordinal, without padding: of workers that run where they are, of others where the status has them. Empty without
// pinToNode, in DaemonSet mode, and while the template cannot be read.
using Pins = std::map<std::string, std::string>;
Pins PinsOf(const plan::World& world, const api::NodeSet& set, const std::vector<Worker>& workers);

// Names the nodes of places that have one.
void Pin(const Pins& pins, std::vector<Place>& places);

}  // namespace capstan::op::nodeset
