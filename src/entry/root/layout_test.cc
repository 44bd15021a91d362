#include "entry/root/layout.h"

#include <gtest/gtest.h>

namespace capstan::entry {
namespace {

const Layout kExample{
    .generation = "g-1a2b", .keep = {"/home", "/usr/local"}, .node_local = {"/scratch"}, .mounts = {"/data"}};
constexpr std::string_view kExampleText =
    "capstan-root 1\ngeneration g-1a2b\nkeep /home\nkeep /usr/local\nnode-local /scratch\nmount /data\nend\n";

std::string ErrorOf(const Result<void>& result) { return result ? "" : result.error().message(); }

TEST(LayoutTest, IsAText) {
  EXPECT_EQ(LayoutText(kExample), kExampleText);
  EXPECT_EQ(ParseLayout(kExampleText).value(), kExample);
  EXPECT_EQ(ParseLayout("capstan-root 1\ngeneration g\nend\n").value(),
            (Layout{.generation = "g", .keep = {}, .node_local = {}}));
}

// Half of a text is no smaller root.
TEST(LayoutTest, ATextThatIsCutOffOrLaterIsNone) {
  for (size_t size = 0; size < kExampleText.size(); ++size)
    EXPECT_FALSE(ParseLayout(kExampleText.substr(0, size))) << size;
  EXPECT_EQ(ParseLayout("capstan-root 2\ngeneration g\nend\n").error().message(),
            "its first line is not \"capstan-root 1\"");
  EXPECT_EQ(ParseLayout("capstan-root 1\ngeneration g\n").error().message(),
            "it is cut off: its last line is not \"end\"");
  EXPECT_EQ(ParseLayout("capstan-root 1\ngeneration g\nmirror /a\nend\n").error().message(),
            "line 3 is of a later version: mirror /a");
  EXPECT_EQ(ParseLayout("capstan-root 1\nend\n").error().code(), Code::kInvalid);
}

TEST(LayoutTest, WhatARootNeedsItselfIsNeitherKeptNorNodeLocal) {
  for (const char* path : {"/",
                           "/usr",
                           "/bin",
                           "/lib64",
                           "/etc",
                           "/etc/ssh",
                           "/proc",
                           "/run/user",
                           "/dev/shm",
                           "/tmp",
                           "/var/spool/slurmd",
                           "/var",
                           "/var/spool",
                           "/var/lib",
                           "/var/run",
                           "/var/lock/x",
                           "/tmp/x",
                           "/var/log/y",
                           "/capstan/root",
                           "/mnt",
                           "/mnt/ssh-config",
                           "/mnt/sssd-conf/x",
                           "/var/lib/extrausers"})
    EXPECT_NE(ErrorOf(CheckLayout({.generation = "g", .keep = {path}, .node_local = {}})).find("cannot be kept"),
              std::string::npos)
        << path;
  for (const char* path : {"", "home", "/home/", "//home", "/home/../etc", "/a/./b", "/a\nkeep /etc", "/.."})
    EXPECT_NE(ErrorOf(CheckLayout({.generation = "g", .keep = {}, .node_local = {path}})).find("is no folder's path"),
              std::string::npos)
        << path;
  for (const char* path : {"/home", "/usr/local", "/usr/libexec", "/var/lib/x", "/etcetera", "/opt", "/mnt/data"})
    EXPECT_EQ(ErrorOf(CheckLayout({.generation = "g", .keep = {path}, .node_local = {}})), "") << path;
}

TEST(LayoutTest, NoFolderIsWithinAnother) {
  EXPECT_EQ(ErrorOf(CheckLayout({.generation = "g", .keep = {"/home", "/home/shared"}, .node_local = {}})),
            "/home/shared is kept, node-local or a mount twice, by itself and by /home");
  EXPECT_EQ(ErrorOf(CheckLayout({.generation = "g", .keep = {"/home"}, .node_local = {"/home"}})),
            "/home is kept, node-local or a mount twice, by itself and by /home");
  EXPECT_EQ(ErrorOf(CheckLayout({.generation = "g", .keep = {"/home"}, .node_local = {}, .mounts = {"/home/data"}})),
            "/home/data is kept, node-local or a mount twice, by itself and by /home");
  EXPECT_EQ(ErrorOf(CheckLayout({.generation = "g", .keep = {"/home", "/homes"}, .node_local = {}})), "");
}

TEST(LayoutTest, AGenerationIsALabel) {
  for (const char* name : {"", "..", "a/b", "-a", "a-", "A", "a.partial"})
    EXPECT_NE(ErrorOf(CheckLayout({.generation = name, .keep = {}, .node_local = {}})).find("is no generation's name"),
              std::string::npos)
        << name;
}

TEST(LayoutTest, TheTreeHasThePodsFoldersThenTheKeptOnes) {
  const auto all = [](const std::string&) { return true; };
  const auto none = [](const std::string&) { return false; };
  const Tree tree =
      TreeOf(kExample, "/v", [](const std::string& path) { return path != "/var/spool/slurmd"; }, all, "/none");
  EXPECT_EQ(tree.root, "/v/roots/g-1a2b");
  std::string text;
  for (const BindMount& mount : tree.mounts) text += mount.from + ">" + mount.to + " ";
  EXPECT_EQ(text,
            "/proc>/proc /sys>/sys /dev>/dev /run>/run /tmp>/tmp /var/tmp>/var/tmp /var/log>/var/log "
            "/var/lib/sss>/var/lib/sss "
            "/v/keep/home>/home /v/keep/usr%2Flocal>/usr/local /scratch>/scratch /data>/data ");
  EXPECT_EQ(TreeOf(kExample, "/v", none, all, "/none").mounts.size(), 7u);
  const BindMount last = TreeOf(kExample, "/v", all, none, "/none").mounts.back();
  EXPECT_EQ(last.from + ">" + last.to, "/none>/data") << "the pod has no volume there yet";
  EXPECT_TRUE(last.read_only);
}

}  // namespace
}  // namespace capstan::entry
