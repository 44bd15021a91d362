// metadata of every Kubernetes object, as far as Capstan reads it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "json/schema.h"

namespace capstan::json {

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  std::optional<bool> controller;
  std::optional<bool> block_owner_deletion;

  friend bool operator==(const OwnerReference&, const OwnerReference&) = default;
  static const json::Schema& Schema();
};

// What one writer owns of an object, reduced while decoding: enough to see that it is no longer what our own
// apply left behind. Never encoded.
struct ManagedField {
  std::string manager;      // "capstan", "kubectl-edit"
  std::string operation;    // "Apply" or "Update"
  std::string subresource;  // "" or "status", "scale"
  Digest fields;            // of fieldsV1

  friend bool operator==(const ManagedField&, const ManagedField&) = default;
  static const json::Schema& Schema();
};

// Encode writes what is set; for an apply leave uid, resource_version, generation, times and managed_fields
// unset.
struct ObjectMeta {
  std::string name;
  std::string namespace_;
  std::string generate_name;
  std::string uid;
  uint64_t resource_version = 0;  // text in JSON; ordered within one resource type only; 0: unset
  int64_t generation = 0;
  std::optional<Time> creation_timestamp;
  std::optional<Time> deletion_timestamp;
  std::optional<int64_t> deletion_grace_period_seconds;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> finalizers;
  std::vector<OwnerReference> owner_references;
  std::vector<ManagedField> managed_fields;

  bool deleting() const { return deletion_timestamp.has_value(); }
  // "" when there is none.
  const std::string& Label(const std::string& key) const;
  const std::string& Annotation(const std::string& key) const;
  // The owner that has controller: true, or nullptr.
  const OwnerReference* ControllerOwner() const;

  // Everything but resource_version: a write that changed nothing we read is not a change.
  friend bool operator==(const ObjectMeta& a, const ObjectMeta& b);
  static const json::Schema& Schema();
};

}  // namespace capstan::json
