// What RestClient reads of usage.h.
#include "base/text.h"
#include "slurm/rest_answer.h"
#include "slurm/usage_wire.h"

namespace capstan::slurm {
namespace {

// Decodes each element as a Wire and hands it on, at most `most` of them.
template <class Wire, class Record>
std::function<Result<void>(std::string_view)> TakeEach(json::Decoder& decoder, size_t& count, size_t most,
                                                       const std::function<void(Record&&)>& take) {
  return [&decoder, &count, &take, most](std::string_view element) -> Result<void> {
    CAPSTAN_CHECK_OK(CheckRoom(count++, most));
    Wire record;
    CAPSTAN_CHECK_OK(DecodeElement(decoder, record, element));
    take(std::move(record).ToUsage());
    return {};
  };
}

}  // namespace

async::Task<Result<RestClient::ListEnd>> RestClient::VisitNodes(Visitor<NodeUsage> visitor, async::Deadline deadline) {
  json::Decoder decoder;
  size_t count = 0;
  const auto begin = [&] {
    count = 0;
    visitor.begin();
  };
  co_return co_await ReadElements({"nodes/?flags=ALL&flags=MIXED", "nodes", begin,
                                   TakeEach<wire::NodeUsageRecord>(decoder, count, options_.max_nodes, visitor.take)},
                                  deadline);
}

async::Task<Result<RestClient::ListEnd>> RestClient::VisitJobs(Visitor<JobUsage> visitor, async::Deadline deadline) {
  json::Decoder decoder;
  size_t count = 0;
  const auto begin = [&] {
    count = 0;
    visitor.begin();
  };
  co_return co_await ReadElements({"jobs/?flags=ALL", "jobs", begin,
                                   TakeEach<wire::JobUsageRecord>(decoder, count, options_.max_jobs, visitor.take)},
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
