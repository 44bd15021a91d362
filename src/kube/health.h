// What /healthz and /readyz say.
//
//   live   the event loop turns: it has not stood still for half a minute. The kubelet starts anew what is not.
//   ready  it turns now, and every watched kind has been listed; if not, the answer names those that have not. A process
//          that waits for the lease is ready too: it could lead at once.
//
// Beat is the loop's; the questions may come from any thread, and need nothing that a stuck loop could hold.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "base/time.h"

namespace capstan::kube {

class Health {
 public:
  static constexpr Duration kStillForLiveness = 30s;
  static constexpr Duration kStillForReadiness = 5s;

  explicit Health(std::function<Tick()> now = [] { return Tick(std::chrono::steady_clock::now()); });

  // The loop has had a turn. `unlisted`: which watched kinds have not been listed and why, in words; empty: none.
  void Beat(std::string unlisted);

  bool Ready() const { return WhyNotReady().empty(); }
  // "" when it is so; otherwise a sentence.
  std::string WhyNotLive() const { return WhyStill(kStillForLiveness); }
  std::string WhyNotReady() const;

 private:
  std::string WhyStill(Duration longer_than) const;

  std::function<Tick()> now_;
  std::atomic<Duration::rep> beat_;
  std::atomic<std::shared_ptr<const std::string>> unlisted_;
};

}  // namespace capstan::kube
