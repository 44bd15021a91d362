#include "operator/controller/unread.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/hash.h"
#include "base/text.h"
#include "operator/controller/questions.h"
#include "operator/names.h"
#include "operator/objects.h"
#include "operator/pods.h"
#include "operator/reasons.h"
#include "plan/slurm/effects.h"

namespace capstan::op::controller {
namespace {

constexpr Duration kLookAgain = 5s;
constexpr Duration kSettles = 15s, kAtLatest = 2min;
constexpr Duration kTakesEffect = 1min;
constexpr size_t kMostNamed = 5;

std::string Some(const std::vector<std::string>& nodes) {
  const size_t shown = std::min(nodes.size(), kMostNamed);
  const std::string names = Join(std::span(nodes).first(shown), ", ");
  return shown == nodes.size() ? names : names + " and " + std::to_string(nodes.size() - shown) + " more";
}

// When slurmrestd was asked in this life of slurmctld; nullopt: it was not.
std::optional<Time> AskedAt(const Pod& pod, const std::string& life) {
  const auto words = Words(pod.metadata.Annotation(std::string(kAnnotationNodesRead)));
  return words.size() == 2 && words[0] == life ? ParseRfc3339(words[1]) : std::nullopt;
}

void Ask(ReconcileBase& reconcile, const Pod& pod, const UnreadNodes::Value& unread, uint64_t digest) {
  plan::Plan& plan = reconcile.plan;
  const std::string reason = "its files name " + Some(unread.nodes) + ", which registered after it had read them";
  const plan::ActionId asked =
      plan.Add({.effect = plan::Reconfigure(plan.slurm_cluster, "nodes " + unread.life + " " + std::to_string(digest)),
                .reason = reason,
                .guards = {},
                .after = {},
                .event = {}});
  AnnotatePod(plan, "note", pod, kAnnotationNodesRead, unread.life + " " + FormatRfc3339(reconcile.world.now()),
              "slurmctld was reconfigured", {asked});
}

}  // namespace

void ReadWithNewNodes(ReconcileBase& reconcile, std::vector<std::string> named, const kube::Key& key) {
  const plan::World& world = reconcile.world;
  plan::Plan& plan = reconcile.plan;
  const Pod* pod = world.Find<Pod>(key);
  if (named.empty() || !plan.slurm || pod == nullptr) return;
  const auto answer = world.Ask(UnreadNodes(plan.slurm_cluster, std::move(named)), kLookAgain);
  if (answer.value == nullptr || answer.value->nodes.empty()) return;
  const UnreadNodes::Value& unread = *answer.value;
  if (const auto asked = AskedAt(*pod, unread.life)) {
    if (world.now() < *asked + kTakesEffect) return plan.RequeueAfter(*asked + kTakesEffect - world.now());
    return reconcile.findings.Problem(
        "NodesUnread",
        "slurmctld was asked to read its files with " + Some(unread.nodes) +
            ", which registered later, and goes on without: they are in none of the switches, blocks and "
            "partitions that name them. Its log says why; then run: scontrol reconfigure");
  }
  reconcile.findings.Wait("ReadingNodes", "slurmctld is about to read its files again, which name " +
                                              Some(unread.nodes) + ": registered after it had read them");
  const uint64_t digest = Fnv64(Join(unread.nodes, ","));
  const Duration any = world.HeldFor("unread nodes in " + unread.life);
  const Duration these = world.HeldFor("unread nodes " + std::to_string(digest) + " in " + unread.life);
  if (any < kAtLatest && these < kSettles) return plan.RequeueAfter(std::min(kSettles - these, kAtLatest - any));
  Ask(reconcile, *pod, unread, digest);
}

}  // namespace capstan::op::controller
