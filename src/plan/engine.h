// Runs reconcilers that are pure functions: World in, Plan out. The engine alone waits, writes and knows the time.
//
//   Engine engine(loop, client, options);
//   engine.stores().Add<NodeSet>();  engine.stores().Add<Pod>("app.kubernetes.io/name=slurmd");
//   engine.Add({.kind = "nodeset", .resource = &NodeSet::kResource, .decide = &nodeset::Decide});
//   co_await engine.Run();            // until cancelled
//
// One thread; Decide runs between two events, so nothing it sees can move, and it is never called before every watched
// kind has been listed once. Nothing is kept from one Decide to the next except what World::Parts says, so a crash after
// any action loses nothing.
//
// Wake-ups: a key is decided again when something that its last Decide read has changed, when one of its actions has
// ended, when its Plan asked for it, and every five minutes. Between two looks it rests ten times the time that the last
// one took, at least 20 ms.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "async/event.h"
#include "async/loop.h"
#include "async/task_group.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/events.h"
#include "kube/queue.h"
#include "net/metrics.h"
#include "plan/key.h"
#include "plan/memo.h"
#include "plan/plan.h"
#include "plan/reads.h"
#include "plan/services.h"
#include "plan/slurm_clusters.h"
#include "plan/stores.h"
#include "plan/world.h"

namespace capstan::plan {

// A plain function: no captures, no members, nowhere to keep anything. The same World and key give the same Plan.
using Decide = Plan (*)(const World& world, const kube::Key& key);

struct Reconciler {
  std::string kind;                  // "nodeset"; of Key, logs and metrics
  const kube::Resource* resource;    // each object of it is a key
  Decide decide;
  // Kinds whose objects, controlled by the key's object and not among the Plan's children, are removed.
  std::vector<const kube::Resource*> prunes;
  // Kinds that are watched in a namespace while an object of `resource` lives there.
  std::vector<const kube::Resource*> watches;
};

class Engine final : private kube::StoreListener {
 public:
  struct Options {
    std::string field_manager;
    uint64_t seed = 1;
    std::function<Secret(size_t)> entropy;
    std::function<bool()> may_write = [] { return true; };  // the lease is held; asked before every write
    SlurmClusters::Factory slurm;
    std::vector<std::string> namespaces;  // custom resources are looked for here only; empty: everywhere
    kube::EventRecorder* events = nullptr;
    net::Metrics* metrics = nullptr;
    Duration look_every = 5min;
    size_t lane_limit = 64;  // actions in flight per lane
    size_t wave_limit = 250;  // actions in flight per key
  };

  Engine(async::Loop& loop, kube::Client& client, Options options);
  ~Engine() override;

  // Before Run: add every kind that a Decide reads, then the reconcilers.
  Stores& stores() { return stores_; }
  void Add(Reconciler reconciler);

  // Watches, decides and acts until cancelled; what is in flight then is cancelled too.
  async::Task<void> Run();

  // Every watched kind has been listed; for readiness.
  bool Synced() const;

  // No key is waiting or in flight, as of now; for tests and the simulator.
  bool Idle() const;

  struct Figures {
    uint64_t decides = 0;
    uint64_t actions = 0;
    uint64_t failures = 0;
  };
  const Figures& figures() const { return figures_; }

 private:
  struct State;
  struct Watches;

  // kube::StoreListener
  void OnChange(const kube::AnyStore& store, const kube::Change& change) override;
  void OnListed(const kube::AnyStore& store) override;
  void OnSuspect(const kube::AnyStore& store) override;

  State& StateOf(const Key& key);
  const Reconciler* ReconcilerOf(const kube::AnyStore& store) const;
  void Wake(Token token, kube::Priority priority);
  void WakeKey(const Key& key, kube::Priority priority);
  void SlurmChanged(const std::string& cluster, const std::vector<std::string>& nodes);
  void FollowPrimary(const Reconciler& reconciler, const kube::Change& change);

  async::Task<void> DecideLoop();
  Duration DecideOne(const Key& key);
  World::Parts PartsFor(const State& state) const;
  std::vector<Action> Resolve(const State& state, Plan& plan) const;
  void AddPrunes(const State& state, const Plan& plan, std::vector<Action>& actions) const;
  void ConnectSlurm(const State& state, const Plan& plan);

  void Submit(State& state, std::vector<Action> actions);
  bool MayStart(const State& state, const Action& action) const;
  void Start(State& state, Action action);
  async::Task<void> RunAction(Key key, Action action);
  async::Task<Result<void>> Perform(const Action& action, async::Deadline deadline);
  void Finished(const Key& key, const Action& action, const Result<void>& result);
  void Tell(const Key& key, const Action& action, const Result<void>& result);

  void AskQuestions(const World& world);
  async::Task<void> Fetch(std::string id);

  async::Loop& loop_;
  Options options_;
  Random random_;
  Stores stores_;
  AppliedMemo memo_;
  SlurmClusters clusters_;
  Services services_;
  Answers answers_;
  std::vector<Reconciler> reconcilers_;
  std::map<Key, std::unique_ptr<State>> states_;
  std::vector<Key> numbers_;  // WakeIndex::KeyNumber -> key
  WakeIndex index_;
  kube::Queue<Key> queue_;
  async::Event wake_;
  async::TaskGroup group_;
  std::map<Lane, size_t> in_flight_;
  std::unique_ptr<Watches> watches_;
  Figures figures_;
};

}  // namespace capstan::plan
