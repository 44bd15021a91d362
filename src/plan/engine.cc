#include "plan/engine.h"

#include <algorithm>

#include "async/timer.h"
#include "async/turn.h"
#include "async/yield.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "plan/objects/effects.h"
#include "plan/objects/guards.h"

namespace capstan::plan {

using async::Task;

namespace {

constexpr Duration kStopCheck = 20ms;
constexpr Duration kAfterException = 1min, kAfterTooLong = 1h;
constexpr Duration kSampleEvery = 5s;
constexpr size_t kUnlistedNamed = 10;

// So many keys are decided, and for so long, before everything else that is ready has its turn.
constexpr int kKeysATurn = 16;
constexpr Duration kTurn = 200us;

// So many children that nobody wants any more may be remembered for one owner.
constexpr size_t kSomeChildren = 8;

// In place of a child that could never be seen to be as it is wanted: applying it would have no end.
class NoStore final : public Effect {
 public:
  explicit NoStore(const Child& child)
      : plural_(child.resource->plural),
        target_(ObjectRef{child.resource, child.key}.ToString()),
        content_(Fnv64(child.body)) {}
  std::string_view verb() const override { return "apply"; }
  std::string target() const override { return target_; }
  uint64_t content() const override { return content_; }
  Task<Result<void>> Run(Services&, async::Deadline) const override {
    co_return Fail(Code::kInvalid, target_ + " is not applied: this program keeps no store of " + plural_ +
                                       " (Stores::Add), and so would never see it");
  }

 private:
  std::string plural_;
  std::string target_;
  uint64_t content_;
};

}  // namespace

// What the engine keeps of one key between its Decides.
struct Engine::State {
  Key key;
  WakeIndex::KeyNumber number = 0;
  std::map<std::string, Tick> held_since;
  std::optional<std::string> slurm_cluster;  // the cluster whose connection this key keeps
  std::vector<int64_t> follows;              // jobs that its last Plan followed
  std::optional<EventObject> about;          // as its Plans said last
  std::string uid;                           // of the object that the last Decide saw; it may be gone since
  std::string cluster;                       // that its last Plan was about; "": none
  std::string jobs_of;                       // the cluster whose jobs its last Plan wanted; "": none
  std::string follows_of;                    // the cluster of which its last Plan followed jobs; "": none
  std::string expects_of;                    // the cluster of which its last Plan expected changes; "": none
  bool failed = false;                       // the last Decide ended by an exception, or took too long
};

Engine::Engine(async::Loop& loop, kube::Client& client, Options options)
    : loop_(loop),
      options_(std::move(options)),
      random_(options_.seed),
      clusters_(
          loop, client, options_.slurm,
          [this](const std::string& cluster, const std::vector<std::string>& nodes) { SlurmChanged(cluster, nodes); },
          random_.Next()),
      services_{loop,
                client,
                stores_,
                memo_,
                clusters_,
                options_.field_manager,
                options_.entropy,
                options_.former_managers,
                options_.ask},
      watches_(loop, client, stores_, random_.Next()),
      asker_(
          services_, [this](const std::string& id) { Wake(MakeRead("question", id)); }, random_.Next()),
      executor_(services_, {.may_write = [this] { return !stopping_ && options_.may_write(); },
                            .may_destroy = [this] { return stores_.Trusted(); },
                            .started = options_.started,
                            .ended = [this](const Key& key, const Action& action, const Result<void>& result,
                                            Duration took) { ActionEnded(key, action, result, took); },
                            .room = [this](const Key& key) { WakeKey(StateOf(key), kube::Priority::kFresh); },
                            .tell = [this](const Key& key, Notice notice) { Tell(key, std::move(notice)); },
                            .seed = random_.Next()}),
      queue_([this](WakeIndex::KeyNumber number) { return GroupOf(number); }),
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
  const bool any_namespace =
      std::ranges::any_of(reconcilers_, [](const Reconciler& one) { return !one.resource->namespaced; });
  clusters_.IndexNodes(stores_.node_entry());
  watches_.Start(options_.namespaces, any_namespace);
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
  if (state) return *state;
  if (free_numbers_.empty()) {
    free_numbers_.push_back(WakeIndex::KeyNumber(numbered_.size()));
    numbered_.push_back(nullptr);
  }
  state = std::make_unique<State>(State{.key = key, .number = free_numbers_.back()});
  free_numbers_.pop_back();
  numbered_[state->number] = state.get();
  return *state;
}

// REQUIRES: it is not queued. Its number may be given to another key.
void Engine::Forget(const State& state) {
  queue_.Forget(state.number);
  asker_.Forget(state.number);
  index_.Forget(state.number);
  numbered_[state.number] = nullptr;
  free_numbers_.push_back(state.number);
  states_.erase(states_.find(state.key));
}

// Keys take turns by the cluster that they are about; those about none by their namespace.
uint64_t Engine::GroupOf(WakeIndex::KeyNumber number) const {
  const State& state = *numbered_[number];
  return Fnv64(state.cluster.empty() ? state.key.ns : state.cluster);
}

void Engine::WakeKey(const State& state, kube::Priority priority) {
  metrics_.Wanted(state.key.kind);
  queue_.Add(state.number, priority, loop_.Now());
  idle_.Cancel();
}

void Engine::Wake(Read read) {
  for (const WakeIndex::KeyNumber number : index_.Find(read)) WakeKey(*numbered_[number], kube::Priority::kFresh);
}

void Engine::OnChange(const kube::AnyStore& store, const kube::Change& change) {
  const kube::Key object{std::string(change.ns), std::string(change.name)};
  Wake(MakeRead(store.name(), object.ToString()));
  for (const kube::IndexEntry& entry : change.touched) Wake(World::IndexRead(store.name(), entry.index, entry.value));
  for (const Reconciler& reconciler : reconcilers_) {
    if (stores_.Find(*reconciler.resource) != &store) continue;
    const auto priority = watches_.Synced() ? kube::Priority::kFresh : kube::Priority::kRoutine;
    if (!reconciler.index.empty()) {
      for (const kube::IndexEntry& entry : change.touched)
        if (entry.index == reconciler.index) WakeKey(StateOf(GroupKey(reconciler, entry.value)), priority);
      continue;
    }
    watches_.Follow(object.ns);
    WakeKey(StateOf({reconciler.kind, object.ns, object.name}), priority);
  }
}

void Engine::OnListed(const kube::AnyStore&) { idle_.Cancel(); }

void Engine::OnServed(const kube::AnyStore& store) { Wake(World::ServedRead(store.name())); }

void Engine::OnSuspect(const kube::AnyStore& store) {
  log::Warn("the API server's history was rewritten: everything is listed anew, nothing is destroyed until then",
            {{"resource", store.name()}});
  for (const Stores::Entry& entry : stores_.all()) entry.store->Doubt();
}

void Engine::SlurmChanged(const std::string& cluster, const std::vector<std::string>& nodes) {
  for (const std::string& node : nodes) Wake(World::NodeRead(cluster, node));
  Wake(World::NodeRead(cluster, nodes.empty() ? "" : "*"));
}

void Engine::ActionEnded(const Key& key, const Action& action, const Result<void>& result, Duration took) {
  if (const std::string question = action.effect->outdates(); !question.empty()) asker_.Outdate(question);
  metrics_.Ended(key.kind, took, !result);
  if (options_.ended) options_.ended(key, action);
  WakeKey(StateOf(key), kube::Priority::kUrgent);
}

// --- Deciding --------------------------------------------------------------------------------------------------------

Task<void> Engine::DecideLoop() {
  while (true) {
    const Tick began = loop_.Now();
    spent_before_ = Spent();
    bool more = true;
    for (int i = 0; more && i < kKeysATurn && loop_.Now() - began < kTurn; ++i) more = DecideNext();
    if (more)
      co_await async::Yield(loop_);
    else
      co_await idle_.WaitUntil(MayDecide() ? queue_.Next().value_or(Tick::max()) : Tick::max());
  }
}

bool Engine::MayDecide() const { return watches_.Synced() && !stopping_ && options_.may_write(); }

// False when there is nothing to decide, or it is not the time for it.
bool Engine::DecideNext() {
  if (!MayDecide()) return false;
  const Tick began = loop_.Now();
  const auto number = queue_.Take(began);
  if (!number) return false;
  const Duration waited = queue_.waited();
  State& state = *numbered_[*number];
  async::NameTurn("decide " + ToString(state.key));
  const bool over = DecideOne(state);
  const Tick now = loop_.Now();
  queue_.Done(*number, now, std::max(Duration(20ms), 10 * Duration(now - began)));
  const bool failing = state.failed || !executor_.ledger(state.key).Failures().empty();
  metrics_.Decided(state.key.kind, waited, now - began, failing);
  if (over && !queue_.Wanted(*number)) Forget(state);
  return true;
}

const Reconciler& Engine::ReconcilerOf(const Key& key) const {
  return *std::ranges::find(reconcilers_, key.kind, &Reconciler::kind);
}

Key Engine::GroupKey(const Reconciler& reconciler, std::string_view value) {
  const size_t slash = value.find('/');
  return {reconciler.kind, std::string(value.substr(0, slash)),
          slash == value.npos ? std::string() : std::string(value.substr(slash + 1))};
}

bool Engine::HasMembers(const Key& group) const {
  const Reconciler& reconciler = ReconcilerOf(group);
  return stores_.Find(*reconciler.resource)->HasIn(reconciler.index, group.ns + "/" + group.name);
}

// nullptr also of a group.
const json::ObjectMeta* Engine::ObjectOf(const Key& key) const {
  if (!ReconcilerOf(key).index.empty()) return nullptr;
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
          .follows = state.follows,
          .settings = options_.settings};
}

// True: nothing is left to keep of the key.
bool Engine::DecideOne(State& state) {
  ++decides_;
  const World world(PartsFor(state));
  const Tick began = loop_.Now();
  std::string what;
  try {
    state.failed = false;
    Plan plan = ReconcilerOf(state.key).decide(world, {state.key.ns, state.key.name});
    const Duration took = loop_.Now() - began;
    if (took <= options_.decide_limit || Spent() - spent_before_ <= options_.decide_limit)
      return Carry(state, world, std::move(plan));
    TookTooLong(state, world, took);
    return false;
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
    what = "of an unknown type";
  }
  Threw(state, world, what);
  return false;
}

// A bug that concerns this key and no other. Nothing is begun for it until it is decided again: when something that it
// read has changed, and after a while.
void Engine::Threw(State& state, const World& world, const std::string& what) {
  state.failed = true;
  log::Error("a Decide ended by an exception, which is a bug", {{"key", ToString(state.key)}, {"error", what}});
  metrics_.Threw(state.key.kind);
  NoteObject(state, ObjectOf(state.key));
  index_.Set(state.number, world.reads());
  Tell(state.key, {.warning = true,
                   .reason = "InternalError",
                   .action = "Decide",
                   .note = "nothing is done for this object, since deciding what to do ended by an exception, which is "
                           "a bug: " +
                           what});
  queue_.WakeAt(state.number, loop_.Now() + random_.Jittered(kAfterException, 0.1));
}

// Every other key waits for it, and would again. Its questions stay asked: an answer is something that it read.
void Engine::TookTooLong(State& state, const World& world, Duration took) {
  state.failed = true;
  log::Error("a Decide took too long", {{"key", ToString(state.key)}, {"took", FormatDuration(took)}});
  metrics_.TookTooLong(state.key.kind);
  NoteObject(state, ObjectOf(state.key));
  index_.Set(state.number, world.reads());
  asker_.Ask(state.number, world.asked());
  Tell(state.key,
       {.warning = true,
        .reason = "DecideTooLong",
        .action = "Decide",
        .note = "nothing is done for this object for an hour, or until it or something that it depends on changes: "
                "deciding what to do took " +
                FormatDuration(took) + ", and all objects wait for each other; make its texts smaller"});
  queue_.WakeAt(state.number, loop_.Now() + random_.Jittered(kAfterTooLong, 0.1));
}

void Engine::NoteObject(State& state, const json::ObjectMeta* object) {
  if (object == nullptr || object->uid != state.uid) memo_.Forget(state.uid);
  if (object != nullptr) state.uid = object->uid;
}

// True: nothing is left to keep of the key.
bool Engine::Carry(State& state, const World& world, Plan plan) {
  const Key& key = state.key;
  const Reconciler& reconciler = ReconcilerOf(key);
  const json::ObjectMeta* object = ObjectOf(key);
  NoteChildren(world, reconciler, object, plan);
  index_.Set(state.number, world.reads());
  state.held_since = world.facts();
  state.cluster = plan.slurm_cluster;
  FollowSlurm(state, plan);
  HandOver(plan);
  asker_.Ask(state.number, world.asked());

  NoteObject(state, object);
  if (plan.about) state.about = std::move(plan.about);
  std::vector<Action> actions = Resolve(reconciler, object, plan);
  const bool has_actions = !actions.empty();
  std::optional<Action> status;
  if (object != nullptr && plan.status) {
    status = Action{.effect = ApplyStatus({reconciler.resource, {key.ns, key.name}}, object->uid, *plan.status),
                    .reason = "status follows what is seen",
                    .guards = {},
                    .after = {},
                    .event = {}};
  }
  if (object != nullptr && plan.children_complete) ForgetUnwanted(object->uid, actions, status);
  std::optional<Tick> again = executor_.Submit(key, std::move(actions), std::move(status));
  const auto sooner = [&again](std::optional<Tick> at) {
    if (at) again = again ? std::min(*again, *at) : *at;
  };
  const Tick now = loop_.Now();
  if (plan.requeue_after != Duration::max()) sooner(now + plan.requeue_after);
  if (object == nullptr && !(IsGroup(key) && (has_actions || !state.follows.empty()))) {
    executor_.Forget(key);
    // Nothing but its own object can give it something to do, and that one wakes it however little is known of it; so do the
    // members of a group.
    const bool idle = IsGroup(key) ? !HasMembers(key) : world.reads().all().size() <= 1 && world.facts().empty();
    const bool over = !again && idle && !state.slurm_cluster && state.jobs_of.empty() && state.follows_of.empty() &&
                      state.expects_of.empty() && executor_.TargetsInFlight(key).empty();
    if (!again) return over;
  }
  sooner(now + random_.Jittered(options_.look_every, 0.1));
  queue_.WakeAt(state.number, *again);
  return false;
}

// Whoever changes or removes a child wakes the key, though its Decide may not have looked at that child.
void Engine::NoteChildren(const World& world, const Reconciler& reconciler, const json::ObjectMeta* object,
                          const Plan& plan) const {
  for (const Child& child : plan.children) world.NoteRead(MakeRead(StoreName(*child.resource), child.key.ToString()));
  if (object == nullptr) return;
  for (const kube::Resource* resource : reconciler.children)
    world.NoteRead(World::IndexRead(StoreName(*resource), "owner", object->uid));
}

// The Plan's children and pruned objects as actions, before its own.
std::vector<Action> Engine::Resolve(const Reconciler& reconciler, const json::ObjectMeta* object, Plan& plan) const {
  std::vector<Action> actions;
  if (object == nullptr) return std::move(plan.actions);
  actions.reserve(plan.children.size() + plan.actions.size());
  for (Child& child : plan.children) {
    std::shared_ptr<const Effect> effect;
    if (stores_.Find(*child.resource) == nullptr)
      effect = std::make_shared<NoStore>(child);
    else
      effect = Apply({child.resource, child.key}, std::move(child.body), {object->uid, std::move(child.adoption)},
                     std::move(child.keeps));
    actions.push_back({.effect = std::move(effect),
                       .reason = std::move(child.reason),
                       .guards = {},
                       .after = std::move(child.after),
                       .event = std::move(child.event)});
  }
  AddPrunes(reconciler, *object, plan, actions);
  std::ranges::move(plan.actions, std::back_inserter(actions));
  return actions;
}

// An owner may live for years and want one child after another. What it applied lately costs nothing to keep, and to look
// for it at every Decide would.
void Engine::ForgetUnwanted(const std::string& owner, const std::vector<Action>& actions,
                            const std::optional<Action>& status) {
  if (memo_.SizeOf(owner) <= 2 * actions.size() + kSomeChildren) return;
  std::set<std::string> wanted;
  for (const Action& action : actions) wanted.insert(action.effect->target());
  if (status) wanted.insert(status->effect->target());
  memo_.KeepOnly(owner, wanted);
}

void Engine::AddPrunes(const Reconciler& reconciler, const json::ObjectMeta& object, const Plan& plan,
                       std::vector<Action>& actions) const {
  if (object.deleting() || !plan.children_complete) return;
  // The children may be shown as they are, and their owner as it was.
  const auto same_owner =
      SameGeneration({reconciler.resource, {object.namespace_, object.name}}, object.uid, object.generation);
  for (const kube::Resource* resource : reconciler.children) {
    const kube::AnyStore* store = stores_.Find(*resource);
    // Left out of the Plan, perhaps, because one server does not know the kind yet: that is no wish to remove it.
    if (!store->Served()) continue;
    store->ForEachOwnedBy(object.uid, [&](const json::ObjectMeta& child) {
      const kube::Key key{child.namespace_, child.name};
      const bool wanted =
          std::ranges::any_of(plan.children, [&](const Child& c) { return *c.resource == *resource && c.key == key; });
      if (wanted || child.deleting()) return;
      actions.push_back(DeleteUnchanged({resource, key}, child.uid, child.resource_version, "no longer wanted"));
      actions.back().guards = {same_owner};
      actions.back().event = {.reason = "Pruned", .action = "Delete"};
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
  SayWhatIsNotListed();
  LeaveNamespaces(running);
  std::map<std::string, size_t> ready;
  queue_.ForEachReady([&](WakeIndex::KeyNumber number) { ++ready[numbered_[number]->key.kind]; });
  metrics_.Sample(ready, running);
}

void Engine::SayWhatIsNotListed() {
  const Duration before = unsynced_for_;
  unsynced_for_ = watches_.Synced() ? Duration(0) : before + kSampleEvery;
  if (unsynced_for_ / 1min == before / 1min || unsynced_for_ < before) return;
  log::Warn("nothing is decided before everything watched has been listed",
            {{"not_listed", Unlisted()}, {"for", FormatDuration(unsynced_for_)}});
}

std::string Engine::Unlisted() const {
  if (Synced()) return "";
  std::vector<std::string> names = watches_.Unlisted();
  if (names.empty()) return "everything that is watched";
  const size_t more = names.size() > kUnlistedNamed ? names.size() - kUnlistedNamed : 0;
  names.resize(names.size() - more);
  return Join(names, "; ") + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

void Engine::LeaveNamespaces(const std::vector<Executor::Running>& running) {
  watches_.LeaveUnused([&](const std::string& ns) {
    const bool acts = std::ranges::any_of(running, [&](const Executor::Running& one) { return one.key.ns == ns; });
    return acts || std::ranges::any_of(reconcilers_, [&](const Reconciler& reconciler) {
             return stores_.Find(*reconciler.resource)->HasIn(ns);
           });
  });
}

void Engine::FollowSlurm(State& state, const Plan& plan) {
  if (state.slurm_cluster && *state.slurm_cluster != plan.slurm_cluster)
    clusters_.Keep(*state.slurm_cluster, std::nullopt);
  if (plan.slurm || state.slurm_cluster) {
    clusters_.Keep(plan.slurm_cluster, plan.slurm);
    state.slurm_cluster = plan.slurm ? std::optional(plan.slurm_cluster) : std::nullopt;
  }
  const std::string expects_of = plan.slurm_expects.empty() ? "" : plan.slurm_cluster;
  if (!state.expects_of.empty() && state.expects_of != expects_of)
    clusters_.ExpectChange(state.expects_of, state.key, {});
  if (!expects_of.empty()) clusters_.ExpectChange(expects_of, state.key, plan.slurm_expects);
  state.expects_of = expects_of;
  const std::string follows_of = plan.slurm_follows.empty() ? "" : plan.slurm_cluster;
  if (!state.follows_of.empty() && state.follows_of != follows_of) clusters_.Follow(state.follows_of, state.key, {});
  if (!follows_of.empty()) clusters_.Follow(follows_of, state.key, plan.slurm_follows);
  state.follows_of = follows_of;
  state.follows = plan.slurm_follows;
  const std::string jobs_of = plan.slurm_jobs ? plan.slurm_cluster : "";
  if (!state.jobs_of.empty() && state.jobs_of != jobs_of) clusters_.WantJobs(state.jobs_of, state.key, false);
  if (!jobs_of.empty()) clusters_.WantJobs(jobs_of, state.key, true);
  state.jobs_of = jobs_of;
}

void Engine::HandOver(const Plan& plan) {
  for (const Plan::Handed& handed : plan.hands_over) {
    const auto reconciler = std::ranges::find(reconcilers_, handed.kind, &Reconciler::kind);
    State& heir = StateOf(GroupKey(*reconciler, handed.key));
    if (std::ranges::find(heir.follows, handed.job) != heir.follows.end()) continue;
    heir.follows.push_back(handed.job);
    WakeKey(heir, kube::Priority::kRoutine);
  }
}

// Of an object that has just gone, too: its last Event is not the one to be lost.
void Engine::Tell(const Key& key, Notice notice) const {
  const auto state = states_.find(key);
  std::optional<EventObject> about = std::move(notice.about);
  if (!about && state != states_.end()) about = state->second->about;
  if (options_.tell && about) return options_.tell(*about->resource, about->key, about->uid, std::move(notice));
  if (options_.tell && state != states_.end() && !state->second->uid.empty()) {
    options_.tell(*ReconcilerOf(key).resource, {key.ns, key.name}, state->second->uid, std::move(notice));
  }
}

}  // namespace capstan::plan
