#include "operator/controller/published_lines.h"

#include <utility>

#include "base/text.h"

namespace capstan::op::controller {

std::vector<std::vector<slurm::ConfItem>> DefiningLines(std::string_view text) {
  std::vector<std::vector<slurm::ConfItem>> found;
  const auto take = [&found](const std::vector<slurm::ConfItem>& items) {
    if (items.empty()) return;
    for (const char* key : {"PartitionName", "NodeSet", "NodeName"})
      if (EqualsIgnoreCase(items.front().key, key)) found.push_back(items);
  };
  const auto read = slurm::ForEachConfLine(text, [&take](const slurm::ConfLine& line) {
    take(line.items);
    return true;
  });
  if (read) return found;
  found.clear();
  for (const std::string_view line : Split(text, '\n'))
    if (auto items = slurm::ParseConfItems(line.substr(0, line.find('#')), "")) take(*items);
  return found;
}

PublishedLines::PublishedLines(std::string_view text) {
  for (auto& line : DefiningLines(text)) {
    const slurm::ConfItem first = line.front();
    if (EqualsIgnoreCase(first.key, "PartitionName") && !EqualsIgnoreCase(first.value, "DEFAULT"))
      partitions.try_emplace(first.value, std::move(line));
    else if (EqualsIgnoreCase(first.key, "NodeSet"))
      node_sets.try_emplace(first.value, std::move(line));
  }
}

}  // namespace capstan::op::controller
