#include "operator/controller/immutable.h"

#include "operator/controller/children.h"
#include "operator/names.h"
#include "operator/render/quantities.h"

namespace capstan::op::controller {
namespace {

using render::Json;
using render::JsonArray;
using render::JsonObject;

// Without what the API server adds to a claim template.
Json Plain(const Json& given) {
  Json claim = given;
  if (!claim.is_object()) return claim;
  JsonObject& object = claim.get_object();
  for (const char* added : {"apiVersion", "kind", "status"}) object.erase(added);
  if (Json* metadata = object.if_contains("metadata"); metadata != nullptr && metadata->is_object())
    metadata->get_object().erase("creationTimestamp");
  if (json::FindText(claim, {"spec", "volumeMode"}) == "Filesystem") object["spec"].get_object().erase("volumeMode");
  render::NormalizeQuantities(claim);
  return claim;
}

JsonArray Plain(const JsonArray& claims) {
  JsonArray plain;
  for (const Json& claim : claims) plain.push_back(Plain(claim));
  return plain;
}

JsonArray PresentClaims(const StatefulSet& present) {
  if (present.spec.claim_templates.empty()) return {};
  auto claims = json::Parse(present.spec.claim_templates.text);
  return claims && claims->is_array() ? std::move(claims->get_array()) : JsonArray();
}

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

void KeepImmutable(const StatefulSet& present, JsonObject& spec) {
  if (!present.spec.service_name.empty()) spec["serviceName"] = present.spec.service_name;
  if (const std::string& policy = present.spec.pod_management_policy; !policy.empty() && policy != "OrderedReady")
    spec["podManagementPolicy"] = policy;
  if (const auto& labels = present.spec.selector.match_labels; !labels.empty()) {
    spec["selector"] = JsonObject{{"matchLabels", render::ToJson(labels)}};
    Json wrapped(std::move(spec));
    JsonObject& of_pod = json::MakeObject(wrapped, {"template", "metadata", "labels"});
    for (const auto& [key, value] : labels) of_pod[key] = value;
    spec = std::move(wrapped.get_object());
  }
  // Word for word, since the server compares all of it; but not what it has added to our own.
  JsonArray claims = PresentClaims(present);
  const Json* wanted = spec.if_contains("volumeClaimTemplates");
  if (wanted != nullptr && wanted->is_array() && Plain(wanted->get_array()) == Plain(claims)) return;
  if (claims.empty())
    spec.erase("volumeClaimTemplates");
  else
    spec["volumeClaimTemplates"] = std::move(claims);
}

ClaimChange ChangeOfClaim(const api::ControllerSpec& spec, const StatefulSet& present) {
  const auto asked = ClaimTemplates(spec);
  if (!asked) return {};  // the StatefulSet is refused for it
  const JsonArray claims = Plain(PresentClaims(present)), wanted = Plain(*asked);
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
