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

Broken OnlyNotesTakeOver(const Call& call) {
  const auto patch = json::Parse(call.body);
  const Value* notes = patch ? json::Find(*patch, {"metadata", "annotations"}) : nullptr;
  const bool only = notes != nullptr && notes->is_object() && notes->get_object().size() == 1 &&
                    notes->get_object().contains("capstan.dev/taken-over") && patch->get_object().size() == 1 &&
                    json::Find(*patch, {"metadata"})->get_object().size() == 2 && call.subresource.empty();
  if (only) return std::nullopt;
  return "a patch of " + call.kind + " " + call.key.name + " does more than note that it was taken over";
}

Broken WritesOwnSecret(const Value& object, const Call& call) {
  const auto body = json::Parse(call.body);
  if (call.kind != "Secret" || !body || !call.subresource.empty()) return "it is no Secret that is written";
  if (call.verb != "create" && call.verb != "patch") return "a Secret is never sent " + call.verb;
  if (!Owned(*body, json::FindText(object, {"metadata", "uid"})))
    return "Secret " + call.key.name + " would belong to somebody else";
  if (call.verb == "patch" && json::FindText(*body, {"metadata", "uid"}).empty())
    return "Secret " + call.key.name + " is patched whatever is there";
  return std::nullopt;
}

Broken PodDeletionBreach(const Call& call) {
  const auto options = json::Parse(call.body);
  if (options && !FindText(*options, {"preconditions", "resourceVersion"}).empty()) return std::nullopt;
  return "pod " + call.key.name + " is deleted whatever has become of it";
}

Broken MakesHostKeys(const Call& call) {
  const auto body = json::Parse(call.body);
  if (call.verb != "create" || !body) return "host keys are never sent " + call.verb;
  if (Find(*body, {"metadata", "ownerReferences"}) != nullptr)
    return "people would meet hosts that they do not know, once their owner has been made anew";
  const Value* immutable = Find(*body, {"immutable"});
  if (immutable == nullptr || *immutable != Value(true)) return "host keys could be changed";
  return std::nullopt;
}

}  // namespace capstan::op
