#include "plan/ownership.h"

#include <algorithm>

namespace capstan::plan {

bool Successor::Follows(std::string_view name, std::string_view operation, std::string_view subresource,
                        std::string_view applied) const {
  return operation == "Update" && subresource == applied && std::ranges::find(former, name) != former.end();
}

bool IsOurs(const json::ObjectMeta& object, std::string_view owner_uid, const Adoption& adoption) {
  if (const json::OwnerReference* controller = object.ControllerOwner()) return controller->uid == owner_uid;
  const auto owns = [&](const json::OwnerReference& owner) {
    return owner.uid == owner_uid || std::ranges::find(adoption.owners, owner.uid) != adoption.owners.end();
  };
  if (!object.owner_references.empty()) return std::ranges::any_of(object.owner_references, owns);
  const auto carries = [&](const auto& label) {
    const auto found = object.labels.find(label.first);
    return found != object.labels.end() && found->second == label.second;
  };
  return !adoption.labels.empty() && std::ranges::all_of(adoption.labels, carries);
}

bool HasFormerManager(const json::ObjectMeta& object, const Successor& successor, std::string_view applied) {
  return std::ranges::any_of(object.managed_fields, [&](const json::ManagedField& entry) {
    return successor.Follows(entry.manager, entry.operation, entry.subresource, applied);
  });
}

}  // namespace capstan::plan
