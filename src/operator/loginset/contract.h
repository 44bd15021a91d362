// What a LoginSet promises (operator/contract.h).
//
// Safety: of Kubernetes the Deployment and the Service called as it is, the ConfigMap <name>-ssh-config, all with the
// LoginSet as their controller; the Secret <name>-ssh-host-keys, which is created, owned by nobody, and never written to
// again; and its own status. Nothing is deleted.
#pragma once

#include "operator/contract.h"

namespace capstan::op::loginset {

extern const Contract kContract;

}  // namespace capstan::op::loginset
