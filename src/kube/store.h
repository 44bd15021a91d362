// The objects of one kind as last heard from the API server, one small struct T each. Watchers fill it through Feeds,
// reconcilers read it.
//
//   Store<Pod> pods("pods");
//   pods.AddIndex("node", [](const Pod& pod) { return std::vector{pod.spec.node_name}; });
//   Watcher watcher(loop, client, kPods, pods.AddFeed("slurm"), {}, seed);           // watch.h
//   for (const Pod& pod : pods.OwnedBy(uid)) ...
//
// T: a struct with `metadata` and the fields in use, `static const json::Schema& Schema()` and == (which leaves out
// metadata.resource_version). metadata is a json::ObjectMeta or, for kinds of which there are thousands, a struct of
// fewer fields (object.h, Metadata); those have no owners in the index, and are not for the engine to write.
//
// Thread      the loop's, no locks. Pointers and lists are good until the next non-const call; none is kept over a
//             co_await.
// Order       everywhere by namespace, then name, so that equal worlds give equal plans.
// Never back  only a higher resourceVersion replaces an object, over whichever connection it comes. resourceVersions
//             are compared within one feed only; its frontier is the highest that the watch has reached: everything up
//             to it has been heard.
// Own writes  show at once. The answer to a write enters provisionally, if it is above the frontier, and covers what
//             the watch said. It leaves when the frontier has passed it: by then the watch has confirmed it, or knows
//             better.
// Own deletes show at once. The UID stays hidden, whatever late events say, until the watch says DELETED or a list that
//             was begun later shows the truth. A namesake with another UID is another object.
// Not for ever: what has been provisional or hidden for two minutes asks for a list.
// Lists       are merged while they arrive, and what they did not name is swept at their end: nothing is held twice,
//             and nothing disappears before the list is complete. A listed version older than what the watch had said
//             already is set aside: either the server lags and catches up before the list ends, or history was
//             rewritten.
// Rewritten history (etcd restored from a backup) shows in a complete list below the frontier, or in one that holds
//             older versions than were seen. Then the list replaces everything, and Suspect() holds until the next
//             complete list.
// Kinds that are not served (404) keep what was known of them, and whoever waits for a first list waits on; unless they
//             are optional (SetOptional): then the server's 404 is as good as a list of nothing.
// Absence     proves nothing by itself. Who would destroy something because of an absence proves it by a fresh read
//             first.
#pragma once

#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "json/codec.h"
#include "json/protobuf.h"
#include "kube/object.h"
#include "kube/resource.h"
#include "kube/watch_event.h"

namespace capstan::kube {

class Feed;

// All of a Store that does not depend on T.
class AnyStore {
 public:
  // `name` appears in logs and metrics, and is another one for each kind of a process: "pods", "deployments.apps".
  explicit AnyStore(std::string name);
  virtual ~AnyStore();
  AnyStore(const AnyStore&) = delete;
  AnyStore& operator=(const AnyStore&) = delete;

  const std::string& name() const { return name_; }

  // Its struct can be decoded from protobuf as well (json/protobuf.h), which Watchers then ask for.
  virtual bool ReadsProtobuf() const = 0;

  // At most one; it outlives the store or is removed with nullptr.
  void SetListener(StoreListener* listener) { listener_ = listener; }

  // The API server may lack this kind (its CRD is not installed) without anybody waiting for it: while it does, each
  // feed counts as listed, and is empty. Before the Watchers run.
  void SetOptional(bool optional) { optional_ = optional; }

  // --- What is watched -----------------------------------------------------------------------------------------------

  // A place that one Watcher writes to: the objects of namespace `ns`, or all with "". The store owns it.
  // REQUIRES: scopes do not overlap. Asking again for the same scope returns the same feed.
  Feed& AddFeed(std::string_view ns);

  // Forgets the scope and its objects (the listener is told of each). REQUIRES: its Watcher has ended.
  void RemoveFeed(std::string_view ns);

  // The feed whose scope holds `ns`; nullptr: that namespace is not watched, and says nothing by being empty.
  Feed* FeedFor(std::string_view ns) const;
  std::vector<Feed*> feeds() const;
  bool watched() const { return !feeds_.empty(); }

  // There is a feed, and every one has been listed completely once: what is not there was not there then. Of an optional
  // kind also: is not served. It is false again from when that kind appears until its first list is complete.
  bool Synced() const;

  // False from when the server said of an optional kind that there is none, to any of the feeds, until all of them have
  // listed it.
  bool Served() const;

  // Synced, and every feed was heard from since `now` - `silence` (bookmarks count) and is not listing anew.
  // Else the content is old and nobody can say how old.
  bool Live(Tick now, Duration silence) const;

  // History was rewritten: nothing is destroyed on the ground of this store until it has been listed once
  // more.
  bool Suspect() const;

  // Asks every feed for a complete list, soon. While one is under way, a further one follows.
  void AskRelist();

  // Suspect() from now on, until every feed has been listed anew: another kind's history was rewritten, so this one's
  // was, too, whether or not its watch has noticed.
  void Doubt();

  // --- What we did ourselves -----------------------------------------------------------------------------------------

  // The object as the answer to our write had it. True when it now shows; false when what is known is as new,
  // when its UID was deleted by us, or when its namespace is not watched. kInvalid: not an object of this
  // kind.
  Result<bool> Answered(std::string_view object_json, Tick now);

  // The API server told us that this object is gone (not only that its deletion has begun): it disappears
  // now.
  void Deleted(const Key& key, std::string_view uid, Tick now);

  // --- Figures -------------------------------------------------------------------------------------------------------
  struct Counts {
    size_t objects = 0;
    size_t provisional = 0;    // own answers that the watch has not confirmed yet
    size_t tombstones = 0;     // own deletes that the watch has not confirmed yet
    size_t bytes = 0;          // estimate of all memory held; walks over everything
    uint64_t undecodable = 0;  // objects that could not be read since start; the last good content is kept
  };
  Counts counts() const;
  size_t size() const { return visible_.size(); }
  bool empty() const { return visible_.empty(); }

  // --- For code that knows no types (the engine) -------------------------------------------------------------------

  bool HasIn(std::string_view ns) const { return !InNamespaceAny(ns).empty(); }
  // REQUIRES: there is such an index.
  bool HasIn(std::string_view index, std::string_view value) const { return !ByIndexAny(index, value).empty(); }
  // nullptr: not there, as far as we know. REQUIRES: the kind keeps a json::ObjectMeta.
  const json::ObjectMeta* MetaOf(const Key& key) const {
    const AnyObject* object = FindAny(key.ns, key.name);
    return object != nullptr ? object->meta() : nullptr;
  }
  // Calls `visit` with the metadata of everything whose controller is `uid`.
  template <class Visit>
  void ForEachOwnedBy(std::string_view uid, Visit visit) const {
    for (const AnyObject* object : ByIndexAny("owner", uid)) visit(*object->meta());
  }

 protected:
  using List = std::vector<const AnyObject*>;  // sorted by key
  using IndexFunction = std::function<std::vector<std::string>(const AnyObject&)>;
  using SameFunction = std::function<bool(const AnyObject& before, const AnyObject& after)>;

  const AnyObject* FindAny(std::string_view ns, std::string_view name) const;
  std::span<const AnyObject* const> All() const { return visible_; }
  std::span<const AnyObject* const> InNamespaceAny(std::string_view ns) const;
  std::span<const AnyObject* const> ByIndexAny(std::string_view index, std::string_view value) const;
  void AddIndexAny(std::string name, IndexFunction values, SameFunction same);
  Result<bool> AnsweredAny(std::unique_ptr<AnyObject> object, Tick now);

  // How the texts of the protocol become objects. `readable` as for json::Decoder. kInvalid names the field.
  struct DecodedEvent {
    std::string type;
    std::unique_ptr<AnyObject> object;
  };
  struct DecodedPage {
    PageInfo info;
    std::vector<std::unique_ptr<AnyObject>> objects;
  };
  virtual Result<DecodedEvent> DecodeEvent(std::string_view line, size_t readable) const = 0;
  virtual Result<DecodedPage> DecodePage(std::string_view text) const = 0;
  virtual Result<std::unique_ptr<AnyObject>> DecodeObject(std::string_view text) const = 0;
  // REQUIRES: ReadsProtobuf().
  virtual Result<std::unique_ptr<AnyObject>> DecodeProtobuf(std::string_view message) const = 0;

 private:
  friend class Feed;

  // All that is known under one key.
  struct Entry {
    std::unique_ptr<AnyObject> heard;  // by the watch; may be null
    std::unique_ptr<AnyObject> own;    // the answer to our write, newer than `heard`; may be null
    uint32_t listed = 0;               // the number of the last list that named it
    bool hidden = false;               // `heard` was deleted by us

    const AnyObject* visible() const { return own ? own.get() : hidden ? nullptr : heard.get(); }
    Identity id() const { return own ? own->id() : heard->id(); }
  };
  struct Index {
    std::string name;
    IndexFunction values;
    SameFunction same;  // nullptr: every difference counts
    std::map<std::string, List, std::less<>> lists;
    std::vector<std::string> before, after;  // scratch of one change
  };

  size_t Place(std::string_view ns, std::string_view name) const;
  Entry* FindEntry(std::string_view ns, std::string_view name);
  // Runs `change` on the entry of this key, made when missing and dropped when left empty, and tells what
  // changed.
  template <class Change>
  void Edit(std::string_view ns, std::string_view name, Change change);
  void Retire(std::unique_ptr<AnyObject> object) { retired_.push_back(std::move(object)); }
  void Settle(const AnyObject* before, const AnyObject* after);
  void Reindex(Index& index, const AnyObject* before, const AnyObject* after);
  void Tell(const AnyObject* before, const AnyObject* after);

  std::string name_;
  bool optional_ = false;
  StoreListener* listener_ = nullptr;
  std::vector<std::unique_ptr<Feed>> feeds_;
  std::vector<Entry> entries_;     // sorted by key
  mutable size_t last_place_ = 0;  // that was asked for; a guess, right or wrong
  List visible_;
  std::vector<Index> indexes_;                       // the first one is by owner
  std::vector<std::unique_ptr<AnyObject>> retired_;  // replaced in this change, needed until it has been told
  uint64_t undecodable_ = 0;
};

// Objects of type T in a Store, by namespace, then name.
template <class T>
class ObjectList {
 public:
  explicit ObjectList(std::span<const AnyObject* const> objects) : objects_(objects) {}

  class Iterator {
   public:
    using value_type = T;
    using difference_type = ptrdiff_t;
    using iterator_category = std::forward_iterator_tag;
    Iterator() = default;
    explicit Iterator(const AnyObject* const* at) : at_(at) {}
    const T& operator*() const { return static_cast<const ObjectOf<T>*>(*at_)->value; }
    const T* operator->() const { return &**this; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(at_++); }
    bool operator==(const Iterator&) const = default;

   private:
    const AnyObject* const* at_ = nullptr;
  };

  Iterator begin() const { return Iterator(objects_.data()); }
  Iterator end() const { return Iterator(objects_.data() + objects_.size()); }
  size_t size() const { return objects_.size(); }
  bool empty() const { return objects_.empty(); }
  const T& operator[](size_t i) const { return static_cast<const ObjectOf<T>*>(objects_[i])->value; }

 private:
  std::span<const AnyObject* const> objects_;
};

template <class T>
class Store final : public AnyStore {
 public:
  using AnyStore::Answered;
  using AnyStore::AnyStore;

  // nullptr: not there, as far as we know.
  const T* Find(const Key& key) const { return Typed(FindAny(key.ns, key.name)); }

  ObjectList<T> All() const { return ObjectList<T>(AnyStore::All()); }
  ObjectList<T> InNamespace(std::string_view ns) const { return ObjectList<T>(InNamespaceAny(ns)); }

  // Those whose controller (the owner reference that says controller: true) is `uid`.
  ObjectList<T> OwnedBy(std::string_view uid) const { return By("owner", uid); }

  // Those for which the function given to AddIndex returned `value`. REQUIRES: there is such an index.
  ObjectList<T> By(std::string_view index, std::string_view value) const {
    return ObjectList<T>(ByIndexAny(index, value));
  }

  // `values` depends on the object alone. Objects there already are indexed at once. `same`, if given: who reads the index
  // looks at nothing in which these two versions of an object differ; its entries do not count as touched then.
  void AddIndex(std::string name, std::function<std::vector<std::string>(const T&)> values,
                std::function<bool(const T& before, const T& after)> same = nullptr) {
    const auto of = [](const AnyObject& object) -> const T& { return static_cast<const ObjectOf<T>&>(object).value; };
    SameFunction same_any;
    if (same) {
      same_any = [of, same = std::move(same)](const AnyObject& before, const AnyObject& after) {
        return same(of(before), of(after));
      };
    }
    AddIndexAny(
        std::move(name), [of, values = std::move(values)](const AnyObject& object) { return values(of(object)); },
        std::move(same_any));
  }

  bool ReadsProtobuf() const override { return reads_protobuf_; }

  // The same as from JSON, for who has decoded the answer already.
  bool Answered(T object, Tick now) { return *AnsweredAny(Box(std::move(object)), now); }

 private:
  static const T* Typed(const AnyObject* object) {
    return object ? &static_cast<const ObjectOf<T>*>(object)->value : nullptr;
  }
  static std::unique_ptr<AnyObject> Box(T object) { return std::make_unique<ObjectOf<T>>(std::move(object)); }

  Result<DecodedEvent> DecodeEvent(std::string_view line, size_t readable) const override {
    WatchLine<T> event;
    CAPSTAN_CHECK_OK(decoder_.DecodeInto(event, line, readable));
    return DecodedEvent{std::move(event.type), Box(std::move(event.object))};
  }
  Result<DecodedPage> DecodePage(std::string_view text) const override {
    CAPSTAN_TRY(ListPage<T> page, json::Decode<ListPage<T>>(text));
    DecodedPage decoded{std::move(page.metadata), {}};
    decoded.objects.reserve(page.items.size());
    for (T& item : page.items) decoded.objects.push_back(Box(std::move(item)));
    return decoded;
  }
  Result<std::unique_ptr<AnyObject>> DecodeObject(std::string_view text) const override {
    CAPSTAN_TRY(T object, json::Decode<T>(text));
    return Box(std::move(object));
  }
  Result<std::unique_ptr<AnyObject>> DecodeProtobuf(std::string_view message) const override {
    auto object = std::make_unique<ObjectOf<T>>(T());
    CAPSTAN_CHECK_OK(json::DecodeProtobufValue(json::kType<T>, &object->value, message));
    return object;
  }

  const bool reads_protobuf_ = json::ReadsProtobuf(json::kType<T>);
  mutable json::Decoder decoder_;  // its memory serves every line of every watch
};

}  // namespace capstan::kube
