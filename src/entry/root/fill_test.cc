#include "entry/root/fill.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

#include "entry/root/jobs.h"
#include "entry/root/mounts_test.h"
#include "entry/root/volume.h"

namespace capstan::entry {
namespace {

std::string Program(unsigned machine) {
  Elf64_Ehdr head{};
  memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_machine = static_cast<Elf64_Half>(machine);
  return std::string(reinterpret_cast<const char*>(&head), sizeof head);
}

class FillTest : public MountsTest {
 protected:
  void SetUp() override {
    MountsTest::SetUp();
    for (const char* folder : {"/etc", "/usr/bin", "/home", "/var/lib/dpkg"}) fs::create_directories(image_ + folder);
    for (const char* folder : {"/volume", "/report"}) fs::create_directories(place_ + folder);
    fs::create_symlink("usr/bin", image_ + "/bin");
    fs::copy("/bin/sh", image_ + "/usr/bin/sh");
    Write(image_ + "/etc/name", "hpc");
    Write(image_ + "/home/file", "hers");
  }
  Fill Wanted(const std::string& generation = "g1") {
    return {.volume = volume_, .generation = generation, .from = image_, .writers = 2};
  }
  Filled Fills(const Fill& fill) {
    const auto filled = FillRoot(fill);
    if (!filled) ADD_FAILURE() << filled.error().message();
    return filled.value_or(Filled());
  }
  std::string Switch(const Layout& layout) {
    const auto done = SetCurrent(volume_, layout, {});
    return done ? "" : done.error().message();
  }
  std::string FailureOf(const Fill& fill) {
    const auto filled = FillRoot(fill);
    return filled ? "" : filled.error().message();
  }

  const std::string image_ = place_ + "/image", volume_ = place_ + "/volume", root_ = volume_ + "/roots/g1";
};

TEST_F(FillTest, AnImageBecomesARoot) {
  const Filled filled = Fills(Wanted());

  EXPECT_FALSE(filled.has_slurm);
  EXPECT_GT(filled.copied.files, 8u);
  EXPECT_EQ(Read(root_ + "/etc/name"), "hpc");
  EXPECT_EQ(fs::read_symlink(root_ + "/etc/resolv.conf"), "/run/capstan/etc/resolv.conf");
  EXPECT_EQ(fs::read_symlink(root_ + "/usr/bin/srun"), "/run/capstan/slurm/srun");
  EXPECT_EQ(Read(root_ + "/usr/sbin/policy-rc.d"), "#!/bin/sh\nexit 101\n");
  EXPECT_FALSE(fs::exists(volume_ + "/roots/g1.partial"));
}

TEST_F(FillTest, SlurmsUserIsAddedWhereTheImageHasNone) {
  Write(image_ + "/etc/passwd", "root:x:0:0::/root:/bin/sh");
  Write(image_ + "/etc/group", "root:x:0:\nslurm:x:77:\n");
  Fills(Wanted());
  EXPECT_EQ(Read(root_ + "/etc/passwd"),
            "root:x:0:0::/root:/bin/sh\nslurm:x:401:401::/nonexistent:/usr/sbin/nologin\n");
  EXPECT_EQ(Read(root_ + "/etc/group"), "root:x:0:\nslurm:x:77:\n");
}

TEST_F(FillTest, ARootWithSlurmKeepsItsCommands) {
  Write(image_ + "/usr/bin/srun", "its own");
  EXPECT_TRUE(Fills(Wanted()).has_slurm);
  EXPECT_EQ(Read(root_ + "/usr/bin/srun"), "its own");
}

TEST_F(FillTest, OneThatIsThereIsNotMadeAgain) {
  Fills(Wanted());
  Write(root_ + "/etc/name", "changed by an administrator");
  EXPECT_TRUE(Fills(Wanted()).was_there);
  EXPECT_EQ(Read(root_ + "/etc/name"), "changed by an administrator");
}

TEST_F(FillTest, WhatAnEarlierTryLeftIsMadeAnew) {
  fs::create_directories(root_ + ".partial/etc");
  Write(root_ + ".partial/etc/half", "half");
  Fills(Wanted());
  EXPECT_FALSE(fs::exists(root_ + "/etc/half"));
  EXPECT_EQ(Read(root_ + "/etc/name"), "hpc");
}

TEST_F(FillTest, WhatTheFirstImageHasInAKeptFolderIsKept) {
  chmod((image_ + "/home").c_str(), 0711);
  Fills(Wanted());
  EXPECT_EQ(Switch({.generation = "g1", .keep = {"/home", "/srv/data"}, .node_local = {}}), "");
  EXPECT_EQ(Read(volume_ + "/keep/home/file"), "hers");
  EXPECT_TRUE(fs::is_empty(root_ + "/home"));
  EXPECT_EQ(fs::status(root_ + "/home").permissions(), fs::perms(0711));
  EXPECT_TRUE(fs::is_directory(volume_ + "/keep/srv%2Fdata")) << "what the image does not have is empty";
  Write(volume_ + "/keep/home/file", "hers, later");
  Fills(Wanted("g2"));
  EXPECT_EQ(Switch({.generation = "g2", .keep = {"/home"}, .node_local = {}}), "");
  EXPECT_EQ(Read(volume_ + "/keep/home/file"), "hers, later");
}

// People would miss what they have written since.
TEST_F(FillTest, AFolderThatIsInUseIsNotKeptFromNowOn) {
  Fills(Wanted());
  EXPECT_EQ(Switch({.generation = "g1", .keep = {}, .node_local = {}}), "");
  Fills(Wanted("g2"));
  for (const char* generation : {"g1", "g2"})
    EXPECT_EQ(
        Switch({.generation = generation, .keep = {"/home"}, .node_local = {}}),
        "/home cannot be kept from now on: generation g1, which is current, has files there, which would be hidden; "
        "move them away first");
  EXPECT_FALSE(fs::exists(volume_ + "/keep/home"));
  EXPECT_EQ(Switch({.generation = "g2", .keep = {"/new"}, .node_local = {}}), "");
  EXPECT_TRUE(fs::is_directory(volume_ + "/keep/new"));
  fs::rename(volume_ + "/roots/g2", volume_ + "/roots/away");
  EXPECT_EQ(
      Switch({.generation = "g1", .keep = {"/other"}, .node_local = {}}).find("opening the root of generation g2"), 0u);
  EXPECT_FALSE(fs::exists(volume_ + "/keep/other")) << "it is not known what is in it";
  fs::rename(volume_ + "/roots/away", volume_ + "/roots/g2");
  fs::remove_all(volume_ + "/keep/new");
  EXPECT_NE(Switch({.generation = "g2", .keep = {"/new"}, .node_local = {}}), "") << "absence proves nothing";
}

// Nothing can be mounted on a link: each pod would have failed at its tree, with a switch that said it was done.
TEST_F(FillTest, AKeptOrNodeLocalFolderThatIsALinkOrAFileIsRefusedAndNothingIsMoved) {
  fs::create_directory_symlink("var/srv", image_ + "/srv");
  Write(image_ + "/opt", "a file");
  Fills(Wanted());
  EXPECT_EQ(Switch({.generation = "g1", .keep = {"/home", "/srv"}, .node_local = {}}),
            "/srv cannot be kept: generation g1 has no folder there, or only by a link: opening /srv in the root: Too "
            "many levels of symbolic links");
  EXPECT_EQ(Switch({.generation = "g1", .keep = {"/home"}, .node_local = {"/opt"}}),
            "/opt cannot be node-local: generation g1 has no folder there, or only by a link: opening /opt in the "
            "root: Not a directory");
  EXPECT_EQ(Read(root_ + "/home/file"), "hers") << "so that another list begins with what the image has";
  EXPECT_EQ(Switch({.generation = "g1", .keep = {"/home"}, .node_local = {}}), "");
  EXPECT_EQ(Switch({.generation = "g1", .keep = {"/home", "/opt"}, .node_local = {}}),
            "/opt cannot be kept from now on: generation g1, which is current, has files there, which would be hidden; "
            "move them away first");
}

TEST_F(FillTest, ALaterImageWithALinkForAKeptFolderIsRefused) {
  Fills(Wanted());
  EXPECT_EQ(Switch({.generation = "g1", .keep = {"/home"}, .node_local = {}}), "");
  fs::remove_all(image_ + "/home");
  fs::create_directory_symlink("var/home", image_ + "/home");
  Fills(Wanted("g2"));
  EXPECT_EQ(Switch({.generation = "g2", .keep = {"/home"}, .node_local = {}}).find("/home cannot be kept: "), 0u);
  EXPECT_NE(Read(volume_ + "/meta/current").find("g1"), std::string::npos);
}

// Who made the image wrote the links.
TEST_F(FillTest, NoLinkOfTheImageLeadsOutOfTheRoot) {
  fs::create_directories(place_ + "/victim");
  Write(place_ + "/victim/hosts", "keep me");
  fs::remove_all(image_ + "/etc");
  fs::create_symlink(place_ + "/victim", image_ + "/etc");
  const std::string said = FailureOf(Wanted());
  EXPECT_EQ(Read(place_ + "/victim/hosts"), "keep me");
  EXPECT_NE(said.find("/etc"), std::string::npos) << said;
}

TEST_F(FillTest, AnImageForAnotherMachineIsRefused) {
  Write(image_ + "/usr/bin/sh", Program(EM_RISCV));
  EXPECT_EQ(FailureOf(Wanted()).find("the image is for another kind of machine: its /bin/sh has ELF machine 243"), 0u);
  EXPECT_FALSE(fs::exists(root_));
}

// It would be current, and no session and no batch script would begin.
TEST_F(FillTest, AnImageWithoutAShellIsRefused) {
  fs::remove(image_ + "/usr/bin/sh");
  EXPECT_EQ(FailureOf(Wanted()), "the image has no /bin/sh: no session and no batch script could begin in it");
  EXPECT_FALSE(fs::exists(root_));
}

TEST_F(FillTest, SaysWhatItHasFilled) {
  EXPECT_EQ(FilledText("g1", {.copied = {.files = 3, .bytes = 5}}),
            R"({"generation":"g1","files":3,"bytes":5,"slurm":"Image"})");
}

TEST_F(FillTest, AVolumeThatIsFullInTheMiddleIsTold) {
  ASSERT_EQ(mount("tmpfs", volume_.c_str(), "tmpfs", 0, "size=64k"), 0);
  Write(image_ + "/usr/bin/big", std::string(1 << 20, 'x'));
  const auto filled = FillRoot(Wanted());
  ASSERT_FALSE(filled);
  EXPECT_EQ(filled.error().code(), Code::kUnavailable);
  EXPECT_EQ(filled.error().message().find("the volume is full: copying /usr/bin/"), 0u) << filled.error().message();
  EXPECT_FALSE(fs::exists(root_ + ".partial")) << "it is full for others, too";
}

TEST_F(FillTest, AVolumeThatRunsNoSetuidProgramsIsRefused) {
  ASSERT_EQ(mount("tmpfs", volume_.c_str(), "tmpfs", MS_NOSUID, nullptr), 0);
  EXPECT_EQ(FailureOf(Wanted()), "the volume cannot hold a root: it is mounted nosuid, and sudo and su need that");
  ASSERT_EQ(mount("tmpfs", volume_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr), 0);
  EXPECT_EQ(FailureOf(Wanted()).find("the volume cannot be written to: "), 0u);
}

TEST_F(FillTest, AVolumeThatStartsNoProgramIsRefused) {
  ASSERT_EQ(mount("tmpfs", volume_.c_str(), "tmpfs", MS_NOEXEC, nullptr), 0);
  EXPECT_EQ(FailureOf(Wanted()), "the volume cannot hold a root: it is mounted noexec, and no program would start");
}

// As one of NFS that squashes root: there nobody may give a file away.
TEST_F(FillTest, AVolumeThatGivesFilesToNobodyIsRefused) {
  fs::create_directories(volume_ + "/meta");
  std::thread([this] {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    __user_cap_data_struct sets[2]{};
    ASSERT_EQ(syscall(SYS_capget, &header, sets), 0);
    sets[0].effective &= ~(1u << CAP_CHOWN);
    ASSERT_EQ(syscall(SYS_capset, &header, sets), 0);
    const auto probed = ProbeVolume(volume_, "probe");
    ASSERT_FALSE(probed);
    EXPECT_EQ(probed.error().message(),
              "the volume cannot hold a root: it gives files to no other owner than its own; an NFS export needs "
              "no_root_squash");
  }).join();
}

TEST_F(FillTest, PeopleAreTheSameInAllGenerations) {
  Fills(Wanted());
  EXPECT_EQ(Switch({.generation = "g1", .keep = {}, .node_local = {}}), "");
  const std::string ada = "ada:x:1000:1000::/home/ada:/bin/sh\n";
  Write(root_ + "/etc/passwd", Read(root_ + "/etc/passwd") + ada);
  Fills(Wanted("g2"));
  EXPECT_EQ(Switch({.generation = "g2", .keep = {}, .node_local = {}}), "");
  EXPECT_NE(Read(volume_ + "/roots/g2/etc/passwd").find(ada), std::string::npos);
  Write(volume_ + "/roots/g2/etc/passwd", "ada:x:1001:1001::/home/ada:/bin/sh\n");
  EXPECT_EQ(Switch({.generation = "g1", .keep = {}, .node_local = {}}),
            "the people of generation g2 cannot be taken into g1: account ada has id 1001 in the current root, and "
            "1000 in this one");
  EXPECT_NE(Read(volume_ + "/meta/current").find("g2"), std::string::npos);
}

TEST_F(FillTest, AFolderThatIsInUseIsNoMountFromNowOn) {
  Fills(Wanted("g1"));
  EXPECT_EQ(Switch({.generation = "g1", .keep = {}, .node_local = {}, .mounts = {"/first"}}), "")
      << "nobody has written yet";
  fs::create_directories(volume_ + "/roots/g1/data");
  Write(volume_ + "/roots/g1/data/file", "hers");
  EXPECT_EQ(Switch({.generation = "g1", .keep = {}, .node_local = {}, .mounts = {"/first", "/data"}}),
            "/data cannot be a mount from now on: generation g1, which is current, has files there, which would be "
            "hidden; move them "
            "away first");
  fs::remove(volume_ + "/roots/g1/data/file");
  EXPECT_EQ(Switch({.generation = "g1", .keep = {}, .node_local = {}, .mounts = {"/first", "/data"}}), "");
  fs::create_directory_symlink("data", volume_ + "/roots/g1/link");
  EXPECT_EQ(Switch({.generation = "g1", .keep = {}, .node_local = {}, .mounts = {"/link"}}),
            "/link cannot be a mount: generation g1 has no folder there, or only by a link: opening /link in the root: "
            "Too many levels of "
            "symbolic "
            "links");
}

TEST_F(FillTest, OneWritesAtATime) {
  const auto lock = LockVolume(volume_, VolumeLock::kRoots);
  ASSERT_TRUE(lock);
  EXPECT_EQ(FailureOf(Wanted()), "somebody else writes to the volume; try again once that has ended");
}

TEST_F(FillTest, ASwitchSaysWhatCounts) {
  const std::string report = place_ + "/report/text";
  const std::vector<std::string> common{"--volume", volume_, "--generation", "g1", "--report", report};
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.end(), common.begin(), common.end());
    const auto status = RunRootJob(words);
    return status ? std::to_string(*status) : status.error().message();
  };
  EXPECT_EQ(run({"switch", "--keep", "/home"}), std::to_string(kNotOnVolume));
  EXPECT_EQ(Read(report), "generation g1 is not on the volume");
  EXPECT_EQ(run({"fill", "--from", image_}), "0");
  EXPECT_EQ(Read(report).find(R"({"generation":"g1","files":)"), 0u);
  EXPECT_FALSE(fs::exists(volume_ + "/meta/current")) << "filled is not switched";
  EXPECT_EQ(run({"switch", "--keep", "/home"}), "0");
  EXPECT_EQ(Read(volume_ + "/meta/current"), "capstan-root 1\ngeneration g1\nkeep /home\nend\n");
  EXPECT_EQ(run({"switch", "--keep", "/home", "--order", "u/7"}), "0");
  EXPECT_EQ(run({"switch", "--keep", "/home", "--order", "u/7"}), "0") << "a Job that is run again";
  EXPECT_EQ(run({"switch", "--keep", "/home", "--order", "u/6"}), "switch 7 has been made, which is later than 6");
  EXPECT_EQ(run({"switch", "--keep", "/home", "--order", "another/1"}), "0") << "of a new object for the same volume";
  EXPECT_EQ(run({"switch", "--keep", "/home", "--order", "7"}), "--order is \"7\", must be UID/NUMBER");
  EXPECT_EQ(run({"empty"}).find("usage: "), 0u);
  EXPECT_EQ(run({"fill", "--keep", "/home"}).find("\"--keep\" is unknown"), 0u);
  EXPECT_EQ(run({"fill", "--speed", "9"}).find("\"--speed\" is unknown"), 0u);
}

}  // namespace
}  // namespace capstan::entry
