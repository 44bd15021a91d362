#include "operator/nodeset/gate.h"

#include "operator/upgrades.h"

namespace capstan::op::nodeset {
namespace {

// All that its Progressing tells is that slurmctld's pods are not complete, and one of them does its work.
bool OnlyMissesAStandby(const api::Controller& controller, const api::Condition& progressing) {
  const api::Condition* ready = api::FindCondition(controller.status.conditions, api::kReady);
  return progressing.reason == "Starting" && !progressing.message.contains("; ") && ready != nullptr &&
         ready->status == "True" && api::WithDefaults(controller.spec).Replicas() > 1;
}

}  // namespace

std::string WhyNoneIsRenewed(const Look& look) {
  if (!look.slurm.heard())
    return "Slurm must say which of them run jobs, and is not heard (" + look.slurm.error() + ")";
  const api::Controller& controller = *look.controller;
  const auto slurmctld = SlurmctldBefore(look.world, controller);
  if (slurmctld && slurmctld->set != nullptr) {
    if (const std::string why = WhyBehind(look.world, *slurmctld); !why.empty())
      return slurmctld->of + " comes first, whose slurmctld is not the new one yet: " + why;
  }
  const api::Condition* progressing = api::FindCondition(controller.status.conditions, api::kProgressing);
  if (progressing != nullptr && progressing->status == "True" && !OnlyMissesAStandby(controller, *progressing))
    return "its Controller comes first, which is not settled (" + progressing->message + ")";
  return "";
}

}  // namespace capstan::op::nodeset
