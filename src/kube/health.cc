#include "kube/health.h"

namespace capstan::kube {

Health::Health(std::function<Tick()> now) : now_(std::move(now)), beat_(now_().time_since_epoch().count()) {}

void Health::Beat(bool synced) {
  beat_.store(now_().time_since_epoch().count(), std::memory_order_relaxed);
  synced_.store(synced, std::memory_order_relaxed);
}

std::string Health::WhyStill(Duration longer_than) const {
  const Duration still = now_().time_since_epoch() - Duration(beat_.load(std::memory_order_relaxed));
  return still > longer_than ? "the event loop has stood still for " + FormatDuration(still) : "";
}

std::string Health::WhyNotReady() const {
  if (std::string still = WhyStill(kStillForReadiness); !still.empty()) return still;
  return synced_.load(std::memory_order_relaxed) ? "" : "not every watched kind has been listed yet";
}

}  // namespace capstan::kube
