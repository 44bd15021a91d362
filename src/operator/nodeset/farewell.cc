#include "operator/nodeset/farewell.h"

#include <algorithm>

#include "operator/names.h"
#include "operator/nodeset/claims.h"
#include "operator/nodeset/release.h"
#include "operator/reasons.h"

namespace capstan::op::nodeset {
namespace {

constexpr Duration kAnnounceTime = 10s;
constexpr Duration kClaimsAge = 1min;  // no store shows claims: they are read again after it

Claims ClaimsOf(const api::NodeSet& set) { return {set.metadata.namespace_, set.metadata.name}; }

std::vector<plan::ActionId> RemoveClaims(const Look& look, const std::vector<SeenClaim>& claims,
                                         const std::map<int, std::string>& asleep, plan::Plan& wants) {
  std::vector<plan::ActionId> removed;
  for (plan::Action& removal : RemovalsOfClaims(look.set, claims, look.workers, asleep))
    removed.push_back(wants.Add(std::move(removal)));
  return removed;
}

}  // namespace

plan::Plan LetGo(const Look& look) {
  plan::Plan wants = look.Part();
  std::vector<plan::ActionId> removed;
  if (AreRemovedAtTheEnd(look.spec)) {
    const auto claims = look.world.Ask(ClaimsOf(look.set), kClaimsAge);
    if (claims.value == nullptr && !look.Lasts(wants, "claims are not known", kDeletionTimeout)) return wants;
    if (claims.value != nullptr) removed = RemoveClaims(look, *claims.value, {}, wants);
  }
  plan::Action release = Release(look.set, {NoWorkerIsLeft(look.set)}, "no worker is left");
  release.after = std::move(removed);
  wants.Add(std::move(release));
  return wants;
}

plan::Plan GiveUp(const Look& look, const Deletion& deletion) {
  plan::Plan wants = look.Part();
  if (!look.workers.empty() && !SaysThatItGivesUp(look.set)) {
    const Duration held = look.world.HeldFor("giving up");
    if (held < kAnnounceTime) {
      wants.RequeueAfter(kAnnounceTime - held);
      return wants;
    }
  }
  plan::Guards guards;
  if (deletion.state == DeletionState::kAbandoned) guards = {ClusterIsAbandoned(look.set)};
  if (deletion.state == DeletionState::kSilent) guards = {SlurmIsSilent(look.cluster, look.set.metadata.name)};
  std::vector<plan::ActionId> handed;
  if (AreRemovedAtTheEnd(look.spec) && !look.Lasts(wants, "claims are handed over", kDeletionTimeout)) {
    const auto claims = look.world.Ask(ClaimsOf(look.set), kClaimsAge);
    if (claims.value == nullptr) return wants;
    for (plan::Action& action : HandOverClaims(look.set, *claims.value, guards))
      handed.push_back(wants.Add(std::move(action)));
  }
  plan::Action release = Release(look.set, std::move(guards), "its workers go without a drain: " + deletion.why);
  release.after = std::move(handed);
  if (!look.workers.empty()) release.event = {.reason = EventWord("DrainSkipped"), .action = "Delete", .warning = true};
  wants.Add(std::move(release));
  return wants;
}

plan::Plan RemoveClaimsOfScaleIn(const Look& look, bool settled, const std::map<int, std::string>& asleep) {
  plan::Plan wants = look.Part();
  const auto comes_or_goes = [](const Worker& worker) {
    return worker.stage == Stage::kLeaving || worker.stage == Stage::kEnded;
  };
  const auto claims = look.world.Ask(ClaimsOf(look.set), kClaimsAge);
  if (!settled || std::ranges::any_of(look.workers, comes_or_goes)) return wants;
  if (claims.known()) RemoveClaims(look, *claims.value, asleep, wants);
  return wants;
}

}  // namespace capstan::op::nodeset
