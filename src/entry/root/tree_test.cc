#include "entry/root/tree.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "entry/root/mounts_test.h"

namespace capstan::entry {
namespace {

// What `look` returns of a process in the tree, or why there is none.
std::string In(const Tree& tree, const std::function<std::string()>& look) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    const auto entered = EnterTree(tree);
    const std::string text = entered ? look() : entered.error().message();
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

class TreeTest : public MountsTest {
 protected:
  void SetUp() override {
    MountsTest::SetUp();
    fs::create_directories(root_);
    fs::create_directories(place_ + "/mine/below");
    Write(root_ + "/MARK", "g1");
    Write(place_ + "/mine/file", "mine");
  }

  const std::string root_ = place_ + "/volume/g1";
};

TEST_F(TreeTest, ItsFolderIsTheRoot) {
  const Tree tree{.root = root_, .mounts = {}};
  EXPECT_EQ(In(tree, [] { return Read("/MARK"); }), "g1");
  EXPECT_EQ(In(tree, [] { return Read("/../MARK"); }), "g1") << "there is nothing above it";
  EXPECT_EQ(In(tree, [this] { return std::string(fs::exists(place_) ? "the former root" : ""); }), "");
  EXPECT_FALSE(fs::exists("/MARK")) << "others stay where they were";
}

TEST_F(TreeTest, FoldersOfTheCallersAreInItWithWhatIsMountedBelow) {
  ASSERT_EQ(mount("tmpfs", (place_ + "/mine/below").c_str(), "tmpfs", 0, nullptr), 0);
  Write(place_ + "/mine/below/deep", "deep");
  const Tree tree{
      .root = root_,
      .mounts = {{.from = place_ + "/mine", .to = "/a/b"}, {.from = place_ + "/mine", .to = "/ro", .read_only = true}}};
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
  int made[2], mounted[2];
  ASSERT_EQ(pipe(made) + pipe(mounted), 0);
  std::thread outside([&] {
    char byte;
    (void)!read(made[0], &byte, 1);
    EXPECT_EQ(mount("tmpfs", (place_ + "/mine/later").c_str(), "tmpfs", 0, nullptr), 0);
    Write(place_ + "/mine/later/file", "later");
    (void)!write(mounted[1], "", 1);
  });
  EXPECT_EQ(In({.root = root_, .mounts = {{.from = place_ + "/mine", .to = "/mine"}}},
               [&] {
                 char byte;
                 (void)!write(made[1], "", 1);
                 (void)!read(mounted[0], &byte, 1);
                 return Read("/mine/later/file");
               }),
            "later");
  outside.join();
  for (const int end : {made[0], made[1], mounted[0], mounted[1]}) close(end);
}

// Whoever may write to the root puts links there.
TEST_F(TreeTest, NoLinkLeadsAMountElsewhere) {
  fs::create_directories(place_ + "/victim");
  fs::create_directories(root_ + "/etc");
  fs::create_symlink(place_ + "/victim", root_ + "/out");
  fs::create_symlink("../../victim", root_ + "/up");
  fs::create_symlink("etc", root_ + "/within");
  const auto made = [] { return std::string("made"); };
  for (const std::string to : {"/out", "/up", "/within"})
    EXPECT_EQ(In({.root = root_, .mounts = {{.from = place_ + "/mine", .to = to}}}, made),
              "opening " + to + " in the root: Too many levels of symbolic links");
  // What is the pod's may be behind a link of the image's, which stays within the root.
  EXPECT_EQ(In({.root = root_, .mounts = {{.from = place_ + "/mine", .to = "/within", .links = true}}},
               [] { return Read("/etc/file"); }),
            "mine");
  EXPECT_NE(In({.root = root_, .mounts = {{.from = place_ + "/mine", .to = "/out", .links = true}}}, made), "");
  EXPECT_FALSE(fs::exists(place_ + "/victim/file"));
  EXPECT_EQ(In({.root = root_, .mounts = {{.from = place_ + "/mine", .to = "/a/../../victim"}}}, made),
            "/a/../../victim leads out of its root");
}

// A person's own containers have copies of the tree, which outlive the session that began them.
TEST_F(TreeTest, ItsEndIsToldOnceNothingHasItOrACopy) {
  fs::create_directories(place_ + "/hidden");
  const int ends = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  int entered[2], in_copy[2], leave[2], leave_copy[2];
  ASSERT_EQ(pipe(entered) + pipe(in_copy) + pipe(leave) + pipe(leave_copy), 0);
  const auto await = [](int fd) {
    char byte = 0;
    pollfd waits{.fd = fd, .events = POLLIN, .revents = 0};
    return poll(&waits, 1, 30'000) == 1 && read(fd, &byte, 1) == 1 ? byte : '?';
  };
  const auto told = [&](int within_ms) {
    pollfd waits{.fd = ends, .events = POLLIN, .revents = 0};
    alignas(inotify_event) char event[sizeof(inotify_event)];
    return poll(&waits, 1, within_ms) == 1 && read(ends, event, sizeof event) == ssize_t(sizeof event) &&
           (reinterpret_cast<inotify_event*>(event)->mask & IN_UNMOUNT) != 0;
  };
  const pid_t session = fork();
  if (session == 0) {
    TreeWatch watch{.notify = ends, .folder = place_ + "/hidden"};
    const bool made = bool(EnterTree({.root = root_, .mounts = {}}, &watch)) && watch.number > 0 && !fs::exists(place_);
    (void)!write(entered[1], made ? "+" : "-", 1);
    if (fork() == 0) {
      if (unshare(CLONE_NEWNS) == 0) (void)!write(in_copy[1], "+", 1);
      await(leave_copy[0]);
      _exit(0);
    }
    await(leave[0]);
    _exit(0);
  }
  EXPECT_EQ(await(entered[0]), '+');
  EXPECT_EQ(await(in_copy[0]), '+');
  (void)!write(leave[1], "", 1);
  waitpid(session, nullptr, 0);
  EXPECT_FALSE(told(100));
  (void)!write(leave_copy[1], "", 1);
  EXPECT_TRUE(told(30'000));
  EXPECT_FALSE(fs::exists(place_ + "/hidden/file")) << "it was never mounted here";
  for (const int* ends_of : {entered, in_copy, leave, leave_copy}) close(ends_of[0]), close(ends_of[1]);
  close(ends);
}

TEST_F(TreeTest, WhatCannotBeMadeSaysWhichStep) {
  const struct {
    Tree tree;
    std::string said;
  } cases[] = {
      {{.root = place_ + "/nowhere", .mounts = {}}, "mounting " + place_ + "/nowhere: No such file or directory"},
      {{.root = root_, .mounts = {{.from = place_ + "/nowhere", .to = "/x"}}},
       "taking " + place_ + "/nowhere: No such file or directory"},
      {{.root = root_, .mounts = {{.from = place_ + "/mine", .to = "/MARK"}}},
       "opening /MARK in the root: Not a directory"},
  };
  for (const auto& c : cases) EXPECT_EQ(In(c.tree, [] { return std::string("made"); }), c.said);
}

}  // namespace
}  // namespace capstan::entry
