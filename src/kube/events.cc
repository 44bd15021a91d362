#include "kube/events.h"

#include <algorithm>

#include "async/backoff.h"
#include "async/timer.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"

namespace capstan::kube {
namespace {

constexpr size_t kNoteBytes = 1024;
constexpr size_t kWordBytes = 128;  // of reason, action and instance
constexpr size_t kNameBytes = 230;
constexpr Duration kEventTimeout = 10s;
constexpr int kTries = 4;
constexpr async::Backoff::Limits kWaits{.first = 1s, .cap = 30s, .jitter = 0.0};
constexpr Duration kFirstStep = 10s;
constexpr Duration kLongestStep = 5min;

// At most `bytes`, not in the middle of a character.
void Cut(std::string& text, size_t bytes) {
  if (text.size() <= bytes) return;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  text.resize(bytes);
}

// The beginning of the event's name: that of its object, so far that a part of the name may end there.
std::string NamePrefix(std::string name) {
  Cut(name, kNameBytes);
  while (name.ends_with('.') || name.ends_with('-')) name.pop_back();
  return name;
}

std::string Member(std::string_view name, std::string_view value) { return JsonQuoted(name) + ":" + JsonQuoted(value); }

// Events of objects without a namespace live in this one.
std::string HomeOf(const ObjectRef& object) { return object.key.ns.empty() ? "default" : object.key.ns; }

std::string SeriesJson(int64_t count, Time last) {
  return R"({"count":)" + std::to_string(count) + "," + Member("lastObservedTime", FormatRfc3339Micro(last)) + "}";
}

}  // namespace

Recorder::Recorder(async::Loop& loop, Client& client, Options options)
    : loop_(loop), client_(client), options_(std::move(options)), wake_(loop) {
  Cut(options_.instance, kWordBytes);
}

void Recorder::Record(EventRecord event) {
  const Tick now = loop_.Now();
  Cut(event.note, kNoteBytes);
  Cut(event.reason, kWordBytes);
  Cut(event.action, kWordBytes);
  Forget(now);
  const Place known = series_.find(event);
  if (known != series_.end() && !Over(known->second, now)) {
    Series& series = known->second;
    ++series.count;
    series.last = loop_.WallNow();
    series.last_tick = now;
    next_repeat_ = std::min(next_repeat_, series.send_at);
    wake_.Set();
    return;
  }
  if (known != series_.end()) series_.erase(known);
  if (queue_.size() >= options_.queue || series_.size() >= options_.series) {
    ++counts_.dropped_full;
    return;
  }
  if (!TakeToken(event.regarding, now)) {
    ++counts_.dropped_flood;
    return;
  }
  Series series{
      .regarding = event.regarding, .name = {}, .first = loop_.WallNow(), .last = loop_.WallNow(), .last_tick = now};
  const std::string content = event.regarding.uid + "\n" + event.reason + "\n" + event.action + "\n" + event.note +
                              "\n" + FormatRfc3339Micro(series.first);
  series.name = NamePrefix(event.regarding.key.name) + "." + Sha256Hex(content).substr(0, 16);
  Enqueue(series_.emplace(std::move(event), std::move(series)).first);
}

void Recorder::Enqueue(Place place) {
  if (std::exchange(place->second.queued, true)) return;
  queue_.push_back(place);
  wake_.Set();
}

bool Recorder::TakeToken(const ObjectRef& object, Tick now) {
  Bucket& bucket = buckets_.try_emplace(object, Bucket{double(options_.burst), now}).first->second;
  const double refilled = double((now - bucket.at).count()) / double(options_.refill.count());
  bucket.tokens = std::min(double(options_.burst), bucket.tokens + refilled);
  bucket.at = now;
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

// Told, and not repeated for so long that the next one is another story.
bool Recorder::Over(const Series& series, Tick now) const {
  return !series.queued && series.count == series.sent_count && now - series.last_tick > options_.window;
}

void Recorder::Forget(Tick now) {
  if (now < forget_at_) return;
  forget_at_ = now + 1min;
  std::erase_if(series_, [&](const auto& entry) { return Over(entry.second, now); });
  // A bucket that has had time to fill up is like a new one.
  std::erase_if(buckets_, [&](const auto& entry) { return now - entry.second.at > options_.refill * options_.burst; });
}

async::Task<void> Recorder::Run() {
  while (true) {
    QueueRepeats(loop_.Now());
    if (queue_.empty()) {
      wake_.Reset();
      co_await wake_.Wait(async::Deadline(next_repeat_));
      continue;
    }
    const Place place = queue_.front();
    co_await Send(place);
    queue_.pop_front();
    place->second.queued = false;
  }
}

// Counts that have grown and may be told again.
void Recorder::QueueRepeats(Tick now) {
  if (now < next_repeat_) return;
  next_repeat_ = Tick::max();
  for (Place place = series_.begin(); place != series_.end(); ++place) {
    const Series& series = place->second;
    if (series.count == series.sent_count || series.queued) continue;
    if (series.send_at <= now)
      Enqueue(place);
    else
      next_repeat_ = std::min(next_repeat_, series.send_at);
  }
}

async::Task<void> Recorder::Send(Place place) {
  Series& series = place->second;
  const int64_t count = series.count;
  for (int tries = 1;; ++tries) {
    const Result<void> sent = co_await SendOnce(place->first, series);
    if (sent) {
      ++counts_.sent;
      failing_ = false;
      break;
    }
    const Code code = sent.error().code();
    const bool passes = code == Code::kUnavailable || code == Code::kUnknownOutcome || code == Code::kDeadline ||
                        code == Code::kThrottled;
    if (!passes || tries == kTries) {
      ++counts_.dropped_failed;
      log::Write(std::exchange(failing_, true) ? log::Level::kDebug : log::Level::kWarn, "an event is lost",
                 {{"reason", place->first.reason},
                  {"object", series.regarding.key.ToString()},
                  {"error", sent.error().message()}});
      break;
    }
    co_await async::Sleep(loop_, async::Backoff::Plain(kWaits, tries));
  }
  series.sent_count = count;
  // The first repeat is told at once, the later ones ever more rarely.
  series.send_at = loop_.Now() + series.step;
  series.step = series.step == Duration(0) ? kFirstStep : std::min(2 * series.step, kLongestStep);
  if (series.count != series.sent_count) next_repeat_ = std::min(next_repeat_, series.send_at);
}

async::Task<Result<void>> Recorder::SendOnce(EventRecord event, Series series) {
  const Key key{HomeOf(event.regarding), series.name};
  const auto deadline = loop_.After(kEventTimeout);
  if (series.sent_count > 0) {
    std::string patch = R"({"series":)" + SeriesJson(series.count, series.last) + "}";
    const auto patched = co_await client_.Patch(kEvents, key, PatchType::kMerge, std::move(patch), {}, deadline);
    if (patched) co_return Result<void>();
    if (patched.error().code() != Code::kNotFound) co_return Fail(patched.error());  // else it has aged out of etcd
  }
  const auto created = co_await client_.Create(kEvents, key, EventJson(event, series), {}, deadline);
  if (created || created.error().code() == Code::kAlreadyExists) co_return Result<void>();
  co_return Fail(created.error());
}

std::string Recorder::EventJson(const EventRecord& event, const Series& series) const {
  const ObjectRef& object = event.regarding;
  std::string json =
      R"({"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{)" + Member("name", series.name) + "," +
      Member("namespace", HomeOf(object)) + "}," + Member("eventTime", FormatRfc3339Micro(series.first)) + "," +
      Member("reportingController", options_.controller) + "," + Member("reportingInstance", options_.instance) + "," +
      Member("action", event.action) + "," + Member("reason", event.reason) + "," +
      Member("type", event.warning ? "Warning" : "Normal") + "," + Member("note", event.note) + R"(,"regarding":{)" +
      Member("apiVersion", object.api_version) + "," + Member("kind", object.kind) + "," +
      Member("name", object.key.name) + "," + Member("uid", object.uid);
  if (!object.key.ns.empty()) json += "," + Member("namespace", object.key.ns);
  json += "}";
  if (series.count > 1) json += R"(,"series":)" + SeriesJson(series.count, series.last);
  return json + "}";
}

Recorder::Counts Recorder::counts() const {
  Counts counts = counts_;
  counts.queued = queue_.size();
  return counts;
}

}  // namespace capstan::kube
