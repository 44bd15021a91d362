// The Recorder against the real API server, whose rules for Events are its own.
#include <gmock/gmock.h>

#include "api_test.h"
#include "json/value.h"
#include "kube/events.h"

namespace capstan::kube {
namespace {

using json::FindText;
using testing::ApiTest;

class EventsOnServer : public ApiTest {
 protected:
  EventsOnServer() { group_.Spawn("events", recorder_.Run()); }
  void TearDown() override {
    const auto join = [](async::TaskGroup& group) -> async::Task<bool> {
      co_await group.Join();
      co_return true;
    };
    group_.Cancel();
    Run(join(group_));
  }

  EventRecord Event(std::string name, std::string note) const {
    return {.regarding = {"v1", "ConfigMap", KeyOf(name), "uid-of-it"},
            .reason = "ScalingDown",
            .action = "Delete",
            .note = std::move(note)};
  }
  // Until the recorder has sent so many, none in vain.
  void AwaitSent(uint64_t count) {
    ASSERT_TRUE(Until([&] { return recorder_.counts().sent + recorder_.counts().dropped_failed >= count; }));
    ASSERT_EQ(recorder_.counts().dropped_failed, 0u) << "the server refuses an event";
  }
  // The test's events as the server has them.
  boost::json::array Stored() {
    const Result<std::string> list = Run(client().List(kEvents, {.ns = ns_}, Soon()));
    EXPECT_TRUE(list) << list.error().message();
    return list ? json::Find(*json::Parse(*list), {"items"})->get_array() : boost::json::array();
  }
  static int64_t Count(const json::Value& event) {
    const json::Value* count = json::Find(event, {"series", "count"});
    return count ? count->get_int64() : 1;
  }

  Recorder recorder_{loop_, client(), {.controller = "capstan.test/events", .instance = std::string(200, 'i')}};
  async::TaskGroup group_{loop_};
};

TEST_F(EventsOnServer, RepeatsRaiseTheCountOfOneEvent) {
  const EventRecord event = Event("a", "w-3 is idle");
  recorder_.Record(event);
  AwaitSent(1);
  ASSERT_EQ(Stored().size(), 1u);
  EXPECT_FALSE(json::Find(Stored()[0], {"series"})) << "once is no series";
  recorder_.Record(event);
  AwaitSent(2);
  ASSERT_EQ(Stored().size(), 1u);
  EXPECT_EQ(Count(Stored()[0]), 2);
  EXPECT_NE(FindText(Stored()[0], {"series", "lastObservedTime"}), "");
  EXPECT_EQ(FindText(Stored()[0], {"note"}), "w-3 is idle");
}

TEST_F(EventsOnServer, RepeatsBeforeItIsToldAreCountedInIt) {
  const EventRecord event = Event("a", "w-3 is idle");
  for (int i = 0; i < 3; ++i) recorder_.Record(event);
  AwaitSent(1);
  ASSERT_EQ(Stored().size(), 1u);
  EXPECT_EQ(Count(Stored()[0]), 3);
}

TEST_F(EventsOnServer, AnEventThatAgedOutIsMadeAnewWithItsCount) {
  const EventRecord event = Event("a", "w-3 is idle");
  recorder_.Record(event);
  AwaitSent(1);
  ASSERT_EQ(Stored().size(), 1u);
  Delete(kEvents, KeyOf(std::string(FindText(Stored()[0], {"metadata", "name"}))));
  recorder_.Record(event);
  recorder_.Record(event);
  AwaitSent(2);
  ASSERT_EQ(Stored().size(), 1u);
  EXPECT_EQ(Count(Stored()[0]), 3);
}

TEST_F(EventsOnServer, WhatIsTooLongIsCutAndNotRefused) {
  EventRecord event =
      Event(std::string(229, 'n') + "-" + std::string(23, 'm'), std::string(1023, 'x') + "\u00e9 and more");
  event.reason = std::string(1000, 'R');
  event.action = std::string(1000, 'A');
  recorder_.Record(event);
  AwaitSent(1);
  ASSERT_EQ(Stored().size(), 1u);
  const json::Value stored = Stored()[0];
  EXPECT_EQ(FindText(stored, {"note"}), std::string(1023, 'x'));
  EXPECT_EQ(FindText(stored, {"reason"}), std::string(128, 'R'));
  EXPECT_EQ(FindText(stored, {"action"}), std::string(128, 'A'));
  EXPECT_EQ(FindText(stored, {"reportingInstance"}), std::string(128, 'i'));
}

TEST_F(EventsOnServer, WhatHasNoNamespaceIsToldInDefault) {
  EventRecord event = Event("node-of-" + ns_, "cordoned");
  event.regarding.kind = "Node";
  event.regarding.key.ns.clear();
  event.warning = true;
  recorder_.Record(event);
  AwaitSent(1);
  const Result<std::string> list =
      Run(client().List(kEvents, {.ns = "default", .field_selector = "regarding.name=node-of-" + ns_}, Soon()));
  ASSERT_TRUE(list) << list.error().message();
  EXPECT_EQ(json::Find(*json::Parse(*list), {"items"})->get_array().size(), 1u);
}

}  // namespace
}  // namespace capstan::kube
