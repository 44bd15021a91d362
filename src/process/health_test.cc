#include "process/health.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

namespace capstan::process {
namespace {

TEST(Health, IsReadyWhenTheLoopTurnsAndNothingIsWaitedFor) {
  Tick now{};
  Health health([&] { return now; });
  EXPECT_EQ(health.WhyNotReady(), "the event loop has not had a turn yet");
  EXPECT_EQ(health.WhyNotLive(), "") << "a start takes its time";
  health.Beat("");
  EXPECT_TRUE(health.Ready());
  health.Beat("not listed yet: pods in slurm (forbidden)");
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

// The text was an atomic shared pointer, of which libstdc++ 12 reads the pointer without what orders it. The strictest
// judge of this is ThreadSanitizer.
TEST(Health, WhoAsksFromAnotherThreadHearsOneWholeAnswer) {
  const std::string texts[] = {std::string(100, 'a'), std::string(3000, 'b')};
  Health health;
  health.Beat(texts[0]);
  std::atomic<bool> asked = false;
  std::jthread loop([&] {
    for (size_t i = 0; !asked; ++i) health.Beat(texts[i % 2]);
  });
  size_t before = 0;
  for (int changes = 0; changes < 200 && before < 2;) {
    const size_t heard = size_t(std::ranges::find(texts, health.WhyNotReady()) - texts);
    changes += heard != std::exchange(before, heard);
  }
  asked = true;
  EXPECT_LT(before, 2u) << "neither the one text nor the other";
}

}  // namespace
}  // namespace capstan::process
