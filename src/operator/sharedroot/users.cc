#include "operator/sharedroot/users.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "json/object_meta.h"
#include "json/schema.h"
#include "kube/client.h"
#include "operator/sharedroot/jobs.h"
#include "plan/services.h"

namespace capstan::op::sharedroot {
namespace {

// A Job has them as arguments, and an object of Kubernetes has 1.5 MB.
constexpr size_t kMostPods = 10'000;

struct ClaimSource {
  std::string claim_name;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<ClaimSource>({json::Field<&ClaimSource::claim_name>("claimName")});
    return schema;
  }
};

struct Volume {
  ClaimSource claim;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<Volume>({json::Field<&Volume::claim>("persistentVolumeClaim")});
    return schema;
  }
};

struct Spec {
  std::string node_name;
  std::vector<Volume> volumes;
  static const json::Schema& Schema() {
    static const json::Schema schema =
        json::Object<Spec>({json::Field<&Spec::node_name>("nodeName"), json::Field<&Spec::volumes>("volumes")});
    return schema;
  }
};

struct Status {
  std::string phase;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<Status>({json::Field<&Status::phase>("phase")});
    return schema;
  }
};

struct PodWithVolumes {
  json::ObjectMeta metadata;
  Spec spec;
  Status status;
  static const json::Schema& Schema() {
    using P = PodWithVolumes;
    static const json::Schema schema = json::Object<P>(
        {json::Field<&P::metadata>("metadata"), json::Field<&P::spec>("spec"), json::Field<&P::status>("status")});
    return schema;
  }
};

// They write to the volume, and no session is in them.
bool IsOfItsJobs(const PodWithVolumes& pod, const std::string& root) {
  const json::OwnerReference* owner = pod.metadata.ControllerOwner();
  if (owner == nullptr || owner->kind != kube::kJobs.kind) return false;
  return std::ranges::any_of(kJobs,
                             [&](std::string_view job) { return owner->name.starts_with(root + std::string(job)); });
}

// One that has no node yet begins later.
bool MayUse(const PodWithVolumes& pod, const std::string& claim) {
  if (pod.spec.node_name.empty() || pod.status.phase == "Succeeded" || pod.status.phase == "Failed") return false;
  return std::ranges::any_of(pod.spec.volumes, [&](const Volume& volume) { return volume.claim.claim_name == claim; });
}

}  // namespace

async::Task<Result<std::optional<plan::Question::Fetched>>> PodsWithClaim::Fetch(plan::Services& services,
                                                                                 async::Deadline deadline) const {
  auto found = std::make_shared<Value>();
  kube::ListOptions page{.ns = claim.ns};
  do {
    const auto list = co_await services.client.List<PodWithVolumes>(kube::kPods, page, deadline);
    if (!list) co_return Fail(list.error());
    for (const PodWithVolumes& pod : list->items) {
      if (MayUse(pod, claim.name) && !IsOfItsJobs(pod, root))
        found->push_back(pod.metadata.name + "/" + pod.metadata.uid);
    }
    if (found->size() > kMostPods)
      co_return Fail(Code::kInvalid,
                     "more than " + std::to_string(kMostPods) + " pods mount claim " + claim.ToString());
    page.continue_token = list->metadata.continue_token;
  } while (!page.continue_token.empty());
  std::ranges::sort(*found);
  const uint64_t digest = Fnv64(Join(*found, " "));
  co_return Fetched{std::move(found), digest};
}

}  // namespace capstan::op::sharedroot
