#include "operator/render/immutable.h"

#include "operator/render/quantities.h"

namespace capstan::op::render {
namespace {

// Without what the API server adds to a claim template.
Json Plain(const Json& given) {
  Json claim = given;
  if (!claim.is_object()) return claim;
  JsonObject& object = claim.get_object();
  for (const char* added : {"apiVersion", "kind", "status"}) object.erase(added);
  if (Json* metadata = object.if_contains("metadata"); metadata != nullptr && metadata->is_object())
    metadata->get_object().erase("creationTimestamp");
  if (json::FindText(claim, {"spec", "volumeMode"}) == "Filesystem") object["spec"].get_object().erase("volumeMode");
  NormalizeQuantities(claim);
  return claim;
}

}  // namespace

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

void KeepImmutable(const StatefulSet& present, JsonObject& spec) {
  if (!present.spec.service_name.empty()) spec["serviceName"] = present.spec.service_name;
  const std::string& policy = present.spec.pod_management_policy;
  if (policy.empty() || policy == "OrderedReady")
    spec.erase("podManagementPolicy");  // the server's default
  else
    spec["podManagementPolicy"] = policy;
  if (const auto& labels = present.spec.selector.match_labels; !labels.empty()) {
    spec["selector"] = JsonObject{{"matchLabels", ToJson(labels)}};
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

}  // namespace capstan::op::render
