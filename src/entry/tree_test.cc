#include "entry/tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

namespace capstan::entry {
namespace {

namespace fs = std::filesystem;

std::string Read(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}
void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

// What `look` returns of a process in the tree.
std::string In(const Descriptor& tree, const std::function<std::string()>& look) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const std::string way = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(tree.fd());
  const pid_t child = fork();
  if (child == 0) {
    const Descriptor space(open(way.c_str(), O_RDONLY));
    const std::string text = space && setns(space.fd(), CLONE_NEWNS) == 0 ? look() : "not joined";
    (void)!write(ends[1], text.data(), text.size());
    _exit(0);
  }
  close(ends[1]);
  char text[4096];
  const ssize_t size = read(ends[0], text, sizeof text);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return std::string(text, size_t(std::max<ssize_t>(0, size)));
}

Descriptor Make(const Tree& tree) {
  auto made = MakeTree(tree);
  if (!made) ADD_FAILURE() << made.error().message();
  return made ? *std::move(made) : Descriptor();
}

// Each case in a mount namespace of its own, with a tmpfs for the volume.
class TreeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_FAIL() << "mounts need root";
    outside_ = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(unshare(CLONE_NEWNS | CLONE_FS), 0);
    ASSERT_EQ(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    fs::create_directories(place_);
    ASSERT_EQ(mount("tmpfs", place_.c_str(), "tmpfs", 0, nullptr), 0);
    fs::create_directories(root_);
    fs::create_directories(place_ + "/mine/below");
    Write(root_ + "/MARK", "g1");
    Write(place_ + "/mine/file", "mine");
  }
  void TearDown() override {
    if (outside_ < 0) return;
    EXPECT_EQ(setns(outside_, CLONE_NEWNS), 0);
    close(outside_);
    fs::remove_all(place_);
  }

  const std::string place_ = ::testing::TempDir() + "tree-" + std::to_string(getpid());
  const std::string root_ = place_ + "/volume/g1";
  int outside_ = -1;
};

TEST_F(TreeTest, ItsFolderIsTheRootOfWhoJoins) {
  const Descriptor tree = Make({.root = root_, .binds = {}});
  EXPECT_EQ(In(tree, [] { return Read("/MARK"); }), "g1");
  EXPECT_EQ(In(tree, [] { return Read("/../MARK"); }), "g1") << "there is nothing above it";
  EXPECT_EQ(In(tree, [this] { return std::string(fs::exists(place_) ? "the former root" : ""); }), "");
  EXPECT_FALSE(fs::exists("/MARK")) << "who made it stays where it was";
}

TEST_F(TreeTest, FoldersOfTheCallersAreInItWithWhatIsMountedBelow) {
  ASSERT_EQ(mount("tmpfs", (place_ + "/mine/below").c_str(), "tmpfs", 0, nullptr), 0);
  Write(place_ + "/mine/below/deep", "deep");
  const Descriptor tree = Make({.root = root_,
                                .binds = {{.from = place_ + "/mine", .to = "/a/b"},
                                          {.from = place_ + "/mine", .to = "/ro", .read_only = true}}});
  EXPECT_EQ(In(tree, [] { return Read("/a/b/file") + Read("/a/b/below/deep"); }), "minedeep");
  EXPECT_TRUE(fs::is_directory(root_ + "/a/b")) << "the place was made";
  EXPECT_EQ(In(tree,
               [] {
                 Write("/a/b/new", "written"), Write("/ro/other", "written");
                 return Read("/ro/new") + Read("/ro/other");
               }),
            "written");
  EXPECT_EQ(Read(place_ + "/mine/new"), "written");
}

TEST_F(TreeTest, WhatIsMountedLaterIsSeenWhereTheCallersMountsAreShared) {
  ASSERT_EQ(mount("tmpfs", (place_ + "/mine").c_str(), "tmpfs", 0, nullptr), 0);
  ASSERT_EQ(mount(nullptr, (place_ + "/mine").c_str(), nullptr, MS_SHARED, nullptr), 0);
  fs::create_directories(place_ + "/mine/later");
  const Descriptor tree = Make({.root = root_, .binds = {{.from = place_ + "/mine", .to = "/mine"}}});
  ASSERT_EQ(mount("tmpfs", (place_ + "/mine/later").c_str(), "tmpfs", 0, nullptr), 0);
  Write(place_ + "/mine/later/file", "later");
  EXPECT_EQ(In(tree, [] { return Read("/mine/later/file"); }), "later");
}

// Whoever may write to the root puts links there.
TEST_F(TreeTest, NoLinkLeadsAMountOutOfTheRoot) {
  fs::create_directories(place_ + "/victim");
  fs::create_symlink(place_ + "/victim", root_ + "/absolute");
  fs::create_symlink("../../victim", root_ + "/relative");
  for (const char* to : {"/absolute", "/relative"}) {
    (void)MakeTree({.root = root_, .binds = {{.from = place_ + "/mine", .to = to}}});
    EXPECT_FALSE(fs::exists(place_ + "/victim/file")) << to;
  }
  const auto up = MakeTree({.root = root_, .binds = {{.from = place_ + "/mine", .to = "/a/../../victim"}}});
  ASSERT_FALSE(up);
  EXPECT_NE(up.error().message().find("leads out of its root"), std::string::npos) << up.error().message();
}

TEST_F(TreeTest, WhatCannotBeMadeSaysWhichStep) {
  const struct {
    Tree tree;
    std::string said;
  } cases[] = {
      {{.root = place_ + "/nowhere", .binds = {}}, "mounting " + place_ + "/nowhere: No such file or directory"},
      {{.root = root_, .binds = {{.from = place_ + "/nowhere", .to = "/x"}}},
       "taking " + place_ + "/nowhere: No such file"},
      {{.root = root_, .binds = {{.from = place_ + "/mine", .to = "/MARK"}}},
       "opening /MARK in the root: Not a directory"},
  };
  for (const auto& c : cases) {
    const auto made = MakeTree(c.tree);
    ASSERT_FALSE(made) << c.said;
    EXPECT_NE(made.error().message().find(c.said), std::string::npos) << made.error().message();
  }
}

// Linux 6.18 numbers namespaces in another order on each processor (tree.h).
TEST_F(TreeTest, ItIsMadeOnWhateverProcessor) {
  for (int i = 0; i < 200; ++i) {
    const Descriptor tree = Make({.root = root_, .binds = {{.from = place_ + "/mine", .to = "/mine"}}});
    ASSERT_EQ(In(tree, [] { return Read("/MARK"); }), "g1");
  }
}

}  // namespace
}  // namespace capstan::entry
