// Tokens for users of Slurm, as content of a Secret.
#pragma once

#include <memory>
#include <string>

#include "kube/resource.h"
#include "plan/objects/secrets.h"

namespace capstan::plan {

// How far slurmctld's clock may be behind ours: tokens are valid from that much ago.
inline constexpr Duration kTokenClockSkew = 10s;

struct TokenOrder {
  std::string data_key;   // under which name the Secret holds it
  kube::Key signing_key;  // the Secret with the cluster's key
  std::string signing_data_key;
  std::string user;  // whom it stands for
  Duration lifetime{0};
};

// A token that is signed when it is written: time and id are the Executor's, the signing key is read then and not kept.
// kNotFound: there is no signing key yet; kInvalid: it cannot sign, or the lifetime is none.
std::shared_ptr<const SecretContent> SignedToken(TokenOrder order);

}  // namespace capstan::plan
