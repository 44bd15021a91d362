// One watch of the modelled API server (fake_api_server.h).
#pragma once

#include <string>

#include "kube/testing/fake_api_server.h"
#include "kube/testing/selectors.h"

namespace capstan::kube::testing {

struct FakeWatchRequest {
  FakeTable* table = nullptr;
  std::string ns;
  Selector labels;
  Selector fields;
  uint64_t from = 0;     // tell what came after this version
  bool initial = false;  // tell the present objects first
  bool bookmarks = false;
  bool metadata_only = false;
  Duration timeout{0};
};

// Whether the object is one of those asked for.
bool Selects(const FakeWatchRequest& request, const json::Value& object);

// The object as PartialObjectMetadata.
json::Value MetadataOnly(const json::Value& object);

class FakeWatch final : public net::BodyStream {
 public:
  FakeWatch(FakeApiServer& server, FakeWatchRequest request);
  ~FakeWatch() override;

  int status() const override { return 200; }
  const net::Headers& headers() const override { return headers_; }
  async::Task<Result<size_t>> Read(std::span<char> buffer, async::Deadline deadline) override;

  const FakeTable& table() const { return *request_.table; }
  void Wake() { changed_.Set(); }
  void Cut();
  // The server is gone.
  void Detach() {
    server_ = nullptr;
    Cut();
  }

 private:
  void Pull();
  void PullInitial();
  bool PullRecord(const HistoryRecord& record);
  bool Draw(const HistoryRecord& record);
  void PullBookmark();
  std::string EventText(const HistoryRecord& record) const;
  std::string BookmarkText(uint64_t version, bool initial_end) const;
  std::string Told(std::string_view type, const Stored& value) const;
  Tick NextWake() const;

  FakeApiServer* server_;
  async::Loop& loop_;
  FakeWatchRequest request_;
  net::Headers headers_;
  async::Event changed_;
  std::string out_;
  uint64_t position_;
  uint64_t drawn_ = 0;  // the version for which faults were drawn
  Tick not_before_{};
  Tick next_bookmark_;
  Tick ends_at_;
  bool muted_ = false;
  bool cut_ = false;
  bool ended_ = false;
};

}  // namespace capstan::kube::testing
