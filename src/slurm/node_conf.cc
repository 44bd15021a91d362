#include "slurm/node_conf.h"

#include <algorithm>
#include <map>

#include "base/text.h"

namespace capstan::slurm {
namespace {

struct Item {
  std::string key;     // as first spelled
  std::string values;  // comma-separated
};
using Items = std::map<std::string, Item>;  // by lower-case key

std::unexpected<Error> BadItem(std::string_view token, std::string_view why) {
  return Fail(Code::kInvalid, "extraConf item " + JsonQuoted(token) + " " + std::string(why));
}

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

Result<Items> ParseItems(std::string_view extra_conf) {
  Items items;
  for (std::string_view token : Words(extra_conf)) {
    const size_t equals = token.find('=');
    if (equals == token.npos) return BadItem(token, "has no '='; items look like Weight=10");
    const std::string_view key = token.substr(0, equals), value = token.substr(equals + 1);
    if (key.empty() || !std::ranges::all_of(key, IsNameCharacter)) return BadItem(token, "does not begin with a name");
    if (value.empty()) return BadItem(token, "has no value");
    if (token.find_first_of("\"'\\") != token.npos)
      return BadItem(token, "holds a quote or backslash, which slurmd cannot read");
    if (EqualsIgnoreCase(key, "NodeName")) return BadItem(token, "is not allowed: the node is named after its pod");
    Item& item = items[ToLower(key)];
    if (item.key.empty()) item.key = key;
    item.values += (item.values.empty() ? "" : ",") + std::string(value);
  }
  return items;
}

// Takes the user's features out of `items` and returns them with `features`, sorted, each once.
std::vector<std::string> TakeFeatures(Items& items, std::span<const std::string> features) {
  std::vector<std::string> all(features.begin(), features.end());
  for (const char* key : {"feature", "features"})
    if (const auto node = items.extract(key))
      for (std::string_view value : Split(node.mapped().values, ',')) all.emplace_back(Trim(value));
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::erase(all, "");
  return all;
}

}  // namespace

Result<std::string> NodeConf(std::string_view extra_conf, std::span<const std::string> features,
                             std::string_view topology) {
  CAPSTAN_TRY(Items items, ParseItems(extra_conf));
  const auto all = TakeFeatures(items, features);
  for (const std::string& feature : all)
    if (feature.find_first_of(", \t\r\n\"'\\") != feature.npos)
      return Fail(Code::kInvalid, "feature " + JsonQuoted(feature) + " holds a comma, blank, quote or backslash");
  if (!all.empty()) items["features"] = {"Features", Join(all, ",")};

  std::string last;
  if (const auto node = items.extract("topology"))
    last = node.mapped().key + "=" + node.mapped().values;
  else if (!topology.empty())
    last = "Topology=" + std::string(topology);
  if (last.find_first_of(" \t\r\n\"'\\") != last.npos)
    return Fail(Code::kInvalid,
                "topology " + JsonQuoted(topology) + " holds a blank, quote or backslash, which slurmd cannot read");

  std::vector<std::string> words;
  for (const auto& [lower, item] : items) words.push_back(item.key + "=" + item.values);
  std::ranges::sort(words);
  if (!last.empty()) words.push_back(last);
  return Join(words, " ");
}

}  // namespace capstan::slurm
