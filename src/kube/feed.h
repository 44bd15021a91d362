// Where one Watcher pours what it hears into a Store: the objects of one namespace, or all of them.
//
// A Feed knows how far the server's history has been heard (the frontier) and applies the rules that store.h
// promises. It is driven by calls alone: no I/O, no clock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/store.h"
#include "kube/watch_event.h"

namespace capstan::kube {

class Feed {
 public:
  // For AnyStore::AddFeed.
  Feed(AnyStore& store, std::string ns) : store_(store), ns_(std::move(ns)) {}

  AnyStore& store() const { return store_; }
  const std::string& ns() const { return ns_; }  // "" when all

  // --- What the Watcher hears ----------------------------------------------------------------------------------------

  // One line of a watch: decodes it, puts what it says into the store and returns it. `readable` bytes from
  // line.data() on may be read (json::Decoder). An object that cannot be decoded is counted and logged, and
  // what was known of it stays. kInvalid: not a watch event at all; the stream is broken.
  Result<WatchEvent> Take(std::string_view line, size_t readable, Tick now);
  // The same for a frame of a watch that comes as protobuf. REQUIRES: the store reads it.
  Result<WatchEvent> TakeFrame(std::string_view frame, Tick now);

  // A complete list begins: as a streaming watch (Take ends it when the bookmark comes) or as pages.
  void BeginList();
  // As JSON or as protobuf. kInvalid: not a list.
  Result<PageInfo> TakePage(std::string_view text);
  // The list was complete, as of `version`.
  void EndList(uint64_t version, Tick now);

  // The server does not know the kind (404). Of an optional kind (AnyStore::SetOptional) that is the end of all that was
  // known: nothing is there, as for who starts now. Of others it changes nothing.
  void NotServed(Tick now);

  // The server said something that proves the connection alive, or accepted a watch from the frontier on.
  void Heard(Tick now) { heard_at_ = now; }

  // --- What is known -------------------------------------------------------------------------------------------------

  uint64_t frontier() const { return frontier_; }
  bool listing() const { return listing_; }
  bool synced() const { return synced_; }
  bool suspect() const { return suspect_; }
  bool served() const { return served_; }  // false: it was not when last asked, and has not been listed since
  bool Live(Tick now, Duration silence) const {
    return synced_ && !listing_ && heard_at_ && now - *heard_at_ <= silence;
  }

  // Asks for a complete list that begins later than now.
  void AskRelist();
  // What it shows may be of another history: suspect until such a list has come in.
  void Doubt() {
    suspect_ = true;
    AskRelist();
  }
  // `tell` is called by AskRelist; for the Watcher. Empty: nobody.
  void OnRelistAsked(std::function<void()> tell) { tell_relist_ = std::move(tell); }
  // When a complete list should begin; Tick::min() when asked for, nullopt when nothing wants one.
  std::optional<Tick> RelistDue() const;

 private:
  friend class AnyStore;

  struct Provisional {
    uint64_t version;
    Tick since;
    uint32_t list;  // the last list that had begun by then
    Key key;
  };
  struct Tombstone {
    std::string uid;
    Tick since;
    uint32_t list;  // as above
    Key key;
  };

  bool Answered(std::unique_ptr<AnyObject> object, Tick now);
  void Deleted(const Key& key, std::string_view uid, Tick now);

  Result<WatchEvent> TakeUnread(std::string_view line, const Error& why, Tick now);
  WatchEvent HeedBookmark(const json::ObjectMeta& meta, Tick now);
  WatchEvent HeedUnread(WatchEvent::Type type, const json::ObjectMeta& meta, const Error& why, Tick now);
  WatchEvent Heed(WatchEvent::Type type, std::unique_ptr<AnyObject> object, Tick now);
  Result<PageInfo> TakePageOfProtobuf(std::string_view text);
  Result<void> TakeItem(std::string_view message);
  void Put(std::unique_ptr<AnyObject> object);
  void PutListed(std::unique_ptr<AnyObject> object);
  void Hear(std::unique_ptr<AnyObject> object);
  void Drop(const Identity& gone);
  void DropAll();
  void NoteUnread(const Identity& id, const Error& why);
  void Advance(uint64_t version);
  void ForgetAside(std::string_view ns, std::string_view name);
  void Sweep();
  void RetireTombstones();
  template <class Pick>
  void Uncover(Pick pick);
  bool Buried(std::string_view uid) const;
  std::vector<Key> KeysInScope(bool unlisted_only) const;

  AnyStore& store_;
  std::string ns_;
  uint64_t frontier_ = 0;
  uint32_t list_ = 0;  // number of the last list that began
  bool listing_ = false;
  bool synced_ = false;
  bool served_ = true;  // false for optional kinds only
  bool suspect_ = false;
  bool relist_asked_ = false;
  std::function<void()> tell_relist_;
  std::optional<Tick> heard_at_;
  std::vector<Provisional> provisional_;
  std::vector<Tombstone> tombstones_;
  std::vector<std::unique_ptr<AnyObject>> aside_;  // listed in versions older than the frontier and not known like that
};

}  // namespace capstan::kube
