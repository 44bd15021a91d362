// Which keys to look at next: a work queue with one place per key.
//
//   Queue<ObjectKey> queue;
//   queue.Add(key, Priority::kFresh, now);           // however often, it is handed out once
//   while (auto key = queue.Take(now)) {
//     ... decide ...
//     queue.WakeAt(*key, now + 5min);                // at the latest
//     queue.Done(*key, now, /*rest=*/20ms);
//   }
//   timer.WaitUntil(queue.Next().value_or(Tick::max()));
//
// One place  a key that waits, is ready or is in flight is not queued again; the earliest wake-up and the highest
//            priority asked for win.
// In flight  between Take and Done a key is handed to nobody else. What is added meanwhile is kept and comes after
//            Done.
// Rest       after Done a key is not handed out before its rest is over, whatever its priority.
// Order      by priority; within one priority in turn among groups (one cluster's thousand keys do not hold up
//            another's single one); within a group first come, first served.
//
// A pure data structure: it reads no clock, waits for nothing and belongs to one thread. K is copied freely, is ordered
// by < and hashes nowhere. Why a key was queued is not kept, on purpose: who decides must look at the state of the
// world.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/time.h"

namespace capstan::kube {

enum class Priority : uint8_t {
  kUrgent,   // somebody or something waits for exactly this
  kFresh,    // something that the key reads has changed
  kRoutine,  // start-up, the regular look, a wake-up by time
};

template <class K>
class Queue {
 public:
  // `group_of` names the group that a key takes turns in; without it there is one group.
  explicit Queue(std::function<uint64_t(const K&)> group_of = {}) : group_of_(std::move(group_of)) {}

  // Hands `key` out as soon as its rest allows.
  void Add(const K& key, Priority priority, Tick now) { Want(key, now, priority); }

  // Hands `key` out at `at`, or sooner when something else wants it sooner; that look then serves for this
  // one too.
  void WakeAt(const K& key, Tick at, Priority priority = Priority::kRoutine) { Want(key, at, priority); }

  // The next key, now in flight; nullopt when none is ready at `now`.
  std::optional<K> Take(Tick now);

  // Gives back a key from Take. It is not handed out again before `now` + `rest`.
  void Done(const K& key, Tick now, Duration rest);

  // It waits or is ready, or was wanted again while in flight.
  bool Wanted(const K& key) const {
    const auto found = slots_.find(key);
    return found != slots_.end() && found->second.due.has_value();
  }

  // Nothing wants `key` any more. One that is in flight stays so until Done.
  void Forget(const K& key);

  // When Take will have something: the past when it has already, nullopt when never without a further Add.
  std::optional<Tick> Next() const;

  // Keys ready to be taken, keys waiting for their time, keys in flight.
  size_t ready() const { return ready_.size(); }
  size_t waiting() const { return waiting_.size(); }
  size_t in_flight() const { return in_flight_; }
  size_t known() const { return slots_.size(); }  // the above and those that only rest

  // How long the key that Take handed out last had been ready by then.
  Duration waited() const { return waited_; }

  // Calls `visit` with each key that is ready to be taken.
  template <class Visit>
  void ForEachReady(Visit visit) const {
    for (const auto& entry : ready_) visit(*std::get<3>(entry));
  }

 private:
  struct Slot {
    std::optional<Tick> due;  // when it is wanted; nullopt: not
    Priority priority = Priority::kRoutine;
    bool in_flight = false;
    Tick ready_at{};
    Tick rest_until = Tick::min();
    // Its place in waiting_ or in ready_; in at most one of them.
    bool is_waiting = false;
    bool is_ready = false;
    Tick waiting_until{};
    Priority ready_priority = Priority::kRoutine;
    uint64_t turn = 0;
    uint64_t sequence = 0;
  };
  using Place = typename std::map<K, Slot>::iterator;
  struct Turns {
    uint64_t now = 0;                   // of the key that was taken last
    std::map<uint64_t, uint64_t> next;  // group -> the turn of its next key; those not after `now` are dropped
  };

  void Want(const K& key, Tick at, Priority priority);
  void Enqueue(Place place, Tick earliest);
  void Dequeue(Place place);
  void MakeReady(Place place, Tick at);
  void Promote(Tick now);
  void Prune(Tick now);
  uint64_t TakeTurn(const K& key, Priority priority);

  std::function<uint64_t(const K&)> group_of_;
  std::map<K, Slot> slots_;
  std::set<std::tuple<Tick, uint64_t, const K*>> waiting_;
  std::set<std::tuple<Priority, uint64_t, uint64_t, const K*>> ready_;
  std::array<Turns, 3> turns_;
  size_t in_flight_ = 0;
  size_t prune_at_ = 64;
  uint64_t next_sequence_ = 0;
  Duration waited_{0};
};

// ---------------------------------------------------------------------------------------------------------------------

template <class K>
void Queue<K>::Want(const K& key, Tick at, Priority priority) {
  const Place place = slots_.try_emplace(key).first;
  Slot& slot = place->second;
  const Tick due = slot.due ? std::min(*slot.due, at) : at;
  const Priority urgency = slot.due ? std::min(slot.priority, priority) : priority;
  if (slot.due == due && slot.priority == urgency) return;
  slot.due = due;
  const bool same_rank = slot.is_ready && slot.priority == urgency;
  slot.priority = urgency;
  if (slot.in_flight || same_rank) return;
  const bool was_ready = slot.is_ready;
  const Tick ready_at = slot.ready_at;
  Dequeue(place);
  if (was_ready)
    MakeReady(place, ready_at);
  else
    Enqueue(place, due);
}

template <class K>
std::optional<K> Queue<K>::Take(Tick now) {
  Promote(now);
  if (ready_.empty()) return std::nullopt;
  const auto [priority, turn, sequence, key] = *ready_.begin();
  const Place place = slots_.find(*key);
  turns_[size_t(priority)].now = turn;
  Dequeue(place);
  Slot& slot = place->second;
  slot.due.reset();
  slot.priority = Priority::kRoutine;
  slot.in_flight = true;
  waited_ = now - slot.ready_at;
  ++in_flight_;
  return place->first;
}

template <class K>
void Queue<K>::Done(const K& key, Tick now, Duration rest) {
  const Place place = slots_.find(key);
  assert(place != slots_.end() && place->second.in_flight && "Done without Take");
  Slot& slot = place->second;
  slot.in_flight = false;
  slot.rest_until = now + rest;
  --in_flight_;
  if (slot.due) Enqueue(place, *slot.due);
  Prune(now);
}

template <class K>
void Queue<K>::Forget(const K& key) {
  const Place place = slots_.find(key);
  if (place == slots_.end()) return;
  Dequeue(place);
  place->second.due.reset();
  if (!place->second.in_flight) slots_.erase(place);
}

template <class K>
std::optional<Tick> Queue<K>::Next() const {
  if (!ready_.empty()) return Tick::min();
  if (waiting_.empty()) return std::nullopt;
  return std::get<Tick>(*waiting_.begin());
}

template <class K>
void Queue<K>::Enqueue(Place place, Tick earliest) {
  Slot& slot = place->second;
  slot.waiting_until = std::max(earliest, slot.rest_until);
  slot.sequence = next_sequence_++;
  slot.is_waiting = true;
  waiting_.emplace(slot.waiting_until, slot.sequence, &place->first);
}

template <class K>
void Queue<K>::Dequeue(Place place) {
  Slot& slot = place->second;
  if (slot.is_waiting) waiting_.erase({slot.waiting_until, slot.sequence, &place->first});
  if (slot.is_ready) ready_.erase({slot.ready_priority, slot.turn, slot.sequence, &place->first});
  slot.is_waiting = slot.is_ready = false;
}

template <class K>
void Queue<K>::MakeReady(Place place, Tick at) {
  Slot& slot = place->second;
  slot.is_ready = true;
  slot.ready_at = at;
  slot.ready_priority = slot.priority;
  slot.sequence = next_sequence_++;
  slot.turn = TakeTurn(place->first, slot.priority);
  ready_.emplace(slot.priority, slot.turn, slot.sequence, &place->first);
}

template <class K>
void Queue<K>::Promote(Tick now) {
  while (!waiting_.empty() && std::get<Tick>(*waiting_.begin()) <= now) {
    const auto [at, sequence, key] = *waiting_.begin();
    const Place place = slots_.find(*key);
    Dequeue(place);
    MakeReady(place, at);
  }
}

// Start-time fair queueing: a group's next key comes one turn after its last, but a group that was idle
// starts at the turn being served, not in the past.
template <class K>
uint64_t Queue<K>::TakeTurn(const K& key, Priority priority) {
  Turns& turns = turns_[size_t(priority)];
  std::erase_if(turns.next, [&](const auto& group) { return group.second <= turns.now; });
  uint64_t& next = turns.next.try_emplace(group_of_ ? group_of_(key) : 0, turns.now).first->second;
  return next++;
}

// Keys that nobody wants are kept only for their rest, and let go in bulk.
template <class K>
void Queue<K>::Prune(Tick now) {
  if (slots_.size() < prune_at_) return;
  std::erase_if(slots_, [&](const auto& entry) {
    return !entry.second.due && !entry.second.in_flight && entry.second.rest_until <= now;
  });
  prune_at_ = 2 * slots_.size() + 64;
}

}  // namespace capstan::kube
