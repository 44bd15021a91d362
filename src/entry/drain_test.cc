#include "entry/drain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::entry {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A pod in virtual time, from 2026-01-02 00:00 UTC on.
struct Pod {
  static constexpr auto kStart = std::chrono::system_clock::time_point(1767312000s);
  std::chrono::seconds passed{0}, sessions_until{std::chrono::hours(1000)}, slurmctld_until{std::chrono::hours(1000)};
  std::vector<std::pair<std::chrono::seconds, std::string>> told;
  int asked = 0;

  std::string Wait(std::chrono::seconds limit) {
    return WaitForSessions(limit, {.now = [this] { return kStart + passed; },
                                   .sleep = [this](std::chrono::seconds time) { passed += time; },
                                   .sessions = [this] { return passed < sessions_until ? size_t{2} : size_t{0}; },
                                   .tell = [this](const std::string& text) { told.emplace_back(passed, text); },
                                   .slurmctld_answers = [this] { return ++asked, passed < slurmctld_until; }});
  }
  std::vector<std::chrono::seconds> ToldAt() const {
    std::vector<std::chrono::seconds> at;
    for (const auto& [when, text] : told) at.push_back(when);
    return at;
  }
};

TEST(WaitForSessions, EndsAtOnceWithoutSessionsAndTellsNobody) {
  Pod pod{.sessions_until = 0s};
  EXPECT_EQ(pod.Wait(12h), "no session is left");
  EXPECT_EQ(pod.passed, 0s);
  EXPECT_TRUE(pod.told.empty());
}

TEST(WaitForSessions, TellsAtTheStartAndAnHourAndTenMinutesBeforeTheEnd) {
  Pod pod;
  EXPECT_EQ(pod.Wait(12h), "the time is over; sessions that end with this pod: 2");
  EXPECT_EQ(pod.passed, 12h);
  EXPECT_THAT(pod.ToldAt(), ElementsAre(0s, 11h, 11h + 50min));
  EXPECT_THAT(pod.told[0].second, HasSubstr("ends at 2026-01-02 12:00 UTC (in 12h)"));
  EXPECT_THAT(pod.told[1].second, HasSubstr("(in 1h)"));
}

TEST(WaitForSessions, TellsOnceWhenThereIsLittleTimeFromTheStart) {
  Pod pod;
  pod.Wait(30min);
  EXPECT_THAT(pod.ToldAt(), ElementsAre(0s, 20min));
  Pod brief;
  brief.Wait(3s);
  EXPECT_THAT(brief.ToldAt(), ElementsAre(0s));
  EXPECT_EQ(brief.passed, 3s);
}

TEST(WaitForSessions, EndsWithTheLastSession) {
  Pod pod{.sessions_until = 5min};
  EXPECT_EQ(pod.Wait(12h), "no session is left");
  EXPECT_EQ(pod.passed, 5min);
}

TEST(WaitForSessions, EndsWhenSlurmctldHasBeenSilentForTenMinutes) {
  Pod pod{.slurmctld_until = 1h};
  EXPECT_THAT(pod.Wait(12h), HasSubstr("slurmctld has not answered for 10m"));
  EXPECT_EQ(pod.passed, 1h + 9min);  // the last answer came a minute before
  EXPECT_EQ(pod.asked, 69);
}

TEST(IsSshSession, IsAProcessOfRootWithItsName) {
  EXPECT_TRUE(IsSshSession("Name:\tsshd-session\nUmask:\t0022\nUid:\t0\t0\t0\t0\n"));
  EXPECT_FALSE(IsSshSession("Name:\tsshd-session\nUid:\t1000\t1000\t1000\t1000\n"));
  EXPECT_FALSE(IsSshSession("Name:\tsshd\nUid:\t0\t0\t0\t0\n"));
  EXPECT_FALSE(IsSshSession(""));
}

TEST(DrainLogins, RefusesATimeThatIsNone) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{}, {"0"}, {"12h"}, {"1", "2"}, {"2592001"}}) {
    EXPECT_EQ(DrainLogins(arguments).error().message(), "usage: capstan-entry drain-logins SECONDS, 1 to 2592000");
  }
}

}  // namespace
}  // namespace capstan::entry
