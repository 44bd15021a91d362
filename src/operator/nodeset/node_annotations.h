// What the annotations of a worker's Kubernetes node say for Slurm, kept up while the worker runs:
//
// - `topology.slinky.slurm.net/spec`: where the node stands ("tree:s2,block:b1"). It goes to the pod, whose slurmd reads it
//   when it starts, and to the Slurm node. A Topology in spec.extraConf comes first. Without the annotation nothing is
//   changed.
// - `features.slinky.slurm.net/spec`: features by commas ("nvme,rack7"). The Slurm node has them with `k8s/` before their
//   names, and no others that begin so; the rest of its features is left alone.
//
// Pure.
#pragma once

#include <string>

#include "api/nodeset.h"
#include "operator/nodeset/workers.h"
#include "plan/plan.h"

namespace capstan::op::nodeset {

// Adds the writes after which pod and Slurm node of a worker say the same as its Kubernetes node. None while that node, or
// Slurm's record, is not seen.
void FollowNodeAnnotations(const Worker& worker, const api::NodeSet& set, plan::Plan& plan);

// What is wrong with the annotations of the worker's Kubernetes node, for a person; "": nothing.
std::string AnnotationTrouble(const Worker& worker);

}  // namespace capstan::op::nodeset
