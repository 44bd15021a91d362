// Nodes that Slurm starts and stops by its power saving (State=CLOUD; seen with Slurm 26.05).
//
// slurmctld knows such a node from the moment in which it is made, IDLE with the flags CLOUD and POWERED_DOWN, and schedules with what it is to
// have. A job that is given one makes it POWERING_UP; that ends when a slurmd of that name registers which began later (`slurmd -b`: not its
// machine). Idle for so long, it is POWERING_DOWN, and SuspendTimeout later POWERED_DOWN: no job begins meanwhile. All of it outlives a restart
// of slurmctld. The record is removed like that of any dynamic node.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "base/result.h"
#include "base/time.h"
#include "slurm/external_node.h"

namespace capstan::slurm {

struct CloudNode {
  std::string name;
  int64_t cpus = 1;        // unless `conf` says how many, or of what they are made
  int64_t memory_mib = 1;  // unless `conf` says so
  std::string conf = {};   // with what its slurmd registers (node_conf.h)
  Duration idle{};         // until it is powered down; whole seconds, at least one

  bool operator==(const CloudNode&) const = default;
};

// `conf` with these, unless it says how many or what they are made of; 0: they are not said. The slurmd of a cloud node registers with the same, and
// with no CoreSpecCount: slurmctld would take it out of service ("CoreSpec differ").
std::string SizedConf(const std::string& conf, int64_t cpus, int64_t memory_mib);

// slurmctld reads `conf` when it makes the node, and ends where an address or a port is not as it must be (seen with 26.05). kInvalid: `conf`
// has one, or another word of those that are not its user's to say.
Result<void> CheckCloudConf(const std::string& conf);

// The line of slurm.conf by which slurmctld makes it. kInvalid: as for an external node, or CheckCloudConf.
Result<std::string> LineOf(const CloudNode& node);

// A node that is made by a request, before any slurmd of it registers.
using NewNode = std::variant<ExternalNode, CloudNode>;
Result<std::string> LineOf(const NewNode& node);
const std::string& NameOf(const NewNode& node);

}  // namespace capstan::slurm
