// Each case in a mount namespace of its own, with a tmpfs of its own.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace capstan::entry {

namespace fs = std::filesystem;

class MountsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_FAIL() << "mounts need root";
    outside_ = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(unshare(CLONE_NEWNS | CLONE_FS), 0);
    ASSERT_EQ(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    fs::create_directories(place_);
    ASSERT_EQ(mount("tmpfs", place_.c_str(), "tmpfs", 0, nullptr), 0);
  }
  void TearDown() override {
    if (outside_ < 0) return;
    EXPECT_EQ(unshare(CLONE_FS), 0)
        << "a thread that was joined may not have ended yet, and whoever shares that stays inside";
    EXPECT_EQ(setns(outside_, CLONE_NEWNS), 0);
    close(outside_);
    fs::remove_all(place_);
  }

  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  static void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

  const std::string place_ = ::testing::TempDir() + "mounts-" + std::to_string(getpid());

 private:
  int outside_ = -1;
};

}  // namespace capstan::entry
