#include "kube/health.h"

#include <gtest/gtest.h>

namespace capstan::kube {
namespace {

TEST(Health, IsReadyWhenTheLoopTurnsAndEverythingIsListed) {
  Tick now{};
  Health health([&] { return now; });
  EXPECT_EQ(health.WhyNotReady(), "not every watched kind has been listed yet");
  EXPECT_EQ(health.WhyNotLive(), "") << "a start takes its time";
  health.Beat(true);
  EXPECT_TRUE(health.Ready());
  health.Beat(false);
  EXPECT_FALSE(health.Ready());
}

TEST(Health, ALoopThatStandsStillIsSoonNotReadyAndLaterNotLive) {
  Tick now{};
  Health health([&] { return now; });
  health.Beat(true);
  now += 6s;
  EXPECT_EQ(health.WhyNotReady(), "the event loop has stood still for 6s");
  EXPECT_EQ(health.WhyNotLive(), "");
  now += 25s;
  EXPECT_EQ(health.WhyNotLive(), "the event loop has stood still for 31s");
  health.Beat(true);
  EXPECT_EQ(health.WhyNotLive() + health.WhyNotReady(), "");
}

}  // namespace
}  // namespace capstan::kube
