// Keeps a Feed up to date: lists once, then follows every change, for as long as it runs.
//
//   Watcher watcher(loop, client, kPods, store.AddFeed("slurm"), {.label_selector = "app=slurmd"}, seed);
//   group.Spawn("watch pods", watcher.Run());
//
// Asks for protobuf where the feed's store can read it, and takes JSON from servers that have no other (of custom
// resources, of old aggregated APIs). Lists by a streaming watch, by pages of 500 where the server does not know that. Asks for bookmarks, and
// for an end after five to ten minutes. A stream that is silent for 90 s is closed and opened again from the
// version reached; a server that sends bookmarks never lets it come to that. Nothing ends a Watcher but its
// cancellation: whatever fails is tried again (watch_state.h says how and when), shows in status(), and is
// logged when the phase changes, not at each try. What the store holds stays there meanwhile, unless the kind
// is optional and not served (store.h); Store::Live tells how far to trust it.
//
// Where the client counts, it counts too, by the store's name as `resource`: capstan_watches{phase} (how many are in
// which phase), capstan_watch_events_total, capstan_watch_lists_total, capstan_watch_streams_total,
// capstan_watch_failures_total, capstan_watch_silences_total.
#pragma once

#include <optional>
#include <string>

#include "async/event.h"
#include "async/loop.h"
#include "async/task.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/feed.h"
#include "kube/watch_figures.h"
#include "kube/watch_frames.h"
#include "kube/watch_state.h"

namespace capstan::kube {

class Watcher {
 public:
  // Which of the feed's objects, and how much of them.
  struct Selection {
    std::string label_selector;
    std::string field_selector;
    bool metadata_only = false;
  };

  // `seed` spreads waits and stream ends: another one for each Watcher of a process.
  // REQUIRES: loop, client and feed outlive it, and no other Watcher fills the feed.
  Watcher(async::Loop& loop, Client& client, Resource resource, Feed& feed, Selection selection, uint64_t seed);
  ~Watcher();

  // Runs until cancelled. REQUIRES: called once.
  async::Task<void> Run();

  const WatchStatus& status() const { return state_.status(); }

 private:
  async::Task<void> Take(WatchState::Step step);
  async::Task<void> Take(WatchState::StreamInitial);
  async::Task<void> Take(WatchState::Follow step);
  async::Task<void> Take(WatchState::ListPage step);
  async::Task<void> Stream(WatchOptions options);
  async::Task<void> Pump(net::BodyStream& stream);
  async::Task<void> TakeUnlessRelistDue(WatchState::Step step);
  async::Task<void> AwaitRelistDue();
  void Refused(const Error& error);
  bool TakeEvents();
  std::optional<Result<WatchEvent>> NextEvent();
  void Publish();
  void LogPhase();

  async::Loop& loop_;
  Client& client_;
  Resource resource_;
  Feed& feed_;
  Selection selection_;
  Random random_;
  WatchState state_;
  EventBuffer events_;
  bool frames_ = false;  // the stream at hand is protobuf
  async::Event relist_asked_;
  WatchStatus::Phase logged_ = WatchStatus::Phase::kListing;
  std::optional<WatchFigures> figures_;
};

}  // namespace capstan::kube
