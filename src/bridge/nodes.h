// Which Kubernetes node a node of Slurm is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bridge/objects.h"
#include "plan/stores.h"
#include "plan/world.h"

namespace capstan::bridge {

// The node that bears the label `slinky.slurm.net/slurm-nodename` with that name; else, of a Slurm worker in a pod, the one
// where the comment of its record says that the pod is; else the one of the same name, unless its label says another. kInvalid: there is none, or two bear
// the label, of which neither is used; in words.
Result<std::string> KubernetesNodeOf(const plan::World& world, const plan::SlurmView& slurm,
                                     const std::string& slurm_node);

// The same for whoever looks at many nodes of Slurm: all of Kubernetes' nodes are one read.
class KubernetesNodes {
 public:
  explicit KubernetesNodes(const plan::World& world);

  // nullptr: there is none, or two bear the label.
  const Node* Of(const slurm::Node& record) const;

 private:
  const Node* Named(std::string_view name) const;

  kube::ObjectList<Node> all_;                                      // by name
  std::vector<std::pair<std::string_view, const Node*>> labelled_;  // by the label's name
};

// The other way round. kInvalid: no Slurm node is known to be that Kubernetes node.
Result<std::string> SlurmNodeOf(const plan::World& world, const plan::SlurmView& slurm, const std::string& node);

// The nodes of Slurm that are this Kubernetes node, by name: none, one, or the workers of several NodeSets on it.
std::vector<const slurm::Node*> RecordsOn(const plan::World& world, const plan::SlurmView& slurm, const Node& node);

// The worker's pod that a record's comment names, and where that is: slurm-operator writes it, Slinky's and Capstan's alike.
struct WorkerPlace {
  std::string ns, pod, node;
  static const json::Schema& Schema();
};
// nullopt: the record is not that of a worker in a pod.
std::optional<WorkerPlace> WorkerOf(const slurm::Node& record);

// Those that bear the label with that name.
kube::ObjectList<Node> WithSlurmName(const plan::World& world, const std::string& slurm_node);

// Adds the store, with the indexes that this needs.
void AddNodeStore(plan::Stores& stores);

}  // namespace capstan::bridge
