// What to do next in keeping one watch alive: the protocol apart from the bytes.
//
//   state                what is done in it          what ends it                          next
//   -------------------  --------------------------  ------------------------------------  -------------------------
//   Unlisted             nothing; chooses            -                                     Streaming, or Paging once
//                                                                                          streaming was refused
//   Streaming            a watch that begins with    bookmark "that was all"               Following its version
//                        the objects there           refused (400, 422), silent, or ended
//                                                    early twice in a row                  Unlisted, from now on pages
//                                                    anything else                         Unlisted
//   Paging (token)       a page of a list            the last page                         Following its version
//                                                    another page                          Paging its token
//                                                    410, 404, not readable                Unlisted
//                                                    anything else                         the same page again
//   Following (version)  a watch from the version    cut, ended, silent                    Following what it reached
//                                                    410, 404, not readable, a version
//                                                    that the server does not know yet,
//                                                    a list is asked for                   Unlisted
//
// The driver (watch.h) asks Next() for a step, takes it, and says what came of it; then asks again. Every failure waits
// before the next step, longer each time up to 30 s; a stream that has lived for ten seconds ends the count. What the
// server refuses for who we are (403) or does not have (404) is asked again every minute or so.
//
// A stream on which nothing comes is not a failure: it is opened again from the version reached. Only a version that
// the server does not have any more, or not yet, leads back to a list.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "async/backoff.h"
#include "base/error.h"
#include "base/random.h"
#include "base/time.h"
#include "kube/watch_event.h"

namespace capstan::kube {

// How a watch is doing, for logs, metrics and `doctor`.
struct WatchStatus {
  enum class Phase : uint8_t {
    kListing,    // the content is not complete yet, or being listed anew
    kLive,       // following changes
    kRetrying,   // something failed, and is tried again with growing waits
    kForbidden,  // we may not (403)
    kNotServed,  // the server does not know the kind (404): its CRD is not there
  };
  Phase phase = Phase::kListing;
  Tick since{};                     // in this phase
  std::optional<Error> error;       // what keeps it from being live; none while listing or live
  std::optional<Error> last_error;  // the last one there was
  uint64_t lists = 0;               // begun
  uint64_t streams = 0;             // opened
  uint64_t events = 0;
  uint64_t failures = 0;
  uint64_t silences = 0;  // streams given up because nothing came
};

std::string_view Name(WatchStatus::Phase phase);

class WatchState {
 public:
  // Steps. A first page and StreamInitial begin a list.
  struct StreamInitial {};
  struct ListPage {
    std::string continue_token;  // empty: the first page
  };
  struct Follow {
    uint64_t version;
  };
  using Step = std::variant<StreamInitial, ListPage, Follow>;

  WatchState(Random& random, Tick now);

  // When to take the next step; the past for at once.
  Tick not_before() const { return not_before_; }
  Step Next();

  // --- What came of the step -----------------------------------------------------------------------------------------

  void Opened(Tick now);
  // A line was taken. False: the stream is of no more use, close it.
  bool Heard(const WatchEvent& event, Tick now);
  // True: that was the last page, the list is complete.
  bool PageTaken(const PageInfo& page, Tick now);
  // The step failed: no connection, an error answer, a cut stream, or what came was no watch event.
  void Failed(const Error& error, Tick now);
  // The server ended the stream in good order.
  void Ended(Tick now);
  // Nothing came for too long. During initial events: they did not come to their end.
  void Silent(Tick now);

  // A complete list is wanted, whatever the state. No effect while one is under way.
  void RelistAsked(Tick now);

  bool following() const { return std::holds_alternative<Following>(state_); }
  const WatchStatus& status() const { return status_; }

 private:
  struct Unlisted {};
  struct Streaming {};
  struct Paging {
    std::string token;
  };
  struct Following {
    uint64_t version;
  };

  void BeginAnew() { state_ = Unlisted(); }
  void FollowFrom(uint64_t version, Tick now);
  void Enter(WatchStatus::Phase phase, Tick now);
  void BackOff(Tick now, const Error* error);
  bool LivedLong(Tick now) const { return opened_at_ && now - *opened_at_ >= kLongLife; }

  static constexpr Duration kLongLife = 10s;

  std::variant<Unlisted, Streaming, Paging, Following> state_;
  bool streaming_refused_ = false;
  int cut_short_ = 0;              // times in a row that the server ended initial events before their end
  std::optional<Tick> opened_at_;  // the stream of the present step
  Tick not_before_{};
  async::Backoff soon_;
  async::Backoff slow_;  // for what a person must change first
  WatchStatus status_;
};

}  // namespace capstan::kube
