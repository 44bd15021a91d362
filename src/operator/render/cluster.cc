#include "operator/render/cluster.h"

#include "base/text.h"
#include "operator/names.h"

namespace capstan::op::render {

namespace {

// Absent and 0 ask for the daemon's own.
int PortOr(int port, int own) { return port == 0 ? own : port; }

}  // namespace

int ControllerPort(const api::Controller& controller) {
  const api::ControllerSpec& spec = controller.spec;
  const bool external = spec.external.value_or(false) && spec.external_config;
  return PortOr(external ? spec.external_config->port : spec.service.port.value_or(0), kSlurmctldPort);
}

std::string ConfServer(const api::Controller& controller) {
  const api::ControllerSpec& spec = controller.spec;
  if (spec.external.value_or(false) && spec.external_config) {
    return spec.external_config->host + ":" + std::to_string(ControllerPort(controller));
  }
  return ControllerName(controller.metadata.name) + "." + controller.metadata.namespace_ + ":" +
         std::to_string(ControllerPort(controller));
}

int RestApiPort(const api::RestApi& rest_api) {
  return PortOr(rest_api.spec.service.port.value_or(0), kSlurmrestdPort);
}

std::string RestApiUrl(const api::RestApi& rest_api) {
  return "http://" + RestApiName(rest_api.metadata.name) + "." + rest_api.metadata.namespace_ + ":" +
         std::to_string(RestApiPort(rest_api));
}

Result<std::string> SlurmNameOf(const api::NodeSet& set) {
  CAPSTAN_TRY(const Json spec, json::ParseObject(set.spec.pod_template.spec, "spec.template.spec"));
  const auto words = Words(json::FindText(spec, {"hostname"}));
  std::string_view name = words.empty() ? std::string_view() : words.front();
  while (name.starts_with('-')) name.remove_prefix(1);
  while (name.ends_with('-')) name.remove_suffix(1);
  return name.empty() ? set.metadata.name : std::string(name);
}

}  // namespace capstan::op::render
