// The objects of a modelled API server: what etcd and the registry do, without HTTP and without faults.
//
// Modelled: resourceVersions (one counter), uid, generation, creation and deletion timestamps, finalizers,
// preconditions, status kept apart, field ownership (field_ownership.h), garbage collection by owner
// references, terminating namespaces, pods that take time to stop, a history that watches read and that can
// be compacted, and backups. Not modelled: validation, defaults, admission, controllers. Those are the
// world's part: a test or simulator plays them through the same calls. Nor: who owns an object that holds others (the
// "." of managedFields), and that nobody's fields are tracked in an object that was created without any.
//
// Time comes from the caller's clock; what happens later (collection, pods stopping) asks for it by
// `schedule`.
#pragma once

#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "json/value.h"
#include "kube/resource.h"
#include "kube/testing/field_ownership.h"

namespace capstan::kube::testing {

// What the server answers instead of an object.
struct Refusal {
  int status;
  std::string reason;  // "NotFound", "Conflict", ...
  std::string message;
  std::string cause = {};  // the reason of its one cause: "DisruptionBudget"; "": it has none
  std::string field = {};  // what that cause is about: "metadata.uid"
};

template <class T>
using Answered = std::expected<T, Refusal>;

inline std::unexpected<Refusal> Refuse(int status, std::string reason, std::string message) {
  return std::unexpected(Refusal{status, std::move(reason), std::move(message)});
}

// One version of one object: in its table, in the history and in answers it is the same one.
using Stored = std::shared_ptr<const json::Value>;

// One thing that happened to one object, as watches tell it.
struct HistoryRecord {
  uint64_t version;
  Stored before;  // null: it was created
  Stored after;   // null: it is gone
  Stored last;    // when gone: as it was, with the version of its end
};

struct FakeTable {
  Resource resource;
  bool has_status;      // has a status subresource
  bool has_generation;  // counts the changes of its spec
  std::map<Key, Stored> objects;
  std::deque<HistoryRecord> history;
  uint64_t compacted = 0;                    // history begins behind this version
  std::pair<Stored, std::string> told = {};  // the version that was told last, to who wrote it or watches, and its text
  std::map<Key, std::pair<Stored, Owners>> owners = {};  // of some of them: what their managedFields say
};

const std::string& TextOf(FakeTable& table, const Stored& object);

struct Deletion {
  std::string uid;               // precondition; empty: any
  std::string resource_version;  // precondition; empty: any
  std::string propagation;       // "Background", "Foreground", "Orphan"; empty: Background
  std::optional<int64_t> grace_seconds;
};

class FakeObjects {
 public:
  struct Clock {
    std::function<Time()> now;
    std::function<void(Duration, std::function<void()>)> schedule;  // call back later
  };
  explicit FakeObjects(Clock clock);

  // Makes a kind known. Those of resource.h are from the start.
  void Serve(const Resource& resource, bool has_status = true);

  FakeTable* Table(std::string_view group, std::string_view version, std::string_view plural);
  FakeTable& Table(const Resource& resource);  // REQUIRES: served

  const json::Value* Find(const Resource& resource, const Key& key) const;
  uint64_t version() const { return version_; }

  // --- Writes --------------------------------------------------------------------------------------------------------
  // All return the object as it is afterwards. A write that changes nothing keeps its resourceVersion.

  Answered<Stored> Create(FakeTable& table, std::string_view ns, json::Value object, const FieldManager& manager);

  // Puts what `change` makes of the object in its place, restricted to what `subresource` may touch.
  using Edit = std::function<Answered<json::Value>(const json::Value& live)>;
  Answered<Stored> Update(FakeTable& table, const Key& key, const FieldManager& manager, const Edit& change);

  // Of an object what a write of its status needs to see: not its spec, which may be large.
  static json::Value StatusPartOf(const json::Value& object);

  // The refusal of a patch that would make `live` an object of another UID; nullopt: it would not.
  static std::optional<Refusal> RefuseOtherUid(const json::Value& live, const json::Value& after);

  Answered<Stored> Apply(FakeTable& table, const Key& key, json::Value config, const FieldManager& manager, bool force);

  // The object while it ends; null when it is gone at once.
  Answered<Stored> Delete(FakeTable& table, const Key& key, const Deletion& deletion);

  // --- The rest of the world -----------------------------------------------------------------------------------------

  // How long after its deletion began a pod is gone, as its kubelet has it; nullopt: never, its node is away.
  // Without it a second, at most the grace period.
  std::function<std::optional<Duration>(const json::Value& pod)> pod_stops_after;

  // How long the garbage collector takes to notice.
  Duration collection_delay = 200ms;

  // Told of every change, after it.
  std::function<void(FakeTable&)> on_change;

  // Watches that begin at or before the present version find it gone (410).
  void CompactHistory();

  // The present objects, and etcd put back to them: versions go on from there, and history before it is lost.
  struct Backup {
    uint64_t version;
    std::map<std::string, std::map<Key, Stored>> objects;  // by table
  };
  Backup MakeBackup() const;
  void Restore(const Backup& backup);

 private:
  Answered<Stored> Commit(FakeTable& table, const Key& key, json::Value after, const FieldManager& manager,
                          std::optional<Owners> applied);
  const Owners& OwnersOf(FakeTable& table, const Key& key);
  void FillIn(const FakeTable& table, const Key& key, json::Value& value);
  void Remember(FakeTable& table, HistoryRecord record);
  Stored Write(FakeTable& table, const Key& key, json::Value after);
  void Remove(FakeTable& table, const Key& key);
  void BeginDeletion(FakeTable& table, const Key& key, Duration grace, const std::string& finalizer);
  void StopPodLater(FakeTable& table, const Key& key);
  void CollectLater();
  void Collect();
  bool CollectOrphaned(FakeTable& table, const std::vector<std::string>& alive);
  bool EndForeground(FakeTable& table);
  bool EmptyNamespaces();
  void Orphan(const std::string& owner_uid);
  std::vector<std::string> Uids() const;
  std::string NewUid();
  std::string Now() const { return FormatRfc3339(clock_.now()); }

  Clock clock_;
  std::map<std::string, FakeTable> tables_;
  uint64_t version_ = 100;
  uint64_t uids_ = 0;
  std::set<std::string> gone_;  // UIDs of what was removed
  bool collecting_ = false;
};

}  // namespace capstan::kube::testing
