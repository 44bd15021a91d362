#include "slurm/named_nodes.h"

#include <algorithm>
#include <functional>
#include <set>

#include "base/text.h"
#include "slurm/conf.h"

namespace capstan::slurm {
namespace {

constexpr std::string_view kNaming[] = {"SwitchName", "BlockName", "PartitionName"};

std::vector<std::string> InConf(std::string_view text) {
  std::vector<std::string> named;
  std::set<std::string, std::less<>> sets;  // that stand for nodes by themselves
  const auto look = [&](const ConfLine& line) {
    const std::string& first = line.items.front().key;
    if (EqualsIgnoreCase(first, "NodeSet")) sets.insert(line.items.front().value);
    if (std::ranges::none_of(kNaming, [&](std::string_view key) { return EqualsIgnoreCase(first, key); })) return true;
    for (const ConfItem& item : line.items) {
      if (EqualsIgnoreCase(item.key, "Nodes") && !item.value.empty()) named.push_back(item.value);
    }
    return true;
  };
  if (!ForEachConfLine(text, look)) return {};
  std::erase_if(named, [&](const std::string& hosts) {
    return std::ranges::all_of(
        Split(hosts, ','), [&](std::string_view one) { return EqualsIgnoreCase(one, "ALL") || sets.contains(one); });
  });
  return named;
}

// The value behind "nodes:" as a line of YAML has it: quoted, or up to a comment.
std::string ValueIn(std::string_view rest) {
  rest = Trim(rest);
  if (rest.starts_with('"') || rest.starts_with('\'')) return std::string(rest.substr(1, rest.find(rest[0], 1) - 1));
  return std::string(Trim(rest.substr(0, std::min({rest.find(" #"), rest.find('}'), rest.find(", ")}))));
}

// Not a reader of YAML: in this file "nodes" has no other meaning.
std::vector<std::string> InYaml(std::string_view text) {
  constexpr std::string_view kKey = "nodes";
  std::vector<std::string> named;
  for (std::string_view line : Split(text, '\n')) {
    if (Trim(line).starts_with('#')) continue;
    for (size_t at = line.find(kKey); at != line.npos; at = line.find(kKey, at)) {
      const bool begins = at == 0 || std::string_view(" \t-{,\"'").contains(line[at - 1]);
      at += kKey.size();
      std::string_view rest = line.substr(at);
      if (rest.starts_with('"') || rest.starts_with('\'')) rest.remove_prefix(1);
      rest = Trim(rest);
      if (!begins || !rest.starts_with(':')) continue;
      if (std::string value = ValueIn(rest.substr(1)); !value.empty()) named.push_back(std::move(value));
    }
  }
  return named;
}

}  // namespace

std::vector<std::string> NamedNodes(std::string_view file, std::string_view text) {
  if (file == "topology.yaml") return InYaml(text);
  return file.ends_with(".conf") ? InConf(text) : std::vector<std::string>();
}

}  // namespace capstan::slurm
