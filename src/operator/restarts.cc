#include "operator/restarts.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "operator/names.h"
#include "slurm/conf.h"

namespace capstan::op {
namespace {

constexpr std::string_view kListens = "scontrol(1): a reconfigure changes no listening port";
constexpr std::string_view kAuthenticates = "scontrol(1): a reconfigure does not change how daemons trust each other";

constexpr RestartOption kRestartOptions[] = {
    {"SlurmctldPort", kListens},
    {"SlurmctldHost", "slurmctld refuses to reconfigure to hosts that it is not among"},
    {"SlurmctldAddr", kListens},
    {"CommunicationParameters", kListens},
    {"AuthType", kAuthenticates},
    {"AuthAltTypes", kAuthenticates},
    {"AuthInfo", kAuthenticates},
    {"CredType", kAuthenticates},
    {"HashPlugin", kAuthenticates},
    {"TLSType", kAuthenticates},
    {"TLSParameters", kAuthenticates},
    {"ClusterName", "slurmctld refuses another name than that of its state"},
    {"StateSaveLocation", "a reconfigure would go on with the state in the new place, which is none"},
    {"SlurmUser", "a running process does not change its user"},
};

// Slurm's own view: all keys are the same in any case, and of a key that may be there once the last line counts.
std::string DigestOf(std::string_view slurm_conf, bool (*counts)(const slurm::ConfLine&)) {
  std::map<std::string, std::vector<std::string>> values;
  const auto read = slurm::ForEachConfLine(slurm_conf, [&](const slurm::ConfLine& line) {
    if (line.items.empty() || !counts(line)) return true;
    std::string text;
    for (const slurm::ConfItem& item : line.items) text += "\n" + ToLower(item.key) + "=" + item.value;
    values[ToLower(line.items.front().key)].push_back(std::move(text));
    return true;
  });
  if (!read) return Sha256Hex(slurm_conf);
  std::string all;
  for (const auto& [key, texts] : values) all += Join(texts, "\n");
  return Sha256Hex(all);
}

bool NeedsRestart(const slurm::ConfLine& line) {
  return std::ranges::any_of(kRestartOptions, [&](const RestartOption& option) {
    return EqualsIgnoreCase(line.items.front().key, option.key);
  });
}

bool IsReadBySlurmrestd(const slurm::ConfLine& line) {
  constexpr std::string_view kOthers[] = {"PartitionName", "NodeSet", "NodeName", "DownNodes", "FrontendName"};
  return std::ranges::none_of(kOthers,
                              [&](std::string_view key) { return EqualsIgnoreCase(line.items.front().key, key); });
}

}  // namespace

std::span<const RestartOption> RestartOptions() { return kRestartOptions; }

std::string SlurmctldOptions(std::string_view slurm_conf) { return DigestOf(slurm_conf, &NeedsRestart); }

std::string SlurmrestdOptions(std::string_view slurm_conf) { return DigestOf(slurm_conf, &IsReadBySlurmrestd); }

TemplateHash HashFor(const std::string& options, const json::ObjectMeta* present, const PodTemplateMeta* pods,
                     const std::string& unless_remembered) {
  if (present == nullptr || pods == nullptr) return {.pods = options};
  std::string had = present->Annotation(std::string(kAnnotationRestartOptions));
  if (had.empty()) had = unless_remembered;
  if (had != options) return {.pods = options, .changed = true};
  const auto found = pods->annotations.find(std::string(kHashSlurmConfig));
  return {.pods = found == pods->annotations.end() ? std::string() : found->second};
}

}  // namespace capstan::op
