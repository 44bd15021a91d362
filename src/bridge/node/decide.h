// Kubernetes nodes that Slurm is to know without a slurmd: those with the label `scheduler.slinky.slurm.net/external-node`, each
// an external node of Slurm (slurm/external_node.h) on which bridged pods alone run.
//
//   row  Kubernetes node            Slurm's record          done                                           shown
//   -------------------------------------------------------------------------------------------------------------------
//    1   any                        not heard               nothing                                          -
//    2   label, and takes work      none                    made (wanted.h)                                False Refused,
//                                                                                                          if it is
//    3   label, and does not        none                    nothing                                        False Waiting
//    4   label                      a slurmd's, another     nothing                                        False NameTaken
//                                   cluster's, a person's
//                                   another bridge's        nothing                                          -
//    5   label                      external, no comment    marked as ours (mark.h): one just made, or       -
//                                                           Slinky's slurm-bridge's
//    6   label                      ours                    features and topology follow the annotations   True Registered
//    7   cordoned; being deleted;   ours                    drained, with that reason, while nobody else     -
//        not Ready for a minute                             has
//    8   has another size for       ours                    the same; proven to be without a job, removed,   -
//        five minutes                                       and row 2
//    9   takes work                 drained by us           the drain is lifted                              -
//   10   label                      ours, drained or DOWN   nothing; the taint slurm-drained stands on     True Drained
//                                   by somebody else        the Kubernetes node as long
//   11   label gone, or node gone,  ours                    after a minute drained; proven to be without     -
//        for a minute                                       a job, removed
//   12   no label                   none                    our taints and our condition go                  -
//
// A record is ours by its comment alone. A drain of ours is one whose reason begins with "slurm-bridge: "; no other is ever lifted.
// The taint managed-node (Settings::node_taint) stands on nodes with a record of ours. A drain ends no job: pods run to their end.
#pragma once

#include <string>
#include <vector>

#include "plan/reconciler.h"

namespace capstan::bridge::node {

// Of a Kubernetes node: all rows but 11.
plan::Plan Decide(const plan::World& world, const kube::Key& key);

// Row 11, which no node is left to be asked about. `cluster`: uid of kube-system.
void EndUnwanted(plan::Plan& plan, const plan::World& world, const std::string& cluster);

std::vector<plan::Right> Rights();

}  // namespace capstan::bridge::node
