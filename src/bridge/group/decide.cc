#include "bridge/group/decide.h"

#include "bridge/group/group.h"
#include "bridge/group/leftovers.h"
#include "bridge/group/members.h"
#include "bridge/names.h"
#include "bridge/objects.h"
#include "bridge/roots.h"
#include "bridge/settings.h"

namespace capstan::bridge::group {
namespace {

using plan::Plan;
using plan::World;

// The namespace whose uid names the Kubernetes cluster.
const kube::Key kSystem{"", "kube-system"};

// Row 1. What is left of a group whose last pod is gone are the jobs that it followed.
Plan Gone(const World& world, const kube::Key& key) {
  Plan plan;
  if (world.follows().empty()) return plan;
  plan.slurm_cluster = kSlurm;
  // A JobSet that begins anew makes a Job once the pods of the one before have gone.
  const Duration held = KindOf(key.name) == Kind::kJobSet ? world.HeldFor("the group has no pod") : kFollowersCome;
  const Namespace* system = world.Find<Namespace>(kSystem);
  if (held < kFollowersCome) plan.RequeueAfter(kFollowersCome - held);
  if (system != nullptr && held >= kFollowersCome)
    EndLeftovers(plan, world, {system->metadata.uid, SettingsOf(world).bridge, key.ToString()}, {}, "Deleted");
  else
    plan.slurm_follows.assign(world.follows().begin(), world.follows().end());
  return plan;
}

}  // namespace

Plan Decide(const World& world, const kube::Key& key) {
  const auto pods = world.By<Pod>(kGroup, key.ToString());
  if (pods.empty()) return Gone(world, key);
  const Namespace* system = world.Find<Namespace>(kSystem);
  if (system == nullptr) return {};
  return Group(world, key, pods, system->metadata.uid).Decide();
}

std::vector<plan::Right> Rights() {
  return {{&kube::kPods, "get list watch patch delete"},
          {&kube::kPods, "patch", "status"},
          {&kube::kNodes, "get list watch"},
          {&kube::kNamespaces, "get list watch"},
          {&kReplicaSets, "get"},
          {&kube::kDeployments, "get"},
          {&kube::kStatefulSets, "get"},
          {&Job::kResource, "get list watch"},
          {&PodGroup::kResource, "get list watch"},
          {&LeaderWorkerSet::kResource, "get list watch"},
          {&JobSet::kResource, "get list watch"}};
}

void AddPodStores(plan::Stores& stores, const std::string& bridge) {
  auto& pods = stores.Add<Pod>({.label_selector = std::string(kBridged) + "=" + bridge, .everywhere = true});
  // The answer to a write of another pod is kept here for a while, too, and belongs to no group.
  const auto is_bridged = [bridge](const Pod& pod) { return pod.metadata.Label(std::string(kBridged)) == bridge; };
  pods.AddIndex(kGroup, [is_bridged](const Pod& pod) {
    return is_bridged(pod) ? std::vector{GroupOf(pod)} : std::vector<std::string>();
  });
  // By the Kubernetes node that it is on, or was released to.
  pods.AddIndex("node", [is_bridged](const Pod& pod) {
    if (!is_bridged(pod)) return std::vector<std::string>();
    const std::string& node = pod.IsBound() ? pod.spec.node_name : pod.metadata.Annotation(std::string(kSlurmNode));
    return node.empty() ? std::vector<std::string>() : std::vector{node};
  });
  stores.Add<Job>({.everywhere = true});
  stores.Add<PodGroup>({.everywhere = true, .optional = true});
  stores.Add<LeaderWorkerSet>({.everywhere = true, .optional = true});
  stores.Add<JobSet>({.everywhere = true, .optional = true});
}

}  // namespace capstan::bridge::group
