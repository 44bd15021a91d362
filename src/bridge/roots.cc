#include "bridge/roots.h"

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "bridge/names.h"
#include "kube/client.h"
#include "plan/services.h"

namespace capstan::bridge {
namespace {

constexpr int kHighest = 32;  // controllers, one above the other
constexpr std::array kKnown{&kReplicaSets, &kube::kDeployments, &kube::kStatefulSets};

const kube::Resource* ResourceOf(const json::OwnerReference& owner) {
  const auto found = std::ranges::find_if(kKnown, [&](const kube::Resource* one) {
    return one->kind == owner.kind && one->ApiVersion() == owner.api_version;
  });
  return found == kKnown.end() ? nullptr : *found;
}

struct Controller {
  json::ObjectMeta metadata;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<Controller>({json::Field<&Controller::metadata>("metadata")});
    return schema;
  }
};

}  // namespace

bool RootAnnotations::Knows(const json::OwnerReference& owner) { return ResourceOf(owner) != nullptr; }

std::string RootAnnotations::id() const { return "annotations above " + owner_.kind + " " + ns_ + "/" + owner_.name; }

async::Task<Result<std::optional<plan::Question::Fetched>>> RootAnnotations::Fetch(plan::Services& services,
                                                                                   async::Deadline deadline) const {
  Value annotations;
  json::OwnerReference owner = owner_;
  for (int height = 0; height < kHighest; ++height) {
    const kube::Resource* resource = ResourceOf(owner);
    if (resource == nullptr) break;
    const auto read =
        co_await services.client.Get<Controller>(*resource, {ns_, owner.name}, {.metadata_only = true}, deadline);
    if (!read && read.error().code() == Code::kNotFound) break;
    if (!read) co_return Fail(read.error());
    if (read->metadata.uid != owner.uid) break;
    annotations.clear();
    for (const auto& [name, value] : read->metadata.annotations)
      if (name.starts_with(kJobAnnotations)) annotations[name] = value;
    const json::OwnerReference* above = read->metadata.ControllerOwner();
    if (above == nullptr) break;
    owner = *above;
  }
  uint64_t digest = 1;
  for (const auto& [name, value] : annotations) digest = Fnv64(value, Fnv64(name, digest));
  co_return Fetched{std::make_shared<const Value>(std::move(annotations)), digest};
}

}  // namespace capstan::bridge
