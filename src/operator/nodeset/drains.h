// Who wants a worker out of service, in the words that stand in Slurm, and whose a drain or DOWN in Slurm is. Each owner has
// its own words; the node is drained while any of them wants that, and its reason is `slurm-operator: ` and the words of all,
// joined by `; `, in this order:
//
// | owner                       | said by                                                | words                                            |
// |-----------------------------|--------------------------------------------------------|--------------------------------------------------|
// | the Kubernetes node         | `kubectl cordon`; why: the annotation                  | the annotation's, or the conditions', or         |
// |                             | node-cordon-reason, or conditions that are propagated  | Node (k1) was cordoned, Pod (ns/w-1) must be ... |
// | a person, of this pod       | the annotation pod-cordon                              | Pod (ns/w-1) was cordoned                        |
// | health checks               | the annotation failed-checks of the pod                | check NAME, of each                              |
// | the NodeSet: scale-in,      | the mark scale-in                                      | Pod (ns/w-1) is pending termination for scale-in |
// | update, deletion            |                                                        |                                                  |
//
// For one owner that is what the Slinky projects' operator writes, which is why all that the NodeSet does has one word.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "api/nodeset.h"
#include "operator/nodeset/workers.h"

namespace capstan::op::nodeset {

// The reason of all owners but the NodeSet; "": none of them wants it out. `machine` is the pod's Kubernetes node, nullptr: not
// seen. `propagated` are the types of its conditions that say why it is cordoned.
std::string ReasonToKeepOut(const Node* machine, const Pod& pod, const std::vector<std::string>& propagated);

// That of the NodeSet alone.
std::string ScaleInReason(const kube::Key& pod);

// Of a worker that goes: of all.
std::string ReasonToGo(const Worker& worker);

// What is wrong with the annotation failed-checks of the pod, for a person; "": nothing.
std::string CheckTrouble(const Pod& pod);

// The drain is one that we made, for a worker of the set, so that lifting it is ours too.
bool IsOurDrain(const slurm::Node& node, const api::NodeSet& set);

// DOWN under a reason of ours: the preStop hook of a worker that has been replaced since wrote it, or slurmctld kept the
// reason of our drain when it lost the node.
bool IsOurDown(const slurm::Node& node, const api::NodeSet& set);

// DOWN, and to be resumed once its worker is ready and responds: the DOWN is ours, or slurmctld's own for want of an
// answer. With ReturnToService=0 nobody else would.
bool MayBeResumed(const slurm::Node& node, const api::NodeSet& set);

// Somebody else, a person or Slurm itself, has taken the node out of service; not slurmctld for want of an answer.
bool IsHeld(const slurm::Node& node, const api::NodeSet& set);

}  // namespace capstan::op::nodeset
