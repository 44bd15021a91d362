#include "slurm/job_follower.h"

#include <algorithm>

#include "async/timer.h"

namespace capstan::slurm {
namespace {

// Looks may take a tenth of the time at most; but one after a write of ours comes sooner.
constexpr int kShare = 10;
constexpr Duration kSoon = 50ms;
// Jobs read whole in one look; the others have their turn in the next.
constexpr size_t kMaxWholeReads = 256;
// A pending job's reason may change each time that Slurm schedules; who waits for hours needs no more than this.
constexpr Duration kPendingAge = 5s;
constexpr Duration kRetryFirst = 250ms, kRetryCap = 4s;

}  // namespace

struct JobFollower::Entry final : Source::Following {
  Entry(JobFollower& follower, std::vector<int64_t> ids) : follower(follower), ids(std::move(ids)) {
    for (const int64_t id : this->ids)
      if (++follower.followed_[id] == 1) follower.LookSoon(id);
  }
  ~Entry() override {
    for (const int64_t id : ids) {
      const auto found = follower.followed_.find(id);
      if (--found->second > 0) continue;
      follower.followed_.erase(found);
      follower.seen_.erase(id);
    }
  }

  JobFollower& follower;
  const std::vector<int64_t> ids;
};

JobFollower::JobFollower(async::Loop& loop, RestClient& client, Random& random, Options options)
    : loop_(loop),
      client_(client),
      options_(std::move(options)),
      backoff_({.first = kRetryFirst, .cap = kRetryCap, .jitter = 0.2}, random),
      poked_(loop) {}

JobFollower::~JobFollower() = default;

std::unique_ptr<Source::Following> JobFollower::Follow(std::vector<int64_t> ids) {
  return std::make_unique<Entry>(*this, std::move(ids));
}

void JobFollower::LookSoon(int64_t id) {
  if (const auto seen = seen_.find(id); seen != seen_.end()) seen->second.stale_since = loop_.Now();
  soon_ = true;
  poked_.Set();
}

void JobFollower::Resume() { poked_.Set(); }

async::Task<void> JobFollower::Run() {
  while (true) {
    if (followed_.empty() || !options_.heard()) {
      poked_.Reset();
      co_await poked_.Wait(async::Deadline::Never());
      continue;
    }
    const Tick began = loop_.Now();
    soon_ = false;
    if (co_await Look()) {
      backoff_.Reset();
      co_await Rest(loop_.Now() - began);
    } else {
      co_await async::Sleep(loop_, backoff_.Next());
    }
  }
}

async::Task<void> JobFollower::Rest(Duration took) {
  const Tick ended = loop_.Now();
  const Tick due = ended + std::max(AllOver() ? options_.slow : options_.fast, took * kShare);
  const Tick soon = ended + std::max(kSoon, took * kShare);
  while (loop_.Now() < (soon_ ? soon : due)) {
    poked_.Reset();
    co_await poked_.Wait(async::Deadline(soon_ ? soon : due));
  }
}

bool JobFollower::AllOver() const {
  return std::ranges::all_of(followed_, [this](const auto& entry) {
    const auto found = jobs_->find(entry.first);
    return found != jobs_->end() && (!found->second || found->second->state.IsOver());
  });
}

std::vector<int64_t> JobFollower::Followed() const {
  std::vector<int64_t> ids;
  ids.reserve(followed_.size());
  for (const auto& [id, times] : followed_) ids.push_back(id);
  return ids;
}

// Who is followed may change at each wait in here.
async::Task<Result<void>> JobFollower::Look() {
  const Tick began = loop_.Now();
  FollowedJobs jobs = *jobs_;
  const std::vector<int64_t> ids = Followed();
  Result<void> looked;
  for (size_t at = 0; looked && at < ids.size(); at += RestClient::kMaxIds) {
    const size_t end = std::min(ids.size(), at + RestClient::kMaxIds);
    looked = co_await LookAt({ids.begin() + ptrdiff_t(at), ids.begin() + ptrdiff_t(end)}, jobs);
  }
  if (looked) looked_at_ = began;
  std::erase_if(jobs, [this](const auto& entry) { return !followed_.contains(entry.first); });
  if (jobs != *jobs_) {
    jobs_ = std::make_shared<const FollowedJobs>(std::move(jobs));
    options_.changed();
  }
  co_return looked;
}

async::Task<Result<void>> JobFollower::LookAt(std::vector<int64_t> ids, FollowedJobs& jobs) {
  CAPSTAN_CO_TRY(const auto states, co_await client_.JobStates(ids, loop_.After(options_.call_limit)));
  std::map<int64_t, JobState> listed;
  for (const RestClient::JobBrief& brief : states.records) listed[brief.id] = brief.state;
  std::vector<int64_t> whole;
  for (const int64_t id : ids) {
    if (!followed_.contains(id)) continue;
    const auto state = listed.find(id);
    const JobState now = state != listed.end() ? state->second : JobState();
    Seen& seen = seen_[id];
    const bool is_as_read = seen.read_at && *seen.read_at >= seen.stale_since && seen.state == now;
    seen.state = now;
    if (!is_as_read) {
      seen.read_at.reset();
      whole.push_back(id);
    }
  }
  std::ranges::copy(LongestPending(jobs), std::back_inserter(whole));
  if (whole.size() > kMaxWholeReads) whole.resize(kMaxWholeReads);
  for (const int64_t id : whole) {
    const Tick began = loop_.Now();
    CAPSTAN_CO_TRY(std::vector<Job> found, co_await client_.JobNumbered(id, loop_.After(options_.call_limit)));
    const auto seen = seen_.find(id);
    if (seen == seen_.end()) continue;
    seen->second.read_at = began;
    const auto job = std::ranges::find(found, id, &Job::id);
    jobs[id] = job != found.end() ? std::optional(std::move(*job)) : std::nullopt;
  }
  co_return Result<void>();
}

// Whose last whole read is the longest ago, as many as may be read in this look.
std::vector<int64_t> JobFollower::LongestPending(const FollowedJobs& jobs) const {
  const Tick old = loop_.Now() - kPendingAge;
  std::vector<std::pair<Tick, int64_t>> pending;
  for (const auto& [id, seen] : seen_) {
    const auto job = jobs.find(id);
    const bool waits = job != jobs.end() && job->second && job->second->state.IsPending();
    if (waits && seen.read_at && *seen.read_at <= old) pending.emplace_back(*seen.read_at, id);
  }
  const size_t most = std::max<size_t>(1, options_.pending_reads * size_t(options_.fast / 1ms) / 1000);
  std::ranges::sort(pending);
  if (pending.size() > most) pending.resize(most);
  std::vector<int64_t> ids;
  for (const auto& [at, id] : pending) ids.push_back(id);
  return ids;
}

}  // namespace capstan::slurm
