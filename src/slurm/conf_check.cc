#include "slurm/conf_check.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <ranges>
#include <span>
#include <utility>

#include "base/text.h"
#include "slurm/conf.h"
#include "slurm/conf_options.h"
#include "slurm/hostlist.h"
#include "slurm/partition_nodes.h"

namespace capstan::slurm {
namespace {

constexpr size_t kLongestValue = 60;  // bytes of a value that are repeated

// What a value must be besides of its type. An answer is what would be right; nullopt: it is.
using Wanted = std::optional<std::string> (*)(std::string_view value);

// The pieces of a list, one after the other: a value of a megabyte has as many.
auto Pieces(std::string_view list, char separator = ',') {
  return std::views::split(list, separator) | std::views::transform([](auto piece) { return std::string_view(piece); });
}

// `words`: with one blank between.
bool IsOneOf(std::string_view word, std::string_view words) {
  return std::ranges::any_of(Pieces(words, ' '),
                             [word](std::string_view known) { return EqualsIgnoreCase(word, known); });
}

bool IsForever(std::string_view value) { return IsOneOf(value, "INFINITE UNLIMITED"); }

bool IsDigits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<std::string> NumberUpTo(std::string_view value, uint64_t most) {
  if (IsForever(value)) return std::nullopt;
  const auto number = ConfNumber(value);
  if (number && *number <= most) return std::nullopt;
  return "a number" + (most < std::numeric_limits<uint64_t>::max() ? " of at most " + std::to_string(most) : "") +
         ", without a unit";
}

std::optional<std::string> Real(std::string_view value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc() && end == value.data() + value.size()) return std::nullopt;
  return "a number";
}

std::optional<std::string> Bool(std::string_view value) {
  if (IsOneOf(value, "yes up true 1 no down false 0")) return std::nullopt;
  return "YES or NO";
}

std::optional<std::string> OfType(OptionType type, std::string_view value) {
  switch (type) {
    case OptionType::kBool:
      return Bool(value);
    case OptionType::kNumber16:
      return NumberUpTo(value, std::numeric_limits<uint16_t>::max());
    case OptionType::kNumber32:
      return NumberUpTo(value, std::numeric_limits<uint32_t>::max());
    case OptionType::kNumber64:
      return NumberUpTo(value, std::numeric_limits<uint64_t>::max());
    case OptionType::kReal:
      return Real(value);
    case OptionType::kText:
    case OptionType::kLine:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::string> DebugLevel(std::string_view value) {
  if (IsDigits(value) || IsOneOf(value, "quiet fatal error info verbose debug debug2 debug3 debug4 debug5"))
    return std::nullopt;
  return "quiet, fatal, error, info, verbose or debug to debug5";
}

std::optional<std::string> PartitionState(std::string_view value) {
  if (IsOneOf(value, "UP DOWN DRAIN INACTIVE")) return std::nullopt;
  return "UP, DOWN, DRAIN or INACTIVE";
}

std::optional<std::string> OverSubscribe(std::string_view value) {
  if (IsOneOf(value.substr(0, value.find(':')), "NO YES EXCLUSIVE FORCE")) return std::nullopt;
  return "NO, YES, FORCE or EXCLUSIVE";
}

std::optional<std::string> Exclusive(std::string_view value) {
  if (IsOneOf(value, "NO NODE USER TOPO")) return std::nullopt;
  return "NO, NODE, USER or TOPO";
}

// Of a partition: slurmctld looks at how it begins.
std::optional<std::string> SelectOfPartition(std::string_view value) {
  for (const std::string_view begin : {"CR_Core", "CR_Socket"})
    if (EqualsIgnoreCase(value.substr(0, begin.size()), begin)) return std::nullopt;
  return "CR_Core, CR_Core_Memory, CR_Socket or CR_Socket_Memory";
}

std::optional<std::string> TimeLimit(std::string_view value) {
  const bool digits = value.find_first_not_of("0123456789:-") == value.npos && !value.empty() && value[0] != ':';
  if (digits || IsForever(value)) return std::nullopt;
  return "minutes, hours:minutes:seconds, days-hours, or UNLIMITED";
}

std::optional<std::string> PartLimits(std::string_view value) {
  if (IsOneOf(value, "yes up true 1 no down false 0 any all")) return std::nullopt;
  return "ALL, ANY or NO";
}

std::optional<std::string> ResetPeriod(std::string_view value) {
  if (IsOneOf(value, "NONE NOW DAILY WEEKLY MONTHLY QUARTERLY YEARLY")) return std::nullopt;
  return "NONE, NOW, DAILY, WEEKLY, MONTHLY, QUARTERLY or YEARLY";
}

// slurmctld takes 0 for one that it cannot work with.
std::optional<std::string> AtLeastOne(std::string_view value) {
  if (!value.empty() && ConfNumber(value) != uint64_t{0}) return std::nullopt;
  return "a number of at least 1";
}

std::optional<std::string> Name(std::string_view value) {
  if (!value.empty()) return std::nullopt;
  return "a name";
}

std::optional<std::string> Number(std::string_view value) {
  if (!value.empty()) return std::nullopt;
  return "a number";
}

std::optional<std::string> DbdMessages(std::string_view value) {
  if (IsForever(value) || ConfNumber(value).value_or(0) >= 10'000) return std::nullopt;
  return "a number of at least 10000";
}

// MaxNodeCount, without which no worker registers, goes with no other.
std::optional<std::string> Select(std::string_view value) {
  if (!EqualsIgnoreCase(value, "select/linear")) return std::nullopt;
  return "select/cons_tres";
}

bool EachOneOf(std::string_view list, std::string_view words) {
  return std::ranges::all_of(Pieces(list), [words](std::string_view word) { return IsOneOf(Trim(word), words); });
}

std::optional<std::string> PreemptMode(std::string_view value) {
  if (EachOneOf(value, "OFF CANCEL GANG REQUEUE SUSPEND WITHIN PRIORITY")) return std::nullopt;
  return "OFF, CANCEL, REQUEUE or SUSPEND,GANG";
}

std::optional<std::string> ResourceLimits(std::string_view value) {
  if (EachOneOf(value, "ALL NONE AS CORE CPU DATA FSIZE MEMLOCK NOFILE NPROC RSS STACK")) return std::nullopt;
  return "ALL, NONE, or limits as STACK,MEMLOCK";
}

std::optional<std::string> Licenses(std::string_view value) {
  for (const std::string_view entry : Pieces(value)) {
    const size_t at = entry.find_first_of(":=");
    if (at != entry.npos && !IsDigits(Trim(entry.substr(at + 1)))) return "names with numbers, as matlab:5,ansys:2";
  }
  return std::nullopt;
}

std::optional<std::string> TresWeights(std::string_view value) {
  for (const std::string_view entry : Pieces(value)) {
    const size_t at = entry.find('=');
    std::string_view weight = at == entry.npos ? "" : entry.substr(at + 1);
    if (weight.size() > 1 && IsOneOf(weight.substr(weight.size() - 1), "K M G T P")) weight.remove_suffix(1);
    if (Real(weight)) return "weights, as CPU=1.0,Mem=0.25G,GRES/gpu=2.0";
  }
  return std::nullopt;
}

constexpr Wanted kHosts = nullptr;  // a hostlist, which is compared with others besides

struct Rule {
  std::string_view option;
  Wanted wanted;
  bool may_be_empty = false;  // OPTION="" is as good as no such option
};

constexpr Rule kSlurmRules[] = {
    {"ClusterName", &Name},
    {"EnforcePartLimits", &PartLimits},
    {"FirstJobId", &AtLeastOne},
    {"Licenses", &Licenses, true},
    {"MaxDBDMsgs", &DbdMessages},
    {"MaxJobCount", &AtLeastOne},
    {"MaxJobId", &AtLeastOne},
    {"MaxNodeCount", &Number},
    {"MaxStepCount", &AtLeastOne},
    {"NodeName", kHosts, true},
    {"PluginDir", &Name},
    {"PreemptExemptTime", &TimeLimit},
    {"PreemptMode", &PreemptMode, true},
    {"PriorityCalcPeriod", &TimeLimit},
    {"PriorityDecayHalfLife", &TimeLimit},
    {"PriorityMaxAge", &TimeLimit},
    {"PriorityUsageResetPeriod", &ResetPeriod},
    {"PriorityWeightTRES", &TresWeights, true},
    {"PropagateResourceLimits", &ResourceLimits, true},
    {"PropagateResourceLimitsExcept", &ResourceLimits, true},
    {"SelectType", &Select},
    {"SlurmUser", &Name},
    {"SlurmctldDebug", &DebugLevel},
    {"SlurmctldPort", &AtLeastOne},
    {"SlurmctldSyslogDebug", &DebugLevel},
    {"SlurmdDebug", &DebugLevel},
    {"SlurmdSyslogDebug", &DebugLevel},
    {"SlurmdUser", &Name},
    {"StateSaveLocation", &Name},
};
constexpr Rule kPartitionRules[] = {
    {"DefaultTime", &TimeLimit},
    {"Exclusive", &Exclusive},
    {"MaxTime", &TimeLimit},
    {"Nodes", kHosts, true},
    {"OverSubscribe", &OverSubscribe},
    {"SelectTypeParameters", &SelectOfPartition},
    {"QOS", &Name},
    {"Shared", &OverSubscribe},
    {"State", &PartitionState},
    {"TRESBillingWeights", &TresWeights, true},
    {"Topology", &Name},
};

// Options of slurm.conf that name a plugin without which slurmctld does not start.
constexpr std::string_view kPlugins =
    "AccountingStorageType AcctGatherFilesystemType AcctGatherProfileType CertmgrType CredType JobAcctGatherType "
    "JobCompType MCSPlugin MetricsType PreemptType PriorityType SchedulerType SelectType SwitchType TLSType "
    "TopologyPlugin";

std::span<const Rule> RulesOf(const OptionTable& table) {
  if (&table == &SlurmOptions()) return kSlurmRules;
  if (&table == &PartitionOptions()) return kPartitionRules;
  return {};
}

// Words of a list of which a newer Slurm may know more.
struct OpenList {
  std::string_view option, words;
};
constexpr OpenList kOpenLists[] = {
    {"AccountingStorageEnforce", "associations limits nojobs nosteps qos safe wckeys all none 0 1 2 3"},
    {"PrologFlags", "Alloc Contain DeferBatch ForceRequeueOnFail NoHold RunInJob Serial X11"},
    {"SelectTypeParameters",
     "CR_CPU CR_CPU_Memory CR_Core CR_Core_Memory CR_Socket CR_Socket_Memory CR_Memory CR_ONE_TASK_PER_CORE "
     "CR_CORE_DEFAULT_DIST_BLOCK CR_LLN CR_Pack_Nodes LL_SHARED_GRES MULTIPLE_SHARING_GRES_PJ ENFORCE_BINDING_GRES "
     "ONE_TASK_PER_SHARING_GRES"},
};

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
    if (const auto wanted = is_none ? std::nullopt : OfType(option->type, item.value))
      Add(true, Must(item, *wanted));
    else
      LookAtValue(table, *option, item);
    if (!item.value.empty()) LookAtWords(item);
    return option;
  }

  // It has the right type.
  void LookAtValue(const OptionTable& table, const Option& option, const ConfItem& item) {
    const bool empty = item.value.empty(), of_slurm = &table == &SlurmOptions();
    std::optional<std::string> wanted;
    const auto rules = RulesOf(table);
    const auto rule = std::ranges::find_if(rules, [&](const Rule& r) { return EqualsIgnoreCase(r.option, item.key); });
    if (rule != rules.end() && !(empty && rule->may_be_empty))
      wanted = rule->wanted != nullptr ? rule->wanted(item.value) : Hosts(item.value);
    if (empty && of_slurm && IsOneOf(item.key, kPlugins)) wanted = "the name of a plugin";
    if (!of_slurm || option.line != nullptr) {
      if (wanted) Add(true, Must(item, *wanted));
    } else if (wanted) {
      last_.insert_or_assign(ToLower(item.key), ConfFinding{true, line_, Must(item, *wanted)});
    } else if (!last_.empty()) {
      last_.erase(ToLower(item.key));
    }
  }

  void LookAtWords(const ConfItem& item) {
    const auto list =
        std::ranges::find_if(kOpenLists, [&](const OpenList& l) { return EqualsIgnoreCase(l.option, item.key); });
    if (list == std::end(kOpenLists)) return;
    for (const std::string_view word : Pieces(item.value)) {
      if (HasDoubts()) return;
      if (!IsOneOf(Trim(word), list->words))
        Add(false, "Slurm 26.05 knows no " + OneLine(word, kLongestValue) + " in " + item.key);
    }
  }

  static std::string Must(const ConfItem& item, const std::string& wanted) {
    return item.key + "=" + Shown(item) + " must be " + wanted;
  }

  // Those of a node or partition are looked at again.
  std::optional<std::string> Hosts(std::string_view value) {
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
  const bool lists_some = IsOneOf(item.key, "AllowQos DenyQos");
  return lists_some && !item.value.empty() && !EqualsIgnoreCase(item.value, "ALL");
}

std::vector<ConfFinding> CheckPartition(std::string_view options) {
  return Check(ConfFile::kSlurm).RunPartition(options);
}

}  // namespace capstan::slurm
