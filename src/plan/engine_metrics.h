// What the engine shows of itself, under the names that users of controller-runtime chart.
//
// Two things of theirs are apart here, and the names follow the work: a reconcile is one Decide, which takes
// microseconds and waits for nothing; the queue's work is the actions that it starts, each with its guards and calls.
//
//   workqueue_{depth,adds_total,queue_duration_seconds}       keys that wait to be decided
//   workqueue_{work_duration,unfinished_work,longest_running_processor}_seconds, workqueue_retries_total
//                                                             actions
//   controller_runtime_reconcile_{total,time_seconds}         Decides; result is error while an action has failed
//   controller_runtime_reconcile_panics_total                 Decides that ended by an exception
//   controller_runtime_reconcile_timeouts_total               Decides that took too long
//   controller_runtime_reconcile_errors_total                 actions that failed
//   controller_runtime_{active_workers,max_concurrent_reconciles}   actions under way, and how many may be
//
// All are labelled with the reconciler. Without a registry nothing is counted. Thread: the loop's.
#pragma once

#include <map>
#include <string>

#include "base/time.h"
#include "net/metrics.h"
#include "plan/executor.h"

namespace capstan::plan {

class EngineMetrics {
 public:
  explicit EngineMetrics(net::Metrics* metrics) : metrics_(metrics) {}

  void AddReconciler(const std::string& kind);

  void Wanted(const std::string& kind);
  // A Decide of a key that had waited for its turn.
  void Decided(const std::string& kind, Duration waited, Duration took, bool any_failed);
  // A Decide that ended by an exception.
  void Threw(const std::string& kind);
  // A Decide that took longer than one may.
  void TookTooLong(const std::string& kind);
  void Ended(const std::string& kind, Duration took, bool failed);

  // The state of the moment, by reconciler: keys ready to be decided, and what the Executor runs.
  void Sample(const std::map<std::string, size_t>& ready, const std::vector<Executor::Running>& running);

 private:
  struct Instruments {
    net::Gauge* depth;
    net::Counter* adds;
    net::Histogram* queue_seconds;
    net::Histogram* work_seconds;
    net::Gauge* unfinished;
    net::Gauge* longest;
    net::Counter* retries;
    net::Counter* decided_well;
    net::Counter* decided_failing;
    net::Counter* errors;
    net::Counter* panics;
    net::Counter* timeouts;
    net::Histogram* decide_seconds;
    net::Gauge* active;
  };
  net::Metrics* metrics_;
  std::map<std::string, Instruments> instruments_;
};

}  // namespace capstan::plan
