#include "operator/controller/unheeded.h"

#include <array>

namespace capstan::op::controller {
namespace {

using api::ControllerSpec;

constexpr std::string_view kExternal = "has no effect while spec.external is true: no slurmctld is run here; remove it";

bool IsExternal(const ControllerSpec& spec) { return spec.external.value_or(false); }

template <auto kMember>
bool IsVainList(const ControllerSpec& spec) {
  return IsExternal(spec) && !(spec.*kMember).empty();
}

constexpr auto kFields = std::to_array<Unheeded<ControllerSpec>>({
    {"metrics.serviceMonitor", "has no effect while spec.metrics.enabled is false; enable it, or remove this",
     [](const ControllerSpec& spec) {
       return spec.metrics && !spec.metrics->enabled.value_or(false) && spec.metrics->service_monitor &&
              spec.metrics->service_monitor->enabled.value_or(false);
     }},
    {"configFileRefs", kExternal, &IsVainList<&ControllerSpec::config_file_refs>},
    {"prologScriptRefs", kExternal, &IsVainList<&ControllerSpec::prolog_script_refs>},
    {"epilogScriptRefs", kExternal, &IsVainList<&ControllerSpec::epilog_script_refs>},
    {"prologSlurmctldScriptRefs", kExternal, &IsVainList<&ControllerSpec::prolog_slurmctld_script_refs>},
    {"epilogSlurmctldScriptRefs", kExternal, &IsVainList<&ControllerSpec::epilog_slurmctld_script_refs>},
    {"extraConf", kExternal, &IsVainList<&ControllerSpec::extra_conf>},
    {"slurmctld", kExternal, &IsVainList<&ControllerSpec::slurmctld>},
    {"reconfigure", kExternal, &IsVainList<&ControllerSpec::reconfigure>},
    {"logfile", kExternal, &IsVainList<&ControllerSpec::logfile>},
    {"template.spec", kExternal,
     [](const ControllerSpec& spec) { return IsExternal(spec) && !spec.pod_template.spec.empty(); }},
    {"service", kExternal,
     [](const ControllerSpec& spec) { return IsExternal(spec) && spec.service != api::ServiceSpec(); }},
    {"inplaceReconfigure", kExternal,
     [](const ControllerSpec& spec) { return IsExternal(spec) && spec.inplace_reconfigure.value_or(false); }},
    {"jwksKeyRef", kExternal,
     [](const ControllerSpec& spec) { return IsExternal(spec) && spec.jwks_key_ref.has_value(); }},
    {"ha", kExternal,
     [](const ControllerSpec& spec) { return IsExternal(spec) && spec.ha && spec.ha->enabled.value_or(false); }},
    {"metrics", kExternal,
     [](const ControllerSpec& spec) {
       return IsExternal(spec) && spec.metrics && spec.metrics->enabled.value_or(false);
     }},
    {"persistence", kExternal,
     [](const ControllerSpec& spec) {
       return IsExternal(spec) && spec.persistence &&
              spec.persistence != api::WithDefaults(ControllerSpec()).persistence;
     }},
});

}  // namespace

constinit const std::span<const Unheeded<ControllerSpec>> kUnheeded = kFields;

}  // namespace capstan::op::controller
