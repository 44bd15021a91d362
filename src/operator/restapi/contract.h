// What a RestApi promises (operator/contract.h).
//
// Safety:
// - Of Kubernetes: the Deployment and the Service called <name>-restapi, applied with the RestApi as their controller,
//   and the RestApi's own status. Nothing is created otherwise, patched or deleted: what runs keeps running.
// - slurmrestd never gets the key that signs tokens.
#pragma once

#include "operator/contract.h"

namespace capstan::op::restapi {

extern const Contract kContract;

}  // namespace capstan::op::restapi
