#include "kube/events.h"

#include <gtest/gtest.h>

#include "async/task_group.h"
#include "base/testing/captured_log.h"
#include "kube/testing/fake_api_server.h"

namespace capstan::kube {
namespace {

using json::FindText;

class EventsTest : public ::testing::Test {
 protected:
  EventsTest() { group.Spawn("events", recorder.Run()); }
  ~EventsTest() override {
    group.Cancel();
    loop.Advance(Duration(0));
  }

  static EventRecord Event(std::string name, std::string note) {
    EventRecord event;
    event.regarding = {"slinky.slurm.net/v1beta1", "NodeSet", {"ns", name}, "uid-" + name};
    event.reason = "ScalingDown";
    event.action = "Delete";
    event.note = std::move(note);
    return event;
  }
  void Record(const EventRecord& event, Duration then = 1s) {
    recorder.Record(event);
    loop.Advance(then);
  }
  std::vector<json::Value> Stored() {
    std::vector<json::Value> events;
    for (const auto& [key, value] : server.objects().Table(kEvents).objects) events.push_back(*value);
    return events;
  }
  static int64_t Count(const json::Value& event) {
    const json::Value* count = json::Find(event, {"series", "count"});
    return count ? count->get_int64() : 1;
  }

  async::VirtualLoop loop;
  testing::FakeApiServer server{loop, 1};
  Client client{loop, server, {}};
  Recorder recorder{loop, client, {.controller = "capstan-operator", .instance = "pod-0"}};
  async::TaskGroup group{loop};
};

TEST_F(EventsTest, SaysWhatHappenedToWhat) {
  Record(Event("a", "w-3 is \"idle\""));
  ASSERT_EQ(Stored().size(), 1u);
  const json::Value event = Stored()[0];
  EXPECT_EQ(FindText(event, {"metadata", "namespace"}), "ns");
  EXPECT_TRUE(FindText(event, {"metadata", "name"}).starts_with("a."));
  EXPECT_EQ(FindText(event, {"regarding", "kind"}), "NodeSet");
  EXPECT_EQ(FindText(event, {"regarding", "uid"}), "uid-a");
  EXPECT_EQ(FindText(event, {"note"}), "w-3 is \"idle\"");
  EXPECT_EQ(FindText(event, {"type"}), "Normal");
  EXPECT_EQ(FindText(event, {"reason"}), "ScalingDown");
  EXPECT_EQ(FindText(event, {"action"}), "Delete");
  EXPECT_EQ(FindText(event, {"reportingController"}), "capstan-operator");
  EXPECT_TRUE(ParseRfc3339(FindText(event, {"eventTime"})));
  EXPECT_FALSE(json::Find(event, {"series"}));
}

TEST_F(EventsTest, RepeatsBecomeASeries) {
  Record(Event("a", "same"));
  Record(Event("a", "same"));
  ASSERT_EQ(Stored().size(), 1u);
  EXPECT_EQ(Count(Stored()[0]), 2) << "the first repeat shows at once";
  for (int i = 0; i < 100; ++i) Record(Event("a", "same"), 3s);
  loop.Advance(5min);
  ASSERT_EQ(Stored().size(), 1u);
  EXPECT_EQ(Count(Stored()[0]), 102);
  EXPECT_LT(server.writes().size(), 12u) << "a loop costs little";
}

TEST_F(EventsTest, ARepeatAfterTheWindowIsANewEvent) {
  Record(Event("a", "same"));
  loop.Advance(7min);
  Record(Event("a", "same"));
  EXPECT_EQ(Stored().size(), 2u);
}

TEST_F(EventsTest, IsSilentAtRest) {
  Record(Event("a", "same"));
  Record(Event("a", "same"));
  loop.Advance(1min);
  server.ForgetWrites();
  loop.Advance(24h);
  EXPECT_TRUE(server.writes().empty());
}

TEST_F(EventsTest, OneObjectCannotFloodTheRest) {
  for (int i = 0; i < 100; ++i) recorder.Record(Event("hot", "number " + std::to_string(i)));
  recorder.Record(Event("calm", "one"));
  loop.Advance(10s);
  EXPECT_EQ(Stored().size(), 26u);
  EXPECT_EQ(recorder.counts().dropped_flood, 75u);
  loop.Advance(2min);
  recorder.Record(Event("hot", "later"));
  loop.Advance(1s);
  EXPECT_EQ(Stored().size(), 27u);
}

TEST_F(EventsTest, AFullQueueDropsAndCounts) {
  server.faults.refused = 100;
  for (int i = 0; i < 1500; ++i) recorder.Record(Event("o" + std::to_string(i), "x"));
  EXPECT_EQ(recorder.counts().queued, 1000u);
  EXPECT_EQ(recorder.counts().dropped_full, 500u);
}

TEST_F(EventsTest, ALostAnswerMakesNoSecondEvent) {
  server.faults.lost_answer = 100;
  recorder.Record(Event("a", "x"));
  loop.Advance(500ms);
  server.faults = {};
  loop.Advance(10s);
  EXPECT_EQ(Stored().size(), 1u);
  EXPECT_EQ(recorder.counts().sent, 1u);
}

TEST_F(EventsTest, ShortTroubleDelaysAndLongTroubleDrops) {
  server.faults.refused = 100;
  Record(Event("a", "x"), 2s);
  server.faults = {};
  loop.Advance(30s);
  EXPECT_EQ(Stored().size(), 1u);
  server.faults.refused = 100;
  Record(Event("b", "x"), 5min);
  server.faults = {};
  loop.Advance(1min);
  EXPECT_EQ(Stored().size(), 1u);
  EXPECT_EQ(recorder.counts().dropped_failed, 1u);
}

TEST_F(EventsTest, RefusedEventsHoldNothingUp) {
  server.deny = [](std::string_view, const Resource&, const Key& key) -> std::optional<testing::Refusal> {
    return key.ns == "ending" ? std::optional(testing::Refusal{403, "Forbidden", "being terminated"}) : std::nullopt;
  };
  EventRecord ending = Event("a", "x");
  ending.regarding.key.ns = "ending";
  recorder.Record(ending);
  Record(Event("b", "x"));
  EXPECT_EQ(Stored().size(), 1u);
  EXPECT_EQ(recorder.counts().dropped_failed, 1u);
}

// An account that may not write events lost them all, and only a debug log knew.
TEST_F(EventsTest, TheLogSaysOnceWhyEventsAreLost) {
  server.deny = [](std::string_view, const Resource&, const Key&) -> std::optional<testing::Refusal> {
    return testing::Refusal{403, "Forbidden", "may not create events"};
  };
  capstan::testing::CapturedLog captured;
  Record(Event("a", "x"));
  Record(Event("b", "x"));
  EXPECT_EQ(recorder.counts().dropped_failed, 2u);
  EXPECT_EQ(std::ranges::count(captured.Text(), '\n'), 1) << captured.Text();
  EXPECT_NE(captured.Text().find("may not create events"), std::string::npos) << captured.Text();
  server.deny = {};
  Record(Event("c", "x"));
  EXPECT_EQ(Stored().size(), 1u);
}

TEST_F(EventsTest, AnEventThatAgedOutIsMadeAnew) {
  Record(Event("a", "x"));
  server.Remove(kEvents, {"ns", std::string(FindText(Stored()[0], {"metadata", "name"}))});
  Record(Event("a", "x"));
  ASSERT_EQ(Stored().size(), 1u);
  EXPECT_EQ(Count(Stored()[0]), 2);
}

TEST_F(EventsTest, LongNotesAreCutBetweenCharacters) {
  std::string note(1023, 'x');
  Record(Event("a", note + "\xC3\xA9 and more"));
  EXPECT_EQ(FindText(Stored()[0], {"note"}), note);
}

TEST_F(EventsTest, LongWordsAreCut) {
  EventRecord event = Event("a", "x");
  event.reason = event.action = std::string(129, 'R');
  Record(event);
  EXPECT_EQ(FindText(Stored()[0], {"reason"}), std::string(128, 'R'));
  EXPECT_EQ(FindText(Stored()[0], {"action"}), std::string(128, 'R'));
}

// The server refuses a name of which a part ends in a dash.
TEST_F(EventsTest, ALongNameIsCutWhereAPartOfItMayEnd) {
  Record(Event(std::string(228, 'n') + "-.-" + std::string(20, 'm'), "x"));
  EXPECT_TRUE(FindText(Stored()[0], {"metadata", "name"}).starts_with(std::string(228, 'n') + "."));
  EXPECT_NE(FindText(Stored()[0], {"metadata", "name"})[229], '-');
}

TEST_F(EventsTest, ClusterScopedObjectsTellInDefault) {
  EventRecord event = Event("node-1", "x");
  event.regarding.key.ns.clear();
  Record(event);
  EXPECT_EQ(FindText(Stored()[0], {"metadata", "namespace"}), "default");
  EXPECT_FALSE(json::Find(Stored()[0], {"regarding", "namespace"}));
}

}  // namespace
}  // namespace capstan::kube
