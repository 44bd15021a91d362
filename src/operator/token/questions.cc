#include "operator/token/questions.h"

#include "base/hash.h"
#include "base/secret.h"
#include "kube/client.h"
#include "plan/objects/secrets.h"
#include "plan/services.h"

namespace capstan::op::token {
namespace {

using Fetched = plan::Question::Fetched;

uint64_t DigestOf(const IssuedToken::Value& value) {
  uint64_t digest = Fnv64(value.uid + " " + value.controller_uid + " " + value.key_uid + " " + value.invalid,
                          value.key_bytes * 2 + value.immutable);
  if (value.claims) {
    digest = Fnv64(value.claims->user + " " + value.claims->id, digest);
    digest = Fnv64(std::to_string(UnixSeconds(value.claims->issued_at)), digest);
    digest = Fnv64(std::to_string(UnixSeconds(value.claims->expires_at)), digest);
  }
  return digest;
}

}  // namespace

async::Task<Result<std::optional<Fetched>>> IssuedToken::Fetch(plan::Services& services,
                                                               async::Deadline deadline) const {
  const auto signing = co_await services.client.Get<plan::SecretObject>(kube::kSecrets, signing_key, {}, deadline);
  if (!signing && signing.error().code() != Code::kNotFound) co_return Fail(signing.error());
  const auto object = co_await services.client.Get<plan::SecretObject>(kube::kSecrets, secret, {}, deadline);
  if (!object && object.error().code() == Code::kNotFound) co_return std::optional<Fetched>();
  if (!object) co_return Fail(object.error());
  auto value = std::make_shared<Value>();
  value->uid = object->metadata.uid;
  value->immutable = object->immutable;
  value->controller_uid = object->controller_uid();
  const std::optional<Secret> key = signing ? signing->Value(signing_data_key) : std::nullopt;
  const std::optional<Secret> token = object->Value(data_key);
  if (signing) value->key_uid = signing->metadata.uid;
  if (key) value->key_bytes = key->Reveal().size();
  if (!token) {
    value->invalid = "there is nothing under \"" + data_key + "\"";
  } else if (!key) {
    value->invalid = "the key that signs it cannot be had";
  } else if (auto claims = slurm::ReadToken(*token, *key)) {
    value->claims = *std::move(claims);
  } else {
    value->invalid = claims.error().message();
  }
  const uint64_t digest = DigestOf(*value);
  co_return Fetched{std::move(value), digest};
}

}  // namespace capstan::op::token
