#include "operator/token/questions.h"

#include <map>

#include "base/hash.h"
#include "base/secret.h"
#include "json/codec.h"
#include "json/object_meta.h"
#include "json/schema.h"
#include "kube/client.h"
#include "plan/services.h"

namespace capstan::op::token {
namespace {

using Fetched = plan::Question::Fetched;

struct SecretObject {
  json::ObjectMeta metadata;
  std::map<std::string, Secret> data;
  bool immutable = false;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<SecretObject>({
        json::Field<&SecretObject::metadata>("metadata"),
        json::Field<&SecretObject::data>("data"),
        json::Field<&SecretObject::immutable>("immutable"),
    });
    return schema;
  }

  std::optional<Secret> Value(const std::string& key) const {
    const auto found = data.find(key);
    auto bytes = found == data.end() ? std::nullopt : FromBase64(found->second.Reveal());
    if (!bytes || bytes->empty()) return std::nullopt;
    return Secret(*std::move(bytes));
  }
};

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
  const auto signing = co_await services.client.Get<SecretObject>(kube::kSecrets, signing_key, {}, deadline);
  if (!signing && signing.error().code() != Code::kNotFound) co_return Fail(signing.error());
  const auto object = co_await services.client.Get<SecretObject>(kube::kSecrets, secret, {}, deadline);
  if (!object && object.error().code() == Code::kNotFound) co_return std::optional<Fetched>();
  if (!object) co_return Fail(object.error());
  auto value = std::make_shared<Value>();
  value->uid = object->metadata.uid;
  value->immutable = object->immutable;
  if (const json::OwnerReference* owner = object->metadata.ControllerOwner()) value->controller_uid = owner->uid;
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
