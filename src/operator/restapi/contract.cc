#include "operator/restapi/contract.h"

#include "api/restapi.h"
#include "json/value.h"

namespace capstan::op::restapi {
namespace {

using json::Find;
using json::FindText;
using json::Value;

bool NamesASigningKey(const Value& rest_api, const Call& call, const Around& around) {
  const kube::Key controller{call.key.ns, std::string(FindText(rest_api, {"spec", "controllerRef", "name"}))};
  const Value* found = around.Find("Controller", controller);
  if (found == nullptr) return false;
  for (const std::string_view ref : {"jwtKeyRef", "jwtHs256KeyRef"}) {
    const std::string_view key = FindText(*found, {"spec", ref, "name"});
    if (!key.empty() && call.body.find("\"" + std::string(key) + "\"") != std::string::npos) return true;
  }
  return false;
}

Broken Breach(const Value& rest_api, const Call& call, const Around& around) {
  const auto [ns, name] = KeyOf(rest_api);
  if (call.key.ns != ns) return "namespace " + call.key.ns + " is not the RestApi's";
  if (IsOwnStatus(rest_api, call)) return std::nullopt;
  if (call.verb == "patch" && call.kind == "Deployment" && call.key.name == name + "-restapi")
    return OnlyNotesTakeOver(call);
  if (call.verb != "apply") return "a RestApi never sends " + call.verb + " " + call.kind + " " + call.key.name;
  const bool child = call.kind == "Deployment" || call.kind == "Service";
  if (!child || call.key.name != name + "-restapi" || !call.subresource.empty())
    return "a RestApi applies no " + call.kind + " " + call.key.name;
  const auto body = json::Parse(call.body);
  if (!body || !Owned(*body, FindText(rest_api, {"metadata", "uid"})))
    return call.kind + " " + call.key.name + " would outlive its RestApi";
  if (NamesASigningKey(rest_api, call, around)) return "slurmrestd is given the key that signs tokens";
  return std::nullopt;
}

Broken Unmatched(const Value& rest_api, const Around& around) {
  const auto [ns, rest_name] = KeyOf(rest_api);
  const std::string name = rest_name + "-restapi";
  for (const std::string_view kind : {"Service", "Deployment"}) {
    const Value* child = around.Find(kind, {ns, name});
    if (child == nullptr) return std::string(kind) + " " + name + " is missing";
    if (!Owned(*child, FindText(rest_api, {"metadata", "uid"})))
      return std::string(kind) + " " + name + " does not belong to the RestApi";
    if (Find(*child, {"metadata", "deletionTimestamp"}) != nullptr)
      return std::string(kind) + " " + name + " is going away";
  }
  return SaysReady(rest_api);
}

}  // namespace

constinit const Contract kContract{.resource = &api::RestApi::kResource, .breach = &Breach, .unmatched = &Unmatched};

}  // namespace capstan::op::restapi
