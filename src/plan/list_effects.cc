#include "plan/list_effects.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "json/codec.h"
#include "json/merge.h"
#include "kube/client.h"
#include "plan/effect_parts.h"

namespace capstan::plan {
namespace {

using async::Deadline;
using async::Task;

// --- Finalizers ------------------------------------------------------------------------------------------------------

class FinalizerEffect final : public Effect {
 public:
  FinalizerEffect(bool add, ObjectRef ref, std::string uid, std::string finalizer)
      : add_(add), ref_(std::move(ref)), uid_(std::move(uid)), finalizer_(std::move(finalizer)) {}

  std::string_view verb() const override { return add_ ? "add finalizer" : "remove finalizer"; }
  std::string target() const override { return ref_.ToString(); }
  uint64_t content() const override { return Fnv64(finalizer_, Fnv64(uid_)); }

  Task<Result<void>> Run(Services& services, Deadline deadline) const override {
    kube::GetOptions options{.metadata_only = true};
    const auto read = co_await services.client.Get<AnyObject>(*ref_.resource, ref_.key, std::move(options), deadline);
    const bool gone = read ? read->metadata.uid != uid_ : read.error().code() == Code::kNotFound;
    if (gone && !add_) co_return Result<void>();
    if (gone) co_return Fail(Code::kConflict, ref_.ToString() + " is not there any more");
    if (!read) co_return Fail(read.error());
    const std::string patch = PatchFor(read->metadata);
    if (patch.empty()) co_return Result<void>();
    kube::WriteOptions write{.field_manager = services.field_manager};
    CAPSTAN_CO_TRY(const std::string answer,
                   co_await services.client.Patch(*ref_.resource, ref_.key, kube::PatchType::kJson, patch,
                                                  std::move(write), deadline));
    Remember(services, ref_, answer);
    co_return Result<void>();
  }

 private:
  // "" when it is so already. A replaced resourceVersion is the precondition: the server says 409 to another one.
  std::string PatchFor(const json::ObjectMeta& object) const {
    const auto& list = object.finalizers;
    const auto place = std::ranges::find(list, finalizer_);
    if ((place != list.end()) == add_) return {};
    json::JsonPatch patch;
    patch.Replace("/metadata/resourceVersion", JsonQuoted(std::to_string(object.resource_version)));
    if (!add_)
      patch.Remove("/metadata/finalizers/" + std::to_string(place - list.begin()));
    else if (list.empty())
      patch.Add("/metadata/finalizers", "[" + JsonQuoted(finalizer_) + "]");
    else
      patch.Add("/metadata/finalizers/-", JsonQuoted(finalizer_));
    return patch.text();
  }

  bool add_;
  ObjectRef ref_;
  std::string uid_;
  std::string finalizer_;
};

// --- Conditions of pods ----------------------------------------------------------------------------------------------

class PodConditionsEffect final : public Effect {
 public:
  // `items`: entries of the list in a strategic merge patch.
  PodConditionsEffect(std::string_view verb, kube::Key pod, std::string uid, std::vector<std::string> items)
      : verb_(verb), ref_{&kube::kPods, std::move(pod)}, uid_(std::move(uid)) {
    for (const std::string& item : items) items_ += (items_.empty() ? "" : ",") + item;
  }

  std::string_view verb() const override { return verb_; }
  std::string target() const override { return ref_.ToString() + "/status"; }
  uint64_t content() const override { return Fnv64(items_, Fnv64(uid_)); }

  Task<Result<void>> Run(Services& services, Deadline deadline) const override {
    std::string patch = R"({"metadata":{"uid":)" + JsonQuoted(uid_) + R"(},"status":{"conditions":[)" + items_ + "]}}";
    kube::WriteOptions options{.subresource = "status", .field_manager = services.field_manager};
    const auto patched = co_await services.client.Patch(kube::kPods, ref_.key, kube::PatchType::kStrategic,
                                                        std::move(patch), std::move(options), deadline);
    if (patched) Remember(services, ref_, *patched);
    if (patched || patched.error().code() == Code::kNotFound) co_return Result<void>();
    co_return Fail(patched.error());
  }

 private:
  std::string_view verb_;
  ObjectRef ref_;
  std::string uid_;
  std::string items_;
};

}  // namespace

std::shared_ptr<const Effect> AddFinalizer(ObjectRef ref, std::string uid, std::string finalizer) {
  return std::make_shared<FinalizerEffect>(true, std::move(ref), std::move(uid), std::move(finalizer));
}

std::shared_ptr<const Effect> RemoveFinalizer(ObjectRef ref, std::string uid, std::string finalizer) {
  return std::make_shared<FinalizerEffect>(false, std::move(ref), std::move(uid), std::move(finalizer));
}

std::shared_ptr<const Effect> SetPodConditions(kube::Key pod, std::string uid, std::vector<std::string> conditions) {
  return std::make_shared<PodConditionsEffect>("set conditions", std::move(pod), std::move(uid), std::move(conditions));
}

std::shared_ptr<const Effect> RemovePodConditions(kube::Key pod, std::string uid, std::vector<std::string> types) {
  for (std::string& type : types) type = R"({"$patch":"delete","type":)" + JsonQuoted(type) + "}";
  return std::make_shared<PodConditionsEffect>("remove conditions", std::move(pod), std::move(uid), std::move(types));
}

}  // namespace capstan::plan
