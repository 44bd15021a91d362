#include "slurm/jwt.h"

#include <algorithm>
#include <set>

#include "base/hash.h"
#include "base/rsa.h"
#include "base/text.h"
#include "json/codec.h"

namespace capstan::slurm {
namespace {

constexpr auto kNoId = "the RSA key that signs Slurm tokens has no id";
constexpr std::string_view kHeader = R"({"alg":"HS256","typ":"JWT"})";

int64_t Clamped(Time time) { return std::clamp<int64_t>(UnixSeconds(time), 0, UnixSeconds(kLatestExpiry)); }

std::string Payload(const TokenClaims& claims) {
  const std::string issued = std::to_string(Clamped(claims.issued_at));
  return "{\"iss\":" + JsonQuoted(claims.issuer) + ",\"iat\":" + issued + ",\"nbf\":" + issued +
         ",\"exp\":" + std::to_string(Clamped(claims.expires_at)) + ",\"jti\":" + JsonQuoted(claims.id) +
         ",\"sun\":" + JsonQuoted(claims.user.empty() ? "nobody" : claims.user) + "}";
}

std::optional<std::string> FromBase64Url(std::string_view text) {
  std::string standard(text);
  std::ranges::replace(standard, '-', '+');
  std::ranges::replace(standard, '_', '/');
  standard.append((4 - standard.size() % 4) % 4, '=');
  return FromBase64(standard);
}

struct Header {
  std::string alg;
  static const json::Schema& Schema();
};

const json::Schema& Header::Schema() {
  static const json::Schema schema = json::Object<Header>({json::Field<&Header::alg>("alg")});
  return schema;
}

struct Claims {
  std::string iss, jti, sun;
  std::optional<int64_t> iat, exp;
  static const json::Schema& Schema();
};

const json::Schema& Claims::Schema() {
  static const json::Schema schema = json::Object<Claims>({
      json::Field<&Claims::iss>("iss"),
      json::Field<&Claims::jti>("jti"),
      json::Field<&Claims::sun>("sun"),
      json::Field<&Claims::iat>("iat"),
      json::Field<&Claims::exp>("exp"),
  });
  return schema;
}

// Errors never quote the token.
std::unexpected<Error> NotAToken(std::string_view why) {
  return Fail(Code::kInvalid, "not a Slurm token: " + std::string(why));
}

// What is signed.
Result<std::string> Unsigned(std::string_view header, const TokenClaims& claims) {
  if (Clamped(claims.expires_at) <= Clamped(claims.issued_at))
    return Fail(Code::kInvalid,
                "a token for Slurm user " + JsonQuoted(claims.user) + " would expire before it is issued");
  return Base64Url(header) + "." + Base64Url(Payload(claims));
}

}  // namespace

Result<Secret> SignToken(const TokenClaims& claims, const Secret& key) {
  if (key.empty()) return Fail(Code::kInvalid, "the key that signs Slurm tokens is empty");
  CAPSTAN_TRY(std::string token, Unsigned(kHeader, claims));
  token += "." + Base64Url(HmacSha256(key.Reveal(), token));
  return Secret(std::move(token));
}

Result<Secret> SignToken(const TokenClaims& claims, const RsaKey& key) {
  if (key.id.empty()) return Fail(Code::kInvalid, kNoId);
  CAPSTAN_TRY(std::string token, Unsigned(R"({"alg":"RS256","typ":"JWT","kid":)" + JsonQuoted(key.id) + "}", claims));
  CAPSTAN_TRY(const std::string signature, SignRsaSha256(key.pem, token));
  token += "." + Base64Url(signature);
  return Secret(std::move(token));
}

Result<std::string> Jwks(std::span<const RsaKey> keys) {
  std::string all;
  std::set<std::string_view> ids;
  for (const RsaKey& key : keys) {
    if (key.id.empty()) return Fail(Code::kInvalid, kNoId);
    if (!ids.insert(key.id).second) return Fail(Code::kInvalid, "two RSA keys have the id " + JsonQuoted(key.id));
    CAPSTAN_TRY(const RsaPublicKey half, RsaPublicKeyOf(key.pem));
    all += (all.empty() ? "" : ",") + (R"({"alg":"RS256","kty":"RSA","use":"sig","kid":)" + JsonQuoted(key.id)) +
           R"(,"e":")" + Base64Url(half.exponent) + R"(","n":")" + Base64Url(half.modulus) + "\"}";
  }
  return "{\"keys\":[" + all + "]}";
}

Result<TokenClaims> ReadToken(const Secret& token, const Secret& key) {
  const auto parts = Split(token.Reveal(), '.');
  if (parts.size() != 3) return NotAToken("it does not have three parts");
  const std::string_view signed_part = token.Reveal().substr(0, parts[0].size() + 1 + parts[1].size());
  const auto header_text = FromBase64Url(parts[0]), claims_text = FromBase64Url(parts[1]);
  if (!header_text || !claims_text) return NotAToken("a part is not base64url");
  const auto header = json::Decode<Header>(*header_text);
  if (!header || header->alg != "HS256") return NotAToken("its algorithm is not HS256");
  if (Secret(Base64Url(HmacSha256(key.Reveal(), signed_part))) != Secret(std::string(parts[2])))
    return Fail(Code::kUnauthenticated, "the Slurm token was not signed with this key");
  const auto claims = json::Decode<Claims>(*claims_text);
  if (!claims || !claims->iat || !claims->exp || claims->sun.empty())
    return NotAToken("it lacks one of sun, iat and exp");
  if (*claims->iat < 0 || *claims->exp < 0) return NotAToken("it is from before 1970");
  return TokenClaims{.user = claims->sun,
                     .issuer = claims->iss,
                     .id = claims->jti,
                     .issued_at = FromUnixSeconds(*claims->iat),
                     .expires_at = FromUnixSeconds(*claims->exp)};
}

}  // namespace capstan::slurm
