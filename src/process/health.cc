#include "process/health.h"

namespace capstan::process {

Health::Health(std::function<Tick()> now) : now_(std::move(now)), beat_(now_().time_since_epoch().count()) {}

void Health::Beat(std::string waiting) {
  beat_.store(now_().time_since_epoch().count(), std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  waiting_.swap(waiting);
}

std::string Health::WhyStill(Duration longer_than) const {
  const Duration still = now_().time_since_epoch() - Duration(beat_.load(std::memory_order_relaxed));
  return still > longer_than ? "the event loop has stood still for " + FormatDuration(still) : "";
}

std::string Health::WhyNotReady() const {
  if (std::string still = WhyStill(kStillForReadiness); !still.empty()) return still;
  const std::lock_guard lock(mutex_);
  return waiting_;
}

}  // namespace capstan::process
