// What is asked of a RestSource at once: fresh reads and writes.
#include <algorithm>

#include "base/text.h"
#include "slurm/hostlist.h"
#include "slurm/rest_permit.h"

namespace capstan::slurm {
namespace {

// One node costs 3 ms and a list 0.25 ms for each of its nodes, so above this share of all nodes the list is
// cheaper.
constexpr size_t kNodesPerSingleRead = 12;
// A request to a slurmrestd whose pod has gone meanwhile may hang; five times what a job takes a slurmrestd.
constexpr Duration kUseLimit = 10s, kUseLimitPerJob = 5ms;

}  // namespace

async::Task<Result<FreshNodes>> RestSource::ReadNodes(std::vector<std::string> names, async::Deadline deadline) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  FreshNodes fresh;
  if (names.empty()) co_return Fail(Code::kInvalid, "a fresh read names no Slurm node");
  CAPSTAN_CO_TRY(const auto permit, co_await Permit::Get(*this, deadline));
  fresh.read.began = loop_.Now();
  const uint64_t read = ++reads_;
  const size_t known = view_.snapshot ? view_.snapshot->nodes->size() : 0;
  const bool by_list = names.size() > kMaxSingleReads || (view_.snapshot && names.size() * kNodesPerSingleRead > known);
  auto done = by_list ? co_await ReadByList(names, fresh, deadline) : co_await ReadOneByOne(names, fresh, deadline);
  if (!done) co_return Fail(std::move(done).error());
  fresh.incarnation = incarnation_;
  // Only absence is judged by it. For those that exist another call would do nothing but make the answer older.
  if (!fresh.absent.empty()) {
    CAPSTAN_CO_TRY(fresh.incarnation, co_await ReadIncarnation(deadline));
  }
  fresh.read.ended = loop_.Now();
  LayOver(fresh, read);
  co_return fresh;
}

async::Task<Result<void>> RestSource::ReadByList(std::span<const std::string> names, FreshNodes& fresh,
                                                 async::Deadline deadline) {
  CAPSTAN_CO_TRY(auto list, co_await client_.Nodes(0, deadline));
  ++counters_.lists;
  for (const std::string& name : names) {
    const auto place = std::ranges::lower_bound(list.records, name, {}, &Node::name);
    if (place != list.records.end() && place->name == name)
      fresh.nodes.push_back(*place);
    else
      fresh.absent.push_back(name);
  }
  co_return Result<void>();
}

async::Task<Result<void>> RestSource::ReadOneByOne(std::span<const std::string> names, FreshNodes& fresh,
                                                   async::Deadline deadline) {
  for (const std::string& name : names) {
    CAPSTAN_CO_TRY(auto node, co_await client_.NodeNamed(name, deadline));
    ++counters_.single_reads;
    if (node)
      fresh.nodes.push_back(*std::move(node));
    else
      fresh.absent.push_back(name);
  }
  co_return Result<void>();
}

async::Task<Result<std::vector<std::string>>> RestSource::ReadNodesOfSuspendedJobs(async::Deadline deadline) {
  CAPSTAN_CO_TRY(const auto permit, co_await Permit::Get(*this, deadline));
  CAPSTAN_CO_TRY(const auto states, co_await client_.JobStates(deadline));
  std::vector<int64_t> ids;
  for (const RestClient::JobBrief& job : states.records) {
    const bool shows = job.state.HasAny({JobFlag::kRunning, JobFlag::kCompleting});  // its nodes are busy
    if (!job.state.HoldsNodes() || shows) continue;
    if (job.id == 0) co_return Fail(Code::kUnavailable, "slurmrestd does not say which job is " + job.state.ToString());
    if (ids.empty() || ids.back() != job.id) ids.push_back(job.id);
  }
  std::vector<Job> jobs;
  if (ids.size() > kMaxSingleReads) {
    CAPSTAN_CO_TRY(auto list, co_await client_.Jobs(0, deadline));
    jobs = std::move(list.records);
  } else {
    for (const int64_t id : ids) {
      CAPSTAN_CO_TRY(const auto found, co_await client_.JobNumbered(id, deadline));
      jobs.insert(jobs.end(), found.begin(), found.end());
    }
  }
  HostIndex held;
  bool all = true;
  for (const Job& job : jobs) {
    if (!job.state.HoldsNodes() || job.nodes.empty()) continue;
    CAPSTAN_CO_TRY(const Hostlist list, Hostlist::Parse(job.nodes));
    all = held.Add(list) && all;
  }
  auto nodes = all ? held.Names() : std::nullopt;
  if (!nodes) co_return Fail(Code::kInvalid, "the nodes of the jobs that are suspended are too many to be told apart");
  co_return *std::move(nodes);
}

async::Task<Result<void>> RestSource::UpdateNode(NodeUpdate update, async::Deadline deadline) {
  CAPSTAN_CO_TRY(const auto permit, co_await Permit::Get(*this, deadline));
  ++counters_.writes;
  auto done = co_await client_.Update(std::move(update), deadline);
  RefreshSoon();
  co_return done;
}

async::Task<Result<void>> RestSource::CreateNode(NewNode node, async::Deadline deadline) {
  CAPSTAN_CO_TRY(const auto permit, co_await Permit::Get(*this, deadline));
  ++counters_.writes;
  auto done = co_await client_.CreateNode(std::move(node), deadline);
  RefreshSoon();
  if (!done && done.error().code() == Code::kAlreadyExists) co_return Result<void>();
  co_return done;
}

async::Task<Result<void>> RestSource::DeleteNode(std::string name, async::Deadline deadline) {
  CAPSTAN_CO_TRY(const auto permit, co_await Permit::Get(*this, deadline));
  ++counters_.writes;
  auto done = co_await client_.Delete(std::move(name), deadline);
  RefreshSoon();
  if (!done && done.error().code() == Code::kNotFound) co_return Result<void>();
  co_return done;
}

async::Task<Result<void>> RestSource::WriteReservation(ReservationUpdate update, async::Deadline deadline) {
  CAPSTAN_CO_TRY(const auto permit, co_await Permit::Get(*this, deadline));
  ++counters_.writes;
  co_return co_await client_.WriteReservation(std::move(update), deadline);
}

async::Task<Result<void>> RestSource::DeleteReservation(std::string name, async::Deadline deadline) {
  CAPSTAN_CO_TRY(const auto permit, co_await Permit::Get(*this, deadline));
  ++counters_.writes;
  auto done = co_await client_.DeleteReservation(name, deadline);
  if (!done && done.error().code() == Code::kNotFound) co_return Result<void>();
  if (done || done.error().code() != Code::kInvalid) co_return done;
  // A Slurm that is too old to delete any.
  CAPSTAN_CO_TRY(const auto all, co_await client_.Reservations(deadline));
  if (std::ranges::find(all.records, name, &Reservation::name) == all.records.end()) co_return Result<void>();
  co_return done;
}

async::Task<Result<void>> RestSource::Reconfigure(async::Deadline deadline) {
  CAPSTAN_CO_TRY(const auto permit, co_await Permit::Get(*this, deadline));
  ++counters_.writes;
  auto done = co_await client_.Reconfigure(deadline);
  RefreshSoon();
  co_return done;
}

async::Task<Result<std::vector<Reservation>>> RestSource::ReadReservations(async::Deadline deadline) {
  CAPSTAN_CO_TRY(const auto permit, co_await Permit::Get(*this, deadline));
  CAPSTAN_CO_TRY(auto list, co_await client_.Reservations(deadline));
  co_return std::move(list.records);
}

async::Task<Result<PartitionUse>> RestSource::ReadPartitionUse(size_t most_jobs, async::Deadline deadline) {
  CAPSTAN_CO_TRY(const auto permit, co_await Permit::Get(*this, deadline));
  CAPSTAN_CO_TRY(auto partitions, co_await client_.Partitions(deadline.Earlier(loop_.After(kUseLimit))));
  CAPSTAN_CO_TRY(const auto states, co_await client_.JobStates(deadline.Earlier(loop_.After(kUseLimit))));
  PartitionUse use{.partitions = std::move(partitions.records), .job_count = states.records.size(), .jobs = {}};
  if (use.job_count > most_jobs) co_return use;
  const Duration limit = kUseLimit + kUseLimitPerJob * int64_t(use.job_count);
  CAPSTAN_CO_TRY(const auto jobs, co_await client_.Jobs(0, deadline.Earlier(loop_.After(limit))));
  use.jobs_read = true;
  for (const Job& job : jobs.records) {
    for (const std::string_view name : Split(job.partition, ',')) {
      PartitionUse::Jobs& its = use.jobs[std::string(name)];
      if (job.state.IsOver())
        ++its.over;
      else
        its.ids.push_back(job.id);
    }
  }
  co_return use;
}

async::Task<Result<std::optional<Job>>> RestSource::ReadJob(int64_t id, async::Deadline deadline) {
  CAPSTAN_CO_TRY(const auto permit, co_await Permit::Get(*this, deadline));
  CAPSTAN_CO_TRY(std::vector<Job> found, co_await client_.JobNumbered(id, deadline));
  const auto job = std::ranges::find(found, id, &Job::id);
  co_return job != found.end() ? std::optional(std::move(*job)) : std::nullopt;
}

async::Task<Result<std::vector<Job>>> RestSource::ReadExternalJobs(async::Deadline deadline) {
  CAPSTAN_CO_TRY(const auto permit, co_await Permit::Get(*this, deadline));
  CAPSTAN_CO_TRY(auto list, co_await client_.Jobs(0, deadline));
  std::erase_if(list.records, [](const Job& job) { return !job.external || job.state.IsOver(); });
  co_return std::move(list.records);
}

async::Task<Result<void>> RestSource::SubmitJob(ExternalJob job, async::Deadline deadline) {
  CAPSTAN_CO_TRY(const auto permit, co_await Permit::Get(*this, deadline));
  ++counters_.writes;
  const int64_t id = job.id;
  auto done = co_await client_.Submit(std::move(job), deadline);
  follower_.LookSoon(id);
  co_return done;
}

async::Task<Result<void>> RestSource::UpdateJob(JobUpdate update, async::Deadline deadline) {
  CAPSTAN_CO_TRY(const auto permit, co_await Permit::Get(*this, deadline));
  ++counters_.writes;
  const int64_t id = update.id;
  auto done = co_await client_.UpdateJob(std::move(update), deadline);
  follower_.LookSoon(id);
  co_return done;
}

async::Task<Result<void>> RestSource::CancelJob(JobCancel cancel, async::Deadline deadline) {
  CAPSTAN_CO_TRY(const auto permit, co_await Permit::Get(*this, deadline));
  ++counters_.writes;
  const int64_t id = cancel.id;
  auto done = co_await client_.CancelJob(std::move(cancel), deadline);
  follower_.LookSoon(id);
  co_return done;
}

async::Task<Result<std::vector<ControllerPing>>> RestSource::Ping(async::Deadline deadline) {
  CAPSTAN_CO_TRY(const auto permit, co_await Permit::Get(*this, deadline));
  co_return co_await client_.Ping(deadline);
}

async::Task<Result<AccountingQueue>> RestSource::ReadAccountingQueue(async::Deadline deadline) {
  CAPSTAN_CO_TRY(const auto permit, co_await Permit::Get(*this, deadline));
  co_return co_await client_.ReadAccountingQueue(deadline);
}

}  // namespace capstan::slurm
