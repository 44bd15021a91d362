#include "slurm/partition_nodes.h"

#include <iterator>
#include <utility>

#include "base/text.h"

namespace capstan::slurm {

void PartitionNodes::OfNodeSet(std::string name, size_t line, Hostlist hosts) {
  node_sets_.emplace_back(std::move(name), line, std::move(hosts));
}

void PartitionNodes::OfPartition(size_t line, Hostlist hosts) { partitions_.emplace_back("", line, std::move(hosts)); }

void PartitionNodes::ForEachUndefined(const Undefined& undefined, const Uncompared& uncompared) {
  HostIndex named;
  bool all = true;  // that partitions name are in `named`
  if (!node_sets_.empty())
    for (const Named& one : partitions_) all &= named.Add(one.hosts);
  std::erase_if(node_sets_, [&](const Named& one) {
    const auto name = Hostlist::Parse(one.node_set);
    bool is_named = name.has_value();
    if (name && all) (void)named.ForEachMissing(*name, [&](const std::string&) { return is_named = false; });
    return !is_named;
  });
  std::ranges::move(node_sets_, std::back_inserter(partitions_));
  for (const Named& one : partitions_) {
    std::vector<std::string> told;
    const bool compared = defined_.ForEachMissing(one.hosts, [&](const std::string& name) {
      if (EqualsIgnoreCase(name, "ALL")) return true;
      told.push_back(name);
      return undefined(one.line, one.hosts, name);
    });
    for (const std::string& name : told) defined_.AddName(name);
    if (!compared && uncompared) uncompared(one.line, one.hosts);
  }
}

}  // namespace capstan::slurm
