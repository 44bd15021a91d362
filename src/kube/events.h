// Tells users what happened to their objects: events.k8s.io/v1, as `kubectl describe` shows them.
//
//   Recorder recorder(loop, client, {.controller = "capstan-operator", .instance = host});
//   group.Spawn("events", recorder.Run());
//   recorder.Record({.regarding = ref, .reason = "ScalingDown", .action = "Delete", .note = "w-3 is idle"});
//
// Record never waits and never fails: it puts the event into a bounded queue, and what does not fit is
// counted and lost. So is what the server refuses; the log says why, once each time that begins. The same event again within six minutes becomes a series: its count goes up, first at
// once, then in growing steps, so that a loop costs a few writes an hour. Different events of one object are
// limited by a token bucket (25 at once, one more every minute): a broken object cannot flood etcd. Names are
// derived from content and time, so that a repeated create meets its own event.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "async/event.h"
#include "async/loop.h"
#include "async/task.h"
#include "kube/client.h"

namespace capstan::kube {

// The object that an event is about.
struct ObjectRef {
  std::string api_version;
  std::string kind;
  Key key;
  std::string uid;
  auto operator<=>(const ObjectRef&) const = default;
};

struct EventRecord {
  ObjectRef regarding;
  bool warning = false;
  std::string reason;  // CamelCase, for machines: "ScalingDown"; not empty, cut at 128 bytes
  std::string action;  // CamelCase, what was done: "Delete"; not empty, cut at 128 bytes
  std::string note;    // one sentence for people; cut at 1,024 bytes
  auto operator<=>(const EventRecord&) const = default;
};

class Recorder {
 public:
  struct Options {
    std::string controller;  // who reports: "capstan-operator"
    std::string instance;    // which of them: the pod's name; cut at 128 bytes
    size_t queue = 1000;
    size_t series = 4000;  // how many recent events are remembered
    int burst = 25;
    Duration refill = 1min;
    Duration window = 6min;
  };
  // REQUIRES: loop and client outlive it.
  Recorder(async::Loop& loop, Client& client, Options options);

  void Record(EventRecord event);

  // Sends what is recorded, until cancelled. What is still queued then is lost.
  async::Task<void> Run();

  struct Counts {
    uint64_t sent = 0;
    uint64_t dropped_full = 0;    // the queue was full
    uint64_t dropped_flood = 0;   // the object's bucket was empty
    uint64_t dropped_failed = 0;  // refused by the server, or it could not be reached for long
    size_t queued = 0;
  };
  Counts counts() const;

 private:
  // What is known of one event that happened lately.
  struct Series {
    ObjectRef regarding;
    std::string name;
    Time first{};
    Time last{};
    Tick last_tick{};
    int64_t count = 1;
    int64_t sent_count = 0;  // 0: not created yet
    Tick send_at{};          // when a changed count may be sent
    Duration step{0};
    bool queued = false;
  };
  struct Bucket {
    double tokens;
    Tick at;
  };
  using Place = std::map<EventRecord, Series>::iterator;

  bool TakeToken(const ObjectRef& object, Tick now);
  void Enqueue(Place place);
  void QueueRepeats(Tick now);
  bool Over(const Series& series, Tick now) const;
  void Forget(Tick now);
  async::Task<void> Send(Place place);
  async::Task<Result<void>> SendOnce(EventRecord event, Series series);
  std::string EventJson(const EventRecord& event, const Series& series) const;

  async::Loop& loop_;
  Client& client_;
  Options options_;
  std::map<EventRecord, Series> series_;
  std::map<ObjectRef, Bucket> buckets_;
  std::deque<Place> queue_;
  async::Event wake_;
  Tick forget_at_{};
  Tick next_repeat_ = Tick::max();  // no count that has grown may be told before
  bool failing_ = false;
  Counts counts_;
};

}  // namespace capstan::kube
