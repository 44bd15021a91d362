#include "operator/nodeset/unheeded.h"

#include <array>

namespace capstan::op::nodeset {
namespace {

using api::NodeSetSpec;

bool IsUpdatedBy(const NodeSetSpec& spec, std::string_view type) {
  return spec.update_strategy && spec.update_strategy->type == type;
}

constexpr auto kFields = std::to_array<Unheeded<NodeSetSpec>>({
    {"scalingMode", "DaemonSet is not managed by this version, which leaves its workers as they are; use StatefulSet",
     [](const NodeSetSpec& spec) { return spec.scaling_mode == api::kScalingDaemonSet; }},
    {"pinToNode", "is not heeded by this version: workers go where the scheduler puts them",
     [](const NodeSetSpec& spec) { return spec.pin_to_node.value_or(false); }},
    {"updateStrategy.scheduledUpdate", "is not heeded by this version: workers are not updated",
     [](const NodeSetSpec& spec) { return IsUpdatedBy(spec, api::kUpdateScheduled); }},
    {"pruneSlurmNodeRecords", "is not heeded by this version: Slurm's records of lost nodes stay; remove them in Slurm",
     [](const NodeSetSpec& spec) { return spec.prune_slurm_node_records.value_or("") == api::kPruneNodeNotFound; }},
    {"revisionHistoryLimit", "is not heeded by this version: no ControllerRevisions are made",
     [](const NodeSetSpec& spec) { return spec.revision_history_limit.value_or(0) != 0; }},
});

}  // namespace

constinit const std::span<const Unheeded<NodeSetSpec>> kUnheeded = kFields;

}  // namespace capstan::op::nodeset
