#include "plan/engine_metrics.h"

#include <algorithm>

namespace capstan::plan {
namespace {

// A Decide takes microseconds; what takes long is a call.
std::vector<double> DecideBounds() { return {0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 1}; }

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

void EngineMetrics::AddReconciler(const std::string& kind) {
  if (metrics_ == nullptr) return;
  net::Metrics& m = *metrics_;
  const net::Labels queue{{"name", kind}, {"controller", kind}};
  const net::Labels controller{{"controller", kind}};
  const auto reconciles = [&](std::string result) {
    return &m.AddCounter("controller_runtime_reconcile_total", "Decides, by whether an action of the key has failed",
                         {{"controller", kind}, {"result", std::move(result)}});
  };
  instruments_[kind] = {
      .depth = &m.AddGauge("workqueue_depth", "Keys ready to be decided", queue),
      .adds = &m.AddCounter("workqueue_adds_total", "Looks wanted so far", queue),
      .queue_seconds = &m.AddHistogram("workqueue_queue_duration_seconds", "How long a key waited for its turn",
                                       net::Metrics::LatencyBounds(), queue),
      .work_seconds = &m.AddHistogram("workqueue_work_duration_seconds", "How long an action took, guards included",
                                      net::Metrics::LatencyBounds(), queue),
      .unfinished = &m.AddGauge("workqueue_unfinished_work_seconds", "Age of all actions under way, added up", queue),
      .longest =
          &m.AddGauge("workqueue_longest_running_processor_seconds", "Age of the oldest action under way", queue),
      .retries = &m.AddCounter("workqueue_retries_total", "Failed actions, each to be tried again", queue),
      .decided_well = reconciles("success"),
      .decided_failing = reconciles("error"),
      .errors = &m.AddCounter("controller_runtime_reconcile_errors_total", "Actions that did not work out", controller),
      .panics =
          &m.AddCounter("controller_runtime_reconcile_panics_total", "Decides that ended by an exception", controller),
      .timeouts =
          &m.AddCounter("controller_runtime_reconcile_timeouts_total", "Decides that took too long", controller),
      .decide_seconds = &m.AddHistogram("controller_runtime_reconcile_time_seconds", "How long a Decide took",
                                        DecideBounds(), controller),
      .active = &m.AddGauge("controller_runtime_active_workers", "Actions under way", controller),
  };
  m.AddGauge("controller_runtime_max_concurrent_reconciles", "Actions of one key that may be under way", controller)
      .Set(double(Executor::kWaveLimit));
}

void EngineMetrics::Wanted(const std::string& kind) {
  const auto found = instruments_.find(kind);
  if (found != instruments_.end()) found->second.adds->Add();
}

void EngineMetrics::Decided(const std::string& kind, Duration waited, Duration took, bool any_failed) {
  const auto found = instruments_.find(kind);
  if (found == instruments_.end()) return;
  found->second.queue_seconds->Observe(waited);
  found->second.decide_seconds->Observe(took);
  (any_failed ? found->second.decided_failing : found->second.decided_well)->Add();
}

void EngineMetrics::Threw(const std::string& kind) {
  const auto found = instruments_.find(kind);
  if (found != instruments_.end()) found->second.panics->Add();
}

void EngineMetrics::TookTooLong(const std::string& kind) {
  const auto found = instruments_.find(kind);
  if (found != instruments_.end()) found->second.timeouts->Add();
}

void EngineMetrics::Ended(const std::string& kind, Duration took, bool failed) {
  const auto found = instruments_.find(kind);
  if (found == instruments_.end()) return;
  found->second.work_seconds->Observe(took);
  if (!failed) return;
  found->second.errors->Add();
  found->second.retries->Add();
}

void EngineMetrics::Sample(const std::map<std::string, size_t>& ready, const std::vector<Executor::Running>& running) {
  for (auto& [kind, instruments] : instruments_) {
    Duration total{0}, longest{0};
    size_t active = 0;
    for (const Executor::Running& one : running) {
      if (one.key.kind != kind) continue;
      ++active;
      total += one.age;
      longest = std::max(longest, one.age);
    }
    const auto waiting = ready.find(kind);
    instruments.depth->Set(waiting == ready.end() ? 0 : double(waiting->second));
    instruments.unfinished->Set(Seconds(total));
    instruments.longest->Set(Seconds(longest));
    instruments.active->Set(double(active));
  }
}

}  // namespace capstan::plan
