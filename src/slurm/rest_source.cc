#include "slurm/rest_source.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/timer.h"

namespace capstan::slurm {
namespace {

namespace asio = boost::asio;

// A list costs slurmctld locks and slurmrestd memory, so reading it may take a tenth of the time at most.
constexpr int kListShare = 10;
// However slow a list was, the next is not put off for longer.
constexpr Duration kMaxPollInterval = 60s;
// Ten times what slurmrestd takes when it has nothing else to do. What took longer waited, for a slurmctld that was
// starting or for a processor, and would only be seen later if the next look were put off for it.
constexpr Duration kMaxRecordCost = 2500us;
constexpr Duration kMaxSingleReadCost = 30ms;

// For how long a list is left alone that was read just now.
Duration PauseAfter(Duration took, size_t records) {
  return std::min(kMaxPollInterval, std::min(took, kMaxRecordCost * int64_t(records)) * kListShare);
}

}  // namespace

struct RestSource::Entry final : Source::Subscription {
  Entry(RestSource& source, Changed changed) : source(source), changed(std::move(changed)) {
    place = source.subscribers_.insert(source.subscribers_.end(), this);
  }
  ~Entry() override { source.subscribers_.erase(place); }

  RestSource& source;
  Changed changed;
  std::list<Entry*>::iterator place;
};

struct RestSource::JobsEntry final : Source::JobsWanted {
  explicit JobsEntry(RestSource& source) : source(source) {
    if (++source.jobs_wanted_ == 1) source.RefreshSoon();
  }
  ~JobsEntry() override { --source.jobs_wanted_; }

  RestSource& source;
};

struct RestSource::ExpectedEntry final : Source::Expectation {
  ExpectedEntry(RestSource& source, std::vector<std::string> nodes) : source(source), nodes(std::move(nodes)) {
    for (const std::string& name : this->nodes) ++source.expected_[name];
    source.poked_.Set();
  }
  ~ExpectedEntry() override {
    for (const std::string& name : nodes) {
      const auto found = source.expected_.find(name);
      if (--found->second == 0) source.expected_.erase(found);
    }
  }

  RestSource& source;
  const std::vector<std::string> nodes;
};

RestSource::RestSource(async::Loop& loop, net::Transport& transport, TokenFactory sign, Options options)
    : loop_(loop),
      options_(std::move(options)),
      client_(loop, transport, std::move(sign), options_.client),
      random_(options_.seed),
      backoff_({.first = options_.retry_first, .cap = options_.retry_cap, .jitter = 0.2}, random_),
      follower_(loop, client_, random_,
                {.fast = options_.fast,
                 .call_limit = options_.call_limit,
                 .heard = [this] { return view_.snapshot && !view_.error; },
                 .changed = [this] { Notify(); }}),
      poked_(loop),
      call_ended_(loop) {}

RestSource::~RestSource() = default;

Source::View RestSource::Latest() const {
  View view = view_;
  view.followed = follower_.jobs();
  view.followed_at = follower_.looked_at();
  return view;
}

std::unique_ptr<Source::Subscription> RestSource::Subscribe(Changed changed) {
  return std::make_unique<Entry>(*this, std::move(changed));
}

std::unique_ptr<Source::JobsWanted> RestSource::WantJobs() { return std::make_unique<JobsEntry>(*this); }

void RestSource::ExpectChange(std::span<const std::string> nodes, Tick until) {
  for (const std::string& name : nodes) {
    Tick& known = expected_until_[name];
    known = std::max(known, until);
  }
  poked_.Set();
}

std::unique_ptr<Source::Expectation> RestSource::Expect(std::vector<std::string> nodes) {
  return std::make_unique<ExpectedEntry>(*this, std::move(nodes));
}

// --- Polling ---------------------------------------------------------------------------------------------------------

async::Task<void> RestSource::Run() {
  auto group =
      asio::experimental::make_parallel_group(asio::co_spawn(loop_.executor(), Poll(), asio::deferred),
                                              asio::co_spawn(loop_.executor(), follower_.Run(), asio::deferred));
  // Neither ends by itself.
  const auto ended = co_await group.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
  const auto& [order, poll_thrown, follow_thrown] = ended;
  if (const std::exception_ptr& thrown = order[0] == 0 ? poll_thrown : follow_thrown) std::rethrow_exception(thrown);
}

async::Task<void> RestSource::Poll() {
  while (true) {
    auto polled = loop_.Now() >= ListDue() ? co_await PollLists() : co_await PollExpected();
    if (polled) {
      Succeeded();
      co_await Rest();
    } else {
      Failed(std::move(polled).error());
      co_await async::Sleep(loop_, backoff_.Next());
    }
  }
}

bool RestSource::Expecting() const {
  const Tick now = loop_.Now();
  return !expected_.empty() ||
         std::ranges::any_of(expected_until_, [now](const auto& entry) { return entry.second > now; });
}

std::set<std::string> RestSource::Expected() {
  std::erase_if(expected_until_, [now = loop_.Now()](const auto& entry) { return entry.second <= now; });
  std::set<std::string> names;
  for (const auto& [name, until] : expected_until_) names.insert(name);
  for (const auto& [name, times] : expected_) names.insert(name);
  return names;
}

// When the next list is to be read; in the past: now.
Tick RestSource::ListDue() const {
  if (!view_.snapshot || view_.error) return Tick::min();
  const Tick allowed = list_ended_ + PauseAfter(list_ended_ - list_began_, view_.snapshot->nodes->size());
  if (refreshes_done_ != refreshes_wanted_) return allowed;
  const Duration rest = nodes_update_time_ != 0 ? options_.watch : options_.slow;
  return std::max(allowed, list_ended_ + (Expecting() ? options_.fast : rest));
}

// Asked when a list of nodes was read: with that, since only together do the two tell one story.
bool RestSource::JobsDue() const {
  if (jobs_wanted_ == 0) return false;
  const auto& jobs = view_.snapshot->jobs;
  if (!jobs || refreshes_done_ != refreshes_wanted_) return true;
  const Tick allowed = jobs_ended_ + PauseAfter(jobs_ended_ - jobs_began_, jobs->size());
  return loop_.Now() >= std::max(allowed, jobs_ended_ + (Expecting() ? options_.fast : options_.slow));
}

void RestSource::RefreshSoon() {
  ++refreshes_wanted_;
  poked_.Set();
}

// Waits until there is something to poll.
async::Task<void> RestSource::Rest() {
  const Tick ended = loop_.Now();
  // Jitter keeps many operators from asking at the same moments.
  const Duration jitter(int64_t(random_.Below(uint64_t((options_.fast / 10).count()) + 1)));
  while (true) {
    poked_.Reset();
    const Tick now = loop_.Now();
    const Tick list_due = ListDue();
    const size_t expected = Expected().size();
    const bool soon = expected > 0 && expected <= kMaxSingleReads;
    const Tick due = soon ? std::min(list_due, ended + std::max(options_.fast, singles_cost_ * kListShare)) : list_due;
    if (now >= due) co_return;
    co_await poked_.Wait(async::Deadline(due + (refreshes_done_ != refreshes_wanted_ ? Duration(0) : jitter)));
  }
}

async::Task<Result<void>> RestSource::PollLists() {
  if (view_.error) CAPSTAN_CO_CHECK_OK(co_await AwaitController());
  list_began_ = loop_.Now();
  const uint64_t wanted = refreshes_wanted_;
  auto read = co_await ReadNodeList();
  list_ended_ = loop_.Now();
  // Without its jobs a cluster is heard all the same: how old they are is seen on them.
  if (read && JobsDue()) {
    jobs_began_ = loop_.Now();
    if (!co_await ReadJobList()) ++counters_.failures;
    jobs_ended_ = loop_.Now();
  }
  if (read) refreshes_done_ = wanted;
  co_return read;
}

// While slurmctld is away, requests to slurmrestd hang for ten seconds each; its ping answers at once.
async::Task<Result<void>> RestSource::AwaitController() {
  CAPSTAN_CO_TRY(const auto controllers, co_await client_.Ping(loop_.After(options_.call_limit)));
  if (std::ranges::none_of(controllers, &ControllerPing::responding))
    co_return Fail(Code::kUnavailable, "slurmrestd says that no slurmctld responds");
  co_return Result<void>();
}

async::Task<Result<void>> RestSource::ReadNodeList() {
  const Tick began = loop_.Now();
  const uint64_t read = ++reads_;
  bool whole = nodes_update_time_ == 0 || !list_ || refreshes_done_ != refreshes_wanted_ ||
               began >= whole_list_began_ + options_.full;
  CAPSTAN_CO_TRY(auto list, co_await client_.Nodes(whole ? 0 : nodes_update_time_, loop_.After(options_.list_limit)));
  ++counters_.lists;
  // Unchanged, and yet a node was seen to change: slurmctld's clock was put back, so what happens now looks old to it.
  if (list.unchanged && *MergedList() != *list_) {
    whole = true;
    CAPSTAN_CO_TRY(list, co_await client_.Nodes(0, loop_.After(options_.list_limit)));
    ++counters_.lists;
  }
  Snapshot next = view_.snapshot ? *view_.snapshot : Snapshot();
  next.nodes_read = {began, loop_.Now()};
  if (list.unchanged) {
    ++counters_.lists_unchanged;
    PublishList(std::move(next), read);
    co_return Result<void>();
  }
  // Read after the list, so that a list of an old life is never taken for one of a new life.
  CAPSTAN_CO_TRY(next.incarnation, co_await ReadIncarnation(loop_.After(options_.call_limit)));
  if (whole) whole_list_began_ = began;
  nodes_update_time_ = RestClient::CanAskForChangedNodes(list.release) ? list.update_time : 0;
  next.release = std::move(list.release);
  next.nodes_read.ended = loop_.Now();
  list_ = std::make_shared<const std::vector<Node>>(std::move(list.records));
  PublishList(std::move(next), read);
  co_return Result<void>();
}

async::Task<Result<void>> RestSource::ReadJobList() {
  const Tick began = loop_.Now();
  const int64_t since = view_.snapshot->jobs ? jobs_update_time_ : 0;
  CAPSTAN_CO_TRY(auto list, co_await client_.Jobs(since, loop_.After(options_.call_limit)));  // nodes wait for it
  Snapshot next = *view_.snapshot;
  if (!list.unchanged) {
    next.jobs = std::make_shared<const std::vector<Job>>(std::move(list.records));
    jobs_update_time_ = list.update_time;
  }
  next.jobs_read = {began, loop_.Now()};
  Publish(std::move(next));
  co_return Result<void>();
}

async::Task<Result<void>> RestSource::PollExpected() {
  const std::set<std::string> expected = Expected();
  if (expected.empty()) co_return Result<void>();
  const std::vector<std::string> names(expected.begin(), expected.end());
  FreshNodes fresh;
  const Tick began = loop_.Now();
  const uint64_t read = ++reads_;
  CAPSTAN_CO_CHECK_OK(co_await ReadOneByOne(names, fresh, loop_.After(options_.call_limit)));
  singles_cost_ = std::min(loop_.Now() - began, kMaxSingleReadCost * int64_t(names.size()));
  LayOver(fresh, read);
  co_return Result<void>();
}

async::Task<Result<Incarnation>> RestSource::ReadIncarnation(async::Deadline deadline) {
  const Tick began = loop_.Now();
  CAPSTAN_CO_TRY(const auto life, co_await client_.ReadLife(deadline));
  // Of the same life, the first estimate stays: slurmctld counts in seconds, so later ones would waver.
  if (life.id != incarnation_.id) {
    incarnation_ = {.id = life.id, .up_since = began - life.uptime, .slurmd_timeout = 300s};
    RefreshSoon();
  }
  if (life.slurmd_timeout) incarnation_.slurmd_timeout = *life.slurmd_timeout;
  co_return incarnation_;
}

// --- Publishing ------------------------------------------------------------------------------------------------------

// Publishes list_, which was read or confirmed by the read of that number. Single reads that began before it
// are forgotten, later ones stay in front of it.
void RestSource::PublishList(Snapshot next, uint64_t read) {
  list_read_ = read;
  std::erase_if(overlay_, [read](const auto& entry) { return entry.second.read < read; });
  next.nodes = MergedList();
  Publish(std::move(next));
  if (overlay_.empty()) list_ = view_.snapshot->nodes;  // one copy in memory
}

RestSource::NodesPtr RestSource::MergedList() const {
  if (overlay_.empty()) return list_;
  std::vector<Node> nodes = *list_;
  for (const auto& [name, overlay] : overlay_) {
    const auto place = std::ranges::lower_bound(nodes, name, {}, &Node::name);
    const bool listed = place != nodes.end() && place->name == name;
    if (listed && overlay.node)
      *place = *overlay.node;
    else if (listed)
      nodes.erase(place);
    else if (overlay.node)
      nodes.insert(place, *overlay.node);
  }
  return std::make_shared<const std::vector<Node>>(std::move(nodes));
}

void RestSource::LayOver(const FreshNodes& fresh, uint64_t read) {
  if (!list_ || read < list_read_) return;
  const auto put = [&](const std::string& name, std::optional<Node> node) {
    Overlay& overlay = overlay_[name];
    if (overlay.read >= read) return;
    overlay = {read, std::move(node)};
    // Single reads do not tell MIXED from ALLOCATED; what the last look said stays, or snapshots would waver.
    const Node* shown = view_.snapshot->FindNode(name);
    if (!overlay.node || !shown || !shown->state.Has(NodeFlag::kMixed)) return;
    if (!overlay.node->state.Has(NodeFlag::kAllocated)) return;
    overlay.node->state.Remove(NodeFlag::kAllocated);
    overlay.node->state.Add(NodeFlag::kMixed);
  };
  for (const Node& node : fresh.nodes) put(node.name, node);
  for (const std::string& name : fresh.absent) put(name, std::nullopt);
  Snapshot next = *view_.snapshot;
  next.nodes = MergedList();
  Publish(std::move(next));
}

void RestSource::Publish(Snapshot next) {
  const Snapshot* last = view_.snapshot.get();
  if (jobs_wanted_ == 0) next.jobs = nullptr;
  // Equal content keeps its place in memory, so that whoever compares needs to look at nothing.
  if (last && *last->nodes == *next.nodes) next.nodes = last->nodes;
  if (last && last->jobs && next.jobs && *last->jobs == *next.jobs) next.jobs = last->jobs;
  const bool same = last && last->nodes == next.nodes && last->jobs == next.jobs &&
                    last->incarnation == next.incarnation && last->release == next.release;
  if (!same) ++next.generation;
  view_.snapshot = std::make_shared<const Snapshot>(std::move(next));
  if (!same) Notify();
  if (last == nullptr) follower_.Resume();
}

void RestSource::Succeeded() {
  backoff_.Reset();
  if (!view_.error) return;
  view_.error.reset();
  follower_.Resume();
  Notify();
}

void RestSource::Failed(Error error) {
  ++counters_.failures;
  const bool news = !view_.error || view_.error->code() != error.code();
  if (!view_.error) view_.error_since = loop_.Now();
  view_.error = std::move(error);
  if (news) Notify();
}

void RestSource::Notify() {
  // A callback may subscribe anew; that one has seen the change already.
  for (Entry* entry : std::vector<Entry*>(subscribers_.begin(), subscribers_.end())) entry->changed();
}

}  // namespace capstan::slurm
