#include "operator/restapi/children.h"

#include "operator/names.h"
#include "operator/render/cluster.h"
#include "operator/render/merge.h"
#include "operator/render/parts.h"
#include "operator/render/workload.h"

namespace capstan::op::restapi {
namespace {

using namespace render;  // NOLINT: this file is made of its parts

constexpr int kOwnerOnly = 0600;

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
  return pod;
}

}  // namespace

Result<plan::Child> ServiceObject(const api::RestApi& rest_api) {
  const api::ServiceSpec& user = rest_api.spec.service;
  const std::string& name = rest_api.metadata.name;
  const std::string app(kRestApi.app);
  return Render({.owner = OwnerOf(rest_api),
                 .name = RestApiName(name),
                 .labels = ComponentLabels(kRestApi, name),
                 .ports = {{app, RestApiPort(rest_api), user.node_port.value_or(0), app}},
                 .selector = SelectorLabels(kRestApi, name),
                 .user = &user},
                "clients reach slurmrestd through it");
}

Result<plan::Child> DeploymentObject(const api::RestApi& rest_api, const api::Controller& controller,
                                     const PodHashes& hashes, const Settings& settings) {
  CAPSTAN_TRY(JsonObject pod, PodSpec(rest_api, controller, settings));
  CAPSTAN_TRY(JsonObject deployment, ObjectOf({.resource = kube::kDeployments,
                                               .owner = OwnerOf(rest_api),
                                               .component = kRestApi,
                                               .name = RestApiName(rest_api.metadata.name),
                                               .replicas = *rest_api.spec.replicas,
                                               .user = rest_api.spec.pod_template,
                                               .pod = std::move(pod),
                                               .hashes = {{std::string(kHashSlurmConfig), hashes.config},
                                                          {std::string(kHashSlurmKey), hashes.slurm_key}}}));
  RememberOptions(deployment, hashes.restart_options);
  return AsChild(kube::kDeployments, std::move(deployment), "slurmrestd runs in it");
}

}  // namespace capstan::op::restapi
