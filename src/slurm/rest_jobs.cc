// What RestClient asks about single jobs.
#include <algorithm>

#include "slurm/rest_answer.h"

namespace capstan::slurm {
namespace {

// Of jobs that were not cancelled.
constexpr int64_t kNoSuchJob = 2017, kAlreadyOver = 2021, kFiltered = 2172;

Error WhyNotCancelled(int64_t id, const wire::KillError& error) {
  const Code code = error.code == kNoSuchJob || error.code == kAlreadyOver ? Code::kNotFound
                    : error.code == kFiltered                              ? Code::kConflict
                                                                           : Code::kInvalid;
  const std::string& words = error.message.empty() ? error.string : error.message;
  return Error(code, "Slurm did not cancel job " + std::to_string(id) + ": " + OneLine(words, kLongestFault) +
                         " (Slurm error " + std::to_string(error.code) + ")");
}

}  // namespace

async::Task<Result<std::vector<Job>>> RestClient::JobNumbered(int64_t id, async::Deadline deadline) {
  CAPSTAN_CO_TRY(Answer answer, co_await Call("GET", "job/" + std::to_string(id) + "?flags=ALL", "", deadline));
  std::vector<Job> jobs;
  if (!answer.ok()) {
    if (answer.json && answer.ToError(false).code() == Code::kNotFound) co_return jobs;
    co_return Fail(answer.ToError(false));
  }
  CAPSTAN_CO_TRY(auto found, DecodeAnswer<wire::JobsAnswer>(answer.body, options_));
  if (found.jobs.empty())
    co_return Fail(Code::kUnavailable, "slurmrestd's answer about job " + std::to_string(id) + " names no job");
  for (wire::JobRecord& job : found.jobs) jobs.push_back(std::move(job).ToJob());
  co_return jobs;
}

async::Task<Result<void>> RestClient::Submit(ExternalJob job, async::Deadline deadline) {
  if (job.id <= 0 || job.name.empty()) co_return Fail(Code::kInvalid, "an external job needs an id and a name");
  if (job.memory_mib == 0) co_return Fail(Code::kInvalid, "0 MiB would be all memory of a node");
  CAPSTAN_CO_TRY(const Answer answer, co_await Call("POST", "job/submit", json::Encode(wire::ToBody(job)), deadline));
  if (!answer.ok()) {
    const Error error = answer.ToError(true);
    // What is not found is what the order names: a partition, a reservation.
    co_return Fail(answer.json && error.code() == Code::kNotFound ? Error(Code::kInvalid, error.message()) : error);
  }
  const auto made = DecodeAnswer<wire::SubmitAnswer>(answer.body, options_);
  if (!made) co_return Fail(Code::kUnknownOutcome, made.error().message());
  if (made->job_id != job.id) {
    co_return Fail(Code::kUnknownOutcome, "Slurm made job " + std::to_string(made->job_id) + " where " +
                                              std::to_string(job.id) + " was asked for");
  }
  co_return Result<void>();
}

async::Task<Result<void>> RestClient::UpdateJob(JobUpdate update, async::Deadline deadline) {
  if (update.id <= 0) co_return Fail(Code::kInvalid, "an update names no job");
  const std::string body =
      json::Encode(wire::JobUpdateBody{.admin_comment = update.admin_comment, .name = update.name});
  CAPSTAN_CO_TRY(const Answer answer, co_await Call("POST", "job/" + std::to_string(update.id), body, deadline));
  if (!answer.ok()) co_return Fail(answer.ToError(true));
  co_return Result<void>();
}

// The list of ids is never empty: without one, slurmctld would cancel every job that the filters match.
async::Task<Result<void>> RestClient::CancelJob(JobCancel cancel, async::Deadline deadline) {
  if (cancel.id <= 0 || cancel.name.empty())
    co_return Fail(Code::kInvalid, "a job is cancelled by its id and its name, and no less");
  CAPSTAN_CO_TRY(const Answer answer, co_await Call("DELETE", "jobs/", json::Encode(wire::ToBody(cancel)), deadline));
  if (!answer.ok()) co_return Fail(answer.ToError(true));
  const auto killed = DecodeAnswer<wire::KillAnswer>(answer.body, options_);
  if (!killed) co_return Fail(Code::kUnknownOutcome, killed.error().message());
  const auto failed =
      std::ranges::find_if(killed->status, [](const wire::KillStatus& one) { return one.error.code != 0; });
  if (failed != killed->status.end()) co_return Fail(WhyNotCancelled(cancel.id, failed->error));
  co_return Result<void>();
}

}  // namespace capstan::slurm
