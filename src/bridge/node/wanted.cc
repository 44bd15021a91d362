#include "bridge/node/wanted.h"

#include "base/hash.h"
#include "base/text.h"
#include "bridge/names.h"
#include "bridge/taken.h"
#include "kube/quantity.h"

namespace capstan::bridge::node {

Result<kube::Quantity> Allocatable(const Node& node, std::string_view resource) {
  const auto found = node.status.allocatable.find(std::string(resource));
  if (found == node.status.allocatable.end()) return kube::Quantity();
  auto quantity = kube::Quantity::Parse(found->second);
  if (quantity) return *quantity;
  return Fail(Code::kInvalid, "its allocatable " + std::string(resource) + " is " +
                                  JsonQuoted(OneLine(found->second, 50)) + ", which is no quantity");
}

Result<slurm::ExternalNode> ExternalNodeOf(const Node& node, const Settings& settings) {
  slurm::ExternalNode wanted{.name = node.SlurmName(), .address = node.InternalAddress()};
  CAPSTAN_TRY(const kube::Quantity cpu, Allocatable(node, "cpu"));
  CAPSTAN_TRY(const kube::Quantity memory, Allocatable(node, "memory"));
  wanted.cpus = (cpu - settings.reserved_cpu).MilliCeiling() / 1000;
  wanted.memory_mib = (memory - settings.reserved_memory).Ceiling() / kMebi;
  if (wanted.cpus < 1 || wanted.memory_mib < 1) {
    return Fail(Code::kInvalid,
                "it has " + cpu.ToString() + " CPUs and " + memory.ToString() +
                    " of memory allocatable, and nodes.reserve of the bridge leaves Slurm less than one "
                    "CPU or MiB of that");
  }
  int64_t gpus = 0;
  for (const std::string_view resource : kGpuResources) {
    CAPSTAN_TRY(const kube::Quantity some, Allocatable(node, resource));
    gpus += some.Ceiling();
  }
  if (gpus > 0) wanted.gres.push_back({"gpu", gpus});
  for (const std::string_view name : Split(node.metadata.Annotation(std::string(kNodePartitions)), ',')) {
    if (const std::string_view feature = Trim(name); !feature.empty()) wanted.features.emplace_back(feature);
  }
  wanted.topology = node.metadata.Annotation(std::string(kNodeTopology));
  if (const auto line = LineOf(wanted); !line) return Fail(line.error());
  return wanted;
}

std::string SizeOf(const slurm::ExternalNode& node) {
  return Fnv64Hex(std::to_string(node.cpus) + " " + std::to_string(node.memory_mib) + " " + node.GresText());
}

bool HasSizeOf(const slurm::Node& record, const slurm::ExternalNode& node) {
  return record.cpus == node.cpus && record.memory_mib == node.memory_mib &&
         (record.gres.empty() || record.gres == node.GresText());
}

}  // namespace capstan::bridge::node
