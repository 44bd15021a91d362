// The bridge's simulator notices what it is there to notice.
#include <gtest/gtest.h>

#include "run.h"

namespace capstan::sim::bridge {
namespace {

TEST(SimBridge, EqualSeedsTellEqualStories) {
  for (const uint64_t seed : {3, 4})
    EXPECT_EQ(RunSeed({.seed = seed}).story, RunSeed({.seed = seed}).story) << "seed " << seed;
}

class BrokenBridge : public ::testing::TestWithParam<Break> {};

TEST_P(BrokenBridge, IsNoticedWithin200Seeds) {
  for (uint64_t seed = 1; seed <= 200; ++seed)
    if (RunSeed({.seed = seed, .broken = &GetParam()}).failure) return;
  ADD_FAILURE() << "nobody noticed that " << GetParam().what;
}

INSTANTIATE_TEST_SUITE_P(All, BrokenBridge, ::testing::ValuesIn(Breaks().begin(), Breaks().end()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace capstan::sim::bridge
