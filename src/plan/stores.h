// The stores of one service: one per kind, found by type or by resource.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kube/store.h"
#include "plan/slurm/node_index.h"

namespace capstan::plan {

namespace internal {
// One address per type; the type's name as far as Stores is concerned.
template <class T>
inline constexpr char kTypeTag = 0;
}  // namespace internal

// What of a kind is watched.
struct Watching {
  std::string label_selector = {};
  std::string field_selector = {};
  bool metadata_only = false;  // all else of T is not sent, and stays empty; also when we have written it ourselves
  bool everywhere = false;     // in all namespaces, not only where custom resources live (watches.h)
  // The API server may lack the kind (its CRD is not installed): while it does, the kind counts as listed and is empty,
  // and nobody waits for it. Whether it is there, World::Served says; that it has come is noticed within a minute or so.
  bool optional = false;
};

// What a kind's store is called: "pods", "deployments.apps".
std::string StoreName(const kube::Resource& resource);

// A kind with a store is a struct T as store.h wants it, with T::kResource.
class Stores {
 public:
  struct Entry {
    kube::Resource resource;
    Watching watching;
    std::unique_ptr<kube::AnyStore> store;
  };

  // Adds the store of T. REQUIRES: not added yet.
  template <class T>
  kube::Store<T>& Add(Watching watching = {}) {
    auto store = std::make_unique<kube::Store<T>>(StoreName(T::kResource));
    store->SetOptional(watching.optional);
    kube::Store<T>& added = *store;
    by_type_[&internal::kTypeTag<T>] = store.get();
    all_.push_back({.resource = T::kResource, .watching = std::move(watching), .store = std::move(store)});
    return added;
  }

  // REQUIRES: added.
  template <class T>
  const kube::Store<T>& Of() const {
    return static_cast<const kube::Store<T>&>(*by_type_.at(&internal::kTypeTag<T>));
  }

  // The store that keeps objects of `resource`; nullptr when none does.
  kube::AnyStore* Find(const kube::Resource& resource) const;
  const Entry* FindEntry(const kube::Resource& resource) const;

  const std::vector<Entry>& all() const { return all_; }

  // By what SlurmView::By finds nodes. REQUIRES: said once at most, before anything is decided.
  void IndexSlurmNodes(NodeEntry entry) { node_entry_ = entry; }
  NodeEntry node_entry() const { return node_entry_; }  // nullptr: by nothing

  // Every kind that is watched has been listed completely (AnyStore::Synced), and none is suspect of telling an old story. While false,
  // nothing destructive is done.
  bool Trusted() const;

 private:
  std::map<const void*, kube::AnyStore*> by_type_;
  std::vector<Entry> all_;
  NodeEntry node_entry_ = nullptr;
};

}  // namespace capstan::plan
