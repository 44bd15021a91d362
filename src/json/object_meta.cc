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
      Field<&OwnerReference::api_version>("apiVersion"),
      Field<&OwnerReference::kind>("kind"),
      Field<&OwnerReference::name>("name"),
      Field<&OwnerReference::uid>("uid"),
      Field<&OwnerReference::controller>("controller"),
      Field<&OwnerReference::block_owner_deletion>("blockOwnerDeletion"),
  });
  return schema;
}

const json::Schema& ManagedField::Schema() {
  static const json::Schema schema = Object<ManagedField>({
      Field<&ManagedField::manager>("manager"),
      Field<&ManagedField::operation>("operation"),
      Field<&ManagedField::subresource>("subresource"),
      Field<&ManagedField::fields>("fieldsV1"),
  });
  return schema;
}

const json::Schema& ObjectMeta::Schema() {
  static const json::Schema schema = Object<ObjectMeta>({
      Field<&ObjectMeta::name>("name"),
      Field<&ObjectMeta::generate_name>("generateName"),
      Field<&ObjectMeta::namespace_>("namespace"),
      Field<&ObjectMeta::uid>("uid"),
      Field<&ObjectMeta::resource_version>("resourceVersion").AsText(),
      Field<&ObjectMeta::generation>("generation"),
      Field<&ObjectMeta::creation_timestamp>("creationTimestamp"),
      Field<&ObjectMeta::deletion_timestamp>("deletionTimestamp"),
      Field<&ObjectMeta::deletion_grace_period_seconds>("deletionGracePeriodSeconds"),
      Field<&ObjectMeta::labels>("labels"),
      Field<&ObjectMeta::annotations>("annotations"),
      Field<&ObjectMeta::finalizers>("finalizers"),
      Field<&ObjectMeta::owner_references>("ownerReferences"),
      Field<&ObjectMeta::managed_fields>("managedFields").DecodeOnly(),
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
