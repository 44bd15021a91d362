// What a pod says of itself, for whoever answers for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "operator/objects.h"
#include "plan/plan.h"

namespace capstan::op {

// Why a pod does not run, in words; "" when nothing is wrong with it, or not yet.
std::string PodTrouble(const Pod& pod);

// One of the pod's containers was never made, as the kubelet says, or the pod was never placed: it has never been
// ready. A pod of which nothing is said yet does not count.
bool NeverRan(const Pod& pod);

// Of a pod that is being deleted: when it will have been over its time to end for a minute. A kubelet that is there deletes
// a pod long before, so that its machine does not answer then: zero.
Duration UntilLost(const Pod& pod, Time now);

// What a person does about it.
std::string LostPod(const Pod& pod);

// Adds the writing of one of our annotations to the pod. `value`: without anything that JSON would escape.
void AnnotatePod(plan::Plan& plan, std::string_view verb, const Pod& pod, std::string_view annotation,
                 const std::string& value, std::string reason, std::vector<plan::ActionId> after = {});

}  // namespace capstan::op
