#include "slurm/conf_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "slurm/conf_options.h"

namespace capstan::slurm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// "refused 2: text"
std::vector<std::string> Said(const std::vector<ConfFinding>& findings) {
  std::vector<std::string> said;
  for (const ConfFinding& finding : findings)
    said.push_back((finding.refused ? "refused " : "told ") + std::to_string(finding.line) + ": " + finding.text);
  return said;
}

std::vector<std::string> OfSlurmConf(std::string_view text) { return Said(CheckConf(ConfFile::kSlurm, text)); }

TEST(CheckConf, SaysWhatIsWrongWhereAndWhatWouldBeRight) {
  EXPECT_THAT(OfSlurmConf("# comment\nSlurmdTimeout=5m\nUsePAM=on\n"),
              ElementsAre("refused 2: SlurmdTimeout=5m must be a number of at most 65535, without a unit",
                          "refused 3: UsePAM=on must be YES or NO"));
  EXPECT_THAT(
      OfSlurmConf("PartitionName=p Nodes=ALL State=ON MaxTime=forever"),
      ElementsAre("refused 1: State=ON must be UP, DOWN, DRAIN or INACTIVE",
                  "refused 1: MaxTime=forever must be minutes, hours:minutes:seconds, days-hours, or UNLIMITED"));
  EXPECT_THAT(OfSlurmConf("KillWait=5 MinJobAge=9"),
              ElementsAre("refused 1: MinJobAge stands behind KillWait; give it a line of its own"));
  EXPECT_THAT(OfSlurmConf("KillWait"), ElementsAre("refused 0: line 1: \"KillWait\" is not of the form Key=Value"));
}

TEST(CheckConf, WhatANewerSlurmMayKnowIsToldAndNotRefused) {
  EXPECT_THAT(
      OfSlurmConf("SlurmdTimout=300\nQuantumPlugin=q\nPartitionName=p Nodes=ALL MaxTme=5\nPrologFlags=Alloc,Later"),
      ElementsAre("told 1: Slurm 26.05 knows no option SlurmdTimout; is SlurmdTimeout meant?",
                  "told 2: Slurm 26.05 knows no option QuantumPlugin there",
                  "told 3: Slurm 26.05 knows no option MaxTme; is MaxTime meant?",
                  "told 4: Slurm 26.05 knows no Later in PrologFlags"));
}

TEST(CheckConf, LinesMustAgree) {
  EXPECT_THAT(OfSlurmConf("PreemptType=preempt/qos"),
              ElementsAre("refused 0: PreemptType=preempt/qos needs a PreemptMode, such as REQUEUE"));
  EXPECT_THAT(OfSlurmConf("PreemptMode=SUSPEND"), ElementsAre("refused 0: PreemptMode=SUSPEND must be SUSPEND,GANG"));
  EXPECT_THAT(OfSlurmConf("NodeName=n[1-3]\nNodeName=n2"),
              ElementsAre("refused 2: NodeName=n2 is there twice; remove one"));
  EXPECT_THAT(OfSlurmConf("PartitionName=p Nodes=s,m1,x\nNodeSet=s Feature=f\nNodeName=m[1-2]"), SizeIs(1));
}

TEST(CheckConf, WhatSlurmTakesIsFine) {
  EXPECT_THAT(
      OfSlurmConf(
          "slurmdtimeout = 40\nMaxJobCount=10k\nSlurmctldTimeout=INFINITE\nMaxArraySize=0x10\n"
          "Licenses=a:5,b,c@srv:3\nPriorityWeightTRES=CPU=1.0,Mem=0.25G,GRES/gpu=2\nPriorityDecayHalfLife=7-0\n"
          "PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND,GANG\nPropagateResourceLimits=STACK,MEMLOCK\n"
          "PartitionName=p Nodes=ALL MaxTime=1-0:0 OverSubscribe=FORCE:2 Default=yes\nInclude more.conf\n"
          "Prolog=/a\nProlog=/b\nSlurmctldDebug=debug2\nSlurmdDebug=5\nEnforcePartLimits=ALL\n"),
      IsEmpty());
  EXPECT_THAT(OfSlurmConf("Licenses=\"\"\nPartitionName=p Nodes=\"\" AllowGroups=\"\""), IsEmpty());
}

TEST(CheckConf, AnEmptyValueOrAZeroWithWhichSlurmctldEndsIsRefused) {
  EXPECT_THAT(OfSlurmConf("SwitchType=\"\"\nPriorityMaxAge=\"\"\nDisableRootJobs=\"\"\nMaxJobCount=\"\""),
              ElementsAre("refused 1: SwitchType= must be the name of a plugin",
                          "refused 2: PriorityMaxAge= must be minutes, hours:minutes:seconds, days-hours, or UNLIMITED",
                          "refused 3: DisableRootJobs= must be YES or NO",
                          "refused 4: MaxJobCount= must be a number of at least 1"));
  EXPECT_THAT(
      OfSlurmConf(
          "MaxJobCount=0\nFirstJobId=0x0\nSlurmctldPort=0\nMaxDBDMsgs=500\nMaxNodeCount=\"\"\nClusterName=\"\""),
      SizeIs(6));
  EXPECT_THAT(OfSlurmConf("SelectType=select/linear"),
              ElementsAre("refused 1: SelectType=select/linear must be select/cons_tres"));
  EXPECT_THAT(OfSlurmConf("MaxJobCount=0x1\nMaxStepCount=UNLIMITED\nSlurmctldPort=6817-6820\nMinJobAge=0"), IsEmpty());
  EXPECT_THAT(OfSlurmConf("PartitionName=p Nodes=ALL QOS=\"\" Hidden=\"\" MaxTime=\"\" State=\"\" Topology=\"\""),
              SizeIs(5));
  EXPECT_THAT(Said(CheckPartition("QOS=\"\" Hidden=\"\" MaxTime=\"\"")), IsEmpty()) << "left out of the line";
}

TEST(CheckConf, OfAnOptionThatIsThereTwiceTheLastCounts) {
  EXPECT_THAT(OfSlurmConf("MaxJobCount=0\nmaxjobcount=5\nSwitchType=\"\"\nSwitchType=switch/none"), IsEmpty());
  EXPECT_THAT(OfSlurmConf("SlurmctldDebug=info\nSlurmctldDebug=loud"),
              ElementsAre(HasSubstr("refused 2: SlurmctldDebug=loud")));
  EXPECT_THAT(OfSlurmConf("UsePAM=maybe\nUsePAM=1"), SizeIs(1)) << "slurmctld ends as it reads the line";
}

TEST(CheckConf, NoNumberOfDoubtsHidesWhatIsRefused) {
  std::string text;
  for (size_t i = 0; i < 2 * kMostConfFindings; ++i) text += "Unknown" + std::to_string(i) + "=1\n";
  for (const char* wrong : {"UsePAM=maybe\n", "MaxJobCount=0\n", "PartitionName=p Nodes=nosuch\n"}) {
    const auto findings = CheckConf(ConfFile::kSlurm, text + wrong);
    EXPECT_THAT(findings, SizeIs(kMostConfFindings));
    EXPECT_TRUE(std::ranges::any_of(findings, [](const auto& f) { return f.refused || f.unknown_node; })) << wrong;
  }
  std::string nodes = "PreemptType=preempt/qos\n";
  for (size_t i = 0; i < 2 * kMostConfFindings; ++i)
    nodes += "PartitionName=p" + std::to_string(i) + " Nodes=w-" + std::to_string(i) + "\n";
  EXPECT_THAT(OfSlurmConf(nodes), ::testing::Contains(HasSubstr("refused 0: PreemptType=preempt/qos")));
}

TEST(CheckConf, OtherFilesHaveOptionsOfTheirOwn) {
  EXPECT_THAT(
      Said(CheckConf(ConfFile::kCgroup, "CgroupPlugin=cgroup/v2\nConstrainCores=perhaps\nAllowedRAMSpace=98.5")),
      ElementsAre("refused 2: ConstrainCores=perhaps must be YES or NO"));
  EXPECT_THAT(Said(CheckConf(ConfFile::kGres,
                             "AutoDetect=nvml\nNodeName=n[1-2] Name=gpu Type=a File=/dev/nvidia[0-3]\nName=gpu Fle=x")),
              ElementsAre("told 3: Slurm 26.05 knows no option Fle; is File meant?"));
  EXPECT_THAT(Said(CheckConf(ConfFile::kSlurmdbd, "StoragePort=70000\nPurgeJobAfter=12months")),
              ElementsAre("refused 1: StoragePort=70000 must be a number of at most 65535, without a unit"));
  EXPECT_THAT(Said(CheckConf(ConfFile::kTopology, "SwitchName=s Nodes=n[1-3]\nBlockName=b Nodes=n4\nBlockSizes=4")),
              IsEmpty());
  EXPECT_EQ(ConfFileNamed("gres.conf"), ConfFile::kGres);
  EXPECT_EQ(ConfFileNamed("job_submit.lua"), std::nullopt);
}

TEST(CheckConf, NoPasswordIsRepeatedAndNothingLong) {
  EXPECT_THAT(Said(CheckConf(ConfFile::kSlurmdbd, "StorgePass=hidden")),
              ElementsAre(::testing::Not(::testing::HasSubstr("hidden"))));
  const std::string many = [] {
    std::string text;
    for (int i = 0; i < 1000; ++i) text += "UsePAM=" + std::string(10'000, 'x') + "\n";
    return text;
  }();
  const auto findings = CheckConf(ConfFile::kSlurm, many);
  EXPECT_THAT(findings, SizeIs(kMostConfFindings));
  EXPECT_LT(findings[0].text.size(), 200u);
}

TEST(CheckConf, APartitionsOptionsAlone) {
  EXPECT_THAT(Said(CheckPartition("State=UP PriorityTier=70000")),
              ElementsAre("refused 0: PriorityTier=70000 must be a number of at most 65535, without a unit"));
  EXPECT_THAT(Said(CheckPartition("")), IsEmpty());
  EXPECT_THAT(Said(CheckPartition("Exclusive=YES")),
              ElementsAre("refused 0: Exclusive=YES must be NO, NODE, USER or TOPO"));
  EXPECT_THAT(Said(CheckPartition("SelectTypeParameters=CR_Core,CR_LLN Exclusive=topo Nodes=ALL AllowQos=\"\"")),
              IsEmpty());
  EXPECT_THAT(Said(CheckPartition("SelectTypeParameters=CR_LLN,CR_Core")),
              ElementsAre(::testing::HasSubstr("must be CR_Core, ")));
  EXPECT_THAT(Said(CheckPartition("State=UP PartitionName=q")),
              ElementsAre("refused 0: PartitionName= cannot be set here"));
  EXPECT_THAT(Said(CheckPartition("State=UP\nMaxTime=5")), SizeIs(1));
  EXPECT_THAT(Said(CheckPartition("AllowGroups=a\x01")), SizeIs(1)) << "slurm.conf cannot say so";
}

// --- Texts of a megabyte ---------------------------------------------------------------------------------------------

std::string Repeated(size_t bytes, const std::function<std::string(size_t)>& line) {
  std::string text;
  for (size_t i = 0; text.size() < bytes; ++i) text += line(i);
  return text;
}

constexpr size_t kLarge = 900'000;

// Each list is within the limits of one, and all together are hundreds of millions of names.
TEST(CheckConf, NamesAreComparedAndNotWrittenOut) {
  const std::string text = Repeated(kLarge, [](size_t i) {
    const std::string rack = "node-number-of-rack-" + std::to_string(i) + "-";
    return "NodeName=" + rack + "[1-99999]\nPartitionName=p" + std::to_string(i) + " Nodes=" + rack + "[1-99999]\n";
  });
  EXPECT_THAT(OfSlurmConf(text), IsEmpty());
  EXPECT_THAT(OfSlurmConf(text + "NodeName=node-number-of-rack-3-[99998-100001]\n"),
              ElementsAre(::testing::EndsWith("NodeName=node-number-of-rack-3-99998 is there twice; remove one"),
                          ::testing::EndsWith("NodeName=node-number-of-rack-3-99999 is there twice; remove one")));
  EXPECT_THAT(OfSlurmConf(text + "PartitionName=last Nodes=node-number-of-rack-5-[1-90000],nobody[1-9999]\n"),
              ElementsAre(::testing::HasSubstr("has nobody1, which is no NodeSet and no NodeName")));
}

// Of the same kind: all partitions name the same nodes, or a list names each of many nodes.
TEST(CheckConf, PartitionsOfManyNodesAreComparedByRange) {
  const std::string same =
      Repeated(kLarge, [](size_t i) { return "PartitionName=p" + std::to_string(i) + " Nodes=n[1-99999]\n"; });
  EXPECT_THAT(OfSlurmConf("NodeName=n[1-99999]\n" + same), IsEmpty());
  const std::string each = Repeated(kLarge, [](size_t i) { return "NodeName=n" + std::to_string(i) + "\n"; });
  EXPECT_THAT(OfSlurmConf(each + "PartitionName=p Nodes=n[0-9999]\n"), IsEmpty());
}

TEST(CheckConf, WhatCannotBeComparedIsToldOnce) {
  const std::string text = Repeated(100'000, [](size_t i) {
    return "NodeName=n[1-300]x[1-300]-" + std::string(1, char('a' + i % 26)) + std::to_string(i) + "\n";
  });
  EXPECT_THAT(OfSlurmConf(text + "PartitionName=p Nodes=other\n"),
              ElementsAre(::testing::AllOf(::testing::StartsWith("told "),
                                           ::testing::HasSubstr("is not looked at from "
                                                                "NodeName=n["),
                                           ::testing::HasSubstr("n[0001-5000]"))));
}

// Nothing behind the last finding is looked at: the nearest option of each unknown one took seconds.
TEST(CheckConf, EndsWithItsLastFinding) {
  for (const std::string& text : {Repeated(kLarge, [](size_t) { return "abcdefghijklmnopqrstuvwxyz=1\n"; }),
                                  "NodeName=n " + Repeated(kLarge, [](size_t) { return "Wait=1 "; }),
                                  "PrologFlags=" + Repeated(kLarge, [](size_t) { return "a,"; })})
    EXPECT_THAT(CheckConf(ConfFile::kSlurm, text), SizeIs(kMostConfFindings));
}

TEST(CheckConf, NoWordIsRepeatedWhole) {
  const std::string word(kLarge, 'k');
  for (const std::string& text :
       {word, word + "=", word + "=\"", word + "=\"a\"b", "KillWait=5 " + word + "=1", word + "=1"}) {
    const auto findings = CheckConf(ConfFile::kSlurm, text);
    ASSERT_THAT(findings, SizeIs(1)) << text.substr(word.size());
    EXPECT_LT(findings[0].text.size(), 250u) << findings[0].text.substr(0, 300);
  }
}

}  // namespace
}  // namespace capstan::slurm
