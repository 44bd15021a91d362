#include "operator/nodeset/unheeded.h"

#include <array>

namespace capstan::op::nodeset {
namespace {

using api::NodeSetSpec;

constexpr auto kFields = std::to_array<Unheeded<NodeSetSpec>>({
    {"persistentVolumeClaimRetentionPolicy.whenScaled",
     "Delete is not heeded in DaemonSet mode: a machine may come back, and its claims stay until the NodeSet is "
     "deleted",
     [](const NodeSetSpec& spec) {
       return spec.IsDaemonSet() && spec.claim_retention && spec.claim_retention->when_scaled == api::kDelete;
     }},
});

}  // namespace

constinit const std::span<const Unheeded<NodeSetSpec>> kUnheeded = kFields;

}  // namespace capstan::op::nodeset
