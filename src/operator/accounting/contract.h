// What an Accounting promises (operator/contract.h).
//
// Safety: of Kubernetes the StatefulSet, the Service and the Secret called <name>-accounting, with the Accounting as their
// controller, those called <name>-accounting-db for trials, and its own status. Nothing is deleted but slurmdbd's pod, as it was
// seen, and no other Secret is written to. An external one has none of them.
#pragma once

#include "operator/contract.h"

namespace capstan::op::accounting {

extern const Contract kContract;

}  // namespace capstan::op::accounting
