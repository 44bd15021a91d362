#include "kube/store.h"

#include <algorithm>
#include <cassert>

#include "kube/feed.h"
#include "kube/store_edit.h"

namespace capstan::kube {
namespace {

constexpr std::string_view kByOwner = "owner";
constexpr std::string_view kByNamespace = "namespace";

std::vector<std::string> OwnerUid(const AnyObject& object) {
  const json::OwnerReference* owner = object.meta() ? object.meta()->ControllerOwner() : nullptr;
  return owner ? std::vector{owner->uid} : std::vector<std::string>();
}

KeyView KeyOf(const AnyObject* object) { return KeyView(object->id()); }

// Where `key` stands in a sorted list, or would. Most ask for the object that was asked for last, or for the next one:
// what stands at `guess` and behind it is looked at first.
template <class List, class Key>
size_t PlaceIn(const List& list, const KeyView& key, size_t guess, Key key_of) {
  for (const size_t at : {guess, guess + 1}) {
    if (at > list.size()) break;
    const bool far_enough = at == list.size() || !(key_of(list[at]) < key);
    if (far_enough && (at == 0 || key_of(list[at - 1]) < key)) return at;
  }
  return size_t(std::ranges::lower_bound(list, key, {}, key_of) - list.begin());
}

// Puts `after` where `before` was, or would be; either may be null.
void Exchange(std::vector<const AnyObject*>& list, const AnyObject* before, const AnyObject* after, size_t guess) {
  const auto at = list.begin() + ptrdiff_t(PlaceIn(list, KeyOf(after ? after : before), guess, &KeyOf));
  if (!before)
    list.insert(at, after);
  else if (after)
    *at = after;
  else
    list.erase(at);
}

void SortUnique(std::vector<std::string>& values) {
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
}

}  // namespace

AnyStore::AnyStore(std::string name) : name_(std::move(name)) {
  indexes_.push_back({std::string(kByOwner), &OwnerUid, nullptr, {}, {}, {}});
}
AnyStore::~AnyStore() = default;

// --- Feeds -----------------------------------------------------------------------------------------------------------

Feed& AnyStore::AddFeed(std::string_view ns) {
  for (const auto& feed : feeds_) {
    if (feed->ns() == ns) return *feed;
  }
  assert((feeds_.empty() || (!ns.empty() && !feeds_[0]->ns().empty())) && "scopes must not overlap");
  return *feeds_.emplace_back(std::make_unique<Feed>(*this, std::string(ns)));
}

void AnyStore::RemoveFeed(std::string_view ns) {
  const auto at = std::ranges::find(feeds_, ns, [](const auto& feed) { return std::string_view(feed->ns()); });
  if (at == feeds_.end()) return;
  (*at)->DropAll();
  const bool served = (*at)->served();
  feeds_.erase(at);
  if (!served && listener_) listener_->OnServed(*this);
}

Feed* AnyStore::FeedFor(std::string_view ns) const {
  for (const auto& feed : feeds_) {
    if (feed->ns().empty() || feed->ns() == ns) return feed.get();
  }
  return nullptr;
}

std::vector<Feed*> AnyStore::feeds() const {
  std::vector<Feed*> all;
  for (const auto& feed : feeds_) all.push_back(feed.get());
  return all;
}

bool AnyStore::Synced() const {
  return !feeds_.empty() && std::ranges::all_of(feeds_, [](const auto& feed) { return feed->synced(); });
}

bool AnyStore::Served() const {
  return std::ranges::all_of(feeds_, [](const auto& feed) { return feed->served(); });
}

bool AnyStore::Live(Tick now, Duration silence) const {
  return !feeds_.empty() && std::ranges::all_of(feeds_, [&](const auto& feed) { return feed->Live(now, silence); });
}

bool AnyStore::Suspect() const {
  return std::ranges::any_of(feeds_, [](const auto& feed) { return feed->suspect(); });
}

void AnyStore::AskRelist() {
  for (const auto& feed : feeds_) feed->AskRelist();
}

void AnyStore::Doubt() {
  for (const auto& feed : feeds_) feed->Doubt();
}

// --- Own writes ------------------------------------------------------------------------------------------------------

Result<bool> AnyStore::Answered(std::string_view object_json, Tick now) {
  CAPSTAN_TRY(std::unique_ptr<AnyObject> object, DecodeObject(object_json));
  return AnsweredAny(std::move(object), now);
}

Result<bool> AnyStore::AnsweredAny(std::unique_ptr<AnyObject> object, Tick now) {
  if (object->id().name.empty()) return Fail(Code::kInvalid, "metadata.name is empty, the answer holds no object");
  Feed* feed = FeedFor(object->id().ns);
  return feed != nullptr && feed->Answered(std::move(object), now);
}

void AnyStore::Deleted(const Key& key, std::string_view uid, Tick now) {
  if (Feed* feed = FeedFor(key.ns)) feed->Deleted(key, uid, now);
}

// --- Reading ---------------------------------------------------------------------------------------------------------

const AnyObject* AnyStore::FindAny(std::string_view ns, std::string_view name) const {
  const size_t at = Place(ns, name);
  const bool there = at < entries_.size() && KeyView(entries_[at].id()) == KeyView(ns, name);
  return there ? entries_[at].visible() : nullptr;
}

std::span<const AnyObject* const> AnyStore::InNamespaceAny(std::string_view ns) const {
  return std::ranges::equal_range(visible_, ns, {}, [](const AnyObject* o) { return o->id().ns; });
}

std::span<const AnyObject* const> AnyStore::ByIndexAny(std::string_view index, std::string_view value) const {
  const auto at = std::ranges::find(indexes_, index, [](const Index& i) { return std::string_view(i.name); });
  assert(at != indexes_.end() && "no such index");
  const auto list = at->lists.find(value);
  return list == at->lists.end() ? std::span<const AnyObject* const>() : list->second;
}

void AnyStore::AddIndexAny(std::string name, IndexFunction values, SameFunction same) {
  Index& index = indexes_.emplace_back(Index{std::move(name), std::move(values), std::move(same), {}, {}, {}});
  for (const AnyObject* object : visible_) Reindex(index, nullptr, object);
}

AnyStore::Counts AnyStore::counts() const {
  Counts counts{.objects = visible_.size(), .undecodable = undecodable_};
  counts.bytes = entries_.capacity() * sizeof(Entry) + visible_.capacity() * sizeof(void*);
  for (const auto& feed : feeds_) {
    counts.provisional += feed->provisional_.size();
    counts.tombstones += feed->tombstones_.size();
  }
  for (const Entry& entry : entries_) {
    for (const AnyObject* object : {entry.heard.get(), entry.own.get()}) counts.bytes += object ? object->bytes() : 0;
  }
  for (const Index& index : indexes_) {
    for (const auto& [value, list] : index.lists) {
      counts.bytes += sizeof(value) + sizeof(list) + value.capacity() + list.capacity() * sizeof(void*);
    }
  }
  return counts;
}

// --- Changing --------------------------------------------------------------------------------------------------------

size_t AnyStore::Place(std::string_view ns, std::string_view name) const {
  const auto key_of = [](const Entry& entry) { return KeyView(entry.id()); };
  return last_place_ = PlaceIn(entries_, KeyView(ns, name), last_place_, key_of);
}

AnyStore::Entry* AnyStore::FindEntry(std::string_view ns, std::string_view name) {
  const size_t at = Place(ns, name);
  return at < entries_.size() && KeyView(entries_[at].id()) == KeyView(ns, name) ? &entries_[at] : nullptr;
}

void AnyStore::Settle(const AnyObject* before, const AnyObject* after) {
  if (before != after) {
    Exchange(visible_, before, after, last_place_);
    for (Index& index : indexes_) Reindex(index, before, after);
    if (listener_ && !(before && after && before->SameAs(*after))) Tell(before, after);
  }
  retired_.clear();
}

void AnyStore::Reindex(Index& index, const AnyObject* before, const AnyObject* after) {
  index.before = before ? index.values(*before) : std::vector<std::string>();
  index.after = after ? index.values(*after) : std::vector<std::string>();
  SortUnique(index.before);
  SortUnique(index.after);
  for (const std::string& value : index.before) {
    const auto list = index.lists.find(value);
    Exchange(list->second, before, std::ranges::binary_search(index.after, value) ? after : nullptr, 0);
    if (list->second.empty()) index.lists.erase(list);
  }
  for (const std::string& value : index.after) {
    if (!std::ranges::binary_search(index.before, value)) Exchange(index.lists[value], nullptr, after, 0);
  }
}

void AnyStore::Tell(const AnyObject* before, const AnyObject* after) {
  const Identity id = (after ? after : before)->id();
  std::vector<IndexEntry> touched{{kByNamespace, id.ns}};
  for (const Index& index : indexes_) {
    if (before && after && index.same && index.before == index.after && index.same(*before, *after)) continue;
    for (const std::string& value : index.before) touched.push_back({index.name, value});
    for (const std::string& value : index.after) {
      if (!std::ranges::binary_search(index.before, value)) touched.push_back({index.name, value});
    }
  }
  using What = Change::What;
  listener_->OnChange(*this, {.what = !before ? What::kAdded
                                      : after ? What::kChanged
                                              : What::kRemoved,
                              .ns = id.ns,
                              .name = id.name,
                              .uid = id.uid,
                              .old_uid = before ? before->id().uid : std::string_view(),
                              .touched = touched});
}

}  // namespace capstan::kube
