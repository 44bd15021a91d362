#include "plan/objects/guards.h"

#include "kube/client.h"
#include "plan/objects/parts.h"

namespace capstan::plan {
namespace {

class SameGenerationGuard final : public Guard {
 public:
  SameGenerationGuard(ObjectRef ref, std::string uid, int64_t generation)
      : ref_(std::move(ref)), uid_(std::move(uid)), generation_(generation) {}

  std::string text() const override { return ref_.ToString() + " asks for what was seen"; }

  async::Task<Proof> Prove(Services& services, async::Deadline deadline) const override {
    kube::GetOptions options{.metadata_only = true};
    const auto read = co_await services.client.Get<AnyObject>(*ref_.resource, ref_.key, std::move(options), deadline);
    if (!read) co_return read.error().code() == Code::kNotFound ? Proof::kNo : Proof::kUnknown;
    const bool same = read->metadata.uid == uid_ && read->metadata.generation == generation_;
    co_return same ? Proof::kYes : Proof::kNo;
  }

 private:
  ObjectRef ref_;
  std::string uid_;
  int64_t generation_;
};

}  // namespace

std::shared_ptr<const Guard> SameGeneration(ObjectRef ref, std::string uid, int64_t generation) {
  return std::make_shared<SameGenerationGuard>(std::move(ref), std::move(uid), generation);
}

}  // namespace capstan::plan
