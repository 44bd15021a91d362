#include "bridge/node/mark.h"

#include "base/text.h"
#include "bridge/mark.h"
#include "json/codec.h"

namespace capstan::bridge::node {
namespace {

constexpr int kVersion = 1;

struct Text {
  int32_t v = 0;
  std::string c, b, n, h;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<Text>({
        json::Field<&Text::v>("v"),
        json::Field<&Text::c>("c"),
        json::Field<&Text::b>("b"),
        json::Field<&Text::n>("n"),
        json::Field<&Text::h>("h"),
    });
    return schema;
  }
};

}  // namespace

std::optional<NodeMark> NodeMark::Of(std::string_view comment) {
  if (!comment.starts_with(kMarkWord)) return std::nullopt;
  const auto text = json::Decode<Text>(comment.substr(kMarkWord.size()));
  if (!text || text->v != kVersion || text->n.empty()) return std::nullopt;
  return NodeMark{text->c, text->b, text->n, text->h};
}

std::string NodeMark::ToString() const {
  return std::string(kMarkWord) + "{\"v\":" + std::to_string(kVersion) + ",\"c\":" + JsonQuoted(cluster) +
         ",\"b\":" + JsonQuoted(bridge) + ",\"n\":" + JsonQuoted(node) + ",\"h\":" + JsonQuoted(size) + "}";
}

}  // namespace capstan::bridge::node
