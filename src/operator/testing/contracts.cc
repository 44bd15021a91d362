#include "operator/testing/contracts.h"

#include <algorithm>
#include <array>

#include "operator/accounting/contract.h"
#include "operator/controller/contract.h"
#include "operator/loginset/contract.h"
#include "operator/nodeset/contract.h"
#include "operator/restapi/contract.h"
#include "operator/sharedroot/contract.h"
#include "operator/slurmcluster/contract.h"
#include "operator/token/contract.h"

namespace capstan::op::test {
namespace {

constexpr auto kContracts = std::to_array<const Contract*>({
    &controller::kContract,
    &restapi::kContract,
    &nodeset::kContract,
    &accounting::kContract,
    &loginset::kContract,
    &token::kContract,
    &slurmcluster::kContract,
    &sharedroot::kContract,
});

}  // namespace

std::span<const Contract* const> Contracts() { return kContracts; }

const Contract* ContractOf(const kube::Resource& resource) {
  const auto found =
      std::ranges::find_if(kContracts, [&](const Contract* contract) { return *contract->resource == resource; });
  return found == kContracts.end() ? nullptr : *found;
}

}  // namespace capstan::op::test
