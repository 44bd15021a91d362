#include "operator/nodeset/adoption.h"

#include <string>

#include "json/codec.h"
#include "operator/names.h"
#include "operator/nodeset/release.h"
#include "operator/nodeset/workers.h"
#include "operator/render/metadata.h"
#include "plan/objects/effects.h"

namespace capstan::op::nodeset {

bool IsOrphanOf(const api::NodeSet& set, const Pod& pod) {
  const json::ObjectMeta& meta = pod.metadata;
  return meta.owner_references.empty() && !meta.deleting() &&
         meta.Label(std::string(kLabelInstance)) == set.metadata.name &&
         meta.Label(std::string(kLabelComponent)) == kWorker.component &&
         meta.Label(std::string(kLabelCluster)) == set.spec.controller_ref.name && IsWorkerNameOf(set, meta.name);
}

void AdoptOrphans(const plan::World& world, const api::NodeSet& set, plan::Plan& plan) {
  for (const Pod& pod : world.By<Pod>(kIndexOwnerless, set.metadata.namespace_)) {
    if (!IsOrphanOf(set, pod)) continue;
    render::JsonObject metadata{{"resourceVersion", std::to_string(pod.metadata.resource_version)},
                                {"ownerReferences", render::OwnerReferences(render::OwnerOf(set))}};
    plan.Add(
        {.effect = plan::MergePatch("adopt", {&kube::kPods, {pod.metadata.namespace_, pod.metadata.name}},
                                    pod.metadata.uid, json::Serialize(json::Value{{"metadata", std::move(metadata)}})),
         .reason = "it was a worker of a NodeSet of this name",
         .guards = {AsksForTheSame(set)},
         .after = {},
         .event = {}});
  }
}

}  // namespace capstan::op::nodeset
