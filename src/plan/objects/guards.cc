#include "plan/objects/guards.h"

#include "kube/client.h"
#include "plan/objects/parts.h"

namespace capstan::plan {
namespace {

class SameGenerationGuard final : public Guard {
 public:
  SameGenerationGuard(ObjectRef ref, std::string uid, int64_t generation,
                      std::pair<std::string, std::string> annotation)
      : ref_(std::move(ref)), uid_(std::move(uid)), generation_(generation), annotation_(std::move(annotation)) {}

  std::string text() const override { return ref_.ToString() + " asks for what was seen"; }

  async::Task<Proof> Prove(Services& services, async::Deadline deadline) const override {
    kube::GetOptions options{.metadata_only = true};
    const auto read = co_await services.client.Get<AnyObject>(*ref_.resource, ref_.key, std::move(options), deadline);
    if (!read) co_return read.error().code() == Code::kNotFound ? Proof::kNo : Proof::kUnknown;
    const auto& [key, value] = annotation_;
    const bool same = read->metadata.uid == uid_ && read->metadata.generation == generation_ &&
                      (key.empty() || read->metadata.Annotation(key) == value);
    co_return same ? Proof::kYes : Proof::kNo;
  }

 private:
  ObjectRef ref_;
  std::string uid_;
  int64_t generation_;
  std::pair<std::string, std::string> annotation_;
};

// A pod, as far as whether it has ended.
struct PodPhase {
  struct Status {
    std::string phase;
    static const json::Schema& Schema() {
      static const json::Schema schema = json::Object<Status>({json::Field<&Status::phase>("phase")});
      return schema;
    }
  };
  Status status;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<PodPhase>({json::Field<&PodPhase::status>("status")});
    return schema;
  }
};

class PodsHaveEndedGuard final : public Guard {
 public:
  PodsHaveEndedGuard(std::string ns, std::string selector) : ns_(std::move(ns)), selector_(std::move(selector)) {}

  std::string text() const override {
    return "no pod with " + selector_ + " is left in " + ns_ + " that has not ended";
  }

  async::Task<Proof> Prove(Services& services, async::Deadline deadline) const override {
    kube::ListOptions options{.ns = ns_, .label_selector = selector_};
    while (true) {
      const auto page = co_await services.client.List<PodPhase>(kube::kPods, options, deadline);
      if (!page) co_return Proof::kUnknown;
      for (const PodPhase& pod : page->items)
        if (pod.status.phase != "Succeeded" && pod.status.phase != "Failed") co_return Proof::kNo;
      options.continue_token = page->metadata.continue_token;
      if (options.continue_token.empty()) co_return Proof::kYes;
    }
  }

 private:
  std::string ns_;
  std::string selector_;
};

class NothingControlledGuard final : public Guard {
 public:
  NothingControlledGuard(const kube::Resource& resource, std::string ns, std::string owner_uid)
      : resource_(resource), ns_(std::move(ns)), owner_uid_(std::move(owner_uid)) {}

  std::string text() const override { return "no " + std::string(resource_.kind) + " of it is left"; }

  async::Task<Proof> Prove(Services& services, async::Deadline deadline) const override {
    kube::ListOptions options{.ns = ns_};
    while (true) {
      const auto page = co_await services.client.List<AnyObject>(resource_, options, deadline);
      if (!page) co_return Proof::kUnknown;
      for (const AnyObject& object : page->items) {
        const json::OwnerReference* controller = object.metadata.ControllerOwner();
        if (controller != nullptr && controller->uid == owner_uid_) co_return Proof::kNo;
      }
      options.continue_token = page->metadata.continue_token;
      if (options.continue_token.empty()) co_return Proof::kYes;
    }
  }

 private:
  const kube::Resource& resource_;
  std::string ns_;
  std::string owner_uid_;
};

}  // namespace

std::shared_ptr<const Guard> NothingControlled(const kube::Resource& resource, std::string ns, std::string owner_uid) {
  return std::make_shared<NothingControlledGuard>(resource, std::move(ns), std::move(owner_uid));
}

std::shared_ptr<const Guard> PodsHaveEnded(std::string ns, std::string label_selector) {
  return std::make_shared<PodsHaveEndedGuard>(std::move(ns), std::move(label_selector));
}

std::shared_ptr<const Guard> SameGeneration(ObjectRef ref, std::string uid, int64_t generation,
                                            std::pair<std::string, std::string> annotation) {
  return std::make_shared<SameGenerationGuard>(std::move(ref), std::move(uid), generation, std::move(annotation));
}

}  // namespace capstan::plan
