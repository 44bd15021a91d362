#include "bridge/group/members.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/text.h"
#include "bridge/names.h"

namespace capstan::bridge::group {
namespace {

constexpr int64_t kMostAttempts = 1'000'000;
constexpr std::string_view kGangPrefix = "gang.", kJobSetPrefix = "jobset.", kWorkerSetPrefix = "lws.",
                           kPodGroupPrefix = "xpg.";

int64_t RankOf(const Pod& pod) {
  for (const std::string& text :
       {pod.metadata.Annotation(std::string(kCompletionIndex)), pod.metadata.Label(std::string(kWorkerIndex))})
    if (const auto rank = ParseInt(text)) return *rank;
  return std::numeric_limits<int64_t>::max();
}

// Of its Job, in a JobSet.
int64_t JobRankOf(const Pod& pod) { return ParseInt(pod.metadata.Label(std::string(kJobSetIndex))).value_or(0); }

bool Before(const Pod* a, const Pod* b) {
  const auto order = [](const Pod& pod) {
    return std::tuple(JobRankOf(pod), RankOf(pod), pod.metadata.creation_timestamp.value_or(Time()),
                      std::cref(pod.metadata.name).get());
  };
  return order(*a) < order(*b);
}

}  // namespace

std::string GroupOf(const Pod& pod) {
  const std::string ns = pod.metadata.namespace_ + "/";
  if (const std::string& name = pod.metadata.Label(std::string(kPodGroup)); !name.empty())
    return ns + std::string(kPodGroupPrefix) + name;
  if (const std::string& hash = pod.metadata.Label(std::string(kWorkerGroup)); !hash.empty())
    return ns + std::string(kWorkerSetPrefix) + hash;
  const std::string& gang = pod.metadata.Annotation(std::string(kGang));
  if (const std::string& name = pod.metadata.Label(std::string(kJobSetName)); !name.empty() && gang == "jobset") {
    const std::string& uid = pod.metadata.Label(std::string(kJobSetUid));
    return ns + std::string(kJobSetPrefix) + (uid.empty() ? name : uid);
  }
  const json::OwnerReference* owner = pod.metadata.ControllerOwner();
  if (owner != nullptr && owner->kind == "Job" && gang == "job") return ns + std::string(kGangPrefix) + owner->uid;
  return ns + "pod." + pod.metadata.uid;
}

Kind KindOf(std::string_view name) {
  if (name.starts_with(kGangPrefix)) return Kind::kGang;
  if (name.starts_with(kJobSetPrefix)) return Kind::kJobSet;
  if (name.starts_with(kWorkerSetPrefix)) return Kind::kLeaderWorkerSet;
  if (name.starts_with(kPodGroupPrefix)) return Kind::kPodGroup;
  return Kind::kPod;
}

std::string_view RestOf(std::string_view name) { return name.substr(std::min(name.size(), name.find('.') + 1)); }

// What users wrote before the policy was there counts for nothing.
int64_t JobIdOf(const Pod& pod) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const int64_t id = ParseInt(pod.metadata.Label(std::string(kJobId))).value_or(0);
  return id >= 1 && id <= kMost ? id : 0;
}

int AttemptOf(const Pod& pod) {
  const auto attempt = ParseInt(pod.metadata.Annotation(std::string(kAttempt)));
  return int(std::clamp<int64_t>(attempt.value_or(1), 1, kMostAttempts));
}

const std::string& NodeOf(const Pod& pod) {
  return pod.IsBound() ? pod.spec.node_name : pod.metadata.Annotation(std::string(kSlurmNode));
}

Members::Members(kube::ObjectList<Pod> pods, std::string_view scheduler_name) {
  for (const Pod& pod : pods) {
    (pod.HasEnded()                    ? ended
     : pod.metadata.deleting()         ? leaving
     : !pod.IsReleased(scheduler_name) ? gated
                                       : released)
        .push_back(&pod);
    const int64_t id = JobIdOf(pod);
    if (id == 0 || (job > 0 && std::pair(AttemptOf(pod), id) <= std::pair(attempt, job))) continue;
    attempt = AttemptOf(pod);
    job = id;
  }
  for (auto* list : {&gated, &released, &leaving, &ended}) std::ranges::sort(*list, &Before);
}

const Pod& Members::first() const {
  for (const auto* list : {&gated, &released, &leaving})
    if (!list->empty()) return *list->front();
  return *ended.front();
}

}  // namespace capstan::bridge::group
