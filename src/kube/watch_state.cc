#include "kube/watch_state.h"

#include <algorithm>

#include "base/text.h"

namespace capstan::kube {
namespace {

using Phase = WatchStatus::Phase;

constexpr async::Backoff::Limits kSoon{.first = 200ms, .cap = 30s, .jitter = 0.25};
constexpr async::Backoff::Limits kSlow{.first = 2s, .cap = 60s, .jitter = 0.25};

// A server restored from a backup, or one of several that lags for long, knows versions up to below ours
// only. It says so as a timeout, which by itself would mean "again".
bool VersionIsTooNew(const Error& error) {
  return ToLower(error.message()).find("too large resource version") != std::string::npos;
}

Phase PhaseOf(const Error& error) {
  if (error.code() == Code::kForbidden) return Phase::kForbidden;
  if (error.code() == Code::kNotFound) return Phase::kNotServed;
  return Phase::kRetrying;
}

// The way back to this version is closed: it is gone, was never there, or what follows it cannot be read.
bool MustListAnew(const Error& error) {
  switch (error.code()) {
    case Code::kGone:
    case Code::kNotFound:
    case Code::kInvalid:
    case Code::kInternal:
      return true;
    default:
      return VersionIsTooNew(error);
  }
}

}  // namespace

std::string_view Name(Phase phase) {
  switch (phase) {
    case Phase::kListing:
      return "listing";
    case Phase::kLive:
      return "live";
    case Phase::kRetrying:
      return "retrying";
    case Phase::kForbidden:
      return "forbidden";
    case Phase::kNotServed:
      return "not served";
  }
  return "unknown";
}

WatchState::WatchState(Random& random, Tick now) : not_before_(now), soon_(kSoon, random), slow_(kSlow, random) {
  status_.since = now;
}

WatchState::Step WatchState::Next() {
  opened_at_.reset();
  if (const auto* following = std::get_if<Following>(&state_)) return Follow{following->version};
  if (const auto* paging = std::get_if<Paging>(&state_)) return ListPage{paging->token};
  ++status_.lists;
  if (streaming_refused_) {
    state_ = Paging();
    return ListPage();
  }
  state_ = Streaming();
  return StreamInitial();
}

void WatchState::Opened(Tick now) {
  opened_at_ = now;
  ++status_.streams;
  if (following()) Enter(Phase::kLive, now);
}

bool WatchState::Heard(const WatchEvent& event, Tick now) {
  if (event.error) {
    Failed(*event.error, now);
    return false;
  }
  ++status_.events;
  if (auto* following = std::get_if<Following>(&state_))
    following->version = std::max(following->version, event.version);
  if (std::holds_alternative<Streaming>(state_) && event.list_complete) FollowFrom(event.version, now);
  return true;
}

bool WatchState::PageTaken(const PageInfo& page, Tick now) {
  if (page.continue_token.empty()) {
    FollowFrom(page.version, now);
    return true;
  }
  state_ = Paging{page.continue_token};
  return false;
}

void WatchState::Failed(const Error& error, Tick now) {
  const bool refused = std::holds_alternative<Streaming>(state_) && !opened_at_ && error.code() == Code::kInvalid;
  if (refused) {  // an older server, or one whose streaming lists are switched off
    streaming_refused_ = true;
    BeginAnew();
    return;
  }
  ++status_.failures;
  status_.last_error = error;
  if (!std::holds_alternative<Paging>(state_) && LivedLong(now)) soon_.Reset(), slow_.Reset();
  const bool expired = error.code() == Code::kGone || VersionIsTooNew(error);
  if (std::holds_alternative<Streaming>(state_) || MustListAnew(error)) BeginAnew();
  if (expired) {
    Enter(Phase::kListing, now);
  } else {
    Enter(PhaseOf(error), now);
    status_.error = error;
  }
  BackOff(now, &error);
}

void WatchState::Ended(Tick now) {
  if (std::holds_alternative<Streaming>(state_)) {
    streaming_refused_ = ++cut_short_ >= 2;
    BeginAnew();
    BackOff(now, nullptr);
    return;
  }
  if (LivedLong(now)) {
    soon_.Reset(), slow_.Reset();
  } else {
    BackOff(now, nullptr);  // a server that ends streams as fast as they are opened
  }
}

void WatchState::Silent(Tick now) {
  ++status_.silences;
  if (std::holds_alternative<Streaming>(state_)) {
    streaming_refused_ = true;
    BeginAnew();
  } else if (LivedLong(now)) {
    soon_.Reset(), slow_.Reset();
  }
}

void WatchState::RelistAsked(Tick now) {
  if (!following()) return;
  BeginAnew();
  Enter(Phase::kListing, now);
}

void WatchState::FollowFrom(uint64_t version, Tick now) {
  state_ = Following{version};
  cut_short_ = 0;
  Enter(Phase::kLive, now);
}

void WatchState::Enter(Phase phase, Tick now) {
  if (phase == Phase::kLive || phase == Phase::kListing) status_.error.reset();
  if (status_.phase == phase) return;
  status_.phase = phase;
  status_.since = now;
}

void WatchState::BackOff(Tick now, const Error* error) {
  const bool ours_to_fix = error && PhaseOf(*error) != Phase::kRetrying;
  Duration wait = ours_to_fix ? slow_.Next() : soon_.Next();
  if (error && error->retry_after()) wait = std::max(wait, *error->retry_after());
  not_before_ = now + wait;
}

}  // namespace capstan::kube
