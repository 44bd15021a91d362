#include "entry/reconfigurer.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>

#include "base/hash.h"
#include "base/text.h"
#include "entry/files.h"
#include "entry/port_test.h"

namespace capstan::entry {
namespace {

using namespace std::chrono_literals;  // NOLINT
using Clock = Reconfigurer::Clock;

// Notes whose configuration it was called with, and says and ends as `obey` says.
constexpr const char* kScontrol = R"sh(#!/bin/sh
cd "$(dirname "$0")"
echo "$1 $(dirname "$SLURM_CONF" | sed 's,.*/,,')" >> calls
. ./obey
)sh";

class ReconfigurerTest : public ::testing::Test {
 protected:
  ReconfigurerTest() : root_(::testing::TempDir() + "reconfigurer-" + std::to_string(getpid())) {
    std::filesystem::remove_all(root_);
    for (const char* folder : {"/mounted", "/own"}) std::filesystem::create_directories(root_ + folder);
    Put("mounted/slurm.conf", "one\n");
    Put("mounted/slurm.key", "secret");
    Put("scontrol", kScontrol);
    chmod((root_ + "/scontrol").c_str(), 0755);
    Obey("exit 0");
    ::testing::internal::CaptureStderr();
  }
  ~ReconfigurerTest() override {
    ::testing::internal::GetCapturedStderr();
    reconfigurer_.reset();
    std::filesystem::remove_all(root_);
  }

  void Put(const std::string& path, const std::string& text) {
    ASSERT_TRUE(ReplaceFile(root_ + "/" + path, text, 0666)) << path;
  }
  std::string Get(const std::string& path) const { return ReadFile(root_ + "/" + path).value_or(""); }
  void Obey(const std::string& script) { Put("obey", script); }

  void Begin() {
    auto begun = Reconfigurer::Begin({.mounted = root_ + "/mounted",
                                      .folder = root_ + "/own",
                                      .scontrol = root_ + "/scontrol",
                                      .host = "this",
                                      .port = TestPort(0),
                                      .settle = 20ms,
                                      .between = 20ms,
                                      .first_retry = 20ms,
                                      .answer_limit = 10s,
                                      .start_again = start_again_});
    ASSERT_TRUE(begun) << begun.error().message();
    reconfigurer_ = std::make_unique<Reconfigurer>(*std::move(begun));
    Turn();
  }

  // As the supervisor does it, until `done`.
  void Until(const std::function<bool()>& done) {
    const auto end = Clock::now() + 10s;
    while (!done()) {
      ASSERT_LT(Clock::now(), end) << reconfigurer_->Answer() << Get("calls");
      Turn();
    }
  }
  void For(std::chrono::milliseconds time) {
    for (const auto end = Clock::now() + time; Clock::now() < end;) Turn();
  }
  void Turn() {
    std::vector<pollfd> waiting;
    reconfigurer_->AddTo(&waiting);
    poll(waiting.data(), waiting.size(), 5);
    int status = 0;
    for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      reconfigurer_->OnReaped(pid, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), Now());
    }
    reconfigurer_->Serve(daemon_, able_, Now());
  }

  Clock::time_point Now() const { return Clock::now() + later_; }

  bool IsLive(const std::string& text) const {
    return reconfigurer_->Answer().contains("{\"files\": {\"slurm.conf\": \"" + Sha256Hex(text) + "\"}, \"since\"") &&
           !reconfigurer_->Answer().contains("\"runs\": false");
  }
  bool IsRefused(const std::string& text) const {
    return reconfigurer_->Answer().contains("\"refused\": {\"files\": {\"slurm.conf\": \"" + Sha256Hex(text) + "\"}");
  }

  // As slurmctld notes it, so many seconds ago.
  void Beat(int64_t ago, uint64_t server) {
    std::string bytes;
    for (const uint64_t value : {static_cast<uint64_t>(UnixSeconds(Time::clock::now()) - ago), server})
      for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
    Put("state/heartbeat", bytes);
  }

  const std::string root_;
  std::unique_ptr<Reconfigurer> reconfigurer_;
  pid_t daemon_ = 4242;
  Clock::duration later_{0};  // than the real clock
  std::chrono::milliseconds start_again_{30'000};
  bool able_ = true;
};

TEST_F(ReconfigurerTest, AsksOncePerChangeWithWhatIsLive) {
  Begin();
  EXPECT_TRUE(IsLive("one\n"));
  Put("mounted/slurm.conf", "two\n");
  Put("mounted/slurm.conf", "three\n");
  Until([&] { return IsLive("three\n"); });
  For(100ms);
  EXPECT_EQ(Get("calls"), "show mounted\nreconfigure live\n");
  EXPECT_EQ(Get("own/live/slurm.conf"), "three\n");
  EXPECT_EQ(Get("own/live/slurm.key"), "secret");
  EXPECT_FALSE(std::filesystem::exists(root_ + "/own/live/slurm.jwks"));
  EXPECT_TRUE(reconfigurer_->Answer().contains("\"reconfigures\": 1}")) << reconfigurer_->Answer();
}

// Kubelets write a volume anew that says the same, and its keys change with a restart.
TEST_F(ReconfigurerTest, AsksNothingForTheSameTextOrAKey) {
  Begin();
  Put("mounted/slurm.conf", "one\n");
  Put("mounted/slurm.key", "other");
  For(100ms);
  EXPECT_EQ(Get("calls"), "");
}

TEST_F(ReconfigurerTest, DoesNotAskForWhatCannotBeParsed) {
  Begin();
  Obey("echo 'scontrol: fatal: no' >&2; exit 1");
  Put("mounted/slurm.conf", "bad\n");
  Until([&] { return IsRefused("bad\n"); });
  EXPECT_TRUE(reconfigurer_->Answer().contains("Slurm cannot read it: scontrol: fatal: no"));
  EXPECT_TRUE(IsLive("one\n"));
  For(100ms);
  EXPECT_EQ(Get("calls"), "show mounted\n");
  Put("mounted/slurm.conf", "one\n");
  Until([&] { return !reconfigurer_->Answer().contains("refused"); });
}

TEST_F(ReconfigurerTest, DoesNotAskAgainForWhatWasRefused) {
  Begin();
  Obey("[ $1 = show ] || { echo 'slurm_reconfigure error:Unspecified error' >&2; exit 1; }");
  Put("mounted/slurm.conf", "bad\n");
  Until([&] { return IsRefused("bad\n"); });
  For(100ms);
  EXPECT_EQ(Get("calls"), "show mounted\nreconfigure live\n");
  // Somebody else has reconfigured meanwhile: it may be taken now.
  Obey("exit 0");
  daemon_ = 4343;
  Put("mounted/slurm.conf", "bad\n");
  Until([&] { return IsLive("bad\n"); });
}

TEST_F(ReconfigurerTest, TriesAgainWhileSlurmctldIsAway) {
  Begin();
  Obey("[ $1 = show ] || { echo 'Unable to contact slurm controller (connect failure)' >&2; exit 1; }");
  Put("mounted/slurm.conf", "two\n");
  Until([&] { return Get("calls").contains("reconfigure live\nshow mounted\nreconfigure live\n"); });
  EXPECT_FALSE(reconfigurer_->Answer().contains("refused"));
  Obey("exit 0");
  Until([&] { return IsLive("two\n"); });
}

TEST_F(ReconfigurerTest, BelievesANewProcessWhenTheAnswerIsLost) {
  Begin();
  Obey("[ $1 = show ] || { echo 'Socket timed out on send/recv operation' >&2; exit 1; }");
  Put("mounted/slurm.conf", "two\n");
  Until([&] { return Get("calls").contains("reconfigure"); });
  For(50ms);
  EXPECT_TRUE(IsLive("one\n"));
  daemon_ = 4343;
  Until([&] { return IsLive("two\n"); });
  Put("mounted/slurm.conf", "three\n");
  Until([&] { return Get("calls").find("reconfigure", Get("calls").find("reconfigure") + 1) != std::string::npos; });
  Until([&] {
    later_ += 1s;
    return IsRefused("three\n");
  });
  EXPECT_TRUE(reconfigurer_->Answer().contains("has not taken it within"));
}

TEST_F(ReconfigurerTest, WaitsUntilSlurmctldIsReady) {
  able_ = false;
  Begin();
  Put("mounted/slurm.conf", "two\n");
  For(100ms);
  EXPECT_EQ(Get("calls"), "");
  able_ = true;
  Until([&] { return IsLive("two\n"); });
}

// Each of several would reconfigure the one that is in charge, with the files that it has itself.
TEST_F(ReconfigurerTest, OneThatStandsByAsksForNothing) {
  const std::string conf = "SlurmctldHost=other(a.b)\nslurmctldhost=this(c.d)\nStateSaveLocation=" + root_ + "/state\n";
  Beat(100, 0);
  Begin();
  Put("mounted/slurm.conf", conf);
  Until([&] { return IsLive(conf); });
  EXPECT_EQ(Get("calls"), "show mounted\n");
  Obey("exit 1");
  Put("mounted/slurm.conf", conf + "bad\n");
  Until([&] { return IsRefused(conf + "bad\n"); });
  Obey("exit 0");
  Beat(100, 1);  // it has taken over
  Put("mounted/slurm.conf", conf + "good\n");
  Until([&] { return IsLive(conf + "good\n"); });
  EXPECT_TRUE(Get("calls").ends_with("show mounted\nreconfigure live\n")) << Get("calls");
}

TEST_F(ReconfigurerTest, TellsWhoOfSeveralWroteTheStateLast) {
  const std::string conf = "SlurmctldHost=a\nSlurmctldHost=b\nStateSaveLocation=" + root_ + "/state\n";
  Put("mounted/slurm.conf", conf);
  Begin();
  EXPECT_FALSE(reconfigurer_->Answer().contains("heartbeat"));
  Beat(100, 1);
  Turn();
  EXPECT_FALSE(reconfigurer_->Answer().contains("heartbeat")) << "it is not looked at as often as somebody asks";
  later_ += 2s;
  Turn();
  EXPECT_TRUE(reconfigurer_->Answer().contains("\"heartbeat\": {\"server\": 1, \"age_s\": 10"))
      << reconfigurer_->Answer();
  Put("state/heartbeat", "short");
  later_ += 2s;
  Turn();
  EXPECT_FALSE(reconfigurer_->Answer().contains("heartbeat"));
}

// It said that a text was live which slurmctld ended with.
TEST_F(ReconfigurerTest, NothingIsLiveBeforeSlurmctldIsReady) {
  able_ = false;
  Begin();
  EXPECT_FALSE(IsLive("one\n"));
  EXPECT_TRUE(reconfigurer_->Answer().contains("{\"files\": {\"slurm.conf\": \"\"}, \"since\": \""));
  EXPECT_TRUE(reconfigurer_->Answer().contains("\"runs\": false"));
  reconfigurer_->DoesNotStart({.files = {{"slurm.conf", "one\n"}}}, "fatal: no");
  EXPECT_TRUE(IsRefused("one\n"));
  EXPECT_TRUE(reconfigurer_->Answer().contains("\"message\": \"fatal: no\"}"));
  reconfigurer_->Starts({.configuration = {.files = {{"slurm.conf", "one\n"}}}});
  Turn();
  EXPECT_TRUE(IsRefused("one\n")) << "until it runs";
  able_ = true;
  Turn();
  EXPECT_TRUE(IsLive("one\n"));
  EXPECT_FALSE(IsRefused("one\n"));
}

// slurmctld reads in the same place again what it is started anew with.
TEST_F(ReconfigurerTest, AChangedTextIsPutWhereSlurmctldReadsIt) {
  able_ = false;
  Begin();
  reconfigurer_->DoesNotStart({.files = {{"slurm.conf", "one\n"}}}, "fatal: no");
  reconfigurer_->Starts({.configuration = {.files = {{"slurm.conf", "kept\n"}}},
                         .folder = root_ + "/own/kept",
                         .since = *ParseRfc3339("2026-11-23T05:00:00Z")});
  Put("own/kept/slurm.conf", "kept\n");
  daemon_ = 4343;
  able_ = true;
  For(100ms);
  EXPECT_TRUE(IsLive("kept\n"));
  EXPECT_TRUE(reconfigurer_->Answer().contains("\"since\": \"2026-11-23T05:00:00Z\""));
  EXPECT_TRUE(IsRefused("one\n"));
  EXPECT_EQ(Get("calls"), "") << "what did not start is not tried again";
  Obey("[ $1 = show ] || { cp own/kept/slurm.conf own/seen; echo 'error:Unspecified error'; exit 1; }");
  Put("mounted/slurm.conf", "bad\n");
  Until([&] { return IsRefused("bad\n"); });
  EXPECT_EQ(Get("own/seen"), "bad\n");
  EXPECT_EQ(Get("own/kept/slurm.conf"), "kept\n");
  Obey("exit 0");
  Put("mounted/slurm.conf", "good\n");
  Until([&] { return IsLive("good\n"); });
  EXPECT_EQ(Get("own/kept/slurm.conf"), "good\n");
  EXPECT_EQ(Get("own/kept/slurm.key"), "secret");
  EXPECT_FALSE(reconfigurer_->Answer().contains("refused"));
}

// A slurmctld whose slurmdbd was away for a moment ran for ever with what it had before.
TEST_F(ReconfigurerTest, WhatDidNotStartIsTriedAgain) {
  able_ = false;
  start_again_ = 20ms;
  Begin();
  reconfigurer_->DoesNotStart({.files = {{"slurm.conf", "one\n"}}}, "fatal: no slurmdbd");
  reconfigurer_->Starts({.configuration = {.files = {{"slurm.conf", "kept\n"}}}, .folder = root_ + "/own/kept"});
  Obey("[ $1 = show ] || { echo 'error:Unspecified error'; exit 1; }");
  able_ = true;
  Until([&] { return Get("calls").contains("reconfigure live\nshow mounted\nreconfigure live\n"); });
  EXPECT_TRUE(IsLive("kept\n"));
  EXPECT_TRUE(reconfigurer_->Answer().contains("\"message\": \"fatal: no slurmdbd\""));
  Obey("exit 0");
  Until([&] { return IsLive("one\n"); });
  EXPECT_FALSE(reconfigurer_->Answer().contains("refused"));
}

TEST_F(ReconfigurerTest, RepeatsNoPassword) {
  Begin();
  Obey("echo 'error: Parse error: \" hunter2\"' >&2; exit 1");
  Put("mounted/slurm.conf", "JobCompPass=a hunter2\n");
  Until([&] { return reconfigurer_->Answer().contains("refused"); });
  EXPECT_TRUE(reconfigurer_->Answer().contains("Parse error: \\\" ***\\\""));
  // Nor a part of one, where the message is cut.
  Obey("printf 'error: %0380d hunter2hunter2hunter2' 0 >&2; exit 1");
  Put("mounted/slurm.conf", "JobCompPass=hunter2hunter2hunter2\n");
  Until([&] { return reconfigurer_->Answer().contains("00000"); });
  EXPECT_FALSE(reconfigurer_->Answer().contains("hunter2"));
}

TEST_F(ReconfigurerTest, DoesNotReadAFolderThatChangesMeanwhile) {
  std::filesystem::create_directory(root_ + "/volume");
  EXPECT_EQ(ReadConfiguration(root_ + "/volume"), std::nullopt);  // no slurm.conf
  Put("volume/slurm.conf", "one\n");
  Put("volume/.hidden", "x");
  const auto found = ReadConfiguration(root_ + "/volume");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->files, (std::map<std::string, std::string>{{"slurm.conf", "one\n"}}));
  std::filesystem::create_symlink(root_ + "/nowhere", root_ + "/volume/dangling.conf");
  EXPECT_TRUE(ReadConfiguration(root_ + "/volume"));
}

}  // namespace
}  // namespace capstan::entry
