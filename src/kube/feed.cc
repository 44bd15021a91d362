#include "kube/feed.h"

#include <algorithm>
#include <bit>

#include "base/log.h"
#include "base/text.h"
#include "json/wire.h"
#include "kube/errors.h"
#include "kube/protobuf.h"
#include "kube/store_edit.h"

namespace capstan::kube {
namespace {

// How long something of our own may stand unconfirmed before the server is asked for everything.
constexpr Duration kConfirmTimeout = 2min;

constexpr std::string_view kInitialEventsEnd = "k8s.io/initial-events-end";

using Type = WatchEvent::Type;

std::optional<Type> ParseType(std::string_view text) {
  if (text == "ADDED") return Type::kAdded;
  if (text == "MODIFIED") return Type::kModified;
  if (text == "DELETED") return Type::kDeleted;
  if (text == "BOOKMARK") return Type::kBookmark;
  if (text == "ERROR") return Type::kError;
  return std::nullopt;
}

// What is left to read of an object whose other fields are not what their table says.
struct MetadataOnly {
  json::ObjectMeta metadata;
  static const json::Schema& Schema() {
    static const json::Schema schema =
        json::Object<MetadataOnly>({json::Field<&MetadataOnly::metadata>("metadata").Number(1)});
    return schema;
  }
};

std::unexpected<Error> UnknownType(std::string_view type) {
  return Fail(Code::kInvalid, "the watch sent an event of type " + JsonQuoted(type.substr(0, 40)));
}

Identity IdentityOf(const json::ObjectMeta& meta) {
  return {meta.namespace_, meta.name, meta.uid, meta.resource_version};
}

}  // namespace

// --- Hearing ---------------------------------------------------------------------------------------------------------

Result<WatchEvent> Feed::Take(std::string_view line, size_t readable, Tick now) {
  auto decoded = store_.DecodeEvent(line, readable);
  if (!decoded) return TakeUnread(line, decoded.error(), now);
  const auto type = ParseType(decoded->type);
  if (!type || *type == Type::kError) return TakeUnread(line, Error(Code::kInvalid, "unknown type"), now);
  if (*type != Type::kBookmark) return Heed(*type, std::move(decoded->object), now);
  CAPSTAN_TRY(const auto bookmark, json::Decode<WatchLine<MetadataOnly>>(line));
  return HeedBookmark(bookmark.object.metadata, now);
}

Result<WatchEvent> Feed::TakeFrame(std::string_view frame, Tick now) {
  CAPSTAN_TRY(const ProtobufEvent event, ReadProtobufEvent(frame));
  const auto type = ParseType(event.type);
  if (!type) return UnknownType(event.type);
  if (*type == Type::kError) return WatchEvent{.type = *type, .error = ErrorFromStatus(event.object)};
  CAPSTAN_TRY(const ProtobufObject object, OpenProtobuf(event.object));
  if (*type != Type::kBookmark) {
    auto decoded = store_.DecodeProtobuf(object.message);
    if (decoded) return Heed(*type, *std::move(decoded), now);
    CAPSTAN_TRY(const auto unread, json::DecodeProtobuf<MetadataOnly>(object.message));
    return HeedUnread(*type, unread.metadata, decoded.error(), now);
  }
  CAPSTAN_TRY(const auto bookmark, json::DecodeProtobuf<MetadataOnly>(object.message));
  return HeedBookmark(bookmark.metadata, now);
}

// The store's struct need not hold the annotation that ends a list; bookmarks are few.
WatchEvent Feed::HeedBookmark(const json::ObjectMeta& meta, Tick now) {
  WatchEvent event{.type = Type::kBookmark, .version = meta.resource_version};
  heard_at_ = now;
  event.list_complete = meta.Annotation(std::string(kInitialEventsEnd)) == "true";
  if (event.list_complete && listing_) EndList(event.version, now);
  if (!listing_) Advance(event.version);
  return event;
}

// ERROR events carry a Status, whose fields have other types than the object's; hence this second look at the
// line.
Result<WatchEvent> Feed::TakeUnread(std::string_view line, const Error& why, Tick now) {
  CAPSTAN_TRY(const auto event, json::Decode<WatchLine<json::Raw>>(line));
  const auto type = ParseType(event.type);
  if (!type) return UnknownType(event.type);
  if (*type == Type::kError) return WatchEvent{.type = *type, .error = ErrorFromStatus(event.object.text)};
  CAPSTAN_TRY(const MetadataOnly object, json::Decode<MetadataOnly>(event.object.text));
  return HeedUnread(*type, object.metadata, why, now);
}

WatchEvent Feed::HeedUnread(Type type, const json::ObjectMeta& meta, const Error& why, Tick now) {
  heard_at_ = now;
  const Identity id = IdentityOf(meta);
  if (type == Type::kDeleted)
    Drop(id);
  else
    NoteUnread(id, why);
  if (!listing_) Advance(id.version);
  return {.type = type, .version = id.version};
}

WatchEvent Feed::Heed(Type type, std::unique_ptr<AnyObject> object, Tick now) {
  const WatchEvent event{.type = type, .version = object->id().version};
  heard_at_ = now;
  if (type == Type::kDeleted) {
    Drop(object->id());
  } else if (listing_) {
    PutListed(std::move(object));
  } else {
    Put(std::move(object));
  }
  // Initial events come in any order; how far they reach only the bookmark behind them says.
  if (!listing_) Advance(event.version);
  return event;
}

void Feed::NoteUnread(const Identity& id, const Error& why) {
  if (std::has_single_bit(++store_.undecodable_)) {
    log::Error("object cannot be read, its last good content is kept", {{"store", store_.name()},
                                                                        {"namespace", id.ns},
                                                                        {"name", id.name},
                                                                        {"error", why.message()},
                                                                        {"so_far", store_.undecodable_}});
  }
  if (AnyStore::Entry* entry = store_.FindEntry(id.ns, id.name)) entry->listed = list_;
}

void Feed::Put(std::unique_ptr<AnyObject> object) {
  const Identity id = object->id();
  const AnyStore::Entry* entry = store_.FindEntry(id.ns, id.name);
  if (entry && entry->heard && id.version <= entry->heard->id().version) return;
  Hear(std::move(object));
}

void Feed::PutListed(std::unique_ptr<AnyObject> object) {
  if (!served_) synced_ = false;  // it is now, and half a first list is no picture
  const Identity id = object->id();
  AnyStore::Entry* entry = store_.FindEntry(id.ns, id.name);
  const AnyObject* heard = entry ? entry->heard.get() : nullptr;
  ForgetAside(id.ns, id.name);
  if (heard && heard->id().version == id.version && heard->SameAs(*object)) {
    entry->listed = list_;
    return;
  }
  // Up to the frontier everything has been heard. What is older than that and not known, or known newer, is a
  // server that lags, and will say more before the list ends, or another history.
  const uint64_t known = heard ? heard->id().version : frontier_;
  if (synced_ && id.version <= known)
    aside_.push_back(std::move(object));
  else
    Hear(std::move(object));
}

void Feed::Hear(std::unique_ptr<AnyObject> object) {
  const Identity id = object->id();
  store_.Edit(id.ns, id.name, [&](AnyStore::Entry& entry) {
    store_.Retire(std::move(entry.heard));
    entry.heard = std::move(object);
    entry.listed = list_;
    entry.hidden = Buried(id.uid);
    if (entry.own && entry.own->id().version <= id.version) store_.Retire(std::move(entry.own));
  });
  std::erase_if(provisional_, [&](const Provisional& own) {
    return own.version <= id.version && own.key.name == id.name && own.key.ns == id.ns;
  });
}

void Feed::Drop(const Identity& gone) {
  ForgetAside(gone.ns, gone.name);
  const bool ours = std::erase_if(tombstones_, [&](const Tombstone& t) { return t.uid == gone.uid; }) > 0;
  const AnyStore::Entry* entry = store_.FindEntry(gone.ns, gone.name);
  if (!entry) return;
  // A selector that no longer matches says DELETED too; an answer newer than that may match again.
  const auto ends = [&](const std::unique_ptr<AnyObject>& object) {
    return object && object->id().uid == gone.uid && (ours || object->id().version <= gone.version);
  };
  store_.Edit(gone.ns, gone.name, [&](AnyStore::Entry& entry) {
    if (ends(entry.own)) store_.Retire(std::move(entry.own));
    if (!ends(entry.heard)) return;
    store_.Retire(std::move(entry.heard));
    entry.hidden = false;
  });
}

void Feed::DropAll() {
  for (const Key& key : KeysInScope(false)) {
    store_.Edit(key.ns, key.name, [&](AnyStore::Entry& entry) {
      store_.Retire(std::move(entry.heard));
      store_.Retire(std::move(entry.own));
    });
  }
}

void Feed::NotServed(Tick now) {
  if (!store_.optional_) return;
  DropAll();
  provisional_.clear();
  tombstones_.clear();
  aside_.clear();
  frontier_ = 0;  // what comes under this name later has a history of its own
  listing_ = false;
  synced_ = true;
  heard_at_ = now;
  suspect_ = suspect_ && relist_asked_;  // as at the end of a list
  const bool served = std::exchange(served_, false);
  if (!store_.listener_) return;
  if (served) store_.listener_->OnServed(store_);
  store_.listener_->OnListed(store_);
}

// --- The frontier ----------------------------------------------------------------------------------------------------

void Feed::Advance(uint64_t version) {
  if (version <= frontier_) return;
  frontier_ = version;
  Uncover([&](const Provisional& own) { return own.version <= version; });
}

// Lets go of own answers that `pick` chooses: what the watch said shows again.
template <class Pick>
void Feed::Uncover(Pick pick) {
  std::vector<Provisional> leaving;
  std::erase_if(provisional_, [&](Provisional& own) { return pick(own) && (leaving.push_back(own), true); });
  for (const Provisional& own : leaving) {
    store_.Edit(own.key.ns, own.key.name, [&](AnyStore::Entry& entry) { store_.Retire(std::move(entry.own)); });
  }
}

void Feed::AskRelist() {
  relist_asked_ = true;
  if (tell_relist_) tell_relist_();
}

std::optional<Tick> Feed::RelistDue() const {
  if (relist_asked_) return Tick::min();
  std::optional<Tick> oldest;
  for (const Provisional& own : provisional_) oldest = std::min(oldest.value_or(own.since), own.since);
  for (const Tombstone& own : tombstones_) oldest = std::min(oldest.value_or(own.since), own.since);
  return oldest ? std::optional(*oldest + kConfirmTimeout) : std::nullopt;
}

// --- Lists -----------------------------------------------------------------------------------------------------------

void Feed::BeginList() {
  ++list_;
  listing_ = true;
  relist_asked_ = false;
  aside_.clear();
}

Result<PageInfo> Feed::TakePage(std::string_view text) {
  if (IsProtobuf(text)) return TakePageOfProtobuf(text);
  if (auto page = store_.DecodePage(text)) {
    for (auto& object : page->objects) PutListed(std::move(object));
    return std::move(page->info);
  }
  // One object that cannot be read must not hide the others.
  CAPSTAN_TRY(auto page, json::Decode<ListPage<json::Raw>>(text));
  for (const json::Raw& item : page.items) {
    auto object = store_.DecodeObject(item.text);
    if (object) {
      PutListed(std::move(*object));
      continue;
    }
    CAPSTAN_TRY(const MetadataOnly unread, json::Decode<MetadataOnly>(item.text));
    NoteUnread(IdentityOf(unread.metadata), object.error());
  }
  return std::move(page.metadata);
}

// A list of any kind: metadata, then the items.
Result<PageInfo> Feed::TakePageOfProtobuf(std::string_view text) {
  CAPSTAN_TRY(const ProtobufObject list, OpenProtobuf(text));
  PageInfo info;
  json::Wire wire(list.message);
  for (json::Wire::Field field; wire.Next(field);) {
    if (field.number == 1) CAPSTAN_CHECK_OK(json::DecodeProtobufValue(json::kType<PageInfo>, &info, field.bytes));
    if (field.number == 2) CAPSTAN_CHECK_OK(TakeItem(field.bytes));
  }
  if (wire.broken() || info.version == 0) return Fail(Code::kInvalid, "the answer is not a whole list");
  return info;
}

// One object that cannot be read must not hide the others.
Result<void> Feed::TakeItem(std::string_view message) {
  auto object = store_.DecodeProtobuf(message);
  if (object) return PutListed(*std::move(object)), Result<void>();
  CAPSTAN_TRY(const auto unread, json::DecodeProtobuf<MetadataOnly>(message));
  NoteUnread(IdentityOf(unread.metadata), object.error());
  return {};
}

void Feed::EndList(uint64_t version, Tick now) {
  const bool rewritten = version < frontier_ || !aside_.empty();
  for (auto& object : std::exchange(aside_, {})) Hear(std::move(object));
  Sweep();
  RetireTombstones();
  store_.entries_.shrink_to_fit();
  store_.visible_.shrink_to_fit();
  // What was answered before the list began is in it, unless history was rewritten: then it is in neither.
  Uncover([&](const Provisional& own) { return own.list < list_ || rewritten; });
  listing_ = false;
  synced_ = true;
  const bool served = std::exchange(served_, true);
  heard_at_ = now;
  if (rewritten) {
    log::Warn(
        "a complete list is older than what was known; taking it, and listing once more before anything is "
        "destroyed",
        {{"store", store_.name()}, {"namespace", ns_}, {"listed", version}, {"known", frontier_}});
    frontier_ = version;
    relist_asked_ = true;
  }
  suspect_ = rewritten || (suspect_ && relist_asked_);  // a list that had begun before the doubt does not end it
  Advance(version);
  if (!store_.listener_) return;
  if (rewritten) store_.listener_->OnSuspect(store_);
  if (!served) store_.listener_->OnServed(store_);
  store_.listener_->OnListed(store_);
}

void Feed::Sweep() {
  for (const Key& key : KeysInScope(true)) {
    store_.Edit(key.ns, key.name, [&](AnyStore::Entry& entry) {
      store_.Retire(std::move(entry.heard));
      entry.hidden = false;
    });
  }
}

void Feed::RetireTombstones() {
  std::vector<Tombstone> leaving;
  std::erase_if(tombstones_, [&](Tombstone& own) { return own.list < list_ && (leaving.push_back(own), true); });
  for (const Tombstone& own : leaving) {
    if (store_.FindEntry(own.key.ns, own.key.name) == nullptr) continue;
    store_.Edit(own.key.ns, own.key.name,
                [&](AnyStore::Entry& entry) { entry.hidden = entry.heard && Buried(entry.heard->id().uid); });
  }
}

void Feed::ForgetAside(std::string_view ns, std::string_view name) {
  std::erase_if(aside_, [&](const auto& object) { return KeyView(object->id()) == KeyView(ns, name); });
}

std::vector<Key> Feed::KeysInScope(bool unlisted_only) const {
  std::vector<Key> keys;
  for (const AnyStore::Entry& entry : store_.entries_) {
    const Identity id = entry.id();
    if (!ns_.empty() && id.ns != ns_) continue;
    if (!unlisted_only || (entry.heard && entry.listed != list_))
      keys.push_back({std::string(id.ns), std::string(id.name)});
  }
  return keys;
}

// --- Own writes ------------------------------------------------------------------------------------------------------

bool Feed::Answered(std::unique_ptr<AnyObject> object, Tick now) {
  const Identity id = object->id();
  if (id.version <= frontier_ || Buried(id.uid)) return false;
  if (const AnyStore::Entry* entry = store_.FindEntry(id.ns, id.name)) {
    if (entry->heard && entry->heard->id().version >= id.version) return false;
    if (entry->own && entry->own->id().version >= id.version) return false;
  }
  const Key key{std::string(id.ns), std::string(id.name)};
  std::erase_if(provisional_, [&](const Provisional& own) { return own.key == key; });
  provisional_.push_back({id.version, now, list_, key});
  store_.Edit(key.ns, key.name, [&](AnyStore::Entry& entry) {
    store_.Retire(std::move(entry.own));
    entry.own = std::move(object);
  });
  return true;
}

void Feed::Deleted(const Key& key, std::string_view uid, Tick now) {
  if (uid.empty() || Buried(uid)) return;
  tombstones_.push_back({std::string(uid), now, list_, key});
  if (store_.FindEntry(key.ns, key.name) == nullptr) return;
  store_.Edit(key.ns, key.name, [&](AnyStore::Entry& entry) {
    if (entry.own && entry.own->id().uid == uid) {
      store_.Retire(std::move(entry.own));
      std::erase_if(provisional_, [&](const Provisional& own) { return own.key == key; });
    }
    entry.hidden = entry.heard && entry.heard->id().uid == uid;
  });
}

bool Feed::Buried(std::string_view uid) const {
  return std::ranges::any_of(tombstones_, [&](const Tombstone& own) { return own.uid == uid; });
}

}  // namespace capstan::kube
