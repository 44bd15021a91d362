#include "operator/testing/contracts.h"

#include <algorithm>
#include <array>

#include "api/accounting.h"
#include "api/loginset.h"
#include "api/token.h"
#include "operator/controller/contract.h"
#include "operator/nodeset/contract.h"
#include "operator/restapi/contract.h"

namespace capstan::op::test {
namespace {

constexpr Contract kAccounting{.resource = &api::Accounting::kResource, .breach = &OnlyItsStatus};
constexpr Contract kLoginSet{.resource = &api::LoginSet::kResource, .breach = &OnlyItsStatus};
constexpr Contract kToken{.resource = &api::Token::kResource, .breach = &OnlyItsStatus};

constexpr auto kContracts = std::to_array<const Contract*>({
    &controller::kContract,
    &restapi::kContract,
    &nodeset::kContract,
    &kAccounting,
    &kLoginSet,
    &kToken,
});

}  // namespace

std::span<const Contract* const> Contracts() { return kContracts; }

const Contract* ContractOf(const kube::Resource& resource) {
  const auto found =
      std::ranges::find_if(kContracts, [&](const Contract* contract) { return *contract->resource == resource; });
  return found == kContracts.end() ? nullptr : *found;
}

}  // namespace capstan::op::test
