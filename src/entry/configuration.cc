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
    if (name.starts_with('.') || name.ends_with(".key") || !IsFile(path)) continue;
    std::optional<std::string> text = ReadFile(path);
    if (!text) return std::nullopt;
    found.files.emplace(name, *std::move(text));
  }
  if (!found.files.contains("slurm.conf") || Target(folder + "/..data") != before) return std::nullopt;
  return found;
}

bool HasStandby(const Configuration& configuration) {
  constexpr std::string_view kHost = "slurmctldhost";
  int hosts = 0;
  for (const std::string_view line : Split(configuration.files.at("slurm.conf"), '\n')) {
    const std::string_view trimmed = Trim(line);
    hosts += trimmed.size() > kHost.size() && EqualsIgnoreCase(trimmed.substr(0, kHost.size()), kHost) ? 1 : 0;
  }
  return hosts > 1;
}

}  // namespace capstan::entry
