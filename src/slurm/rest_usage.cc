// What RestClient reads of usage.h.
#include "slurm/rest_answer.h"
#include "slurm/usage_wire.h"

namespace capstan::slurm {

template <class Wire, class Record>
async::Task<Result<RestClient::ListEnd>> RestClient::Visit(std::string path, std::string array, size_t most,
                                                           Visitor<Record> visitor, async::Deadline deadline) {
  json::Decoder decoder;
  size_t count = 0;
  const auto begin = [&] {
    count = 0;
    visitor.begin();
  };
  const auto take = [&](std::string_view element) -> Result<void> {
    CAPSTAN_CHECK_OK(CheckRoom(count++, most));
    Wire record;
    CAPSTAN_CHECK_OK(DecodeElement(decoder, record, element));
    visitor.take(std::move(record).ToUsage());
    return {};
  };
  co_return co_await ReadElements({std::move(path), std::move(array), begin, take}, deadline);
}

async::Task<Result<RestClient::ListEnd>> RestClient::VisitNodes(Visitor<NodeUsage> visitor, async::Deadline deadline) {
  co_return co_await Visit<wire::NodeUsageRecord>("nodes/?flags=ALL&flags=MIXED", "nodes", options_.max_nodes,
                                                  std::move(visitor), deadline);
}

async::Task<Result<RestClient::ListEnd>> RestClient::VisitJobs(Visitor<JobUsage> visitor, async::Deadline deadline) {
  co_return co_await Visit<wire::JobUsageRecord>("jobs/?flags=ALL", "jobs", options_.max_jobs, std::move(visitor),
                                                 deadline);
}

async::Task<Result<Statistics>> RestClient::ReadStatistics(async::Deadline deadline) {
  CAPSTAN_CO_TRY(const Answer answer, co_await Get("diag/", deadline));
  CAPSTAN_CO_TRY(auto full, DecodeAnswer<wire::StatisticsAnswer>(answer.body, options_));
  CAPSTAN_CO_TRY(const auto times, DecodeAnswer<wire::StatisticsTimesAnswer>(answer.body, options_));
  full.statistics.job_states_ts = times.statistics.job_states_ts.number;
  full.statistics.bf_when_last_cycle = times.statistics.bf_when_last_cycle.number;
  co_return std::move(full.statistics);
}

}  // namespace capstan::slurm
