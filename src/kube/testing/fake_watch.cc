#include "kube/testing/fake_watch.h"

#include <algorithm>

namespace capstan::kube::testing {

using boost::json::object;

bool Selects(const FakeWatchRequest& request, const json::Value& value) {
  if (!request.ns.empty() && json::FindText(value, {"metadata", "namespace"}) != request.ns) return false;
  return request.labels.MatchesLabels(value) && request.fields.MatchesFields(value);
}

json::Value MetadataOnly(const json::Value& value) {
  return object{{"kind", "PartialObjectMetadata"},
                {"apiVersion", "meta.k8s.io/v1"},
                {"metadata", *json::Find(value, {"metadata"})}};
}

FakeWatch::FakeWatch(FakeApiServer& server, FakeWatchRequest request)
    : server_(&server),
      loop_(server.loop_),
      request_(std::move(request)),
      changed_(server.loop_),
      position_(request_.from),
      next_bookmark_(loop_.Now() + server.bookmark_interval),
      ends_at_(request_.timeout > Duration(0) ? loop_.Now() + request_.timeout : Tick::max()) {
  server.watches_.insert(this);
}

FakeWatch::~FakeWatch() {
  if (server_) server_->watches_.erase(this);
}

void FakeWatch::Cut() {
  cut_ = true;
  Wake();
}

async::Task<Result<size_t>> FakeWatch::Read(std::span<char> buffer, async::Deadline deadline) {
  while (true) {
    changed_.Reset();
    Pull();
    if (!out_.empty()) {
      const size_t bytes = std::min(buffer.size(), out_.size());
      out_.copy(buffer.data(), bytes);
      out_.erase(0, bytes);
      co_return bytes;
    }
    if (cut_) co_return Fail(Code::kUnavailable, "the connection was reset");
    if (ended_) co_return 0;
    const bool woken = co_await changed_.Wait(deadline.Earlier(async::Deadline(NextWake())));
    if (!woken && deadline.Passed(loop_.Now())) co_return Fail(Code::kDeadline, "nothing came in time");
  }
}

Tick FakeWatch::NextWake() const {
  if (muted_) return Tick::max();
  if (loop_.Now() < not_before_) return not_before_;
  return std::min(ends_at_, request_.bookmarks ? next_bookmark_ : Tick::max());
}

// Moves into out_ all that is due.
void FakeWatch::Pull() {
  if (cut_ || ended_ || muted_ || loop_.Now() < not_before_) return;
  if (request_.initial) return PullInitial();
  if (position_ < request_.table->compacted) {
    out_ += R"({"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
            R"("message":"too old resource version","reason":"Expired","code":410}})"
            "\n";
    ended_ = true;
    return;
  }
  const auto& history = request_.table->history;
  auto at = std::ranges::upper_bound(history, position_, {}, &HistoryRecord::version);
  for (; at != history.end(); ++at) {
    if (!PullRecord(*at)) return;
  }
  PullBookmark();
  if (loop_.Now() >= ends_at_) ended_ = true;
}

void FakeWatch::PullInitial() {
  request_.initial = false;
  for (const auto& [key, value] : request_.table->objects) {
    if (Selects(request_, *value)) out_ += Told("ADDED", value);
  }
  position_ = server_->objects_.version();
  out_ += BookmarkText(position_, true);
}

// False: this record and all behind it do not come now.
bool FakeWatch::PullRecord(const HistoryRecord& record) {
  std::string text = EventText(record);
  if (!text.empty() && !Draw(record)) return false;
  position_ = record.version;
  out_ += text;
  return true;
}

// Draws once for each event what befalls it.
bool FakeWatch::Draw(const HistoryRecord& record) {
  if (drawn_ >= record.version) return true;
  drawn_ = record.version;
  const ApiFaults& faults = server_->faults;
  if (server_->Draw(faults.cut_watch))
    cut_ = true;
  else if (server_->Draw(faults.mute_watch))
    muted_ = true;
  else if (server_->Draw(faults.lag_watch))
    not_before_ = loop_.Now() + server_->DrawUpTo(faults.lag_by);
  return !cut_ && !muted_ && not_before_ <= loop_.Now();
}

void FakeWatch::PullBookmark() {
  if (!request_.bookmarks || loop_.Now() < next_bookmark_) return;
  next_bookmark_ = loop_.Now() + server_->bookmark_interval;
  position_ = server_->objects_.version();
  out_ += BookmarkText(position_, false);
}

std::string FakeWatch::EventText(const HistoryRecord& record) const {
  const bool was = record.before && Selects(request_, *record.before);
  const bool is = record.after && Selects(request_, *record.after);
  if (!was && !is) return {};
  // What leaves the selection is told as deleted, as it was, with the version of its leaving.
  if (is) return Told(was ? "MODIFIED" : "ADDED", record.after);
  if (record.last) return Told("DELETED", record.last);
  json::Value left = *record.before;
  json::MakeObject(left, {"metadata"})["resourceVersion"] = std::to_string(record.version);
  return Told("DELETED", std::make_shared<const json::Value>(std::move(left)));
}

std::string FakeWatch::BookmarkText(uint64_t version, bool initial_end) const {
  const Resource& resource = request_.table->resource;
  return R"({"type":"BOOKMARK","object":{"kind":")" + std::string(resource.kind) + R"(","apiVersion":")" +
         resource.ApiVersion() + R"(","metadata":{"resourceVersion":")" + std::to_string(version) +
         R"(","creationTimestamp":null)" +
         (initial_end ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : "") + "}}}\n";
}

std::string FakeWatch::Told(std::string_view type, const Stored& value) const {
  return R"({"type":")" + std::string(type) + R"(","object":)" +
         (request_.metadata_only ? json::Serialize(MetadataOnly(*value)) : TextOf(*request_.table, value)) + "}\n";
}

}  // namespace capstan::kube::testing
