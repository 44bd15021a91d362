// What Slurm is told of a Kubernetes node that bears the label `scheduler.slinky.slurm.net/external-node`:
//
//   of Slurm's node   from
//   -----------------------------------------------------------------------------------------------
//   NodeName          label slinky.slurm.net/slurm-nodename, or the node's name
//   CPUs              allocatable cpu less Settings::reserved_cpu, rounded down
//   RealMemory        allocatable memory less Settings::reserved_memory, rounded down to MiB
//   Gres gpu          allocatable nvidia.com/gpu and amd.com/gpu together, as order.h asks for them
//   Features          annotation scheduler.slinky.slurm.net/external-node-partitions: "a, b"
//   Topology          annotation topology.slinky.slurm.net/spec
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "bridge/objects.h"
#include "bridge/settings.h"
#include "kube/quantity.h"
#include "slurm/external_node.h"
#include "slurm/snapshot.h"

namespace capstan::bridge::node {

inline constexpr int64_t kMebi = 1 << 20;

// 0 of a resource that is not there. kInvalid: no quantity.
Result<kube::Quantity> Allocatable(const Node& node, std::string_view resource);

// kInvalid: one sentence that names the label, the annotation or the resource, for whoever wrote it.
Result<slurm::ExternalNode> ExternalNodeOf(const Node& node, const Settings& settings);

// A hash of what of it no update can change: the record has to be made anew.
std::string SizeOf(const slurm::ExternalNode& node);

// The record has the size of `node`, for all that can be read; GRES that Slurm leaves out may be missing.
bool HasSizeOf(const slurm::Node& record, const slurm::ExternalNode& node);

}  // namespace capstan::bridge::node
