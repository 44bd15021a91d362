#include "kube/watch_figures.h"

#include <string>

namespace capstan::kube {

WatchFigures::WatchFigures(net::Metrics& metrics, std::string_view resource) {
  const net::Labels labels{{"resource", std::string(resource)}};
  const auto counter = [&](std::string_view what, std::string_view help) {
    return &metrics.AddCounter("capstan_watch_" + std::string(what) + "_total", help, labels);
  };
  counts_ = {{
      {&WatchStatus::events, counter("events", "Events that watches brought, initial ones included")},
      {&WatchStatus::lists, counter("lists", "Complete lists begun")},
      {&WatchStatus::streams, counter("streams", "Watch streams opened")},
      {&WatchStatus::failures, counter("failures", "Watch streams and lists that failed")},
      {&WatchStatus::silences, counter("silences", "Watch streams given up because nothing came")},
  }};
  for (const WatchStatus::Phase phase : kPhases) {
    net::Labels with_phase = labels;
    with_phase.emplace_back("phase", Name(phase));
    in_phase_[size_t(phase)] = &metrics.AddGauge("capstan_watches", "Watches, by phase", std::move(with_phase));
  }
  in_phase_[size_t(phase_)]->Add(1);
}

WatchFigures::~WatchFigures() { in_phase_[size_t(phase_)]->Add(-1); }

void WatchFigures::Show(const WatchStatus& status) {
  for (Count& count : counts_) {
    const uint64_t now = status.*count.of;
    if (now != count.shown) count.counter->Add(double(now - count.shown));
    count.shown = now;
  }
  if (status.phase == phase_) return;
  in_phase_[size_t(phase_)]->Add(-1);
  in_phase_[size_t(status.phase)]->Add(1);
  phase_ = status.phase;
}

}  // namespace capstan::kube
