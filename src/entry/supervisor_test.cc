#include "entry/supervisor.h"

#include <gtest/gtest.h>

namespace capstan::entry {
namespace {

// A job could fill the worker's log, a line for each message that it sent.
TEST(OncePerMinute, TellsAtOnceAndThenHowManyThereWere) {
  using std::chrono::seconds;
  const std::chrono::steady_clock::time_point start{};
  OncePerMinute limit;
  EXPECT_EQ(limit.Tell(start), 0);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(limit.Tell(start + seconds(59)), std::nullopt);
  EXPECT_EQ(limit.Tell(start + seconds(60)), 1000);
  EXPECT_EQ(limit.Tell(start + seconds(61)), std::nullopt);
  EXPECT_EQ(limit.Tell(start + seconds(120)), 1);
}

}  // namespace
}  // namespace capstan::entry
