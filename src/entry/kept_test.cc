#include "entry/kept.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "entry/files.h"

namespace capstan::entry {
namespace {

Configuration Conf(const std::string& text) { return {.files = {{"slurm.conf", text}}}; }

Kept Some() {
  Kept kept{.configuration = Conf("ClusterName=a\n"), .since = *ParseRfc3339("2026-11-23T05:00:00Z")};
  kept.configuration.files["empty.conf"] = "";
  kept.configuration.files["prolog.sh"] = std::string("#!/bin/sh\n\0binary", 17);
  return kept;
}

TEST(KeptText, IsReadAsItWasWritten) {
  const Result<Kept> read = ParseKept(KeptText(Some()));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, Some());
}

// A volume that was full, or a machine that lost its power.
TEST(KeptText, IsNeverReadInPart) {
  const std::string text = KeptText(Some());
  for (size_t size = 0; size < text.size(); ++size) EXPECT_FALSE(ParseKept(text.substr(0, size))) << size;
  for (size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] ^= 1;
    EXPECT_FALSE(ParseKept(damaged)) << at;
  }
  EXPECT_FALSE(ParseKept(text + "more"));
}

// With a digest that is right: another release, or a person.
TEST(KeptText, HoldsPlainFilesAndAmongThemSlurmConf) {
  Kept kept = Some();
  kept.configuration.files["../etc/passwd"] = "x";
  EXPECT_FALSE(ParseKept(KeptText(kept)));
  kept = Some();
  kept.configuration.files.erase("slurm.conf");
  EXPECT_FALSE(ParseKept(KeptText(kept)));
}

class KeptFileTest : public ::testing::Test {
 protected:
  KeptFileTest() : folder_(::testing::TempDir() + "kept-" + std::to_string(getpid())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~KeptFileTest() override { std::filesystem::remove_all(folder_); }

  const std::string folder_;
};

TEST_F(KeptFileTest, LiesBesideTheStateForItsOwnerAlone) {
  const std::string path = KeptPath(Conf("StateSaveLocation=" + folder_ + "\n"));
  EXPECT_EQ(path, folder_ + "/capstan-kept");
  EXPECT_EQ(KeptPath(Conf("ClusterName=a\n")), "");
  Result<std::optional<Kept>> read = ReadKept(path);
  ASSERT_TRUE(read);
  EXPECT_FALSE(*read) << "a new cluster";
  ASSERT_TRUE(WriteKept(path, Some()));
  read = ReadKept(path);
  ASSERT_TRUE(read && *read);
  EXPECT_EQ(**read, Some());
  struct stat found;
  ASSERT_EQ(stat(path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0600U);
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
}

TEST_F(KeptFileTest, BelongsToWhomTheStateBelongsTo) {
  if (geteuid() != 0) return;  // who is not root owns what it writes
  ASSERT_EQ(chown(folder_.c_str(), 401, 401), 0);
  ASSERT_TRUE(WriteKept(folder_ + "/capstan-kept", Some()));
  struct stat found;
  ASSERT_EQ(stat((folder_ + "/capstan-kept").c_str(), &found), 0);
  EXPECT_EQ(found.st_uid, 401U);
  EXPECT_EQ(found.st_gid, 401U);
}

TEST_F(KeptFileTest, WhatCannotBeReadIsNotAbsent) {
  std::filesystem::create_directory(folder_ + "/folder");
  EXPECT_FALSE(ReadKept(folder_ + "/folder"));
  ASSERT_TRUE(ReplaceFile(folder_ + "/cut", KeptText(Some()).substr(0, 90), 0600));
  const auto cut = ReadKept(folder_ + "/cut");
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().message(), folder_ + "/cut: it is cut off or damaged");
}

TEST_F(KeptFileTest, OneThatIsTooLargeLeavesTheOneBefore) {
  const std::string path = folder_ + "/capstan-kept";
  ASSERT_TRUE(WriteKept(path, Some()));
  Kept large = Some();
  large.configuration.files["large"] = std::string(9'000'000, 'x');
  EXPECT_FALSE(WriteKept(path, large));
  EXPECT_EQ(ReadKept(path).value(), Some());
}

TEST(WhyNotInsteadOf, NamesWhatDiffersInWhoTheClusterIs) {
  const std::string common =
      "ClusterName=a\nSlurmctldHost=c-0(c-0.d)\nSlurmctldHost=c-1(c-1.d)\nStateSaveLocation=/s\nSlurmUser=slurm\n"
      "SlurmctldPort=6817\nSlurmdPort=6818\nAuthType=auth/slurm\nAuthInfo=use_client_ids\nMaxNodeCount=1\n";
  const auto differs = [&](const std::string& from, const std::string& to) {
    std::string other = common;
    other.replace(other.find(from), from.size(), to);
    return WhyNotInsteadOf(Conf(common), Conf(other)).value_or("");
  };
  EXPECT_EQ(differs("MaxNodeCount=1", "MaxNodeCount=2"), "");
  EXPECT_EQ(differs("ClusterName=a", "clustername = a # the same"), "");
  EXPECT_EQ(differs("ClusterName=a", "ClusterName=b"), "it has another ClusterName");
  EXPECT_EQ(differs("SlurmctldHost=c-1(c-1.d)\n", ""), "it has another SlurmctldHost");
  EXPECT_EQ(differs("c-1.d", "c-1.e"), "it has another SlurmctldHost");
  EXPECT_EQ(differs("=/s", "=/t"), "it has another StateSaveLocation");
  EXPECT_EQ(differs("=slurm\n", "=root\n"), "it has another SlurmUser");
  EXPECT_EQ(differs("6817", "7000"), "it has another SlurmctldPort");
  EXPECT_EQ(differs("6818", "7000"), "it has another SlurmdPort");
  EXPECT_EQ(differs("auth/slurm", "auth/munge"), "it has another AuthType");
  EXPECT_EQ(differs("AuthInfo=use_client_ids\n", ""), "it has another AuthInfo");
  EXPECT_EQ(differs("MaxNodeCount=1", "AuthAltTypes=auth/jwt"), "it has another AuthAltTypes");
}

TEST(WhyNotInsteadOf, FollowsIncludesAndPassesOverWhatCannotBeRead) {
  Configuration mounted = Conf("Nonsense and more\nPartitionName=\"open\nInclude who.conf\nInclude %c.conf\n");
  mounted.files["who.conf"] = "ClusterName=a\nInclude who.conf\n";
  EXPECT_EQ(WhyNotInsteadOf(mounted, Conf("ClusterName=a\n")), std::nullopt);
  EXPECT_EQ(WhyNotInsteadOf(mounted, Conf("ClusterName=b\n")), "it has another ClusterName");
  EXPECT_EQ(MissingInclude(mounted), std::nullopt);
}

TEST(WithPartitionsOf, AddsThoseThatAreMissingClosedAndWithoutTheirLine) {
  Configuration mounted = Conf(
      "PartitionName=DEFAULT MaxTime=1\nPartitionName=old Nodes=ALL\nPartitionName=new Nodes=nonesuch Bogus=1\nInclude "
      "more.conf\nPartitionName=broken Nodes=\"x\nPartitionName=new State=UP\n");
  mounted.files["more.conf"] = "PartitionName=third \\\n  Nodes=ALL\n";
  const std::string before = "PartitionName=old Nodes=ALL";
  EXPECT_EQ(WithPartitionsOf(mounted, Conf(before)).files.at("slurm.conf"),
            before +
                "\n#\n### PARTITIONS OF A NEWER TEXT ###\nPartitionName=new State=DRAIN\nPartitionName=third "
                "State=DRAIN\n");
  EXPECT_EQ(WithPartitionsOf(Conf(before), Conf(before)), Conf(before));
  EXPECT_EQ(WithPartitionsOf(mounted, WithPartitionsOf(mounted, Conf(before))),
            WithPartitionsOf(mounted, Conf(before)));
}

}  // namespace
}  // namespace capstan::entry
