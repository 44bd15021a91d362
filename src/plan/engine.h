// Runs reconcilers that are pure functions: World in, Plan out. The engine alone waits, writes and knows the time.
//
//   Engine engine(loop, client, options);
//   engine.stores().Add<NodeSet>({.everywhere = true});
//   engine.stores().Add<Pod>({.label_selector = "app.kubernetes.io/name=slurmd"});
//   engine.Add({.kind = "nodeset", .resource = &NodeSet::kResource, .decide = &nodeset::Decide, ...});
//   co_await engine.Run();            // until cancelled
//
// One thread; Decide runs between two events, so nothing it sees can move, and it is never called before every watched
// kind has been listed once, but for optional ones that the API server lacks (Watching::optional). Nothing is kept from
// one Decide to the next except what World::Parts says, so a crash after any action loses nothing.
//
// Wake-ups: a key is decided again when something that its last Decide read has changed, when one of its actions has
// ended, when its Plan asked for it, and every five minutes. A change of one of its Plan's children, or of what it may
// have to prune, counts as read. Between two looks it rests ten times the time that the last one took, at least 20 ms.
// Clusters are served in turn: those of one with a thousand keys do not hold up another's single one.
//
// An exception that leaves a Decide is logged, counted and an Event of its key, and touches no other key. So it is with a
// Decide that takes longer than Options::decide_limit, which holds up everybody: its Plan is not carried out, and its key is
// decided again when something that it read has changed, and after an hour.
//
// An action that does not end in time although it has a deadline is a bug somewhere; a watchdog names it in the log every
// minute. So it does with what has not been listed, while nothing is decided for that.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "async/event.h"
#include "async/loop.h"
#include "async/task_group.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/queue.h"
#include "net/metrics.h"
#include "plan/asker.h"
#include "plan/engine_metrics.h"
#include "plan/executor.h"
#include "plan/reads.h"
#include "plan/reconciler.h"
#include "plan/watches.h"

namespace capstan::plan {

class Engine final : private kube::StoreListener {
 public:
  struct Options {
    std::string field_manager;
    // Programs that this service replaces: the fields that they set on its children become its own (ownership.h).
    std::vector<std::string> former_managers;
    uint64_t seed = 1;
    std::function<Secret(size_t bytes)> entropy;
    std::function<bool()> may_write = [] { return true; };  // the lease is held; asked before every Decide and write
    SlurmClusters::Factory slurm;
    Services::Ask ask = {};
    const void* settings = nullptr;       // for World::Settings; outlives the engine
    std::vector<std::string> namespaces;  // custom resources are looked for in these only; empty: everywhere
    // What users are told: to become an Event on the object, whose uid is given.
    std::function<void(const kube::Resource& resource, const kube::Key& key, const std::string& uid, Notice notice)>
        tell;
    net::Metrics* metrics = nullptr;  // engine_metrics.h
    Duration look_every = 5min;
    Duration decide_limit = 1s;  // the slowest text that is accepted takes a twentieth of it (docs/performance.md)
    // What this thread has had of the processor so far, by which decide_limit is measured: a process that was frozen, or
    // has to share, is no reason to leave a key alone. Absent: the loop's time.
    std::function<Duration()> spent = {};
    // For who judges its writes: between the two calls the action's guards are proven and its writes sent.
    std::function<void(const Key& key, const Action& action)> started = {}, ended = {};
  };

  Engine(async::Loop& loop, kube::Client& client, Options options);
  ~Engine() override;

  // Before Run: add every kind that a Decide reads, then the reconcilers.
  Stores& stores() { return stores_; }
  void Add(Reconciler reconciler);

  // Watches until Stop; decides and acts as long as may_write says so. Who waits for a lease runs it already: once it
  // leads, it knows everything.
  async::Task<void> Run();

  // may_write has become true.
  void Lead() { idle_.Cancel(); }

  // Ends Run and everything in flight. Nothing is begun any more; what has begun may end within `patience`, and is
  // cancelled then. A call that was cancelled may have had its effect.
  async::Task<void> Stop(Duration patience = Duration(0));

  // Every watched kind has been listed; for readiness.
  bool Synced() const { return watches_.Synced(); }
  // What has not, and why, in words, ten of them by name; "" when Synced.
  std::string Unlisted() const;

  // Nothing is in flight and no key is ready to be decided; for tests and the simulator.
  bool Idle() const { return executor_.in_flight() == 0 && queue_.ready() == 0 && queue_.in_flight() == 0; }

  // How many keys it keeps anything of: those whose object is there, or that have something left to do or to wait for.
  size_t keys() const { return states_.size(); }
  // How many objects and statuses it remembers to have applied: those that are wanted, and some for each owner that it
  // no longer wants.
  size_t applied() const { return memo_.size(); }
  uint64_t decides() const { return decides_; }
  // What is known of a Slurm cluster at this moment.
  SlurmLook LookAt(const std::string& cluster) const { return clusters_.Look(cluster); }
  uint64_t actions() const { return executor_.started(); }

 private:
  struct State;

  // kube::StoreListener
  void OnChange(const kube::AnyStore& store, const kube::Change& change) override;
  void OnListed(const kube::AnyStore& store) override;
  void OnServed(const kube::AnyStore& store) override;
  void OnSuspect(const kube::AnyStore& store) override;

  State& StateOf(const Key& key);
  void Forget(const State& state);
  void Wake(Read read);
  void WakeKey(const State& state, kube::Priority priority);
  void SlurmChanged(const std::string& cluster, const std::vector<std::string>& nodes);
  void ActionEnded(const Key& key, const Action& action, const Result<void>& result, Duration took);

  uint64_t GroupOf(WakeIndex::KeyNumber number) const;
  async::Task<void> Watchdog();
  void Sample();
  void SayWhatIsNotListed();
  void LeaveNamespaces(const std::vector<Executor::Running>& running);
  async::Task<void> DecideLoop();
  bool MayDecide() const;
  bool DecideNext();
  bool DecideOne(State& state);
  bool Carry(State& state, const World& world, Plan plan);
  void Threw(State& state, const World& world, const std::string& what);
  void TookTooLong(State& state, const World& world, Duration took);
  Duration Spent() const { return options_.spent ? options_.spent() : loop_.Now().time_since_epoch(); }
  void NoteObject(State& state, const json::ObjectMeta* object);
  World::Parts PartsFor(const State& state) const;
  std::vector<Action> Resolve(const Reconciler& reconciler, const json::ObjectMeta* object, Plan& plan) const;
  void NoteChildren(const World& world, const Reconciler& reconciler, const json::ObjectMeta* object,
                    const Plan& plan) const;
  void ForgetUnwanted(const std::string& owner, const std::vector<Action>& actions,
                      const std::optional<Action>& status);
  void AddPrunes(const Reconciler& reconciler, const json::ObjectMeta& object, const Plan& plan,
                 std::vector<Action>& actions) const;
  void FollowSlurm(State& state, const Plan& plan);
  void HandOver(const Plan& plan);
  const Reconciler& ReconcilerOf(const Key& key) const;
  bool IsGroup(const Key& key) const { return !ReconcilerOf(key).index.empty(); }
  bool HasMembers(const Key& group) const;
  static Key GroupKey(const Reconciler& reconciler, std::string_view value);
  const json::ObjectMeta* ObjectOf(const Key& key) const;
  void Tell(const Key& key, Notice notice) const;

  async::Loop& loop_;
  Options options_;
  Random random_;
  Stores stores_;
  AppliedMemo memo_;
  SlurmClusters clusters_;
  Services services_;
  Watches watches_;
  Asker asker_;
  Executor executor_;
  std::vector<Reconciler> reconcilers_;
  std::unordered_map<Key, std::unique_ptr<State>> states_;
  std::vector<State*> numbered_;  // by WakeIndex::KeyNumber; nullptr: free
  std::vector<WakeIndex::KeyNumber> free_numbers_;
  WakeIndex index_;
  kube::Queue<WakeIndex::KeyNumber> queue_;
  async::Timer idle_;
  async::TaskGroup group_;
  EngineMetrics metrics_;
  uint64_t decides_ = 0;
  Duration spent_before_{0};  // when this turn of Decides began
  Duration unsynced_for_{0};
  bool stopping_ = false;
};

}  // namespace capstan::plan
