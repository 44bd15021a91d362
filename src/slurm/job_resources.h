// Which cores and devices of its nodes a running job holds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace capstan::slurm {

// Of one node.
struct JobResources {
  struct Device {
    std::string name, type;  // "gpu", "a100"; the type may be ""
    int64_t count = 0;
    std::string index;  // of counted devices "", else as Slurm writes it: "0,2-3"
  };
  std::string node;
  int64_t sockets = 0, cores_per_socket = 0;
  std::vector<int64_t> cores;  // ascending; the cores of socket 0 come first. Which CPUs each is, slurmd knows
  int64_t memory_mib = 0;
  std::vector<Device> devices;
};

// The bits of a hexadecimal mask, "0x0f" or "3", the lowest last: ascending. kInvalid: it is none, or longer than that of any
// node.
Result<std::vector<int64_t>> BitsOfMask(std::string_view mask);

}  // namespace capstan::slurm
