#include "entry/registration.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

namespace capstan::entry {
namespace {

using namespace std::chrono_literals;  // NOLINT
using Clock = Registration::Clock;

TEST(Known, IsNoOnlyByTheWordsThatSaySo) {
  EXPECT_EQ(KnownBy(0, "NodeName=w-0 Arch=x86_64", "w-0"), Known::kYes);
  EXPECT_EQ(KnownBy(1, "Node w-0 not found\n", "w-0"), Known::kNo);
  EXPECT_EQ(KnownBy(1, "scontrol: a warning\nNode w-0 not found", "w-0"), Known::kNo);
  EXPECT_EQ(KnownBy(1, "Node w-01 not found", "w-0"), Known::kNobodyKnows);
  EXPECT_EQ(KnownBy(1, "slurm_load_node error: Unable to contact slurm controller (connect failure)", "w-0"),
            Known::kNobodyKnows);
  EXPECT_EQ(KnownBy(137, "", "w-0"), Known::kNobodyKnows);
}

class RegistrationTest : public ::testing::Test {
 protected:
  RegistrationTest() : root_(::testing::TempDir() + "registration-" + std::to_string(getpid())) {
    std::filesystem::create_directories(root_);
    std::ofstream(root_ + "/scontrol") << "#!/bin/sh\necho \"$*\" >> " << root_ << "/calls\n. " << root_ << "/obey\n";
    chmod((root_ + "/scontrol").c_str(), 0755);
    Slurmctld("echo Node w-0 not found; exit 1");
    Begin(true);
  }
  ~RegistrationTest() override { std::filesystem::remove_all(root_); }

  void Begin(bool state_kept) {
    registration_ = std::make_unique<Registration>(*Registration::Begin(
        {.scontrol = root_ + "/scontrol", .node = "w-0", .state_kept = state_kept, .seed = 1}, now_));
  }
  void Slurmctld(const std::string& says) { std::ofstream(root_ + "/obey") << says << "\n"; }
  int Calls() const {
    std::ifstream calls(root_ + "/calls");
    int count = 0;
    for (std::string line; std::getline(calls, line); ++count) EXPECT_EQ(line, "show node w-0");
    return count;
  }

  // For so long, by the second. True: slurmd is to be started anew.
  bool Pass(std::chrono::seconds time, bool able = true, bool steps = false) {
    for (const auto end = now_ + time; now_ < end; now_ += 1s) {
      if (registration_->Serve(able, [steps] { return steps; }, now_)) return true;
      EXPECT_GT(*registration_->next(), now_) << "whoever polls would turn without end";
      int status = 0;
      if (const pid_t pid = waitpid(-1, &status, 0); pid > 0) registration_->OnReaped(pid, WEXITSTATUS(status), now_);
    }
    return false;
  }
  bool Suspected(std::chrono::seconds time, bool steps = false) {
    registration_->Suspect(now_);
    return Pass(time, true, steps);
  }

  const std::string root_;
  Clock::time_point now_ = Clock::now();
  std::unique_ptr<Registration> registration_;
};

TEST_F(RegistrationTest, SlurmdIsStartedAnewWhenSlurmctldHasSaidTwiceThatThereIsNoSuchNode) {
  EXPECT_FALSE(Pass(60s));
  EXPECT_EQ(Calls(), 0) << "nobody has asked";
  EXPECT_TRUE(Suspected(20s));
  EXPECT_EQ(Calls(), 2);
}

TEST_F(RegistrationTest, OneAnswerIsNotBelieved) {
  EXPECT_FALSE(Suspected(3s));
  EXPECT_EQ(Calls(), 1);
  Slurmctld("exit 0");
  EXPECT_FALSE(Pass(60s));
  EXPECT_EQ(Calls(), 2);
}

TEST_F(RegistrationTest, ASlurmctldThatCannotBeAskedProvesNothing) {
  Slurmctld("echo slurm_load_node error: Unable to contact slurm controller; exit 1");
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(Suspected(30s));
  EXPECT_EQ(Calls(), 5);
}

TEST_F(RegistrationTest, WithJobStepsItWaitsWhereSlurmctldKeepsItsState) {
  EXPECT_FALSE(Suspected(30s, true));
  EXPECT_EQ(Calls(), 2);
  EXPECT_TRUE(Suspected(30s, false)) << "they have ended";
}

TEST_F(RegistrationTest, WithJobStepsItDoesNotWaitWhereNoStateIsKept) {
  Begin(false);
  EXPECT_TRUE(Suspected(30s, true));
}

TEST_F(RegistrationTest, WhatDoesNotHelpIsDoneEverMoreSeldom) {
  ASSERT_TRUE(Suspected(30s));
  EXPECT_FALSE(Suspected(30s)) << "a minute later at the earliest";
  int starts = 0;
  for (int i = 0; i < 120; ++i) starts += Suspected(30s) ? 1 : 0;
  EXPECT_GT(starts, 2);
  EXPECT_LT(starts, 7);
}

TEST_F(RegistrationTest, WithoutAnybodyWhoAsksItIsLookedAtNowAndThen) { EXPECT_TRUE(Pass(25min)); }

TEST_F(RegistrationTest, WhileSlurmdIsNotThereNothingIsAsked) {
  registration_->Suspect(now_);
  EXPECT_FALSE(Pass(60s, false));
  EXPECT_EQ(Calls(), 0);
}

}  // namespace
}  // namespace capstan::entry
