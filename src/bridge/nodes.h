// Which Kubernetes node a node of Slurm is.
#pragma once

#include <string>

#include "base/result.h"
#include "bridge/objects.h"
#include "plan/stores.h"
#include "plan/world.h"

namespace capstan::bridge {

// The node that bears the label `slinky.slurm.net/slurm-nodename` with that name; else, of a Slurm worker in a pod, the one
// where the comment of its record says that the pod is; else the one of the same name. kInvalid: there is none, or two bear
// the label, of which neither is used; in words.
Result<std::string> KubernetesNodeOf(const plan::World& world, const plan::SlurmView& slurm,
                                     const std::string& slurm_node);

// The other way round. kInvalid: no Slurm node is known to be that Kubernetes node.
Result<std::string> SlurmNodeOf(const plan::World& world, const plan::SlurmView& slurm, const std::string& node);

// Those that bear the label with that name.
kube::ObjectList<Node> WithSlurmName(const plan::World& world, const std::string& slurm_node);

// Adds the store, with the index that this needs.
void AddNodeStore(plan::Stores& stores);

}  // namespace capstan::bridge
