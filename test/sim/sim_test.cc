// The simulator notices what it is there to notice.
#include <gtest/gtest.h>

#include "run.h"

namespace capstan::sim {
namespace {

TEST(Sim, EqualSeedsTellEqualStories) {
  for (const uint64_t seed : {3, 4}) {
    const Outcome first = RunStory({.seed = seed, .crash_after = 9});
    const Outcome second = RunStory({.seed = seed, .crash_after = 9});
    EXPECT_EQ(first.story, second.story) << "seed " << seed;
  }
}

class BrokenGuard : public ::testing::TestWithParam<Break> {};

TEST_P(BrokenGuard, IsNoticedWithin200Seeds) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    if (RunStory({.seed = seed, .broken = &GetParam()}).failure) return;
  }
  ADD_FAILURE() << "nobody noticed that " << GetParam().what;
}

INSTANTIATE_TEST_SUITE_P(All, BrokenGuard, ::testing::ValuesIn(Breaks().begin(), Breaks().end()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace capstan::sim
