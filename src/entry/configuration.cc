#include "entry/configuration.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/hash.h"
#include "base/text.h"
#include "entry/files.h"

namespace capstan::entry {
namespace {

// Where the link leads; "" when there is none.
std::string Target(const std::string& link) {
  char target[4096];
  const ssize_t length = readlink(link.c_str(), target, sizeof target);
  return length < 0 ? std::string() : std::string(target, static_cast<size_t>(length));
}

bool IsFile(const std::string& path) {
  struct stat found;
  return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

// What is in a folder, without what begins with a dot; nullopt when it cannot be read.
std::optional<std::vector<std::string>> NamesIn(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), &closedir);
  if (entries == nullptr) return std::nullopt;
  std::vector<std::string> names;
  while (const dirent* entry = readdir(entries.get())) {  // NOLINT(concurrency-mt-unsafe): one thread
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  return names;
}

bool IsSecretFile(std::string_view name) { return name.ends_with(".key") || name.ends_with(".jwks"); }

}  // namespace

std::map<std::string, std::string> Configuration::digests() const {
  std::map<std::string, std::string> digests;
  for (const auto& [name, text] : files) digests.emplace(name, Sha256Hex(text));
  return digests;
}

std::optional<Configuration> ReadFiles(const std::string& folder) {
  const std::string before = Target(folder + "/..data");
  const std::optional<std::vector<std::string>> names = NamesIn(folder);
  if (!names) return std::nullopt;
  Configuration found;
  for (const std::string& name : *names) {
    const std::string path = folder + "/" + name;
    if (IsSecretFile(name) || !IsFile(path)) continue;
    std::optional<std::string> text = ReadFile(path);
    if (!text) return std::nullopt;
    found.files.emplace(name, *std::move(text));
  }
  if (Target(folder + "/..data") != before) return std::nullopt;
  return found;
}

std::optional<Configuration> ReadConfiguration(const std::string& folder) {
  std::optional<Configuration> found = ReadFiles(folder);
  if (found && !found->files.contains("slurm.conf")) return std::nullopt;
  return found;
}

bool IsKeyFile(std::string_view name) { return IsSecretFile(name) || name == "jwks.json"; }

Configuration WithoutKeys(Configuration configuration) {
  std::erase_if(configuration.files, [](const auto& file) { return IsKeyFile(file.first); });
  return configuration;
}

Result<void> WriteConfiguration(const Configuration& configuration, const std::string& keys,
                                const std::string& folder) {
  const std::string state = OptionOf(configuration, "StateSaveLocation");
  // Slurm's user reads them, also where root started slurmctld.
  const auto give = [&state](const std::string& path) {
    if (!state.empty()) static_cast<void>(OwnLike(path, state));
  };
  mkdir(folder.c_str(), 0700);
  give(folder);
  for (const auto& [name, text] : configuration.files) {
    CAPSTAN_CHECK_OK(ReplaceFile(folder + "/" + name, text, 0700));  // scripts are among them
    give(folder + "/" + name);
  }
  std::vector<std::string> there = NamesIn(keys).value_or(std::vector<std::string>());
  std::erase_if(there, [](const std::string& name) { return !IsSecretFile(name); });
  for (const std::string& name : NamesIn(folder).value_or(std::vector<std::string>())) {
    if (!configuration.files.contains(name) && std::ranges::find(there, name) == there.end())
      unlink((folder + "/" + name).c_str());
  }
  for (const std::string& name : there) {
    const std::string link = folder + "/" + name;
    if (symlink((keys + "/" + name).c_str(), link.c_str()) != 0 && errno != EEXIST)
      return Fail(Code::kUnavailable, "cannot make " + link + ": " + strerror(errno));
  }
  return {};
}

std::string OptionOf(const Configuration& configuration, std::string_view key) {
  std::string value;
  for (const std::string_view line : Split(configuration.files.at("slurm.conf"), '\n')) {
    const std::string_view trimmed = Trim(line);
    const size_t equals = trimmed.find('=');
    if (equals != trimmed.npos && EqualsIgnoreCase(Trim(trimmed.substr(0, equals)), key))
      value = std::string(Trim(trimmed.substr(equals + 1)));
  }
  return value;
}

std::vector<std::string> SlurmctldHosts(const Configuration& configuration) {
  constexpr std::string_view kHost = "SlurmctldHost=";
  std::vector<std::string> hosts;
  for (const std::string_view line : Split(configuration.files.at("slurm.conf"), '\n')) {
    const std::string_view trimmed = Trim(line);
    if (trimmed.size() <= kHost.size() || !EqualsIgnoreCase(trimmed.substr(0, kHost.size()), kHost)) continue;
    const std::string_view value = trimmed.substr(kHost.size());
    hosts.emplace_back(value.substr(0, value.find('(')));
  }
  return hosts;
}

}  // namespace capstan::entry
