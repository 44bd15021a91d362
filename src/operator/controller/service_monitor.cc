#include "operator/controller/service_monitor.h"

#include "operator/names.h"
#include "operator/objects.h"
#include "operator/render/cluster.h"
#include "operator/render/json.h"
#include "operator/render/metadata.h"
#include "operator/render/parts.h"

namespace capstan::op::controller {
namespace {

using namespace render;  // NOLINT: this file is made of its parts

// Where slurmctld has metrics, of what.
constexpr std::string_view kPaths[] = {"/metrics/jobs", "/metrics/nodes", "/metrics/partitions", "/metrics/scheduler"};

JsonObject Endpoint(const api::MetricsEndpoint& endpoint, const api::ServiceMonitor& monitor) {
  JsonObject object{{"port", op::kController.app}, {"path", endpoint.path}, {"scheme", "http"}};
  const std::string& interval = endpoint.interval.empty() ? monitor.interval : endpoint.interval;
  const std::string& timeout = endpoint.scrape_timeout.empty() ? monitor.scrape_timeout : endpoint.scrape_timeout;
  if (!interval.empty()) object["interval"] = interval;
  if (!timeout.empty()) object["scrapeTimeout"] = timeout;
  return object;
}

JsonArray Endpoints(const api::ServiceMonitor& monitor) {
  JsonArray endpoints;
  for (const api::MetricsEndpoint& endpoint : monitor.endpoints) endpoints.push_back(Endpoint(endpoint, monitor));
  if (!endpoints.empty()) return endpoints;
  for (const std::string_view path : kPaths) endpoints.push_back(Endpoint({.path = std::string(path)}, monitor));
  return endpoints;
}

}  // namespace

bool WantsServiceMonitor(const api::Controller& controller) {
  const auto& metrics = controller.spec.metrics;
  return !controller.spec.external.value_or(false) && metrics && metrics->enabled.value_or(false) &&
         metrics->service_monitor && metrics->service_monitor->enabled.value_or(false);
}

plan::Child ServiceMonitorObject(const api::Controller& controller) {
  const api::ServiceMonitor& monitor = *controller.spec.metrics->service_monitor;
  const std::string& name = controller.metadata.name;
  Metadata metadata = Inherited(controller.metadata);
  metadata.Add(monitor.labels, monitor.annotations);
  metadata.Add(ComponentLabels(op::kController, name), {});
  StringMap selector = SelectorLabels(op::kController, name);
  selector.emplace(kLabelMetrics, "true");
  JsonObject body = OwnedObject(kServiceMonitors, ControllerName(name), metadata, OwnerOf(controller));
  body["spec"] =
      JsonObject{{"selector", JsonObject{{"matchLabels", ToJson(selector)}}},
                 {"namespaceSelector", JsonObject{{"matchNames", JsonArray{Json(controller.metadata.namespace_)}}}},
                 {"endpoints", Endpoints(monitor)}};
  return AsChild(kServiceMonitors, std::move(body), "Prometheus finds slurmctld's metrics by it");
}

}  // namespace capstan::op::controller
