#include "operator/sharedroot/contract.h"

#include <algorithm>

#include "api/sharedroot.h"
#include "json/value.h"
#include "operator/sharedroot/jobs.h"

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
  const auto is = [&](std::string_view what) { return call.key.name.starts_with(name + std::string(what)); };
  const bool ours = call.kind == "Job" && std::ranges::any_of(kJobs, is);
  if (!ours || (call.verb != "apply" && call.verb != "delete"))
    return "a SharedRoot never sends " + call.verb + " " + call.kind + " " + call.key.name;
  const std::string_view current = FindText(root, {"status", "current", "generation"});
  if (call.verb == "apply" && is(kRemove) && !current.empty() && call.body.contains("\"" + std::string(current) + "\""))
    return "Job " + call.key.name + " would remove the current generation";
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
