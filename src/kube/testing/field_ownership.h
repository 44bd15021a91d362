// Who owns which field of an object, as server-side apply keeps it: enough of it for a modelled API server.
//
// A field is a path of managedFields elements: "f:spec", "k:{\"name\":\"slurmd\"}", "v:\"finalizer\"", each with a
// unit separator (0x1f) behind it, which sorts paths by their elements. Lists
// whose items Kubernetes tells apart by a key (containers, ports, conditions, ...) are merged by it,
// finalizers are a set, every other list is one value. Defaults, and the schemas of custom resources, are not
// modelled.
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "json/value.h"

namespace capstan::kube::testing {

using FieldPath = std::string;
using FieldSet = std::set<FieldPath>;

struct FieldManager {
  std::string name;
  std::string operation;  // "Apply" or "Update"
  std::string subresource;
  auto operator<=>(const FieldManager&) const = default;
};

// A set that its copies share until one of them is changed.
class SharedFields {
 public:
  SharedFields() : set_(std::make_shared<FieldSet>()) {}
  SharedFields(FieldSet set) : set_(std::make_shared<FieldSet>(std::move(set))) {}  // NOLINT: converts

  const FieldSet& operator*() const { return *set_; }
  const FieldSet* operator->() const { return set_.get(); }
  auto begin() const { return set_->begin(); }
  auto end() const { return set_->end(); }
  FieldSet& Own() {
    if (set_.use_count() > 1) set_ = std::make_shared<FieldSet>(*set_);
    return *set_;
  }

 private:
  std::shared_ptr<FieldSet> set_;
};

struct OwnedFields {
  SharedFields fields;
  std::string time;  // RFC 3339, of the last change
};
using Owners = std::map<FieldManager, OwnedFields>;

// Equality of values, whatever the order of members.
bool Same(const json::Value& a, const json::Value& b);

// Every field of `object` that somebody can own: no identity, no times, no managedFields.
FieldSet FieldsOf(const json::Value& object);

// `live` after `manager` has applied `config`; `owners` follows. kConflict names the other managers' fields,
// unless `force`; then nothing has changed.
Result<json::Value> ApplyFields(const json::Value& live, const json::Value& config, const FieldManager& manager,
                                bool force, const std::string& time, Owners& owners);

// Records that `manager` turned `before` into `after` by an ordinary write: what it changed is its own, and
// nobody's else any more.
void RecordUpdate(const json::Value& before, const json::Value& after, const FieldManager& manager,
                  const std::string& time, Owners& owners);

// metadata.managedFields and back.
json::Value ManagedFieldsOf(const Owners& owners, std::string_view api_version);
Owners OwnersOf(const json::Value& managed_fields);

}  // namespace capstan::kube::testing
