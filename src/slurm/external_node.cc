#include "slurm/external_node.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "slurm/conf.h"

namespace capstan::slurm {
namespace {

bool MayStandInWord(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || (c >= '0' && c <= '9') || std::string_view("-_.:").contains(c);
}

Result<void> CheckWord(std::string_view what, std::string_view text) {
  if (!text.empty() && std::ranges::all_of(text, &MayStandInWord)) return {};
  return Fail(Code::kInvalid, std::string(what) + " " + JsonQuoted(OneLine(text, 100)) +
                                  " has a character that slurm.conf does not take in a name");
}

// slurmctld ends when it is to make a node called "all" (seen with 26.05). A line of "DEFAULT" is no node.
Result<void> CheckName(std::string_view name) {
  CAPSTAN_CHECK_OK(CheckWord("the Slurm node's name", name));
  if (!IsReservedName(name)) return {};
  return Fail(Code::kInvalid, "no Slurm node can be called " + std::string(name) + ", which stands for something else");
}

}  // namespace

std::string ExternalNode::GresText() const {
  std::string text;
  for (const Gres& one : gres) text += (text.empty() ? "" : ",") + one.name + ":" + std::to_string(one.count);
  return text;
}

Result<std::string> LineOf(const ExternalNode& node) {
  CAPSTAN_CHECK_OK(CheckName(node.name));
  if (node.cpus < 1) return Fail(Code::kInvalid, "Slurm node " + node.name + " would have no processor");
  if (node.memory_mib < 1) return Fail(Code::kInvalid, "Slurm node " + node.name + " would have no memory");
  const std::string cpus = std::to_string(node.cpus);
  std::string line = "NodeName=" + node.name + " Sockets=1 CoresPerSocket=" + cpus + " ThreadsPerCore=1 CPUs=" + cpus +
                     " RealMemory=" + std::to_string(node.memory_mib) + " State=External";
  if (!node.address.empty()) {
    CAPSTAN_CHECK_OK(CheckWord("the address", node.address));
    line += " NodeAddr=" + node.address;
  }
  for (const std::string& feature : node.features) CAPSTAN_CHECK_OK(CheckWord("the feature", feature));
  if (!node.features.empty()) line += " Feature=" + Join(node.features, ",");
  if (!node.topology.empty()) {
    for (const std::string_view part : Split(node.topology, ',')) CAPSTAN_CHECK_OK(CheckWord("the topology", part));
    line += " Topology=" + node.topology;
  }
  std::string devices;
  for (const ExternalNode::Gres& one : node.gres) {
    CAPSTAN_CHECK_OK(CheckWord("the GRES", one.name));
    devices += (devices.empty() ? "" : "+") + ("count=" + std::to_string(one.count)) + ",name=" + one.name;
  }
  if (!devices.empty()) line += " Gres=\"" + node.GresText() + "\" GresConf=\"" + devices + "\"";
  return line;
}

}  // namespace capstan::slurm
