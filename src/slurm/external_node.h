// Nodes on which Slurm starts nothing (State=External; seen with Slurm 26.05): no slurmd is asked about them, and external jobs
// (external_job.h) alone run there.
//
// slurmctld knows such a node from the moment in which it is made, IDLE with the flag EXTERNAL, and keeps it over restarts and
// reconfigures. What it has (processors, memory, GRES) cannot be changed: its record is removed and made anew.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace capstan::slurm {

struct ExternalNode {
  std::string name;
  int64_t cpus = 1;  // each a core
  int64_t memory_mib = 1;
  // Devices that are counted, not told apart. Slurm leaves out what GresTypes of slurm.conf does not name.
  struct Gres {
    std::string name;  // "gpu"
    int64_t count = 0;
    bool operator==(const Gres&) const = default;
  };
  std::vector<Gres> gres = {};
  std::vector<std::string> features = {};
  std::string topology = {};  // "topo-switch:s2,topo-block:b2"
  // Where it is, as a number. Nobody is asked there; but without it slurmctld looks the name up in DNS whenever a job starts, and
  // stands still for ten seconds where DNS does not answer.
  std::string address = {};

  // "gpu:2,nic:1", as the node's record has it; "": none.
  std::string GresText() const;
  bool operator==(const ExternalNode&) const = default;
};

// The line of slurm.conf by which slurmctld makes it. kInvalid: a number that makes no sense, a name that has other characters
// than letters, digits and "-_.:", or none, or an address that is none.
Result<std::string> LineOf(const ExternalNode& node);

}  // namespace capstan::slurm
