#include "bridge/node/taints.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/text.h"
#include "bridge/names.h"
#include "json/value.h"

namespace capstan::bridge::node {
namespace {

namespace bj = boost::json;

bool IsOurs(const bj::value& taint, std::string_view scheduler_name) {
  const std::string_view key = json::FindText(taint, {"key"});
  return key == kDrainedTaint || (key == kManagedNodeTaint && json::FindText(taint, {"value"}) == scheduler_name);
}

bool Is(const bj::value& taint, const Taint& wanted) {
  return json::FindText(taint, {"key"}) == wanted.key && json::FindText(taint, {"value"}) == wanted.value &&
         json::FindText(taint, {"effect"}) == wanted.effect;
}

}  // namespace

std::optional<json::JsonPatch> TaintsPatch(const Node& node, const std::vector<Taint>& wanted,
                                           std::string_view scheduler_name) {
  bj::array seen;
  if (!node.spec.taints.empty()) {
    auto parsed = json::Parse(node.spec.taints.text);
    if (!parsed || !parsed->is_array()) return std::nullopt;
    seen = std::move(parsed->as_array());
  }
  bj::array then;
  for (const bj::value& taint : seen) {
    const auto is = [&](const Taint& one) { return Is(taint, one); };
    if (!IsOurs(taint, scheduler_name) || std::ranges::any_of(wanted, is)) then.push_back(taint);
  }
  for (const Taint& one : wanted) {
    if (std::ranges::any_of(then, [&](const bj::value& taint) { return Is(taint, one); })) continue;
    bj::object taint{{"key", one.key}, {"effect", one.effect}};
    if (!one.value.empty()) taint["value"] = one.value;
    then.push_back(std::move(taint));
  }
  if (then == seen) return std::nullopt;
  json::JsonPatch patch;
  if (node.spec.taints.empty())
    patch.Test("/metadata/resourceVersion", JsonQuoted(std::to_string(node.metadata.resource_version)));
  else
    patch.Test("/spec/taints", node.spec.taints.text);
  patch.Add("/spec/taints", bj::serialize(then));
  return patch;
}

}  // namespace capstan::bridge::node
