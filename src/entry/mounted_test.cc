#include "entry/mounted.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "entry/files.h"

namespace capstan::entry {
namespace {

constexpr MountedFile kFiles[] = {
    {.from = "/mnt/config", .to = "/etc/config", .check = "false"},
    {.from = "/mnt/keys", .to = "/etc/keys", .mode = 0644, .reload = false},
};

class MountedTest : public ::testing::Test {
 protected:
  MountedTest() : root_(::testing::TempDir() + "mounted-" + std::to_string(getpid())), mounted_(kFiles, root_) {
    std::filesystem::create_directories(root_ + "/mnt");
    std::filesystem::create_directories(root_ + "/etc");
  }
  ~MountedTest() override { std::filesystem::remove_all(root_); }

  void Put(const std::string& path, const std::string& text) { ASSERT_TRUE(ReplaceFile(root_ + path, text, 0666)); }
  std::optional<std::string> Get(const std::string& path) const { return ReadFile(root_ + path); }

  const std::string root_;
  Mounted mounted_;
};

TEST_F(MountedTest, LeavesAloneWhatIsNotMounted) {
  Put("/etc/config", "the image's");
  EXPECT_FALSE(mounted_.Refresh());
  EXPECT_EQ(Get("/etc/config"), "the image's");
  EXPECT_EQ(Get("/etc/keys"), std::nullopt);
}

TEST_F(MountedTest, CopiesWithTheModeThatTheDaemonInsistsOn) {
  Put("/mnt/config", "one");
  Put("/mnt/keys", "key");
  EXPECT_TRUE(mounted_.Refresh());
  EXPECT_EQ(Get("/etc/config"), "one");
  struct stat found;
  ASSERT_EQ(stat((root_ + "/etc/config").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0600U);
  ASSERT_EQ(stat((root_ + "/etc/keys").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0644U);
  EXPECT_FALSE(mounted_.Refresh());
}

TEST_F(MountedTest, TellsOnlyWhoDoesNotLookForItself) {
  mounted_.Refresh();
  Put("/mnt/keys", "key");
  EXPECT_FALSE(mounted_.Refresh());
  EXPECT_EQ(Get("/etc/keys"), "key");
}

TEST_F(MountedTest, KeepsTheCopyOfWhatIsGone) {
  Put("/mnt/keys", "key");
  mounted_.Refresh();
  std::filesystem::remove(root_ + "/mnt/keys");
  EXPECT_FALSE(mounted_.Refresh());
  EXPECT_EQ(Get("/etc/keys"), "key");
}

// The daemon that runs would not have read the file, and the next one would not have started.
TEST_F(MountedTest, KeepsWhatTheDaemonTookWhenItRefusesTheNext) {
  Put("/mnt/config", "good");
  mounted_.Refresh();
  Put("/mnt/config", "bad");
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(mounted_.Refresh());
  EXPECT_FALSE(mounted_.Refresh());
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "capstan-entry: " + root_ + "/mnt/config is not used: false refuses it, as it says above\n");
  EXPECT_EQ(Get("/etc/config"), "good");
  EXPECT_FALSE(std::filesystem::exists(root_ + "/etc/config.trial"));
}

}  // namespace
}  // namespace capstan::entry
