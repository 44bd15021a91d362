#include "slurm/conf_check.h"

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <span>
#include <utility>

#include "base/text.h"
#include "slurm/conf.h"
#include "slurm/conf_options.h"
#include "slurm/conf_values.h"
#include "slurm/hostlist.h"
#include "slurm/partition_nodes.h"

namespace capstan::slurm {
namespace {

constexpr size_t kLongestValue = 60;  // bytes of a value that are repeated

class Check {
 public:
  explicit Check(ConfFile file, std::span<const std::string> known = {})
      : slurm_conf_(file == ConfFile::kSlurm), table_(TableOf(file)), known_(known) {}

  std::vector<ConfFinding> Run(std::string_view text) {
    const auto read = ForEachConfLine(text, [this](const ConfLine& line) {
      line_ = line.number;
      if (!IsFull()) Line(line.items);
      return true;
    });
    if (!read) return {{.refused = true, .text = read.error().message()}};
    for (const ConfFinding& finding : std::views::values(last_)) Add(finding);

    line_ = 0;
    Preemption();
    for (const std::string& name : known_) nodes_.Define(name);
    LookForNodes();
    return std::move(findings_);
  }

  // An empty value counts as none: whoever writes the line leaves it out.
  std::vector<ConfFinding> RunPartition(std::string_view options) {
    const auto items = ParseConfItems(options, "the text");
    if (!items) {
      Add(true, items.error().message());
      return std::move(findings_);
    }
    for (const ConfItem& item : *items) {
      if (EqualsIgnoreCase(item.key, "PartitionName"))
        Add(true, item.key + "= cannot be set here");
      else if (!item.value.empty())
        Item(PartitionOptions(), item);
    }
    for (const ConfItem& item : *items)
      if (!item.value.empty())
        if (const auto line = ConfText().Line(std::span(&item, 1)).Build(); !line) Add(true, line.error().message());
    return std::move(findings_);
  }

 private:
  static const OptionTable& TableOf(ConfFile file) {
    switch (file) {
      case ConfFile::kSlurm:
        return SlurmOptions();
      case ConfFile::kCgroup:
        return CgroupOptions();
      case ConfFile::kGres:
        return GresOptions();
      case ConfFile::kSlurmdbd:
        return SlurmdbdOptions();
      case ConfFile::kTopology:
        return TopologyOptions();
    }
    return SlurmOptions();
  }

  static bool MayRefuse(const ConfFinding& finding) { return finding.refused || finding.unknown_node; }

  // Nothing that follows would be told.
  bool IsFull() const { return may_refuse_ == kMostConfFindings; }
  // No doubt that follows would be.
  bool HasDoubts() const { return findings_.size() == kMostConfFindings; }

  // For want of room what may refuse the text takes the place of a doubt.
  void Add(ConfFinding finding) {
    if (HasDoubts()) {
      const auto doubt = std::ranges::find_if_not(findings_, MayRefuse);
      if (!MayRefuse(finding) || doubt == findings_.end()) return;
      findings_.erase(doubt);
    }
    may_refuse_ += MayRefuse(finding);
    const auto after = std::ranges::upper_bound(findings_, finding.line, {}, &ConfFinding::line);
    findings_.insert(after, std::move(finding));
  }

  void Add(bool refused, std::string text, bool unknown_node = false) {
    Add({refused, line_, std::move(text), unknown_node});
  }

  void Line(const std::vector<ConfItem>& items) {
    const ConfItem& first = items.front();
    const Option* option = Item(table_, first);
    if (option == nullptr) return;
    const std::optional<Hostlist> defined = std::exchange(hosts_read_, std::nullopt);
    const OptionTable* rest = option->line;
    if (rest == nullptr && items.size() > 1)
      return Add(true,
                 OneLine(items[1].key, kLongestValue) + " stands behind " + first.key + "; give it a line of its own");
    for (size_t i = 1; i < items.size() && !IsFull(); ++i) {
      Item(*rest, items[i]);
      if (EqualsIgnoreCase(first.key, "NodeSet") && EqualsIgnoreCase(items[i].key, "Nodes")) {
        if (auto hosts = Hostlist::Parse(items[i].value)) nodes_.OfNodeSet(first.value, line_, *std::move(hosts));
      }
      if (hosts_read_) nodes_.OfPartition(line_, *std::exchange(hosts_read_, std::nullopt));
    }
    if (slurm_conf_) Remember(first, defined);
  }

  // What other lines must agree with.
  void Remember(const ConfItem& first, const std::optional<Hostlist>& defined) {
    const auto is = [&first](std::string_view key) { return EqualsIgnoreCase(first.key, key); };
    if (is("PreemptMode")) preempt_mode_ = first.value;
    if (is("PreemptType")) preempt_type_ = first.value;
    if (is("NodeSet")) nodes_.Define(first.value);
    if (is("Include")) includes_ = true;
    if (defined && is("NodeName") && !EqualsIgnoreCase(first.value, "DEFAULT")) DefinesNodes(*defined);
  }

  void DefinesNodes(const Hostlist& hosts) {
    const bool compared = nodes_.DefineNodes(hosts, [this](const std::string& name) {
      Add(true, "NodeName=" + OneLine(name, kLongestValue) + " is there twice; remove one");
      return !IsFull();
    });
    if (!compared) NotCompared("NodeName=" + OneLine(hosts.text(), kLongestValue));
  }

  // Of each Nodes= the first name that is not there and not told yet.
  void LookForNodes() {
    nodes_.ForEachUndefined(
        [this](size_t line, const Hostlist& hosts, const std::string& name) {
          line_ = line;
          Add(false,
              "Nodes=" + OneLine(hosts.text(), kLongestValue) + " has " + OneLine(name, kLongestValue) +
                  ", which is no NodeSet and no NodeName of slurm.conf; slurmctld does not start while it "
                  "has no such node: name NodeSets, or nodes by a feature (NodeSet=NAME Feature=FEATURE)",
              !includes_);
          return false;
        },
        [this](size_t line, const Hostlist& hosts) {
          line_ = line;
          NotCompared("Nodes=" + OneLine(hosts.text(), kLongestValue));
        });
  }

  // Of one text told once.
  void NotCompared(const std::string& what) {
    if (std::exchange(not_compared_, true)) return;
    Add(false, "whether its hosts are known, and none is there twice, is not looked at from " + what +
                   " on: too many names have several numbers; write them with one bracket at the end, as n[0001-5000]");
  }

  // nullptr: it is not known.
  const Option* Item(const OptionTable& table, const ConfItem& item) {
    if (IsFull()) return nullptr;
    const Option* option = FindOption(table, item.key);
    if (option == nullptr) {
      if (HasDoubts()) return nullptr;
      const std::string_view nearest = NearestOption(table, item.key);
      Add(false, "Slurm 26.05 knows no option " + OneLine(item.key, kLongestValue) +
                     (nearest.empty() ? " there" : "; is " + std::string(nearest) + " meant?"));
      return nullptr;
    }
    const bool is_none = item.value.empty() && option->type != OptionType::kBool;  // in quotes
    if (const auto wanted = is_none ? std::nullopt : NeededByType(option->type, item.value))
      Add(true, Must(item, *wanted));
    else
      LookAtValue(table, *option, item);
    if (!item.value.empty()) LookAtWords(item);
    return option;
  }

  // It has the right type.
  void LookAtValue(const OptionTable& table, const Option& option, const ConfItem& item) {
    const bool of_slurm = &table == &SlurmOptions();
    const auto wanted = IsHostlist(table, item.key) ? Hosts(item.value) : NeededByOption(table, item.key, item.value);
    if (!of_slurm || option.line != nullptr) {
      if (wanted) Add(true, Must(item, *wanted));
    } else if (wanted) {
      last_.insert_or_assign(ToLower(item.key), ConfFinding{true, line_, Must(item, *wanted)});
    } else if (!last_.empty()) {
      last_.erase(ToLower(item.key));
    }
  }

  void LookAtWords(const ConfItem& item) {
    if (HasDoubts()) return;
    for (const std::string_view word : UnknownWords(item.key, item.value, kMostConfFindings - findings_.size()))
      Add(false, "Slurm 26.05 knows no " + OneLine(word, kLongestValue) + " in " + item.key);
  }

  static std::string Must(const ConfItem& item, const std::string& wanted) {
    return item.key + "=" + Shown(item) + " must be " + wanted;
  }

  // Those of a node or partition are looked at again. An empty one is as good as none.
  std::optional<std::string> Hosts(std::string_view value) {
    if (value.empty()) return std::nullopt;
    auto hosts = Hostlist::Parse(value);
    if (!hosts) return "host names, as n[1-3],m7 (" + hosts.error().message() + ")";
    hosts_read_ = *std::move(hosts);
    return std::nullopt;
  }

  static std::string Shown(const ConfItem& item) {
    return ToLower(item.key).contains("pass") ? "***" : OneLine(item.value, kLongestValue);
  }

  // slurmctld does not start when the two do not agree.
  void Preemption() {
    const bool off = preempt_mode_.empty() || EqualsIgnoreCase(preempt_mode_, "OFF");
    if (!preempt_type_.empty() && !EqualsIgnoreCase(preempt_type_, "preempt/none") && off)
      Add(true, "PreemptType=" + OneLine(preempt_type_, kLongestValue) + " needs a PreemptMode, such as REQUEUE");
    const std::string mode = ToLower(preempt_mode_);
    if (mode.contains("suspend") && !mode.contains("gang"))
      Add(true, "PreemptMode=" + OneLine(preempt_mode_, kLongestValue) + " must be SUSPEND,GANG");
  }

  const bool slurm_conf_;
  const OptionTable& table_;
  size_t line_ = 0;  // that is being looked at
  PartitionNodes nodes_;
  const std::span<const std::string> known_;

  bool includes_ = false;      // further files
  bool not_compared_ = false;  // some of their names, which were too many

  std::optional<Hostlist> hosts_read_;  // by the item that was looked at last
  // Of options that may be there more than once the last counts.
  std::string preempt_mode_, preempt_type_;
  std::map<std::string, ConfFinding> last_;  // by lower-case option
  std::vector<ConfFinding> findings_;
  size_t may_refuse_ = 0;  // of them
};

}  // namespace

std::optional<ConfFile> ConfFileNamed(std::string_view name) {
  constexpr std::pair<std::string_view, ConfFile> kFiles[] = {{"slurm.conf", ConfFile::kSlurm},
                                                              {"cgroup.conf", ConfFile::kCgroup},
                                                              {"gres.conf", ConfFile::kGres},
                                                              {"slurmdbd.conf", ConfFile::kSlurmdbd},
                                                              {"topology.conf", ConfFile::kTopology}};
  const auto found = std::ranges::find(kFiles, name, &std::pair<std::string_view, ConfFile>::first);
  return found == std::end(kFiles) ? std::nullopt : std::optional(found->second);
}

std::vector<ConfFinding> CheckConf(ConfFile file, std::string_view text, std::span<const std::string> known) {
  return Check(file, known).Run(text);
}

bool NeedsQos(const ConfItem& item) {
  if (EqualsIgnoreCase(item.key, "QOS")) return !item.value.empty();
  const bool lists_some = EqualsIgnoreCase(item.key, "AllowQos") || EqualsIgnoreCase(item.key, "DenyQos");
  return lists_some && !item.value.empty() && !EqualsIgnoreCase(item.value, "ALL");
}

std::vector<ConfFinding> CheckPartition(std::string_view options) {
  return Check(ConfFile::kSlurm).RunPartition(options);
}

}  // namespace capstan::slurm
