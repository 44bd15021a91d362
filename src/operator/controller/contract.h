// What a Controller promises (operator/contract.h).
//
// Safety:
// - Nothing outside the Controller's namespace is written, and nothing but the names below.
// - A key is created only when the Controller asks for it, and never changed or deleted.
// - Of what runs, only a slurmctld pod is deleted, in the exact version that was seen; never a claim or a Secret.
// - A configuration is never taken away while its slurmctld is wanted, and never published without its ClusterName.
#pragma once

#include "operator/contract.h"

namespace capstan::op::controller {

extern const Contract kContract;

}  // namespace capstan::op::controller
