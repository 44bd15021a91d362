#include "kube/watch_state.h"

#include <gtest/gtest.h>

#include <functional>

namespace capstan::kube {
namespace {

using Phase = WatchStatus::Phase;

WatchEvent Change(uint64_t version) { return {.type = WatchEvent::Type::kModified, .version = version}; }
WatchEvent BookmarkEvent(uint64_t version) { return {.type = WatchEvent::Type::kBookmark, .version = version}; }
WatchEvent ListEnd(uint64_t version) {
  return {.type = WatchEvent::Type::kBookmark, .version = version, .list_complete = true};
}
WatchEvent ErrorEvent(Code code) { return {.type = WatchEvent::Type::kError, .error = Error(code, "said the stream")}; }

std::string Text(const WatchState::Step& step) {
  if (const auto* page = std::get_if<WatchState::ListPage>(&step)) return "page " + page->continue_token;
  if (const auto* follow = std::get_if<WatchState::Follow>(&step)) return "follow " + std::to_string(follow->version);
  return "stream";
}

// A machine in virtual time, and what can happen to it in a word each.
struct Machine {
  Random random{1};
  Tick now{1h};
  WatchState state{random, now};

  Duration Wait() const { return std::max(Duration(0), Duration(state.not_before() - now)); }
  std::string Step() {
    now = std::max(now, state.not_before());
    return Text(state.Next());
  }
  void Open() { state.Opened(now); }
  void Pass(Duration time) { now += time; }
  void Fail(Code code, std::string message = "no") { state.Failed(Error(code, std::move(message)), now); }
  // Up to following version 9.
  void ListAll() {
    Step(), Open();
    state.Heard(ListEnd(9), now);
  }
  void FollowFor(Duration time) {
    ListAll();
    Step(), Open();
    Pass(time);
  }
};

struct Case {
  const char* name;
  std::function<void(Machine&)> story;
  std::string next;
  bool waits;
  Phase phase;
};

class WatchStateTable : public ::testing::TestWithParam<Case> {};

TEST_P(WatchStateTable, LeadsToTheNextStep) {
  Machine m;
  GetParam().story(m);
  EXPECT_EQ(m.Wait() > Duration(0), GetParam().waits) << FormatDuration(m.Wait());
  EXPECT_EQ(m.state.status().phase, GetParam().phase);
  EXPECT_EQ(m.Step(), GetParam().next);
}

const Case kCases[] = {
    {"StartsWithAStream", [](Machine&) {}, "stream", false, Phase::kListing},
    {"FollowsFromTheListsVersion", [](Machine& m) { m.ListAll(); }, "follow 9", false, Phase::kLive},
    {"ObjectsOfAListDoNotEndIt",
     [](Machine& m) { m.Step(), m.Open(), m.state.Heard(Change(7), m.now), m.Fail(Code::kUnavailable); }, "stream",
     true, Phase::kRetrying},
    {"PlainBookmarksDoNotEndAList",
     [](Machine& m) { m.Step(), m.Open(), m.state.Heard(BookmarkEvent(7), m.now), m.Fail(Code::kUnavailable); },
     "stream", true, Phase::kRetrying},

    // The server does not know streaming lists.
    {"RefusedStreamGoesToPages", [](Machine& m) { m.Step(), m.Fail(Code::kInvalid); }, "page ", false, Phase::kListing},
    {"UnendingInitialEventsGoToPages", [](Machine& m) { m.Step(), m.Open(), m.state.Silent(m.now); }, "page ", false,
     Phase::kListing},
    {"InitialEventsCutShortOnceAreTriedAgain", [](Machine& m) { m.Step(), m.Open(), m.state.Ended(m.now); }, "stream",
     true, Phase::kListing},
    {"InitialEventsCutShortTwiceGoToPages",
     [](Machine& m) {
       for (int i = 0; i < 2; ++i) m.Step(), m.Open(), m.state.Ended(m.now);
     },
     "page ", true, Phase::kListing},
    {"GarbageInAStreamIsNoRefusal", [](Machine& m) { m.Step(), m.Open(), m.Fail(Code::kInvalid); }, "stream", true,
     Phase::kRetrying},
    {"PagesGoOnWithTheirToken",
     [](Machine& m) { m.Step(), m.Fail(Code::kInvalid), m.Step(), m.state.PageTaken({20, "t"}, m.now); }, "page t",
     false, Phase::kListing},
    {"TheLastPageLeadsToFollowing",
     [](Machine& m) { m.Step(), m.Fail(Code::kInvalid), m.Step(), m.state.PageTaken({20, ""}, m.now); }, "follow 20",
     false, Phase::kLive},
    {"AFailedPageIsAskedAgain",
     [](Machine& m) {
       m.Step(), m.Fail(Code::kInvalid), m.Step(), m.state.PageTaken({20, "t"}, m.now), m.Step(),
           m.Fail(Code::kUnavailable);
     },
     "page t", true, Phase::kRetrying},
    {"AnExpiredTokenBeginsTheListAnew",
     [](Machine& m) {
       m.Step(), m.Fail(Code::kInvalid), m.Step(), m.state.PageTaken({20, "t"}, m.now), m.Step(), m.Fail(Code::kGone);
     },
     "page ", true, Phase::kListing},

    // Streams that end.
    {"AServersTimeoutResumesAtOnce", [](Machine& m) { m.FollowFor(5min), m.state.Ended(m.now); }, "follow 9", false,
     Phase::kLive},
    {"AServerThatHangsUpAtOnceIsGivenTime", [](Machine& m) { m.FollowFor(1s), m.state.Ended(m.now); }, "follow 9", true,
     Phase::kLive},
    {"ACutStreamResumes",
     [](Machine& m) { m.FollowFor(1min), m.state.Heard(Change(30), m.now), m.Fail(Code::kUnavailable); }, "follow 30",
     true, Phase::kRetrying},
    {"BookmarksMoveTheVersion",
     [](Machine& m) { m.FollowFor(1min), m.state.Heard(BookmarkEvent(40), m.now), m.Fail(Code::kUnavailable); },
     "follow 40", true, Phase::kRetrying},
    {"TheVersionNeverGoesBack",
     [](Machine& m) { m.FollowFor(1min), m.state.Heard(BookmarkEvent(3), m.now), m.Fail(Code::kUnavailable); },
     "follow 9", true, Phase::kRetrying},
    {"ASilentStreamResumesAtOnce", [](Machine& m) { m.FollowFor(90s), m.state.Silent(m.now); }, "follow 9", false,
     Phase::kLive},

    // Versions out of reach.
    {"GoneAtOpeningListsAnew", [](Machine& m) { m.ListAll(), m.Step(), m.Fail(Code::kGone); }, "stream", true,
     Phase::kListing},
    {"GoneInTheStreamListsAnew", [](Machine& m) { m.FollowFor(1min), m.state.Heard(ErrorEvent(Code::kGone), m.now); },
     "stream", true, Phase::kListing},
    {"AVersionOfTheFutureListsAnew",
     [](Machine& m) {
       m.ListAll(), m.Step(), m.Fail(Code::kUnavailable, "Timeout: Too large resource version: 9, current: 5");
     },
     "stream", true, Phase::kListing},
    {"AnEventThatIsNoneListsAnew", [](Machine& m) { m.FollowFor(1min), m.Fail(Code::kInvalid); }, "stream", true,
     Phase::kRetrying},
    {"OtherErrorEventsResume",
     [](Machine& m) { m.FollowFor(1min), m.state.Heard(ErrorEvent(Code::kUnavailable), m.now); }, "follow 9", true,
     Phase::kRetrying},

    // What a person must change.
    {"ForbiddenListsAreAskedAgain", [](Machine& m) { m.Step(), m.Fail(Code::kForbidden); }, "stream", true,
     Phase::kForbidden},
    {"ForbiddenWatchesResumeLater", [](Machine& m) { m.ListAll(), m.Step(), m.Fail(Code::kForbidden); }, "follow 9",
     true, Phase::kForbidden},
    {"AKindThatIsNotServedIsAskedAgain", [](Machine& m) { m.Step(), m.Fail(Code::kNotFound); }, "stream", true,
     Phase::kNotServed},
    {"AKindThatDisappearsIsListedWhenBack",
     [](Machine& m) { m.FollowFor(1min), m.state.Ended(m.now), m.Step(), m.Fail(Code::kNotFound); }, "stream", true,
     Phase::kNotServed},

    {"AnAskedListBeginsAtOnce", [](Machine& m) { m.FollowFor(1min), m.state.RelistAsked(m.now); }, "stream", false,
     Phase::kListing},
};

INSTANTIATE_TEST_SUITE_P(, WatchStateTable, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(WatchState, WaitsGrowToThirtySecondsAndStartOverAfterALongLife) {
  Machine m;
  m.ListAll();
  Duration last{0};
  for (int i = 0; i < 12; ++i) {
    m.Step(), m.Fail(Code::kUnavailable);
    EXPECT_LE(m.Wait(), 38s);
    if (i == 0) EXPECT_LE(m.Wait(), 250ms);
    last = m.Wait();
  }
  EXPECT_GE(last, 22s);
  m.Step(), m.Open(), m.Pass(10s), m.Fail(Code::kUnavailable);
  EXPECT_LE(m.Wait(), 250ms);
}

TEST(WatchState, ListingAgainAndAgainGrowsSlower) {  // a server whose history is shorter than its lists
  Machine m;
  Duration last{0};
  for (int i = 0; i < 10; ++i) {
    m.ListAll();
    m.Step(), m.Fail(Code::kGone);
    last = m.Wait();
  }
  EXPECT_GE(last, 20s);
  EXPECT_EQ(m.state.status().lists, 10u);
}

TEST(WatchState, ObeysRetryAfter) {
  Machine m;
  m.Step();
  m.state.Failed(Error(Code::kThrottled, "later").SetRetryAfter(17s), m.now);
  EXPECT_EQ(m.Wait(), 17s);
}

TEST(WatchState, WhatAPersonMustChangeIsAskedEveryMinuteAtMost) {
  Machine m;
  for (int i = 0; i < 20; ++i) m.Step(), m.Fail(Code::kForbidden);
  EXPECT_GE(m.Wait(), 45s);
  EXPECT_LE(m.Wait(), 75s);
}

TEST(WatchState, TellsSinceWhenAndWhy) {
  Machine m;
  m.FollowFor(1min);
  m.Fail(Code::kUnavailable, "connection refused");
  const Tick broke = m.now;
  m.Step(), m.Fail(Code::kUnavailable, "still refused");
  EXPECT_EQ(m.state.status().since, broke);
  EXPECT_EQ(m.state.status().error->message(), "still refused");
  EXPECT_EQ(m.state.status().failures, 2u);
  m.Step(), m.Open();
  EXPECT_EQ(m.state.status().phase, Phase::kLive);
  EXPECT_FALSE(m.state.status().error);
  EXPECT_EQ(m.state.status().last_error->message(), "still refused");
}

TEST(WatchState, AStreamRefusedOnceIsNotTriedAgain) {
  Machine m;
  m.Step(), m.Fail(Code::kInvalid), m.Step(), m.state.PageTaken({20, ""}, m.now);
  m.Step(), m.Fail(Code::kGone);
  EXPECT_EQ(m.Step(), "page ");
}

}  // namespace
}  // namespace capstan::kube
