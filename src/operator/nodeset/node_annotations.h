// What a worker's Kubernetes node says for Slurm, kept up while the worker runs:
//
// - where it stands ("tree:s2,block:b1"): its annotation `topology.slinky.slurm.net/spec`, else its labels that the annotation
//   `capstan.dev/topology` of the Controller names (operator/topology.h); an unknown place where one is missing. It goes to the Slurm node, and to
//   the pod, whose slurmd reads it when it starts. A Topology in spec.extraConf comes first. In a tree by labels an annotation counts if it names a
//   place there. Where nothing says it, nothing is changed.
// - its annotation `features.slinky.slurm.net/spec`: features by commas ("nvme,rack7"). The Slurm node has them with `k8s/`
//   before their names, and no others that begin so; the rest of its features is left alone.
//
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/controller.h"
#include "api/nodeset.h"
#include "operator/nodeset/workers.h"
#include "plan/plan.h"
#include "plan/world.h"

namespace capstan::op::nodeset {

struct Look;

// How the workers of a cluster are placed by labels.
struct Placing {
  bool tree = false;                // slurmctld has the tree for it, or is about to
  std::vector<std::string> labels;  // from root to leaf; empty: they are not placed
};

// `controller`: nullptr when there is none.
Placing PlacingOf(const plan::World& world, const api::Controller* controller);

// spec.extraConf says where the workers of a NodeSet stand.
bool NamesTopology(std::string_view extra_conf);

// Adds the writes after which pod and Slurm node of a worker say the same as its Kubernetes node. None while that node, or
// Slurm's record, is not seen.
void FollowNodeAnnotations(const Look& look, const Worker& worker, plan::Plan& plan);

// What is wrong with the annotations of the worker's Kubernetes node, or with the labels by which it is placed, for a person;
// "": nothing.
std::string AnnotationTrouble(const Worker& worker, const api::NodeSet& set, const Placing& placing);

}  // namespace capstan::op::nodeset
