#include "bridge/marked_jobs.h"

#include "base/hash.h"
#include "bridge/mark.h"
#include "bridge/settings.h"
#include "plan/services.h"

namespace capstan::bridge {

std::string MarkedJobs::id() const { return std::string("marked jobs of ") + kSlurm; }

async::Task<Result<std::optional<plan::Question::Fetched>>> MarkedJobs::Fetch(plan::Services& services,
                                                                              async::Deadline deadline) const {
  CAPSTAN_CO_TRY(const auto source, services.slurm.Reach(kSlurm));
  CAPSTAN_CO_TRY(const auto jobs, co_await source->ReadExternalJobs(deadline));
  Value marked;
  uint64_t digest = 0;
  for (const slurm::Job& job : jobs) {
    const auto mark = JobMark::Of(job.admin_comment);
    if (!mark) continue;
    digest = Fnv64(job.admin_comment, digest + uint64_t(job.id));
    marked[mark->Prefix()].push_back(job.id);
  }
  co_return Fetched{std::make_shared<const Value>(std::move(marked)), digest};
}

}  // namespace capstan::bridge
