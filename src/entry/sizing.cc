#include "entry/sizing.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/text.h"

namespace capstan::entry {
namespace {

std::string_view VariableView(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : Trim(value);
}

Result<std::optional<int64_t>> Limit(const char* name) {
  const std::string_view text = VariableView(name);
  if (text.empty()) return std::nullopt;
  const std::optional<int64_t> number = ParseInt(text);
  if (!number || *number < 0) {
    return Fail(Code::kInvalid, std::string(name) + " is '" + std::string(text) + "', must be a whole number");
  }
  if (*number == 0) return std::nullopt;
  return number;
}

// The positive number of an item, `otherwise` when there is no such item.
Result<int64_t> Number(const NodeConf& conf, std::string_view key, int64_t otherwise) {
  const std::string* text = conf.Find(key);
  if (text == nullptr) return otherwise;
  const std::optional<int64_t> number = ParseInt(*text);
  if (!number || *number <= 0) {
    return Fail(Code::kInvalid, std::string(key) + "=" + *text + " must be a positive whole number");
  }
  return *number;
}

// Both `Sockets` (all of them) and `Boards` x `SocketsPerBoard` are ways to say how many sockets there are.
Result<Hardware> HardwareOf(const NodeConf& conf, const Hardware& seen) {
  CAPSTAN_TRY(const int64_t boards, Number(conf, "Boards", 0));
  CAPSTAN_TRY(const int64_t per_board, Number(conf, "SocketsPerBoard", 0));
  CAPSTAN_TRY(const int64_t sockets, Number(conf, "Sockets", std::max<int64_t>(boards, 1) * per_board));
  CAPSTAN_TRY(const int64_t cores, Number(conf, "CoresPerSocket", 0));
  Hardware hardware = seen;
  CAPSTAN_TRY(hardware.threads_per_core, Number(conf, "ThreadsPerCore", seen.threads_per_core));
  CAPSTAN_TRY(hardware.memory_mib, Number(conf, "RealMemory", seen.memory_mib));
  if (sockets > 0 && cores > 0) hardware.cores = sockets * cores;
  return hardware;
}

bool WantsCores(const PodShare& share, const NodeConf& conf) {
  return share.cpus && !conf.Has("CoreSpecCount") && !conf.Has("CpuSpecList");
}
bool WantsMemory(const PodShare& share, const NodeConf& conf) { return share.memory_mib && !conf.Has("MemSpecLimit"); }

}  // namespace

Result<PodShare> ReadPodShare() {
  PodShare share;
  CAPSTAN_TRY(share.cpus, Limit("POD_CPUS"));
  CAPSTAN_TRY(share.memory_mib, Limit("POD_MEMORY"));
  share.topology = VariableView("POD_TOPOLOGY");
  if (share.topology.empty()) share.topology = VariableView("SLINKY_TOPOLOGY");
  return share;
}

Result<Hardware> ParseHardware(std::string_view output) {
  const std::string_view line = output.substr(0, output.find('\n'));
  Result<NodeConf> seen = NodeConf::Parse(line);
  if (!seen || !seen->Has("NodeName")) {
    return Fail(Code::kInternal, "slurmd -C printed '" + std::string(line) + "', not a NodeName line");
  }
  for (const char* key : {"CoresPerSocket", "ThreadsPerCore", "RealMemory"}) {
    if (!seen->Has(key)) return Fail(Code::kInternal, "slurmd -C printed no " + std::string(key));
  }
  return HardwareOf(*seen, Hardware{.cores = 1, .threads_per_core = 1, .memory_mib = 0});
}

bool NeedsHardware(const PodShare& share, const NodeConf& conf) {
  return WantsCores(share, conf) || WantsMemory(share, conf);
}

Result<void> AddPodShare(const PodShare& share, const Hardware& seen, NodeConf* conf) {
  CAPSTAN_TRY(const Hardware hardware, HardwareOf(*conf, seen));
  if (WantsCores(share, *conf)) {
    const int64_t ours = std::max<int64_t>(*share.cpus / hardware.threads_per_core, 1);
    if (hardware.cores > ours) conf->Set("CoreSpecCount", std::to_string(hardware.cores - ours));
  }
  if (WantsMemory(share, *conf) && hardware.memory_mib > *share.memory_mib) {
    conf->Set("MemSpecLimit", std::to_string(hardware.memory_mib - *share.memory_mib));
  }
  if (conf->Has("Topology")) return {};
  // --conf has no escapes: a quote would end the value, and what follows would be read as further items.
  const auto breaks_out = [](unsigned char c) { return c < ' ' || c == 0x7f || c == '"' || c == '\'' || c == '\\'; };
  if (std::ranges::any_of(share.topology, breaks_out)) {
    return Fail(Code::kInvalid, "the topology '" + std::string(share.topology) +
                                    "' of this pod holds a quote, backslash or control "
                                    "character, which slurmd cannot read");
  }
  conf->Set("Topology", share.topology);
  return {};
}

}  // namespace capstan::entry
