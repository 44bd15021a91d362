// All jobs of Slurm that bear a bridge's mark and are not over: what is left of them when the memory of a process is lost.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plan/question.h"

namespace capstan::bridge {

class MarkedJobs final : public plan::Question {
 public:
  // By JobMark::Prefix.
  using Value = std::map<std::string, std::vector<int64_t>>;
  std::string id() const override;
  Duration limit() const override { return 2min; }
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;
};

// An answer that is older is asked for again.
inline constexpr Duration kMarkedJobsAge = 1h;

}  // namespace capstan::bridge
