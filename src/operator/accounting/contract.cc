#include "operator/accounting/contract.h"

#include "api/accounting.h"
#include "json/value.h"

namespace capstan::op::accounting {
namespace {

using json::FindText;
using json::Value;

bool IsExternal(const Value& accounting) {
  const Value* external = json::Find(accounting, {"spec", "external"});
  return external != nullptr && *external == Value(true);
}

Broken Breach(const Value& accounting, const Call& call, const Around&) {
  const auto [ns, own_name] = KeyOf(accounting);
  if (call.key.ns != ns) return "namespace " + call.key.ns + " is not the Accounting's";
  if (IsOwnStatus(accounting, call)) return std::nullopt;
  if (IsExternal(accounting)) return "an external Accounting makes nothing";
  const std::string name = own_name + "-accounting";
  if (call.verb == "delete" && call.kind == "Pod" && call.key.name == name + "-0") return PodDeletionBreach(call);
  if (call.key.name != name && call.key.name != name + "-db")
    return "an Accounting never writes to " + call.kind + " " + call.key.name;
  if (call.kind == "Secret") return WritesOwnSecret(accounting, call);
  if (call.verb == "patch" && call.kind == "StatefulSet") return OnlyNotesTakeOver(call);
  if (call.verb != "apply" || (call.kind != "StatefulSet" && call.kind != "Service") || !call.subresource.empty())
    return "an Accounting never sends " + call.verb + " " + call.kind + " " + call.key.name;
  const auto body = json::Parse(call.body);
  if (!body || !Owned(*body, FindText(accounting, {"metadata", "uid"})))
    return call.kind + " " + call.key.name + " would outlive its Accounting";
  return std::nullopt;
}

Broken Unmatched(const Value& accounting, const Around& around) {
  const auto [ns, own_name] = KeyOf(accounting);
  for (const std::string_view kind : {"Service", "StatefulSet"}) {
    if (IsExternal(accounting)) break;
    const Value* child = around.Find(kind, {ns, own_name + "-accounting"});
    if (child == nullptr) return std::string(kind) + " " + own_name + "-accounting is missing";
    if (!Owned(*child, FindText(accounting, {"metadata", "uid"})))
      return std::string(kind) + " " + own_name + "-accounting does not belong to the Accounting";
  }
  return SaysReady(accounting);
}

}  // namespace

constinit const Contract kContract{.resource = &api::Accounting::kResource, .breach = &Breach, .unmatched = &Unmatched};

}  // namespace capstan::op::accounting
