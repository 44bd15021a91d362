#include "plan/objects/secrets.h"

#include <boost/json.hpp>

#include "base/hash.h"
#include "json/codec.h"
#include "json/schema.h"
#include "json/value.h"
#include "plan/objects/parts.h"
#include "plan/services.h"

namespace capstan::plan {
namespace {

namespace bj = boost::json;
using async::Deadline;
using async::Task;

using Values = std::map<std::string, Secret>;

bj::object Encoded(const Values& values) {
  bj::object data;
  for (const auto& [key, value] : values) data[key] = Base64(value.Reveal());
  return data;
}

class SecretEffect : public Effect {
 public:
  SecretEffect(SecretOrder order, std::shared_ptr<const SecretContent> content)
      : order_(std::move(order)), content_(std::move(content)) {}

  std::string target() const override { return "Secret " + order_.key.ToString(); }
  uint64_t content() const override { return Fnv64(order_.metadata, Fnv64(order_.type, content_->digest())); }
  std::string outdates() const override { return "secret " + order_.key.ToString(); }

 protected:
  // False: there is one of that name.
  Task<Result<bool>> Create(Services& services, const Values& values, Deadline deadline) const {
    CAPSTAN_CO_TRY(bj::value metadata, json::Parse(order_.metadata));
    json::MakeObject(metadata, {})["name"] = order_.key.name;
    json::MakeObject(metadata, {})["namespace"] = order_.key.ns;
    bj::object secret{{"apiVersion", "v1"}, {"kind", "Secret"}, {"type", order_.type}, {"immutable", order_.immutable}};
    secret["metadata"] = std::move(metadata);
    secret["data"] = Encoded(values);
    std::string body = bj::serialize(secret);
    kube::WriteOptions options{.field_manager = services.field_manager};
    const auto created =
        co_await services.client.Create(kube::kSecrets, order_.key, std::move(body), std::move(options), deadline);
    if (created) co_return true;
    if (created.error().code() == Code::kAlreadyExists) co_return false;
    co_return Fail(created.error());
  }

  SecretOrder order_;
  std::shared_ptr<const SecretContent> content_;
};

class CreateSecretEffect final : public SecretEffect {
 public:
  using SecretEffect::SecretEffect;
  std::string_view verb() const override { return "create"; }

  Task<Result<void>> Run(Services& services, Deadline deadline) const override {
    CAPSTAN_CO_TRY(const Values values, co_await content_->Make(services, deadline));
    const auto created = co_await Create(services, values, deadline);
    if (!created) co_return Fail(created.error());
    co_return Result<void>();
  }
};

class WriteSecretEffect final : public SecretEffect {
 public:
  WriteSecretEffect(SecretOrder order, std::string owner_uid, std::shared_ptr<const SecretContent> content)
      : SecretEffect(std::move(order), std::move(content)), owner_uid_(std::move(owner_uid)) {}

  std::string_view verb() const override { return "write"; }

  Task<Result<void>> Run(Services& services, Deadline deadline) const override {
    // Whose it is comes first: what cannot be written is not made either.
    auto present = co_await services.client.Get<SecretObject>(kube::kSecrets, order_.key, {}, deadline);
    if (!present && present.error().code() != Code::kNotFound) co_return Fail(present.error());
    if (present && !IsOurs(*present)) co_return NameConflict({&kube::kSecrets, order_.key});
    CAPSTAN_CO_TRY(const Values values, co_await content_->Make(services, deadline));
    if (present) co_return co_await Patch(services, *present, values, deadline);
    CAPSTAN_CO_TRY(const bool created, co_await Create(services, values, deadline));
    if (created) co_return Result<void>();
    co_return Fail(Code::kConflict, target() + " has just been made by somebody");
  }

 private:
  bool IsOurs(const SecretObject& secret) const {
    return secret.controller_uid() == owner_uid_ && !secret.metadata.deleting();
  }

  Task<Result<void>> Patch(Services& services, const SecretObject& present, const Values& values,
                           Deadline deadline) const {
    CAPSTAN_CO_TRY(bj::value metadata, json::Parse(order_.metadata));
    json::MakeObject(metadata, {})["uid"] = present.metadata.uid;
    json::MakeObject(metadata, {})["resourceVersion"] = std::to_string(present.metadata.resource_version);
    bj::object data = Encoded(values);
    for (const auto& [key, value] : present.data)
      if (!values.contains(key)) data[key] = nullptr;
    std::string patch = bj::serialize(bj::object{{"metadata", std::move(metadata)}, {"data", std::move(data)}});
    kube::WriteOptions options{.field_manager = services.field_manager};
    const auto patched = co_await services.client.Patch(kube::kSecrets, order_.key, kube::PatchType::kMerge,
                                                        std::move(patch), std::move(options), deadline);
    if (!patched) co_return Fail(patched.error());
    co_return Result<void>();
  }

  std::string owner_uid_;
};

class RandomContent final : public SecretContent {
 public:
  RandomContent(std::string data_key, size_t bytes, bool digits)
      : data_key_(std::move(data_key)), bytes_(bytes), digits_(digits) {}
  uint64_t digest() const override { return Fnv64(data_key_, 2 * bytes_ + digits_); }
  Task<Result<Values>> Make(Services& services, Deadline) const override {
    Secret bytes = services.entropy(bytes_);
    Values values;
    values.emplace(data_key_, digits_ ? Secret(Hex(bytes.Reveal())) : std::move(bytes));
    co_return values;
  }

 private:
  std::string data_key_;
  size_t bytes_;
  bool digits_;
};

class TextContent final : public SecretContent {
 public:
  TextContent(std::string data_key, std::vector<SecretPiece> pieces)
      : data_key_(std::move(data_key)), pieces_(std::move(pieces)) {}

  uint64_t digest() const override {
    uint64_t digest = Fnv64(data_key_);
    for (const SecretPiece& piece : pieces_)
      digest = Fnv64(piece.text + "\n" + piece.secret.ToString() + "\n" + piece.data_key, digest);
    return digest;
  }

  Task<Result<Values>> Make(Services& services, Deadline deadline) const override {
    std::string text;
    for (const SecretPiece& piece : pieces_) {
      if (piece.secret.name.empty()) {
        text += piece.text;
        continue;
      }
      CAPSTAN_CO_TRY(const Secret value,
                     co_await ReadSecretKey(services.client, piece.secret, piece.data_key, deadline));
      auto written = piece.write(value.Reveal());
      if (!written) co_return Fail(std::move(written).error().WithContext(piece.field));
      text += *written;
    }
    Values values;
    values.emplace(data_key_, Secret(std::move(text)));
    co_return values;
  }

 private:
  std::string data_key_;
  std::vector<SecretPiece> pieces_;
};

}  // namespace

const json::Schema& SecretObject::Schema() {
  static const json::Schema schema = json::Object<SecretObject>({
      json::Field<&SecretObject::metadata>("metadata"),
      json::Field<&SecretObject::data>("data"),
      json::Field<&SecretObject::immutable>("immutable"),
  });
  return schema;
}

std::optional<Secret> SecretObject::Value(const std::string& key) const {
  const auto found = data.find(key);
  auto bytes = found == data.end() ? std::nullopt : FromBase64(found->second.Reveal());
  if (!bytes || bytes->empty()) return std::nullopt;
  return Secret(*std::move(bytes));
}

std::string SecretObject::controller_uid() const {
  const json::OwnerReference* owner = metadata.ControllerOwner();
  return owner == nullptr ? "" : owner->uid;
}

std::shared_ptr<const Effect> CreateSecret(SecretOrder order, std::shared_ptr<const SecretContent> content) {
  return std::make_shared<CreateSecretEffect>(std::move(order), std::move(content));
}

std::shared_ptr<const Effect> WriteSecret(SecretOrder order, std::string owner_uid,
                                          std::shared_ptr<const SecretContent> content) {
  return std::make_shared<WriteSecretEffect>(std::move(order), std::move(owner_uid), std::move(content));
}

std::shared_ptr<const SecretContent> RandomBytes(std::string data_key, size_t bytes) {
  return std::make_shared<RandomContent>(std::move(data_key), bytes, false);
}

std::shared_ptr<const SecretContent> RandomDigits(std::string data_key, size_t bytes) {
  return std::make_shared<RandomContent>(std::move(data_key), bytes, true);
}

std::shared_ptr<const SecretContent> SecretText(std::string data_key, std::vector<SecretPiece> pieces) {
  return std::make_shared<TextContent>(std::move(data_key), std::move(pieces));
}

Task<Result<Secret>> ReadSecretKey(kube::Client& client, kube::Key secret, std::string data_key, Deadline deadline) {
  CAPSTAN_CO_TRY(const SecretObject read, co_await client.Get<SecretObject>(kube::kSecrets, secret, {}, deadline));
  if (auto value = read.Value(data_key)) co_return *std::move(value);
  co_return Fail(Code::kNotFound, "Secret " + secret.ToString() + " has no usable key " + data_key);
}

}  // namespace capstan::plan
