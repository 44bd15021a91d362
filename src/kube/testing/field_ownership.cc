#include "kube/testing/field_ownership.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace capstan::kube::testing {
namespace {

using boost::json::array;
using boost::json::object;

constexpr char kEnd = 0x1f;  // of an element

std::string_view TakeElement(std::string_view& path) {
  const size_t end = path.find(kEnd);
  const std::string_view element = path.substr(0, end);
  path.remove_prefix(end + 1);
  return element;
}

// Makes a path one element longer for as long as it lives.
class Longer {
 public:
  Longer(FieldPath& path, std::string_view prefix, std::string_view element) : path_(path), size_(path.size()) {
    path_.append(prefix).append(element).push_back(kEnd);
  }
  ~Longer() { path_.resize(size_); }
  Longer(const Longer&) = delete;

 private:
  FieldPath& path_;
  size_t size_;
};

struct ListKeys {
  std::string_view list;
  std::vector<std::string_view> keys;
};

// The first row whose first key the items have. Keys in alphabetical order.
const std::vector<ListKeys>& KnownLists() {
  static const std::vector<ListKeys> lists = {
      {"containers", {"name"}},
      {"initContainers", {"name"}},
      {"ephemeralContainers", {"name"}},
      {"env", {"name"}},
      {"volumes", {"name"}},
      {"imagePullSecrets", {"name"}},
      {"resourceClaims", {"name"}},
      {"ports", {"containerPort", "protocol"}},
      {"ports", {"port", "protocol"}},
      {"volumeMounts", {"mountPath"}},
      {"volumeDevices", {"devicePath"}},
      {"hostAliases", {"ip"}},
      {"topologySpreadConstraints", {"topologyKey", "whenUnsatisfiable"}},
      {"conditions", {"type"}},
      {"ownerReferences", {"uid"}},
  };
  return lists;
}

const std::vector<std::string_view>* KeysOf(std::string_view list, const array& items) {
  if (items.empty()) return nullptr;
  for (const ListKeys& known : KnownLists()) {
    const auto has_key = [&](const json::Value& item) {
      return item.is_object() && item.get_object().contains(known.keys[0]);
    };
    if (known.list == list && std::ranges::all_of(items, has_key)) return &known.keys;
  }
  return nullptr;
}

bool IsSet(std::string_view list) { return list == "finalizers"; }

// "k:{...}" of one item. protocol has a default that keys are compared with.
std::string KeyElement(const object& item, const std::vector<std::string_view>& keys) {
  std::string element = "k:";
  for (const std::string_view name : keys) {
    const json::Value* value = item.if_contains(name);
    if (!value && name != "protocol") continue;
    element.append(element.size() > 2 ? ",\"" : "{\"").append(name).append("\":");
    element += value ? json::SerializeCanonical(*value) : "\"TCP\"";
  }
  return element + "}";
}

std::string SetElement(const json::Value& item) { return "v:" + json::SerializeCanonical(item); }

void Collect(const json::Value& value, std::string_view field, FieldPath& path, FieldSet& out);

void CollectList(const array& items, std::string_view field, FieldPath& path, FieldSet& out) {
  const auto* keys = KeysOf(field, items);
  if (!keys && !IsSet(field)) {
    out.insert(path);
    return;
  }
  for (const json::Value& item : items) {
    const Longer below(path, "", keys ? KeyElement(item.get_object(), *keys) : SetElement(item));
    if (keys)
      Collect(item, {}, path, out);
    else
      out.insert(path);
  }
}

void Collect(const json::Value& value, std::string_view field, FieldPath& path, FieldSet& out) {
  if (value.is_array()) return CollectList(value.get_array(), field, path, out);
  if (!value.is_object() || value.get_object().empty()) {
    out.insert(path);
    return;
  }
  for (const auto& [key, member] : value.get_object()) {
    if (member.is_null()) continue;
    const Longer below(path, "f:", key);
    Collect(member, key, path, out);
  }
}

// The fields of two objects but for those below what is equal in both: those of `before` into `had`, those of `after`
// into `has`.
void CollectDifferent(const json::Value& before, const json::Value& after, std::string_view field, FieldPath& path,
                      FieldSet& had, FieldSet& has) {
  const object* old = before.if_object();
  const object* now = after.if_object();
  if (!old || !now || old->empty() || now->empty()) {
    Collect(before, field, path, had);
    Collect(after, field, path, has);
    return;
  }
  for (const auto& [key, member] : *old) {
    const json::Value* other = now->if_contains(key);
    if (other && Same(*other, member)) continue;
    const Longer below(path, "f:", key);
    if (other && !other->is_null() && !member.is_null())
      CollectDifferent(member, *other, key, path, had, has);
    else if (!member.is_null())
      Collect(member, key, path, had);
    else if (other)
      Collect(*other, key, path, has);
  }
  for (const auto& [key, member] : *now) {
    if (member.is_null() || old->contains(key)) continue;
    const Longer below(path, "f:", key);
    Collect(member, key, path, has);
  }
}

bool IsIdentity(std::string_view path) {
  static constexpr std::array<std::string_view, 2> kTop = {"f:apiVersion", "f:kind"};
  static constexpr std::array<std::string_view, 10> kMetadata = {"f:name",
                                                                 "f:namespace",
                                                                 "f:uid",
                                                                 "f:resourceVersion",
                                                                 "f:generation",
                                                                 "f:creationTimestamp",
                                                                 "f:deletionTimestamp",
                                                                 "f:deletionGracePeriodSeconds",
                                                                 "f:managedFields",
                                                                 "f:selfLink"};
  const std::string_view top = TakeElement(path);
  if (std::ranges::find(kTop, top) != kTop.end()) return true;
  return top == "f:metadata" && (path.empty() || std::ranges::find(kMetadata, TakeElement(path)) != kMetadata.end());
}

// --- Merging ---------------------------------------------------------------------------------------------------------

void Merge(json::Value& live, const json::Value& config, std::string_view field);

array::iterator FindItem(array& items, const json::Value& wanted, const std::vector<std::string_view>* keys) {
  return std::ranges::find_if(items, [&](const json::Value& item) {
    if (!keys) return item == wanted;
    return item.is_object() && KeyElement(item.get_object(), *keys) == KeyElement(wanted.get_object(), *keys);
  });
}

void MergeList(json::Value& live, const array& config, std::string_view field) {
  const auto* keys = KeysOf(field, config);
  if (!live.is_array() || (!keys && !IsSet(field))) {
    live = config;
    return;
  }
  array& items = live.get_array();
  for (const json::Value& wanted : config) {
    const auto at = FindItem(items, wanted, keys);
    if (at == items.end())
      items.push_back(wanted);
    else if (keys)
      Merge(*at, wanted, {});
  }
}

void Merge(json::Value& live, const json::Value& config, std::string_view field) {
  if (config.is_array()) return MergeList(live, config.get_array(), field);
  if (!config.is_object() || !live.is_object()) {
    live = config;
    return;
  }
  for (const auto& [key, member] : config.get_object()) {
    if (member.is_null()) continue;
    Merge(live.get_object()[key], member, key);
  }
}

// Where one step from `at` leads, or nullptr. `list` is the name of the field that `at` stands in.
json::Value* Step(json::Value& at, std::string_view element, std::string_view list) {
  if (element.starts_with("f:")) {
    return at.is_object() ? at.get_object().if_contains(element.substr(2)) : nullptr;
  }
  if (!at.is_array()) return nullptr;
  array& items = at.get_array();
  const auto* keys = element.starts_with("k:") ? KeysOf(list, items) : nullptr;
  const auto item = std::ranges::find_if(items, [&](const json::Value& value) {
    return (keys ? KeyElement(value.get_object(), *keys) : SetElement(value)) == element;
  });
  return item == items.end() ? nullptr : &*item;
}

// Where `path` leads, or nullptr. Tells `on_way` each value that a step begins from, and the step.
json::Value* At(json::Value& root, std::string_view path, auto on_way) {
  json::Value* at = &root;
  for (std::string_view list; at && !path.empty();) {
    const std::string_view element = TakeElement(path);
    on_way(*at, element);
    at = Step(*at, element, list);
    if (element.starts_with("f:")) list = element.substr(2);
  }
  return at;
}

const json::Value* At(const json::Value& root, std::string_view path) {
  return At(const_cast<json::Value&>(root), path, [](auto&&...) {});
}

// Removes the field, and what becomes empty by that.
void Remove(json::Value& root, std::string_view path) {
  std::vector<std::pair<json::Value*, std::string_view>> way;
  const json::Value* field =
      At(root, path, [&](json::Value& from, std::string_view element) { way.emplace_back(&from, element); });
  if (!field) return;
  for (; !way.empty(); way.pop_back()) {
    const auto [parent, element] = way.back();
    if (parent->is_object()) {
      parent->get_object().erase(element.substr(2));
      if (!parent->get_object().empty()) return;
    } else {
      array& items = parent->get_array();
      items.erase(items.begin() + (field - items.data()));
      if (!items.empty()) return;
    }
    field = parent;
  }
}

bool OwnedByAny(const Owners& owners, const FieldPath& path) {
  return std::ranges::any_of(owners, [&](const auto& owner) { return owner.second.fields->contains(path); });
}

std::string ConflictText(const FieldPath& path, const FieldManager& owner) {
  std::string text = "conflict with \"" + owner.name + "\": ";
  for (std::string_view rest = path; !rest.empty();) text.append(".").append(TakeElement(rest).substr(2));
  return text;
}

// Fields of `config` that somebody else owns with another value.
std::vector<std::pair<FieldManager, FieldPath>> Conflicts(const json::Value& live, const json::Value& config,
                                                          const FieldSet& wanted, const FieldManager& manager,
                                                          const Owners& owners) {
  std::vector<std::pair<FieldManager, FieldPath>> conflicts;
  for (const auto& [other, owned] : owners) {
    if (other == manager) continue;
    for (const FieldPath& path : wanted) {
      if (!owned.fields->contains(path)) continue;
      const json::Value* have = At(live, path);
      if (have && *have != *At(config, path)) conflicts.emplace_back(other, path);
    }
  }
  return conflicts;
}

void DropEmpty(Owners& owners) {
  std::erase_if(owners, [](const auto& owner) { return owner.second.fields->empty(); });
}

json::Value Nested(const FieldSet& fields) {
  json::Value root = object();
  for (const FieldPath& path : fields) {
    object* at = &root.get_object();
    for (std::string_view rest = path; !rest.empty();) {
      json::Value& next = (*at)[TakeElement(rest)];
      if (!next.is_object()) next = object();
      at = &next.get_object();
    }
  }
  return root;
}

void Flatten(const object& nested, FieldPath& path, FieldSet& out) {
  if (nested.empty() && !path.empty()) out.insert(path);
  for (const auto& [element, below] : nested) {
    if (element == "." || !below.is_object()) continue;
    const Longer inner(path, "", element);
    Flatten(below.get_object(), path, out);
  }
}

}  // namespace

// In equal objects the members nearly always stand in the same order.
bool Same(const json::Value& a, const json::Value& b) {
  if (a.is_object() && b.is_object()) {
    const object &left = a.get_object(), &right = b.get_object();
    return left.size() == right.size() &&
           std::ranges::all_of(left, [&, at = right.begin()](const auto& member) mutable {
             const auto& beside = *at++;
             if (beside.key() == member.key()) return Same(beside.value(), member.value());
             const json::Value* other = right.if_contains(member.key());
             return other && Same(*other, member.value());
           });
  }
  if (a.is_array() && b.is_array()) return std::ranges::equal(a.get_array(), b.get_array(), Same);
  return a == b;
}

FieldSet FieldsOf(const json::Value& object) {
  FieldSet fields;
  FieldPath path;
  Collect(object, {}, path, fields);
  std::erase_if(fields, [](const FieldPath& field) { return field.empty() || IsIdentity(field); });
  return fields;
}

Result<json::Value> ApplyFields(const json::Value& live, const json::Value& config, const FieldManager& manager,
                                bool force, const std::string& time, Owners& owners) {
  const FieldSet wanted = FieldsOf(config);
  const auto conflicts = Conflicts(live, config, wanted, manager, owners);
  if (!force && !conflicts.empty()) {
    return Fail(Code::kConflict, "Apply failed with " + std::to_string(conflicts.size()) +
                                     " conflict(s): " + ConflictText(conflicts[0].second, conflicts[0].first));
  }
  for (const auto& [other, path] : conflicts) owners[other].fields.Own().erase(path);
  json::Value merged = live;
  Merge(merged, config, {});
  OwnedFields& owned = owners[manager];
  const SharedFields dropped = std::exchange(owned.fields, wanted);
  for (const FieldPath& path : dropped) {
    if (!OwnedByAny(owners, path)) Remove(merged, path);
  }
  if (*dropped != wanted || !Same(merged, live)) owned.time = time;
  DropEmpty(owners);
  return merged;
}

void RecordUpdate(const json::Value& before, const json::Value& after, const FieldManager& manager,
                  const std::string& time, Owners& owners) {
  FieldSet had, has, changed;
  FieldPath root;
  CollectDifferent(before, after, {}, root, had, has);
  for (FieldSet* fields : {&had, &has})
    std::erase_if(*fields, [](const FieldPath& field) { return field.empty() || IsIdentity(field); });
  for (const FieldPath& path : has) {
    const json::Value* old = At(before, path);
    if (!old || !Same(*old, *At(after, path))) changed.insert(path);
  }
  for (auto& [owner, owned] : owners) {
    const auto loses = [&](const FieldPath& path) {
      return (had.contains(path) && !has.contains(path)) || (owner != manager && changed.contains(path));
    };
    if (std::ranges::any_of(owned.fields, loses)) std::erase_if(owned.fields.Own(), loses);
  }
  if (!changed.empty()) {
    OwnedFields& owned = owners[manager];
    owned.fields.Own().insert(changed.begin(), changed.end());
    owned.time = time;
  }
  DropEmpty(owners);
}

json::Value ManagedFieldsOf(const Owners& owners, std::string_view api_version) {
  array entries;
  for (const auto& [manager, owned] : owners) {
    object entry{{"manager", manager.name}, {"operation", manager.operation}, {"apiVersion", api_version},
                 {"time", owned.time},      {"fieldsType", "FieldsV1"},       {"fieldsV1", Nested(*owned.fields)}};
    if (!manager.subresource.empty()) entry["subresource"] = manager.subresource;
    entries.push_back(std::move(entry));
  }
  return entries;
}

Owners OwnersOf(const json::Value& managed_fields) {
  Owners owners;
  if (!managed_fields.is_array()) return owners;
  for (const json::Value& entry : managed_fields.get_array()) {
    const json::Value* fields = json::Find(entry, {"fieldsV1"});
    if (!fields || !fields->is_object()) continue;
    const FieldManager manager{std::string(json::FindText(entry, {"manager"})),
                               std::string(json::FindText(entry, {"operation"})),
                               std::string(json::FindText(entry, {"subresource"}))};
    FieldPath path;
    OwnedFields& owned = owners[manager];
    Flatten(fields->get_object(), path, owned.fields.Own());
    owned.time = json::FindText(entry, {"time"});
  }
  DropEmpty(owners);
  return owners;
}

}  // namespace capstan::kube::testing
