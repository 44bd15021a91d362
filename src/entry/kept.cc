#include "entry/kept.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "entry/files.h"
#include "slurm/conf.h"

namespace capstan::entry {
namespace {

constexpr std::string_view kBegins = "capstan-kept 1 ";  // and the digest of all behind that line
constexpr size_t kMaxKept = size_t{8} * 1024 * 1024;
constexpr std::string_view kIdentity[] = {"ClusterName",   "SlurmctldHost",    "StateSaveLocation", "SlurmUser",
                                          "SlurmctldPort", "SlurmdPort",       "AuthType",          "AuthInfo",
                                          "AuthAltTypes",  "AuthAltParameters"};

// Takes text up to `end`, which goes as well; nullopt: it is not there.
std::optional<std::string_view> TakeUpTo(char end, std::string_view* rest) {
  const size_t at = rest->find(end);
  if (at == rest->npos) return std::nullopt;
  const std::string_view taken = rest->substr(0, at);
  rest->remove_prefix(at + 1);
  return taken;
}

bool IsPlainName(std::string_view name) { return !name.empty() && name[0] != '.' && !name.contains('/'); }

// "<bytes> <name>\n<text>\n"; nullopt: it is not that.
std::optional<std::pair<std::string, std::string>> TakeFile(std::string_view* rest) {
  const auto size = TakeUpTo(' ', rest), name = TakeUpTo('\n', rest);
  const auto bytes = size ? ParseInt(*size) : std::nullopt;
  if (!name || !IsPlainName(*name) || !bytes || *bytes < 0 || static_cast<uint64_t>(*bytes) >= rest->size())
    return std::nullopt;
  std::pair<std::string, std::string> file(*name, rest->substr(0, static_cast<size_t>(*bytes)));
  rest->remove_prefix(static_cast<size_t>(*bytes));
  if (!rest->starts_with('\n')) return std::nullopt;
  rest->remove_prefix(1);
  return file;
}

// The lines that can be read, those of included files in the place of their Include, and what is included and not there.
class Lines {
 public:
  explicit Lines(const Configuration& configuration) : files_(configuration.files) { Read("slurm.conf"); }

  std::vector<slurm::ConfLine> lines;
  std::vector<std::string> missing;

 private:
  void Read(const std::string& name) {
    const auto file = files_.find(name);
    if (file == files_.end()) {
      missing.push_back(name);
      return;
    }
    if (!read_.insert(name).second) return;
    std::string open;
    for (const std::string_view line : Split(file->second, '\n')) {
      open += line;
      open += '\n';
      if (Trim(line).ends_with('\\')) continue;
      Take(std::exchange(open, {}));
    }
    Take(open);
  }

  void Take(const std::string& text) {
    const auto read = slurm::ParseConf(text);
    for (const slurm::ConfLine& line : read ? *read : std::vector<slurm::ConfLine>()) {
      const slurm::ConfItem& first = line.items.front();
      if (EqualsIgnoreCase(first.key, "Include")) {
        if (IsPlainName(first.value) && !first.value.contains('%')) Read(first.value);
      } else {
        lines.push_back(line);
      }
    }
  }

  const std::map<std::string, std::string>& files_;
  std::set<std::string> read_;  // each once, also where files include each other
};

// By the option's name; of one that is there several times all count, in their order.
std::map<std::string, std::vector<std::string>> IdentityOf(const Configuration& configuration) {
  std::map<std::string, std::vector<std::string>> found;
  for (const slurm::ConfLine& line : Lines(configuration).lines) {
    const slurm::ConfItem& first = line.items.front();
    const auto is = [&first](std::string_view key) { return EqualsIgnoreCase(first.key, key); };
    const auto known = std::ranges::find_if(kIdentity, is);
    if (known != std::end(kIdentity))
      found[std::string(*known)].push_back(first.value);
    else if (ToLower(first.key).starts_with("auth"))
      found[ToLower(first.key)].push_back(first.value);
  }
  return found;
}

std::vector<std::string> PartitionsOf(const Configuration& configuration) {
  std::vector<std::string> names;
  for (const slurm::ConfLine& line : Lines(configuration).lines) {
    const slurm::ConfItem& first = line.items.front();
    if (EqualsIgnoreCase(first.key, "PartitionName") && !EqualsIgnoreCase(first.value, "DEFAULT"))
      names.push_back(first.value);
  }
  return names;
}

}  // namespace

std::string KeptText(const Kept& kept) {
  std::string text = FormatRfc3339(kept.since) + "\n";
  for (const auto& [name, file] : kept.configuration.files)
    text += std::to_string(file.size()) + " " + name + "\n" + file + "\n";
  return std::string(kBegins) + Sha256Hex(text) + "\n" + text;
}

Result<Kept> ParseKept(std::string_view text) {
  if (!text.starts_with(kBegins)) return Fail(Code::kInvalid, "it does not begin as it should");
  text.remove_prefix(kBegins.size());
  const auto digest = TakeUpTo('\n', &text);
  if (!digest || Sha256Hex(text) != *digest) return Fail(Code::kInvalid, "it is cut off or damaged");
  const auto since = TakeUpTo('\n', &text);
  const std::optional<Time> at = since ? ParseRfc3339(*since) : std::nullopt;
  Kept kept{.configuration = {}, .since = at.value_or(Time())};
  while (at && !text.empty()) {
    auto file = TakeFile(&text);
    if (!file) break;
    kept.configuration.files.insert(*std::move(file));
  }
  if (!at || !text.empty() || !kept.configuration.files.contains("slurm.conf"))
    return Fail(Code::kInvalid, "it does not hold what it should");
  return kept;
}

std::string KeptPath(const Configuration& configuration) {
  const std::string folder = OptionOf(configuration, "StateSaveLocation");
  return folder.empty() ? "" : folder + "/capstan-kept";
}

Result<std::optional<Kept>> ReadKept(const std::string& path) {
  struct stat found;
  const bool seen = !path.empty() && lstat(path.c_str(), &found) == 0;
  if (path.empty() || (!seen && errno == ENOENT)) return std::nullopt;
  const std::optional<std::string> text = seen && S_ISREG(found.st_mode) ? ReadFile(path, kMaxKept) : std::nullopt;
  if (!text) return Fail(Code::kUnavailable, path + " cannot be read");
  Result<Kept> kept = ParseKept(*text);
  if (!kept) return Fail(std::move(kept).error().WithContext(path));
  return *std::move(kept);
}

Result<void> WriteKept(const std::string& path, const Kept& kept) {
  const std::string text = KeptText(kept);
  if (text.size() > kMaxKept)
    return Fail(Code::kInvalid, "the configuration has " + std::to_string(text.size()) + " bytes, more than " +
                                    std::to_string(kMaxKept));
  CAPSTAN_CHECK_OK(ReplaceFile(path, text, 0600));
  return OwnLike(path, path.substr(0, path.rfind('/')));
}

std::optional<std::string> WhyNotInsteadOf(const Configuration& mounted, const Configuration& kept) {
  auto wanted = IdentityOf(mounted), found = IdentityOf(kept);
  for (const auto& [option, values] : wanted) found.try_emplace(option);
  for (const auto& [option, values] : found) {
    if (wanted[option] != values) return "it has another " + option;
  }
  return std::nullopt;
}

Configuration WithPartitionsOf(const Configuration& mounted, Configuration kept) {
  const std::vector<std::string> has = PartitionsOf(kept);
  std::set<std::string> known(has.begin(), has.end());
  std::string lines;
  for (const std::string& name : PartitionsOf(mounted)) {
    if (!known.insert(name).second) continue;
    const std::array<slurm::ConfItem, 2> items = {{{"PartitionName", name}, {"State", "DRAIN"}}};
    lines += slurm::ConfText().Line(items).Build().value_or("");
  }
  if (!lines.empty()) kept.files["slurm.conf"] += "\n#\n### PARTITIONS OF A NEWER TEXT ###\n" + lines;
  return kept;
}

std::optional<std::string> MissingInclude(const Configuration& configuration) {
  const std::vector<std::string> missing = Lines(configuration).missing;
  return missing.empty() ? std::nullopt : std::optional(missing.front());
}

}  // namespace capstan::entry
