// Server-side apply under the applied memo: objects/effects.h, Apply and ApplyStatus.
#include <algorithm>
#include <boost/json.hpp>
#include <optional>
#include <vector>

#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "json/codec.h"
#include "json/merge.h"
#include "json/value.h"
#include "kube/client.h"
#include "plan/objects/managed_fields.h"
#include "plan/objects/parts.h"

namespace capstan::plan {
namespace {

namespace bj = boost::json;
using async::Deadline;
using async::Task;

constexpr Duration kConflictBackoff = 5min;

uint64_t OwnFields(const json::ObjectMeta& meta, std::string_view manager, std::string_view subresource) {
  for (const json::ManagedField& entry : meta.managed_fields) {
    if (entry.manager == manager && entry.operation == "Apply" && entry.subresource == subresource) {
      return entry.fields.value;
    }
  }
  return 0;
}

Result<std::string> WithUid(const std::string& body, const std::string& uid) {
  CAPSTAN_TRY(bj::value object, json::Parse(body));
  json::MakeObject(object, {"metadata"})["uid"] = uid;
  return bj::serialize(object);
}

// Of a status, but for the moments at which its conditions changed. While it cannot be written, or somebody keeps
// writing over it, they are those of each attempt, and one that is new only by them is no other content: a fight over
// it would not be seen as one.
uint64_t StatusDigest(std::string_view body) {
  constexpr std::string_view kMoment = R"("lastTransitionTime":")";  // within a text its quotes were escaped
  uint64_t digest = Fnv64("");
  for (size_t at = body.find(kMoment); at != body.npos; at = body.find(kMoment)) {
    digest = Fnv64(body.substr(0, at), digest);
    body.remove_prefix(std::min(body.find('"', at + kMoment.size()), body.size()));
  }
  return Fnv64(body, digest);
}

// Metadata read at this moment, complete.
struct FreshMetadata {
  std::string uid;
  std::string resource_version;
  json::Value managed_fields;
};

class ApplyEffect final : public Effect {
 public:
  // `owner`: UID of the key's own object. `adoption`: of a child; nullopt for the status of that object itself, whose
  // body holds that UID.
  ApplyEffect(ObjectRef ref, std::string subresource, std::string body, std::string owner,
              std::optional<Adoption> adoption, std::vector<std::string> keeps)
      : ref_(std::move(ref)),
        subresource_(std::move(subresource)),
        body_(std::move(body)),
        owner_(std::move(owner)),
        adoption_(std::move(adoption)),
        keeps_(std::move(keeps)),
        target_(subresource_.empty() ? ref_.ToString() : ref_.ToString() + "/" + subresource_),
        content_(adoption_ ? Fnv64(body_) : StatusDigest(body_)) {}

  std::string_view verb() const override { return subresource_.empty() ? "apply" : "apply status"; }
  std::string target() const override { return target_; }
  uint64_t content() const override { return content_; }
  bool exclusive() const override { return true; }

  bool Satisfied(const Services& services) const override {
    const json::ObjectMeta* meta = plan::Seen(services, ref_);
    return meta != nullptr && services.memo.Matches(memo_target(), Now(services, *meta));
  }

  uint64_t TargetDigest(const Services& services) const override { return MetadataDigest(services, ref_); }

  Task<Result<void>> Run(Services& services, Deadline deadline) const override {
    CAPSTAN_CO_TRY(const std::optional<json::ObjectMeta> meta, co_await Present(services, deadline));
    if (meta && adoption_ && !IsOurs(*meta, owner_, *adoption_)) co_return Conflict(*meta);
    // Looked at here as well: with the status of a custom resource the API server takes no metadata, nor the uid in it.
    if (meta && !adoption_ && meta->uid != owner_) co_return IsAnother();
    if (meta && adoption_ && services.memo.Matches(memo_target(), Now(services, *meta))) {
      co_return LeftAlone(services);
    }
    if (const auto remade = services.memo.MayBeMadeAgain(memo_target(), services.loop.Now()); remade && !meta) {
      co_return DeletedEachTime(*remade, services.loop.Now());
    }
    if (const auto times = services.memo.Fight(memo_target(), content_, services.loop.Now()); times && meta) {
      co_return co_await Contested(services, *times, deadline);
    }
    // Once for as long as the memo knows that it was applied for this owner: what comes later under that name is another
    // program's, and its own.
    const bool first = !services.memo.Knows(memo_target());
    if (meta && first && HasFormerManager(*meta, services.successor(), subresource_)) {
      CAPSTAN_CO_CHECK_OK(co_await TakeOver(services, meta->uid, deadline));
    }
    if (meta && !keeps_.empty()) CAPSTAN_CO_CHECK_OK(co_await Release(services, meta->uid, deadline));
    std::string body = body_;
    if (meta && adoption_) {
      CAPSTAN_CO_TRY(body, WithUid(body_, meta->uid));
    }
    // What nobody has seen may have been made by a stranger since: its fields are not taken, they are a conflict.
    kube::ApplyOptions options{
        .subresource = subresource_, .field_manager = services.field_manager, .force = meta.has_value()};
    services.memo.Doubt(memo_target());
    CAPSTAN_CO_TRY(const std::string answer, co_await services.client.Apply(*ref_.resource, ref_.key, std::move(body),
                                                                            std::move(options), deadline));
    AppliedMemo::Applied applied;
    if (Remember(services, ref_, answer)) {  // so that the answer is read once only
      applied = Now(services, *plan::Seen(services, ref_));
    } else {
      CAPSTAN_CO_TRY(const AnyObject object, json::Decode<AnyObject>(answer));
      applied = Now(services, object.metadata);
    }
    services.memo.Record(memo_target(), std::move(applied), services.loop.Now());
    if (!meta) services.memo.Made(memo_target(), services.loop.Now());
    co_return Result<void>();
  }

 private:
  AppliedMemo::Target memo_target() const { return {owner_, target_}; }

  AppliedMemo::Applied Now(const Services& services, const json::ObjectMeta& meta) const {
    return {meta.uid, content(), OwnFields(meta, services.field_manager, subresource_)};
  }

  // What nobody owns somebody may give away: by labels.
  std::unexpected<Error> Conflict(const json::ObjectMeta& found) const {
    if (!found.owner_references.empty() || adoption_->labels.empty()) return NameConflict(ref_);
    std::vector<std::string> labels;
    for (const auto& [name, value] : adoption_->labels) labels.push_back(name + "=" + value);
    return Fail(Code::kAlreadyExists, "NameConflict: " + ref_.ToString() +
                                          " exists and nobody owns it; it is taken over once it has the label" +
                                          (labels.size() > 1 ? "s " : " ") + Join(labels, ", ") +
                                          ", or rename one of the two");
  }

  std::unexpected<Error> IsAnother() const { return Fail(Code::kConflict, ref_.ToString() + " is another object now"); }

  // It is as we left it and was to be applied all the same, because its store shows nothing: it never will.
  Result<void> LeftAlone(const Services& services) const {
    if (plan::Seen(services, ref_) != nullptr) return {};
    return Fail(Code::kInvalid,
                ref_.ToString() + " is there as it was applied, but no store shows it: the selectors and " +
                    "namespaces of the store of " + std::string(ref_.resource->plural) + " must cover it");
  }

  // The object there is now: from the store, or, when it shows none, from a fresh read, since a store that sees only
  // labelled objects would miss a stranger of the same name.
  Task<Result<std::optional<json::ObjectMeta>>> Present(Services& services, Deadline deadline) const {
    if (const json::ObjectMeta* seen = plan::Seen(services, ref_)) co_return std::optional(*seen);
    kube::GetOptions options{.metadata_only = true};
    const auto read = co_await services.client.Get<AnyObject>(*ref_.resource, ref_.key, std::move(options), deadline);
    if (read) co_return std::optional(read->metadata);
    if (read.error().code() == Code::kNotFound) co_return std::optional<json::ObjectMeta>();
    co_return Fail(read.error());
  }

  Task<Result<FreshMetadata>> ReadMetadata(Services& services, Deadline deadline) const {
    kube::GetOptions options{.metadata_only = true};
    CAPSTAN_CO_TRY(const std::string text,
                   co_await services.client.Get(*ref_.resource, ref_.key, std::move(options), deadline));
    CAPSTAN_CO_TRY(const json::Value object, json::Parse(text));
    const json::Value* managed_fields = json::Find(object, {"metadata", "managedFields"});
    co_return FreshMetadata{std::string(json::FindText(object, {"metadata", "uid"})),
                            std::string(json::FindText(object, {"metadata", "resourceVersion"})),
                            managed_fields != nullptr ? *managed_fields : json::Value()};
  }

  Task<Result<void>> TakeOver(Services& services, std::string uid, Deadline deadline) const {
    CAPSTAN_CO_TRY(const FreshMetadata fresh, co_await ReadMetadata(services, deadline));
    if (fresh.uid != uid) co_return IsAnother();
    const auto folded =
        FoldFormerManagers(fresh.managed_fields, services.successor(), ref_.resource->ApiVersion(), subresource_);
    if (!folded) co_return Result<void>();
    CAPSTAN_CO_CHECK_OK(co_await WriteManagedFields(services, fresh, *folded, deadline));
    log::Info("fields taken over from a former manager", {{"target", target_}});
    co_return Result<void>();
  }

  Task<Result<void>> Release(Services& services, std::string uid, Deadline deadline) const {
    CAPSTAN_CO_TRY(const std::vector<std::string> unnamed, Unnamed());
    if (unnamed.empty()) co_return Result<void>();
    CAPSTAN_CO_TRY(const FreshMetadata fresh, co_await ReadMetadata(services, deadline));
    if (fresh.uid != uid) co_return IsAnother();
    const auto released = WithoutMembers(fresh.managed_fields, services.field_manager, unnamed);
    if (!released) co_return Result<void>();
    co_return co_await WriteManagedFields(services, fresh, *released, deadline);
  }

  // Those of `keeps_` that the body does not name.
  Result<std::vector<std::string>> Unnamed() const {
    CAPSTAN_TRY(const json::Value body, json::Parse(body_));
    std::vector<std::string> unnamed;
    for (const std::string& member : keeps_) {
      const json::Value* part = &body;
      for (const std::string_view name : Split(member, '/')) part = part ? json::Find(*part, {name}) : nullptr;
      if (part == nullptr) unnamed.push_back(member);
    }
    return unnamed;
  }

  // Replacing resourceVersion by what was read is how a patch says "only if nobody was here meanwhile": 409 otherwise.
  Task<Result<void>> WriteManagedFields(Services& services, const FreshMetadata& fresh, const json::Value& changed,
                                        Deadline deadline) const {
    json::JsonPatch patch;
    patch.Replace("/metadata/resourceVersion", bj::serialize(bj::string(fresh.resource_version)));
    patch.Replace("/metadata/managedFields", json::Serialize(changed));
    // Also of a status: what a write of a subresource says of managedFields is not heeded.
    kube::WriteOptions options{.field_manager = services.field_manager};
    CAPSTAN_CO_TRY(const std::string answer,
                   co_await services.client.Patch(*ref_.resource, ref_.key, kube::PatchType::kJson, patch.text(),
                                                  std::move(options), deadline));
    Remember(services, ref_, answer);
    co_return Result<void>();
  }

  std::unexpected<Error> DeletedEachTime(const AppliedMemo::Remade& remade, Tick now) const {
    Error error(Code::kConflict,
                ref_.ToString() + " was made " + std::to_string(remade.times) +
                    " times in ten minutes, and somebody deletes it each time; it is made again after a while");
    return Fail(std::move(error.SetRetryAfter(remade.at - now)));
  }

  // Somebody keeps undoing what we apply. A truce, and who it is.
  Task<Result<void>> Contested(Services& services, int times, Deadline deadline) const {
    const auto fresh = co_await ReadMetadata(services, deadline);
    std::string other = fresh ? LastOtherManager(fresh->managed_fields, services.field_manager, subresource_) : "";
    Error error(Code::kConflict, "applied " + std::to_string(times) + " times in ten minutes with the same content: " +
                                     (other.empty() ? "somebody" : "\"" + other + "\"") + " keeps changing it back");
    co_return Fail(std::move(error.SetRetryAfter(kConflictBackoff)));
  }

  ObjectRef ref_;
  std::string subresource_;
  std::string body_;
  std::string owner_;
  std::optional<Adoption> adoption_;
  std::vector<std::string> keeps_;
  std::string target_;
  uint64_t content_;
};

}  // namespace

std::shared_ptr<const Effect> Apply(ObjectRef ref, std::string body, ChildOwner owner, std::vector<std::string> keeps) {
  return std::make_shared<ApplyEffect>(std::move(ref), "", std::move(body), std::move(owner.uid),
                                       std::move(owner.adoption), std::move(keeps));
}

std::shared_ptr<const Effect> ApplyStatus(ObjectRef ref, std::string uid, std::string status) {
  // Every Decide comes by here, so the status is not taken apart and put together again.
  std::string body = R"({"apiVersion":)" + JsonQuoted(ref.resource->ApiVersion()) + R"(,"kind":)" +
                     JsonQuoted(ref.resource->kind) + R"(,"metadata":{"name":)" + JsonQuoted(ref.key.name) +
                     R"(,"namespace":)" + JsonQuoted(ref.key.ns) + R"(,"uid":)" + JsonQuoted(uid) + R"(},"status":)" +
                     status + "}";
  return std::make_shared<ApplyEffect>(std::move(ref), "status", std::move(body), std::move(uid), std::nullopt,
                                       std::vector<std::string>());
}

}  // namespace capstan::plan
