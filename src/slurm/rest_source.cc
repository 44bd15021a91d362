#include "slurm/rest_source.h"

#include <algorithm>

#include "async/timer.h"
#include "base/text.h"
#include "slurm/hostlist.h"

namespace capstan::slurm {
namespace {

// A list costs slurmctld locks and slurmrestd memory, so reading it may take a tenth of the time at most.
constexpr int kListShare = 10;
// However slow a list was, the next is not put off for longer.
constexpr Duration kMaxPollInterval = 60s;
// Ten times what slurmrestd takes when it has nothing else to do. What took longer waited, for a slurmctld that was
// starting or for a processor, and would only be seen later if the next look were put off for it.
constexpr Duration kMaxRecordCost = 2500us;
constexpr Duration kMaxSingleReadCost = 30ms;
// One node costs 3 ms and a list 0.25 ms for each of its nodes, so above this share of all nodes the list is
// cheaper.
constexpr size_t kNodesPerSingleRead = 12;
// Single reads of a fresh read or a poll, of nodes or of jobs; more are a list's business at any size of cluster.
constexpr size_t kMaxSingleReads = 256;
// A request to a slurmrestd whose pod has gone meanwhile may hang; five times what a job takes a slurmrestd.
constexpr Duration kUseLimit = 10s, kUseLimitPerJob = 5ms;

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

// The right to have a request in flight, beside the poller's.
class RestSource::Permit {
 public:
  static async::Task<Result<std::unique_ptr<Permit>>> Get(RestSource& source, async::Deadline deadline) {
    while (source.calls_ >= source.options_.max_calls) {
      source.call_ended_.Reset();
      if (!co_await source.call_ended_.Wait(deadline))
        co_return Fail(Code::kDeadline, "too many requests to slurmrestd are under way");
    }
    co_return std::make_unique<Permit>(source);
  }
  explicit Permit(RestSource& source) : source_(source) { ++source_.calls_; }
  ~Permit() {
    --source_.calls_;
    source_.call_ended_.Set();
  }

 private:
  RestSource& source_;
};

RestSource::RestSource(async::Loop& loop, net::Transport& transport, TokenFactory sign, Options options)
    : loop_(loop),
      options_(std::move(options)),
      client_(loop, transport, std::move(sign), options_.client),
      random_(options_.seed),
      backoff_({.first = options_.retry_first, .cap = options_.retry_cap, .jitter = 0.2}, random_),
      poked_(loop),
      call_ended_(loop) {}

RestSource::~RestSource() = default;

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
}

void RestSource::Succeeded() {
  backoff_.Reset();
  if (!view_.error) return;
  view_.error.reset();
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

// --- Fresh reads and writes ------------------------------------------------------------------------------------------

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
  auto done = co_await client_.DeleteReservation(std::move(name), deadline);
  if (!done && done.error().code() == Code::kNotFound) co_return Result<void>();
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

async::Task<Result<std::vector<ControllerPing>>> RestSource::Ping(async::Deadline deadline) {
  CAPSTAN_CO_TRY(const auto permit, co_await Permit::Get(*this, deadline));
  co_return co_await client_.Ping(deadline);
}

async::Task<Result<AccountingQueue>> RestSource::ReadAccountingQueue(async::Deadline deadline) {
  CAPSTAN_CO_TRY(const auto permit, co_await Permit::Get(*this, deadline));
  co_return co_await client_.ReadAccountingQueue(deadline);
}

}  // namespace capstan::slurm
