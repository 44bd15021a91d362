// Leader election over a coordination.k8s.io Lease: of many processes, one may write.
//
//   Lease lease(loop, client, {.key = {"slinky", "slurm-operator"}, .identity = host + "_" + random});
//   group.Spawn("lease", lease.Run([&] { StartWork(); }, [&](std::string why) { Exit(why); }));
//   if (lease.MayWrite(loop.Now())) ...              // before every write
//   co_await StopWork();
//   co_await lease.Release(loop.After(3s));          // the next one goes on within a second
//
// What is promised, as long as the clocks of two machines run at about the same rate:
// - A holder starts no write later than `renew_deadline` (9 s) after it *sent* the last renewal that was accepted.
// - Nobody takes the Lease over before it has stood unchanged for its `duration` (13 s) by the taker's own monotonic
//   clock. Wall clocks only decorate the record. A record that was deleted counts as changed at the moment when that is
//   seen. (Who starts and finds none cannot know of one: do not delete it while operators start.)
// - Somebody takes over 15 s after a crash at the latest: the others look every 0.7 s and know when its time is over.
// The difference, 4 s, is for writes that have started to arrive. A process that was frozen finds MayWrite false when it
// wakes; fence.h sees to it that what it was about to send stays unsent. (A machine suspended together with its
// monotonic clock is out of reach.)
//
// A Lease once lost is not taken again: whoever was too late to renew does not know what happened meanwhile, and begins
// anew as a process. Fields of the record that others put there are kept. The record is compatible with client-go's.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "async/event.h"
#include "async/loop.h"
#include "async/task.h"
#include "base/random.h"
#include "json/object_meta.h"
#include "kube/client.h"

namespace capstan::kube {

// The Lease object, as far as election reads it.
struct LeaseRecord {
  struct Spec {
    std::string holder;  // "": nobody
    int64_t duration_seconds = 0;
    std::string acquire_time;
    std::string renew_time;
    int64_t transitions = 0;
    static const json::Schema& Schema();
  };
  json::ObjectMeta metadata;
  Spec spec;
  static const json::Schema& Schema();
};

class Lease {
 public:
  struct Options {
    Key key;
    std::string identity;  // of this process; another one at each start
    Duration duration = 13s;
    Duration renew_deadline = 9s;
    Duration retry = 2s;    // between renewals; an eighth of it after one that failed
    Duration poll = 700ms;  // between looks while another one holds it
    uint64_t seed = 1;
  };
  // REQUIRES: loop and client outlive it; renew_deadline < duration.
  Lease(async::Loop& loop, Client& client, Options options);

  // Waits for the Lease, calls `acquired`, and keeps renewing. Calls `lost` with the reason when it could not
  // renew in time or another one holds it, and returns; returns without a call after Release. Errors on the
  // way are logged once each time they begin.
  async::Task<void> Run(std::function<void()> acquired, std::function<void(std::string)> lost);

  // May a write start at `now`? False before the Lease is ours, after it is lost, and from Release on.
  bool MayWrite(Tick now) const { return held_ && now < good_until_; }

  // Until when that holds, as known now; the past while the Lease is not ours.
  Tick good_until() const { return held_ ? good_until_ : Tick::min(); }

  bool held() const { return held_; }
  const std::string& holder() const { return holder_; }  // as last read; "" when nobody

  // Ends Run and, when the Lease is ours, gives it up for the next one to take at once. kDeadline and others:
  // it was not given up, and runs out by itself.
  async::Task<Result<void>> Release(async::Deadline deadline);

 private:
  enum class Renewal : uint8_t { kDone, kAgain, kTaken };

  async::Task<bool> TryAcquire();
  async::Task<Renewal> Renew();
  async::Task<Result<LeaseRecord>> Read(async::Deadline deadline);
  async::Task<Result<LeaseRecord>> Write(std::optional<LeaseRecord> before, bool give_up, async::Deadline deadline);
  bool MayTake(const LeaseRecord& record);
  bool MayCreate();
  std::string RecordJson(const std::optional<LeaseRecord>& before, bool give_up) const;
  void Note(const Error* error);

  async::Loop& loop_;
  Client& client_;
  Options options_;
  Random random_;
  bool held_ = false;
  Tick good_until_{};
  std::string holder_;
  std::optional<LeaseRecord> known_;  // as last read or written; nullopt when in doubt
  std::string seen_version_;          // of another's record, and since when it has stood unchanged
  Tick seen_since_{};
  Duration seen_duration_{0};  // for which its holder had it; 0: nobody held it
  Tick free_at_{};             // when it will have stood long enough
  async::Event releasing_;
  async::Event ended_;
  bool running_ = false;
  bool failing_ = false;
};

}  // namespace capstan::kube
