#include "listing/reader.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "slurm/hostlist.h"

namespace capstan::listing {
namespace {

using async::Deadline;
using async::Task;

constexpr size_t kMostJobsByName = 100;  // each is a request of its own

// As Slurm writes them.
Result<std::vector<std::string>> IdsOf(const std::vector<std::string>& names) {
  std::vector<std::string> ids;
  for (const std::string& name : names) {
    const auto id = ParseInt(name);
    if (!id || *id <= 0)
      return Fail(Code::kInvalid, "\"" + OneLine(name, 40) + "\" is not the id of a job: a number above 0");
    ids.push_back(std::to_string(*id));
  }
  if (ids.size() <= kMostJobsByName) return ids;
  return Fail(Code::kInvalid, std::to_string(names.size()) + " jobs are named, of which at most " +
                                  std::to_string(kMostJobsByName) + " can be; without names all are listed");
}

Result<std::vector<std::string>> HostsOf(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  for (const std::string& name : names) {
    auto hosts = slurm::ExpandHostlist(name);
    if (!hosts) return Fail(std::move(hosts).error().WithContext("\"" + OneLine(name, 80) + "\""));
    all.insert(all.end(), hosts->begin(), hosts->end());
  }
  return all;
}

}  // namespace

std::vector<Column> ColumnsOf(Kind kind) {
  switch (kind) {
    case Kind::kNodes:
      return NodeColumns();
    case Kind::kJobs:
      return JobColumns();
    case Kind::kPartitions:
      return PartitionColumns();
    case Kind::kReservations:
      return ReservationColumns();
    case Kind::kControllers:
      return PingColumns();
    case Kind::kStatistics:
      return StatisticsColumns();
  }
  return {};
}

Result<Reader> Reader::Make(slurm::RestClient& client, Kind kind, Format format,
                            const std::vector<std::string>& names) {
  Result<std::vector<std::string>> all = names;
  if (kind == Kind::kJobs) all = IdsOf(names);
  if (kind == Kind::kNodes) all = HostsOf(names);
  if (!all) return Fail(std::move(all).error());
  std::vector<std::string> once;
  std::set<std::string_view> seen;
  for (const std::string& name : *all)
    if (seen.insert(name).second) once.push_back(name);
  return Reader(client, kind, format, std::move(once));
}

Task<Result<Look>> Reader::Read(Deadline deadline) {
  auto look = co_await ReadKind(deadline);
  if (!look) ReadWholeNext();
  co_return look;
}

template <class Record>
Look Reader::Choose(const std::vector<Record>& records) const {
  Look look;
  std::set<std::string_view> missing(names_.begin(), names_.end());
  for (const Record& record : records) {
    Shown shown = Show(record, format_);
    if (!names_.empty() && missing.erase(shown.key) == 0) continue;
    look.shown.push_back(std::move(shown));
  }
  for (const std::string& name : names_)
    if (missing.contains(name)) look.missing.push_back(name);
  return look;
}

Task<Result<Look>> Reader::ReadKind(Deadline deadline) {
  switch (kind_) {
    case Kind::kNodes:
      co_return co_await ReadNodes(deadline);
    case Kind::kJobs:
      co_return co_await ReadJobs(deadline);
    case Kind::kPartitions: {
      CAPSTAN_CO_TRY(const auto list, co_await client_->Partitions(deadline));
      co_return Choose(list.records);
    }
    case Kind::kReservations: {
      CAPSTAN_CO_TRY(const auto list, co_await client_->Reservations(deadline));
      co_return Choose(list.records);
    }
    case Kind::kControllers: {
      CAPSTAN_CO_TRY(const auto pings, co_await client_->Ping(deadline));
      Look look = Choose(pings);
      if (std::ranges::none_of(pings, &slurm::ControllerPing::responding)) look.trouble = "no slurmctld responds";
      co_return look;
    }
    case Kind::kStatistics: {
      CAPSTAN_CO_TRY(const auto statistics, co_await client_->ReadStatistics(deadline));
      Look look;
      look.shown = ShowAll(statistics, format_);
      co_return look;
    }
  }
  co_return Look();
}

Task<Result<Look>> Reader::ReadNodes(Deadline deadline) {
  CAPSTAN_CO_TRY(const auto list, co_await client_->Nodes(nodes_update_time_, deadline));
  Look look;
  look.unchanged = list.unchanged;
  if (look.unchanged) co_return look;
  nodes_update_time_ = slurm::RestClient::CanAskForChangedNodes(list.release) ? list.update_time : 0;
  co_return Choose(list.records);
}

// A job may be named by its own id and by that of its array.
Task<Result<Look>> Reader::ReadJobs(Deadline deadline) {
  Look look;
  if (names_.empty()) {
    CAPSTAN_CO_TRY(const auto list, co_await client_->Jobs(0, deadline));
    for (const slurm::Job& job : list.records) look.shown.push_back(Show(job, format_));
    co_return look;
  }
  std::set<int64_t> seen;
  for (const std::string& name : names_) {
    CAPSTAN_CO_TRY(const auto jobs, co_await client_->JobNumbered(*ParseInt(name), deadline));
    if (jobs.empty()) look.missing.push_back(name);
    for (const slurm::Job& job : jobs)
      if (seen.insert(job.id).second) look.shown.push_back(Show(job, format_));
  }
  co_return look;
}

}  // namespace capstan::listing
