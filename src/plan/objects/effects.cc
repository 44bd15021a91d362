#include "plan/objects/effects.h"

#include <boost/json.hpp>

#include "base/hash.h"
#include "base/text.h"
#include "json/codec.h"
#include "json/value.h"
#include "kube/client.h"
#include "plan/objects/parts.h"

namespace capstan::plan {
namespace {

namespace bj = boost::json;
using async::Deadline;
using async::Task;

// --- Create ----------------------------------------------------------------------------------------------------------

class CreateEffect final : public Effect {
 public:
  CreateEffect(ObjectRef ref, std::string body, std::string owner_uid)
      : ref_(std::move(ref)), body_(std::move(body)), owner_uid_(std::move(owner_uid)) {}

  std::string_view verb() const override { return "create"; }
  std::string target() const override { return ref_.ToString(); }
  uint64_t content() const override { return Fnv64(body_, Fnv64(owner_uid_)); }

  Task<Result<void>> Run(Services& services, Deadline deadline) const override {
    std::string body = body_;
    kube::WriteOptions options{.field_manager = services.field_manager};
    const auto created =
        co_await services.client.Create(*ref_.resource, ref_.key, std::move(body), std::move(options), deadline);
    if (created) {
      Remember(services, ref_, *created);
      co_return Result<void>();
    }
    if (created.error().code() != Code::kAlreadyExists) co_return Fail(created.error());
    if (owner_uid_.empty()) co_return Result<void>();
    CAPSTAN_CO_TRY(const std::string present, co_await services.client.Get(*ref_.resource, ref_.key, {}, deadline));
    CAPSTAN_CO_TRY(const AnyObject object, json::Decode<AnyObject>(present));
    const json::OwnerReference* controller = object.metadata.ControllerOwner();
    if (controller == nullptr || controller->uid != owner_uid_) co_return NameConflict(ref_);
    Remember(services, ref_, present);
    if (object.metadata.deleting()) co_return Fail(Code::kConflict, ref_.ToString() + " is still terminating");
    co_return Result<void>();
  }

 private:
  ObjectRef ref_;
  std::string body_;
  std::string owner_uid_;
};

// --- MergePatch ------------------------------------------------------------------------------------------------------

class MergePatchEffect final : public Effect {
 public:
  MergePatchEffect(std::string_view verb, ObjectRef ref, std::string uid, std::string patch)
      : verb_(verb), ref_(std::move(ref)), uid_(std::move(uid)), patch_(std::move(patch)) {}

  std::string_view verb() const override { return verb_; }
  std::string target() const override { return ref_.ToString(); }
  uint64_t content() const override { return Fnv64(patch_, Fnv64(uid_)); }
  std::string outdates() const override {  // no store shows Secrets
    return ref_.resource == &kube::kSecrets ? "secret " + ref_.key.ToString() : "";
  }
  uint64_t TargetDigest(const Services& services) const override { return MetadataDigest(services, ref_); }

  Task<Result<void>> Run(Services& services, Deadline deadline) const override {
    CAPSTAN_CO_TRY(bj::value patch, json::Parse(patch_));
    json::MakeObject(patch, {"metadata"})["uid"] = uid_;
    std::string text = bj::serialize(patch);
    kube::WriteOptions options{.field_manager = services.field_manager};
    CAPSTAN_CO_TRY(const std::string answer,
                   co_await services.client.Patch(*ref_.resource, ref_.key, kube::PatchType::kMerge, std::move(text),
                                                  std::move(options), deadline));
    Remember(services, ref_, answer);
    co_return Result<void>();
  }

 private:
  std::string verb_;
  ObjectRef ref_;
  std::string uid_;
  std::string patch_;
};

// --- PatchTested -----------------------------------------------------------------------------------------------------

class PatchTestedEffect final : public Effect {
 public:
  PatchTestedEffect(std::string_view verb, ObjectRef ref, std::string uid, const json::JsonPatch& patch)
      : verb_(verb), ref_(std::move(ref)), text_(WithUid(uid, patch)) {}

  std::string_view verb() const override { return verb_; }
  std::string target() const override { return ref_.ToString(); }
  uint64_t content() const override { return Fnv64(text_); }
  uint64_t TargetDigest(const Services& services) const override { return MetadataDigest(services, ref_); }

  Task<Result<void>> Run(Services& services, Deadline deadline) const override {
    std::string text = text_;
    kube::WriteOptions options{.field_manager = services.field_manager};
    const auto patched = co_await services.client.Patch(*ref_.resource, ref_.key, kube::PatchType::kJson,
                                                        std::move(text), std::move(options), deadline);
    if (!patched) co_return Fail(AsConflict(patched.error()));
    Remember(services, ref_, *patched);
    co_return Result<void>();
  }

 private:
  // Of a failed test the server says no more than this; what it finds wrong with the object that would be, it names.
  static Error AsConflict(const Error& error) {
    const bool test =
        error.code() == Code::kInvalid && error.message().find("due to an error in our request") != std::string::npos;
    return test ? Error(Code::kConflict, error.message()) : error;
  }
  static std::string WithUid(const std::string& uid, const json::JsonPatch& patch) {
    json::JsonPatch tested;
    tested.Test("/metadata/uid", JsonQuoted(uid));
    std::string text = tested.text();
    if (!patch.empty()) text.replace(text.size() - 1, 1, "," + patch.text().substr(1));
    return text;
  }

  std::string verb_;
  ObjectRef ref_;
  std::string text_;
};

// --- Delete ----------------------------------------------------------------------------------------------------------

class DeleteEffect final : public Effect {
 public:
  DeleteEffect(ObjectRef ref, std::string uid, std::string resource_version)
      : ref_(std::move(ref)), uid_(std::move(uid)), resource_version_(std::move(resource_version)) {}

  std::string_view verb() const override { return "delete"; }
  std::string target() const override { return ref_.ToString(); }
  uint64_t content() const override { return Fnv64(resource_version_, Fnv64(uid_)); }
  bool destructive() const override { return true; }
  uint64_t TargetDigest(const Services& services) const override { return MetadataDigest(services, ref_); }

  Task<Result<void>> Run(Services& services, Deadline deadline) const override {
    kube::DeleteOptions options{
        .uid = uid_, .resource_version = resource_version_, .propagation = kube::Propagation::kBackground};
    const auto deleted = co_await services.client.Delete(*ref_.resource, ref_.key, std::move(options), deadline);
    if (!deleted) co_return co_await Settled(services, deleted.error(), deadline);
    const auto object = json::Decode<AnyObject>(*deleted);
    if (object && object->metadata.uid == uid_ && object->metadata.deleting())
      Remember(services, ref_, *deleted);
    else
      Gone(services);
    co_return Result<void>();
  }

 private:
  void Gone(Services& services) const {
    kube::AnyStore* store = services.stores.Find(*ref_.resource);
    if (store != nullptr) store->Deleted(ref_.key, uid_, services.loop.Now());
  }

  // A refused delete is a success when the object of this uid is not there any more.
  Task<Result<void>> Settled(Services& services, Error error, Deadline deadline) const {
    if (error.code() != Code::kNotFound && error.code() != Code::kConflict) co_return Fail(std::move(error));
    const auto present = co_await services.client.Get<AnyObject>(*ref_.resource, ref_.key, {}, deadline);
    const bool gone = present ? present->metadata.uid != uid_ : present.error().code() == Code::kNotFound;
    if (!gone) co_return Fail(std::move(error));
    Gone(services);
    co_return Result<void>();
  }

  ObjectRef ref_;
  std::string uid_;
  std::string resource_version_;
};

// What the watch of a store of metadata would have sent.
struct RawMetadata {
  json::Raw metadata;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<RawMetadata>({json::Field<&RawMetadata::metadata>("metadata")});
    return schema;
  }
};

}  // namespace

const json::Schema& AnyObject::Schema() {
  static const json::Schema schema = json::Object<AnyObject>({json::Field<&AnyObject::metadata>("metadata")});
  return schema;
}

const json::ObjectMeta* Seen(const Services& services, const ObjectRef& ref) {
  const kube::AnyStore* store = services.stores.Find(*ref.resource);
  return store == nullptr ? nullptr : store->MetaOf(ref.key);
}

uint64_t MetadataDigest(const Services& services, const ObjectRef& ref) {
  const json::ObjectMeta* meta = Seen(services, ref);
  if (meta == nullptr) return 0;
  uint64_t digest = Fnv64(meta->uid, uint64_t(meta->generation));
  for (const json::ManagedField& entry : meta->managed_fields) {
    if (entry.subresource.empty()) digest = Fnv64(entry.manager, digest ^ entry.fields.value);
  }
  return digest;
}

bool Remember(Services& services, const ObjectRef& ref, std::string_view answer) {
  const Stores::Entry* entry = services.stores.FindEntry(*ref.resource);
  if (entry == nullptr) return false;
  std::string metadata;
  if (entry->watching.metadata_only) {
    const auto object = json::Decode<RawMetadata>(answer);
    if (!object) return false;
    answer = metadata = R"({"metadata":)" + object->metadata.text + "}";
  }
  return entry->store->Answered(answer, services.loop.Now()).value_or(false);
}

std::unexpected<Error> NameConflict(const ObjectRef& ref) {
  return Fail(Code::kAlreadyExists, "NameConflict: " + ref.ToString() +
                                        " exists and belongs to something else; rename or remove one of the two");
}

std::shared_ptr<const Effect> Create(ObjectRef ref, std::string body, std::string owner_uid) {
  return std::make_shared<CreateEffect>(std::move(ref), std::move(body), std::move(owner_uid));
}

std::shared_ptr<const Effect> MergePatch(std::string_view verb, ObjectRef ref, std::string uid, std::string patch) {
  return std::make_shared<MergePatchEffect>(verb, std::move(ref), std::move(uid), std::move(patch));
}

std::shared_ptr<const Effect> PatchTested(std::string_view verb, ObjectRef ref, std::string uid,
                                          json::JsonPatch patch) {
  return std::make_shared<PatchTestedEffect>(verb, std::move(ref), std::move(uid), patch);
}

Action Delete(ObjectRef ref, std::string uid, Proven proven, std::string reason) {
  return {.effect = std::make_shared<DeleteEffect>(std::move(ref), std::move(uid), ""),
          .reason = std::move(reason),
          .guards = proven.guards(),
          .after = {},
          .event = {}};
}

Action DeleteUnchanged(ObjectRef ref, std::string uid, uint64_t resource_version, std::string reason) {
  return {.effect = std::make_shared<DeleteEffect>(std::move(ref), std::move(uid), std::to_string(resource_version)),
          .reason = std::move(reason),
          .guards = {},
          .after = {},
          .event = {}};
}

}  // namespace capstan::plan
