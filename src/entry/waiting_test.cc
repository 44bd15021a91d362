#include "entry/waiting.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "entry/files.h"
#include "entry/port_test.h"

namespace capstan::entry {
namespace {

class WaitingTest : public ::testing::Test {
 protected:
  WaitingTest() : folder_(::testing::TempDir() + "waiting-" + std::to_string(getpid())) {
    std::filesystem::remove_all(folder_);
    Mount("StoragePass=hunter2\n");
    ::testing::internal::CaptureStderr();
    waiting_.emplace(Waiting::Options{.daemon = "slurmdbd", .mounted = folder_, .port = TestPort(0)}, 1);
  }
  ~WaitingTest() override {
    ::testing::internal::GetCapturedStderr();
    std::filesystem::remove_all(folder_);
  }

  void Mount(const std::string& text) { ASSERT_TRUE(ReplaceFile(folder_ + "/slurmdbd.conf", text, 0600)); }
  void Ends(const std::string& said) {
    LastWords words;
    words.Hear(said);
    waiting_->Ended(words, "it ended with status 1 and said nothing", now_);
  }
  bool IsDueAfter(Waiting::Clock::duration time) {
    now_ += time;
    return waiting_->Serve(now_);
  }

  const std::string folder_;
  std::optional<Waiting> waiting_;
  Waiting::Clock::time_point now_ = Waiting::Clock::now();
};

TEST_F(WaitingTest, IsTriedAgainAfterHalfAMinute) {
  EXPECT_FALSE(IsDueAfter(std::chrono::hours(1))) << "it runs";
  Ends("slurmdbd: fatal: no\n");
  EXPECT_FALSE(IsDueAfter(std::chrono::seconds(20)));
  EXPECT_TRUE(IsDueAfter(std::chrono::seconds(20)));
  EXPECT_FALSE(IsDueAfter(std::chrono::hours(1))) << "it was started";
}

TEST_F(WaitingTest, IsTriedAtOnceWhenAFileChanges) {
  Ends("slurmdbd: fatal: no\n");
  EXPECT_FALSE(IsDueAfter(std::chrono::seconds(1)));
  Mount("StoragePass=right\n");
  EXPECT_TRUE(IsDueAfter(std::chrono::seconds(1)));
}

TEST_F(WaitingTest, TellsWhyWithoutAPasswordUntilItRuns) {
  EXPECT_EQ(waiting_->Answer(), "{\"message\": \"\"}\n");
  Ends("slurmdbd: error: no access with hunter2\nslurmdbd: fatal: no\n");
  EXPECT_EQ(waiting_->Answer(), "{\"message\": \"slurmdbd does not start: error: no access with ***; fatal: no\"}\n");
  EXPECT_TRUE(IsDueAfter(std::chrono::seconds(40)));
  EXPECT_NE(waiting_->Answer(), "{\"message\": \"\"}\n");
  Ends("");
  EXPECT_EQ(waiting_->Answer(),
            "{\"message\": \"slurmdbd does not start: it ended with status 1 and said nothing\"}\n");
  waiting_->Runs();
  EXPECT_EQ(waiting_->Answer(), "{\"message\": \"\"}\n");
}

}  // namespace
}  // namespace capstan::entry
