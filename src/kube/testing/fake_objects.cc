#include "kube/testing/fake_objects.h"

#include <algorithm>
#include <cassert>

#include "base/hash.h"

namespace capstan::kube::testing {
namespace {

using boost::json::array;
using boost::json::object;
using json::FindText;

constexpr std::string_view kForeground = "foregroundDeletion";

std::string TableName(std::string_view group, std::string_view version, std::string_view plural) {
  return std::string(group) + "/" + std::string(version) + "/" + std::string(plural);
}

std::string Title(const FakeTable& table, const Key& key) {
  const std::string group = table.resource.group.empty() ? "" : "." + std::string(table.resource.group);
  return std::string(table.resource.plural) + group + " \"" + key.name + "\"";
}

std::unexpected<Refusal> NotFound(const FakeTable& table, const Key& key) {
  return Refuse(404, "NotFound", Title(table, key) + " not found");
}

std::unexpected<Refusal> Conflict(const FakeTable& table, const Key& key, const std::string& why) {
  return Refuse(409, "Conflict", "Operation cannot be fulfilled on " + Title(table, key) + ": " + why);
}

object& Meta(json::Value& value) { return json::MakeObject(value, {"metadata"}); }

void Keep(object& into, const json::Value& from, std::string_view name) {
  const json::Value* value = json::Find(from, {"metadata", name});
  if (value)
    into[name] = *value;
  else
    into.erase(name);
}

// What a write must not change, put back; what only the server writes, as it was.
void KeepServersFields(json::Value& after, const json::Value& live) {
  object& meta = Meta(after);
  for (const auto name : {"name", "namespace", "uid", "generation", "creationTimestamp", "deletionTimestamp",
                          "deletionGracePeriodSeconds", "resourceVersion"}) {
    Keep(meta, live, name);
  }
  for (const auto name : {"apiVersion", "kind"}) {
    if (const auto* value = live.get_object().if_contains(name)) after.get_object()[name] = *value;
  }
}

bool SameBut(const object& a, const object& b, std::initializer_list<std::string_view> ignored) {
  size_t left = b.size();
  for (const std::string_view name : ignored) left -= b.contains(name);
  for (const auto& [name, member] : a) {
    if (std::ranges::find(ignored, std::string_view(name)) != ignored.end()) continue;
    const json::Value* other = b.if_contains(name);
    if (!other || !Same(*other, member)) return false;
    --left;
  }
  return left == 0;
}

// Whether the part of the object that generation counts is the same.
bool SameSpec(const json::Value& a, const json::Value& b) {
  return SameBut(a.get_object(), b.get_object(), {"metadata", "status"});
}

bool SameContent(const json::Value& a, const json::Value& b) {
  return SameBut(a.get_object(), b.get_object(), {"metadata"}) &&
         SameBut(a.at("metadata").get_object(), b.at("metadata").get_object(), {"resourceVersion"});
}

// `live` with the status and the managedFields of `changed`.
json::Value WithStatusOf(const json::Value& live, json::Value changed) {
  object after;
  after.reserve(live.get_object().size() + 1);
  for (const auto& [name, member] : live.get_object()) {
    if (name == "status" || name == "metadata")
      after.emplace(name, object());
    else
      after.emplace(name, member);
  }
  object meta;
  meta.reserve(live.at("metadata").get_object().size() + 1);
  for (const auto& [name, member] : live.at("metadata").get_object()) {
    if (name == "managedFields")
      meta.emplace(name, nullptr);
    else
      meta.emplace(name, member);
  }
  json::Value* fields = json::Find(changed, {"metadata", "managedFields"});
  meta["managedFields"] = fields ? std::move(*fields) : json::Value();
  after["metadata"] = std::move(meta);
  json::Value* status = json::Find(changed, {"status"});
  after["status"] = status ? std::move(*status) : json::Value(object());
  return after;
}

// The server does not keep them.
void DropEmptyLists(json::Value& value) {
  object& meta = Meta(value);
  for (const auto name : {"finalizers", "ownerReferences", "labels", "annotations"}) {
    const json::Value* list = meta.if_contains(name);
    if (!list) continue;
    if ((list->is_array() && list->get_array().empty()) || (list->is_object() && list->get_object().empty()))
      meta.erase(name);
  }
}

bool HasFinalizers(const json::Value& value) {
  const json::Value* finalizers = json::Find(value, {"metadata", "finalizers"});
  return finalizers && finalizers->is_array() && !finalizers->get_array().empty();
}

bool Terminating(const json::Value& value) { return !FindText(value, {"metadata", "deletionTimestamp"}).empty(); }

int64_t Number(const json::Value* value, int64_t otherwise) {
  return value && value->is_int64() ? value->get_int64() : otherwise;
}

// The UIDs in metadata.ownerReferences.
std::vector<std::string> OwnerUids(const json::Value& value) {
  std::vector<std::string> uids;
  const json::Value* references = json::Find(value, {"metadata", "ownerReferences"});
  if (!references || !references->is_array()) return uids;
  for (const json::Value& reference : references->get_array()) uids.emplace_back(FindText(reference, {"uid"}));
  return uids;
}

Owners OwnersIn(const json::Value& value) {
  const json::Value* fields = json::Find(value, {"metadata", "managedFields"});
  return fields ? kube::testing::OwnersOf(*fields) : Owners();
}

bool SameOwners(const json::Value& a, const json::Value& b) {
  const json::Value* of_a = json::Find(a, {"metadata", "managedFields"});
  const json::Value* of_b = json::Find(b, {"metadata", "managedFields"});
  return of_a && of_b && Same(*of_a, *of_b);
}

bool Contains(const auto& range, const auto& value) {
  return std::ranges::find(range, value) != std::ranges::end(range);
}

const std::vector<Resource>& KindsWithoutGeneration() {
  static const std::vector<Resource> kinds = {
      kServices, kPersistentVolumeClaims, kNodes,  kNamespaces, kConfigMaps,
      kSecrets,  kServiceAccounts,        kEvents, kLeases,     kControllerRevisions};
  return kinds;
}

// Whether a finalizer of `after` is none of `live`.
bool AddsFinalizer(const json::Value& live, const json::Value& after) {
  const json::Value* old = json::Find(live, {"metadata", "finalizers"});
  const json::Value* now = json::Find(after, {"metadata", "finalizers"});
  if (!now || !now->is_array()) return false;
  return std::ranges::any_of(now->get_array(), [&](const json::Value& finalizer) {
    return !old || !old->is_array() || !Contains(old->get_array(), finalizer);
  });
}

void EraseIf(json::Value& list, auto predicate) {
  array kept;
  for (json::Value& item : list.get_array()) {
    if (!predicate(item)) kept.push_back(std::move(item));
  }
  list = std::move(kept);
}

}  // namespace

FakeObjects::FakeObjects(Clock clock) : clock_(std::move(clock)) {
  for (const Resource& resource : {kPods, kServices, kPersistentVolumeClaims, kNodes, kNamespaces, kStatefulSets,
                                   kDeployments, kJobs, kPodDisruptionBudgets, kCustomResourceDefinitions}) {
    Serve(resource);
  }
  for (const Resource& resource : {kConfigMaps, kSecrets, kServiceAccounts, kEvents, kLeases, kControllerRevisions}) {
    Serve(resource, false);
  }
}

void FakeObjects::Serve(const Resource& resource, bool has_status) {
  tables_.try_emplace(TableName(resource.group, resource.version, resource.plural),
                      FakeTable{resource, has_status, !Contains(KindsWithoutGeneration(), resource), {}, {}, version_});
}

FakeTable* FakeObjects::Table(std::string_view group, std::string_view version, std::string_view plural) {
  const auto at = tables_.find(TableName(group, version, plural));
  return at == tables_.end() ? nullptr : &at->second;
}

FakeTable& FakeObjects::Table(const Resource& resource) {
  FakeTable* table = Table(resource.group, resource.version, resource.plural);
  assert(table && "this kind is not served");
  return *table;
}

const json::Value* FakeObjects::Find(const Resource& resource, const Key& key) const {
  const auto& objects = const_cast<FakeObjects*>(this)->Table(resource).objects;
  const auto at = objects.find(key);
  return at == objects.end() ? nullptr : at->second.get();
}

std::string FakeObjects::NewUid() {
  const std::string hex = Sha256Hex("uid " + std::to_string(++uids_));
  return hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-4" + hex.substr(13, 3) + "-a" + hex.substr(17, 3) + "-" +
         hex.substr(20, 12);
}

const std::string& TextOf(FakeTable& table, const Stored& object) {
  if (table.told.first != object) table.told = {object, json::Serialize(*object)};
  return table.told.second;
}

// --- Writes ----------------------------------------------------------------------------------------------------------

Answered<Stored> FakeObjects::Create(FakeTable& table, std::string_view ns, json::Value value,
                                     const FieldManager& manager) {
  if (!value.is_object()) return Refuse(400, "BadRequest", "the body is not an object");
  if (FindText(value, {"metadata", "name"}).empty()) {
    const std::string prefix(FindText(value, {"metadata", "generateName"}));
    if (prefix.empty())
      return Refuse(422, "Invalid", "metadata.name: Required value: name or generateName is required");
    Meta(value)["name"] = prefix + NewUid().substr(0, 5);
  }
  const Key key{table.resource.namespaced ? std::string(ns) : "", std::string(FindText(value, {"metadata", "name"}))};
  if (const auto given = FindText(value, {"metadata", "namespace"}); !given.empty() && given != ns) {
    return Refuse(400, "BadRequest", "the namespace of the object does not match the namespace on the request");
  }
  if (!FindText(value, {"metadata", "resourceVersion"}).empty()) {
    return Refuse(500, "", "resourceVersion should not be set on objects to be created");
  }
  if (table.objects.contains(key)) return Refuse(409, "AlreadyExists", Title(table, key) + " already exists");
  if (table.resource.namespaced) {
    const json::Value* home = Find(kNamespaces, {"", key.ns});
    if (home && Terminating(*home)) return Refuse(403, "Forbidden", "namespace " + key.ns + " is being terminated");
  }
  FillIn(table, key, value);
  Owners owners;
  if (manager.operation == "Apply")
    owners[manager] = {FieldsOf(value), Now()};
  else
    RecordUpdate(object(), value, manager, Now(), owners);
  Meta(value)["managedFields"] = ManagedFieldsOf(owners, table.resource.ApiVersion());
  return Write(table, key, std::move(value));
}

// What only the server says of a new object.
void FakeObjects::FillIn(const FakeTable& table, const Key& key, json::Value& value) {
  value.get_object()["apiVersion"] = table.resource.ApiVersion();
  value.get_object()["kind"] = table.resource.kind;
  if (table.has_status) value.get_object().erase("status");
  // Only now: a reference into the tree does not outlive a new member above it.
  object& meta = Meta(value);
  if (!key.ns.empty()) meta["namespace"] = key.ns;
  meta["uid"] = NewUid();
  meta["creationTimestamp"] = Now();
  if (table.has_generation)
    meta["generation"] = 1;
  else
    meta.erase("generation");
  for (const auto name : {"deletionTimestamp", "deletionGracePeriodSeconds"}) meta.erase(name);
  DropEmptyLists(value);
}

Answered<Stored> FakeObjects::Update(FakeTable& table, const Key& key, const FieldManager& manager,
                                     const Edit& change) {
  const auto at = table.objects.find(key);
  if (at == table.objects.end()) return NotFound(table, key);
  Answered<json::Value> after = change(*at->second);
  if (!after) return std::unexpected(std::move(after).error());
  return Commit(table, key, std::move(*after), manager, std::nullopt);
}

Answered<Stored> FakeObjects::Apply(FakeTable& table, const Key& key, json::Value config, const FieldManager& manager,
                                    bool force) {
  if (!config.is_object()) return Refuse(400, "BadRequest", "the body is not an object");
  if (json::Find(config, {"metadata", "managedFields"})) {
    return Refuse(400, "BadRequest", "metadata.managedFields must be nil");
  }
  const auto at = table.objects.find(key);
  const std::string uid(FindText(config, {"metadata", "uid"}));
  if (at == table.objects.end()) {
    if (!manager.subresource.empty()) return NotFound(table, key);
    if (!uid.empty())
      return Conflict(table, key,
                      "uid mismatch: the provided object specified uid " + uid + ", and no existing object was found");
    Meta(config)["name"] = key.name;
    return Create(table, key.ns, std::move(config), manager);
  }
  // Only what the subresource may touch is applied.
  const bool of_status = manager.subresource == "status";
  object part;
  for (auto& [name, value] : config.get_object()) {
    if (of_status ? name != "status" : name == "status" && table.has_status) continue;
    part.emplace(name, name == "metadata" ? value : std::move(value));
  }
  Owners owners = OwnersOf(table, key);
  if (const auto refusal = RefuseOtherUid(*at->second, config)) return std::unexpected(*refusal);
  const json::Value seen = of_status ? StatusPartOf(*at->second) : json::Value();
  const json::Value wanted(std::move(part));
  auto merged = ApplyFields(of_status ? seen : *at->second, wanted, manager, force, Now(), owners);
  if (!merged) return Refuse(409, "Conflict", merged.error().message());
  for (const auto name : {"uid", "resourceVersion"}) Keep(Meta(*merged), config, name);
  return Commit(table, key, std::move(*merged), manager, std::move(owners));
}

json::Value FakeObjects::StatusPartOf(const json::Value& value) {
  object part;
  for (const auto& [name, member] : value.get_object()) {
    if (name != "metadata" && name != "status" && name != "kind" && name != "apiVersion") continue;
    part.emplace(name, member);
  }
  return part;
}

std::optional<Refusal> FakeObjects::RefuseOtherUid(const json::Value& live, const json::Value& after) {
  const auto uid = FindText(after, {"metadata", "uid"});
  if (uid.empty() || uid == FindText(live, {"metadata", "uid"})) return std::nullopt;
  return Refusal{422, "Invalid", "metadata.uid: Invalid value: \"" + std::string(uid) + "\": field is immutable",
                 "FieldValueInvalid", "metadata.uid"};
}

Answered<Stored> FakeObjects::Commit(FakeTable& table, const Key& key, json::Value after, const FieldManager& manager,
                                     std::optional<Owners> applied) {
  Stored present = table.objects.at(key);
  const json::Value& live = *present;
  const auto uid = FindText(after, {"metadata", "uid"});
  if (!uid.empty() && uid != FindText(live, {"metadata", "uid"})) {
    return Conflict(table, key,
                    "Precondition failed: UID in precondition: " + std::string(uid) +
                        ", UID in object meta: " + std::string(FindText(live, {"metadata", "uid"})));
  }
  const auto version = FindText(after, {"metadata", "resourceVersion"});
  if (!version.empty() && version != FindText(live, {"metadata", "resourceVersion"})) {
    return Conflict(table, key,
                    "the object has been modified; please apply your changes to the latest version and try again");
  }
  if (Terminating(live) && AddsFinalizer(live, after)) {
    return Refuse(422, "Invalid",
                  "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted");
  }
  // Who replaces an object need not tell whose its fields are.
  const json::Value* told = json::Find(after, {"metadata", "managedFields"});
  if (!told || told->is_null()) Keep(Meta(after), live, "managedFields");
  if (manager.subresource == "status") {
    after = WithStatusOf(live, std::move(after));
  } else if (table.has_status) {
    const json::Value* status = json::Find(live, {"status"});
    const json::Value* given = json::Find(after, {"status"});
    if (!status)
      after.get_object().erase("status");
    else if (!given || !Same(*given, *status))
      after.get_object()["status"] = *status;
  }
  KeepServersFields(after, live);
  DropEmptyLists(after);
  if (table.has_generation && !SameSpec(live, after))
    Meta(after)["generation"] = Number(json::Find(live, {"metadata", "generation"}), 0) + 1;

  Owners owners = applied ? std::move(*applied) : SameOwners(live, after) ? OwnersOf(table, key) : OwnersIn(after);
  if (!applied) RecordUpdate(live, after, manager, Now(), owners);
  Meta(after)["managedFields"] = ManagedFieldsOf(owners, table.resource.ApiVersion());
  if (SameContent(live, after)) return present;
  const bool still_stopping = Number(json::Find(live, {"metadata", "deletionGracePeriodSeconds"}), 0) > 0;
  if (Terminating(after) && !HasFinalizers(after) && HasFinalizers(live) && !still_stopping) {
    Remove(table, key);
    return std::make_shared<const json::Value>(std::move(after));
  }
  Stored written = Write(table, key, std::move(after));
  table.owners[key] = {written, std::move(owners)};
  return written;
}

// Read from managedFields once for each object, and then kept beside it.
const Owners& FakeObjects::OwnersOf(FakeTable& table, const Key& key) {
  const Stored& present = table.objects.at(key);
  auto& [of, owners] = table.owners[key];
  if (of != present) {
    of = present;
    owners = OwnersIn(*present);
  }
  return owners;
}

Stored FakeObjects::Write(FakeTable& table, const Key& key, json::Value after) {
  Meta(after)["resourceVersion"] = std::to_string(++version_);
  auto written = std::make_shared<const json::Value>(std::move(after));
  Stored& present = table.objects[key];
  Remember(table, {version_, std::exchange(present, written), written, nullptr});
  if (on_change) on_change(table);
  // Written by somebody who does not know yet that the owner has gone.
  if (!gone_.empty() && std::ranges::any_of(OwnerUids(*written), [&](const auto& uid) { return gone_.contains(uid); }))
    CollectLater();
  return written;
}

void FakeObjects::Remove(FakeTable& table, const Key& key) {
  const auto at = table.objects.find(key);
  json::Value last = *at->second;
  Meta(last)["resourceVersion"] = std::to_string(++version_);
  Remember(table, {version_, at->second, nullptr, std::make_shared<const json::Value>(std::move(last))});
  gone_.emplace(FindText(*at->second, {"metadata", "uid"}));
  table.owners.erase(key);
  table.objects.erase(at);
  if (on_change) on_change(table);
  CollectLater();
}

// --- Deleting --------------------------------------------------------------------------------------------------------

Answered<Stored> FakeObjects::Delete(FakeTable& table, const Key& key, const Deletion& deletion) {
  const auto at = table.objects.find(key);
  if (at == table.objects.end()) return NotFound(table, key);
  const json::Value& live = *at->second;
  const std::string uid(FindText(live, {"metadata", "uid"}));
  const std::string version(FindText(live, {"metadata", "resourceVersion"}));
  if (!deletion.uid.empty() && deletion.uid != uid) {
    return Conflict(table, key,
                    "Precondition failed: UID in precondition: " + deletion.uid + ", UID in object meta: " + uid);
  }
  if (!deletion.resource_version.empty() && deletion.resource_version != version) {
    return Conflict(table, key,
                    "Precondition failed: ResourceVersion in precondition: " + deletion.resource_version +
                        ", ResourceVersion in object meta: " + version);
  }
  if (deletion.propagation == "Orphan") Orphan(uid);
  const bool foreground = deletion.propagation == "Foreground";
  Duration grace{0};
  if (table.resource == kPods && !FindText(live, {"spec", "nodeName"}).empty()) {
    const int64_t own = Number(json::Find(live, {"spec", "terminationGracePeriodSeconds"}), 30);
    grace = std::chrono::seconds(deletion.grace_seconds.value_or(own));
  }
  const bool ends_later = HasFinalizers(live) || foreground || grace > Duration(0) || table.resource == kNamespaces;
  if (!ends_later) {
    Remove(table, key);
    return nullptr;
  }
  if (!Terminating(live)) BeginDeletion(table, key, grace, foreground ? std::string(kForeground) : "");
  return table.objects.at(key);
}

void FakeObjects::BeginDeletion(FakeTable& table, const Key& key, Duration grace, const std::string& finalizer) {
  json::Value after = *table.objects.at(key);
  object& meta = Meta(after);
  meta["deletionTimestamp"] = FormatRfc3339(clock_.now() + grace);
  meta["deletionGracePeriodSeconds"] = grace / 1s;
  if (table.has_generation) meta["generation"] = Number(json::Find(after, {"metadata", "generation"}), 0) + 1;
  if (!finalizer.empty()) {
    json::Value& finalizers = meta["finalizers"];
    if (!finalizers.is_array()) finalizers = array();
    finalizers.get_array().push_back(json::Value(finalizer));
  }
  if (table.resource == kNamespaces) json::MakeObject(after, {"status"})["phase"] = "Terminating";
  Write(table, key, std::move(after));
  if (grace > Duration(0)) StopPodLater(table, key);
  CollectLater();
}

void FakeObjects::StopPodLater(FakeTable& table, const Key& key) {
  const json::Value& pod = *table.objects.at(key);
  const Duration grace = std::chrono::seconds(Number(json::Find(pod, {"metadata", "deletionGracePeriodSeconds"}), 0));
  const auto after = pod_stops_after ? pod_stops_after(pod) : std::optional(std::min<Duration>(1s, grace));
  if (!after) return;
  clock_.schedule(*after, [this, &table, key, uid = std::string(FindText(pod, {"metadata", "uid"}))] {
    const auto at = table.objects.find(key);
    if (at == table.objects.end() || FindText(*at->second, {"metadata", "uid"}) != uid) return;
    if (!HasFinalizers(*at->second)) return Remove(table, key);
    json::Value stopped = *at->second;
    Meta(stopped)["deletionGracePeriodSeconds"] = 0;
    Write(table, key, std::move(stopped));
  });
}

void FakeObjects::Orphan(const std::string& owner_uid) {
  for (auto& [name, table] : tables_) {
    std::vector<Key> dependents;
    for (const auto& [key, value] : table.objects) {
      if (Contains(OwnerUids(*value), owner_uid)) dependents.push_back(key);
    }
    for (const Key& key : dependents) {
      json::Value after = *table.objects.at(key);
      EraseIf(Meta(after)["ownerReferences"], [&](const json::Value& r) { return FindText(r, {"uid"}) == owner_uid; });
      DropEmptyLists(after);
      Write(table, key, std::move(after));
    }
  }
}

// --- Collecting ------------------------------------------------------------------------------------------------------

void FakeObjects::CollectLater() {
  if (std::exchange(collecting_, true)) return;
  clock_.schedule(collection_delay, [this] {
    collecting_ = false;
    Collect();
  });
}

void FakeObjects::Collect() {
  bool changed = EmptyNamespaces();
  const std::vector<std::string> alive = Uids();
  for (auto& [name, table] : tables_) {
    changed |= CollectOrphaned(table, alive);
    changed |= EndForeground(table);
  }
  if (changed) CollectLater();
}

std::vector<std::string> FakeObjects::Uids() const {
  std::vector<std::string> uids;
  for (const auto& [name, table] : tables_) {
    for (const auto& [key, value] : table.objects) uids.emplace_back(FindText(*value, {"metadata", "uid"}));
  }
  std::ranges::sort(uids);
  return uids;
}

// Deletes what had owners and has none any more.
bool FakeObjects::CollectOrphaned(FakeTable& table, const std::vector<std::string>& alive) {
  std::vector<Key> orphans;
  for (const auto& [key, value] : table.objects) {
    const auto owners = OwnerUids(*value);
    const auto lives = [&](const std::string& uid) { return std::ranges::binary_search(alive, uid); };
    if (!owners.empty() && std::ranges::none_of(owners, lives) && !Terminating(*value)) orphans.push_back(key);
  }
  for (const Key& key : orphans) Delete(table, key, {});
  return !orphans.empty();
}

// An owner that is deleted in the foreground goes when its dependents have gone.
bool FakeObjects::EndForeground(FakeTable& table) {
  std::vector<Key> owners;
  for (const auto& [key, value] : table.objects) {
    const json::Value* finalizers = json::Find(*value, {"metadata", "finalizers"});
    if (Terminating(*value) && finalizers && finalizers->is_array() &&
        Contains(finalizers->get_array(), json::Value(kForeground))) {
      owners.push_back(key);
    }
  }
  bool changed = false;
  for (const Key& owner : owners) {
    const std::string uid(FindText(*table.objects.at(owner), {"metadata", "uid"}));
    size_t dependents = 0;
    for (auto& [name, other] : tables_) {
      std::vector<Key> doomed;
      for (const auto& [key, value] : other.objects) {
        if (!Contains(OwnerUids(*value), uid)) continue;
        ++dependents;
        if (!Terminating(*value)) doomed.push_back(key);
      }
      for (const Key& key : doomed) Delete(other, key, {{}, {}, "Foreground", {}});
      changed |= !doomed.empty();
    }
    if (dependents > 0) continue;
    Update(table, owner, {"kube-controller-manager", "Update", ""}, [](const json::Value& live) {
      json::Value after = live;
      EraseIf(Meta(after)["finalizers"],
              [](const json::Value& finalizer) { return finalizer == json::Value(kForeground); });
      return after;
    });
    changed = true;
  }
  return changed;
}

bool FakeObjects::EmptyNamespaces() {
  FakeTable& namespaces = Table(kNamespaces);
  std::vector<Key> ending;
  for (const auto& [key, value] : namespaces.objects) {
    if (Terminating(*value) && !HasFinalizers(*value)) ending.push_back(key);
  }
  bool changed = false;
  for (const Key& key : ending) {
    size_t left = 0;
    for (auto& [name, table] : tables_) {
      std::vector<Key> inside;
      for (const auto& [inner, value] : table.objects) {
        if (inner.ns == key.name) left++, inside.push_back(inner);
      }
      for (const Key& inner : inside) {
        if (Terminating(*table.objects.at(inner))) continue;
        Delete(table, inner, {});
        changed = true;
      }
    }
    if (left == 0) Remove(namespaces, key);
  }
  return changed;
}

}  // namespace capstan::kube::testing
