// What a Token promises (operator/contract.h).
//
// Safety: of Kubernetes one Secret, with the Token as its controller, and the Token's own status; never the Secret with
// the key that signs. A former operator's Secret is given to the Token and keeps its values.
#pragma once

#include "operator/contract.h"

namespace capstan::op::token {

extern const Contract kContract;

}  // namespace capstan::op::token
