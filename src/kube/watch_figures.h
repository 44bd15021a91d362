// How one watch is doing, as metrics. Internal to watch.cc; watch.h lists the names.
#pragma once

#include <array>
#include <string_view>

#include "kube/watch_state.h"
#include "net/metrics.h"

namespace capstan::kube {

// Watches of one resource share their instruments.
class WatchFigures {
 public:
  // Counts a watch that is listing. REQUIRES: `metrics` outlives it.
  WatchFigures(net::Metrics& metrics, std::string_view resource);
  ~WatchFigures();
  WatchFigures(const WatchFigures&) = delete;
  WatchFigures& operator=(const WatchFigures&) = delete;

  // Adds what has happened since the last call.
  void Show(const WatchStatus& status);

 private:
  static constexpr std::array kPhases{WatchStatus::Phase::kListing, WatchStatus::Phase::kLive,
                                      WatchStatus::Phase::kRetrying, WatchStatus::Phase::kForbidden,
                                      WatchStatus::Phase::kNotServed};

  // A count that a WatchStatus keeps, and how much of it has been shown.
  struct Count {
    uint64_t WatchStatus::* of;
    net::Counter* counter;
    uint64_t shown = 0;
  };

  WatchStatus::Phase phase_ = WatchStatus::Phase::kListing;
  std::array<net::Gauge*, kPhases.size()> in_phase_;
  std::array<Count, 5> counts_;
};

}  // namespace capstan::kube
