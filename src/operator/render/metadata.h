// Names, labels, annotations and owners of the objects that custom resources turn into.
#pragma once

#include <string>
#include <string_view>

#include "json/object_meta.h"
#include "kube/resource.h"
#include "operator/names.h"
#include "operator/render/json.h"
#include "plan/plan.h"

namespace capstan::op::render {

struct Metadata {
  StringMap labels, annotations;

  // Adds to both; what is added wins.
  Metadata& Add(const StringMap& more_labels, const StringMap& more_annotations);
  Metadata& Add(const Metadata& more) { return Add(more.labels, more.annotations); }

  JsonObject ToJson() const;  // only what is not empty

  friend bool operator==(const Metadata&, const Metadata&) = default;
};

// What an object takes over from its custom resource: labels and annotations, except those that a client keeps there
// for itself (kubectl's last applied configuration, Helm's, Argo CD's and Flux's bookkeeping) and our own instructions.
// Copied, they would make every edit of the resource a change of its pods.
Metadata Inherited(const json::ObjectMeta& resource);

// The same for a pod: without the labels by which a chart's version is told, which would restart the pod at every
// upgrade of the chart.
Metadata InheritedByPod(const json::ObjectMeta& resource);

// The labels by which a component's pods are found, and the full set they carry.
StringMap SelectorLabels(const Component& component, std::string_view instance);
StringMap ComponentLabels(const Component& component, std::string_view instance);

// The custom resource that an object is made for: its kind, and its metadata, which outlive this.
struct Owner {
  const kube::Resource& resource;
  const json::ObjectMeta& object;
};
template <class T>
Owner OwnerOf(const T& object) {
  return {T::kResource, object.metadata};
}

// metadata.ownerReferences of an object that `owner` controls.
JsonArray OwnerReferences(const Owner& owner);

// apiVersion, kind and metadata of an object in the owner's namespace, controlled by it.
JsonObject OwnedObject(const kube::Resource& resource, std::string_view name, const Metadata& metadata,
                       const Owner& owner);

// The object as a child of a Plan: its text in canonical form. `body` has kind and metadata.name and .namespace. One that
// nobody owns any more (its owner was deleted with --cascade=orphan) is found again by the labels of the component.
plan::Child AsChild(const kube::Resource& resource, JsonObject body, std::string reason);

}  // namespace capstan::op::render
