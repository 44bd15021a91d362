#include "operator/nodeset/adoption.h"

#include <string>

#include "json/codec.h"
#include "operator/names.h"
#include "operator/nodeset/release.h"
#include "operator/nodeset/workers.h"
#include "operator/render/metadata.h"

namespace capstan::op::nodeset {

plan::Action MakeOwned(std::string_view verb, const api::NodeSet& set, plan::ObjectRef ref, const std::string& uid,
                       uint64_t resource_version, std::string reason) {
  render::JsonObject metadata{{"resourceVersion", std::to_string(resource_version)},
                              {"ownerReferences", render::OwnerReferences(render::OwnerOf(set))}};
  std::string patch = json::Serialize(json::Value{{"metadata", std::move(metadata)}});
  return {.effect = plan::MergePatch(verb, std::move(ref), uid, std::move(patch)),
          .reason = std::move(reason),
          .guards = {AsksForTheSame(set)},
          .after = {},
          .event = {}};
}

bool IsOrphanOf(const api::NodeSet& set, const Pod& pod) {
  const json::ObjectMeta& meta = pod.metadata;
  return meta.owner_references.empty() && !meta.deleting() &&
         meta.Label(AsKey<kLabelInstance>()) == set.metadata.name &&
         meta.Label(AsKey<kLabelComponent>()) == kWorker.component &&
         meta.Label(AsKey<kLabelCluster>()) == set.spec.controller_ref.name && IsWorkerNameOf(set, meta.name);
}

void AdoptOrphans(const plan::World& world, const api::NodeSet& set, plan::Plan& plan) {
  for (const Pod& pod : world.By<Pod>(kIndexOwnerless, set.metadata.namespace_)) {
    if (!IsOrphanOf(set, pod)) continue;
    const json::ObjectMeta& meta = pod.metadata;
    plan.Add(MakeOwned("adopt", set, {&kube::kPods, {meta.namespace_, meta.name}}, meta.uid, meta.resource_version,
                       "it was a worker of a NodeSet of this name"));
  }
}

}  // namespace capstan::op::nodeset
