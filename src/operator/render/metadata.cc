#include "operator/render/metadata.h"

#include <algorithm>
#include <array>

#include "operator/names.h"

namespace capstan::op::render {
namespace {

// Keys, or with a slash at the end everything under a prefix, that belong to whoever wrote the resource.
constexpr auto kClientsOwn = std::to_array<std::string_view>({
    "kubectl.kubernetes.io/last-applied-configuration",
    "kubectl.kubernetes.io/restartedAt",
    "meta.helm.sh/",
    "helm.sh/resource-policy",
    "helm.sh/hook",
    "helm.sh/hook-weight",
    "helm.sh/hook-delete-policy",
    "argocd.argoproj.io/",
    "kustomize.toolkit.fluxcd.io/",
    "helm.toolkit.fluxcd.io/",
    "config.kubernetes.io/",
    "objectset.rio.cattle.io/",
    "capstan.dev/",  // what the operator is told
    kFormerAnnotationForceDelete,
    kFormerAnnotationGenerateKeys,
});

constexpr auto kChartVersion = std::to_array<std::string_view>({"helm.sh/chart", "app.kubernetes.io/version"});

bool IsClientsOwn(std::string_view key) {
  return std::ranges::any_of(
      kClientsOwn, [key](std::string_view own) { return own.ends_with('/') ? key.starts_with(own) : key == own; });
}

}  // namespace

Metadata& Metadata::Add(const StringMap& more_labels, const StringMap& more_annotations) {
  for (const auto& [key, value] : more_labels) labels.insert_or_assign(key, value);
  for (const auto& [key, value] : more_annotations) annotations.insert_or_assign(key, value);
  return *this;
}

JsonObject Metadata::ToJson() const {
  JsonObject object;
  if (!labels.empty()) object["labels"] = render::ToJson(labels);
  if (!annotations.empty()) object["annotations"] = render::ToJson(annotations);
  return object;
}

Metadata Inherited(const json::ObjectMeta& resource) {
  Metadata metadata;
  for (const auto& [key, value] : resource.labels) {
    if (!IsClientsOwn(key)) metadata.labels.emplace(key, value);
  }
  for (const auto& [key, value] : resource.annotations) {
    if (!IsClientsOwn(key)) metadata.annotations.emplace(key, value);
  }
  return metadata;
}

Metadata InheritedByPod(const json::ObjectMeta& resource) {
  Metadata metadata = Inherited(resource);
  for (const std::string_view key : kChartVersion) metadata.labels.erase(std::string(key));
  return metadata;
}

StringMap SelectorLabels(const Component& component, std::string_view instance) {
  return {{std::string(kLabelName), std::string(component.app)}, {std::string(kLabelInstance), std::string(instance)}};
}

StringMap ComponentLabels(const Component& component, std::string_view instance) {
  StringMap labels = SelectorLabels(component, instance);
  labels.emplace(kLabelComponent, component.component);
  return labels;
}

JsonArray OwnerReferences(const Owner& owner) {
  return JsonArray{JsonObject{{"apiVersion", owner.resource.ApiVersion()},
                              {"kind", owner.resource.kind},
                              {"name", owner.object.name},
                              {"uid", owner.object.uid},
                              {"controller", true},
                              {"blockOwnerDeletion", true}}};
}

JsonObject OwnedObject(const kube::Resource& resource, std::string_view name, const Metadata& metadata,
                       const Owner& owner) {
  JsonObject meta{{"name", name}, {"namespace", owner.object.namespace_}};
  for (const auto& member : metadata.ToJson()) meta.emplace(member.key(), member.value());
  meta["ownerReferences"] = OwnerReferences(owner);
  return {{"apiVersion", resource.ApiVersion()}, {"kind", resource.kind}, {"metadata", std::move(meta)}};
}

plan::Child AsChild(const kube::Resource& resource, JsonObject body, std::string reason) {
  const Json value(std::move(body));
  plan::Adoption adoption;
  for (const std::string_view label : {kLabelName, kLabelInstance, kLabelComponent}) {
    const std::string_view text = json::FindText(value, {"metadata", "labels", label});
    if (!text.empty()) adoption.labels.emplace(label, text);
  }
  if (adoption.labels.size() < 3) adoption.labels.clear();
  return {.resource = &resource,
          .key = {std::string(json::FindText(value, {"metadata", "namespace"})),
                  std::string(json::FindText(value, {"metadata", "name"}))},
          .body = json::SerializeCanonical(value),
          .reason = std::move(reason),
          .after = {},
          .adoption = std::move(adoption)};
}

}  // namespace capstan::op::render
