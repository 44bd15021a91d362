// GRES as Slurm writes them of a node: "gpu:a100:4(S:0-1),gpu:h100:2,shard:8".
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace capstan::slurm {

// How many of that name there are, of all types together. One without a number counts as one; what is no number is none.
int64_t GresCount(std::string_view gres, std::string_view name);

}  // namespace capstan::slurm
