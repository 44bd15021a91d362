// How many values a label may have. What does not find room is counted in slurm_exporter_uncounted_records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace capstan::exporter {

inline constexpr size_t kMostNodes = 50'000;
inline constexpr size_t kMostPartitions = 2'000;
inline constexpr size_t kMostNodeSets = 1'000;
inline constexpr size_t kMostAccounts = 5'000;
inline constexpr size_t kMostUsers = 10'000;
inline constexpr size_t kMostReasons = 5'000;  // of partition and reason together
inline constexpr size_t kMostGres = 500;       // kinds
inline constexpr size_t kMostUnits = 5'000;    // of topologies
inline constexpr size_t kMostLicenses = 1'000;
inline constexpr size_t kMostReservations = 1'000;

using Names = std::set<std::string, std::less<>>;

// How many records are missing from series with that label.
struct Uncounted {
  std::string_view label;
  int64_t records = 0;
};

}  // namespace capstan::exporter
