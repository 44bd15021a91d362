#include "slurm/node_state.h"

#include <array>

namespace capstan::slurm {

std::span<const std::string_view> StateNames(NodeFlag) {
  static constexpr std::string_view kNames[] = {
      "INVALID",
      "UNKNOWN",
      "DOWN",
      "IDLE",
      "ALLOCATED",
      "ERROR",
      "MIXED",
      "FUTURE",
      "EXTERNAL",
      "RESERVED",
      "UNDRAIN",
      "CLOUD",
      "RESUME",
      "DRAIN",
      "COMPLETING",
      "NOT_RESPONDING",
      "POWERED_DOWN",
      "FAIL",
      "POWERING_UP",
      "MAINTENANCE",
      "REBOOT_REQUESTED",
      "REBOOT_CANCELED",
      "POWERING_DOWN",
      "DYNAMIC_FUTURE",
      "REBOOT_ISSUED",
      "PLANNED",
      "INVALID_REG",
      "POWER_DOWN",
      "POWER_UP",
      "POWER_DRAIN",
      "POWER_DOWN_ASAP",
      "POWER_DOWN_FORCE",
      "DYNAMIC_NORM",
      "BLOCKED",
  };
  static_assert(std::size(kNames) == size_t(NodeFlag::kBlocked) + 1);
  return kNames;
}

std::string_view Name(NodeBase base) {
  static constexpr std::string_view kNames[] = {"ALLOCATED", "MIXED", "DOWN",     "ERROR",
                                                "FUTURE",    "IDLE",  "EXTERNAL", "UNKNOWN"};
  return kNames[size_t(base)];
}

NodeBase NodeState::base() const {
  static constexpr std::pair<NodeFlag, NodeBase> kOrder[] = {
      {NodeFlag::kAllocated, NodeBase::kAllocated}, {NodeFlag::kMixed, NodeBase::kMixed},
      {NodeFlag::kDown, NodeBase::kDown},           {NodeFlag::kError, NodeBase::kError},
      {NodeFlag::kFuture, NodeBase::kFuture},       {NodeFlag::kIdle, NodeBase::kIdle},
      {NodeFlag::kExternal, NodeBase::kExternal},
  };
  for (const auto& [flag, base] : kOrder)
    if (Has(flag)) return base;
  return NodeBase::kUnknown;
}

bool NodeState::IsUsable() const {
  if (!HasAny({NodeFlag::kIdle, NodeFlag::kMixed}) || IsDraining()) return false;
  return !HasAny({NodeFlag::kNotResponding, NodeFlag::kInvalidReg, NodeFlag::kDown, NodeFlag::kBlocked,
                  NodeFlag::kPoweredDown, NodeFlag::kPoweringUp, NodeFlag::kPoweringDown, NodeFlag::kPowerDown,
                  NodeFlag::kRebootIssued, NodeFlag::kMaintenance});
}

}  // namespace capstan::slurm
