#include "operator/questions.h"

#include "base/hash.h"
#include "json/codec.h"
#include "json/schema.h"
#include "kube/client.h"
#include "plan/services.h"

namespace capstan::op {
namespace {

// The values as they come (base64 in a Secret): only their digest is wanted.
struct Data {
  std::map<std::string, std::string> data;
  std::map<std::string, std::string> binary_data;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<Data>({
        json::Field<&Data::data>("data"),
        json::Field<&Data::binary_data>("binaryData"),
    });
    return schema;
  }
};

template <class Value>
plan::Question::Fetched Digest(const Data& object, bool base64) {
  auto value = std::make_shared<Value>();
  std::string all;
  for (const auto* part : {&object.data, &object.binary_data}) {
    for (const auto& [key, text] : *part) {
      value->keys.push_back(key);
      all += base64 || part == &object.binary_data ? FromBase64(text).value_or(text) : text;
    }
  }
  value->sha256 = Sha256Hex(all);
  uint64_t digest = Fnv64(value->sha256);
  for (const std::string& key : value->keys) digest = Fnv64(key, digest);
  return {std::move(value), digest};
}

template <class Value>
async::Task<Result<std::optional<plan::Question::Fetched>>> FetchDigest(plan::Services& services,
                                                                        kube::Resource resource, kube::Key key,
                                                                        bool base64, async::Deadline deadline) {
  const auto object = co_await services.client.Get<Data>(resource, std::move(key), {}, deadline);
  if (object) co_return std::optional(Digest<Value>(*object, base64));
  if (object.error().code() == Code::kNotFound) co_return std::optional<plan::Question::Fetched>();
  co_return Fail(object.error());
}

}  // namespace

async::Task<Result<std::optional<plan::Question::Fetched>>> SecretDigest::Fetch(plan::Services& services,
                                                                                async::Deadline deadline) const {
  return FetchDigest<Value>(services, kube::kSecrets, key, true, deadline);
}

async::Task<Result<std::optional<plan::Question::Fetched>>> ConfigMapDigest::Fetch(plan::Services& services,
                                                                                   async::Deadline deadline) const {
  return FetchDigest<Value>(services, kube::kConfigMaps, key, false, deadline);
}

}  // namespace capstan::op
