#include "plan/slurm_clusters.h"

#include <set>

#include "async/backoff.h"
#include "async/timer.h"
#include "base/log.h"
#include "plan/signing_key.h"
#include "slurm/jwt.h"

namespace capstan::plan {

using async::Deadline;
using async::Task;

namespace {

constexpr Duration kKeyReadTimeout = 10s;
constexpr Duration kExpectFor = 6min;        // longer than the time between two looks at a key
constexpr std::string_view kUser = "slurm";  // may do everything that the operator needs

// Equal ones are the same in memory from one snapshot to the next.
const std::vector<slurm::Job>* JobsOf(const std::shared_ptr<const slurm::Snapshot>& snapshot) {
  return snapshot ? snapshot->jobs.get() : nullptr;
}

}  // namespace

struct SlurmClusters::Batch {
  explicit Batch(async::Loop& loop) : done(loop) {}
  std::vector<std::string> names;
  async::Event done;
  Result<slurm::FreshNodes> result = Fail(Code::kUnavailable, "not read");
};

struct SlurmClusters::Entry {
  Entry(async::Loop& loop, uint64_t number) : number(number), runner(loop) {}

  const uint64_t number;    // no other entry of the process had it
  async::TaskGroup runner;  // of the link
  SlurmConnection how;
  Secret key;
  std::string key_error = "the signing key has not been read yet";
  bool reading_key = false;
  std::shared_ptr<slurm::Source> source;
  std::unique_ptr<slurm::Source::Subscription> subscription;
  std::shared_ptr<const slurm::Snapshot> last;
  bool last_failed = false;
  std::shared_ptr<Batch> batch;  // still taking names
  std::set<Key> want_jobs;
  std::unique_ptr<slurm::Source::JobsWanted> jobs_wanted;  // while there is any of them
};

SlurmClusters::SlurmClusters(async::Loop& loop, kube::Client& client, Factory factory, Changed changed, uint64_t seed)
    : loop_(loop),
      client_(client),
      factory_(std::move(factory)),
      changed_(std::move(changed)),
      random_(seed),
      group_(loop),
      ends_(loop) {}

SlurmClusters::~SlurmClusters() = default;

void SlurmClusters::Keep(const std::string& cluster, const std::optional<SlurmConnection>& how) {
  const auto found = entries_.find(cluster);
  if (found != entries_.end() && how && found->second->how == *how) return;
  if (found == entries_.end() && !how) return;
  if (found != entries_.end()) {
    ends_.Spawn("end slurm " + cluster, End(std::move(found->second)));
    entries_.erase(found);
  }
  if (how) {
    auto entry = std::make_unique<Entry>(loop_, ++entries_made_);
    entry->how = *how;
    entries_[cluster] = std::move(entry);
    group_.Spawn("slurm " + cluster, Begin(cluster, entries_made_));
  }
  changed_(cluster, {});
}

std::shared_ptr<slurm::Source> SlurmClusters::Find(const std::string& cluster) const {
  const auto found = entries_.find(cluster);
  return found == entries_.end() ? nullptr : found->second->source;
}

SlurmLook SlurmClusters::Look(const std::string& cluster) const {
  const auto found = entries_.find(cluster);
  if (found == entries_.end())
    return {.state = SlurmLook::State::kNone, .error = "there is no RestApi for it", .snapshot = {}};
  const Entry& entry = *found->second;
  if (!entry.source) return {.state = SlurmLook::State::kUnheard, .error = entry.key_error, .snapshot = {}};
  const slurm::Source::View view = entry.source->Latest();
  SlurmLook look{
      .state = SlurmLook::State::kHeard, .error = view.error ? view.error->message() : "", .snapshot = view.snapshot};
  if (view.snapshot) {
    look.age = view.snapshot->Age(loop_.Now());
    look.jobs_age = loop_.Now() - view.snapshot->jobs_read.began;
  }
  if (!view.snapshot)
    look.state = SlurmLook::State::kUnheard;
  else if (view.error)
    look.state = SlurmLook::State::kUnreachable;
  else
    look.absence_counts = view.snapshot->incarnation.AbsenceIsKnown(view.snapshot->nodes_read.began);
  if (look.state == SlurmLook::State::kUnheard && look.error.empty()) look.error = "slurmrestd has not answered yet";
  return look;
}

void SlurmClusters::ExpectChange(const std::string& cluster, const std::vector<std::string>& nodes) {
  if (const auto source = Find(cluster)) source->ExpectChange(nodes, loop_.Now() + kExpectFor);
}

void SlurmClusters::WantJobs(const std::string& cluster, const Key& who, bool wanted) {
  const auto found = entries_.find(cluster);
  if (found == entries_.end() || !found->second->source) return;
  Entry& entry = *found->second;
  if (wanted)
    entry.want_jobs.insert(who);
  else
    entry.want_jobs.erase(who);
  if (entry.want_jobs.empty())
    entry.jobs_wanted.reset();
  else if (!entry.jobs_wanted)
    entry.jobs_wanted = entry.source->WantJobs();
}

// --- Token -----------------------------------------------------------------------------------------------------------

// nullptr: it has been ended or replaced meanwhile.
SlurmClusters::Entry* SlurmClusters::EntryOf(const std::string& cluster, uint64_t number) const {
  const auto found = entries_.find(cluster);
  return found == entries_.end() || found->second->number != number ? nullptr : found->second.get();
}

Task<void> SlurmClusters::Begin(std::string cluster, uint64_t number) {
  async::Backoff backoff({.first = 200ms, .cap = 15s}, random_);
  while (true) {
    co_await ReadKey(cluster, number);
    Entry* const entry = EntryOf(cluster, number);
    if (entry == nullptr) co_return;
    if (!entry->key.empty()) {
      auto link =
          factory_(entry->how, [this, cluster, number](Duration lifetime) { return Sign(cluster, number, lifetime); });
      if (link) {
        entry->source = link->source;
        entry->subscription = entry->source->Subscribe([this, cluster] { Heard(cluster); });
        entry->runner.Spawn("follow slurm " + cluster, link->run());
        co_return;
      }
      entry->key_error = link.error().message();
    }
    changed_(cluster, {});
    co_await async::Sleep(loop_, backoff.Next());
  }
}

// The poller ends before its Source; calls still under way keep the Source alive by themselves.
Task<void> SlurmClusters::End(std::unique_ptr<Entry> entry) {
  entry->subscription.reset();
  entry->jobs_wanted.reset();
  entry->runner.Cancel();
  co_await entry->runner.Join();
}

Task<void> SlurmClusters::ReadKey(std::string cluster, uint64_t number) {
  const Entry* const before = EntryOf(cluster, number);
  if (before == nullptr) co_return;
  const SlurmConnection how = before->how;
  Result<Secret> key = co_await ReadSigningKey(client_, how.token_secret, how.token_key, loop_.After(kKeyReadTimeout));
  Entry* const entry = EntryOf(cluster, number);
  if (entry == nullptr) co_return;
  entry->reading_key = false;
  entry->key_error = key ? "" : key.error().message();
  if (key) entry->key = *std::move(key);
}

Result<Secret> SlurmClusters::Sign(const std::string& cluster, uint64_t number, Duration lifetime) {
  Entry* const entry = EntryOf(cluster, number);
  if (entry == nullptr) return Fail(Code::kCancelled, "the cluster is no longer followed");
  if (!entry->reading_key) {
    entry->reading_key = true;
    group_.Spawn("key of " + cluster, ReadKey(cluster, number));
  }
  const Time now = loop_.WallNow();
  slurm::TokenClaims claims{.user = std::string(kUser),
                            .issuer = "slurm-operator",
                            .id = std::to_string(random_.Next()),
                            .issued_at = now - kTokenClockSkew,
                            .expires_at = now + lifetime};
  return slurm::SignToken(claims, entry->key);
}

// --- Reads -----------------------------------------------------------------------------------------------------------

void SlurmClusters::Heard(const std::string& cluster) {
  const auto found = entries_.find(cluster);
  if (found == entries_.end() || !found->second->source) return;
  Entry& entry = *found->second;
  const slurm::Source::View view = entry.source->Latest();
  auto changes = slurm::ChangedNodes(entry.last.get(), view.snapshot.get());
  if (JobsOf(entry.last) != JobsOf(view.snapshot)) changes.emplace_back(World::kSlurmJobs);
  const bool turned = bool(entry.last) != bool(view.snapshot) || entry.last_failed != view.error.has_value() ||
                      (entry.last && !(entry.last->incarnation == view.snapshot->incarnation));
  const bool first = !entry.last && view.snapshot && !view.error;
  if (first || entry.last_failed != view.error.has_value()) {
    if (view.error)
      log::Warn("slurm is not heard",
                {{"cluster", cluster}, {"server", entry.how.server}, {"error", view.error->message()}});
    else
      log::Info("slurm is heard", {{"cluster", cluster}, {"server", entry.how.server}});
  }
  entry.last = view.snapshot;
  entry.last_failed = view.error.has_value();
  if (!changes.empty()) changed_(cluster, changes);
  if (turned) changed_(cluster, {});
}

Task<Result<SlurmClusters::FreshNode>> SlurmClusters::Fresh(std::string cluster, std::string node, Deadline deadline) {
  const auto found = entries_.find(cluster);
  if (found == entries_.end() || !found->second->source) co_return Fail(Code::kUnavailable, "Slurm cannot be reached");
  const bool first = found->second->batch == nullptr;
  if (first) found->second->batch = std::make_shared<Batch>(loop_);
  const std::shared_ptr<Batch> batch = found->second->batch;
  batch->names.push_back(node);
  if (!first) {
    if (!co_await batch->done.Wait(deadline)) co_return Fail(Code::kDeadline, "Slurm did not answer in time");
  } else {
    co_await async::Sleep(loop_, Duration(0));  // everybody of this turn joins
    // Ended or replaced during the turn: whoever joined hears "not read".
    const auto again = entries_.find(cluster);
    if (again != entries_.end() && again->second->batch == batch) {
      again->second->batch.reset();
      const std::shared_ptr<slurm::Source> source = again->second->source;
      batch->result = co_await source->ReadNodes(batch->names, deadline);
    }
    batch->done.Set();
  }
  if (!batch->result) co_return Fail(batch->result.error());
  const slurm::Node* seen = batch->result->Find(node);
  FreshNode fresh{.node = seen != nullptr ? std::optional(*seen) : std::nullopt,
                  .absence_counts = batch->result->incarnation.AbsenceIsKnown(batch->result->read.began)};
  co_return fresh;
}

Task<void> SlurmClusters::Stop() {
  group_.Cancel();
  co_await group_.Join();
  auto entries = std::exchange(entries_, {});
  for (auto& [cluster, entry] : entries) co_await End(std::move(entry));
  co_await ends_.Join();
}

}  // namespace capstan::plan
