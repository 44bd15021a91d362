#include "operator/slurmcluster/slurm_conf.h"

#include <algorithm>
#include <array>
#include <set>

#include "api/nodeset.h"
#include "base/text.h"
#include "operator/names.h"
#include "operator/render/cluster.h"
#include "operator/slurmcluster/parts.h"
#include "slurm/conf.h"
#include "slurm/conf_values.h"

namespace capstan::op::slurmcluster {
namespace {

using api::SlurmCluster;
using render::Json;

constexpr std::string_view kOnlyPartition = "all";  // of a cluster that names none

Result<std::string> OptionText(const Json& value, const std::string& where) {
  if (value.is_null()) return std::string();
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_array()) {
    std::vector<std::string> words;
    for (const Json& element : value.get_array()) {
      if (element.is_array() || element.is_object())
        return Fail(Code::kInvalid, where + " is a list of lists or objects");
      CAPSTAN_TRY(words.emplace_back(), OptionText(element, where));
    }
    return Join(words, ",");
  }
  if (value.is_object())
    return Fail(Code::kInvalid, where + " is an object, must be text, a number, true or false, or a list of these");
  return json::Serialize(value);
}

Result<void> AddOptions(slurm::ConfText& text, const SlurmCluster& cluster) {
  for (const auto& [key, raw] : cluster.spec.config.slurm_conf) {
    const std::string where = "spec.config.slurmConf." + key;
    if (key.empty() || !std::ranges::all_of(key, [](unsigned char c) { return std::isalnum(c) || c == '_'; }))
      return Fail(Code::kInvalid, "spec.config.slurmConf: " + JsonQuoted(key) + " is not the name of an option");
    Json value;
    if (!raw.empty()) {
      CAPSTAN_TRY(value, json::Parse(raw.text));
    }
    CAPSTAN_TRY(const std::string words, OptionText(value, where));
    if (words.empty()) continue;  // Slurm takes "Key=" for an error
    const auto fits = slurm::ConfValue(words);
    if (!fits) return Fail(Error(fits.error()).WithContext(where));
    text.Set(key, words);
  }
  return {};
}

// What a set is called in Slurm.
Result<std::string> SlurmName(const api::ClusterNodeSet& set) {
  api::NodeSet node_set;
  node_set.metadata.name = set.name;
  const std::string where = "spec.nodeSets[" + set.name + "].spec";
  CAPSTAN_TRY(const Json spec, json::ParseObject(set.spec, where));
  if (const Json* pod = json::Find(spec, {"template", "spec"}); pod != nullptr && pod->is_object())
    node_set.spec.pod_template.spec.text = json::Serialize(*pod);
  return render::SlurmNameOf(node_set);
}

// Nodes= of its line. slurmctld does not start with the name of a NodeSet that is not there.
Result<std::string> NodesOf(const SlurmCluster& cluster, const api::ClusterPartition& partition,
                            const Settings& settings) {
  if (partition.node_sets.empty()) return std::string("ALL");
  std::set<std::string> names;
  for (const std::string& name : partition.node_sets) {
    const auto set = std::ranges::find(cluster.spec.node_sets, name, &api::ClusterNodeSet::name);
    if (set == cluster.spec.node_sets.end())
      return Fail(Code::kInvalid, "spec.partitions[" + partition.name + "].nodeSets names " + JsonQuoted(name) +
                                      ", which is not in spec.nodeSets");
    const auto part = NodeSetPart(cluster, *set, settings);
    if (!part) return Fail(part.error());
    CAPSTAN_TRY(std::string called, SlurmName(*set));
    names.insert(std::move(called));
  }
  return Join(std::vector<std::string>(names.begin(), names.end()), ",");
}

bool NamesAPartition(std::string_view conf) {
  bool named = false;
  const auto look = [&](const slurm::ConfLine& line) {
    const slurm::ConfItem& first = line.items.front();
    named = EqualsIgnoreCase(first.key, "PartitionName") && !EqualsIgnoreCase(first.value, "DEFAULT");
    return !named;
  };
  const bool readable = slurm::ForEachConfLine(conf, look).has_value();
  return named || !readable;  // whose reader will say why
}

// `lines`: what stands behind them.
Result<void> AddPartitions(slurm::ConfText& text, const SlurmCluster& cluster, const std::string& lines,
                           const Settings& settings) {
  std::vector<api::ClusterPartition> partitions = cluster.spec.partitions;
  const auto has_partition = [](const api::ClusterNodeSet& set) { return set.partition.has_value(); };
  if (partitions.empty() && std::ranges::none_of(cluster.spec.node_sets, has_partition) && !NamesAPartition(lines))
    partitions.push_back({.name = std::string(kOnlyPartition), .node_sets = {}, .config = "Default=YES"});
  for (const api::ClusterPartition& partition : partitions) {
    CAPSTAN_TRY(std::string nodes, NodesOf(cluster, partition, settings));
    std::vector<slurm::ConfItem> items{{"PartitionName", partition.name}, {"Nodes", std::move(nodes)}};
    const std::string where = "spec.partitions[" + partition.name + "].config";
    CAPSTAN_TRY(const auto options, slurm::ParseConfItems(partition.config, where));
    items.insert(items.end(), options.begin(), options.end());
    text.Line(items);
  }
  return {};
}

// Steps of jobs join the root in the session that slurmstepd opens by PAM, and Slurm's own namespaces are others.
Result<void> CheckThatStepsJoinTheRoot(std::string_view conf) {
  constexpr std::array<std::string_view, 3> kKeys = {"UsePAM", "NamespaceType", "JobContainerType"};
  std::array<slurm::ConfItem, kKeys.size()> last;
  const auto look = [&](const slurm::ConfLine& line) {
    const auto key = std::ranges::find_if(
        kKeys, [&](std::string_view each) { return EqualsIgnoreCase(line.items.front().key, each); });
    if (key != kKeys.end()) last[size_t(key - kKeys.begin())] = line.items.front();
    return true;
  };
  if (!slurm::ForEachConfLine(conf, look)) return {};  // whose reader will say why
  const auto keeps_out = [&](const slurm::ConfItem& item) {
    if (item.value.empty()) return false;
    if (&item == &last.front()) return slurm::IsOff(item.value);
    return !ToLower(item.value).ends_with("none");
  };
  if (const auto item = std::ranges::find_if(last, keeps_out); item != last.end())
    return Fail(Code::kInvalid,
                item->key + "=" + item->value +
                    " in slurm.conf keeps jobs out of the shared root; leave it out, or spec.sharedRoot");
  return {};
}

}  // namespace

Result<std::string> SlurmConf(const SlurmCluster& cluster, const std::string& of_part, const Settings& settings) {
  slurm::ConfText text;
  if (cluster.spec.shared_root) text.Add("UsePAM", "1");  // steps join it by a session module; the last line counts
  CAPSTAN_CHECK_OK(AddOptions(text, cluster));
  CAPSTAN_CHECK_OK(AddPartitions(text, cluster, cluster.spec.config.extra_conf + "\n" + of_part, settings));
  if (!cluster.spec.config.extra_conf.empty()) text.Verbatim(cluster.spec.config.extra_conf, "spec.config.extraConf");
  if (!of_part.empty()) text.Verbatim(of_part, "spec.controller.spec.extraConf");
  CAPSTAN_TRY(std::string conf, text.Build());
  if (cluster.spec.shared_root) CAPSTAN_CHECK_OK(CheckThatStepsJoinTheRoot(conf));
  return conf;
}

}  // namespace capstan::op::slurmcluster
