#include "operator/nodeset/phase.h"

namespace capstan::op::nodeset {

std::string_view Name(Phase phase) {
  switch (phase) {
    case Phase::kCreating:
      return "Creating";
    case Phase::kRegistering:
      return "Registering";
    case Phase::kReady:
      return "Ready";
    case Phase::kCordoned:
      return "Cordoned";
    case Phase::kDraining:
      return "Draining";
    case Phase::kDrained:
      return "Drained";
    case Phase::kDeleting:
      return "Deleting";
    case Phase::kGone:
      return "gone";
  }
  return "";
}

Phase PhaseOf(const Worker* worker) {
  if (worker == nullptr) return Phase::kGone;
  const bool runs = worker->pod->status.phase == "Running";
  const bool goes = worker->marked();
  switch (worker->stage) {
    case Stage::kLeaving:
    case Stage::kEnded:
      return Phase::kDeleting;
    case Stage::kUnbound:
      return Phase::kCreating;
    case Stage::kUnregistered:
      return goes ? Phase::kDraining : runs ? Phase::kRegistering : Phase::kCreating;
    case Stage::kPoweredDown:
      return Phase::kDrained;
    case Stage::kHeld:
      if (!goes) return Phase::kCordoned;
      return worker->node->state.IsDrained() ? Phase::kDrained : Phase::kDraining;
    case Stage::kDrained:
      return goes ? Phase::kDrained : Phase::kCordoned;
    case Stage::kDraining:
      return goes ? Phase::kDraining : Phase::kCordoned;
    case Stage::kDown:
      if (goes) return Phase::kDraining;
      if (worker->held || !worker->cordon.empty()) return Phase::kCordoned;
      return runs ? Phase::kRegistering : Phase::kCreating;
    case Stage::kUnknown:
    case Stage::kServing:
      break;
  }
  if (goes) return Phase::kDraining;
  if (!worker->cordon.empty()) return Phase::kCordoned;
  if (!runs) return Phase::kCreating;
  return worker->pod->Ready() ? Phase::kReady : Phase::kRegistering;
}

}  // namespace capstan::op::nodeset
