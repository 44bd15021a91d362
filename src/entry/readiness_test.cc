#include "entry/readiness.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>

#include "entry/answerer.h"
#include "entry/port_test.h"

namespace capstan::entry {
namespace {

// Its port is that of an Answerer with this status.
class ReadinessTest : public ::testing::Test {
 protected:
  std::optional<Charge> AskUntilKnown(const std::function<void()>& other_end) {
    const auto now = Readiness::Clock::now();
    readiness_.Ask(TestPort(3), now);
    std::optional<Charge> known;
    for (int i = 0; !known && i < 1000; ++i) {
      std::vector<pollfd> waiting;
      readiness_.AddTo(&waiting);
      poll(waiting.data(), waiting.size(), 1);
      known = readiness_.Turn(now);
      other_end();
    }
    return known;
  }
  std::optional<Charge> With(const std::string& status) {
    Answerer answerer = *Answerer::Listen(TestPort(3));
    return AskUntilKnown([&] {
      answerer.Serve(Answerer::Clock::now(), [&](std::string_view path) -> Answerer::Answer {
        return {path == "/readyz" ? status : "404 Not Found", ""};
      });
    });
  }

  Readiness readiness_;
};

TEST_F(ReadinessTest, IsAStatusOf2xx) {
  EXPECT_EQ(With("200 OK"), Charge::kYes);
  EXPECT_EQ(With("204 No Content"), Charge::kYes);
  EXPECT_EQ(With("503 Service Unavailable"), Charge::kNo);
  EXPECT_EQ(With("404 Not Found"), Charge::kNo);
}

TEST_F(ReadinessTest, NobodyThereSaysNothing) {
  for (int i = 0; i < 2; ++i) EXPECT_EQ(AskUntilKnown([] {}), Charge::kSilent) << "by either protocol";
  EXPECT_EQ(With("200 OK"), Charge::kYes);
}

TEST_F(ReadinessTest, WhoDoesNotAnswerInTimeSaysNothing) {
  Answerer answerer = *Answerer::Listen(TestPort(3));
  const auto now = Readiness::Clock::now();
  readiness_.Ask(TestPort(3), now);
  EXPECT_EQ(readiness_.Turn(now), std::nullopt);
  ASSERT_TRUE(readiness_.next());
  EXPECT_EQ(readiness_.Turn(*readiness_.next()), Charge::kSilent);
  EXPECT_FALSE(readiness_.asking());
}

}  // namespace
}  // namespace capstan::entry
