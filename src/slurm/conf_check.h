// What Slurm would say of a configuration, before it is published: a slurmctld that meets a line that it cannot read does
// not start, and neither does a slurmd.
//
// The options and the types of their values are those that Slurm 26.05 was built with; what is refused was compared with
// starts of its slurmctld (test/slurm/conf_it_test.cc). An option, or a word of a list, that is not known here may be one
// of a newer Slurm: it is told, and not refused.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/conf.h"

namespace capstan::slurm {

enum class ConfFile { kSlurm, kCgroup, kGres, kSlurmdbd, kTopology };

// The file of this name in /etc/slurm; nullopt: one that is not looked at.
std::optional<ConfFile> ConfFileNamed(std::string_view name);

struct ConfFinding {
  bool refused = false;  // Slurm does not start with it; otherwise it may, if it knows more
  size_t line = 0;       // of the text, from 1; 0: it is about no line alone
  std::string text;      // what is wrong, and what would be right, in one line; without what may be a password
  // A partition, directly or by a NodeSet, names what the text defines neither as a NodeSet nor as a node: slurmctld starts with it only while it
  // has such a node. Of a text that includes a file, which may define it, that is not said.
  bool unknown_node = false;
};

// At most this many are found in one text: those for which it may be refused, then those of the first lines.
inline constexpr size_t kMostConfFindings = 16;

// Work and memory are bounded by the bytes of the text, and not by the hosts that it stands for (HostIndex). `known`: nodes that partitions may
// name besides.
std::vector<ConfFinding> CheckConf(ConfFile file, std::string_view text, std::span<const std::string> known = {});

// An option of a partition with which slurmctld starts only where slurmdbd has such a QOS: not without accounting.
bool NeedsQos(const ConfItem& item);

// The options of a line of slurm.conf that defines a partition, without its name: "State=UP MaxTime=1:00:00". An empty value counts as none,
// as ConfText cannot write it.
std::vector<ConfFinding> CheckPartition(std::string_view options);

}  // namespace capstan::slurm
