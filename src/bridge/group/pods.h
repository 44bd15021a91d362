// What is proven of pods before something is done that rests on it, each by a fresh read; and the end of a pod that is not
// deleted.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "bridge/objects.h"
#include "plan/plan.h"

namespace capstan::bridge::group {

// Of all pods in the namespace that bear the job's id, none that could run has been let go (`scheduler_name`: Settings'); or none is
// on a node; or none is on a node or may still go to one.
std::shared_ptr<const plan::Guard> NoPodIsReleased(std::string ns, int64_t job, std::string scheduler_name);
std::shared_ptr<const plan::Guard> NoPodIsBound(std::string ns, int64_t job);
std::shared_ptr<const plan::Guard> NoPodCanRun(std::string ns, int64_t job);

// It is the pod that was seen (its uid), and. One that is gone counts as no.
std::shared_ptr<const plan::Guard> PodIsUnbound(const Pod& pod);  // it has no node, and has not ended
std::shared_ptr<const plan::Guard> PodMayRun(const Pod& pod);     // it has not ended

// Sets the pod's phase to Failed, for one that nobody would make again after a deletion. Destructive. A pod that is gone
// counts as done. REQUIRES: guarded by PodIsUnbound, as the phase of any other pod is its kubelet's.
std::shared_ptr<const plan::Effect> FailPod(const Pod& pod, std::string reason, std::string message);

// Kubernetes node `node` has room for the pod, as a scheduler counts it, and none of another slurm-bridge (`scheduler_name`: its
// Settings') is on it that has not ended. For a pod that has no scheduler.
std::shared_ptr<const plan::Guard> NodeHasRoom(const Pod& pod, const std::string& node, std::string scheduler_name);

// Puts a pod on a node, in place of its scheduler, which nobody is any more. kConflict: it is on one.
std::shared_ptr<const plan::Effect> BindPod(const Pod& pod, const std::string& node);

// Ends a released pod for what `over` proves, told in an Event of that reason: marked as disrupted, so that Jobs do not count it
// as failed, and deleted; but one that is on no node and has no controller to make it again fails, and stays.
void EndPod(plan::Plan& plan, const Pod& pod, const std::string& why, const std::shared_ptr<const plan::Guard>& over,
            std::string_view event);

}  // namespace capstan::bridge::group
