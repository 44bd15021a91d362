// Where workers stand in the network, by labels of their Kubernetes nodes: a tree of switches in Slurm.
//
// The annotation `capstan.dev/topology` of a Controller names the labels, from root to leaf. The Controller publishes a topology.yaml that has the
// first switch alone, and each worker names its place below that: slurmctld makes the other switches as it hears of them, without being
// reconfigured, and moves nodes with jobs without harm. In a tree, a node without a place gets no job of several nodes, and a slurmd that names a
// place which is not in topology.yaml is taken out of service; slurmctld does not start while a record names one. Without any such file it takes
// all places of the topology "default" and heeds none: what stands in records then is left as it is. (Seen with Slurm 26.05.)
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

// The place of a Kubernetes node whose labels have these values, from root to leaf: "default:root/:s1/:s1/l7". A switch is called by those above
// it, too, as leaves of two spines may have one value, and slurmctld knows switches by name alone. The slash at the end of one that has switches
// below it keeps it apart from a leaf of the same labels when there are more or fewer of them.
std::string PlaceBelow(const std::vector<std::string>& values);

// Of a node that lacks a label, or of which nobody knows where it is: "default:root/:unknown".
std::string UnknownPlace();

// It is below the first switch, and in no other topology besides.
bool IsInTree(std::string_view place);

}  // namespace capstan::op
