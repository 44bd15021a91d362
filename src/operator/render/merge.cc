#include "operator/render/merge.h"

#include <string>
#include <unordered_set>

#include "json/strategic_merge.h"
#include "kube/merge_keys.h"

namespace capstan::op::render {
namespace {

// The user's part, of repeated list keys the last, as an object.
Result<Json> Overlay(const json::Raw& user, const json::MergeShape& shape, std::string_view where) {
  CAPSTAN_TRY(Json overlay, json::ParseObject(user, where));
  (void)json::Normalize(overlay, shape);
  return overlay;
}

Result<JsonObject> Merged(JsonObject base, const Json& overlay, const json::MergeShape& shape, std::string_view where) {
  Json merged(std::move(base));
  CAPSTAN_CHECK_OK(json::StrategicMerge(merged, overlay, shape), where);
  return std::move(merged.get_object());
}

JsonArray ListAt(const JsonObject& object, std::string_view name) {
  const Json* value = object.if_contains(name);
  return value != nullptr && value->is_array() ? value->get_array() : JsonArray();
}

// Kubernetes tells ports of a Service apart by name; two of one number would be one too many for whoever connects.
Result<void> CheckPorts(const JsonArray& ports, std::string_view where) {
  std::unordered_set<std::string> names, numbers;
  for (const Json& port : ports) {
    for (const std::string_view key : {"name", "port"}) {
      const Json* value = json::Find(port, {key});
      if (value == nullptr) continue;
      const std::string text = json::Serialize(*value);
      if ((key == "name" ? names : numbers).insert(text).second) continue;
      return Fail(Code::kInvalid, std::string(where) + ".ports: the " + (key == "name" ? "name " : "number ") + text +
                                      " is taken by another port of this Service");
    }
  }
  return {};
}

JsonObject PortObject(const ServicePort& port) {
  JsonObject object{{"name", port.name}, {"protocol", "TCP"}, {"port", port.number}, {"targetPort", port.target}};
  if (port.node_port != 0) object["nodePort"] = port.node_port;
  return object;
}

}  // namespace

Result<JsonObject> MergeContainer(JsonObject base, const json::Raw& user, std::string_view where) {
  CAPSTAN_TRY(Json overlay, Overlay(user, kube::kContainerShape, where));
  JsonArray args = ListAt(base, "args");
  for (Json& argument : ListAt(overlay.get_object(), "args")) args.push_back(std::move(argument));
  overlay.get_object().erase("args");
  overlay.get_object().erase("name");
  CAPSTAN_TRY(JsonObject merged, Merged(std::move(base), overlay, kube::kContainerShape, where));
  if (!args.empty()) merged["args"] = std::move(args);
  return merged;
}

Result<JsonObject> MergePodSpec(JsonObject base, const json::Raw& user, std::string_view where) {
  CAPSTAN_TRY(const Json overlay, Overlay(user, kube::kPodSpecShape, where));
  return Merged(std::move(base), overlay, kube::kPodSpecShape, where);
}

Result<JsonObject> MergeService(const json::Raw& user, const std::vector<ServicePort>& ports, const StringMap& selector,
                                std::string_view where) {
  CAPSTAN_TRY(Json spec, json::ParseObject(user, where));
  json::DropNulls(spec);
  JsonObject& object = spec.get_object();
  object.erase("externalIPs");
  // It would lead whoever trusts the name, the operator with its tokens first, to a host of anybody's choice. The type is
  // ours, so that nobody else makes it one.
  if (json::FindText(spec, {"type"}) == "ExternalName" || object.contains("externalName"))
    return Fail(Code::kInvalid, std::string(where) + ": a Service of type ExternalName has no pods of ours behind it");
  if (!object.contains("type")) object["type"] = "ClusterIP";
  JsonArray all = ListAt(object, "ports");
  for (const ServicePort& port : ports) all.push_back(PortObject(port));
  CAPSTAN_CHECK_OK(CheckPorts(all, where));
  object["ports"] = std::move(all);
  JsonObject& selected = json::MakeObject(spec, {"selector"});
  for (const auto& [key, value] : selector) selected[key] = value;
  return std::move(spec.get_object());
}

JsonObject HeadlessService(const std::vector<ServicePort>& ports, const StringMap& selector) {
  JsonArray all;
  for (const ServicePort& port : ports) all.push_back(PortObject(port));
  return {{"clusterIP", "None"},
          {"publishNotReadyAddresses", true},
          {"ports", std::move(all)},
          {"selector", ToJson(selector)}};
}

}  // namespace capstan::op::render
