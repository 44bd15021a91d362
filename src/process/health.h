// What /healthz and /readyz say.
//
//   live   the event loop turns: it has not stood still for half a minute. The kubelet starts anew what is not.
//   ready  it turns now, and nothing is left to wait for, such as a watched kind that has not been listed; if not, the
//          answer names what. A process that waits for the lease is ready too: it could lead at once.
//
// Beat is the loop's; the questions may come from any thread. What they share with a stuck loop is a lock that is held
// for the copying of a text and nothing else.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>

#include "base/time.h"

namespace capstan::process {

class Health {
 public:
  static constexpr Duration kStillForLiveness = 30s;
  static constexpr Duration kStillForReadiness = 5s;

  explicit Health(std::function<Tick()> now = [] { return Tick(std::chrono::steady_clock::now()); });

  // The loop has had a turn. `waiting`: what readiness waits for, in words; empty: for nothing.
  void Beat(std::string waiting);

  bool Ready() const { return WhyNotReady().empty(); }
  // "" when it is so; otherwise a sentence.
  std::string WhyNotLive() const { return WhyStill(kStillForLiveness); }
  std::string WhyNotReady() const;

 private:
  std::string WhyStill(Duration longer_than) const;

  std::function<Tick()> now_;
  std::atomic<Duration::rep> beat_;
  mutable std::mutex mutex_;
  std::string waiting_ = "the event loop has not had a turn yet";  // under mutex_
};

}  // namespace capstan::process
