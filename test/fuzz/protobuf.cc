// Whatever bytes come as protobuf, as a message, an event, or a list: no crash, nothing read behind them, and what was
// read can be written and read again as JSON.
#include "json/protobuf.h"

#include <cstdlib>
#include <string_view>

#include "kube/feed.h"

using namespace capstan;  // NOLINT: a program of one function

namespace {

// Every kind of member that a table with numbers can have.
struct Sample {
  json::ObjectMeta metadata;
  bool flag = false;
  uint8_t tiny = 0;
  double share = 0;
  json::Text text;
  json::SharedText shared;
  json::Digest digest;
  std::optional<json::IntOrString> either;
  std::vector<int32_t> numbers;
  std::vector<Sample> inside;
  std::map<std::string, json::OwnerReference> by_name;
  std::string quantity;
  friend bool operator==(const Sample&, const Sample&) = default;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<Sample>({
        json::Field<&Sample::metadata>("metadata").Number(1),
        json::Field<&Sample::flag>("flag").Number(2),
        json::Field<&Sample::tiny>("tiny").Number(3),
        json::Field<&Sample::share>("share").Number(4),
        json::Field<&Sample::text>("text").Number(5),
        json::Field<&Sample::shared>("shared").Number(6),
        json::Field<&Sample::digest>("digest").Number(7).DecodeOnly(),
        json::Field<&Sample::either>("either").Number(8),
        json::Field<&Sample::numbers>("numbers").Number(9),
        json::Field<&Sample::inside>("inside").Number(10),
        json::Field<&Sample::by_name>("byName").Number(11),
        json::Field<&Sample::quantity>("quantity").Number(12).Wrapped(),
    });
    return schema;
  }
};

void ReadMessage(std::string_view bytes) {
  const Result<Sample> read = json::DecodeProtobuf<Sample>(bytes);
  if (!read) {
    if (read.error().code() != Code::kInvalid || read.error().message().empty()) std::abort();
    return;
  }
  if (!json::Decode<json::Raw>(json::Encode(*read))) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  kube::Store<Sample> store("samples");
  kube::Feed& feed = store.AddFeed("");
  switch (data[0] % 3) {
    case 0:
      ReadMessage(bytes);
      break;
    case 1:
      feed.BeginList();
      if (!feed.TakeFrame(bytes, Tick())) feed.BeginList();
      break;
    default:
      feed.BeginList();
      if (const auto page = feed.TakePage(bytes)) feed.EndList(page->version, Tick());
  }
  return 0;
}
