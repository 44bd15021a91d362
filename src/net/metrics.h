// Counters, gauges and histograms, and their text exposition for Prometheus.
//
// Threads: instruments are changed from any thread without locks (relaxed atomics); making one, and
// Exposition(), take the registry's lock. An instrument lives as long as its registry; keep the reference,
// look it up once.
//
//   Counter& retries = metrics.AddCounter("workqueue_retries_total", "Requeues", {{"name", "nodeset"}});
//   retries.Add();
//
// Names are those that users of controller-runtime already chart, where one exists. There is no client
// library behind this: what Capstan needs of one is these two pages, and prometheus-cpp copies every family
// at each scrape.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace capstan::net {

// Label names and values, in the order in which they are shown.
using Labels = std::vector<std::pair<std::string, std::string>>;

// What stands between the quotes of a label's value in the text format.
std::string EscapedLabel(std::string_view value);

// Only grows.
class Counter {
 public:
  void Add(double amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

class Gauge {
 public:
  void Set(double value) { value_.store(value, std::memory_order_relaxed); }
  void Add(double amount) { value_.fetch_add(amount, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

class Histogram {
 public:
  // REQUIRES: `bounds` ascend. The bucket without an upper bound is added.
  explicit Histogram(std::vector<double> bounds);

  void Observe(double value);
  void Observe(Duration duration) { Observe(std::chrono::duration<double>(duration).count()); }  // in seconds

  const std::vector<double>& bounds() const { return bounds_; }
  uint64_t count(size_t bucket) const { return counts_[bucket].load(std::memory_order_relaxed); }  // not cumulative
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  std::vector<double> bounds_;
  std::unique_ptr<std::atomic<uint64_t>[]> counts_;
  std::atomic<double> sum_{0};
};

class Metrics {
 public:
  Metrics() = default;
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // The instrument of that name and these labels, made when it is not there yet. REQUIRES: one name has one
  // type.
  Counter& AddCounter(std::string_view name, std::string_view help, Labels labels = {});
  Gauge& AddGauge(std::string_view name, std::string_view help, Labels labels = {});
  Histogram& AddHistogram(std::string_view name, std::string_view help, std::vector<double> bounds, Labels labels = {});

  // A gauge that is computed when asked for, on the thread that asks.
  void AddGauge(std::string_view name, std::string_view help, std::function<double()> read, Labels labels = {});

  // process_cpu_seconds_total, process_resident_memory_bytes, process_open_fds and the like, read from /proc.
  void AddProcessFigures();

  // Everything, by name and then in the order of making, in text format 0.0.4.
  std::string Exposition() const;
  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

  // 1 ms to 60 s, for requests and reconciles.
  static std::vector<double> LatencyBounds();

 private:
  struct Instrument {
    std::string labels;  // rendered: `a="b",c="d"`
    std::unique_ptr<Counter> counter;
    std::unique_ptr<Gauge> gauge;
    std::unique_ptr<Histogram> histogram;
    std::function<double()> read;
  };
  struct Family {
    std::string_view type;
    std::string help;
    std::vector<std::unique_ptr<Instrument>> instruments;
  };
  Instrument& Find(std::string_view name, std::string_view type, std::string_view help, const Labels& labels);

  mutable std::mutex mutex_;
  std::map<std::string, Family, std::less<>> families_;
};

}  // namespace capstan::net
