#include "bridge/nodes.h"

#include <algorithm>

#include "bridge/names.h"
#include "json/codec.h"

namespace capstan::bridge {
namespace {

constexpr auto kBySlurmName = "slurm-nodename";

// In which entry of the index of Slurm's nodes (Stores::IndexSlurmNodes) a record stands: the Kubernetes node that it seems to be.
std::string MachineOf(const slurm::Node& record) {
  const auto worker = WorkerOf(record);
  return worker ? worker->node : record.name;
}

// `record` returns the one of that name, or nullptr. It is not asked for where a label tells: who asks has read it.
template <class Record>
Result<const Node*> NodeNamed(const plan::World& world, const std::string& slurm_node, const Record& record) {
  const auto labelled = world.By<Node>(kBySlurmName, slurm_node);
  if (labelled.size() == 1) return &labelled[0];
  if (labelled.size() > 1) {
    return Fail(Code::kInvalid, "Kubernetes nodes " + labelled[0].metadata.name + " and " + labelled[1].metadata.name +
                                    " both bear the label " + std::string(kSlurmNodeName) + "=" + slurm_node +
                                    "; only one of them can be that Slurm node");
  }
  const slurm::Node* known = record();
  const auto worker = known != nullptr ? WorkerOf(*known) : std::nullopt;
  const Node* node = world.Find<Node>({"", worker ? worker->node : slurm_node});
  if (node != nullptr && (worker || node->SlurmName() == slurm_node)) return node;
  return Fail(Code::kInvalid, "Slurm node " + slurm_node + " is no node of this Kubernetes cluster; label one with " +
                                  std::string(kSlurmNodeName) + "=" + slurm_node +
                                  ", or keep the partition to nodes that are");
}

}  // namespace

const json::Schema& WorkerPlace::Schema() {
  static const json::Schema schema = json::Object<WorkerPlace>({
      json::Field<&WorkerPlace::ns>("namespace"),
      json::Field<&WorkerPlace::pod>("podName"),
      json::Field<&WorkerPlace::node>("node"),
  });
  return schema;
}

std::optional<WorkerPlace> WorkerOf(const slurm::Node& record) {
  if (!record.comment.starts_with('{')) return std::nullopt;
  auto place = json::Decode<WorkerPlace>(record.comment);
  if (!place || place->node.empty()) return std::nullopt;
  return *std::move(place);
}

Result<const Node*> KubernetesNodeOf(const plan::World& world, const slurm::Node& record) {
  return NodeNamed(world, record.name, [&] { return &record; });
}

Result<std::string> KubernetesNodeOf(const plan::World& world, const plan::SlurmView& slurm,
                                     const std::string& slurm_node) {
  CAPSTAN_TRY(const Node* node, NodeNamed(world, slurm_node, [&] { return slurm.Find(slurm_node); }));
  return node->metadata.name;
}

Result<std::string> SlurmNodeOf(const plan::World& world, const plan::SlurmView& slurm, const std::string& name) {
  const Node* node = world.Find<Node>({"", name});
  if (node != nullptr)
    if (const std::string& label = node->metadata.Label(std::string(kSlurmNodeName)); !label.empty()) return label;
  if (const auto records = slurm.By(name); !records.empty()) return records.front()->name;
  return Fail(Code::kInvalid, "no Slurm node is known to be Kubernetes node " + name);
}

std::vector<const slurm::Node*> RecordsOn(const plan::World& world, const plan::SlurmView& slurm, const Node& node) {
  std::vector<const slurm::Node*> records = slurm.By(node.metadata.name);
  if (const std::string& label = node.metadata.Label(std::string(kSlurmNodeName)); !label.empty())
    if (const slurm::Node* record = slurm.Find(label)) records.push_back(record);
  std::ranges::sort(records, {}, &slurm::Node::name);
  const auto same = std::ranges::unique(records);
  records.erase(same.begin(), same.end());
  std::erase_if(records, [&](const slurm::Node* record) {
    const auto is = KubernetesNodeOf(world, slurm, record->name);
    return !is || *is != node.metadata.name;
  });
  return records;
}

kube::ObjectList<Node> WithSlurmName(const plan::World& world, const std::string& slurm_node) {
  return world.By<Node>(kBySlurmName, slurm_node);
}

void AddNodeStore(plan::Stores& stores) {
  stores.Add<Node>({.everywhere = true}).AddIndex(kBySlurmName, [](const Node& node) {
    const std::string& name = node.metadata.Label(std::string(kSlurmNodeName));
    return name.empty() ? std::vector<std::string>() : std::vector{name};
  });
  stores.IndexSlurmNodes(&MachineOf);
}

}  // namespace capstan::bridge
