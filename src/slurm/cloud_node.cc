#include "slurm/cloud_node.h"

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace capstan::slurm {
namespace {

bool Says(const std::vector<std::string_view>& items, std::initializer_list<std::string_view> keys) {
  return std::ranges::any_of(items, [&](std::string_view item) {
    const std::string_view key = item.substr(0, item.find('='));
    return std::ranges::any_of(keys, [&](std::string_view one) { return EqualsIgnoreCase(key, one); });
  });
}

// "8", "4K"
bool IsCount(std::string_view text) {
  if (!text.empty() && std::string_view("KMGTPkmgtp").contains(text.back())) text.remove_suffix(1);
  return ParseInt(text).has_value();
}

// "gpu:h100:8,nic" as GresConf has it, without which slurmctld makes no node with a Gres: "count=8,name=gpu,type=h100+count=1,name=nic".
std::string GresConfOf(std::string_view gres) {
  std::string text;
  for (const std::string_view one : Split(gres, ',')) {
    const std::vector<std::string_view> parts = Split(one, ':');
    const bool counted = parts.size() > 1 && IsCount(parts.back());
    const size_t names = parts.size() - size_t(counted);
    text += (text.empty() ? "" : "+") + ("count=" + std::string(counted ? parts.back() : "1")) +
            ",name=" + std::string(parts[0]);
    if (names > 1 && parts[1] != "no_consume") text += ",type=" + std::string(parts[1]);
  }
  return text;
}

std::string_view GresIn(const std::vector<std::string_view>& items) {
  for (const std::string_view item : items) {
    if (EqualsIgnoreCase(item.substr(0, item.find('=')), "Gres")) return item.substr(item.find('=') + 1);
  }
  return "";
}

}  // namespace

std::string SizedConf(const std::string& conf, int64_t cpus, int64_t memory_mib) {
  const std::vector<std::string_view> items = Words(conf);
  std::vector<std::string> sized;
  if (cpus > 0 && !Says(items, {"CPUs", "Boards", "Sockets", "SocketsPerBoard", "CoresPerSocket", "ThreadsPerCore"}))
    sized.push_back("CPUs=" + std::to_string(cpus));
  if (memory_mib > 0 && !Says(items, {"RealMemory"})) sized.push_back("RealMemory=" + std::to_string(memory_mib));
  if (!conf.empty()) sized.push_back(conf);
  return Join(sized, " ");
}

Result<void> CheckCloudConf(const std::string& conf) {
  for (const char* key : {"NodeName", "NodeAddr", "NodeHostname", "BcastAddr", "Port", "State", "Reason", "GresConf"}) {
    if (Says(Words(conf), {key}))
      return Fail(Code::kInvalid,
                  std::string(key) + "= cannot be said of a node before its slurmd runs: slurmctld may end");
  }
  return {};
}

Result<std::string> LineOf(const CloudNode& node) {
  CAPSTAN_CHECK_OK(CheckCloudConf(node.conf));
  // What a name may be made of, and the least that a node has, is the same for both.
  CAPSTAN_CHECK_OK(LineOf(ExternalNode{.name = node.name, .cpus = node.cpus, .memory_mib = node.memory_mib}));
  const auto idle = std::chrono::duration_cast<std::chrono::seconds>(node.idle).count();
  if (idle < 1) return Fail(Code::kInvalid, "Slurm node " + node.name + " would never be idle for long enough");
  std::string line = "NodeName=" + node.name + " State=CLOUD SuspendTime=" + std::to_string(idle) + " " +
                     SizedConf(node.conf, node.cpus, node.memory_mib);
  if (const std::string_view gres = GresIn(Words(node.conf)); !gres.empty())
    line += " GresConf=\"" + GresConfOf(gres) + "\"";
  return line;
}

Result<std::string> LineOf(const NewNode& node) {
  return std::visit([](const auto& one) { return LineOf(one); }, node);
}

const std::string& NameOf(const NewNode& node) {
  return std::visit([](const auto& one) -> const std::string& { return one.name; }, node);
}

}  // namespace capstan::slurm
