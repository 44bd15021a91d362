#include "entry/sizing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace capstan::entry {
namespace {

constexpr char kPrinted[] =
    "NodeName=vm CPUs=64 Boards=1 SocketsPerBoard=2 CoresPerSocket=16 ThreadsPerCore=2 RealMemory=256000\n"
    "UpTime=0-00:14:34\n";

TEST(ParseHardware, ReadsWhatSlurmdPrints) {
  const auto hardware = ParseHardware(kPrinted);
  ASSERT_TRUE(hardware);
  EXPECT_EQ(hardware->cores, 32);
  EXPECT_EQ(hardware->threads_per_core, 2);
  EXPECT_EQ(hardware->memory_mib, 256000);
}

TEST(ParseHardware, RefusesAnythingElse) {
  const char* const cases[] = {"",
                               "\n",
                               "UpTime=1-02:03:04\n",
                               "slurmd: error: no such thing\n",
                               "NodeName=vm CPUs=2\n",
                               "NodeName=vm CoresPerSocket=x ThreadsPerCore=1 RealMemory=1\n"};
  for (const char* text : cases) EXPECT_FALSE(ParseHardware(text)) << text;
}

TEST(AddPodShare, ReservesWhatThePodDoesNotHave) {
  struct Case {
    const char* name;
    PodShare share;
    const char* before;
    const char* after;
  };
  const Case cases[] = {
      {"no limits", {}, "Features=a", "Features=a"},
      {"half the machine", {.cpus = 32, .memory_mib = 128000}, "", "CoreSpecCount=16 MemSpecLimit=128000"},
      {"all of it", {.cpus = 64, .memory_mib = 256000}, "", ""},
      {"more than there is", {.cpus = 100, .memory_mib = 999999}, "", ""},
      {"an odd thread is not used", {.cpus = 33}, "", "CoreSpecCount=16"},
      {"one core is left", {.cpus = 1}, "", "CoreSpecCount=31"},
      {"user's cores win", {.cpus = 32}, "corespeccount=2", "corespeccount=2"},
      {"user's CPU list wins", {.cpus = 32}, "CpuSpecList=0,1", "CpuSpecList=0,1"},
      {"user's memory wins", {.memory_mib = 1000}, "MemSpecLimit=5", "MemSpecLimit=5"},
      {"user's hardware is believed",
       {.cpus = 4, .memory_mib = 1000},
       "Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=3000",
       "Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=3000 CoreSpecCount=4 MemSpecLimit=2000"},
      {"topology", {.topology = "topo-switch:s2"}, "Features=a", "Features=a Topology=topo-switch:s2"},
      {"user's topology wins", {.topology = "b"}, "Topology=a", "Topology=a"},
  };
  const Hardware hardware = *ParseHardware(kPrinted);
  for (const Case& c : cases) {
    NodeConf conf = *NodeConf::Parse(c.before);
    ASSERT_TRUE(AddPodShare(c.share, hardware, &conf)) << c.name;
    EXPECT_EQ(conf.Text(), c.after) << c.name;
  }
}

TEST(AddPodShare, SaysWhichNumberIsWrong) {
  NodeConf conf = *NodeConf::Parse("RealMemory=lots");
  const auto added = AddPodShare({.memory_mib = 1}, *ParseHardware(kPrinted), &conf);
  ASSERT_FALSE(added);
  EXPECT_THAT(added.error().message(), ::testing::HasSubstr("RealMemory=lots must be a positive whole number"));
}

TEST(NeedsHardware, OnlyWhenSomethingIsToBeComputed) {
  EXPECT_FALSE(NeedsHardware({}, {}));
  EXPECT_FALSE(NeedsHardware({.topology = "t"}, {}));
  EXPECT_TRUE(NeedsHardware({.cpus = 1}, {}));
  EXPECT_FALSE(NeedsHardware({.cpus = 1}, *NodeConf::Parse("CoreSpecCount=1")));
  EXPECT_TRUE(NeedsHardware({.cpus = 1, .memory_mib = 1}, *NodeConf::Parse("CoreSpecCount=1")));
}

class ReadPodShareTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"POD_CPUS", "POD_MEMORY", "POD_TOPOLOGY", "SLINKY_TOPOLOGY"}) unsetenv(name);
  }
  void TearDown() override { SetUp(); }
};

TEST_F(ReadPodShareTest, ReadsTheEnvironment) {
  setenv("POD_CPUS", "4", 1);
  setenv("POD_MEMORY", "2048", 1);
  setenv("SLINKY_TOPOLOGY", "topo:a", 1);
  const auto share = ReadPodShare();
  ASSERT_TRUE(share);
  EXPECT_EQ(share->cpus, 4);
  EXPECT_EQ(share->memory_mib, 2048);
  EXPECT_EQ(share->topology, "topo:a");
  setenv("POD_TOPOLOGY", "topo:b", 1);
  EXPECT_EQ(ReadPodShare()->topology, "topo:b");
}

TEST_F(ReadPodShareTest, TakesEmptyAndZeroForNoLimit) {
  setenv("POD_CPUS", "0", 1);
  setenv("POD_MEMORY", "", 1);
  const auto share = ReadPodShare();
  ASSERT_TRUE(share);
  EXPECT_EQ(share->cpus, std::nullopt);
  EXPECT_EQ(share->memory_mib, std::nullopt);
}

TEST_F(ReadPodShareTest, RefusesWhatIsNoNumber) {
  for (const char* text : {"four", "1.5", "-1", "4Gi"}) {
    setenv("POD_CPUS", text, 1);
    const auto share = ReadPodShare();
    ASSERT_FALSE(share) << text;
    EXPECT_EQ(share.error().message(), std::string("POD_CPUS is '") + text + "', must be a whole number");
  }
}

// The annotation comes from a Kubernetes node: whoever may write it could set any item of --conf.
TEST(AddPodShare, ATopologyStaysInItsItem) {
  for (const char* topology : {"a\" Weight=1 X=\"b", "a\"", "\"a", "a'b", "a\\", "a\nWeight=1"}) {
    NodeConf conf;
    PodShare share;
    share.topology = topology;
    const auto added = AddPodShare(share, {.cores = 1, .threads_per_core = 1, .memory_mib = 1}, &conf);
    ASSERT_FALSE(added) << topology;
    EXPECT_EQ(added.error().code(), Code::kInvalid);
    EXPECT_TRUE(conf.empty());
  }
  NodeConf conf;
  PodShare share;
  share.topology = "default:rack 1,other:x";
  ASSERT_TRUE(AddPodShare(share, {.cores = 1, .threads_per_core = 1, .memory_mib = 1}, &conf));
  EXPECT_EQ(conf.Text(), "Topology=\"default:rack 1,other:x\"");
}

}  // namespace
}  // namespace capstan::entry
