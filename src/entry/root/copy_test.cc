#include "entry/root/copy.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "entry/root/mounts_test.h"

namespace capstan::entry {
namespace {

constexpr int kWriters = 4;

class CopyTest : public MountsTest {
 protected:
  void SetUp() override {
    MountsTest::SetUp();
    fs::create_directories(from_ + "/usr/bin");
  }
  Result<Copied> Copy(CopyOptions options = {}) {
    options.writers = kWriters;
    return CopyTree(from_, to_, options);
  }
  void Copies(CopyOptions options = {}) {
    const auto copied = Copy(std::move(options));
    ASSERT_TRUE(copied) << copied.error().message();
  }
  struct stat Stat(const std::string& path) {
    struct stat found{};
    EXPECT_EQ(lstat(path.c_str(), &found), 0) << path;
    return found;
  }

  const std::string from_ = place_ + "/from", to_ = place_ + "/to";
};

TEST_F(CopyTest, FilesKeepContentOwnerModeAndTime) {
  Write(from_ + "/usr/bin/sudo", "a program");
  chown((from_ + "/usr/bin/sudo").c_str(), 12, 34);
  chmod((from_ + "/usr/bin/sudo").c_str(), 06751);
  const timespec times[] = {{.tv_sec = 1000, .tv_nsec = 7}, {.tv_sec = 2000, .tv_nsec = 9}};
  utimensat(AT_FDCWD, (from_ + "/usr/bin/sudo").c_str(), times, 0);
  utimensat(AT_FDCWD, (from_ + "/usr/bin").c_str(), times, 0);
  chmod((from_ + "/usr").c_str(), 01777);
  Copies();
  EXPECT_EQ(Read(to_ + "/usr/bin/sudo"), "a program");
  const struct stat file = Stat(to_ + "/usr/bin/sudo"), folder = Stat(to_ + "/usr/bin");
  EXPECT_EQ(file.st_uid, 12u);
  EXPECT_EQ(file.st_gid, 34u);
  EXPECT_EQ(file.st_mode & 07777, 06751u);
  EXPECT_EQ(file.st_mtim.tv_sec, 2000);
  EXPECT_EQ(file.st_mtim.tv_nsec, 9);
  EXPECT_EQ(folder.st_mtim.tv_sec, 2000) << "what was made in it changed its time";
  EXPECT_EQ(Stat(to_ + "/usr").st_mode & 07777, 01777u);
}

TEST_F(CopyTest, LinksAndNodesAreWhatTheyWere) {
  fs::create_symlink("../lib/../no/where", from_ + "/usr/link");
  lchown((from_ + "/usr/link").c_str(), 5, 6);
  mkfifo((from_ + "/fifo").c_str(), 0640);
  mknod((from_ + "/null").c_str(), S_IFCHR | 0666, makedev(1, 3));
  Copies();
  EXPECT_EQ(fs::read_symlink(to_ + "/usr/link"), "../lib/../no/where");
  EXPECT_EQ(Stat(to_ + "/usr/link").st_uid, 5u);
  EXPECT_TRUE(S_ISFIFO(Stat(to_ + "/fifo").st_mode));
  EXPECT_EQ(Stat(to_ + "/null").st_rdev, makedev(1, 3));
}

TEST_F(CopyTest, NamesOfOneFileStayNamesOfOneFile) {
  fs::create_directories(from_ + "/other");
  Write(from_ + "/usr/bin/gunzip", "same");
  fs::create_hard_link(from_ + "/usr/bin/gunzip", from_ + "/usr/bin/uncompress");
  fs::create_hard_link(from_ + "/usr/bin/gunzip", from_ + "/other/third");
  const timespec times[] = {{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 2000, .tv_nsec = 0}};
  utimensat(AT_FDCWD, (from_ + "/other").c_str(), times, 0);
  const auto copied = Copy();
  ASSERT_TRUE(copied);
  EXPECT_EQ(copied->bytes, 4u);
  const struct stat first = Stat(to_ + "/usr/bin/gunzip");
  EXPECT_EQ(first.st_nlink, 3u);
  EXPECT_EQ(first.st_ino, Stat(to_ + "/other/third").st_ino);
  EXPECT_EQ(Stat(to_ + "/other").st_mtim.tv_sec, 2000);
}

TEST_F(CopyTest, AttributesAndCapabilitiesGoAlong) {
  Write(from_ + "/usr/bin/ping", "ping");
  // cap_net_raw=ep, revision 2 of the kernel's vfs_cap_data
  const unsigned char capability[20] = {1, 0, 0, 2, 0, 0x20};
  ASSERT_EQ(setxattr((from_ + "/usr/bin/ping").c_str(), "security.capability", capability, sizeof capability, 0), 0);
  ASSERT_EQ(setxattr((from_ + "/usr").c_str(), "user.note", "x", 1, 0), 0);
  Copies();
  unsigned char found[20] = {};
  EXPECT_EQ(getxattr((to_ + "/usr/bin/ping").c_str(), "security.capability", found, sizeof found), 20);
  EXPECT_EQ(memcmp(found, capability, sizeof found), 0);
  EXPECT_EQ(getxattr((to_ + "/usr").c_str(), "user.note", found, sizeof found), 1);
}

TEST_F(CopyTest, AVolumeWithoutAttributesHoldsAnImageWithoutAny) {
  Write(from_ + "/usr/bin/ping", "ping");
  const std::string volume = place_ + "/volume";
  fs::create_directories(volume);
  ASSERT_EQ(mount("ramfs", volume.c_str(), "ramfs", 0, nullptr), 0);
  ASSERT_TRUE(CopyTree(from_, volume + "/one", {.writers = kWriters}));
  ASSERT_EQ(setxattr((from_ + "/usr/bin/ping").c_str(), "user.note", "x", 1, 0), 0);
  const auto copied = CopyTree(from_, volume + "/two", {.writers = kWriters});
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().message(),
            "the volume cannot hold a root: it does not keep the attribute user.note of /usr/bin/ping");
}

TEST_F(CopyTest, HolesStayHoles) {
  const std::string sparse = from_ + "/lastlog";
  Write(sparse, "begin");
  ASSERT_EQ(truncate(sparse.c_str(), 1 << 30), 0);
  Copies();
  EXPECT_EQ(Stat(to_ + "/lastlog").st_size, 1 << 30);
  EXPECT_LT(Stat(to_ + "/lastlog").st_blocks, 100);
  std::string begin(6, 'x');
  std::ifstream(to_ + "/lastlog").read(begin.data(), 6);
  EXPECT_EQ(begin, std::string("begin\0", 6));
}

TEST_F(CopyTest, WhatIsMountedThereIsNotCopied) {
  fs::create_directories(from_ + "/proc/old");
  Write(from_ + "/hosts", "the image's");
  Write(place_ + "/pods-hosts", "the pod's");
  ASSERT_EQ(mount("tmpfs", (from_ + "/proc").c_str(), "tmpfs", 0, nullptr), 0);
  Write(from_ + "/proc/inside", "x");
  ASSERT_EQ(mount((place_ + "/pods-hosts").c_str(), (from_ + "/hosts").c_str(), nullptr, MS_BIND, nullptr), 0);
  Copies();
  EXPECT_TRUE(fs::is_directory(to_ + "/proc"));
  EXPECT_TRUE(fs::is_empty(to_ + "/proc"));
  EXPECT_FALSE(fs::exists(to_ + "/hosts"));
}

TEST_F(CopyTest, SomeAreLeftOutOrEmpty) {
  fs::create_directories(from_ + "/tmp/x");
  fs::create_directories(from_ + "/capstan/bin");
  fs::create_directories(from_ + "/usr/tmp");
  Copies({.empty = {"/tmp"}, .left_out = {"/capstan"}});
  EXPECT_TRUE(fs::is_empty(to_ + "/tmp"));
  EXPECT_FALSE(fs::exists(to_ + "/capstan"));
  EXPECT_TRUE(fs::exists(to_ + "/usr/tmp"));
}

TEST_F(CopyTest, ManyFoldersAreCounted) {
  for (int i = 0; i < 40; ++i) {
    fs::create_directories(from_ + "/many/" + std::to_string(i));
    for (int j = 0; j < 10; ++j) Write(from_ + "/many/" + std::to_string(i) + "/" + std::to_string(j), "12345");
  }
  const auto copied = Copy();
  ASSERT_TRUE(copied);
  EXPECT_EQ(*copied, (Copied{.files = 1 + 2 + 1 + 40 + 400, .bytes = 2000}));
}

TEST_F(CopyTest, AFullVolumeIsToldWithTheFile) {
  fs::create_directories(to_ + "-small");
  ASSERT_EQ(mount("tmpfs", (to_ + "-small").c_str(), "tmpfs", 0, "size=64k"), 0);
  Write(from_ + "/usr/bin/big", std::string(1 << 20, 'x'));
  const auto copied = CopyTree(from_, to_ + "-small/to", {.writers = kWriters});
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code(), Code::kUnavailable);
  EXPECT_EQ(copied.error().message(), "copying /usr/bin/big: No space left on device");
}

}  // namespace
}  // namespace capstan::entry
