// The one patch by which a pod is let go: pinned to its node, and its gate taken away.
//
// The API server lets a gated pod's placement only become narrower, judged on the pod as it was (docs/kubernetes-facts.md): so
// the pin is added behind what the user wrote, in each term of the required node affinity, and one patch both pins and ungates.
// The stock scheduler then binds the pod, and keeps volumes, ports and spreading.
#pragma once

#include <boost/json.hpp>
#include <string>

#include "base/result.h"
#include "bridge/objects.h"
#include "json/merge.h"

namespace capstan::bridge {

// The beginning of a patch: it tests that nobody has changed the pod since it was seen.
json::JsonPatch Unchanged(const Pod& pod);

// It tests that, too (for plan::PatchTested).
// `node`: of Kubernetes. kInvalid: the pod's affinity cannot be narrowed, and why.
Result<json::JsonPatch> ReleasePatch(const Pod& pod, const std::string& node, const std::string& scheduler_name);

// Those that a pod is given: of the taint that keeps others away from the bridge's nodes, and of that for a node which was drained
// in Slurm after the job had begun.
boost::json::array Tolerations(const std::string& scheduler_name);

// Adds them to the patch of a pod.
void AddTolerations(const Pod& pod, const std::string& scheduler_name, json::JsonPatch& patch);

// The body of POST pods/{name}/binding, for a pod without a gate and without a scheduler: it tells the pod by its uid, and notes the node
// on it.
std::string Binding(const Pod& pod, const std::string& node);

// Takes our gate away, and what ties the pod to a job, if nobody has changed the pod.
json::JsonPatch UngatePatch(const Pod& pod);

}  // namespace capstan::bridge
