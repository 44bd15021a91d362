#include "operator/loginset/contract.h"

#include "api/loginset.h"
#include "json/value.h"

namespace capstan::op::loginset {
namespace {

using json::FindText;
using json::Value;

Broken Breach(const Value& login_set, const Call& call, const Around&) {
  const auto [ns, name] = KeyOf(login_set);
  if (call.key.ns != ns) return "namespace " + call.key.ns + " is not the LoginSet's";
  if (IsOwnStatus(login_set, call)) return std::nullopt;
  if (call.kind == "Secret" && call.key.name == name + "-ssh-host-keys") return MakesHostKeys(call);
  const bool child = call.kind == "ConfigMap"
                         ? call.key.name == name + "-ssh-config"
                         : (call.kind == "Deployment" || call.kind == "Service") && call.key.name == name;
  if (!child || !call.subresource.empty()) return "a LoginSet never writes to " + call.kind + " " + call.key.name;
  if (call.verb == "patch" && call.kind == "Deployment") return OnlyNotesTakeOver(call);
  if (call.verb != "apply") return "a LoginSet never sends " + call.verb + " " + call.kind + " " + call.key.name;
  const auto body = json::Parse(call.body);
  if (!body || !Owned(*body, FindText(login_set, {"metadata", "uid"})))
    return call.kind + " " + call.key.name + " would outlive its LoginSet";
  return std::nullopt;
}

Broken Unmatched(const Value& login_set, const Around& around) {
  const kube::Key key = KeyOf(login_set);
  for (const std::string_view kind : {"Service", "Deployment"}) {
    const Value* child = around.Find(kind, key);
    if (child == nullptr) return std::string(kind) + " " + key.name + " is missing";
    if (!Owned(*child, FindText(login_set, {"metadata", "uid"})))
      return std::string(kind) + " " + key.name + " does not belong to the LoginSet";
  }
  return SaysReady(login_set);
}

}  // namespace

constinit const Contract kContract{.resource = &api::LoginSet::kResource, .breach = &Breach, .unmatched = &Unmatched};

}  // namespace capstan::op::loginset
