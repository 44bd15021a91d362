// What Kubernetes lets nobody change in a StatefulSet: its Service, selector, pod management policy and claim templates.
// An apply that differs there is refused as a whole. So they are taken from the StatefulSet that is there, and the user
// is told of what they ask for and do not get.
#pragma once

#include "operator/objects.h"
#include "operator/render/json.h"

namespace capstan::op::render {

// Puts the immutable fields of `present` into `spec`, that of the StatefulSet that is wanted, wherever they differ.
void KeepImmutable(const StatefulSet& present, JsonObject& spec);

// The claim templates of the StatefulSet that is there.
JsonArray PresentClaims(const StatefulSet& present);

// Claim templates without what the API server adds to them, to be compared.
JsonArray Plain(const JsonArray& claims);

}  // namespace capstan::op::render
