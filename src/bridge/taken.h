// What a pod takes of its machine.
#pragma once

#include <string>

#include "base/result.h"
#include "bridge/objects.h"
#include "kube/quantity.h"

namespace capstan::bridge {

// What a pod takes of a resource, as the scheduler counts it: its containers and sidecars together, or its largest init
// container; or what it says of itself as a whole; and its overhead. kInvalid: not a quantity.
Result<kube::Quantity> Requested(const Pod& pod, const std::string& resource);

// The more of that and of its limits, counted likewise.
Result<kube::Quantity> Taken(const Pod& pod, const std::string& resource);

}  // namespace capstan::bridge
