// Signatures with RSA keys, as JSON Web Tokens have them (RS256).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/secret.h"

namespace capstan {

// The signature of `bytes` by RSA with SHA-256 (PKCS #1 v1.5). `pem`: a private key without a passphrase. kInvalid: it is none, or
// of less than 2048 bits; messages do not quote it.
Result<std::string> SignRsaSha256(const Secret& pem, std::string_view bytes);

// The public half of such a key: modulus and exponent, big-endian, without leading zeros.
struct RsaPublicKey {
  std::string modulus, exponent;
};
Result<RsaPublicKey> RsaPublicKeyOf(const Secret& pem);

}  // namespace capstan
