#include "entry/directories.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "entry/role.h"

namespace capstan::entry {
namespace {

class OwnDirectoryTest : public ::testing::Test {
 protected:
  OwnDirectoryTest() : root_(::testing::TempDir() + "directories-" + std::to_string(getpid())) {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
    ::testing::internal::CaptureStderr();
  }
  ~OwnDirectoryTest() override {
    ::testing::internal::GetCapturedStderr();
    std::filesystem::remove_all(root_);
  }
  // "0755 401"
  static std::string Shown(const std::string& path) {
    struct stat found;
    if (lstat(path.c_str(), &found) != 0) return "not there";
    char mode[8];
    snprintf(mode, sizeof mode, "%04o", found.st_mode & 07777);
    return std::string(mode) + " " + std::to_string(found.st_uid) + ":" + std::to_string(found.st_gid);
  }
  const std::string root_;
  const std::string folder_ = root_ + "/slurm";
  // Only root may give a folder away.
  const uid_t owner_ = geteuid() == 0 ? kSlurmUser : geteuid();
  const std::string own_ =
      "0755 " + std::to_string(owner_) + ":" + std::to_string(geteuid() == 0 ? kSlurmUser : getegid());
};

TEST_F(OwnDirectoryTest, IsMadeAndGivenAway) {
  ASSERT_TRUE(OwnDirectory(folder_, owner_));
  EXPECT_EQ(Shown(folder_), own_);
}

// A login's /run/slurm is a volume: whoever was logged in could put a slurm.conf of theirs there.
TEST_F(OwnDirectoryTest, OneThatEverybodyMayWriteToIsTakenFromThem) {
  std::filesystem::create_directory(folder_);
  chmod(folder_.c_str(), 01777);
  ASSERT_TRUE(OwnDirectory(folder_, owner_));
  EXPECT_EQ(Shown(folder_), own_);
  chmod(folder_.c_str(), 02777);
  ASSERT_TRUE(OwnDirectory(folder_, owner_));
  EXPECT_EQ(Shown(folder_), own_) << "its owner was right";
}

TEST_F(OwnDirectoryTest, ALinkIsNotFollowed) {
  std::filesystem::create_directory(root_ + "/other");
  chmod((root_ + "/other").c_str(), 0700);
  const std::string before = Shown(root_ + "/other");
  std::filesystem::create_directory_symlink(root_ + "/other", folder_);
  const auto refused = OwnDirectory(folder_, owner_);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message().contains("must be a folder"));
  EXPECT_EQ(Shown(root_ + "/other"), before);
}

TEST_F(OwnDirectoryTest, OneThatCannotBeMadeIsPassedOver) {
  EXPECT_TRUE(OwnDirectory(root_ + "/none/slurm", owner_));
  EXPECT_EQ(Shown(root_ + "/none/slurm"), "not there");
}

}  // namespace
}  // namespace capstan::entry
