#include "plan/engine.h"

#include <algorithm>

#include "async/timer.h"
#include "async/turn.h"
#include "base/hash.h"
#include "base/log.h"
#include "plan/kube_effects.h"

namespace capstan::plan {

using async::Task;

namespace {

constexpr Duration kStopCheck = 20ms;
constexpr Duration kSampleEvery = 5s;

}  // namespace

// What the engine keeps of one key between its Decides.
struct Engine::State {
  Key key;
  WakeIndex::KeyNumber number = 0;
  std::map<std::string, Tick> held_since;
  std::optional<std::string> slurm_cluster;  // the cluster whose connection this key keeps
  std::string uid;                           // of the object that the last Decide saw; it may be gone since
  std::string cluster;                       // that its last Plan was about; "": none
};

Engine::Engine(async::Loop& loop, kube::Client& client, Options options)
    : loop_(loop),
      options_(std::move(options)),
      random_(options_.seed),
      clusters_(
          loop, client, options_.slurm,
          [this](const std::string& cluster, const std::vector<std::string>& nodes) { SlurmChanged(cluster, nodes); },
          random_.Next()),
      services_{
          loop, client, stores_, memo_, clusters_, options_.field_manager, options_.entropy, options_.former_managers},
      watches_(loop, client, stores_, random_.Next()),
      asker_(
          services_, [this](const std::string& id) { Wake(MakeToken("question", id)); }, random_.Next()),
      executor_(services_, {.may_write = [this] { return !stopping_ && options_.may_write(); },
                            .may_destroy = [this] { return stores_.Trusted(); },
                            .ended = [this](const Key& key, const Action& action, const Result<void>& result,
                                            Duration took) { ActionEnded(key, action, result, took); },
                            .room = [this](const Key& key) { WakeKey(key, kube::Priority::kFresh); },
                            .tell = [this](const Key& key, Notice notice) { Tell(key, std::move(notice)); },
                            .seed = random_.Next()}),
      queue_([this](const Key& key) { return GroupOf(key); }),
      idle_(loop),
      group_(loop),
      metrics_(options_.metrics) {}

Engine::~Engine() = default;

void Engine::Add(Reconciler reconciler) {
  metrics_.AddReconciler(reconciler.kind);
  reconcilers_.push_back(std::move(reconciler));
}

Task<void> Engine::Run() {
  for (const Stores::Entry& entry : stores_.all()) entry.store->SetListener(this);
  watches_.Start(options_.namespaces);
  group_.Spawn("decide", DecideLoop());
  group_.Spawn("watchdog", Watchdog());
  co_await group_.Join();
}

Task<void> Engine::Stop(Duration patience) {
  stopping_ = true;
  const async::Deadline limit = loop_.After(patience);
  while (executor_.in_flight() > 0 && !limit.Passed(loop_.Now())) co_await async::Sleep(loop_, kStopCheck);
  group_.Cancel();
  co_await watches_.Stop();
  co_await asker_.Stop();
  co_await executor_.Stop();
  co_await clusters_.Stop();
  co_await group_.Join();
}

// --- What wakes keys -------------------------------------------------------------------------------------------------

Engine::State& Engine::StateOf(const Key& key) {
  auto& state = states_[key];
  if (!state) {
    state = std::make_unique<State>(State{.key = key, .number = WakeIndex::KeyNumber(numbers_.size())});
    numbers_.push_back(key);
  }
  return *state;
}

// Keys take turns by the cluster that they are about; those about none by their namespace.
uint64_t Engine::GroupOf(const Key& key) const {
  const auto state = states_.find(key);
  return Fnv64(state != states_.end() && !state->second->cluster.empty() ? state->second->cluster : key.ns);
}

void Engine::WakeKey(const Key& key, kube::Priority priority) {
  metrics_.Wanted(key.kind);
  queue_.Add(key, priority, loop_.Now());
  idle_.Cancel();
}

void Engine::Wake(Token token) {
  for (const WakeIndex::KeyNumber number : index_.Find(token)) WakeKey(numbers_[number], kube::Priority::kFresh);
}

void Engine::OnChange(const kube::AnyStore& store, const kube::Change& change) {
  const kube::Key object{std::string(change.ns), std::string(change.name)};
  Wake(MakeToken(store.name(), object.ToString()));
  for (const kube::IndexEntry& entry : change.touched) Wake(World::IndexToken(store.name(), entry.index, entry.value));
  for (const Reconciler& reconciler : reconcilers_) {
    if (reconciler.resource->plural != store.name()) continue;
    watches_.Follow(object.ns);
    const auto priority = watches_.Synced() ? kube::Priority::kFresh : kube::Priority::kRoutine;
    WakeKey({reconciler.kind, object.ns, object.name}, priority);
  }
}

void Engine::OnListed(const kube::AnyStore&) { idle_.Cancel(); }

void Engine::OnSuspect(const kube::AnyStore& store) {
  log::Warn("the API server's history was rewritten: everything is listed anew, nothing is destroyed until then",
            {{"resource", store.name()}});
  for (const Stores::Entry& entry : stores_.all()) entry.store->AskRelist();
}

void Engine::SlurmChanged(const std::string& cluster, const std::vector<std::string>& nodes) {
  for (const std::string& node : nodes) Wake(World::NodeToken(cluster, node));
  Wake(World::NodeToken(cluster, nodes.empty() ? "" : "*"));
}

void Engine::ActionEnded(const Key& key, const Action& action, const Result<void>& result, Duration took) {
  if (const std::string question = action.effect->outdates(); !question.empty()) asker_.Outdate(question);
  metrics_.Ended(key.kind, took, !result);
  WakeKey(key, kube::Priority::kUrgent);
}

// --- Deciding --------------------------------------------------------------------------------------------------------

Task<void> Engine::DecideLoop() {
  while (true) {
    if (!watches_.Synced() || stopping_ || !options_.may_write()) {
      co_await idle_.WaitUntil(Tick::max());
      continue;
    }
    const auto key = queue_.Take(loop_.Now());
    if (!key) {
      co_await idle_.WaitUntil(queue_.Next().value_or(Tick::max()));
      continue;
    }
    const Tick began = loop_.Now();
    const Duration waited = queue_.waited();
    async::NameTurn("decide " + ToString(*key));
    DecideOne(*key);
    const Tick now = loop_.Now();
    queue_.Done(*key, now, std::max(Duration(20ms), 10 * Duration(now - began)));
    metrics_.Decided(key->kind, waited, now - began, !executor_.ledger(*key).Failures().empty());
    co_await async::Sleep(loop_, Duration(0));  // others' turn
  }
}

const Reconciler& Engine::ReconcilerOf(const Key& key) const {
  return *std::ranges::find(reconcilers_, key.kind, &Reconciler::kind);
}

const json::ObjectMeta* Engine::ObjectOf(const Key& key) const {
  return stores_.Find(*ReconcilerOf(key).resource)->MetaOf({key.ns, key.name});
}

World::Parts Engine::PartsFor(const State& state) const {
  return {.now = loop_.WallNow(),
          .tick = loop_.Now(),
          .stores = &stores_,
          .slurm = [this](const std::string& cluster) { return clusters_.Look(cluster); },
          .answers = &asker_.answers(),
          .in_flight = executor_.TargetsInFlight(state.key),
          .failures = executor_.Failures(state.key),
          .held_since = state.held_since,
          .settings = options_.settings};
}

void Engine::DecideOne(const Key& key) {
  ++decides_;
  State& state = StateOf(key);
  const Reconciler& reconciler = ReconcilerOf(key);
  const World world(PartsFor(state));
  Plan plan = reconciler.decide(world, {key.ns, key.name});

  const json::ObjectMeta* object = ObjectOf(key);
  NoteChildren(world, reconciler, object, plan);
  index_.Set(state.number, world.reads());
  state.held_since = world.facts();
  state.cluster = plan.slurm_cluster;
  FollowSlurm(state, plan);
  asker_.Ask(world.asked());

  if (object != nullptr) state.uid = object->uid;
  std::vector<Action> actions = Resolve(reconciler, object, plan);
  std::optional<Action> status;
  if (object != nullptr && plan.status) {
    status = Action{.effect = ApplyStatus({reconciler.resource, {key.ns, key.name}}, object->uid, *plan.status),
                    .reason = "status follows what is seen",
                    .guards = {},
                    .after = {},
                    .event = {}};
  }
  std::optional<Tick> again = executor_.Submit(key, std::move(actions), std::move(status));
  const auto sooner = [&again](std::optional<Tick> at) {
    if (at) again = again ? std::min(*again, *at) : *at;
  };
  const Tick now = loop_.Now();
  sooner(asker_.NextRefresh(world.asked()));
  if (plan.look_again != Duration::max()) sooner(now + plan.look_again);
  if (object == nullptr) {
    executor_.Forget(key);
    if (!again) return;
  }
  sooner(now + random_.Jittered(options_.look_every, 0.1));
  queue_.WakeAt(key, *again);
}

// Whoever changes or removes a child wakes the key, though its Decide may not have looked at that child.
void Engine::NoteChildren(const World& world, const Reconciler& reconciler, const json::ObjectMeta* object,
                          const Plan& plan) const {
  for (const Child& child : plan.children) world.NoteRead(MakeToken(child.resource->plural, child.key.ToString()));
  if (object == nullptr) return;
  for (const kube::Resource* resource : reconciler.prunes)
    world.NoteRead(World::IndexToken(resource->plural, "owner", object->uid));
}

// The Plan's children and pruned objects as actions, before its own.
std::vector<Action> Engine::Resolve(const Reconciler& reconciler, const json::ObjectMeta* object, Plan& plan) const {
  std::vector<Action> actions;
  if (object == nullptr) return std::move(plan.actions);
  for (Child& child : plan.children) {
    ObjectRef ref{child.resource, child.key};
    actions.push_back({.effect = Apply(std::move(ref), std::move(child.body), {object->uid, std::move(child.adoption)}),
                       .reason = std::move(child.reason),
                       .guards = {},
                       .after = std::move(child.after),
                       .event = {}});
  }
  AddPrunes(reconciler, *object, plan, actions);
  std::ranges::move(plan.actions, std::back_inserter(actions));
  return actions;
}

void Engine::AddPrunes(const Reconciler& reconciler, const json::ObjectMeta& object, const Plan& plan,
                       std::vector<Action>& actions) const {
  if (object.deleting() || !plan.children_complete) return;
  for (const kube::Resource* resource : reconciler.prunes) {
    const kube::AnyStore* store = stores_.Find(*resource);
    store->ForEachOwnedBy(object.uid, [&](const json::ObjectMeta& child) {
      const kube::Key key{child.namespace_, child.name};
      const bool wanted =
          std::ranges::any_of(plan.children, [&](const Child& c) { return *c.resource == *resource && c.key == key; });
      if (wanted || child.deleting()) return;
      actions.push_back(DeleteUnchanged({resource, key}, child.uid, child.resource_version, "no longer wanted"));
    });
  }
}

// --- Watching itself -------------------------------------------------------------------------------------------------

Task<void> Engine::Watchdog() {
  while (true) {
    co_await async::Sleep(loop_, kSampleEvery);
    Sample();
  }
}

void Engine::Sample() {
  const std::vector<Executor::Running> running = executor_.running();
  for (const Executor::Running& one : running) {
    const bool full_minute = one.age / 1min != (one.age - kSampleEvery) / 1min;
    if (!full_minute) continue;
    log::Warn(
        "an action does not end",
        {{"key", ToString(one.key)}, {"verb", one.verb}, {"target", one.target}, {"for", FormatDuration(one.age)}});
  }
  std::map<std::string, size_t> ready;
  queue_.ForEachReady([&](const Key& key) { ++ready[key.kind]; });
  metrics_.Sample(ready, running);
}

void Engine::FollowSlurm(State& state, const Plan& plan) {
  if (state.slurm_cluster && *state.slurm_cluster != plan.slurm_cluster)
    clusters_.Keep(*state.slurm_cluster, std::nullopt);
  if (plan.slurm || state.slurm_cluster) {
    clusters_.Keep(plan.slurm_cluster, plan.slurm);
    state.slurm_cluster = plan.slurm ? std::optional(plan.slurm_cluster) : std::nullopt;
  }
  if (!plan.slurm_expects.empty()) clusters_.ExpectChange(plan.slurm_cluster, plan.slurm_expects);
}

// Also of an object that what is told of has ended: its last Event is not the one to be lost.
void Engine::Tell(const Key& key, Notice notice) const {
  const auto state = states_.find(key);
  if (options_.tell && state != states_.end() && !state->second->uid.empty()) {
    options_.tell(*ReconcilerOf(key).resource, {key.ns, key.name}, state->second->uid, std::move(notice));
  }
}

}  // namespace capstan::plan
