// Tokens that Slurm's auth/jwt accepts: JSON Web Tokens, signed with HMAC-SHA-256 (HS256) over the cluster's
// key.
//
// Whoever holds the key can be anybody in the cluster; whoever holds a token is its user until it expires.
// Both are Secrets. Time and randomness are passed in, so that the same call gives the same token.
#pragma once

#include <string>

#include "base/result.h"
#include "base/secret.h"

namespace capstan::slurm {

// Slurm reads times into 32-bit signed numbers, of which it reserves the last: a later expiry is written as this
// (2038-01-19).
inline constexpr Time kLatestExpiry{std::chrono::seconds(0x7ffffffe)};

struct TokenClaims {
  std::string user;    // "sun": the Slurm user it stands for; "" is written as "nobody"
  std::string issuer;  // "iss": who signed it, for people; not checked by Slurm
  std::string id;      // "jti": unique, so that tokens of one second differ; not checked by Slurm
  Time issued_at{};    // "iat" and "nbf", whole seconds
  Time expires_at{};   // "exp"; no later than kLatestExpiry

  bool operator==(const TokenClaims&) const = default;
};

// The token. kInvalid when the key is empty, or it expires before it is issued.
Result<Secret> SignToken(const TokenClaims& claims, const Secret& key);

// Reads back a token that `key` signed. kUnauthenticated when another key signed it or it was altered,
// kInvalid when it is no HS256 token with these claims. Whether it has expired is for the caller, who knows
// the time, to judge.
Result<TokenClaims> ReadToken(const Secret& token, const Secret& key);

}  // namespace capstan::slurm
