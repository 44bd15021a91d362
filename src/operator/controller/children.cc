#include "operator/controller/children.h"

#include <algorithm>

#include "operator/controller/service_monitor.h"
#include "operator/names.h"
#include "operator/render/cluster.h"
#include "operator/render/immutable.h"
#include "operator/render/merge.h"
#include "operator/render/own_words.h"
#include "operator/render/parts.h"
#include "operator/render/scripts.h"
#include "operator/render/workload.h"

namespace capstan::op::controller {
namespace {

using namespace render;  // NOLINT: this file is made of its parts

constexpr std::string_view kLog = "/var/log/slurm/slurmctld.log";
constexpr std::string_view kStateVolume = "statesave";
constexpr int kOwnerAndGroup = 0610;

StringMap Selector(const api::Controller& controller) {
  return SelectorLabels(op::kController, controller.metadata.name);
}

StringMap Labels(const api::Controller& controller) {
  return ComponentLabels(op::kController, controller.metadata.name);
}

// Of what is made for the workers of a cluster, whichever NodeSet they are of.
StringMap WorkerLabels(const api::Controller& controller) {
  return {{std::string(kLabelComponent), std::string(kWorker.component)},
          {std::string(kLabelCluster), controller.metadata.name}};
}

bool IsHa(const api::ControllerSpec& spec) { return spec.ha && spec.ha->enabled.value_or(false); }

// --- Pod -------------------------------------------------------------------------------------------------------------

JsonObject ConfigVolume(const api::Controller& controller) {
  const api::ControllerSpec& spec = controller.spec;
  JsonArray sources{WholeConfigMap(ConfigName(controller.metadata.name))};
  if (const auto& key = spec.slurm_key_ref) sources.push_back(SlurmKeyFile(*key));
  if (const auto* key = api::JwtKey(spec)) sources.push_back(SecretFile(key->name, key->key, "jwt.key"));
  for (const std::string& name : FileConfigMaps(spec)) sources.push_back(WholeConfigMap(name));
  if (const auto& key = spec.jwks_key_ref) sources.push_back(ConfigMapFile(key->name, key->key, "jwks.json"));
  return ProjectedVolume("slurm-etc", kOwnerAndGroup, std::move(sources));
}

JsonArray Volumes(const api::Controller& controller) {
  const api::ControllerSpec& spec = controller.spec;
  JsonArray volumes{ConfigVolume(controller), MemoryDir("slurm-logfile"), MemoryDir("run"),
                    EmptyDir("slurm-authsocket")};
  if (!KeepsState(spec)) {
    volumes.push_back(EmptyDir(kStateVolume));
  } else if (!spec.persistence->existing_claim.empty()) {
    volumes.push_back(ClaimVolume(kStateVolume, spec.persistence->existing_claim));
  }
  return volumes;
}

Result<JsonObject> Slurmctld(const api::Controller& controller) {
  const std::string_view port = op::kController.app;
  JsonObject container{{"name", port}};
  container["ports"] = JsonArray{ContainerPort(port, kSlurmctldPort)};
  container["startupProbe"] = Patient(HttpProbe("/livez", port));
  container["livenessProbe"] = Patient(HttpProbe("/livez", port));
  // A slurmctld that stands by never says that it is ready.
  container["readinessProbe"] = HttpProbe(IsHa(controller.spec) ? "/livez" : "/readyz", port);
  container["securityContext"] = RunAs(kSlurmUser);
  container["volumeMounts"] =
      JsonArray{Mount("slurm-etc", "/etc/slurm", true), Mount("run", "/run"),
                Mount(kStateVolume, "/var/spool/slurmctld/" + controller.ClusterName()),
                Mount("slurm-authsocket", "/run/slurmctld"), Mount("slurm-logfile", "/var/log/slurm")};
  CAPSTAN_TRY(const json::Raw users, WithoutOwnWords(controller.spec.slurmctld, kSlurmctldOwnWords));
  return MergeContainer(std::move(container), users, "spec.slurmctld");
}

Result<JsonObject> Reconfigure(const api::Controller& controller) {
  JsonObject container{{"name", "reconfigure"}, {"restartPolicy", "Always"}};
  container["command"] = JsonArray{"sh", "-c", kReconfigureScript};
  container["volumeMounts"] =
      JsonArray{Mount("slurm-etc", "/etc/slurm", true), Mount("slurm-authsocket", "/run/slurmctld", true)};
  return MergeContainer(std::move(container), controller.spec.reconfigure, "spec.reconfigure");
}

Result<JsonObject> PodSpec(const api::Controller& controller, const Settings& settings, bool sidecar) {
  const api::ControllerSpec& spec = controller.spec;
  CAPSTAN_TRY(JsonObject slurmctld, Slurmctld(controller));
  DefaultImage(slurmctld, settings.Image(op::kController.app));
  const std::string image = ImageOf(slurmctld);
  JsonArray sidecars;
  if (sidecar) {
    CAPSTAN_TRY(JsonObject reconfigure, Reconfigure(controller));
    DefaultImage(reconfigure, image);
    sidecars.push_back(std::move(reconfigure));
  }
  CAPSTAN_TRY(JsonObject logfile, MergeContainer(LogfileSidecar(kLog, "777"), spec.logfile, "spec.logfile"));
  DefaultImage(logfile, image);
  sidecars.push_back(std::move(logfile));

  JsonObject pod{{"automountServiceAccountToken", false}};
  pod["affinity"] = OnePerNode(Selector(controller));
  pod["securityContext"] = PodRunAs(kSlurmUser);
  pod["initContainers"] = std::move(sidecars);
  pod["containers"] = JsonArray{std::move(slurmctld)};
  pod["volumes"] = Volumes(controller);
  return pod;
}

// --- State -----------------------------------------------------------------------------------------------------------

// Kubernetes takes no claim without a size and a mode, so those who say nothing get a small one.
Result<JsonObject> StateClaim(const api::Persistence& persistence) {
  CAPSTAN_TRY(Json spec, json::Parse(persistence.ClaimSpec()));
  if (!spec.is_object()) spec.emplace_object();
  JsonObject& object = spec.get_object();
  if (!object.contains("accessModes")) object["accessModes"] = JsonArray{"ReadWriteOnce"};
  if (json::Find(spec, {"resources", "requests", "storage"}) == nullptr) {
    json::MakeObject(spec, {"resources", "requests"})["storage"] = "4Gi";
  }
  return JsonObject{{"metadata", JsonObject{{"name", kStateVolume}}}, {"spec", std::move(spec)}};
}

Result<void> CheckHa(const api::ControllerSpec& spec) {
  if (!IsHa(spec)) return {};
  if (!KeepsState(spec)) {
    return Fail(Code::kInvalid, "spec.ha needs spec.persistence: all slurmctld read the same state");
  }
  if (spec.persistence->existing_claim.empty()) {
    return Fail(Code::kInvalid,
                "spec.ha needs spec.persistence.existingClaim, a claim with access mode ReadWriteMany: all "
                "slurmctld read the same state");
  }
  return {};
}

// A user who has opened Slurm's own port himself keeps it as it is.
bool OpensPort(const json::Raw& service, int port) {
  const auto spec = json::ParseObject(service, "spec.service.spec");
  const Json* ports = spec ? json::Find(*spec, {"ports"}) : nullptr;
  if (ports == nullptr || !ports->is_array()) return false;
  return std::ranges::any_of(ports->get_array(), [port](const Json& one) {
    const Json* number = json::Find(one, {"port"});
    return number != nullptr && json::Serialize(*number) == std::to_string(port);
  });
}

}  // namespace

std::vector<std::string> FileConfigMaps(const api::ControllerSpec& spec) {
  std::vector<std::string> names;
  for (const auto* refs : {&spec.config_file_refs, &spec.prolog_script_refs, &spec.epilog_script_refs,
                           &spec.prolog_slurmctld_script_refs, &spec.epilog_slurmctld_script_refs}) {
    for (const api::LocalObjectReference& ref : *refs) names.push_back(ref.name);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

plan::Child ConfigObject(const api::Controller& controller, const PublishedConfig& config) {
  Metadata metadata;
  if (controller.spec.external.value_or(false)) {
    metadata.Add(controller.spec.pod_template.metadata.labels, controller.spec.pod_template.metadata.annotations);
  } else {
    metadata = Inherited(controller.metadata);
  }
  metadata.Add(Labels(controller), {});
  JsonObject data{{"slurm.conf", config.slurm_conf}};
  if (!config.cgroup_conf.empty()) data["cgroup.conf"] = config.cgroup_conf;
  if (!config.topology_yaml.empty()) data["topology.yaml"] = config.topology_yaml;
  JsonObject body = OwnedObject(kube::kConfigMaps, ConfigName(controller.metadata.name), metadata, OwnerOf(controller));
  body["data"] = std::move(data);
  return AsChild(kube::kConfigMaps, std::move(body), "slurmctld reads its configuration there");
}

Result<plan::Child> InternalService(const api::Controller& controller) {
  const std::string app(op::kController.app);
  return Render({.owner = OwnerOf(controller),
                 .name = ControllerInternalName(controller.metadata.name),
                 .inherited = Inherited(controller.metadata),
                 .labels = Labels(controller),
                 .ports = {{app, kSlurmctldPort, 0, app}},
                 .selector = Selector(controller)},
                "slurmctld's pods have their names from it");
}

Result<plan::Child> ClientService(const api::Controller& controller, bool active) {
  const api::ServiceSpec& user = controller.spec.service;
  const std::string app(op::kController.app);
  const int port = ControllerPort(controller);
  std::vector<ServicePort> ports{{app, port, user.node_port.value_or(0), app}};
  if (port != kSlurmctldPort && !OpensPort(user.spec, kSlurmctldPort)) {
    ports.push_back({app + "-native", kSlurmctldPort, 0, app});
  }
  StringMap labels = Labels(controller);
  if (WantsServiceMonitor(controller)) labels.emplace(kLabelMetrics, "true");
  StringMap selector = Selector(controller);
  if (active) selector.emplace(kLabelActive, "true");
  return Render({.owner = OwnerOf(controller),
                 .name = ControllerName(controller.metadata.name),
                 .inherited = Inherited(controller.metadata),
                 .labels = std::move(labels),
                 .ports = std::move(ports),
                 .selector = std::move(selector),
                 .user = &user,
                 // There is one slurmctld to reach, and it answers long before the kubelet looks again and calls it
                 // ready. A slurmd that finds none for ten seconds would wait ten more.
                 .more = {{"publishNotReadyAddresses", true}}},
                "clients reach slurmctld through it");
}

Result<plan::Child> WorkerService(const api::Controller& controller) {
  const std::string& name = controller.metadata.name;
  const std::string app(kWorker.app);
  return Render({.owner = OwnerOf(controller),
                 .name = WorkerServiceName(name),
                 .labels = WorkerLabels(controller),
                 .ports = {{app, kSlurmdPort, 0, app}},
                 .selector = {{std::string(kLabelName), app}, {std::string(kLabelCluster), name}}},
                "the workers have their names from it");
}

plan::Child WorkerBudget(const api::Controller& controller) {
  const std::string& name = controller.metadata.name;
  JsonObject body = OwnedObject(kube::kPodDisruptionBudgets, WorkerBudgetName(name),
                                Metadata{WorkerLabels(controller), {}}, OwnerOf(controller));
  const StringMap selector{{std::string(kLabelPodProtect), "true"}, {std::string(kLabelCluster), name}};
  body["spec"] = JsonObject{{"maxUnavailable", 0}, {"selector", JsonObject{{"matchLabels", ToJson(selector)}}}};
  return AsChild(kube::kPodDisruptionBudgets, std::move(body), "workers on which jobs may run are not evicted");
}

Result<JsonArray> ClaimTemplates(const api::ControllerSpec& spec) {
  JsonArray claims;
  if (!KeepsState(spec) || (spec.persistence && !spec.persistence->existing_claim.empty())) return claims;
  CAPSTAN_TRY(JsonObject claim, StateClaim(spec.persistence.value_or(api::Persistence())));
  claims.push_back(std::move(claim));
  return claims;
}

Result<plan::Child> SlurmctldSet(const api::Controller& controller, const PodHashes& hashes, const Settings& settings,
                                 const StatefulSet* present) {
  const api::ControllerSpec& spec = controller.spec;
  CAPSTAN_CHECK_OK(CheckHa(spec));
  CAPSTAN_TRY(JsonObject pod, PodSpec(controller, settings, hashes.sidecar));
  api::PodTemplate user = spec.pod_template;
  CAPSTAN_TRY(user.spec, PodWithoutOwnWords(user.spec, kSlurmctldOwnWords));
  JsonObject more{{"serviceName", ControllerInternalName(controller.metadata.name)}};
  CAPSTAN_TRY(JsonArray claims, ClaimTemplates(spec));
  if (!claims.empty()) more["volumeClaimTemplates"] = std::move(claims);
  // With one slurmctld there is no doubt who is in charge, and nobody has to notice a restart.
  StringMap in_charge;
  if (!IsHa(spec)) in_charge.emplace(kLabelActive, "true");
  CAPSTAN_TRY(JsonObject set, ObjectOf({.resource = kube::kStatefulSets,
                                        .owner = OwnerOf(controller),
                                        .component = op::kController,
                                        .name = ControllerName(controller.metadata.name),
                                        .replicas = spec.Replicas(),
                                        .user = user,
                                        .pod = std::move(pod),
                                        .hashes = {{std::string(kHashSlurmKey), hashes.slurm_key},
                                                   {std::string(kHashJwtKey), hashes.jwt_key},
                                                   {std::string(kHashSlurmConfig), hashes.config}},
                                        .pod_labels = std::move(in_charge),
                                        .more = std::move(more)}));
  RememberOptions(set, hashes.restart_options);
  if (present != nullptr) KeepImmutable(*present, set["spec"].as_object());
  return AsChild(kube::kStatefulSets, std::move(set), "slurmctld runs in it");
}

}  // namespace capstan::op::controller
