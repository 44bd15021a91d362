#include "bridge/mark.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "json/codec.h"

namespace capstan::bridge {
namespace {

constexpr int kVersion = 1;

struct Text {
  int32_t v = 0;
  std::string c, b, g, d, p, o;
  int32_t a = 0;
  int64_t k = 1;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<Text>({
        json::Field<&Text::v>("v"),
        json::Field<&Text::c>("c"),
        json::Field<&Text::b>("b"),
        json::Field<&Text::g>("g"),
        json::Field<&Text::a>("a"),
        json::Field<&Text::k>("k"),
        json::Field<&Text::d>("d"),
        json::Field<&Text::p>("p"),
        json::Field<&Text::o>("o"),
    });
    return schema;
  }
};

}  // namespace

std::optional<JobMark> JobMark::Of(std::string_view admin_comment) {
  if (!admin_comment.starts_with(kMarkWord)) return std::nullopt;
  const auto text = json::Decode<Text>(admin_comment.substr(kMarkWord.size()));
  if (!text || text->v != kVersion || text->g.empty()) return std::nullopt;
  return JobMark{text->c, text->b, text->g, text->a, std::max<int64_t>(1, text->k), text->d, text->p, text->o};
}

std::string JobMark::Prefix() const {
  return std::string(kMarkWord) + "{\"v\":" + std::to_string(kVersion) + ",\"c\":" + JsonQuoted(cluster) +
         ",\"b\":" + JsonQuoted(bridge) + ",\"g\":" + JsonQuoted(group) + ",";
}

std::string JobMark::ToString() const {
  std::string text = Prefix() + "\"a\":" + std::to_string(attempt);
  if (pods_per_node != 1) text += ",\"k\":" + std::to_string(pods_per_node);
  if (!order.empty()) text += ",\"d\":" + JsonQuoted(order);
  if (!policy.empty()) text += ",\"p\":" + JsonQuoted(policy);
  if (!outcome.empty()) text += ",\"o\":" + JsonQuoted(outcome);
  return text + "}";
}

int64_t JobId(std::string_view cluster, std::string_view uid, int attempt, int64_t first_id, int64_t ids) {
  const uint64_t hash = Fnv64(std::to_string(attempt), Fnv64("\n", Fnv64(uid, Fnv64("\n", Fnv64(cluster)))));
  return first_id + int64_t(hash % uint64_t(ids));
}

}  // namespace capstan::bridge
