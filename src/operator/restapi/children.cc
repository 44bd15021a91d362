#include "operator/restapi/children.h"

#include "operator/names.h"
#include "operator/render/cluster.h"
#include "operator/render/merge.h"
#include "operator/render/metadata.h"
#include "operator/render/parts.h"

namespace capstan::op::restapi {
namespace {

using namespace render;  // NOLINT: this file is made of its parts

constexpr int kOwnerOnly = 0600;

StringMap Labels(const api::RestApi& rest_api) { return ComponentLabels(kRestApi, rest_api.metadata.name); }

Result<JsonObject> Slurmrestd(const api::RestApi& rest_api, const api::Controller& controller,
                              const Settings& settings) {
  JsonObject container{{"name", kRestApi.app}};
  container["env"] = JsonArray{Variable("SLURM_JWT", "daemon"),
                               Variable("SLURMRESTD_SECURITY", "disable_unshare_files,disable_unshare_sysv")};
  container["ports"] = JsonArray{ContainerPort(kRestApi.app, kSlurmrestdPort)};
  container["startupProbe"] = Patient(TcpProbe(kSlurmrestdPort));
  container["livenessProbe"] = Patient(TcpProbe(kSlurmrestdPort));
  container["readinessProbe"] = TcpProbe(kSlurmrestdPort);
  container["securityContext"] = RunAs(kNobodyUser);
  container["volumeMounts"] = JsonArray{Mount("slurm-etc", "/etc/slurm", true)};
  // Without accounting, the calls that need slurmdbd would only fail.
  if (!controller.spec.accounting_ref) container["args"] = JsonArray{"-s", "openapi/slurmctld"};
  CAPSTAN_TRY(JsonObject merged, MergeContainer(std::move(container), rest_api.spec.slurmrestd, "spec.slurmrestd"));
  Json& args = merged["args"];
  if (!args.is_array()) args.emplace_array();
  args.get_array().push_back(Json("0.0.0.0:" + std::to_string(kSlurmrestdPort)));
  DefaultImage(merged, settings.Image(kRestApi.app));
  return merged;
}

Result<JsonObject> PodSpec(const api::RestApi& rest_api, const api::Controller& controller, const Settings& settings) {
  CAPSTAN_TRY(JsonObject slurmrestd, Slurmrestd(rest_api, controller, settings));
  JsonArray sources{ConfigMapFile(ConfigName(controller.metadata.name), "slurm.conf", "slurm.conf")};
  if (const auto& key = controller.spec.slurm_key_ref) sources.push_back(SecretFile(key->name, key->key, "slurm.key"));
  JsonObject pod{{"automountServiceAccountToken", false}};
  pod["securityContext"] = PodRunAs(kNobodyUser);
  pod["containers"] = JsonArray{std::move(slurmrestd)};
  pod["volumes"] = JsonArray{ProjectedVolume("slurm-etc", kOwnerOnly, std::move(sources))};
  return MergePodSpec(std::move(pod), rest_api.spec.pod_template.spec, "spec.template.spec");
}

}  // namespace

Result<plan::Child> ServiceObject(const api::RestApi& rest_api) {
  const api::ServiceSpec& service = rest_api.spec.service;
  const std::string app(kRestApi.app);
  CAPSTAN_TRY(JsonObject spec,
              MergeService(service.spec, {{app, RestApiPort(rest_api), service.node_port.value_or(0), app}},
                           SelectorLabels(kRestApi, rest_api.metadata.name), "spec.service.spec"));
  Metadata metadata{service.metadata.labels, service.metadata.annotations};
  metadata.Add(Labels(rest_api), {});
  JsonObject body = OwnedObject(kube::kServices, RestApiName(rest_api.metadata.name), metadata, api::RestApi::kResource,
                                rest_api.metadata);
  body["spec"] = std::move(spec);
  return AsChild(kube::kServices, body, "clients reach slurmrestd through it");
}

Result<plan::Child> DeploymentObject(const api::RestApi& rest_api, const api::Controller& controller,
                                     const PodHashes& hashes, const Settings& settings) {
  CAPSTAN_TRY(JsonObject pod, PodSpec(rest_api, controller, settings));
  const api::Metadata& wanted = rest_api.spec.pod_template.metadata;
  Metadata pod_metadata = InheritedByPod(rest_api.metadata).Add(wanted.labels, wanted.annotations);
  pod_metadata.Add(Labels(rest_api), {{std::string(kAnnotationDefaultContainer), std::string(kRestApi.app)},
                                      {std::string(kHashSlurmConfig), hashes.config}});
  if (!hashes.slurm_key.empty())
    pod_metadata.annotations.insert_or_assign(std::string(kHashSlurmKey), hashes.slurm_key);
  Metadata metadata = Inherited(rest_api.metadata).Add(wanted.labels, wanted.annotations);
  metadata.Add(Labels(rest_api), {});

  JsonObject spec{{"replicas", rest_api.spec.replicas.value_or(1)}, {"revisionHistoryLimit", 0}};
  spec["selector"] = JsonObject{{"matchLabels", ToJson(SelectorLabels(kRestApi, rest_api.metadata.name))}};
  spec["template"] = JsonObject{{"metadata", pod_metadata.ToJson()}, {"spec", std::move(pod)}};
  JsonObject body = OwnedObject(kube::kDeployments, RestApiName(rest_api.metadata.name), metadata,
                                api::RestApi::kResource, rest_api.metadata);
  body["spec"] = std::move(spec);
  return AsChild(kube::kDeployments, body, "slurmrestd runs in it");
}

}  // namespace capstan::op::restapi
