#include "operator/controller/config.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "operator/controller/partitions.h"
#include "operator/names.h"
#include "operator/render/cluster.h"
#include "slurm/conf.h"
#include "slurm/conf_check.h"

namespace capstan::op::controller {
namespace {

using slurm::ConfItem;
using slurm::ConfText;

constexpr size_t kMostDoubts = 3;
constexpr std::string_view kExtraSection = "#\n### EXTRA CONFIG ###\n";
// Seconds of silence after which one that stands by takes over; it looks every third of that, and the one in charge shows
// that it lives every quarter. Slurm's default is 120.
constexpr int kSlurmctldTimeout = 15;
constexpr std::string_view kStateFolder = "/var/spool/slurmctld/";
constexpr std::string_view kSlurmctldLog = "/var/log/slurm/slurmctld.log";

void General(ConfText& text, const Config& config) {
  const std::string service = ControllerName(config.controller);
  text.Section("GENERAL").Set("ClusterName", config.cluster_name).Set("SlurmUser", kSlurmUserName);
  for (int i = 0; i < config.replicas; ++i) {
    const std::string pod = service + "-" + std::to_string(i);
    const std::string host = config.pod_without_name ? service : pod + "." + ControllerInternalName(config.controller);
    text.Add("SlurmctldHost", pod + "(" + host + "." + config.ns + ")");
  }
  text.Set("SlurmctldPort", kSlurmctldPort);
  // With several, clients ask each in turn until one is in charge: a takeover then needs neither the operator nor the
  // Service, of which one that stands by may be the end for a moment.
  if (config.replicas > 1)
    text.Set("SlurmctldTimeout", kSlurmctldTimeout);
  else
    text.Set("SlurmctldAddr", service + "." + config.ns);
  text.Set("StateSaveLocation", std::string(kStateFolder) + config.cluster_name)
      .Set("SlurmdUser", "root")
      .Set("SlurmdPort", kSlurmdPort)
      .Set("SlurmdSpoolDir", "/var/spool/slurmd")
      .Set("MaxNodeCount", kMostNodes);
}

void Logging(ConfText& text) {
  text.Section("LOGGING")
      .Set("SlurmctldLogFile", kSlurmctldLog)
      .Set("SlurmSchedLogFile", kSlurmctldLog)
      .Set("SlurmdLogFile", "/var/log/slurm/slurmd.log");
}

// What a cluster of this kind does not work without, whatever else the user asks of these keys.
std::vector<ConfItem> RequiredOptions(const Config& config) {
  std::string jwt = "jwt_key=/etc/slurm/jwt.key";
  if (config.jwks) jwt += ",jwks=/etc/slurm/jwks.json";
  std::vector<ConfItem> required = {{"AuthAltParameters", jwt},
                                    {"AuthInfo", "use_client_ids"},
                                    {"SlurmctldParameters", "enable_configless,reconfig_on_restart"}};
  if (config.ssh) required.push_back({"PrologFlags", "contain"});
  return required;
}

void Auth(ConfText& text) {
  text.Section("PLUGINS & PARAMETERS")
      .Set("AuthType", "auth/slurm")
      .Set("CredType", "cred/slurm")
      .Set("AuthAltTypes", "auth/jwt");
}

void Plugins(ConfText& text, const Config& config) {
  Auth(text);
  for (const ConfItem& item : RequiredOptions(config)) text.Set(item.key, item.value);
  if (config.metrics) text.Set("MetricsType", "metrics/openmetrics");
}

void Accounting(ConfText& text, const Config& config) {
  text.Section("ACCOUNTING");
  if (!config.accounting) {
    text.Set("AccountingStorageType", "accounting_storage/none");
    return;
  }
  text.Set("AccountingStorageType", "accounting_storage/slurmdbd")
      .Set("AccountingStorageHost", config.accounting->host)
      .Set("AccountingStoragePort", config.accounting->port);
}

void Scripts(ConfText& text, std::string_view key, std::string_view folder, std::vector<std::string> files) {
  std::ranges::sort(files);
  files.erase(std::unique(files.begin(), files.end()), files.end());
  for (const std::string& file : files) text.Add(key, std::string(folder) + file);
}

void AllScripts(ConfText& text, const Config& config) {
  if (!config.prolog_slurmctld.empty() || !config.epilog_slurmctld.empty()) {
    text.Section("SLURMCTLD PROLOG & EPILOG");
    Scripts(text, "PrologSlurmctld", "/etc/slurm/", config.prolog_slurmctld);
    Scripts(text, "EpilogSlurmctld", "/etc/slurm/", config.epilog_slurmctld);
  }
  // slurmctld hands the scripts of the nodes over with the configuration; there they have no folder.
  if (!config.prolog.empty() || !config.epilog.empty()) {
    text.Section("PROLOG & EPILOG");
    Scripts(text, "Prolog", "", config.prolog);
    Scripts(text, "Epilog", "", config.epilog);
  }
}

// slurmctld does not start with two partitions of one name.
Result<void> CheckNames(const Config& config) {
  std::map<std::string, std::string> known;  // and who defines them
  const auto take = [&known](const std::string& name, const std::string& where) -> Result<void> {
    const auto [it, first] = known.emplace(name, where);
    if (first) return {};
    return Fail(Code::kInvalid,
                "partition " + name + " is defined twice, by " + it->second + " and by " + where + "; rename one");
  };
  for (const ConfigNodeSet& set : config.node_sets)
    if (set.partition) CAPSTAN_CHECK_OK(take(set.name, "NodeSet " + set.where));
  const ConfLines& own = config.extra_conf.lines();
  CAPSTAN_CHECK_OK(own.readable, "spec.extraConf");
  for (const slurm::ConfLine& line : own.defining) {
    const ConfItem& first = line.items.front();
    if (EqualsIgnoreCase(first.key, "PartitionName") && !EqualsIgnoreCase(first.value, "DEFAULT"))
      CAPSTAN_CHECK_OK(take(first.value, "line " + std::to_string(line.number) + " of spec.extraConf"));
  }
  return {};
}

// Nor when it is to enforce what no slurmdbd tells it.
Result<void> CheckAccounting(const Config& config) {
  const ConfLines& own = config.extra_conf.lines();
  if (config.accounting || own.Last("AccountingStorageType").contains("slurmdbd")) return {};
  std::string vain;
  if (const std::string enforced = own.Last("AccountingStorageEnforce");
      !enforced.empty() && !EqualsIgnoreCase(enforced, "none"))
    vain = "AccountingStorageEnforce=" + enforced;
  for (const slurm::ConfLine& line : own.defining) {
    if (!vain.empty() || HasAccounting(config)) break;
    const auto qos = std::ranges::find_if(line.items, &slurm::NeedsQos);
    if (qos != line.items.end())
      vain = qos->key + "=" + OneLine(qos->value, 60) + " in line " + std::to_string(line.number);
  }
  if (vain.empty()) return {};
  return Fail(Code::kInvalid,
              vain + " of spec.extraConf needs accounting; name an Accounting in spec.accountingRef, or remove it");
}

// slurmctld decides, and the operator reads what it decided: no program is started for a node. SuspendTime is each node's own; that of the others is
// as long as a number can be, as INFINITE would turn it all off. Powering down takes a drain away: what somebody drained stays as it is.
void Power(ConfText& text, const Config& config) {
  if (!config.power) return;
  text.Section("POWER SAVING")
      .Set("ResumeProgram", "/bin/true")
      .Set("SuspendProgram", "/bin/true")
      .Set("SuspendTime", 1'000'000'000)
      .Set("ResumeTimeout", 900)
      .Set("SuspendTimeout", 60)
      .Set("SuspendExcStates", "DRAIN,FAIL")
      .Set("ResumeRate", 0)
      .Set("SuspendRate", 0);
}

Result<void> NodeSets(ConfText& text, const Config& config) {
  if (config.node_sets.empty()) return {};
  text.Section("NODESET & PARTITION");
  for (const ConfigNodeSet& set : config.node_sets) {
    text.Line(std::array{ConfItem{"NodeSet", set.name}, ConfItem{"Feature", set.name}});
    if (!set.partition) continue;
    CAPSTAN_TRY(std::vector<ConfItem> items,
                slurm::ParseConfItems(set.partition_config, "spec.partition.config of NodeSet " + set.where));
    std::erase_if(items, [](const ConfItem& item) { return item.value.empty(); });  // "": as good as no such option
    items.insert(items.begin(), {{"PartitionName", set.name}, {"Nodes", set.name}});
    text.Line(items);
  }
  return {};
}

Result<void> Departed(ConfText& text, const Config& config) {
  if (config.departed.empty()) return {};
  if (config.departed.size() > kMostDeparted) {
    return Fail(Code::kInvalid,
                std::to_string(config.departed.size()) +
                    " partitions that nobody asks for any more would have to stay for the jobs that may "
                    "name them, more than " +
                    std::to_string(kMostDeparted) + "; end those jobs first");
  }
  text.Section("DEPARTED PARTITIONS");
  for (const ConfigDeparted& departed : config.departed)
    for (const auto& line : departed.lines) text.Line(line);
  return {};
}

Result<void> Extra(ConfText& text, const Config& config) {
  const std::string& own = config.extra_conf.text();
  if (own.find_first_not_of(" \t\r\n") == std::string::npos) return {};
  text.Section("EXTRA CONFIG").Verbatim(own, "spec.extraConf");
  const std::vector<ConfItem> merged = slurm::MergedOptions(RequiredOptions(config), own);
  if (merged.empty()) return {};
  text.Section("MERGED CONFIG");
  for (const ConfItem& item : merged) text.Add(item.key, item.value);
  return {};
}

// Where a line of the published text comes from.
std::string Place(std::string_view text, size_t line) {
  if (line == 0) return "";
  const size_t begin = text.find(kExtraSection);
  const auto own = begin == text.npos ? text.npos : size_t(std::ranges::count(text.substr(0, begin), '\n')) + 2;
  return line > own ? "line " + std::to_string(line - own) + " of spec.extraConf: "
                    : "line " + std::to_string(line) + " of slurm.conf: ";
}

// Why slurmctld would not start with it; nullopt: it would. `findings`: of CheckConf. What is wrong with the published text, too, is let
// pass, and so are nodes that Slurm has.
std::optional<slurm::ConfFinding> WhyRefused(const Config& config, const std::string& text,
                                             const std::vector<slurm::ConfFinding>& findings) {
  const auto refused = std::ranges::find_if(findings, &slurm::ConfFinding::refused);
  if (refused != findings.end()) {
    const auto before = slurm::CheckConf(slurm::ConfFile::kSlurm, config.published.text());
    for (const slurm::ConfFinding& finding : findings)
      if (finding.refused && std::ranges::find(before, finding.text, &slurm::ConfFinding::text) == before.end())
        return finding;
  }
  if (config.is_lost || std::ranges::none_of(findings, &slurm::ConfFinding::unknown_node)) return std::nullopt;
  std::vector<std::string> known = UndefinedNodes(config.published.lines());
  known.insert(known.end(), config.taken.begin(), config.taken.end());
  const auto others = slurm::CheckConf(slurm::ConfFile::kSlurm, text, known);
  const auto unknown = std::ranges::find_if(others, &slurm::ConfFinding::unknown_node);
  return unknown == others.end() ? std::nullopt : std::optional(*unknown);
}

}  // namespace

bool HasAccounting(const Config& config) {
  if (config.accounting) return true;
  const ConfLines& own = config.extra_conf.lines();
  return !own.readable || !own.included.empty() || own.Last("AccountingStorageType").contains("slurmdbd");
}

Result<std::string> SlurmConf(const Config& config, std::vector<std::string>* doubts) {
  ConfText text;
  General(text, config);
  Logging(text);
  Plugins(text, config);
  Accounting(text, config);
  AllScripts(text, config);
  Power(text, config);
  CAPSTAN_CHECK_OK(CheckNames(config));
  CAPSTAN_CHECK_OK(CheckAccounting(config));
  CAPSTAN_CHECK_OK(NodeSets(text, config));
  CAPSTAN_CHECK_OK(Departed(text, config));
  CAPSTAN_CHECK_OK(Extra(text, config));
  CAPSTAN_TRY(std::string built, text.Build());
  const auto findings = slurm::CheckConf(slurm::ConfFile::kSlurm, built);
  if (const auto why = WhyRefused(config, built, findings))
    return Fail(Code::kInvalid, Place(built, why->line) + why->text);
  std::vector<std::string> found;
  for (const slurm::ConfFinding& finding : findings)
    if (found.size() < kMostDoubts) found.push_back(Place(built, finding.line) + finding.text);
  if (doubts != nullptr) *doubts = std::move(found);
  return built;
}

std::string ClusterNameIn(std::string_view slurm_conf) {
  std::optional<std::string> name, folder;  // the first of each: the user's lines come later
  const auto read = slurm::ForEachConfLine(slurm_conf, [&](const slurm::ConfLine& line) {
    for (const ConfItem& item : line.items) {
      if (!name && item.key == "ClusterName") name = item.value;
      if (!folder && item.key == "StateSaveLocation") folder = item.value;
    }
    return !name || !folder;
  });
  return read && name && folder == std::string(kStateFolder) + *name ? *name : "";
}

Result<std::string> ExternalSlurmConf(const Config& config, const std::string& host, int port) {
  ConfText text;
  text.Section("GENERAL")
      .Set("ClusterName", config.cluster_name)
      .Set("SlurmUser", kSlurmUserName)
      .Add("SlurmctldHost", host)
      .Set("SlurmctldPort", port);
  Auth(text);
  Accounting(text, config);
  return text.Build();
}

std::string CgroupConf() { return "CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n"; }

}  // namespace capstan::op::controller
