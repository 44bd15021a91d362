#include "slurm/job_follower.h"

#include <algorithm>
#include <utility>

#include "async/timer.h"

namespace capstan::slurm {
namespace {

// Asking for states may take a tenth of the time at most.
constexpr int kShare = 10;
constexpr Duration kSoon = 50ms;
constexpr Duration kLongestRest = 5s;
// Publishing copies what is known of all: a look over thousands shows what it finds now and then.
constexpr Duration kPublishEvery = 100ms;
// A job whose answer makes no sense keeps nobody from the others; a slurmctld that answers no such question is left alone.
constexpr int kMostFailures = 3;
constexpr Duration kLongestRetry = 30s;
// A pending job's reason may change each time that Slurm schedules; who waits for hours needs no more than this. Grace times are
// rather minutes than seconds.
constexpr Duration kPendingAge = 5s, kRunningAge = 15s;
// Fewer are read one by one, however long a list takes.
constexpr size_t kManyReads = 30;
constexpr int kListShare = 3;
constexpr Duration kListRetry = 30s, kListForgotten = 10min;
constexpr int kMostListFailures = 5;
constexpr Duration kRetryFirst = 250ms, kRetryCap = 4s;

bool AreEqual(const Job* a, const Job* b) { return a == nullptr || b == nullptr ? a == b : *a == *b; }

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
  written_.insert(id);
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
    Look look{.published = loop_.Now()};
    co_await LookAtWritten(look);
    const bool all = loop_.Now() >= Due();
    Result<void> looked;
    if (all) looked = co_await LookAtAll(look);
    Publish(look);
    if (looked && look.failures < kMostFailures) {
      backoff_.Reset();
      if (all) {
        looked_until_ = loop_.Now();
        least_rest_ = std::min(look.states_took * kShare, kLongestRest);
      }
      co_await Rest();
    } else {
      co_await async::Sleep(loop_, backoff_.Next());
    }
  }
}

// When all are to be looked at.
Tick JobFollower::Due() const {
  return looked_until_ + std::max(AllOver() ? options_.slow : options_.fast, least_rest_);
}

async::Task<void> JobFollower::Rest() {
  const Tick soon = loop_.Now() + kSoon;
  while (loop_.Now() < (written_.empty() ? Due() : std::min(soon, Due()))) {
    poked_.Reset();
    co_await poked_.Wait(async::Deadline(written_.empty() ? Due() : std::min(soon, Due())));
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
async::Task<Result<void>> JobFollower::LookAtAll(Look& look) {
  const Tick began = loop_.Now();
  const std::vector<int64_t> ids = Followed();
  std::vector<int64_t> whole;
  Result<void> listed;
  look.listed = true;
  for (size_t at = 0; at < ids.size() && listed; at += RestClient::kMaxIds) {
    const size_t end = std::min(ids.size(), at + RestClient::kMaxIds);
    const auto more = co_await LookAt({ids.begin() + ptrdiff_t(at), ids.begin() + ptrdiff_t(end)}, look);
    if (more)
      whole.insert(whole.end(), more->begin(), more->end());
    else
      listed = Fail(more.error());
  }
  co_await ReadAllWhole(std::move(whole), look);
  Publish(look);
  if (!listed) co_return listed;
  looked_at_ = began;
  for (const int64_t id : LongestUnread()) co_await ReadWhole(id, look);
  co_return Result<void>();
}

async::Task<void> JobFollower::LookAtWritten(Look& look) {
  std::vector<int64_t> ids;
  for (const int64_t id : std::exchange(written_, {})) {
    if (!followed_.contains(id)) continue;
    seen_[id].read_at.reset();
    ids.push_back(id);
  }
  const std::vector<int64_t> unread = co_await ReadAllWhole(std::move(ids), look);
  // What this look has no time for is read in the next.
  if (look.whole_took > options_.whole_reads_for) written_.insert(unread.begin(), unread.end());
}

// Those that are to be read whole, ascending.
async::Task<Result<std::vector<int64_t>>> JobFollower::LookAt(std::vector<int64_t> ids, Look& look) {
  const Tick asked = loop_.Now();
  CAPSTAN_CO_TRY(const auto states, co_await client_.JobStates(ids, loop_.After(options_.call_limit)));
  look.states_took += loop_.Now() - asked;
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
  co_return whole;
}

// `ids`: ascending. Those that are not read are hidden, and returned.
async::Task<std::vector<int64_t>> JobFollower::ReadAllWhole(std::vector<int64_t> ids, Look& look) {
  // What a list took is no measure for ever.
  if (loop_.Now() >= list_from_ + kListForgotten) list_takes_ = Duration(0);
  if (ids.size() >= kManyReads && loop_.Now() >= list_from_ && list_takes_ <= one_takes_ * int64_t(ids.size()))
    co_await ReadFromList(ids, look);
  std::vector<int64_t> unread;
  for (const int64_t id : ids) {
    if (!co_await ReadWhole(id, look)) {
      look.hidden.push_back(id);
      unread.push_back(id);
    }
    if (loop_.Now() - look.published >= kPublishEvery) Publish(look);
  }
  co_return unread;
}

// Takes those out of `ids` that the list has. One that it lacks may be gone: a question about it alone tells.
async::Task<void> JobFollower::ReadFromList(std::vector<int64_t>& ids, Look& look) {
  const Tick began = loop_.Now();
  auto found = co_await client_.JobsNumbered(ids, loop_.After(options_.call_limit));
  const Duration took = loop_.Now() - began;
  if (!found) {
    list_failures_ = std::min(list_failures_ + 1, kMostListFailures);
    list_from_ = loop_.Now() + kListRetry * (1 << list_failures_);
    co_return;
  }
  list_failures_ = 0;
  list_takes_ = took;
  list_from_ = loop_.Now() + took * kListShare;
  // One that was written meanwhile may be in the list as it was before.
  std::erase_if(*found, [&](const Job& job) {
    const auto seen = seen_.find(job.id);
    return seen == seen_.end() || seen->second.stale_since > began;
  });
  std::erase_if(ids, [&](int64_t id) { return std::ranges::binary_search(*found, id, {}, &Job::id); });
  for (Job& job : *found) Take(job.id, std::move(job), began, look);
  Publish(look);
}

// False: it was not read.
async::Task<bool> JobFollower::ReadWhole(int64_t id, Look& look) {
  const Tick began = loop_.Now();
  auto seen = seen_.find(id);
  if (seen == seen_.end() || look.whole_took > options_.whole_reads_for || began < seen->second.retry_at ||
      look.failures >= kMostFailures)
    co_return false;
  auto found = co_await client_.JobNumbered(id, loop_.After(options_.call_limit));
  const Duration took = loop_.Now() - began;
  look.whole_took += took;
  if (!found) {
    ++look.failures;
    if (seen = seen_.find(id); seen == seen_.end()) co_return false;
    const int failures = std::min(++seen->second.failures, 10);
    seen->second.retry_at = loop_.Now() + std::min(kLongestRetry, options_.fast * (1 << failures));
    co_return false;
  }
  one_takes_ = (one_takes_ * 7 + took) / 8;
  const auto job = std::ranges::find(*found, id, &Job::id);
  Take(id, job != found->end() ? std::optional(std::move(*job)) : std::nullopt, began, look);
  co_return true;
}

// Who is followed no longer is left out.
void JobFollower::Take(int64_t id, std::optional<Job> job, Tick began, Look& look) {
  const auto seen = seen_.find(id);
  if (seen == seen_.end()) return;
  seen->second.failures = 0;
  seen->second.read_at = began;
  if (!look.listed) seen->second.state = job ? job->state : JobState();
  look.read[id] = job ? std::make_shared<const Job>(*std::move(job)) : nullptr;
}

void JobFollower::Publish(Look& look) {
  look.published = loop_.Now();
  bool differs = false;
  for (auto& [id, job] : look.read) {
    const auto known = jobs_->find(id);
    if (known != jobs_->end() && AreEqual(known->second.get(), job.get()))
      job = known->second;
    else
      differs = true;
  }
  const auto is_shown = [this](int64_t id) { return jobs_->contains(id); };
  const auto is_followed = [this](const auto& entry) { return followed_.contains(entry.first); };
  if (differs || std::ranges::any_of(look.hidden, is_shown) || !std::ranges::all_of(*jobs_, is_followed)) {
    FollowedJobs jobs = *jobs_;
    for (const int64_t id : look.hidden) jobs.erase(id);
    for (auto& [id, job] : look.read) jobs[id] = std::move(job);
    std::erase_if(jobs, [&](const auto& entry) { return !is_followed(entry); });
    jobs_ = std::make_shared<const FollowedJobs>(std::move(jobs));
    options_.changed();
  }
  look.read.clear();
  look.hidden.clear();
}

// Whose last whole read is the longest ago, as many as may be read since the last turn. Half of them is kept for those that run:
// a grace time does not wait.
std::vector<int64_t> JobFollower::LongestUnread() {
  const Tick now = loop_.Now();
  std::vector<std::pair<Tick, int64_t>> waiting, running;
  for (const auto& [id, seen] : seen_) {
    const bool waits = seen.state.IsPending(), runs = seen.state.Has(JobFlag::kRunning);
    if (!seen.read_at || (!waits && !runs)) continue;
    if (now - *seen.read_at >= (waits ? kPendingAge : kRunningAge))
      (waits ? waiting : running).emplace_back(*seen.read_at, id);
  }
  const auto since = std::clamp(now - took_turn_, options_.fast, kLongestRest);
  took_turn_ = now;
  const size_t most = std::max<size_t>(2, options_.reads_in_turn * size_t(since / 1ms) / 1000);
  std::vector<int64_t> ids;
  const auto take = [&ids](std::vector<std::pair<Tick, int64_t>>& from, size_t count) {
    std::ranges::sort(from);
    for (size_t i = 0; i < std::min(count, from.size()); ++i) ids.push_back(from[i].second);
  };
  take(running, most - std::min(waiting.size(), most / 2));
  take(waiting, most - ids.size());
  return ids;
}

}  // namespace capstan::slurm
