#include "entry/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace capstan::entry {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(ParseStat, ReadsCommandsWithBlanksAndBrackets) {
  const auto plain = ParseStat("7 (slurmstepd) S 1 7 7 0 -1");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->pid, 7);
  EXPECT_EQ(plain->parent, 1);
  EXPECT_EQ(plain->command, "slurmstepd");
  const auto strange = ParseStat("8 (a) S 3 (x) R 12 8");
  ASSERT_TRUE(strange);
  EXPECT_EQ(strange->parent, 12);
  EXPECT_EQ(strange->command, "a) S 3 (x");
}

TEST(ParseStat, RefusesAnythingElse) {
  for (const char* text : {"", "7", "7 (x", "7 x) S 1", "x (y) S 1", "7 (x) S", "7 (x) S y"}) {
    EXPECT_FALSE(ParseStat(text)) << text;
  }
}

TEST(Process, KnowsItsDescendants) {
  EXPECT_EQ(ReadProcess(getpid())->parent, getppid());
  EXPECT_FALSE(IsDescendant(getpid()));
  EXPECT_FALSE(IsDescendant(1));
  const auto child = Spawn({"/bin/sleep", "60"});
  ASSERT_TRUE(child);
  EXPECT_TRUE(IsDescendant(*child));
  kill(*child, SIGKILL);
  waitpid(*child, nullptr, 0);
  EXPECT_FALSE(IsDescendant(*child));
  EXPECT_FALSE(ReadProcess(*child));
}

TEST(ParseRealUid, IsTheFirstOfFour) {
  EXPECT_EQ(ParseRealUid("Name:\tUid:\nUid:\t1000\t0\t0\t0\nGid:\t5\t5\t5\t5\n"), 1000u);
  for (const char* text : {"", "Uid:", "Uid:\tx\t0", "Name:\tx\n"}) EXPECT_FALSE(ParseRealUid(text)) << text;
}

// A job's process of that name, left behind as a child of capstan-entry, kept its worker for ever.
TEST(Process, AChildOfAnotherUserIsNoJobStep) {
  const auto is_found = [](uid_t user) {
    int ready[2];
    if (pipe(ready) != 0) return std::string("no pipe");
    const pid_t child = fork();
    if (child < 0) return std::string("no child");
    if (child == 0) {
      const bool able = setresuid(user, geteuid(), geteuid()) == 0 && prctl(PR_SET_NAME, "slurmstepd: [7") == 0;
      const char told = able ? 'y' : 'n';
      if (write(ready[1], &told, 1) == 1) pause();
      _exit(0);
    }
    char told = 'n';
    const bool able = read(ready[0], &told, 1) == 1 && told == 'y';
    std::string found = !able ? "not able" : HasChild("slurmstepd") ? "yes" : "no";
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(ready[0]);
    close(ready[1]);
    return found;
  };
  EXPECT_EQ(is_found(getuid()), "yes");
  EXPECT_EQ(is_found(getuid() + 1), geteuid() == 0 ? "no" : "not able");
}

TEST(RunAndRead, ReturnsTheOutput) { EXPECT_EQ(RunAndRead({"/bin/echo", "a b", "c"}, seconds(10)).value(), "a b c\n"); }

TEST(RunAndRead, SaysHowItFailed) {
  const auto failed = RunAndRead({"/bin/sh", "-c", "echo half; exit 3"}, seconds(10));
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message(), ::testing::HasSubstr("failed; it printed: half"));
  EXPECT_EQ(RunAndRead({"/nonexistent"}, seconds(10)).error().message(),
            "cannot start /nonexistent: No such file or directory");
}

TEST(RunAndRead, EndsWhatTakesTooLongOrSaysTooMuch) {
  EXPECT_EQ(RunAndRead({"/bin/sleep", "60"}, milliseconds(20)).error().code(), Code::kDeadline);
  EXPECT_FALSE(RunAndRead({"/usr/bin/yes"}, seconds(10)));
}

// As PID 1 the process lost it, and started a daemon in a pod that was to end.
TEST(RunAndRead, EndsAtOnceWhenToldToStopAndLeavesTheSignalPending) {
  sigset_t before, stop;
  sigprocmask(SIG_BLOCK, nullptr, &before);
  HoldStopSignals();
  EXPECT_EQ(PendingStopSignal(), std::nullopt);
  const pid_t parent = getpid();
  const auto told =
      RunAndRead({"/bin/sh", "-c", "kill -TERM " + std::to_string(parent) + "; exec sleep 60"}, seconds(60));
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code(), Code::kCancelled);
  EXPECT_EQ(PendingStopSignal(), SIGTERM);
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  const timespec none{};
  EXPECT_EQ(sigtimedwait(&stop, nullptr, &none), SIGTERM);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

TEST(FindProgram, LooksInThePathAndSaysWhereItLooked) {
  EXPECT_THAT(FindProgram("sh").value(), ::testing::EndsWith("/sh"));
  const auto missing = FindProgram("no-such-program");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), Code::kNotFound);
  EXPECT_THAT(missing.error().message(), ::testing::HasSubstr("/usr/sbin"));
}

}  // namespace
}  // namespace capstan::entry
