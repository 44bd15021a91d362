#include "plan/slurm/clusters.h"

#include <set>

#include "async/backoff.h"
#include "async/timer.h"
#include "base/log.h"
#include "plan/objects/secrets.h"
#include "plan/slurm/token.h"
#include "slurm/jwt.h"
#include "slurm/token_file.h"

namespace capstan::plan {

using async::Deadline;
using async::Task;

namespace {

constexpr Duration kKeyReadTimeout = 10s;
constexpr Duration kExpectAfterWrite = 30s;
constexpr std::string_view kUser = "slurm";  // may do everything that the operator needs

// Slurm has read the request and will not do it.
bool IsRefused(const Error& error) {
  return error.code() == Code::kConflict || error.code() == Code::kInvalid || error.code() == Code::kNotFound ||
         error.code() == Code::kForbidden || error.code() == Code::kUnauthenticated;
}

// Equal ones are the same in memory from one snapshot to the next.
const std::vector<slurm::Job>* JobsOf(const std::shared_ptr<const slurm::Snapshot>& snapshot) {
  return snapshot ? snapshot->jobs.get() : nullptr;
}

// The entries of the index that these nodes stand in, in any of the snapshots.
std::set<std::string> EntriesOf(NodeEntry entry, const std::vector<std::string>& nodes,
                                std::initializer_list<const slurm::Snapshot*> snapshots) {
  std::set<std::string> entries;
  for (const slurm::Snapshot* snapshot : snapshots) {
    if (snapshot == nullptr) continue;
    for (const std::string& name : nodes)
      if (const slurm::Node* node = snapshot->FindNode(name)) entries.insert(entry(*node));
  }
  entries.erase("");
  return entries;
}

// Those of which something else is known than before.
std::vector<int64_t> ChangedJobs(const slurm::FollowedJobs& before, const slurm::FollowedJobs& after) {
  std::vector<int64_t> changed;
  if (&before == &after) return changed;
  for (const auto& [id, job] : after) {
    const auto known = before.find(id);
    if (known == before.end() || known->second != job) changed.push_back(id);
  }
  for (const auto& [id, job] : before)
    if (!after.contains(id)) changed.push_back(id);
  return changed;
}

}  // namespace

struct SlurmClusters::Batch {
  explicit Batch(async::Loop& loop) : done(loop) {}
  std::vector<std::string> names;
  async::Event done;
  Result<slurm::FreshNodes> result = Fail(Code::kUnavailable, "not read");
  std::set<std::string> held;  // names of nodes that jobs hold, when the jobs were read too
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
  std::shared_ptr<const NodeIndex> index;  // of the nodes of `last`
  bool last_failed = false;
  std::shared_ptr<Batch> batch, proof_batch;  // still taking names
  struct Expected {
    std::vector<std::string> nodes;
    std::unique_ptr<slurm::Source::Expectation> held;
  };
  std::map<Key, Expected> expected;
  struct Followed {
    std::vector<int64_t> jobs;
    std::unique_ptr<slurm::Source::Following> held;
  };
  std::map<Key, Followed> followed;
  std::shared_ptr<const slurm::FollowedJobs> last_followed = std::make_shared<const slurm::FollowedJobs>();
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
    followed_since_.emplace(cluster, loop_.Now());
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

Result<std::shared_ptr<slurm::Source>> SlurmClusters::Reach(const std::string& cluster) const {
  if (auto source = Find(cluster)) return source;
  return Fail(Code::kUnavailable, "Slurm cluster " + cluster + " cannot be reached: no RestApi answers for it");
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
  look.index = entry.index;
  look.followed = view.followed;
  look.followed_age = loop_.Now() - view.followed_at;
  if (!view.snapshot)
    look.state = SlurmLook::State::kUnheard;
  else if (view.error)
    look.state = SlurmLook::State::kUnreachable;
  else
    look.absence_counts = view.snapshot->incarnation.AbsenceIsKnown(view.snapshot->nodes_read.began);
  if (look.state == SlurmLook::State::kUnheard && look.error.empty()) look.error = "slurmrestd has not answered yet";
  if (const auto nodes = written_.find(cluster); nodes != written_.end()) {
    for (const auto& [name, written] : nodes->second)
      if (MayBeLifted(written)) look.may_be_lifted.insert(name);
  }
  if (view.snapshot && loop_.Now() < followed_since_.at(cluster) + kLiftTimeout) {
    for (const slurm::Node& node : *view.snapshot->nodes)
      if (node.state.Has(slurm::NodeFlag::kDrain) && MayBeLiftedByPredecessor(cluster, node))
        look.may_be_lifted.insert(node.name);
  }
  return look;
}

void SlurmClusters::ExpectChange(const std::string& cluster, const Key& who, const std::vector<std::string>& nodes) {
  const auto found = entries_.find(cluster);
  if (found == entries_.end() || !found->second->source) return;
  Entry& entry = *found->second;
  const auto known = entry.expected.find(who);
  if (known == entry.expected.end() ? nodes.empty() : known->second.nodes == nodes) return;
  if (nodes.empty())
    entry.expected.erase(known);
  else
    entry.expected[who] = {nodes, entry.source->Expect(nodes)};
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

void SlurmClusters::Follow(const std::string& cluster, const Key& who, const std::vector<int64_t>& jobs) {
  const auto found = entries_.find(cluster);
  if (found == entries_.end() || !found->second->source) return;
  Entry& entry = *found->second;
  const auto known = entry.followed.find(who);
  if (known == entry.followed.end() ? jobs.empty() : known->second.jobs == jobs) return;
  // The new ones first: a job that is among both stays followed.
  Entry::Followed followed{jobs, jobs.empty() ? nullptr : entry.source->Follow(jobs)};
  if (jobs.empty())
    entry.followed.erase(known);
  else
    entry.followed[who] = std::move(followed);
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
    if (!entry->key.empty() || !entry->how.token_file.empty()) {
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
  entry->expected.clear();
  entry->followed.clear();
  entry->jobs_wanted.reset();
  entry->runner.Cancel();
  co_await entry->runner.Join();
}

Task<void> SlurmClusters::ReadKey(std::string cluster, uint64_t number) {
  const Entry* const before = EntryOf(cluster, number);
  if (before == nullptr) co_return;
  const SlurmConnection how = before->how;
  if (!how.token_file.empty()) co_return;
  Result<Secret> key = co_await ReadSecretKey(client_, how.token_secret, how.token_key, loop_.After(kKeyReadTimeout));
  Entry* const entry = EntryOf(cluster, number);
  if (entry == nullptr) co_return;
  entry->reading_key = false;
  entry->key_error = key ? "" : key.error().message();
  if (key) entry->key = *std::move(key);
}

Result<Secret> SlurmClusters::Sign(const std::string& cluster, uint64_t number, Duration lifetime) {
  Entry* const entry = EntryOf(cluster, number);
  if (entry == nullptr) return Fail(Code::kCancelled, "the cluster is no longer followed");
  if (!entry->how.token_file.empty()) return slurm::TokenFrom(entry->how.token_file);
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
  if (node_entry_ != nullptr && !changes.empty()) {
    for (const std::string& name : EntriesOf(node_entry_, changes, {entry.last.get(), view.snapshot.get()}))
      changes.push_back(World::EntryName(name));
    entry.index =
        view.snapshot ? std::make_shared<const NodeIndex>(MakeNodeIndex(node_entry_, *view.snapshot->nodes)) : nullptr;
  }
  if (JobsOf(entry.last) != JobsOf(view.snapshot)) changes.emplace_back(World::kSlurmJobs);
  for (const int64_t id : ChangedJobs(*entry.last_followed, *view.followed)) changes.push_back(World::JobName(id));
  entry.last_followed = view.followed;
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
  co_return co_await ReadShared(std::move(cluster), std::move(node), false, deadline);
}

Task<Result<SlurmClusters::FreshNode>> SlurmClusters::ReadForProof(std::string cluster, std::string node,
                                                                   Deadline deadline) {
  const Tick asked = loop_.Now();
  auto fresh = co_await ReadShared(cluster, node, true, deadline);
  if (!fresh) co_return fresh;
  const Written& written = written_[cluster][node];
  if (written.under_way > 0 || written.answered > asked)
    co_return Fail(Code::kUnavailable, "Slurm node " + node + " was written to while it was read");
  if (MayBeLifted(written) || (fresh->node && MayBeLiftedByPredecessor(cluster, *fresh->node)))
    co_return Fail(Code::kUnavailable, "a drain of Slurm node " + node + " may be lifted at any moment");
  co_return fresh;
}

Task<Result<SlurmClusters::FreshNode>> SlurmClusters::ReadShared(std::string cluster, std::string node, bool with_jobs,
                                                                 Deadline deadline) {
  const auto slot = with_jobs ? &Entry::proof_batch : &Entry::batch;
  const auto found = entries_.find(cluster);
  if (found == entries_.end() || !found->second->source) co_return Fail(Code::kUnavailable, "Slurm cannot be reached");
  const bool first = found->second.get()->*slot == nullptr;
  if (first) found->second.get()->*slot = std::make_shared<Batch>(loop_);
  const std::shared_ptr<Batch> batch = found->second.get()->*slot;
  batch->names.push_back(node);
  if (!first) {
    if (!co_await batch->done.Wait(deadline)) co_return Fail(Code::kDeadline, "Slurm did not answer in time");
  } else {
    co_await async::Sleep(loop_, Duration(0));  // everybody of this turn joins
    // Ended or replaced during the turn: whoever joined hears "not read".
    const auto again = entries_.find(cluster);
    if (again != entries_.end() && again->second.get()->*slot == batch) {
      (again->second.get()->*slot).reset();
      const std::shared_ptr<slurm::Source> source = again->second->source;
      co_await Read(*source, *batch, with_jobs, deadline);
    }
    batch->done.Set();
  }
  if (!batch->result) co_return Fail(batch->result.error());
  const slurm::Node* seen = batch->result->Find(node);
  FreshNode fresh{.node = seen != nullptr ? std::optional(*seen) : std::nullopt,
                  .absence_counts = batch->result->incarnation.AbsenceIsKnown(batch->result->read.began),
                  .holds_job = batch->held.contains(node)};
  co_return fresh;
}

// A job may run while the jobs are read and be suspended before or after, when the node is: the node is read on both
// sides. In the time between no job gets there whose node is drained, so that one which is there shows in one of them.
Task<void> SlurmClusters::Read(slurm::Source& source, Batch& batch, bool with_jobs, Deadline deadline) {
  batch.result = co_await source.ReadNodes(batch.names, deadline);
  if (!with_jobs || !batch.result) co_return;
  for (const slurm::Node& node : batch.result->nodes)
    if (node.state.IsBusy()) batch.held.insert(node.name);
  auto suspended = co_await source.ReadNodesOfSuspendedJobs(deadline);
  if (!suspended) {
    batch.result = Fail(std::move(suspended).error());
    co_return;
  }
  batch.held.insert(suspended->begin(), suspended->end());
  batch.result = co_await source.ReadNodes(batch.names, deadline);
}

// --- Writes ----------------------------------------------------------------------------------------------------------

bool SlurmClusters::MayBeLifted(const Written& written) const {
  return written.open_lift && loop_.Now() < *written.open_lift + kLiftTimeout;
}

bool SlurmClusters::MayBeLiftedByPredecessor(const std::string& cluster, const slurm::Node& node) const {
  const auto since = followed_since_.find(cluster);
  if (since == followed_since_.end() || loop_.Now() >= since->second + kLiftTimeout) return false;
  if (!node.state.Has(slurm::NodeFlag::kDrain)) return false;
  const auto nodes = written_.find(cluster);
  if (nodes == written_.end()) return true;
  const auto written = nodes->second.find(node.name);
  return written == nodes->second.end() || !written->second.drained;
}

Task<Result<void>> SlurmClusters::UpdateNode(std::string cluster, slurm::NodeUpdate update, Deadline deadline) {
  CAPSTAN_CO_TRY(const std::shared_ptr<slurm::Source> source, Reach(cluster));
  source->ExpectChange(update.names, loop_.Now() + kExpectAfterWrite);
  if (!update.action) co_return co_await source->UpdateNode(std::move(update), deadline);
  const bool lifts = *update.action == slurm::NodeAction::kUndrain || *update.action == slurm::NodeAction::kResume;
  const std::vector<std::string> names = update.names;
  std::map<std::string, uint64_t> lifts_before;
  for (const std::string& name : names) {
    Written& written = written_[cluster][name];
    ++written.under_way;
    written.lifts += lifts;
    lifts_before[name] = written.lifts;
  }
  const Result<void> done = co_await source->UpdateNode(std::move(update), deadline);
  for (const std::string& name : names) {
    Written& written = written_[cluster][name];
    --written.under_way;
    written.answered = loop_.Now();
    if (lifts && !done && !IsRefused(done.error())) written.open_lift = loop_.Now();
    if (lifts || !done) continue;
    written.drained = true;
    if (written.lifts == lifts_before[name]) written.open_lift.reset();
  }
  co_return done;
}

Task<Result<void>> SlurmClusters::CreateNode(std::string cluster, slurm::NewNode node, Deadline deadline) {
  CAPSTAN_CO_TRY(const std::shared_ptr<slurm::Source> source, Reach(cluster));
  const std::vector<std::string> names{slurm::NameOf(node)};
  source->ExpectChange(names, loop_.Now() + kExpectAfterWrite);
  co_return co_await source->CreateNode(std::move(node), deadline);
}

Task<Result<void>> SlurmClusters::DeleteNode(std::string cluster, std::string node, Deadline deadline) {
  CAPSTAN_CO_TRY(const std::shared_ptr<slurm::Source> source, Reach(cluster));
  const std::vector<std::string> names{node};
  source->ExpectChange(names, loop_.Now() + kExpectAfterWrite);
  co_return co_await source->DeleteNode(std::move(node), deadline);
}

Task<void> SlurmClusters::Stop() {
  group_.Cancel();
  co_await group_.Join();
  auto entries = std::exchange(entries_, {});
  for (auto& [cluster, entry] : entries) co_await End(std::move(entry));
  co_await ends_.Join();
}

}  // namespace capstan::plan
