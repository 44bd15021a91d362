#include "slurm/conf_values.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <ranges>
#include <span>

#include "base/text.h"
#include "slurm/conf.h"

namespace capstan::slurm {
namespace {

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
  if (IsOff(value) || IsOneOf(value, "yes up true 1")) return std::nullopt;
  return "YES or NO";
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

std::optional<std::string> SomeName(std::string_view value) {
  if (!value.empty()) return std::nullopt;
  return "a name";
}

std::optional<std::string> SomeNumber(std::string_view value) {
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

struct Rule {
  std::string_view option;
  Wanted wanted;
  bool may_be_empty = false;  // OPTION="" is as good as no such option
};

constexpr Rule kSlurmRules[] = {
    {"ClusterName", &SomeName},
    {"EnforcePartLimits", &PartLimits},
    {"FirstJobId", &AtLeastOne},
    {"Licenses", &Licenses, true},
    {"MaxDBDMsgs", &DbdMessages},
    {"MaxJobCount", &AtLeastOne},
    {"MaxJobId", &AtLeastOne},
    {"MaxNodeCount", &SomeNumber},
    {"MaxStepCount", &AtLeastOne},
    {"PluginDir", &SomeName},
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
    {"SlurmUser", &SomeName},
    {"SlurmctldDebug", &DebugLevel},
    {"SlurmctldPort", &AtLeastOne},
    {"SlurmctldSyslogDebug", &DebugLevel},
    {"SlurmdDebug", &DebugLevel},
    {"SlurmdSyslogDebug", &DebugLevel},
    {"SlurmdUser", &SomeName},
    {"StateSaveLocation", &SomeName},
};
constexpr Rule kPartitionRules[] = {
    {"DefaultTime", &TimeLimit},
    {"Exclusive", &Exclusive},
    {"MaxTime", &TimeLimit},
    {"OverSubscribe", &OverSubscribe},
    {"SelectTypeParameters", &SelectOfPartition},
    {"QOS", &SomeName},
    {"Shared", &OverSubscribe},
    {"State", &PartitionState},
    {"TRESBillingWeights", &TresWeights, true},
    {"Topology", &SomeName},
};

const Rule* RuleOf(const OptionTable& table, std::string_view option) {
  std::span<const Rule> rules;
  if (&table == &SlurmOptions()) rules = kSlurmRules;
  if (&table == &PartitionOptions()) rules = kPartitionRules;
  const auto rule = std::ranges::find_if(rules, [&](const Rule& r) { return EqualsIgnoreCase(r.option, option); });
  return rule == rules.end() ? nullptr : &*rule;
}

// Options of slurm.conf that name a plugin without which slurmctld does not start.
constexpr std::string_view kPlugins =
    "AccountingStorageType AcctGatherFilesystemType AcctGatherProfileType CertmgrType CredType JobAcctGatherType "
    "JobCompType MCSPlugin MetricsType PreemptType PriorityType SchedulerType SelectType SwitchType TLSType "
    "TopologyPlugin";

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

}  // namespace

bool IsOff(std::string_view value) { return IsOneOf(value, "no down false 0"); }

std::optional<std::string> NeededByType(OptionType type, std::string_view value) {
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

std::optional<std::string> NeededByOption(const OptionTable& table, std::string_view option, std::string_view value) {
  const bool names_plugin = &table == &SlurmOptions() && IsOneOf(option, kPlugins);
  if (value.empty() && names_plugin) return "the name of a plugin";
  const Rule* rule = RuleOf(table, option);
  if (rule == nullptr || (value.empty() && rule->may_be_empty)) return std::nullopt;
  return rule->wanted(value);
}

bool IsHostlist(const OptionTable& table, std::string_view option) {
  if (&table == &SlurmOptions()) return EqualsIgnoreCase(option, "NodeName");
  return &table == &PartitionOptions() && EqualsIgnoreCase(option, "Nodes");
}

std::vector<std::string_view> UnknownWords(std::string_view option, std::string_view value, size_t most) {
  const auto list =
      std::ranges::find_if(kOpenLists, [&](const OpenList& l) { return EqualsIgnoreCase(l.option, option); });
  if (list == std::end(kOpenLists)) return {};
  std::vector<std::string_view> unknown;
  for (const std::string_view word : Pieces(value)) {
    if (unknown.size() == most) break;
    if (!IsOneOf(Trim(word), list->words)) unknown.push_back(word);
  }
  return unknown;
}

}  // namespace capstan::slurm
