// What stores of all kinds have in common: objects without their type, and the changes they tell of.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "json/object_meta.h"

namespace capstan::kube {

// Bytes on the heap behind a value, by its field table; an estimate.
size_t HeapBytes(const json::Type& type, const void* value);

// What tells one object, in one of its versions, from all others of its kind.
struct Identity {
  std::string_view ns;
  std::string_view name;
  std::string_view uid;
  uint64_t version;
};

// The least that `metadata` of a stored struct holds. Kinds of which there are thousands keep this much and what
// they use, in json::Text and json::SharedText; all others a json::ObjectMeta.
template <class T>
concept Metadata = requires(const T& metadata) {
  { metadata.namespace_ } -> std::convertible_to<std::string_view>;
  { metadata.name } -> std::convertible_to<std::string_view>;
  { metadata.uid } -> std::convertible_to<std::string_view>;
  { metadata.resource_version } -> std::convertible_to<uint64_t>;
};

// An object whose kind only its Store knows.
class AnyObject {
 public:
  virtual ~AnyObject() = default;
  virtual Identity id() const = 0;
  // nullptr: its kind keeps less.
  virtual const json::ObjectMeta* meta() const = 0;
  // Nothing that the store keeps of the two differs. resourceVersion does not count: it changes when anything
  // does. REQUIRES: both are of one store.
  virtual bool SameAs(const AnyObject& other) const = 0;
  // What it occupies, estimated.
  virtual size_t bytes() const = 0;
};

template <class T>
  requires Metadata<decltype(T::metadata)>
class ObjectOf final : public AnyObject {
 public:
  explicit ObjectOf(T object) : value(std::move(object)) {}
  Identity id() const override {
    const auto& m = value.metadata;
    return {m.namespace_, m.name, m.uid, m.resource_version};
  }
  const json::ObjectMeta* meta() const override {
    if constexpr (std::same_as<decltype(T::metadata), json::ObjectMeta>)
      return &value.metadata;
    else
      return nullptr;
  }
  bool SameAs(const AnyObject& other) const override { return value == static_cast<const ObjectOf&>(other).value; }
  size_t bytes() const override { return sizeof(*this) + HeapBytes(json::kType<T>, &value); }

  T value;
};

// The name of an index and one of its values: "owner" and a UID, "namespace" and a namespace, or as AddIndex
// named it.
struct IndexEntry {
  std::string_view index;
  std::string_view value;
};

// One object that became visible, visibly changed, or disappeared. All texts are good during the call only.
struct Change {
  enum class What : uint8_t { kAdded, kChanged, kRemoved };
  What what;
  std::string_view ns;
  std::string_view name;
  std::string_view uid;      // of the object there now; of the one that was there, when removed
  std::string_view old_uid;  // of the one before; another than `uid` when the name was used again; "" when added
  // Every index entry that the object was in before or is in now: who reads one of them may see something
  // else now.
  std::span<const IndexEntry> touched;
};

class AnyStore;

// Is told of changes within the call that makes them. REQUIRES: does not change the store from inside.
class StoreListener {
 public:
  virtual ~StoreListener() = default;

  // Only real changes: nothing is told when no field that the store keeps has changed.
  virtual void OnChange(const AnyStore& store, const Change& change) = 0;

  // A complete list has come in. Told for each of them; Synced() may have become true.
  virtual void OnListed(const AnyStore& store) = 0;

  // AnyStore::Served() may have changed; only where the kind is optional.
  virtual void OnServed(const AnyStore&) {}

  // The server's history has been rewritten under us (store.h, Suspect). Nothing that any store says may be
  // the ground for destroying anything until all stores have been listed again: AnyStore::Doubt, for each of them.
  virtual void OnSuspect(const AnyStore& store) = 0;
};

}  // namespace capstan::kube
