#include "operator/sharedroot/contract.h"

#include "api/sharedroot.h"
#include "json/value.h"

namespace capstan::op::sharedroot {
namespace {

using json::Find;
using json::FindText;
using json::Value;

Broken Breach(const Value& root, const Call& call, const Around&) {
  const auto [ns, name] = KeyOf(root);
  if (call.key.ns != ns) return "namespace " + call.key.ns + " is not the SharedRoot's";
  if (IsOwnStatus(root, call)) return std::nullopt;
  const auto body = json::Parse(call.body);
  if (call.kind == "PersistentVolumeClaim" && call.key.name == name + "-root") {
    if (call.verb != "create") return "a SharedRoot never sends " + call.verb + " for its claim";
    if (Find(root, {"spec", "claim", "existing"}) != nullptr) return "a claim is made beside the one that is there";
    const bool owned = !body || Find(*body, {"metadata", "ownerReferences"}) != nullptr;
    return owned ? Broken("claim " + call.key.name + " would go with its SharedRoot") : std::nullopt;
  }
  const bool ours = call.kind == "Job" &&
                    (call.key.name.starts_with(name + "-fill-") || call.key.name.starts_with(name + "-switch-"));
  if (!ours || (call.verb != "apply" && call.verb != "delete"))
    return "a SharedRoot never sends " + call.verb + " " + call.kind + " " + call.key.name;
  if (call.verb == "apply" && (!body || !Owned(*body, FindText(root, {"metadata", "uid"}))))
    return "Job " + call.key.name + " would outlive its SharedRoot";
  return std::nullopt;
}

Broken Unmatched(const Value& root, const Around&) {
  if (FindText(root, {"status", "current", "generation"}).empty()) return "no generation is current";
  return SaysReady(root);
}

}  // namespace

constinit const Contract kContract{.resource = &api::SharedRoot::kResource, .breach = &Breach, .unmatched = &Unmatched};

}  // namespace capstan::op::sharedroot
