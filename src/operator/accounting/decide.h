// An Accounting: slurmdbd in front of a database that somebody else runs, or one outside of Kubernetes.
//
// Its configuration lies in a Secret, since the database's password is in it. The pod follows once that has been written:
//
// | slurmdbd.conf in the Secret                       | what is done                                          |
// |---------------------------------------------------|-------------------------------------------------------|
// | is not known yet, or the password is not          | what runs stays as it is                              |
// | is missing, or made from something else           | it is written; the StatefulSet stays until it has been |
// | belongs to somebody else                          | nothing; a condition says whose name it takes         |
// | is made from what is wanted                       | the StatefulSet is applied, with a digest of it       |
#pragma once

#include "kube/resource.h"
#include "plan/plan.h"
#include "plan/world.h"

namespace capstan::op::accounting {

plan::Plan Decide(const plan::World& world, const kube::Key& key);

}  // namespace capstan::op::accounting
