#include "net/metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>

namespace capstan::net {
namespace {

std::string Number(double value) {
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return std::string(text, end);
}

std::string Escaped(std::string_view text, bool quotes) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\\\";
    else if (c == '\n')
      out += "\\n";
    else if (c == '"' && quotes)
      out += "\\\"";
    else
      out += c;
  }
  return out;
}

std::string Rendered(const Labels& labels) {
  std::string out;
  for (const auto& [name, value] : labels) {
    if (!out.empty()) out += ',';
    out.append(name).append("=\"").append(EscapedLabel(value)).append("\"");
  }
  return out;
}

void Line(std::string& out, std::string_view name, std::string_view suffix, std::string_view labels, double value,
          std::string_view more = {}) {
  out.append(name).append(suffix);
  if (!labels.empty() || !more.empty()) {
    out.append("{").append(labels).append(labels.empty() || more.empty() ? "" : ",").append(more).append("}");
  }
  out.append(" ").append(Number(value)).append("\n");
}

void Show(std::string& out, std::string_view name, std::string_view labels, const Histogram& histogram) {
  uint64_t total = 0;
  for (size_t i = 0; i <= histogram.bounds().size(); ++i) {
    total += histogram.count(i);
    const double bound =
        i < histogram.bounds().size() ? histogram.bounds()[i] : std::numeric_limits<double>::infinity();
    Line(out, name, "_bucket", labels, double(total), "le=\"" + Number(bound) + "\"");
  }
  Line(out, name, "_sum", labels, histogram.sum());
  Line(out, name, "_count", labels, double(total));
}

// Field number `index` (from 1, as in proc(5)) of /proc/self/stat. The program's name is skipped: it may hold
// blanks.
double StatField(int index) {
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const char* at = text.c_str() + std::min(text.rfind(')') + 2, text.size());
  for (int i = 3; i < index && *at; ++at) i += *at == ' ';
  return std::strtod(at, nullptr);
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + double(t.tv_usec) / 1e6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double OpenFiles() {
  DIR* const folder = opendir("/proc/self/fd");
  if (!folder) return 0;
  double count = -3;  // ".", "..", and the folder itself
  while (readdir(folder)) ++count;
  closedir(folder);
  return count;
}

double MaxFiles() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? std::numeric_limits<double>::infinity() : double(limit.rlim_cur);
}

double StartTime() {
  std::ifstream file("/proc/stat");
  std::string word;
  double boot = 0;
  while (file >> word) {
    if (word == "btime" && file >> boot) break;
  }
  return boot + StatField(22) / double(sysconf(_SC_CLK_TCK));
}

}  // namespace

std::string EscapedLabel(std::string_view value) { return Escaped(value, true); }

Histogram::Histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)), counts_(new std::atomic<uint64_t>[bounds_.size() + 1]()) {
  assert(std::ranges::is_sorted(bounds_));
}

void Histogram::Observe(double value) {
  const size_t bucket = size_t(std::ranges::lower_bound(bounds_, value) - bounds_.begin());
  counts_[bucket].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

Metrics::Instrument& Metrics::Find(std::string_view name, std::string_view type, std::string_view help,
                                   const Labels& labels) {
  auto family = families_.find(name);
  if (family == families_.end()) {
    family = families_.emplace(std::string(name), Family{type, std::string(help), {}}).first;
  }
  assert(family->second.type == type && "one name has one type");
  const std::string rendered = Rendered(labels);
  auto& instruments = family->second.instruments;
  const auto found = std::ranges::find_if(instruments, [&](const auto& i) { return i->labels == rendered; });
  if (found != instruments.end()) return **found;
  instruments.push_back(std::make_unique<Instrument>());
  instruments.back()->labels = rendered;
  return *instruments.back();
}

Counter& Metrics::AddCounter(std::string_view name, std::string_view help, Labels labels) {
  const std::lock_guard lock(mutex_);
  Instrument& instrument = Find(name, "counter", help, labels);
  if (!instrument.counter) instrument.counter = std::make_unique<Counter>();
  return *instrument.counter;
}

Gauge& Metrics::AddGauge(std::string_view name, std::string_view help, Labels labels) {
  const std::lock_guard lock(mutex_);
  Instrument& instrument = Find(name, "gauge", help, labels);
  if (!instrument.gauge) instrument.gauge = std::make_unique<Gauge>();
  return *instrument.gauge;
}

Histogram& Metrics::AddHistogram(std::string_view name, std::string_view help, std::vector<double> bounds,
                                 Labels labels) {
  const std::lock_guard lock(mutex_);
  Instrument& instrument = Find(name, "histogram", help, labels);
  if (!instrument.histogram) instrument.histogram = std::make_unique<Histogram>(std::move(bounds));
  return *instrument.histogram;
}

void Metrics::AddGauge(std::string_view name, std::string_view help, std::function<double()> read, Labels labels) {
  const std::lock_guard lock(mutex_);
  Find(name, "gauge", help, labels).read = std::move(read);
}

void Metrics::AddProcessFigures() {
  AddGauge("process_resident_memory_bytes", "Resident memory size in bytes.",
           [] { return StatField(24) * double(sysconf(_SC_PAGESIZE)); });
  AddGauge("process_virtual_memory_bytes", "Virtual memory size in bytes.", [] { return StatField(23); });
  AddGauge("process_open_fds", "Number of open file descriptors.", OpenFiles);
  AddGauge("process_max_fds", "Maximum number of open file descriptors.", MaxFiles);
  AddGauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.",
           [start = StartTime()] { return start; });
  const std::lock_guard lock(mutex_);
  Find("process_cpu_seconds_total", "counter", "Total user and system CPU time spent in seconds.", {}).read =
      CpuSeconds;
}

std::string Metrics::Exposition() const {
  const std::lock_guard lock(mutex_);
  std::string out;
  for (const auto& [name, family] : families_) {
    out.append("# HELP ").append(name).append(" ").append(Escaped(family.help, false)).append("\n");
    out.append("# TYPE ").append(name).append(" ").append(family.type).append("\n");
    for (const auto& instrument : family.instruments) {
      if (instrument->counter) Line(out, name, "", instrument->labels, instrument->counter->value());
      if (instrument->gauge) Line(out, name, "", instrument->labels, instrument->gauge->value());
      if (instrument->read) Line(out, name, "", instrument->labels, instrument->read());
      if (instrument->histogram) Show(out, name, instrument->labels, *instrument->histogram);
    }
  }
  return out;
}

std::vector<double> Metrics::LatencyBounds() {
  return {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
}

}  // namespace capstan::net
