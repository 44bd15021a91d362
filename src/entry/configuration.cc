#include "entry/configuration.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

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

}  // namespace

std::map<std::string, std::string> Configuration::digests() const {
  std::map<std::string, std::string> digests;
  for (const auto& [name, text] : files) digests.emplace(name, Sha256Hex(text));
  return digests;
}

std::optional<Configuration> ReadConfiguration(const std::string& folder) {
  const std::string before = Target(folder + "/..data");
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), &closedir);
  if (entries == nullptr) return std::nullopt;
  Configuration found;
  while (const dirent* entry = readdir(entries.get())) {  // NOLINT(concurrency-mt-unsafe): one thread
    const std::string name = entry->d_name;
    const std::string path = folder + "/" + name;
    if (name.starts_with('.') || name.ends_with(".key") || name.ends_with(".jwks") || !IsFile(path)) continue;
    std::optional<std::string> text = ReadFile(path);
    if (!text) return std::nullopt;
    found.files.emplace(name, *std::move(text));
  }
  if (!found.files.contains("slurm.conf") || Target(folder + "/..data") != before) return std::nullopt;
  return found;
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
