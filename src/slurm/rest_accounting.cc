// What RestClient asks of accounting.h.
#include "slurm/accounting_wire.h"
#include "slurm/rest_answer.h"

namespace capstan::slurm {

async::Task<Result<std::vector<BookedJob>>> RestClient::BookedJobs(int64_t id, async::Deadline deadline) {
  CAPSTAN_CO_TRY(const Answer answer,
                 co_await Call("GET", "job/" + std::to_string(id), "", deadline, std::string(kSlurmdbdApi)));
  if (answer.NoSuchEndpoint())
    co_return Fail(Code::kUnavailable, "this slurmrestd does no accounting (it runs without -s openapi/slurmdbd)");
  if (!answer.ok()) co_return Fail(answer.ToError(false));
  CAPSTAN_CO_TRY(auto found, DecodeAnswer<wire::BookedJobsAnswer>(answer.body, options_));
  std::vector<BookedJob> jobs;
  for (wire::BookedJobRecord& record : found.jobs) jobs.push_back(std::move(record).ToJob());
  co_return jobs;
}

}  // namespace capstan::slurm
