#include "operator/render/unheeded.h"

#include <array>

namespace capstan::op::render {
namespace {

using api::ControllerSpec;
using api::NodeSetSpec;

bool IsUpdatedBy(const NodeSetSpec& spec, std::string_view type) {
  return spec.update_strategy && spec.update_strategy->type == type;
}

constexpr auto kNodeSetFields = std::to_array<Unheeded<NodeSetSpec>>({
    {"scalingMode", "DaemonSet is not managed by this version, which leaves its workers as they are; use StatefulSet",
     [](const NodeSetSpec& spec) { return spec.scaling_mode == api::kScalingDaemonSet; }},
    {"pinToNode", "is not heeded by this version: workers go where the scheduler puts them",
     [](const NodeSetSpec& spec) { return spec.pin_to_node.value_or(false); }},
    {"updateStrategy.scheduledUpdate", "is not heeded by this version: workers are not updated",
     [](const NodeSetSpec& spec) { return IsUpdatedBy(spec, api::kUpdateScheduled); }},
    {"updateStrategy.rollingUpdate.maxUnavailable", "is not heeded by this version: workers are not updated",
     [](const NodeSetSpec& spec) {
       const auto default_amount = json::IntOrString("25%");
       return IsUpdatedBy(spec, api::kUpdateRolling) && spec.update_strategy->rolling_update &&
              spec.update_strategy->rolling_update->max_unavailable.value_or(default_amount) != default_amount;
     }},
    {"ssh", "is not heeded by this version: no sshd runs in the workers; use kubectl exec",
     [](const NodeSetSpec& spec) { return spec.ssh && spec.ssh->enabled.value_or(false); }},
    {"persistentVolumeClaimRetentionPolicy", "Delete is not heeded by this version: claims are kept",
     [](const NodeSetSpec& spec) {
       const auto& policy = spec.claim_retention;
       return policy && (policy->when_deleted == api::kDelete || policy->when_scaled == api::kDelete);
     }},
    {"pruneSlurmNodeRecords", "is not heeded by this version: Slurm's records of lost nodes stay; remove them in Slurm",
     [](const NodeSetSpec& spec) { return spec.prune_slurm_node_records.value_or("") == api::kPruneNodeNotFound; }},
    {"revisionHistoryLimit", "is not heeded by this version: no ControllerRevisions are made",
     [](const NodeSetSpec& spec) { return spec.revision_history_limit.value_or(0) != 0; }},
});

constexpr std::string_view kExternal = "has no effect while spec.external is true: no slurmctld is run here; remove it";

bool IsExternal(const ControllerSpec& spec) { return spec.external.value_or(false); }

template <auto kMember>
bool IsVainList(const ControllerSpec& spec) {
  return IsExternal(spec) && !(spec.*kMember).empty();
}

constexpr auto kControllerFields = std::to_array<Unheeded<ControllerSpec>>({
    {"metrics.serviceMonitor",
     "is not made by this version; make a ServiceMonitor for the Service <name>-controller yourself",
     [](const ControllerSpec& spec) {
       return spec.metrics && spec.metrics->service_monitor && spec.metrics->service_monitor->enabled.value_or(false);
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

std::span<const Unheeded<NodeSetSpec>> UnheededOf(const NodeSetSpec&) { return kNodeSetFields; }
std::span<const Unheeded<ControllerSpec>> UnheededOf(const ControllerSpec&) { return kControllerFields; }

}  // namespace capstan::op::render
