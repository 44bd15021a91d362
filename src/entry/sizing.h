// How much of the machine Slurm may give to jobs in this pod.
//
// slurmd in a pod sees the whole machine. What the pod may not use is declared as reserved for the system:
// CoreSpecCount (cores) and MemSpecLimit (MiB), computed from what `slurmd -C` prints and from the pod's
// limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "entry/node_conf.h"

namespace capstan::entry {

struct Hardware {
  int64_t cores = 0;  // boards x sockets x cores per socket
  int64_t threads_per_core = 0;
  int64_t memory_mib = 0;
};

// What the operator says about the pod, from the environment. Absent: no limit of that kind.
struct PodShare {
  std::optional<int64_t> cpus = {};        // POD_CPUS: whole CPUs, so hardware threads
  std::optional<int64_t> memory_mib = {};  // POD_MEMORY
  std::string_view topology = {};          // POD_TOPOLOGY or SLINKY_TOPOLOGY; empty for none
};

// Reads POD_CPUS, POD_MEMORY, POD_TOPOLOGY, SLINKY_TOPOLOGY. "" and "0" mean no limit; kInvalid for anything
// that is not a number. The topology points into the environment.
Result<PodShare> ReadPodShare();

// The first line of `slurmd -C`. kInternal when it is not what slurmd prints.
Result<Hardware> ParseHardware(std::string_view output);

// True when AddPodShare needs to know the hardware.
bool NeedsHardware(const PodShare& share, const NodeConf& conf);

// Adds CoreSpecCount, MemSpecLimit and Topology to `conf`, each only if it is not there already: the user
// wins. What the user says of the hardware (Boards, Sockets, RealMemory, ...) is believed over `hardware`.
// Slurm reserves whole cores, so a pod with an odd number of threads leaves one unused; at least one core is
// always left for jobs.
Result<void> AddPodShare(const PodShare& share, const Hardware& hardware, NodeConf* conf);

}  // namespace capstan::entry
