// A token for a user of Slurm, in a Secret.
#pragma once

#include <memory>
#include <string>

#include "kube/resource.h"
#include "plan/action.h"

namespace capstan::plan {

struct TokenOrder {
  kube::Key secret;       // where the token is put
  std::string data_key;   // under which name
  std::string metadata;   // JSON of its labels, annotations and owner
  kube::Key signing_key;  // the Secret with the cluster's key
  std::string signing_data_key;
  std::string user;  // whom it stands for
  Duration lifetime{0};
};

// Signs a token and creates the Secret for it; one that is there is never touched: it may be in use, and only its owner
// knows whether it is still good. Time and the token's id are the Executor's. The signing key is read at that moment and
// not kept. kNotFound: there is no signing key yet; kInvalid: it cannot sign, or the lifetime is none.
std::shared_ptr<const Effect> IssueToken(TokenOrder order);

}  // namespace capstan::plan
