#include "entry/root/probe.h"

#include <gmock/gmock.h>

#include <thread>

#include "entry/root/mounts_test.h"
#include "entry/root/volume.h"

namespace capstan::entry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using namespace std::chrono_literals;

class ProbeTest : public MountsTest {
 protected:
  Result<Probed> Run(Side side, Duration patience = 1min) const {
    return ProbeTogether({.volume = place_, .id = "one", .side = side, .patience = patience});
  }
  bool Left() const { return fs::exists(folder_); }

  // What a first pod does that holds no lock, for a second one whose node shows its files as `mode`.
  void BeCareless(unsigned mode) const {
    fs::create_directories(folder_);
    Write(folder_ + "/given", "of the first\n");
    EXPECT_EQ(chown((folder_ + "/given").c_str(), 12'345, 12'345), 0);
    EXPECT_EQ(chmod((folder_ + "/given").c_str(), mode), 0);
    Write(folder_ + "/lock", "");
    for (int round = 0; round <= 5; ++round) {
      const std::string said = std::to_string(round) + "\n";
      EXPECT_TRUE(StoreFile(folder_, "said-1", said));
      while (Read(folder_ + "/said-2") != said) std::this_thread::yield();
    }
  }

  const std::string folder_ = place_ + "/meta/one";
};

TEST_F(ProbeTest, AVolumeThatTwoSeeAlikeHasNoFaults) {
  Result<Probed> second = Fail(Code::kInternal, "not run");
  std::jthread other([&] { second = Run(Side::kSecond); });
  const Result<Probed> first = Run(Side::kFirst);
  other.join();
  ASSERT_TRUE(first) << first.error().message();
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_THAT(first->errors, IsEmpty());
  EXPECT_THAT(first->warnings, IsEmpty());
  EXPECT_GT(first->files_per_second, 0);
  EXPECT_GT(first->seen_after_ms, 0);
  EXPECT_EQ(*second, Probed());
  EXPECT_FALSE(Left());
}

TEST_F(ProbeTest, AVolumeThatCannotHoldARootIsNotTriedFurther) {
  ASSERT_EQ(mount(nullptr, place_.c_str(), nullptr, MS_REMOUNT | MS_NOSUID, nullptr), 0);
  const Result<Probed> first = Run(Side::kFirst);
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_THAT(first->errors, ElementsAre(HasSubstr("it is mounted nosuid")));
  EXPECT_FALSE(Left());
  ASSERT_EQ(mount(nullptr, place_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
  const Result<Probed> read_only = Run(Side::kFirst);
  ASSERT_TRUE(read_only) << read_only.error().message();
  EXPECT_THAT(read_only->errors, ElementsAre(HasSubstr("root cannot write to it (Read-only file system)")));
}

TEST_F(ProbeTest, ALockThatDoesNotHoldAndAModeThatIsAnotherAreErrors) {
  for (const unsigned mode : {04751u, 0751u}) {
    std::jthread other([&] { BeCareless(mode); });
    const Result<Probed> second = Run(Side::kSecond);
    other.join();
    ASSERT_TRUE(second) << second.error().message();
    const auto no_lock = HasSubstr("a lock holds on one node only");
    if (mode == 04751)
      EXPECT_THAT(second->errors, ElementsAre(no_lock));
    else
      EXPECT_THAT(second->errors, ElementsAre(HasSubstr("another owner or mode"), no_lock));
    fs::remove_all(folder_);
  }
}

TEST_F(ProbeTest, WhoHearsNothingEndsAndLeavesNothing) {
  for (const Side side : {Side::kFirst, Side::kSecond}) {
    const Result<Probed> alone = Run(side, 1ms);
    ASSERT_FALSE(alone);
    EXPECT_EQ(alone.error().code(), Code::kUnavailable);
    EXPECT_THAT(alone.error().message(), HasSubstr("pod has said nothing in time"));
    EXPECT_FALSE(Left());
  }
  EXPECT_EQ(ProbeTogether({.volume = place_, .id = "../x"}).error().message(), "\"../x\" is no DNS label");
}

TEST(ProbedTextTest, IsJson) {
  EXPECT_EQ(ProbedText({.errors = {"a \"b\""}, .warnings = {}, .files_per_second = 7, .seen_after_ms = 2}),
            R"({"errors":["a \"b\""],"warnings":[],"filesPerSecond":7,"seenAfterMs":2})");
}

}  // namespace
}  // namespace capstan::entry
