// What a pod says of itself, for whoever answers for it.
#pragma once

#include <string>

#include "operator/objects.h"

namespace capstan::op {

// Why a pod does not run, in words; "" when nothing is wrong with it, or not yet.
std::string PodTrouble(const Pod& pod);

// One of the pod's containers was never made, as the kubelet says, or the pod was never placed: it has never been
// ready. A pod of which nothing is said yet does not count.
bool NeverRan(const Pod& pod);

}  // namespace capstan::op
