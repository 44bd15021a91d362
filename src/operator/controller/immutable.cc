#include "operator/controller/immutable.h"

#include "operator/controller/children.h"
#include "operator/names.h"
#include "operator/render/immutable.h"

namespace capstan::op::controller {
namespace {

using render::Json;
using render::JsonArray;
using render::JsonObject;

std::string Member(const JsonObject& object, std::string_view key) {
  const Json* value = object.if_contains(key);
  return value == nullptr ? "none" : json::SerializeCanonical(*value);
}

// "resources is {...} and not {...}", for each that differs.
std::string Difference(const Json& present, const Json& wanted) {
  const Json* is = json::Find(present, {"spec"});
  const Json* asked = json::Find(wanted, {"spec"});
  if (is == nullptr || asked == nullptr || !is->is_object() || !asked->is_object()) return {};
  JsonObject keys = is->get_object();
  for (const auto& member : asked->get_object()) keys.emplace(member.key(), nullptr);
  std::string text;
  for (const auto& key : keys) {
    const std::string before = Member(is->get_object(), key.key()), after = Member(asked->get_object(), key.key());
    if (before == after) continue;
    text += (text.empty() ? "" : ", ") + std::string(key.key()) + " is " + before + " and not " + after;
  }
  return text;
}

}  // namespace

ClaimChange ChangeOfClaim(const api::ControllerSpec& spec, const StatefulSet& present) {
  const auto asked = ClaimTemplates(spec);
  if (!asked) return {};  // the StatefulSet is refused for it
  const JsonArray claims = render::Plain(render::PresentClaims(present)), wanted = render::Plain(*asked);
  if (claims.empty() && wanted.empty()) return {};
  if (claims.empty()) return {"it was made without a claim of its own", true};
  if (wanted.empty()) return {"it was made with a claim of its own"};
  std::string difference = Difference(claims.front(), wanted.front());
  return {difference.empty() ? "" : "there, " + std::move(difference)};
}

std::string MadeAnew(const api::Controller& controller) {
  return "kubectl -n " + controller.metadata.namespace_ + " delete statefulset " +
         ControllerName(controller.metadata.name) + " --cascade=orphan";
}

}  // namespace capstan::op::controller
