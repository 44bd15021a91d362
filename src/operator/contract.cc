#include "operator/contract.h"

namespace capstan::op {

using json::Find;
using json::FindText;
using json::Value;

kube::Key KeyOf(const Value& object) {
  return {std::string(FindText(object, {"metadata", "namespace"})),
          std::string(FindText(object, {"metadata", "name"}))};
}

bool Owned(const Value& object, std::string_view uid) {
  const Value* owners = Find(object, {"metadata", "ownerReferences"});
  if (owners == nullptr || !owners->is_array() || owners->get_array().size() != 1) return false;
  const Value& owner = owners->get_array()[0];
  const Value* controller = Find(owner, {"controller"});
  return FindText(owner, {"uid"}) == uid && controller != nullptr && *controller == Value(true);
}

Broken Says(const Value& object, std::string_view type, bool wanted) {
  const Value* conditions = Find(object, {"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return "it has no conditions";
  for (const Value& one : conditions->get_array()) {
    if (FindText(one, {"type"}) != type) continue;
    if (FindText(one, {"status"}) == (wanted ? "True" : "False")) return std::nullopt;
    return "condition " + std::string(type) + " is " + std::string(FindText(one, {"status"})) + ": " +
           std::string(FindText(one, {"message"}));
  }
  return "it has no condition " + std::string(type);
}

bool IsOwnStatus(const Value& object, const Call& call) {
  return call.verb == "apply" && call.subresource == "status" && call.kind == FindText(object, {"kind"}) &&
         call.key == KeyOf(object);
}

Broken OnlyItsStatus(const Value& object, const Call& call, const Around&) {
  if (IsOwnStatus(object, call)) return std::nullopt;
  return "of this kind nothing but the status is written, and this is " + call.verb + " " + call.kind + " " +
         call.key.name;
}

}  // namespace capstan::op
