// What a RestApi promises, from the outside: everything its key may ever send, and what done means for the user. Written
// against the API alone; it shares no code with Decide, which the simulator holds to it.
//
// Safety:
// - Of Kubernetes: the Deployment and the Service called <name>-restapi, applied with the RestApi as their controller,
//   and the RestApi's own status. Nothing is created otherwise, patched or deleted: what runs keeps running.
// - slurmrestd never gets the key that signs tokens.
#pragma once

#include <optional>
#include <string>

#include "api/restapi.h"
#include "operator/controller/contract.h"

namespace capstan::op::restapi {

using controller::Call;
using controller::Lookup;

// Why the key of `rest_api` must not send `call`, made while its Controller's tokens are signed with `signing_key`;
// nullopt: it may.
std::optional<std::string> Breach(const api::RestApi& rest_api, const std::string& signing_key, const Call& call);

// Whether everything is as the user wants it; a sentence about the first thing that is not. Given the RestApi as JSON.
std::optional<std::string> Unmatched(const std::string& rest_api, const Lookup& object);

}  // namespace capstan::op::restapi
