// What Kubernetes lets nobody change in a StatefulSet: its Service, selector, pod management policy and claim templates.
// An apply that differs there is refused as a whole. So they are taken from the StatefulSet that is there, and the user
// is told of what they ask for and do not get.
#pragma once

#include <string>

#include "api/controller.h"
#include "operator/objects.h"
#include "operator/render/json.h"

namespace capstan::op::controller {

// Puts the immutable fields of `present` into `spec`, that of the StatefulSet that is wanted, wherever they differ.
void KeepImmutable(const StatefulSet& present, render::JsonObject& spec);

// How the state's volume that the Controller asks for differs from that of the StatefulSet that is there.
struct ClaimChange {
  std::string what;           // in words; "" when it does not
  bool needs_volume = false;  // it asks for a claim where there is none: with this StatefulSet there would be no volume
};
ClaimChange ChangeOfClaim(const api::ControllerSpec& spec, const StatefulSet& present);

// The command that has the StatefulSet made anew and leaves its pods alone.
std::string MadeAnew(const api::Controller& controller);

}  // namespace capstan::op::controller
