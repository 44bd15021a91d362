#include "entry/heartbeat.h"

#include <chrono>
#include <string_view>

#include "entry/files.h"

namespace capstan::entry {
namespace {

constexpr int64_t kLatest = int64_t{1} << 33;  // the year 2242: what Time holds

uint64_t BigEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

}  // namespace

std::optional<Heartbeat> ReadHeartbeat(const Configuration& configuration) {
  const std::optional<std::string> file = ReadFile(OptionOf(configuration, "StateSaveLocation") + "/heartbeat");
  if (!file || file->size() < 16) return std::nullopt;
  const std::string_view bytes = *file;
  const auto seconds = static_cast<int64_t>(BigEndian(bytes.substr(0, 8)));
  if (seconds < 0 || seconds > kLatest) return std::nullopt;
  return Heartbeat{.server = BigEndian(bytes.substr(8, 8)), .at = Time(std::chrono::seconds(seconds))};
}

bool StandsBy(const Configuration& configuration, const std::string& host) {
  const std::vector<std::string> hosts = SlurmctldHosts(configuration);
  if (hosts.size() < 2) return false;
  const std::optional<Heartbeat> heartbeat = ReadHeartbeat(configuration);
  return heartbeat && heartbeat->server < hosts.size() && hosts[heartbeat->server] != host;
}

}  // namespace capstan::entry
