#include "kube/health.h"

namespace capstan::kube {

Health::Health(std::function<Tick()> now)
    : now_(std::move(now)),
      beat_(now_().time_since_epoch().count()),
      unlisted_(std::make_shared<const std::string>("everything that is watched")) {}

void Health::Beat(std::string unlisted) {
  beat_.store(now_().time_since_epoch().count(), std::memory_order_relaxed);
  unlisted_.store(std::make_shared<const std::string>(std::move(unlisted)));
}

std::string Health::WhyStill(Duration longer_than) const {
  const Duration still = now_().time_since_epoch() - Duration(beat_.load(std::memory_order_relaxed));
  return still > longer_than ? "the event loop has stood still for " + FormatDuration(still) : "";
}

std::string Health::WhyNotReady() const {
  if (std::string still = WhyStill(kStillForReadiness); !still.empty()) return still;
  const std::shared_ptr<const std::string> unlisted = unlisted_.load();
  return unlisted->empty() ? "" : "not listed yet: " + *unlisted;
}

}  // namespace capstan::kube
