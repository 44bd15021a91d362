// A Token: a JSON Web Token of one Slurm user in a Secret that the Token owns.
//
// | the Secret                                    | what is done                                             |
// |-----------------------------------------------|----------------------------------------------------------|
// | is missing                                    | it is written                                            |
// | belongs to somebody else                      | nothing; a condition says whose name it takes            |
// | belongs to the signing key's Secret           | it is taken over: a former operator made it              |
// | holds no token that the key signed, or one of | it is written anew, unless spec.refresh is false         |
// | another user or lifetime                      |                                                          |
// | holds one in the last fifth of its lifetime   | the same; until it expires the former one is good as well |
//
// With spec.refresh false the token is issued once: a condition says when it ends.
#pragma once

#include "kube/resource.h"
#include "plan/plan.h"
#include "plan/world.h"

namespace capstan::op::token {

plan::Plan Decide(const plan::World& world, const kube::Key& key);

}  // namespace capstan::op::token
