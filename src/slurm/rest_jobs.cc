// What RestClient asks about single jobs.
#include <algorithm>

#include "slurm/accounting_wire.h"
#include "slurm/rest_answer.h"

namespace capstan::slurm {
namespace {

// Of jobs that were not cancelled.
constexpr int64_t kNoSuchJob = 2017, kAlreadyOver = 2021, kFiltered = 2172;
constexpr int64_t kInvalidFlag = 9207;  // of slurmrestd's data parser

Code CodeOf(const wire::KillError& error) {
  if (error.code == kNoSuchJob || error.code == kAlreadyOver) return Code::kNotFound;
  return error.code == kFiltered ? Code::kConflict : Code::kInvalid;
}

Error WhyNotCancelled(const std::string& job, const wire::KillError& error) {
  const std::string& words = error.message.empty() ? error.string : error.message;
  return Error(CodeOf(error), "Slurm did not cancel " + job + ": " + OneLine(words, kLongestFault) + " (Slurm error " +
                                  std::to_string(error.code) + ")");
}

bool SayUnknownFlag(const std::vector<wire::Problem>& problems, std::string_view flag) {
  return std::ranges::any_of(problems, [flag](const wire::Problem& p) {
    return p.error_number == kInvalidFlag && p.description.find(flag) != std::string::npos;
  });
}

}  // namespace

// What is not found is what the order names: a partition, a reservation.
Error RestClient::AsOrder(const Answer& answer) {
  const Error error = answer.ToError(true);
  return error.code() == Code::kNotFound ? Error(Code::kInvalid, error.message()) : error;
}

async::Task<Result<std::vector<Job>>> RestClient::JobNumbered(int64_t id, async::Deadline deadline) {
  CAPSTAN_CO_TRY(Answer answer, co_await Call("GET", "job/" + std::to_string(id) + "?flags=ALL", "", deadline));
  std::vector<Job> jobs;
  if (!answer.ok()) {
    if (answer.ToError(false).code() == Code::kNotFound) co_return jobs;
    co_return Fail(answer.ToError(false));
  }
  CAPSTAN_CO_TRY(auto found, DecodeAnswer<wire::JobsAnswer>(answer.body, options_));
  if (found.jobs.empty())
    co_return Fail(Code::kUnavailable, "slurmrestd's answer about job " + std::to_string(id) + " names no job");
  for (wire::JobRecord& job : found.jobs) jobs.push_back(std::move(job).ToJob());
  co_return jobs;
}

async::Task<Result<int64_t>> RestClient::Submit(BatchJob job, async::Deadline deadline) {
  if (!job.script.starts_with("#!")) co_return Fail(Code::kInvalid, "a batch job's script begins with \"#!\"");
  if (!job.working_directory.starts_with("/"))
    co_return Fail(Code::kInvalid, "a batch job needs a working directory, an absolute path");
  if (job.environment.empty()) co_return Fail(Code::kInvalid, "a batch job needs one variable of environment at least");
  CAPSTAN_CO_TRY(const Answer answer, co_await Call("POST", "job/submit", json::Encode(wire::ToBody(job)), deadline));
  // Of a proxy, which may have passed the job on.
  if (answer.status >= 500 && answer.status != 511 && answer.errors.empty())
    co_return Fail(Code::kUnknownOutcome, answer.ToError(true).message());
  if (!answer.ok()) co_return Fail(AsOrder(answer));
  const auto made = DecodeAnswer<wire::SubmitAnswer>(answer.body, options_);
  if (!made) co_return Fail(Code::kUnknownOutcome, made.error().message());
  if (made->job_id <= 0) co_return Fail(Code::kUnknownOutcome, "Slurm does not say which job it made");
  co_return made->job_id;
}

async::Task<Result<void>> RestClient::Submit(ExternalJob job, async::Deadline deadline) {
  if (job.id <= 0 || job.name.empty()) co_return Fail(Code::kInvalid, "an external job needs an id and a name");
  if (job.memory_mib == 0) co_return Fail(Code::kInvalid, "0 MiB would be all memory of a node");
  CAPSTAN_CO_TRY(const Answer answer, co_await Call("POST", "job/submit", json::Encode(wire::ToBody(job)), deadline));
  if (SayUnknownFlag(answer.errors, wire::kExternalJob)) co_return Fail(NotSupported("external jobs", "25.05"));
  if (!answer.ok()) co_return Fail(AsOrder(answer));
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
  if (failed != killed->status.end())
    co_return Fail(WhyNotCancelled("job " + std::to_string(cancel.id), failed->error));
  co_return Result<void>();
}

async::Task<Result<void>> RestClient::CancelJobs(JobFilter filter, async::Deadline deadline) {
  if (!filter.IsNarrow())
    co_return Fail(Code::kInvalid,
                   "jobs are cancelled by a user, an account, a partition, a QOS, a reservation or a name");
  CAPSTAN_CO_TRY(const Answer answer, co_await Call("DELETE", "jobs/", json::Encode(wire::ToBody(filter)), deadline));
  if (!answer.ok()) co_return Fail(answer.ToError(true));
  const auto killed = DecodeAnswer<wire::KillAnswer>(answer.body, options_);
  if (!killed) co_return Fail(Code::kUnknownOutcome, killed.error().message());
  const auto failed = std::ranges::find_if(killed->status, [](const wire::KillStatus& one) {
    return one.error.code != 0 && CodeOf(one.error) == Code::kInvalid;
  });
  if (failed != killed->status.end()) co_return Fail(WhyNotCancelled("one of the jobs", failed->error));
  co_return Result<void>();
}

async::Task<Result<std::vector<JobResources>>> RestClient::ResourcesOf(int64_t id, async::Deadline deadline) {
  CAPSTAN_CO_TRY(const Answer answer, co_await Call("GET", "resources/" + std::to_string(id), "", deadline));
  if (answer.NoSuchEndpoint()) co_return Fail(NotSupported("a job's cores", "25.11"));
  if (!answer.ok()) co_return Fail(answer.ToError(false));
  CAPSTAN_CO_TRY(auto found, DecodeAnswer<wire::ResourcesAnswer>(answer.body, options_));
  std::vector<JobResources> held;
  for (wire::ResourcesRecord& record : found.nodes) {
    CAPSTAN_CO_TRY(auto one, std::move(record).ToResources());
    held.push_back(std::move(one));
  }
  co_return held;
}

}  // namespace capstan::slurm
