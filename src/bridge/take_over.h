// Pods and jobs of Slinky's slurm-bridge, which was here before, become this bridge's own (Settings::take_over): what runs is not
// restarted, and what waits keeps its place in Slurm's queue.
//
// Its pods: their spec.schedulerName is the bridge's, and no label says that they are bridged. Its jobs: external, with
// {"pods":["ns/name"]} as admin_comment, which administrators of Slurm alone can write. A pod is *of the job* if it bears its id and
// the comment names it; the id alone proves nothing.
//
//   row  pods with the id              the job                   done
//   --------------------------------------------------------------------------------------------------------------------------
//    1   any                           not heard of, or absent   nothing
//                                      for less than 30 s
//    2   of it, and all of one group,  waits or runs here        marked as the group's (mark.h), so that a pod's end ends it
//        or all done
//    3   all done, and none of its     marked                    cancelled, once no pod with the id is proven to be able to run
//        group is bridged
//    4   others of its group           marked                    labelled as bridged, the finalizer taken away: group/decide.h
//                                                                rules from then on
//    5   on a node, of it              is over, read fresh       deleted, as in row 16 there
//    6   done                          none, absent, over, or    the finalizer taken away: nothing waits for it
//                                      a stranger's
//    7   wait, on no node, and no      none, absent, over        labelled as bridged, without a job: one is asked for anew
//        other of the group has a job
//    8   others                        any                       nothing; the pod's condition says why: NotTakenOver
//
// Done: the pod has ended, or is being deleted and is on no node. Runs here: on nodes of this Kubernetes cluster, those of its pods
// among them. A pod that waits has no scheduling gate, and can get none any more: the bridge itself binds it to its node. So one that
// needs a scheduler for its volumes, claims or devices is of row 8.
#pragma once

#include <string>

#include "plan/plan.h"
#include "plan/world.h"

namespace capstan::bridge {

// `cluster`: uid of kube-system.
void TakeOver(plan::Plan& plan, const plan::World& world, const std::string& cluster);

}  // namespace capstan::bridge
