// What a worker's Kubernetes node says for Slurm, kept up while the worker runs:
//
// - where it stands ("tree:s2,block:b1"): its annotation `topology.slinky.slurm.net/spec`, else its labels that the
//   annotation `capstan.dev/topology` of the Controller names, from root to leaf: `default:<spine>:<leaf>`, and
//   `default:unknown` where one is missing. It goes to the pod, whose slurmd reads it when it starts, and to the Slurm node;
//   what labels say, while no job is there. A Topology in spec.extraConf comes first. Where nothing says it, nothing is changed.
// - its annotation `features.slinky.slurm.net/spec`: features by commas ("nvme,rack7"). The Slurm node has them with `k8s/`
//   before their names, and no others that begin so; the rest of its features is left alone.
//
// Pure.
#pragma once

#include <string>

#include "api/controller.h"
#include "api/nodeset.h"
#include "operator/nodeset/workers.h"
#include "plan/plan.h"

namespace capstan::op::nodeset {

// Adds the writes after which pod and Slurm node of a worker say the same as its Kubernetes node. None while that node, or
// Slurm's record, is not seen. `controller`: nullptr when there is none.
void FollowNodeAnnotations(const Worker& worker, const api::NodeSet& set, const api::Controller* controller,
                           plan::Plan& plan);

// What is wrong with the annotations of the worker's Kubernetes node, or with the labels by which it is placed, for a person;
// "": nothing.
std::string AnnotationTrouble(const Worker& worker, const api::Controller* controller);

}  // namespace capstan::op::nodeset
