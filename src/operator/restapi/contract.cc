#include "operator/restapi/contract.h"

#include "json/value.h"

namespace capstan::op::restapi {
namespace {

using json::Find;
using json::FindText;
using json::Value;

bool IsControlledBy(const Value& object, std::string_view uid) {
  const Value* owners = Find(object, {"metadata", "ownerReferences"});
  if (owners == nullptr || !owners->is_array() || owners->get_array().size() != 1) return false;
  const Value& owner = owners->get_array()[0];
  const Value* controller = Find(owner, {"controller"});
  return FindText(owner, {"uid"}) == uid && controller != nullptr && *controller == Value(true);
}

// All that it says of a Deployment that a former operator made.
std::optional<std::string> NoteBreach(const Call& call) {
  const auto patch = json::Parse(call.body);
  const Value* notes = patch ? Find(*patch, {"metadata", "annotations"}) : nullptr;
  const bool only = notes != nullptr && notes->is_object() && notes->get_object().size() == 1 &&
                    notes->get_object().contains("capstan.dev/taken-over") && patch->get_object().size() == 1 &&
                    Find(*patch, {"metadata"})->get_object().size() == 2 && call.subresource.empty();
  if (only) return std::nullopt;
  return "a patch of Deployment " + call.key.name + " does more than note that it was taken over";
}

}  // namespace

std::optional<std::string> Breach(const api::RestApi& rest_api, const std::string& signing_key, const Call& call) {
  const std::string& name = rest_api.metadata.name;
  if (call.key.ns != rest_api.metadata.namespace_) return "namespace " + call.key.ns + " is not the RestApi's";
  if (call.verb == "patch" && call.kind == "Deployment" && call.key.name == name + "-restapi") return NoteBreach(call);
  if (call.verb != "apply") return "a RestApi never sends " + call.verb + " " + call.kind + " " + call.key.name;
  if (call.kind == "RestApi" && call.key.name == name && call.subresource == "status") return std::nullopt;
  const bool child = call.kind == "Deployment" || call.kind == "Service";
  if (!child || call.key.name != name + "-restapi" || !call.subresource.empty())
    return "a RestApi applies no " + call.kind + " " + call.key.name;
  const auto body = json::Parse(call.body);
  if (!body || !IsControlledBy(*body, rest_api.metadata.uid))
    return call.kind + " " + call.key.name + " would outlive its RestApi";
  if (!signing_key.empty() && call.body.find("\"" + signing_key + "\"") != std::string::npos)
    return "slurmrestd is given the key that signs tokens, in Secret " + signing_key;
  return std::nullopt;
}

std::optional<std::string> Unmatched(const std::string& rest_api, const Lookup& object) {
  const auto value = json::Parse(rest_api);
  if (!value) return "the RestApi is not JSON";
  const std::string name = std::string(FindText(*value, {"metadata", "name"})) + "-restapi";
  for (const std::string_view kind : {"Service", "Deployment"}) {
    const auto text = object(kind, {std::string(FindText(*value, {"metadata", "namespace"})), name});
    if (!text) return std::string(kind) + " " + name + " is missing";
    const auto child = json::Parse(*text);
    if (!child || !IsControlledBy(*child, FindText(*value, {"metadata", "uid"})))
      return std::string(kind) + " " + name + " does not belong to the RestApi";
    if (Find(*child, {"metadata", "deletionTimestamp"}) != nullptr)
      return std::string(kind) + " " + name + " is going away";
  }
  const Value* conditions = Find(*value, {"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return "the RestApi has no conditions";
  for (const Value& condition : conditions->get_array()) {
    if (FindText(condition, {"type"}) == "Ready" && FindText(condition, {"status"}) == "True") return std::nullopt;
  }
  return "the RestApi does not say that it is ready";
}

}  // namespace capstan::op::restapi
