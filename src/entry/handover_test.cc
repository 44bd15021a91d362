#include "entry/handover.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/time.h"
#include "entry/files.h"

namespace capstan::entry {
namespace {

class HandoverTest : public ::testing::Test {
 protected:
  HandoverTest() : state_(::testing::TempDir() + "handover-" + std::to_string(getpid())) {
    std::filesystem::remove_all(state_);
    std::filesystem::create_directories(state_);
    ::testing::internal::CaptureStderr();
  }
  ~HandoverTest() override {
    ::testing::internal::GetCapturedStderr();
    std::filesystem::remove_all(state_);
  }

  Handover Of(const std::string& host, const std::string& more = "SlurmctldHost=c-1(c-1.d)\n") const {
    Configuration configuration;
    configuration.files["slurm.conf"] =
        "SlurmctldHost=c-0(c-0.d)\n" + more + "SlurmctldTimeout=15\nStateSaveLocation=" + state_ + "\n";
    return {configuration, host};
  }
  // As slurmctld of this place notes it, so many seconds ago.
  void Beat(uint64_t server, int64_t ago = 0) const {
    std::string bytes;
    for (const uint64_t value : {static_cast<uint64_t>(UnixSeconds(Time::clock::now()) - ago), server})
      for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
    ASSERT_TRUE(ReplaceFile(state_ + "/heartbeat", bytes, 0600));
  }

  const std::string state_;
};

TEST_F(HandoverTest, WhoComesBackWaitsUntilTheOtherHasEnded) {
  Beat(1);
  Handover first = Of("c-0"), second = Of("c-1");
  EXPECT_FALSE(second.IsAsked());
  EXPECT_TRUE(first.MustWait());
  EXPECT_FALSE(second.IsAsked()) << "it may be left over from who does not wait any more";
  EXPECT_TRUE(first.MustWait());
  EXPECT_TRUE(second.IsAsked());
  EXPECT_TRUE(first.MustWait()) << "the state is not saved yet";
  second.GiveUp();
  EXPECT_FALSE(first.MustWait());
  EXPECT_FALSE(second.IsAsked());
}

TEST_F(HandoverTest, NobodyWaitsForWhoDoesNotWrite) {
  EXPECT_FALSE(Of("c-0").MustWait()) << "a new cluster";
  Beat(0);
  EXPECT_FALSE(Of("c-0").MustWait()) << "it was in charge itself";
  EXPECT_FALSE(Of("c-1").MustWait()) << "it stands by";
  Beat(1, 21);
  EXPECT_FALSE(Of("c-0").MustWait());
  Beat(1, 15);
  Handover first = Of("c-0");
  EXPECT_TRUE(first.MustWait());
  Beat(1, 30);
  EXPECT_FALSE(first.MustWait());
  EXPECT_FALSE(std::filesystem::exists(state_ + "/capstan-handover"));
}

// The question that was never asked passed for one that had been answered, and two would have written.
TEST_F(HandoverTest, WhoCannotAskWaitsUntilTheOtherIsSilent) {
  Beat(1);
  const std::string stuck = state_ + "/capstan-handover.new";
  std::filesystem::create_directories(stuck);
  Handover first = Of("c-0"), second = Of("c-1");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(first.MustWait()) << "a full volume";
  std::filesystem::remove(stuck);
  EXPECT_TRUE(first.MustWait());
  EXPECT_FALSE(second.IsAsked());
  EXPECT_TRUE(first.MustWait());
  EXPECT_TRUE(second.IsAsked());
  second.GiveUp();
  std::filesystem::create_directories(stuck);
  EXPECT_FALSE(first.MustWait());
}

TEST_F(HandoverTest, OnlyWhoIsInChargeGivesUp) {
  Beat(1);
  Handover first = Of("c-0"), second = Of("c-1");
  first.MustWait();
  second.IsAsked();
  first.MustWait();
  Beat(0);
  EXPECT_FALSE(second.IsAsked());
  Beat(1);
  EXPECT_FALSE(Of("c-0").IsAsked());
}

// A kept configuration may be used then, and not before.
TEST_F(HandoverTest, WhoHasGivenControlBackDoesNotWrite) {
  EXPECT_FALSE(Of("c-1").AnotherWrites());
  Beat(0);
  EXPECT_TRUE(Of("c-1").AnotherWrites());
  EXPECT_FALSE(Of("c-1").WouldWait()) << "it stands by";
  EXPECT_FALSE(Of("c-0").AnotherWrites());
  Beat(1, 21);
  EXPECT_FALSE(Of("c-1").AnotherWrites());
  Beat(1);
  EXPECT_TRUE(Of("c-1").AnotherWrites()) << "it may have given control back a moment ago";
  Handover first = Of("c-0"), second = Of("c-1");
  EXPECT_TRUE(first.WouldWait());
  EXPECT_TRUE(first.AnotherWrites());
  EXPECT_TRUE(first.MustWait());
  second.GiveUp();
  EXPECT_FALSE(first.MustWait());
  EXPECT_FALSE(first.AnotherWrites()) << "its last heartbeat is younger than that";
  EXPECT_FALSE(first.MustWait());
  Beat(1, -1);
  EXPECT_TRUE(first.AnotherWrites()) << "it has taken over again";
  EXPECT_TRUE(first.MustWait());
}

TEST_F(HandoverTest, OneAloneIsNotConcerned) {
  Beat(1);
  Handover alone = Of("c-0", "");
  EXPECT_FALSE(alone.concerns_us());
  EXPECT_FALSE(alone.MustWait());
  EXPECT_FALSE(Of("other").MustWait());
}

}  // namespace
}  // namespace capstan::entry
