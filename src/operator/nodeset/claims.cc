#include "operator/nodeset/claims.h"

#include <algorithm>

#include "base/hash.h"
#include "json/value.h"
#include "kube/client.h"
#include "operator/names.h"
#include "operator/nodeset/adoption.h"
#include "operator/nodeset/release.h"
#include "operator/nodeset/worker_pod.h"
#include "operator/objects.h"
#include "operator/reasons.h"
#include "plan/objects/effects.h"
#include "plan/services.h"

namespace capstan::op::nodeset {
namespace {

using plan::Proof;

// Only its metadata is read.
struct ClaimObject {
  json::ObjectMeta metadata;
  static const json::Schema& Schema() {
    static const json::Schema schema =
        json::Object<ClaimObject>({json::Field<&ClaimObject::metadata>("metadata").Number(1)});
    return schema;
  }
};

class PodIsGoneGuard final : public plan::Guard {
 public:
  explicit PodIsGoneGuard(kube::Key pod) : pod_(std::move(pod)) {}

  std::string text() const override { return "pod " + pod_.ToString() + " is not there"; }

  async::Task<Proof> Prove(plan::Services& services, async::Deadline deadline) const override {
    const auto pod = co_await services.client.Get<Pod>(kube::kPods, pod_, {.metadata_only = true}, deadline);
    if (pod) co_return Proof::kNo;
    co_return pod.error().code() == Code::kNotFound ? Proof::kYes : Proof::kUnknown;
  }

 private:
  kube::Key pod_;
};

class ClaimStaysGuard final : public plan::Guard {
 public:
  explicit ClaimStaysGuard(kube::Key claim) : claim_(std::move(claim)) {}

  std::string text() const override { return "claim " + claim_.ToString() + " is not being deleted"; }

  async::Task<Proof> Prove(plan::Services& services, async::Deadline deadline) const override {
    const auto claim = co_await services.client.Get<ClaimObject>(kube::kPersistentVolumeClaims, claim_,
                                                                 {.metadata_only = true}, deadline);
    if (!claim) co_return claim.error().code() == Code::kNotFound ? Proof::kYes : Proof::kUnknown;
    co_return claim->metadata.deleting() ? Proof::kNo : Proof::kYes;
  }

 private:
  kube::Key claim_;
};

std::vector<std::string> VolumesOf(const api::NodeSetSpec& spec) {
  std::vector<std::string> volumes;
  const auto templates = json::Parse(spec.volume_claim_templates.text);
  if (!templates || !templates->is_array()) return volumes;
  for (const auto& one : templates->get_array()) volumes.emplace_back(json::FindText(one, {"metadata", "name"}));
  return volumes;
}

}  // namespace

async::Task<Result<std::optional<plan::Question::Fetched>>> Claims::Fetch(plan::Services& services,
                                                                          async::Deadline deadline) const {
  kube::ListOptions options{.ns = ns,
                            .label_selector = std::string(kLabelInstance) + "=" + set + "," + std::string(kLabelName) +
                                              "=" + std::string(kWorker.app),
                            .limit = 0};
  const auto list =
      co_await services.client.List<ClaimObject>(kube::kPersistentVolumeClaims, std::move(options), deadline);
  if (!list) co_return Fail(list.error());
  auto found = std::make_shared<Value>();
  std::string digest;
  for (const ClaimObject& claim : list->items) {
    const json::ObjectMeta& meta = claim.metadata;
    found->push_back({meta.name, meta.uid, meta.resource_version, meta.deleting(), !meta.owner_references.empty()});
    digest += meta.uid + (meta.deleting() ? "-" : "+") + std::to_string(meta.resource_version) + " ";
  }
  co_return Fetched{std::move(found), Fnv64(digest)};
}

bool AreRemovedInScaleIn(const api::NodeSetSpec& spec) {
  return spec.claim_retention && spec.claim_retention->when_scaled == api::kDelete;
}

bool AreRemovedAtTheEnd(const api::NodeSetSpec& spec) {
  return spec.claim_retention && spec.claim_retention->when_deleted == api::kDelete;
}

std::vector<plan::Action> RemovalsOfClaims(const api::NodeSet& set, const std::vector<SeenClaim>& claims,
                                           const std::vector<Worker>& workers,
                                           const std::map<int, std::string>& asleep) {
  std::vector<plan::Action> removals;
  const std::vector<std::string> volumes = VolumesOf(set.spec);
  for (const SeenClaim& claim : claims) {
    if (claim.deleting) continue;
    for (const std::string& volume : volumes) {
      const std::string begin = volume + "-" + set.metadata.name;
      const std::optional<int> ordinal = OrdinalOf(begin, claim.name);
      const bool of_machine = !ordinal && set.metadata.deleting() && claim.name.starts_with(begin + "-");
      if (!ordinal && !of_machine) continue;
      const auto has_it = [&](const Worker& worker) {
        return worker.daemon ? claim.name == begin + "-" + worker.host : worker.ordinal == ordinal;
      };
      if (std::ranges::any_of(workers, has_it) || (ordinal && asleep.contains(*ordinal))) break;
      const std::string& ns = set.metadata.namespace_;
      plan::Action removal =
          plan::DeleteUnchanged({&kube::kPersistentVolumeClaims, {ns, claim.name}}, claim.uid, claim.resource_version,
                                "its worker is gone, and spec.persistentVolumeClaimRetentionPolicy says Delete");
      if (of_machine)
        removal.guards = {NoWorkerIsLeft(set)};
      else
        removal.guards = {AsksForTheSame(set),
                          std::make_shared<PodIsGoneGuard>(kube::Key{ns, WorkerPodName(set, *ordinal)})};
      removal.event = {.reason = EventWord("ClaimRemoved"), .action = "Delete"};
      removals.push_back(std::move(removal));
      break;
    }
  }
  return removals;
}

std::vector<plan::Action> HandOverClaims(const api::NodeSet& set, const std::vector<SeenClaim>& claims,
                                         const plan::Guards& guards) {
  std::vector<plan::Action> actions;
  const std::vector<std::string> volumes = VolumesOf(set.spec);
  for (const SeenClaim& claim : claims) {
    const auto is_of = [&](const std::string& volume) {
      return claim.name.starts_with(volume + "-" + set.metadata.name + "-");
    };
    if (claim.deleting || claim.owned || std::ranges::none_of(volumes, is_of)) continue;
    const plan::ObjectRef ref{&kube::kPersistentVolumeClaims, {set.metadata.namespace_, claim.name}};
    plan::Action action = MakeOwned("hand over", set, ref, claim.uid, claim.resource_version,
                                    "it goes with the NodeSet, as spec.persistentVolumeClaimRetentionPolicy says");
    action.guards.insert(action.guards.begin(), guards.begin(), guards.end());
    actions.push_back(std::move(action));
  }
  return actions;
}

std::shared_ptr<const plan::Guard> ClaimStays(kube::Key claim) {
  return std::make_shared<ClaimStaysGuard>(std::move(claim));
}

}  // namespace capstan::op::nodeset
