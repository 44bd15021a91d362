#include "operator/render/workload.h"

namespace capstan::op::render {

Metadata PodMetadata(const json::ObjectMeta& owner, const Component& component, const api::Metadata& user) {
  Metadata metadata = InheritedByPod(owner).Add(user.labels, user.annotations);
  return metadata.Add(ComponentLabels(component, owner.name),
                      {{std::string(kAnnotationDefaultContainer), std::string(component.app)}});
}

Result<JsonObject> ObjectOf(Workload workload) {
  const json::ObjectMeta& owner = workload.owner.object;
  const api::Metadata& wanted = workload.user.metadata;
  CAPSTAN_TRY(JsonObject pod, MergePodSpec(std::move(workload.pod), workload.user.spec, "spec.template.spec"));
  Metadata of_pod = PodMetadata(owner, workload.component, wanted).Add(workload.pod_labels, {});
  for (const auto& [annotation, digest] : workload.hashes) {
    if (!digest.empty()) of_pod.annotations.insert_or_assign(annotation, digest);
  }
  JsonObject spec = std::move(workload.more);
  spec["replicas"] = workload.replicas;
  spec["revisionHistoryLimit"] = 0;
  spec["selector"] = JsonObject{{"matchLabels", ToJson(SelectorLabels(workload.component, owner.name))}};
  spec["template"] = JsonObject{{"metadata", of_pod.ToJson()}, {"spec", std::move(pod)}};
  Metadata metadata = Inherited(owner).Add(wanted.labels, wanted.annotations);
  metadata.Add(ComponentLabels(workload.component, owner.name), {});
  JsonObject object = OwnedObject(workload.resource, workload.name, metadata, workload.owner);
  object["spec"] = std::move(spec);
  return object;
}

void RememberOptions(JsonObject& workload, const std::string& digest) {
  Json root(std::move(workload));
  json::MakeObject(root, {"metadata", "annotations"})[kAnnotationRestartOptions] = digest;
  workload = std::move(root.get_object());
}

Result<plan::Child> Render(Workload workload, std::string reason) {
  const kube::Resource& resource = workload.resource;
  CAPSTAN_TRY(JsonObject object, ObjectOf(std::move(workload)));
  return AsChild(resource, std::move(object), std::move(reason));
}

Result<plan::Child> Render(ServiceWish service, std::string reason) {
  JsonObject spec;
  if (service.user == nullptr) {
    spec = HeadlessService(service.ports, service.selector);
  } else {
    CAPSTAN_TRY(spec, MergeService(service.user->spec, service.ports, service.selector, "spec.service.spec"));
    service.inherited.Add(service.user->metadata.labels, service.user->metadata.annotations);
  }
  for (auto& member : service.more) spec.emplace(member.key(), std::move(member.value()));
  service.inherited.Add(service.labels, {});
  JsonObject object = OwnedObject(kube::kServices, service.name, service.inherited, service.owner);
  object["spec"] = std::move(spec);
  return AsChild(kube::kServices, std::move(object), std::move(reason));
}

}  // namespace capstan::op::render
