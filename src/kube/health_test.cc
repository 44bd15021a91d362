#include "kube/health.h"

#include <gtest/gtest.h>

namespace capstan::kube {
namespace {

TEST(Health, IsReadyWhenTheLoopTurnsAndEverythingIsListed) {
  Tick now{};
  Health health([&] { return now; });
  EXPECT_EQ(health.WhyNotReady(), "not listed yet: everything that is watched");
  EXPECT_EQ(health.WhyNotLive(), "") << "a start takes its time";
  health.Beat("");
  EXPECT_TRUE(health.Ready());
  health.Beat("pods in slurm (forbidden)");
  EXPECT_EQ(health.WhyNotReady(), "not listed yet: pods in slurm (forbidden)");
}

TEST(Health, ALoopThatStandsStillIsSoonNotReadyAndLaterNotLive) {
  Tick now{};
  Health health([&] { return now; });
  health.Beat("");
  now += 6s;
  EXPECT_EQ(health.WhyNotReady(), "the event loop has stood still for 6s");
  EXPECT_EQ(health.WhyNotLive(), "");
  now += 25s;
  EXPECT_EQ(health.WhyNotLive(), "the event loop has stood still for 31s");
  health.Beat("");
  EXPECT_EQ(health.WhyNotLive() + health.WhyNotReady(), "");
}

}  // namespace
}  // namespace capstan::kube
