// The kinds that this version accepts and does not manage yet. They get conditions that say so, and nothing else: no
// object is made, and none of the same name is touched.
#pragma once

#include "kube/resource.h"
#include "plan/plan.h"
#include "plan/world.h"

namespace capstan::op::later {

plan::Plan DecideAccounting(const plan::World& world, const kube::Key& key);
plan::Plan DecideLoginSet(const plan::World& world, const kube::Key& key);
plan::Plan DecideToken(const plan::World& world, const kube::Key& key);

}  // namespace capstan::op::later
