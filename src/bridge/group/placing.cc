#include "bridge/group/placing.h"

#include <map>

#include "base/text.h"
#include "bridge/fit.h"
#include "bridge/mark.h"
#include "bridge/names.h"
#include "bridge/nodes.h"
#include "bridge/settings.h"
#include "slurm/hostlist.h"

namespace capstan::bridge::group {
namespace {

using plan::World;

// Slurm has given it its share of the node, and knows so still: it cannot be in the way.
bool HoldsItsPlace(const World& world, const std::string& cluster, const Pod& other) {
  const int64_t id = JobIdOf(other);
  const auto* known = id > 0 ? world.Slurm(kSlurm).FindJob(id) : nullptr;
  if (known == nullptr || !*known || !(*known)->state.Has(slurm::JobFlag::kRunning)) return false;
  return (*known)->admin_comment.starts_with(JobMark{cluster, SettingsOf(world).bridge, GroupOf(other)}.Prefix());
}

// Why no pod can go to the Kubernetes node now; "": it can.
std::string TroubleOn(const World& world, const std::string& cluster, const std::string& name) {
  const Node* node = world.Find<Node>({"", name});
  if (node == nullptr) return "Kubernetes node " + name + " is not there";
  if (!node->IsReady()) return "Kubernetes node " + name + " is not ready";
  if (node->spec.unschedulable) return "Kubernetes node " + name + " is cordoned";
  for (const Pod& other : world.By<Pod>("node", name)) {
    if (other.HasEnded() || HoldsItsPlace(world, cluster, other)) continue;
    return "pod " + other.key().ToString() + " is still on Kubernetes node " + name +
           (other.metadata.deleting() ? " and ends" : ", though no job that runs is known for it");
  }
  return {};
}

std::string WhyUnsuitable(const World& world, const Pod& pod, const std::string& name) {
  const Node* node = world.Find<Node>({"", name});
  if (node == nullptr) return {};
  const std::string why = Needs(pod, SettingsOf(world)).WhyNot(*node);
  return why.empty() ? "" : "Kubernetes node " + name + " " + why;
}

// One node of the job.
struct Seat {
  std::string slurm_node, node;
  int64_t free;
};

Result<std::vector<Seat>> Seats(const World& world, const Members& members, const slurm::Job& job,
                                int64_t pods_per_node) {
  const auto nodes = slurm::HostSet::Parse(job.nodes);
  if (!nodes || nodes->empty())
    return Fail(Code::kInvalid, "its nodes are \"" + OneLine(job.nodes, 100) + "\", of which none can be told");
  std::map<std::string, int64_t> there;
  for (const auto* list : {&members.released, &members.leaving})
    for (const Pod* pod : *list)
      if (members.BearsIt(*pod)) ++there[NodeOf(*pod)];
  std::vector<Seat> seats;
  for (const std::string& name : nodes->names()) {
    CAPSTAN_TRY(std::string node, KubernetesNodeOf(world, world.Slurm(kSlurm), name));
    const int64_t free = pods_per_node - there[node];
    seats.push_back({name, std::move(node), free});
  }
  return seats;
}

}  // namespace

Placing PlaceIn(const World& world, const Members& members, const slurm::Job& job, int64_t pods_per_node,
                const std::string& cluster) {
  Placing placing;
  auto seats = Seats(world, members, job, pods_per_node);
  if (!seats) {
    placing.trouble = seats.error().message();
    return placing;
  }
  auto seat = seats->begin();
  const auto next = [&] {
    while (seat != seats->end() && seat->free <= 0) ++seat;
    return seat != seats->end();
  };
  std::map<std::string, std::string> troubles;
  for (const bool of_job : {true, false}) {
    for (const Pod* pod : members.gated) {
      if (members.BearsIt(*pod) != of_job) continue;
      if (!next()) {
        placing.without_place.push_back(pod);
        continue;
      }
      --seat->free;
      if (!of_job) {
        placing.newcomers.push_back(pod);
        continue;
      }
      placing.releases.push_back({pod, seat->slurm_node, seat->node});
      if (placing.unsuitable) continue;
      if (std::string why = WhyUnsuitable(world, *pod, seat->node); !why.empty()) {
        placing.trouble = std::move(why);
        placing.unsuitable = true;
      } else if (placing.trouble.empty() && !troubles.contains(seat->node)) {
        placing.trouble = troubles[seat->node] = TroubleOn(world, cluster, seat->node);
      }
    }
  }
  return placing;
}

}  // namespace capstan::bridge::group
