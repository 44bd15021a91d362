#include "json/conditions.h"

#include <gtest/gtest.h>

#include "json/codec.h"

namespace capstan::json {
namespace {

constexpr Time kNoon{std::chrono::hours(12)};
constexpr Time kLater{std::chrono::hours(13)};

Condition Make(std::string status, std::string reason) {
  return {.type = "Ready",
          .status = std::move(status),
          .observed_generation = 1,
          .last_transition_time = {},
          .reason = std::move(reason),
          .message = "m"};
}

TEST(Conditions, KeepTheTimeWhileTheStatusStays) {
  Conditions conditions;
  EXPECT_TRUE(SetCondition(conditions, Make("False", "Starting"), kNoon));
  EXPECT_EQ(conditions[0].last_transition_time, kNoon);
  EXPECT_FALSE(SetCondition(conditions, Make("False", "Starting"), kLater)) << "nothing changed";
  EXPECT_TRUE(SetCondition(conditions, Make("False", "Waiting"), kLater));
  EXPECT_EQ(conditions[0].last_transition_time, kNoon);
  EXPECT_TRUE(SetCondition(conditions, Make("True", "Running"), kLater));
  EXPECT_EQ(conditions[0].last_transition_time, kLater);
  EXPECT_EQ(conditions.size(), 1u);
}

TEST(Conditions, UnknownIsWhatIsNotThere) {
  Conditions conditions;
  EXPECT_EQ(ConditionStatus(conditions, "Ready"), "Unknown");
  EXPECT_EQ(FindCondition(conditions, "Ready"), nullptr);
  SetCondition(conditions, Make("True", "Running"), kNoon);
  EXPECT_EQ(ConditionStatus(conditions, "Ready"), "True");
  EXPECT_TRUE(RemoveCondition(conditions, "Ready"));
  EXPECT_FALSE(RemoveCondition(conditions, "Ready"));
}

TEST(Conditions, MessagesAreCutToWhatTheApiServerTakes) {
  Conditions conditions;
  Condition long_one = Make("True", "Running");
  for (int i = 0; i < 20000; ++i) long_one.message += "\xC3\xA9";
  SetCondition(conditions, long_one, kNoon);
  EXPECT_LE(conditions[0].message.size(), 32768u);
  EXPECT_TRUE(conditions[0].message.ends_with("\xC3\xA9..."));
}

TEST(Conditions, AreWrittenWithAllThatIsRequired) {
  Conditions conditions;
  Condition bare = Make("True", "Running");
  bare.message.clear();
  SetCondition(conditions, bare, kNoon);
  EXPECT_EQ(Encode(conditions[0]),
            R"({"lastTransitionTime":"1970-01-01T12:00:00Z","message":"","observedGeneration":1,"reason":"Running",)"
            R"("status":"True","type":"Ready"})");
}

}  // namespace
}  // namespace capstan::json
