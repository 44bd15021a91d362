#include "operator/controller/partitions.h"

#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "slurm/conf.h"
#include "slurm/conf_check.h"
#include "slurm/hostlist.h"
#include "slurm/partition_nodes.h"

namespace capstan::op::controller {
namespace {

using slurm::ConfItem;
using slurm::HostIndex;
using slurm::Hostlist;
using Items = std::vector<ConfItem>;

constexpr size_t kMostKept = 1000;  // NodeSets that are gone
constexpr size_t kMostUndefined = 10'000;
constexpr size_t kLongestValue = 60;  // bytes of a name that are repeated

bool Is(const ConfItem& item, std::string_view key) { return EqualsIgnoreCase(item.key, key); }

// What a person would have written; nullopt: slurm.conf cannot express it.
std::optional<std::string> TextOf(const Items& items) {
  if (items.empty()) return "";
  const auto text = slurm::ConfText().Line(items).Build();
  if (!text) return std::nullopt;
  return std::string(Trim(*text));
}

// The lists behind `Nodes=` in a line, as far as they can be read.
std::vector<Hostlist> NodesOf(const Items& line) {
  std::vector<Hostlist> lists;
  for (const ConfItem& item : line)
    if (Is(item, "Nodes"))
      if (auto list = Hostlist::Parse(item.value)) lists.push_back(*std::move(list));
  return lists;
}

// The first name that is not there; nullopt: none, or the list is too large to be looked at.
std::optional<std::string> FirstMissing(HostIndex& index, const Hostlist& list) {
  std::optional<std::string> first;
  (void)index.ForEachMissing(list, [&first](const std::string& name) {
    if (!EqualsIgnoreCase(name, "ALL")) first = name;
    return !first;
  });
  return first;
}

class Settling {
 public:
  Settling(Config& config, Findings& findings)
      : config_(config), own_(config.extra_conf.lines()), last_(config.published.lines()), findings_(findings) {}

  Result<void> Run() {
    std::set<std::string> own(config_.included);
    for (const auto& [name, line] : own_.partitions) own.insert(name);
    for (ConfigNodeSet& set : config_.node_sets) {
      if (!set.partition) continue;
      if (own.contains(set.name)) {
        set.partition = false;
        findings_.Problem("NameConflict",
                          "NodeSet " + set.where + " has no partition " + set.name +
                              ": spec.extraConf, or a file that it includes, defines one of that name; " +
                              "rename that, or set spec.partition.enabled of the NodeSet to false");
      } else {
        CAPSTAN_CHECK_OK(Settle(set));
      }
    }
    KeepNodeSets();
    return {};
  }

 private:
  Result<void> Settle(ConfigNodeSet& set) {
    const std::string why = WhyNot(set.partition_config);
    if (why.empty()) return {};
    const std::string sentence = "spec.partition.config of NodeSet " + set.where + ": " + why;
    if (config_.is_lost) return Fail(Code::kInvalid, sentence);
    const auto last = AsPublished(set.name);
    set.partition = last.has_value();
    set.partition_config = last.value_or(std::string());
    findings_.Problem("ConfigRefused", sentence + ". Its partition " +
                                           (last ? "stays as it is published" : "is left out of slurm.conf"));
    return {};
  }

  // "": slurmctld starts with it.
  std::string WhyNot(const std::string& options) {
    for (const slurm::ConfFinding& finding : slurm::CheckPartition(options))
      if (finding.refused) return finding.text;
    const auto items = slurm::ParseConfItems(options, "");
    if (!items) return items.error().message();
    for (const ConfItem& item : *items)
      if (IsQosInVain(item))
        return item.key + "= needs accounting; name an Accounting in spec.accountingRef of the Controller";
    if (config_.is_lost) return "";         // what nodes were named is not known
    if (!own_.included.empty()) return "";  // what they define is not known
    for (const Hostlist& list : NodesOf(*items)) {
      if (!defined_) DefineAll();
      if (const auto missing = FirstMissing(*defined_, list))
        return "Nodes= has " + OneLine(*missing, kLongestValue) + ", which is no NodeSet and no NodeName of slurm.conf";
    }
    return "";
  }

  bool IsQosInVain(const ConfItem& item) const { return slurm::NeedsQos(item) && !HasAccounting(config_); }

  // What `Nodes=` may name; NodeSets that are gone stay for it.
  void DefineAll() {
    defined_.emplace(own_.Defined());
    for (const ConfigNodeSet& set : config_.node_sets) defined_->AddName(set.name);
    for (const auto& [name, line] : last_.node_sets)
      if (IsOurs(name, *line)) defined_->AddName(name);
    for (const std::string& name : config_.taken) defined_->AddName(name);
    for (const std::string& name : UndefinedNodes(last_)) defined_->AddName(name);
  }

  // Its options, behind its name and the nodes of the NodeSet. They are not looked at again: what is wrong with them is in force.
  std::optional<std::string> AsPublished(const std::string& name) {
    const auto found = last_.partitions.find(name);
    if (found == last_.partitions.end()) return std::nullopt;
    const Items& line = *found->second;
    if (line.size() < 2 || line[1] != ConfItem{"Nodes", name}) return std::nullopt;
    Items rest(line.begin() + 2, line.end());
    std::erase_if(rest, [this](const ConfItem& item) { return item.value.empty() || IsQosInVain(item); });
    return TextOf(rest);
  }

  static bool IsOurs(const std::string& name, const Items& line) {
    return line == Items{{"NodeSet", name}, {"Feature", name}};
  }

  void KeepNodeSets() {
    std::set<std::string> gone;
    for (const auto& [name, line] : last_.node_sets)
      if (IsOurs(name, *line) && !config_.taken.contains(name) && !slurm::IsReservedName(name)) gone.insert(name);
    for (const ConfigNodeSet& set : config_.node_sets) gone.erase(set.name);
    for (const auto& [name, line] : own_.node_sets) gone.erase(name);
    if (gone.empty()) return;
    HostIndex named;
    bool all = true;  // that partitions name are there
    const auto name_all = [&](const Items& items) {
      for (const Hostlist& list : NodesOf(items)) all &= named.Add(list);
    };
    for (const slurm::ConfLine& line : own_.defining)
      if (Is(line.items.front(), "PartitionName")) name_all(line.items);
    for (const ConfigNodeSet& set : config_.node_sets)
      if (const auto items = slurm::ParseConfItems(set.partition_config, ""); set.partition && items) name_all(*items);
    size_t kept = 0;
    for (const std::string& name : gone) {
      const auto list = Hostlist::Parse(name);
      if (!list || (all && FirstMissing(named, *list)) || ++kept > kMostKept) continue;
      config_.node_sets.push_back({.name = name});
      findings_.Remark("ConfigDoubtful", "NodeSet " + name +
                                             " is gone, and `Nodes=` of a partition names it: its line " +
                                             "stays in slurm.conf, without nodes. Remove the name from the partition");
    }
  }

  Config& config_;
  const ConfLines &own_, &last_;
  Findings& findings_;
  std::optional<HostIndex> defined_;  // made when it is asked for
};

}  // namespace

Result<void> SettlePartitions(Config& config, Findings& findings) { return Settling(config, findings).Run(); }

std::vector<std::string> UndefinedNodes(const ConfLines& conf) {
  if (!conf.included.empty()) return {};
  slurm::PartitionNodes nodes;
  for (const slurm::ConfLine& line : conf.defining) {
    const ConfItem& first = line.items.front();
    const bool is_set = Is(first, "NodeSet");
    if (Is(first, "NodeName")) {
      if (const auto list = Hostlist::Parse(first.value)) (void)nodes.DefineNodes(*list);
      continue;
    }
    if (is_set) nodes.Define(first.value);
    for (Hostlist& list : NodesOf(line.items)) {
      if (is_set)
        nodes.OfNodeSet(first.value, line.number, std::move(list));
      else
        nodes.OfPartition(line.number, std::move(list));
    }
  }
  std::vector<std::string> undefined;
  nodes.ForEachUndefined([&undefined](size_t, const Hostlist&, const std::string& name) {
    if (undefined.size() == kMostUndefined) return false;
    undefined.push_back(name);
    return true;
  });
  return undefined;
}

}  // namespace capstan::op::controller
