#include "operator/controller/conf_lines.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace capstan::op::controller {
namespace {

using slurm::ConfItem;
using slurm::ConfLine;

constexpr std::string_view kLastCounts[] = {"AccountingStorageEnforce", "AccountingStorageType", "ClusterName",
                                            "MaxNodeCount"};

bool Is(const ConfItem& item, std::string_view key) { return EqualsIgnoreCase(item.key, key); }

}  // namespace

ConfLines::ConfLines(std::string_view text) {
  readable = slurm::ForEachConfLine(text, [this](const ConfLine& line) {
    Take(line);
    return true;
  });
  if (!readable) {
    defining.clear();
    included.clear();
    last_.clear();
    for (const std::string_view line : Split(text, '\n'))
      if (auto items = slurm::ParseConfItems(line.substr(0, line.find('#')), ""); items && !items->empty())
        Take({.number = 0, .items = *std::move(items)});
  }
  for (const ConfLine& line : defining) {
    const ConfItem& first = line.items.front();
    if (Is(first, "PartitionName") && !EqualsIgnoreCase(first.value, "DEFAULT"))
      partitions.try_emplace(first.value, &line.items);
    else if (Is(first, "NodeSet"))
      node_sets.try_emplace(first.value, &line.items);
  }
}

void ConfLines::Take(const ConfLine& line) {
  const ConfItem& first = line.items.front();
  if (Is(first, "PartitionName") || Is(first, "NodeSet")) return defining.push_back(line);
  if (Is(first, "NodeName")) return defining.push_back({line.number, {first}});
  if (Is(first, "Include")) return included.push_back(first.value);
  for (const std::string_view option : kLastCounts)
    if (Is(first, option)) last_[ToLower(option)] = first.value;
}

std::string ConfLines::Last(std::string_view option) const {
  const auto found = last_.find(ToLower(option));
  return readable && found != last_.end() ? found->second : "";
}

slurm::HostIndex ConfLines::Defined() const {
  slurm::HostIndex index;
  for (const ConfLine& line : defining) {
    const ConfItem& first = line.items.front();
    if (Is(first, "NodeSet")) index.AddName(first.value);
    if (!Is(first, "NodeName")) continue;
    if (const auto list = slurm::Hostlist::Parse(first.value)) (void)index.Add(*list);
  }
  return index;
}

}  // namespace capstan::op::controller
