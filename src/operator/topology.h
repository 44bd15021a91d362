// Where workers stand in the network, by labels of their Kubernetes nodes: a tree of switches in Slurm.
//
// The annotation `capstan.dev/topology` of a Controller names the labels, from root to leaf. The Controller publishes a topology.yaml that has the
// first switch alone, and each worker names its place below that: slurmctld makes the other switches as it hears of them, without being
// reconfigured. slurmctld does not start while a node names a place in a topology that topology.yaml does not have; without any such file it takes
// every place (seen with Slurm 26.05).
//
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/controller.h"
#include "base/result.h"

namespace capstan::op {

inline constexpr size_t kMostTopologyLabels = 5;

// The labels that the Controller names; empty: none. kInvalid: one is no name of a label, or they are too many.
Result<std::vector<std::string>> TopologyLabels(const api::Controller& controller);

// topology.yaml
std::string TopologyOfOneSwitch();

// The place of a Kubernetes node whose labels have these values, from root to leaf: "default:root:s1:s1.l7". A switch is called by those above it,
// too, as leaves of two spines may have one value, and slurmctld knows switches by name alone. No values: "default:root:unknown".
std::string PlaceBelow(const std::vector<std::string>& values);

// It is such a place.
bool IsPlaceByLabels(std::string_view topology);

}  // namespace capstan::op
