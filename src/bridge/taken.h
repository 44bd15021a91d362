// What a pod takes of its machine.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/result.h"
#include "bridge/objects.h"
#include "kube/quantity.h"

namespace capstan::bridge {

// What is a GPU, a GRES `gpu` of Slurm's.
inline constexpr std::array<std::string_view, 2> kGpuResources = {"nvidia.com/gpu", "amd.com/gpu"};

// What a pod takes of a resource, as the scheduler counts it: its containers and sidecars together, or its largest init
// container; or what it says of itself as a whole; and its overhead. kInvalid: not a quantity.
Result<kube::Quantity> Requested(const Pod& pod, const std::string& resource);

// The more of that and of its limits, counted likewise.
Result<kube::Quantity> Taken(const Pod& pod, const std::string& resource);

}  // namespace capstan::bridge
