// A number that slurmrestd says of an amount, such as processors or MiB.
#pragma once

#include <algorithm>
#include <cstdint>

namespace capstan::slurm {

// 64 bits hold a million times as much: its sum over all nodes, or the bytes of so many MiB.
constexpr int64_t kMostAmount = int64_t{1} << 40;

// What was said, not negative and at most that.
inline int64_t Amount(int64_t said) { return std::clamp<int64_t>(said, 0, kMostAmount); }

}  // namespace capstan::slurm
