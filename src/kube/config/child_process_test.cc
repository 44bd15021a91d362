#include "kube/config/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace capstan::kube {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

ChildProcess Shell(const std::string& script) {
  return {.path = "/bin/sh", .arguments = {"-c", script}, .environment = {"PATH=/usr/bin:/bin", "A=b"}, .limit = 20s};
}

// False for one that is gone or has only its status left.
bool IsAlive(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return file >> number >> name >> state && state != "Z";
}

TEST(ChildProcess, ItsOutputAndStatusAreHad) {
  const Result<ChildOutput> output = RunChild(Shell("echo \"$A $#\"; echo warning >&2; exit 3"));
  ASSERT_TRUE(output) << output.error().message();
  EXPECT_EQ(output->text.Reveal(), "b 0\n");
  EXPECT_EQ(output->last_line, "warning");
  EXPECT_EQ(output->status, 3);
}

TEST(ChildProcess, ASignalIsAStatusAsInAShell) {
  const Result<ChildOutput> output = RunChild(Shell("kill -TERM $$"));
  ASSERT_TRUE(output) << output.error().message();
  EXPECT_EQ(output->status, 128 + SIGTERM);
}

TEST(ChildProcess, OnlyTheLastLineOfItsErrorsIsKept) {
  const Result<ChildOutput> output = RunChild(
      Shell("i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done >&2; printf '\\033[31mred\\n\\n' >&2"));
  ASSERT_TRUE(output) << output.error().message();
  EXPECT_EQ(output->last_line, " [31mred") << "no escape sequence reaches a terminal";
  const Result<ChildOutput> wide = RunChild(Shell("printf '%05000d' 1 >&2"));
  ASSERT_TRUE(wide);
  EXPECT_EQ(wide->last_line.size(), 303u);
}

TEST(ChildProcess, NothingOfOursIsItsToRead) {
  const int secret = dup(1);  // without close-on-exec, as a library might
  const Result<ChildOutput> output = RunChild(Shell("ls /proc/self/fd | wc -l; cat"));
  close(secret);
  ASSERT_TRUE(output) << output.error().message();
  EXPECT_EQ(output->text.Reveal(), "4\n") << "its three, and the one with which ls reads the folder";
}

TEST(ChildProcess, WhoTakesTooLongIsKilledWithItsChildren) {
  const std::string path = ::testing::TempDir() + "/capstan-child-" + std::to_string(getpid());
  std::filesystem::remove(path);
  for (Duration limit = 50ms; !std::filesystem::exists(path); limit *= 2) {
    ChildProcess child = Shell("sleep 1000 & echo $! > " + path + ".new; mv " + path + ".new " + path + "; wait");
    child.limit = limit;
    const Result<ChildOutput> output = RunChild(child);
    ASSERT_FALSE(output);
    EXPECT_EQ(output.error().code(), Code::kDeadline);
    EXPECT_EQ(output.error().message(), "/bin/sh took longer than " + FormatDuration(limit));
  }
  std::ifstream file(path);
  pid_t left = 0;
  file >> left;
  std::filesystem::remove(path);
  while (IsAlive(left)) usleep(1000);
}

TEST(ChildProcess, WhoSaysTooMuchIsKilled) {
  ChildProcess child = Shell("while :; do echo spam; done");
  child.output_limit = 10'000;
  const Result<ChildOutput> output = RunChild(child);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code(), Code::kInvalid);
  EXPECT_THAT(output.error().message(), HasSubstr("says more than 10000 bytes"));
}

TEST(ChildProcess, ItCanBeStopped) {
  ChildProcess child = Shell("sleep 1000");
  child.stop_fd = eventfd(1, EFD_CLOEXEC);
  const Result<ChildOutput> output = RunChild(child);
  close(child.stop_fd);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code(), Code::kCancelled);
}

TEST(ChildProcess, WhatItLeavesInTheBackgroundIsNotWaitedFor) {
  const Result<ChildOutput> output = RunChild(Shell("sleep 1000 & echo $!"));
  ASSERT_TRUE(output) << output.error().message();
  const pid_t left = std::stoi(std::string(output->text.Reveal()));
  EXPECT_EQ(kill(left, SIGKILL), 0) << "a daemon that it started lives on";
}

TEST(ChildProcess, WhoClosesItsOutputIsStillWaitedFor) {
  const Result<ChildOutput> output =
      RunChild(Shell("echo done; exec >&- 2>&-; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 4"));
  ASSERT_TRUE(output) << output.error().message();
  EXPECT_EQ(output->text.Reveal(), "done\n");
  EXPECT_EQ(output->status, 4);
}

TEST(ChildProcess, WhatCannotBeStartedIsSaid) {
  const Result<ChildOutput> output = RunChild({.path = "/etc/passwd"});
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().message(), "/etc/passwd cannot be started: Permission denied");
}

TEST(FindProgram, LooksInAbsoluteFoldersOnly) {
  EXPECT_EQ(FindProgram("sh", "/nowhere:/bin"), "/bin/sh");
  EXPECT_EQ(FindProgram("/bin/sh", ""), "/bin/sh");
  const std::string here = std::filesystem::current_path();
  std::filesystem::current_path("/bin");
  for (const std::string_view path : {"", ".", ":", "bin"}) EXPECT_FALSE(FindProgram("sh", path)) << path;
  std::filesystem::current_path(here);
  EXPECT_FALSE(FindProgram("passwd", "/etc")) << "not a program";
  EXPECT_FALSE(FindProgram("..", "/bin")) << "a folder";
  EXPECT_THAT(FindProgram("/no/such", "").error().message(), StartsWith("there is no program /no/such"));
}

}  // namespace
}  // namespace capstan::kube
