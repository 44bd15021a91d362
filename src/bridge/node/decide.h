// Kubernetes nodes that are nodes of Slurm, too. Those with the label `scheduler.slinky.slurm.net/external-node` have no slurmd: each is
// an external node of Slurm (slurm/external_node.h) on which bridged pods alone run (external.h). The others have one, in a
// worker's pod or of their own, and bridged pods run beside Slurm's jobs (hybrid.h).
//
//   row  Kubernetes node            Slurm's record          done                                           shown
//   -------------------------------------------------------------------------------------------------------------------
//    1   any                        not heard; or another   nothing                                          -
//                                   bridge has marked the
//                                   Kubernetes node
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
//   11   no label                   a worker's, in a pod    nothing: drains are its operator's             True Registered,
//                                   that is there                                                          ForeignPods,
//                                                                                                          TooLittleRoom
//   12   no label                   a worker's, whose pod   no taint managed-node, which would keep the    True Untainted
//                                   does not tolerate ours, worker itself away                             (or TooLittleRoom)
//                                   or is gone for a minute
//   13   no label                   a slurmd's, in no pod   rows 7, 9 and 10                               as there
//                                   for a minute
//   14   no label                   GPUs: as many as are    nothing                                        True, False Slinky-
//                                   allocatable, or not                                                    SlurmGRESCompatible
//   15   no label                   none for a minute; or   our taints, conditions and mark go               -
//                                   the bridge is to go
//   16   label gone, node gone, or  ours, external          after a minute drained; proven to be without     -
//        marked by another bridge                           a job, removed
//
// An external record is ours by its comment alone. A drain of ours is one whose reason begins with "slurm-bridge: "; no other is
// ever lifted. The taint managed-node (Settings::node_taint) stands on all nodes with a record of ours or a slurmd's, but for row 12.
// A drain ends no job: pods run to their end.
#pragma once

#include <string>
#include <vector>

#include "plan/reconciler.h"

namespace capstan::bridge::node {

// Of a Kubernetes node: all rows but 16.
plan::Plan Decide(const plan::World& world, const kube::Key& key);

// Row 16, which no node is left to be asked about. `cluster`: uid of kube-system.
void EndUnwanted(plan::Plan& plan, const plan::World& world, const std::string& cluster);

std::vector<plan::Right> Rights();

}  // namespace capstan::bridge::node
