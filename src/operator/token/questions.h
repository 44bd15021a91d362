// What only a Token's Decide asks.
#pragma once

#include <optional>
#include <string>

#include "kube/resource.h"
#include "plan/question.h"
#include "slurm/jwt.h"

namespace capstan::op::token {

// The token in a Secret, and whether the cluster's key signed it. Neither the token nor the key is in the answer. Absent:
// there is no Secret.
struct IssuedToken final : plan::Question {
  struct Value {
    std::string uid, controller_uid;  // of the Secret; "" when nothing controls it
    std::string key_uid;              // of the Secret with the signing key; "" when there is none
    bool immutable = false;
    size_t key_bytes = 0;  // of the signing key; 0: it cannot be had
    std::optional<slurm::TokenClaims> claims;
    std::string invalid;  // why there are no claims
  };
  IssuedToken(kube::Key secret, std::string data_key, kube::Key signing_key, std::string signing_data_key)
      : secret(std::move(secret)),
        data_key(std::move(data_key)),
        signing_key(std::move(signing_key)),
        signing_data_key(std::move(signing_data_key)) {}
  std::string id() const override {
    return "secret " + secret.ToString() + " " + data_key + " signed with " + signing_key.ToString() + " " +
           signing_data_key;
  }
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  kube::Key secret;
  std::string data_key;
  kube::Key signing_key;
  std::string signing_data_key;
};

}  // namespace capstan::op::token
