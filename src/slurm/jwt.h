// Tokens that Slurm's auth/jwt accepts: JSON Web Tokens, signed with HMAC-SHA-256 (HS256) over the cluster's
// key (AuthAltParameters=jwt_key=...), or with an RSA key (RS256) whose public half is in a JWKS file (jwks=...).
//
// Whoever holds the key can be anybody in the cluster; whoever holds a token is its user until it expires.
// Both are Secrets. Time and randomness are passed in, so that the same call gives the same token.
#pragma once

#include <span>
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

// A key of which slurmctld finds the public half by `id` ("kid") in its JWKS file.
struct RsaKey {
  std::string id;
  Secret pem;  // the private key, PEM without a passphrase
};

// As above, by RS256. kInvalid also when the key has no id, or is no RSA key of 2048 bits or more.
Result<Secret> SignToken(const TokenClaims& claims, const RsaKey& key);

// The JWKS file that makes slurmctld take tokens of these keys. It holds no secret. kInvalid: as of SignToken, or two keys have
// one id.
Result<std::string> Jwks(std::span<const RsaKey> keys);

// Reads back a token that `key` signed. kUnauthenticated when another key signed it or it was altered,
// kInvalid when it is no HS256 token with these claims. Whether it has expired is for the caller, who knows
// the time, to judge.
Result<TokenClaims> ReadToken(const Secret& token, const Secret& key);

}  // namespace capstan::slurm
