// What the operator's Decides ask for instead of watching it (plan/question.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kube/resource.h"
#include "plan/question.h"

namespace capstan::op {

// How old an answer about a user's Secret or ConfigMap may be.
inline constexpr Duration kReferenceAge = 60s;

// What a pod that mounts a Secret depends on: the SHA-256 of its values in the order of their keys. Never the values.
struct SecretDigest final : plan::Question {
  struct Value {
    std::string sha256;             // hex
    std::vector<std::string> keys;  // sorted
  };
  explicit SecretDigest(kube::Key key) : key(std::move(key)) {}
  std::string id() const override { return "secret " + key.ToString(); }
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  kube::Key key;
};

// The same of a ConfigMap of the user's.
struct ConfigMapDigest final : plan::Question {
  struct Value {
    std::string sha256;
    std::vector<std::string> keys;
  };
  explicit ConfigMapDigest(kube::Key key) : key(std::move(key)) {}
  std::string id() const override { return "configmap " + key.ToString(); }
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  kube::Key key;
};

}  // namespace capstan::op
