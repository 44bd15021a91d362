#include "bridge/nodes.h"

#include "bridge/names.h"
#include "json/codec.h"

namespace capstan::bridge {
namespace {

constexpr auto kBySlurmName = "slurm-nodename";

// The comment that slurm-operator gives a worker's record, Slinky's and Capstan's alike.
struct WorkerComment {
  std::string node;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<WorkerComment>({json::Field<&WorkerComment::node>("node")});
    return schema;
  }
};

std::string NodeOfWorker(const slurm::Node& record) {
  if (!record.comment.starts_with('{')) return {};
  const auto comment = json::Decode<WorkerComment>(record.comment);
  return comment ? comment->node : std::string();
}

}  // namespace

Result<std::string> KubernetesNodeOf(const plan::World& world, const plan::SlurmView& slurm,
                                     const std::string& slurm_node) {
  const auto labelled = world.By<Node>(kBySlurmName, slurm_node);
  if (labelled.size() == 1) return labelled[0].metadata.name;
  if (labelled.size() > 1) {
    return Fail(Code::kInvalid, "Kubernetes nodes " + labelled[0].metadata.name + " and " + labelled[1].metadata.name +
                                    " both bear the label " + std::string(kSlurmNodeName) + "=" + slurm_node +
                                    "; only one of them can be that Slurm node");
  }
  const slurm::Node* record = slurm.Find(slurm_node);
  std::string node = record != nullptr ? NodeOfWorker(*record) : std::string();
  if (node.empty()) node = slurm_node;
  if (world.Find<Node>({"", node}) != nullptr) return node;
  return Fail(Code::kInvalid, "Slurm node " + slurm_node + " is no node of this Kubernetes cluster; label one with " +
                                  std::string(kSlurmNodeName) + "=" + slurm_node +
                                  ", or keep the partition to nodes that are");
}

Result<std::string> SlurmNodeOf(const plan::World& world, const plan::SlurmView& slurm, const std::string& name) {
  const Node* node = world.Find<Node>({"", name});
  if (node != nullptr)
    if (const std::string& label = node->metadata.Label(std::string(kSlurmNodeName)); !label.empty()) return label;
  for (const slurm::Node& record : slurm.All())
    if (NodeOfWorker(record) == name) return record.name;
  if (slurm.Find(name) != nullptr) return name;
  return Fail(Code::kInvalid, "no Slurm node is known to be Kubernetes node " + name);
}

kube::ObjectList<Node> WithSlurmName(const plan::World& world, const std::string& slurm_node) {
  return world.By<Node>(kBySlurmName, slurm_node);
}

void AddNodeStore(plan::Stores& stores) {
  stores.Add<Node>({.everywhere = true}).AddIndex(kBySlurmName, [](const Node& node) {
    const std::string& name = node.metadata.Label(std::string(kSlurmNodeName));
    return name.empty() ? std::vector<std::string>() : std::vector{name};
  });
}

}  // namespace capstan::bridge
