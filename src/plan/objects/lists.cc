#include "plan/objects/lists.h"

#include "base/hash.h"
#include "base/text.h"
#include "kube/client.h"
#include "plan/objects/parts.h"

namespace capstan::plan {
namespace {

using async::Deadline;
using async::Task;

// --- Finalizers ------------------------------------------------------------------------------------------------------

class FinalizersEffect final : public Effect {
 public:
  FinalizersEffect(bool add, ObjectRef ref, const json::ObjectMeta& seen, const std::vector<std::string>& finalizers)
      : add_(add), ref_(std::move(ref)) {
    std::string list;
    for (const std::string& finalizer : finalizers) list += (list.empty() ? "" : ",") + JsonQuoted(finalizer);
    patch_ = R"({"metadata":{"uid":)" + JsonQuoted(seen.uid) + R"(,"resourceVersion":)" +
             JsonQuoted(std::to_string(seen.resource_version)) + R"(,"finalizers":[)" + list + "]}}";
  }

  std::string_view verb() const override { return add_ ? "add finalizer" : "remove finalizer"; }
  std::string target() const override { return ref_.ToString(); }
  uint64_t content() const override { return Fnv64(patch_); }
  bool destructive() const override { return !add_; }

  Task<Result<void>> Run(Services& services, Deadline deadline) const override {
    std::string patch = patch_;
    kube::WriteOptions options{.field_manager = services.field_manager};
    const auto patched = co_await services.client.Patch(*ref_.resource, ref_.key, kube::PatchType::kMerge,
                                                        std::move(patch), std::move(options), deadline);
    if (patched) Remember(services, ref_, *patched);
    if (patched || (!add_ && patched.error().code() == Code::kNotFound)) co_return Result<void>();
    co_return Fail(patched.error());
  }

 private:
  bool add_;
  ObjectRef ref_;
  std::string patch_;
};

// --- Conditions ----------------------------------------------------------------------------------------------

class ConditionsEffect final : public Effect {
 public:
  ConditionsEffect(ObjectRef ref, std::string uid, std::vector<ConditionText> set, std::vector<std::string> gone)
      : ref_(std::move(ref)), uid_(std::move(uid)), set_(std::move(set)), gone_(std::move(gone)) {}

  std::string_view verb() const override { return "set conditions"; }
  std::string target() const override { return ref_.ToString() + "/status"; }
  uint64_t content() const override { return Fnv64(Items(""), Fnv64(uid_)); }
  uint64_t TargetDigest(const Services& services) const override { return MetadataDigest(services, ref_); }

  Task<Result<void>> Run(Services& services, Deadline deadline) const override {
    std::string patch = R"({"metadata":{"uid":)" + JsonQuoted(uid_) + R"(},"status":{"conditions":[)" +
                        Items(FormatRfc3339(services.loop.WallNow())) + "]}}";
    kube::WriteOptions options{.subresource = "status", .field_manager = services.field_manager};
    const auto patched = co_await services.client.Patch(*ref_.resource, ref_.key, kube::PatchType::kStrategic,
                                                        std::move(patch), std::move(options), deadline);
    if (patched) Remember(services, ref_, *patched);
    if (patched || patched.error().code() == Code::kNotFound) co_return Result<void>();
    co_return Fail(patched.error());
  }

 private:
  // Entries of the list in a strategic merge patch.
  std::string Items(const std::string& now) const {
    std::string items;
    for (const ConditionText& one : set_) {
      items += (items.empty() ? "" : ",") + (R"({"type":)" + JsonQuoted(one.type)) + R"(,"status":)" +
               JsonQuoted(one.status) + R"(,"reason":)" + JsonQuoted(one.reason) + R"(,"message":)" +
               JsonQuoted(one.message);
      if (one.begins) items += R"(,"lastTransitionTime":)" + JsonQuoted(now);
      items += "}";
    }
    for (const std::string& type : gone_)
      items += (items.empty() ? "" : ",") + (R"({"$patch":"delete","type":)" + JsonQuoted(type)) + "}";
    return items;
  }

  ObjectRef ref_;
  std::string uid_;
  std::vector<ConditionText> set_;
  std::vector<std::string> gone_;
};

}  // namespace

std::shared_ptr<const Effect> AddFinalizer(ObjectRef ref, const json::ObjectMeta& seen, std::string_view finalizer) {
  std::vector<std::string> finalizers = seen.finalizers;
  finalizers.emplace_back(finalizer);
  return std::make_shared<FinalizersEffect>(true, std::move(ref), seen, finalizers);
}

std::shared_ptr<const Effect> RemoveFinalizer(ObjectRef ref, const json::ObjectMeta& seen, std::string_view finalizer) {
  std::vector<std::string> finalizers = seen.finalizers;
  std::erase(finalizers, finalizer);
  return std::make_shared<FinalizersEffect>(false, std::move(ref), seen, finalizers);
}

std::shared_ptr<const Effect> ChangeConditions(ObjectRef ref, std::string uid, std::vector<ConditionText> set,
                                               std::vector<std::string> gone) {
  return std::make_shared<ConditionsEffect>(std::move(ref), std::move(uid), std::move(set), std::move(gone));
}

}  // namespace capstan::plan
