// Which nodes a configuration file names that slurmctld looks up when it reads the file, and at no other time: one that registers
// later is left out of its switch, block or partition until slurmctld reads the file again (docs/slurm-facts.md).
//
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace capstan::slurm {

// The hostlists of `Nodes=` of switches, blocks and partitions in a file of /etc/slurm, and of `nodes:` in topology.yaml, as they
// are written, but for those that say ALL, or name NodeSets of the same text, and nothing else. Those of a NodeSet are none of them:
// slurmctld looks at it whenever a node registers. None in a text that cannot be read.
std::vector<std::string> NamedNodes(std::string_view file, std::string_view text);

}  // namespace capstan::slurm
