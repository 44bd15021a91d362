#include "operator/render/cluster.h"

#include "base/text.h"
#include "operator/names.h"

namespace capstan::op::render {

int ControllerPort(const api::Controller& controller) { return controller.spec.service.port.value_or(kSlurmctldPort); }

std::string ConfServer(const api::Controller& controller) {
  const api::ControllerSpec& spec = controller.spec;
  if (spec.external.value_or(false) && spec.external_config) {
    return spec.external_config->host + ":" + std::to_string(spec.external_config->port);
  }
  return ControllerName(controller.metadata.name) + "." + controller.metadata.namespace_ + ":" +
         std::to_string(ControllerPort(controller));
}

int RestApiPort(const api::RestApi& rest_api) { return rest_api.spec.service.port.value_or(kSlurmrestdPort); }

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
