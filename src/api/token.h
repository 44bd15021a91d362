// Token: a JSON Web Token for one Slurm user, kept fresh in a Secret.
#pragma once

#include "api/common.h"
#include "api/conditions.h"
#include "kube/resource.h"

namespace capstan::api {

struct TokenSpec {
  std::optional<SecretKeySelector> jwt_hs256_key_ref;
  std::optional<SecretKeySelector> jwt_key_ref;
  std::string username;
  std::optional<std::string> lifetime;  // Go duration
  std::optional<bool> refresh;
  std::optional<SecretKeySelector> secret_ref;

  bool operator==(const TokenSpec&) const = default;
  static const json::Schema& Schema();
};

struct TokenStatus {
  std::optional<Time> issued_at;
  Conditions conditions;

  bool operator==(const TokenStatus&) const = default;
  static const json::Schema& Schema();
};

struct Token {
  static constexpr kube::Resource kResource{kGroup, kVersion, "tokens", "Token", true};

  json::ObjectMeta metadata;
  TokenSpec spec;
  TokenStatus status;

  bool operator==(const Token&) const = default;
  static const json::Schema& Schema();
};

}  // namespace capstan::api
