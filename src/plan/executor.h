// Runs what Plans want: proves guards, calls, keeps the ledger, tells.
//
// Each Submit replaces what was wanted of a key before. What has started runs to its end; what has not is dropped. An
// action starts when nothing it comes after is left to do, its back-off is over, nothing else is in flight on its
// target, its lane and its key have room, and we hold the lease. While several keys want a lane that is full, none has
// more than its share of it. A destructive one also needs stores that can be
// trusted. The status comes last: it waits while other actions of the key are on their way, at most a second, so that a
// wave of changes is reported once.
//
// One writer: an exclusive action (an apply) of a target that another key keeps is refused with kAlreadyExists, which
// names that key. A key keeps what it is applying or has applied for as long as it wants it and its object is there.
//
// An exception that leaves a guard or an effect is a failure (kInternal) of that action, and of nothing else.
//
// Every end of an action is a log line, a metric and, where the action says so, an Event; and it wakes the key. A failure
// that does not pass by itself (NeedsSomebody) is always an Event.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "async/task_group.h"
#include "base/random.h"
#include "plan/action.h"
#include "plan/key.h"
#include "plan/ledger.h"
#include "plan/services.h"
#include "plan/waiting_line.h"

namespace capstan::plan {

// What the user of an object is told, as an Event on it.
struct Notice {
  bool warning = false;
  std::string reason;                     // "ScalingDown"
  std::string action;                     // "Delete"
  std::string note;                       // what was done to what, and why; or what went wrong
  std::optional<EventObject> about = {};  // instead of the key's object
};

class Executor {
 public:
  static constexpr size_t kWaveLimit = 250;

  struct Options {
    std::function<bool()> may_write;                                    // the lease is held
    std::function<bool()> may_destroy;                                  // the stores can be trusted
    std::function<void(const Key& key, const Action& action)> started;  // before its guards are proven
    // After the ledger has been written.
    std::function<void(const Key& key, const Action& action, const Result<void>& result, Duration took)> ended;
    std::function<void(const Key& key)> room;  // a lane that had none for this key may have some: submit again
    std::function<void(const Key& key, Notice notice)> tell;
    uint64_t seed = 1;
    size_t lane_limit = 64;          // actions in flight per lane
    size_t wave_limit = kWaveLimit;  // actions in flight per key
    Duration action_limit = 30s;
    Duration status_patience = 1s;
  };
  Executor(Services& services, Options options);
  ~Executor();

  // Wants exactly these of `key`. `status` is the key's status write, if any. Returns when the key must be looked at
  // again for something that no event will tell (a back-off's end, the status's patience); nullopt: never.
  std::optional<Tick> Submit(const Key& key, std::vector<Action> actions, std::optional<Action> status);

  // Targets of the key's actions that have started and not ended.
  std::set<std::string> TargetsInFlight(const Key& key) const;

  // What became of the key's actions.
  const Ledger& ledger(const Key& key) const;

  // What failed, as far as a status may speak of it: all but the write of the status itself. (A status that told of its
  // own failure would be another one each time, and no back-off would ever grow.)
  std::vector<Failure> Failures(const Key& key) const;

  // Forgets a key whose object is gone. What is in flight ends by itself.
  void Forget(const Key& key);

  // What has started and not ended, the oldest first.
  struct Running {
    Key key;
    std::string verb;
    std::string target;
    Duration age;
  };
  std::vector<Running> running() const;

  size_t in_flight() const { return group_.size(); }
  uint64_t started() const { return started_; }

  // Cancels what is in flight and returns when it has ended.
  async::Task<void> Stop();

 private:
  struct Record {
    struct Started {
      std::string verb;
      Tick at;
    };
    Ledger ledger;
    std::map<std::string, Started> targets;          // of what is in flight
    std::optional<Tick> status_wanted;               // since when a status write has been wanted
    std::string status_target;                       // of the last status write that was wanted
    std::unordered_map<std::string, uint64_t> kept;  // targets that it keeps, with the last Submit that wanted them
    uint64_t submits = 0;
  };
  // An action that is wanted, and what tells it from others.
  struct Wanted {
    Action action;
    ActionId id;
    std::string target;
    bool left = true;  // to be done
  };
  struct LaneState {
    size_t in_flight = 0;
    std::unordered_map<Key, size_t> by_key;
    WaitingLine waiting;  // wanted more than there was room for
  };

  Wanted Identified(Action action) const;
  bool MayStart(const Key& key, const Record& record, const Wanted& wanted, uint64_t seen);
  bool HasRoom(const Key& key, LaneState& lane) const;
  void LeaveLane(const Key& key, const Lane& name);
  void StartIfPossible(const Key& key, Record& record, Wanted wanted);
  void Start(const Key& key, Record& record, Wanted wanted, uint64_t seen);
  std::optional<Tick> SubmitStatus(const Key& key, Record& record, Wanted status);
  async::Task<void> Run(Key key, Action action);
  async::Task<Result<void>> Perform(const Key& key, const Action& action, async::Deadline deadline);
  async::Task<Result<void>> RunAlone(const Key& key, const Action& action, async::Deadline deadline);
  void LetGo(Record& record);
  void Ended(const Key& key, const Action& action, const Result<void>& result, Duration took);
  void Tell(const Key& key, const Action& action, const Result<void>& result);

  Services& services_;
  Options options_;
  Random random_;
  std::unordered_map<Key, Record> records_;
  std::unordered_map<std::string, Key> keepers_;  // by target
  std::map<Lane, LaneState> lanes_;
  async::TaskGroup group_;
  uint64_t started_ = 0;
};

}  // namespace capstan::plan
