#include "operator/former.h"

#include <algorithm>

#include "base/hash.h"
#include "operator/names.h"
#include "plan/objects/effects.h"

namespace capstan::op {

bool WrittenBy(const json::ObjectMeta& object, std::string_view manager, std::string_view operation) {
  return std::ranges::any_of(object.managed_fields, [&](const json::ManagedField& entry) {
    return entry.manager == manager && entry.operation == operation && entry.subresource.empty();
  });
}

bool IsOfFormer(const json::ObjectMeta& workload, std::string_view owner_uid) {
  const json::OwnerReference* owner = workload.ControllerOwner();
  return owner != nullptr && owner->uid == owner_uid && WrittenBy(workload, kFormerFieldManager, "Update") &&
         !WrittenBy(workload, kFieldManager, "Apply");
}

bool IsLeftToFormer(ReconcileBase& reconcile, const json::ObjectMeta& workload, const plan::Child& wanted) {
  const std::string digest = Sha256Hex(wanted.body);
  const std::string& noted = workload.Annotation(std::string(kAnnotationTakenOver));
  if (!noted.empty()) return noted == digest;
  std::string patch =
      R"({"metadata":{"annotations":{")" + std::string(kAnnotationTakenOver) + R"(":")" + digest + R"("}}})";
  reconcile.plan.Add(
      {.effect = plan::MergePatch("take over", {wanted.resource, wanted.key}, workload.uid, std::move(patch)),
       .reason = "a former operator made it, and it serves as it is",
       .guards = {},
       .after = {},
       .event = {}});
  return true;
}

}  // namespace capstan::op
