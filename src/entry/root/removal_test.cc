#include "entry/root/removal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "entry/root/jobs.h"
#include "entry/root/reports.h"

namespace capstan::entry {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class RemovalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* generation : {"g1", "g2", "g3"}) {
      fs::create_directories(volume_ + "/roots/" + generation + "/etc");
      std::ofstream(volume_ + "/roots/" + generation + "/etc/file") << "text";
    }
    fs::create_directories(volume_ + "/meta/pods");
    Switch("g3", 7);
  }
  void TearDown() override { fs::remove_all(volume_); }

  void Switch(const std::string& generation, int64_t number) {
    ASSERT_TRUE(SetCurrent(volume_, {.generation = generation, .keep = {}, .node_local = {}}, {"uid-root", number}));
  }
  void Says(const std::string& pod, const std::set<std::string>& generations) {
    ASSERT_EQ(WriteReport(volume_, pod, generations).value_or("failed"), "");
  }
  // Its report is so old.
  void Written(const std::string& pod, std::chrono::seconds ago) {
    const auto then = std::chrono::system_clock::now() - ago;
    const timespec time{.tv_sec = std::chrono::system_clock::to_time_t(then), .tv_nsec = 0};
    const timespec times[2] = {time, time};
    ASSERT_EQ(utimensat(AT_FDCWD, (volume_ + "/meta/pods/" + pod).c_str(), times, 0), 0);
  }
  // Its text, or why it failed.
  std::string Remove(const std::vector<std::string>& generations, std::vector<Removal::Pod> pods, int64_t number = 7) {
    const auto removed = RemoveGenerations(
        {.volume = volume_, .generations = generations, .pods = std::move(pods), .order = {"uid-root", number}});
    return removed ? RemovedText(*removed) : removed.error().message();
  }
  bool IsThere(const std::string& name) const { return fs::exists(volume_ + "/roots/" + name); }

  const std::string volume_ = ::testing::TempDir() + "removal-" + std::to_string(getpid());
};

TEST_F(RemovalTest, WhatNoPodHasGoes) {
  Says("u1", {"g3"});
  EXPECT_EQ(Remove({"g1", "g2"}, {{"cpu-0", "u1"}}), R"({"removed":["g1","g2"],"kept":{}})");
  EXPECT_FALSE(IsThere("g1") || IsThere("g2"));
  EXPECT_TRUE(IsThere("g3"));
  EXPECT_EQ(Remove({"g1"}, {}), R"({"removed":["g1"],"kept":{}})") << "a Job that is run again";
}

TEST_F(RemovalTest, WhatAPodHasStays) {
  Says("u1", {"g1", "g3"});
  Says("u2", {"g1", "g3"});
  Says("u3", {"g3"});
  EXPECT_EQ(Remove({"g1", "g2"}, {{"cpu-1", "u1"}, {"cpu-0", "u2"}, {"cpu-2", "u3"}}),
            R"({"removed":["g2"],"kept":{"g1":"pods cpu-0, cpu-1 are in it"}})");
  EXPECT_TRUE(IsThere("g1"));
}

// Absence proves nothing; nor does what nobody can read.
TEST_F(RemovalTest, ForAPodThatDoesNotSayAllStays) {
  Says("u1", {"g3"});
  EXPECT_EQ(Remove({"g1"}, {{"cpu-0", "u1"}, {"login-x", "u9"}}),
            R"({"removed":[],"kept":{"g1":"pod login-x does not say which it has"}})");
  for (const char* text : {"", "rubbish", "capstan-root-report 1\n", "capstan-root-report 1\ngeneration g3\n",
                           "capstan-root-report 2\ngeneration g3\nend\n", "capstan-root-report 1\nother g3\nend\n"}) {
    std::ofstream(volume_ + "/meta/pods/u1") << text;
    EXPECT_EQ(Remove({"g1"}, {{"cpu-0", "u1"}}),
              R"({"removed":[],"kept":{"g1":"pod cpu-0 does not say which it has"}})")
        << text;
  }
  fs::remove(volume_ + "/meta/pods/u1");
  EXPECT_EQ(Remove({"g1"}, {{"cpu-0", "../current"}}),
            R"({"removed":[],"kept":{"g1":"pod cpu-0 does not say which it has"}})");
  EXPECT_TRUE(IsThere("g1"));
}

TEST_F(RemovalTest, TheCurrentOneStays) {
  EXPECT_EQ(Remove({"g3", "g1"}, {}), R"({"removed":["g1"],"kept":{"g3":"it is current"}})");
  EXPECT_TRUE(IsThere("g3"));
}

// Between two switches a pod that nobody listed may have got another root.
TEST_F(RemovalTest, AnotherSwitchSinceThePodsWereListedKeepsAll) {
  Switch("g1", 8);
  Switch("g3", 9);
  EXPECT_EQ(Remove({"g1"}, {}),
            "the pods were listed after switch uid-root/7, and on the volume is uid-root/9; the next switch "
            "mends that");
  EXPECT_TRUE(IsThere("g1"));
  EXPECT_EQ(Remove({"g1"}, {}, 9), R"({"removed":["g1"],"kept":{}})");
  fs::remove(volume_ + "/meta/current");
  EXPECT_EQ(Remove({"g2"}, {}, 9), "no generation is current");
  EXPECT_TRUE(IsThere("g2"));
}

TEST_F(RemovalTest, WhatAnotherTryLeftIsRemovedAndNothingElse) {
  fs::rename(volume_ + "/roots/g1", volume_ + "/roots/g1.removed");
  fs::create_directories(volume_ + "/roots/g4.partial");
  fs::create_directories(volume_ + "/roots/g5.mine");
  fs::create_directories(volume_ + "/roots/.removed");
  EXPECT_EQ(Remove({"g2"}, {}), R"({"removed":["g2"],"kept":{}})");
  EXPECT_FALSE(IsThere("g1.removed") || IsThere("g2.removed") || IsThere("g4.partial"));
  EXPECT_TRUE(IsThere("g5.mine") && IsThere(".removed"));
}

// As where its machine is cut off, and it was deleted by force.
TEST_F(RemovalTest, APodThatNobodyListedAndThatReportsKeepsItsOwn) {
  Says("u1", {"g1", "g3"});
  EXPECT_EQ(Remove({"g1", "g2"}, {}), R"({"removed":["g2"],"kept":{"g1":"pod u1 is in it"}})");
  Written("u1", 30min);
  EXPECT_EQ(Remove({"g1"}, {}), R"({"removed":[],"kept":{"g1":"pod u1 is in it"}})");
  Written("u1", 2h);
  EXPECT_EQ(Remove({"g1"}, {}), R"({"removed":["g1"],"kept":{}})");
}

TEST_F(RemovalTest, OfAPodThatIsListedTheReportCountsHoweverOldItIs) {
  Says("u1", {"g1", "g3"});
  Written("u1", 24h);
  EXPECT_EQ(Remove({"g1"}, {{"cpu-0", "u1"}}), R"({"removed":[],"kept":{"g1":"pod cpu-0 is in it"}})");
}

TEST_F(RemovalTest, ReportsOfPodsThatAreGoneAreRemovedAfterDays) {
  for (const char* pod : {"u1", "u2"}) Says(pod, {"g3"});
  Written("u1", 72h);
  Remove({"g1"}, {});
  EXPECT_FALSE(fs::exists(volume_ + "/meta/pods/u1"));
  EXPECT_TRUE(fs::exists(volume_ + "/meta/pods/u2"));
}

TEST_F(RemovalTest, WhatHasGoneIsSaidToBeRemovedWhateverPodsSay) {
  fs::remove_all(volume_ + "/roots/g1");
  EXPECT_EQ(Remove({"g1"}, {{"login-x", "u9"}}), R"({"removed":["g1"],"kept":{}})");
}

TEST_F(RemovalTest, ASwitchDoesNotWaitForFiles) {
  const auto filling = LockVolume(volume_, VolumeLock::kRoots);
  ASSERT_TRUE(filling);
  EXPECT_EQ(Remove({"g1"}, {}), "somebody else writes to the volume; try again once that has ended");
  EXPECT_TRUE(LockVolume(volume_, VolumeLock::kCurrent));
}

TEST_F(RemovalTest, AJobSaysWhatItHasDone) {
  const std::string report = volume_ + "/report";
  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"remove", "--volume", volume_, "--report", report};
    words.insert(words.end(), more.begin(), more.end());
    const auto status = RunRootJob(words);
    return status ? std::to_string(*status) : status.error().message();
  };
  Says("u1", {"g2", "g3"});
  EXPECT_EQ(run({"--generation", "g1", "--generation", "g2", "--order", "uid-root/7", "--pod", "cpu-0/u1"}), "0");
  std::string said;
  std::getline(std::ifstream(report), said);
  EXPECT_EQ(said, R"({"removed":["g1"],"kept":{"g2":"pod cpu-0 is in it"}})");
  EXPECT_EQ(run({"--generation", "g2", "--order", "uid-root/7", "--pod", "cpu-0"}),
            "--pod is \"cpu-0\", must be NAME/UID");
  EXPECT_EQ(run({"--generation", "../meta", "--order", "uid-root/7"}),
            "\"../meta\" is no generation's name: it must be 1 to 63 of a-z, 0-9 and -");
  EXPECT_EQ(run({"--generation", "g2"}).find("--order is missing"), 0u);
  EXPECT_TRUE(IsThere("g2"));
}

TEST(RemovedTextTest, HasRoomInATerminationMessage) {
  Removed removed;
  for (int i = 0; i < 64; ++i) {
    removed.removed.push_back("g-" + std::string(10, 'x'));
    removed.kept["g-" + std::to_string(i)] = std::string(5'000, 'y');
  }
  EXPECT_LT(RemovedText(removed).size(), 4096u);
}

}  // namespace
}  // namespace capstan::entry
