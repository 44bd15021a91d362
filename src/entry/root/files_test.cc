#include "entry/root/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/hash.h"
#include "entry/root/jobs.h"

namespace capstan::entry {
namespace {

namespace fs = std::filesystem;

class PutFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(root_ + "/etc");
    fs::create_directories(volume_ + "/meta");
    Write(volume_ + "/given", "given\n");
  }
  void TearDown() override { fs::remove_all(volume_); }

  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  static void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  PutFile Given(const std::string& to, unsigned mode = 0644) const {
    return {.mode = mode, .sha256 = Sha256Hex(Read(volume_ + "/given")), .from = volume_ + "/given", .to = to};
  }
  // How many were written, or why not.
  std::string Put(const std::string& to, unsigned mode = 0644) {
    const auto put = PutFiles(volume_, "g1", {Given(to, mode)});
    return put ? std::to_string(*put) : put.error().message();
  }
  unsigned ModeOf(const std::string& path) const {
    struct stat found{};
    lstat(path.c_str(), &found);
    return found.st_mode & 07777;
  }

  const std::string volume_ = ::testing::TempDir() + "files-" + std::to_string(getpid()), root_ = volume_ + "/roots/g1";
};

TEST_F(PutFilesTest, AreThereWithTheirModeAndWrittenOnce) {
  EXPECT_EQ(Put("/etc/profile.d/site.sh", 0755), "1");
  EXPECT_EQ(Read(root_ + "/etc/profile.d/site.sh"), "given\n");
  EXPECT_EQ(ModeOf(root_ + "/etc/profile.d/site.sh"), 0755u);
  EXPECT_EQ(Put("/etc/profile.d/site.sh", 0755), "0");
  EXPECT_EQ(Put("/etc/profile.d/site.sh", 0440), "1") << "another mode";
  Write(volume_ + "/given", "");
  EXPECT_EQ(Put("/etc/profile.d/site.sh", 0440), "1");
  EXPECT_EQ(Read(root_ + "/etc/profile.d/site.sh"), "");
  EXPECT_EQ(std::distance(fs::directory_iterator(root_ + "/etc/profile.d"), fs::directory_iterator()), 1);
}

// What a person has put there instead is no way out of the root, and nothing that is written through.
TEST_F(PutFilesTest, NoLinkLeadsElsewhere) {
  Write(volume_ + "/outside", "outside");
  fs::create_symlink("../../../outside", root_ + "/etc/motd");
  EXPECT_EQ(Put("/etc/motd"), "1");
  EXPECT_EQ(Read(volume_ + "/outside"), "outside");
  EXPECT_EQ(Read(root_ + "/etc/motd"), "given\n");
  fs::create_directory_symlink("../../..", root_ + "/etc/up");
  EXPECT_EQ(Put("/etc/up/file"), "1");
  EXPECT_EQ(Read(root_ + "/file"), "given\n") << "as a process in the root would find it";
  EXPECT_EQ(Put("/etc/../../file"), "/etc/../../file: /etc/../.. leads out of its root");
  ASSERT_EQ(mkfifo((root_ + "/etc/fifo").c_str(), 0600), 0);
  EXPECT_EQ(Put("/etc/fifo"), "1");
}

// Of a person who has put something in the way of one the others get theirs.
TEST_F(PutFilesTest, OneThatCannotBeWrittenKeepsNoOther) {
  fs::create_directories(root_ + "/etc/folder/in-it");
  const auto put = PutFiles(volume_, "g1", {Given("/etc/folder"), Given("/etc/motd")});
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code(), Code::kInvalid) << "another try would fail, too";
  EXPECT_EQ(put.error().message(), "/etc/folder: writing it: Is a directory");
  EXPECT_EQ(Read(root_ + "/etc/motd"), "given\n");
}

// What the status says is there is what was written.
TEST_F(PutFilesTest, ATextThatHasChangedIsNotWritten) {
  PutFile file = Given("/etc/motd");
  Write(volume_ + "/given", "another\n");
  const auto put = PutFiles(volume_, "g1", {file});
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code(), Code::kUnavailable);
  EXPECT_EQ(put.error().message(), "/etc/motd: its source has just changed");
  EXPECT_FALSE(fs::exists(root_ + "/etc/motd"));
}

TEST_F(PutFilesTest, WhatCannotBeIsSaid) {
  PutFile nothing = Given("/a");
  nothing.from = volume_ + "/nothing";
  EXPECT_NE(PutFiles(volume_, "g1", {nothing}).error().message().find("/nothing: No such"), std::string::npos);
  const std::string report = volume_ + "/report", sum = Given("/").sha256;
  const auto run = [&](const std::string& file, const std::string& generation = "g1") {
    const auto status =
        RunRootJob({"files", "--volume", volume_, "--generation", generation, "--report", report, "--file", file});
    return status ? std::to_string(*status) : status.error().message();
  };
  EXPECT_EQ(run("644:" + sum + ":" + volume_ + "/given:/etc/a:b"), "0");
  EXPECT_EQ(Read(report), "{\"written\":1}");
  EXPECT_EQ(Read(root_ + "/etc/a:b"), "given\n");
  EXPECT_EQ(run("644:" + sum + ":" + volume_ + "/given:/etc/a", "g2"), std::to_string(kNotOnVolume));
  for (const char* wrong :
       {"", "644", "644:x:/a", "9:x:/a:/b", "10000:x:/a:/b", "-1:x:/a:/b", "644:x::/b", "644:x:/a:b", "644:x:/a:/b/"})
    EXPECT_EQ(run(wrong), "--file is \"" + std::string(wrong) + "\", must be MODE:SHA256:FROM:TO");
}

}  // namespace
}  // namespace capstan::entry
