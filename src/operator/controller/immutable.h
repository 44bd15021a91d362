// What a Controller asks of its StatefulSet and does not get, since Kubernetes lets nobody change it (render/immutable.h).
#pragma once

#include <string>

#include "api/controller.h"
#include "operator/objects.h"

namespace capstan::op::controller {

// How the state's volume that the Controller asks for differs from that of the StatefulSet that is there.
struct ClaimChange {
  std::string what;           // in words; "" when it does not
  bool needs_volume = false;  // it asks for a claim where there is none: with this StatefulSet there would be no volume
};
ClaimChange ChangeOfClaim(const api::ControllerSpec& spec, const StatefulSet& present);

// The command that has the StatefulSet made anew and leaves its pods alone.
std::string MadeAnew(const api::Controller& controller);

}  // namespace capstan::op::controller
