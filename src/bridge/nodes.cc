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

Result<std::string> KubernetesNodeOf(const plan::World& world, const plan::SlurmView& slurm,
                                     const std::string& slurm_node) {
  const auto labelled = world.By<Node>(kBySlurmName, slurm_node);
  if (labelled.size() == 1) return labelled[0].metadata.name;
  if (labelled.size() > 1) {
    return Fail(Code::kInvalid, "Kubernetes nodes " + labelled[0].metadata.name + " and " + labelled[1].metadata.name +
                                    " both bear the label " + std::string(kSlurmNodeName) + "=" + slurm_node +
                                    "; only one of them can be that Slurm node");
  }
  // Not asked for where a label tells: who asks has read it.
  const slurm::Node* known = slurm.Find(slurm_node);
  const auto worker = known != nullptr ? WorkerOf(*known) : std::nullopt;
  const Node* node = world.Find<Node>({"", worker ? worker->node : slurm_node});
  if (node != nullptr && (worker || node->SlurmName() == slurm_node)) return node->metadata.name;
  return Fail(Code::kInvalid, "Slurm node " + slurm_node + " is no node of this Kubernetes cluster; label one with " +
                                  std::string(kSlurmNodeName) + "=" + slurm_node +
                                  ", or keep the partition to nodes that are");
}

KubernetesNodes::KubernetesNodes(const plan::World& world) : all_(world.In<Node>("")) {
  for (const Node& node : all_)
    if (const std::string& name = node.SlurmName(); &name != &node.metadata.name) labelled_.emplace_back(name, &node);
  std::ranges::sort(labelled_);
}

const Node* KubernetesNodes::Named(std::string_view name) const {
  size_t begin = 0, end = all_.size();
  while (begin < end) {
    const size_t middle = begin + (end - begin) / 2;
    const std::string& at = all_[middle].metadata.name;
    if (at == name) return &all_[middle];
    (at < name ? begin : end) = at < name ? middle + 1 : middle;
  }
  return nullptr;
}

const Node* KubernetesNodes::Of(const slurm::Node& record) const {
  const auto labelled = std::ranges::equal_range(labelled_, std::string_view(record.name), {},
                                                 &std::pair<std::string_view, const Node*>::first);
  if (!labelled.empty()) return labelled.size() == 1 ? labelled.front().second : nullptr;
  const auto worker = WorkerOf(record);
  const Node* node = Named(worker ? worker->node : record.name);
  return node != nullptr && (worker || node->SlurmName() == record.name) ? node : nullptr;
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
