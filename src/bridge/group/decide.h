// What becomes of the pods of a group (members.h), which stand behind one job of Slurm.
//
// The first row that fits rules; the others of the group wait for it. `gated`: pods with our scheduling gate; `released`: pods
// that have it no longer. A pod is *of the job* if it bears its id.
//
//   row  pods            Slurm's job            done                                                  shown
//   ------------------------------------------------------------------------------------------------------------------------
//    1   none            ours                   outcome into its comment, cancelled once pods are       -
//                                               proven to have ended
//    2   all have ended  ours                   the same                                              False Ended
//    3   all others are  any                    nothing: the job stays until they are gone or         False NodeLost, where the
//        being deleted                          have ended; but pods that are gated never will run,   node is not Ready
//                                               and the job of none but these is ended
//    4   any             not heard              nothing                                               Unknown SlurmUnreachable
//    5   gated           none                   nothing until ours is the last gate and all are there False OtherGates,
//                                                                                                     GroupIncomplete
//    6   gated           none                   each labelled with the id of this attempt's job         -
//    7   gated           never seen             submitted under that id, without nodes of Slurm that  False Refused, where it is
//                                               suit no pod (suitable.h)
//    8   gated           unknown though seen    next attempt, after half a minute                      -
//    9   gated           a stranger's           next attempt, as in 14                                False Resubmitting;
//                                               nothing, where it bears the group's name              False MarkChanged
//   10   gated           waits                  nothing; another order for long enough: cancelled if   False Pending, Held
//                                               it still waits, next attempt
//   11   gated           runs, a node unfit or  nothing; after bind_timeout, at once if the node      False WaitsForNode,
//                        pods missing           does not suit the pod, or once its outcome is         GroupIncomplete
//                                               written, cancelled, unless a pod was released
//   12   gated           runs                   all released to its nodes, proven just before;         -
//                                               those for whom it has no place wait                   False NoPlace
//   13   gated           cancelled by a person, nothing, as long as no pod is new and none asks to     False CancelledInSlurm
//                        or past its deadline   retry
//   14   gated           ended otherwise        next attempt, 10 s to 10 min later, once no pod is     False Resubmitting
//                                               left that was released
//   15   released        runs                   nothing; refused by the scheduler for bind_timeout,    True Running,
//                                               and none is bound: cancelled                          False NotPlaced
//   16   released        is over, read fresh    marked as disrupted and deleted; on no node and        -
//                                               nobody's: failed
//   17   released        waits, a stranger's    nothing: that the job is over is not proven           Unknown JobUnknown
//   18   released        unknown for half a     submitted anew for the nodes where the pods are and   Unknown JobUnknown
//                        minute                 the time that is left; they bear it once it is there
//   19   any             runs, and is to make   as in 16, at once: the grace time is for that; the     False Pending
//                        room for another       job is cancelled once nobody is left who was released
//   20   released        suspended for half a   cancelled if it still is; then as in 16                Unknown JobUnknown
//                        minute
//   21   gated, and the  any                    job cancelled, gates taken away; also where nobody        -
//        bridge is to go                        answers for Slurm
//   all  any             another of the group   outcome into its comment, cancelled, once no pod        -
//                                               with its id could run
//
// Node unfit: unknown, not ready, cordoned, or a bridged pod is on it, or was released to it, whose own job does not run.
// A pod that comes later takes a place of the group's job that is free.
//
// Nothing is destroyed because something is missing: a pod that runs is deleted only if Slurm says of its job, known by our
// mark, that it is over or to make room; a job is cancelled only if the API server says that none of its pods is left which could run.
#pragma once

#include "plan/reconciler.h"
#include "plan/stores.h"

namespace capstan::bridge::group {

plan::Plan Decide(const plan::World& world, const kube::Key& key);

// The name of the reconciler, and of the index whose entries are its keys.
inline constexpr auto kGroup = "group";

// What it does besides reading its pods.
std::vector<plan::Right> Rights();

// Adds the stores of the pods that belong to `bridge` (Settings::bridge) and of what stands for groups of them, with the
// indexes that this needs.
void AddPodStores(plan::Stores& stores, const std::string& bridge);

}  // namespace capstan::bridge::group
