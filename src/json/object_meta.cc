#include "json/object_meta.h"

#include <tuple>

namespace capstan::json {
namespace {

const std::string kNone;

const std::string& Lookup(const std::map<std::string, std::string>& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? kNone : found->second;
}

}  // namespace

const json::Schema& OwnerReference::Schema() {
  static const json::Schema schema = Object<OwnerReference>({
      Field<&OwnerReference::api_version>("apiVersion").Number(5),
      Field<&OwnerReference::kind>("kind").Number(1),
      Field<&OwnerReference::name>("name").Number(3),
      Field<&OwnerReference::uid>("uid").Number(4),
      Field<&OwnerReference::controller>("controller").Number(6),
      Field<&OwnerReference::block_owner_deletion>("blockOwnerDeletion").Number(7),
  });
  return schema;
}

const json::Schema& ManagedField::Schema() {
  static const json::Schema schema = Object<ManagedField>({
      Field<&ManagedField::manager>("manager").Number(1),
      Field<&ManagedField::operation>("operation").Number(2),
      Field<&ManagedField::subresource>("subresource").Number(8),
      Field<&ManagedField::fields>("fieldsV1").Number(7).Wrapped(),
  });
  return schema;
}

const json::Schema& ObjectMeta::Schema() {
  static const json::Schema schema = Object<ObjectMeta>({
      Field<&ObjectMeta::name>("name").Number(1),
      Field<&ObjectMeta::generate_name>("generateName").Number(2),
      Field<&ObjectMeta::namespace_>("namespace").Number(3),
      Field<&ObjectMeta::uid>("uid").Number(5),
      Field<&ObjectMeta::resource_version>("resourceVersion").Number(6).AsText(),
      Field<&ObjectMeta::generation>("generation").Number(7),
      Field<&ObjectMeta::creation_timestamp>("creationTimestamp").Number(8),
      Field<&ObjectMeta::deletion_timestamp>("deletionTimestamp").Number(9),
      Field<&ObjectMeta::deletion_grace_period_seconds>("deletionGracePeriodSeconds").Number(10),
      Field<&ObjectMeta::labels>("labels").Number(11),
      Field<&ObjectMeta::annotations>("annotations").Number(12),
      Field<&ObjectMeta::finalizers>("finalizers").Number(14),
      Field<&ObjectMeta::owner_references>("ownerReferences").Number(13),
      Field<&ObjectMeta::managed_fields>("managedFields").Number(17).DecodeOnly(),
  });
  return schema;
}

const std::string& ObjectMeta::Label(const std::string& key) const { return Lookup(labels, key); }
const std::string& ObjectMeta::Annotation(const std::string& key) const { return Lookup(annotations, key); }

const OwnerReference* ObjectMeta::ControllerOwner() const {
  for (const OwnerReference& owner : owner_references) {
    if (owner.controller == true) return &owner;
  }
  return nullptr;
}

bool operator==(const ObjectMeta& a, const ObjectMeta& b) {
  const auto rest = [](const ObjectMeta& m) {
    return std::tie(m.name, m.namespace_, m.generate_name, m.uid, m.generation, m.creation_timestamp,
                    m.deletion_timestamp, m.deletion_grace_period_seconds, m.labels, m.annotations, m.finalizers,
                    m.owner_references, m.managed_fields);
  };
  return rest(a) == rest(b);
}

}  // namespace capstan::json
