// What becomes of pods that stand behind one job of Slurm. A group is one pod so far; its key is "pod.<uid>".
//
// The first row that fits rules. `gated`: the pod has our scheduling gate; `released`: it has it no longer.
//
//   row  pod             Slurm's job            done                                                  shown
//   ------------------------------------------------------------------------------------------------------------------------
//    1   gone            ours                   outcome into its comment, cancelled once pods are       -
//                                               proven to have ended
//    2   has ended       ours                   the same                                              False Ended
//    3   being deleted   any                    nothing: the job stays until the pod is gone or        -
//                                               has ended; but one that is gated never will run, and
//                                               its job is ended
//    4   any             not heard              nothing                                               Unknown SlurmUnreachable
//    5   gated, others   none                   nothing until ours is the last gate                   False OtherGates
//    6   gated           none                   label with the id of this attempt's job                -
//    7   gated           never seen             submitted under that id                               False Refused, where it is
//    8   gated           unknown though seen    next attempt, after half a minute                      -
//    9   gated           a stranger's           next attempt, as in 14                                False Resubmitting;
//                                               nothing, where it bears the pod's name                False MarkChanged
//   10   gated           waits                  nothing                                               False Pending, Held
//   11   gated           runs, node unfit       nothing; after bind_timeout, or once its outcome is   False WaitsForNode
//                                               written, cancelled
//   12   gated           runs                   released to the job's node, proven just before         -
//   13   gated           cancelled by a person, nothing                                               False CancelledInSlurm
//                        or past its deadline
//   14   gated           ended otherwise        next attempt, 10 s to 10 min later                    False Resubmitting
//   15   released        runs                   nothing; refused by the scheduler for bind_timeout:    True Running,
//                                               cancelled                                             False NotPlaced
//   16   released        is over, read fresh    marked as disrupted and deleted; on no node and        -
//                                               nobody's: failed
//   17   released        waits, is suspended,   nothing: that the job is over is not proven           Unknown JobUnknown
//                        unknown, a stranger's
//   all  any             another of the group   outcome into its comment, cancelled, once no pod        -
//                                               with its id could run
//
// Node unfit: unknown, not ready, cordoned, or a bridged pod is on it, or was released to it, whose own job does not run.
//
// Nothing is destroyed because something is missing: a pod that runs is deleted only if Slurm says of its job, known by our
// mark, that it is over; a job is cancelled only if the API server says that none of its pods is left which could run.
#pragma once

#include "plan/reconciler.h"
#include "plan/stores.h"

namespace capstan::bridge::group {

plan::Plan Decide(const plan::World& world, const kube::Key& key);

// The name of the reconciler, and of the index whose entries are its keys.
inline constexpr auto kGroup = "group";

// What it does besides reading its pods.
std::vector<plan::Right> Rights();

// Adds the store of pods that belong to `bridge` (Settings::bridge), with the indexes that this needs.
void AddPodStore(plan::Stores& stores, const std::string& bridge);

}  // namespace capstan::bridge::group
