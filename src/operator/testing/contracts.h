// The contract of each kind: a line for each row of Kinds().
#pragma once

#include <span>

#include "operator/contract.h"

namespace capstan::op::test {

std::span<const Contract* const> Contracts();

// nullptr: that kind has none.
const Contract* ContractOf(const kube::Resource& resource);

}  // namespace capstan::op::test
