#include "operator/render/parts.h"

#include "operator/render/scripts.h"

namespace capstan::op::render {

JsonObject HttpProbe(std::string_view path, std::string_view port) {
  return {{"httpGet", {{"path", path}, {"port", port}}}};
}

JsonObject TcpProbe(int port) { return {{"tcpSocket", {{"port", port}}}}; }

JsonObject Patient(JsonObject probe) {
  probe["failureThreshold"] = 6;
  probe["periodSeconds"] = 10;
  return probe;
}

JsonObject EmptyDir(std::string_view name) { return {{"name", name}, {"emptyDir", JsonObject()}}; }

JsonObject MemoryDir(std::string_view name, std::string_view size_limit) {
  JsonObject dir{{"medium", "Memory"}};
  if (!size_limit.empty()) dir["sizeLimit"] = size_limit;
  return {{"name", name}, {"emptyDir", std::move(dir)}};
}

JsonObject ClaimVolume(std::string_view name, std::string_view claim) {
  return {{"name", name}, {"persistentVolumeClaim", {{"claimName", claim}}}};
}

JsonObject ProjectedVolume(std::string_view name, int mode, JsonArray sources) {
  JsonObject projected{{"defaultMode", mode}};
  projected["sources"] = std::move(sources);
  return {{"name", name}, {"projected", std::move(projected)}};
}

JsonObject SecretFile(std::string_view secret, std::string_view key, std::string_view path) {
  JsonArray items{JsonObject{{"key", key}, {"path", path}}};
  return {{"secret", JsonObject{{"name", secret}, {"items", std::move(items)}}}};
}

JsonObject ConfigMapFile(std::string_view config_map, std::string_view key, std::string_view path) {
  JsonArray items{JsonObject{{"key", key}, {"path", path}}};
  return {{"configMap", JsonObject{{"name", config_map}, {"items", std::move(items)}}}};
}

JsonObject WholeConfigMap(std::string_view config_map) { return {{"configMap", JsonObject{{"name", config_map}}}}; }

JsonObject Mount(std::string_view volume, std::string_view path, bool read_only) {
  JsonObject mount{{"name", volume}, {"mountPath", path}};
  if (read_only) mount["readOnly"] = true;
  return mount;
}

JsonObject FileMount(std::string_view volume, std::string_view path, std::string_view file) {
  return {{"name", volume}, {"mountPath", path}, {"subPath", file}, {"readOnly", true}};
}

JsonObject Variable(std::string_view name, std::string_view value) { return {{"name", name}, {"value", value}}; }

JsonObject FieldVariable(std::string_view name, std::string_view field) {
  return {{"name", name}, {"valueFrom", JsonObject{{"fieldRef", JsonObject{{"fieldPath", field}}}}}};
}

JsonObject ContainerPort(std::string_view name, int number) {
  return {{"name", name}, {"containerPort", number}, {"protocol", "TCP"}};
}

JsonObject LogfileSidecar(std::string_view path, std::string_view mode) {
  return {{"name", "logfile"},
          {"command", JsonArray{"sh", "-c", LogfileScript(mode)}},
          {"env", JsonArray{Variable("SOCKET", path)}},
          {"restartPolicy", "Always"},  // an init container that stays: it is there before the daemon and after it
          {"volumeMounts", JsonArray{Mount("slurm-logfile", "/var/log/slurm")}}};
}

std::string ImageOf(const JsonObject& container) {
  const Json* image = container.if_contains("image");
  return image != nullptr && image->is_string() ? std::string(image->get_string()) : std::string();
}

void DefaultImage(JsonObject& container, std::string_view image) {
  if (ImageOf(container).empty()) container["image"] = image;
}

JsonObject RunAs(int user) { return {{"runAsNonRoot", true}, {"runAsUser", user}, {"runAsGroup", user}}; }

JsonObject PodRunAs(int user) {
  JsonObject context = RunAs(user);
  context["fsGroup"] = user;
  return context;
}

JsonObject OnePerNode(const StringMap& labels) {
  JsonObject term{{"topologyKey", "kubernetes.io/hostname"},
                  {"labelSelector", JsonObject{{"matchLabels", ToJson(labels)}}}};
  return {
      {"podAntiAffinity", JsonObject{{"requiredDuringSchedulingIgnoredDuringExecution", JsonArray{std::move(term)}}}}};
}

}  // namespace capstan::op::render
