#include "operator/controller/partitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/decide_test.h"

namespace capstan::op::controller {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

struct Settled {
  std::string lines;  // of the section of NodeSets and partitions
  std::vector<std::string> told;
  std::vector<std::string> doubts;
};

Settled Settle(Config config, std::string_view published, bool is_lost = false) {
  config.ns = "slurm";
  config.controller = "main";
  config.cluster_name = "slurm_main";
  Findings findings;
  Settled settled;
  config.published = published;
  config.is_lost = is_lost;
  const auto taken = SettlePartitions(config, findings);
  const auto text = taken ? SlurmConf(config, &settled.doubts) : Fail(taken.error());
  settled.lines = text ? *text : "refused: " + text.error().message();
  if (const size_t begin = settled.lines.find("### NODESET & PARTITION ###\n"); begin != settled.lines.npos)
    settled.lines.erase(0, begin + 28);
  for (const auto* some : {&findings.problems, &findings.remarks})
    for (const Finding& finding : *some) settled.told.push_back(std::string(finding.reason) + ": " + finding.message);
  return settled;
}

ConfigNodeSet Gpu(std::string options) {
  return {.name = "gpu", .partition = true, .partition_config = std::move(options), .where = "main-gpu"};
}

constexpr auto kPublished = "NodeSet=gpu Feature=gpu\nPartitionName=gpu Nodes=gpu State=UP MaxTime=60\n";

// Each would keep slurmctld from starting, and is one NodeSet's.
TEST(SettlePartitions, OneThatSlurmRefusesStaysAsItIsPublished) {
  for (const char* options : {"State=FOO", "MaxTime=soon", "Default", "State=\"UP", "State=UP\nMaxTime=5",
                              "Nodes=other", "PartitionName=other", "TRESBillingWeights=CPU=x", "State=UP \x01",
                              "Exclusive=YES", "SelectTypeParameters=CR_CPU", "QOS=normal", "AllowQos=a,b"}) {
    Config config;
    config.node_sets = {Gpu(options),
                        {.name = "cpu", .partition = true, .partition_config = "State=UP", .where = "cpu"}};
    const Settled settled = Settle(config, kPublished);
    EXPECT_EQ(settled.lines,
              "NodeSet=gpu Feature=gpu\nPartitionName=gpu Nodes=gpu State=UP MaxTime=60\n"
              "NodeSet=cpu Feature=cpu\nPartitionName=cpu Nodes=cpu State=UP\n")
        << options;
    EXPECT_THAT(settled.told,
                ElementsAre(AllOf(StartsWith("ConfigRefused: spec.partition.config of NodeSet main-gpu: "),
                                  HasSubstr(". Its partition stays as it is published"))))
        << options;
  }
}

TEST(SettlePartitions, OneThatIsNotPublishedIsLeftOut) {
  Config config;
  config.node_sets = {Gpu("State=FOO")};
  for (const char* published :
       {"", "NodeSet=gpu Feature=gpu\n", "PartitionName=gpu Nodes=ALL State=UP\n", "PartitionName=gpu\n"}) {
    const Settled settled = Settle(config, published);
    EXPECT_EQ(settled.lines, "NodeSet=gpu Feature=gpu\n") << published;
    EXPECT_THAT(settled.told, ElementsAre(AllOf(HasSubstr("State=FOO must be UP, DOWN, DRAIN or INACTIVE"),
                                                HasSubstr("Its partition is left out of slurm.conf"))));
  }
}

// There may be jobs in it.
TEST(SettlePartitions, WhileWhatIsPublishedIsLostNoneIsLeftOut) {
  Config config;
  config.node_sets = {Gpu("State=FOO")};
  EXPECT_THAT(Settle(config, "", true).lines,
              StartsWith("refused: spec.partition.config of NodeSet main-gpu: State=FOO"));
}

TEST(SettlePartitions, WhatStaysAsPublishedIsNotLookedAtAgain) {
  Config config;
  config.node_sets = {Gpu("Nodes=gpu,w-0 MaxTime=soon")};
  constexpr auto published = "NodeSet=gpu Feature=gpu\nPartitionName=gpu Nodes=gpu Nodes=gpu,w-0\n";
  EXPECT_EQ(Settle(config, published).lines, published);
  EXPECT_THAT(Settle(config, published).told, SizeIs(1));
  config.node_sets = {Gpu("Nodes=gpu,w-0 MaxTime=5")};
  EXPECT_THAT(Settle(config, published).told, IsEmpty()) << "what nodes are named is in force";
  EXPECT_THAT(Settle(config, "", true).lines, HasSubstr("PartitionName=gpu Nodes=gpu Nodes=gpu,w-0 MaxTime=5\n"));
  const std::string with_qos = "NodeSet=gpu Feature=gpu\nPartitionName=gpu Nodes=gpu MaxTime=5 QOS=high\n";
  config.node_sets = {Gpu("QOS=high")};
  EXPECT_EQ(Settle(config, with_qos).lines, "NodeSet=gpu Feature=gpu\nPartitionName=gpu Nodes=gpu MaxTime=5\n")
      << "accounting was turned off";
}

TEST(SettlePartitions, WhatIsGoodIsLeftAlone) {
  Config config;
  config.node_sets = {Gpu("State=UP Default=YES"), {.name = "cpu", .partition_config = "State=FOO", .where = "cpu"}};
  const Settled settled = Settle(config, kPublished);
  EXPECT_EQ(settled.lines,
            "NodeSet=gpu Feature=gpu\nPartitionName=gpu Nodes=gpu State=UP Default=YES\nNodeSet=cpu Feature=cpu\n");
  EXPECT_THAT(settled.told, IsEmpty()) << "who asks for no partition has no options of one";
}

TEST(SettlePartitions, WhatIsPublishedKeepsItsQuotesAndNodes) {
  Config config;
  config.node_sets = {Gpu("State=FOO")};
  constexpr auto published = "NodeSet=gpu Feature=gpu\nPartitionName=gpu Nodes=gpu AllowGroups=\"a b\" Nodes=ALL\n";
  EXPECT_EQ(Settle(config, published).lines, published);
}

TEST(SettlePartitions, WithAccountingAPartitionHasAQos) {
  Config config;
  config.node_sets = {Gpu("QOS=normal AllowQos=ALL")};
  config.accounting = ConfigAccounting{"db-accounting", 6819};
  EXPECT_THAT(Settle(config, "").told, IsEmpty());
  config.accounting.reset();
  EXPECT_THAT(Settle(config, "").told, ElementsAre(HasSubstr("QOS= needs accounting")));
  config.extra_conf = "AccountingStorageType=accounting_storage/slurmdbd\n";
  EXPECT_THAT(Settle(config, "").told, IsEmpty());
}

TEST(SettlePartitions, AUsersPartitionOfANodeSetsNameIsTheOneThatCounts) {
  Config config;
  config.node_sets = {Gpu("State=UP")};
  config.extra_conf = "PartitionName=gpu Nodes=ALL State=DRAIN\n";
  const Settled settled = Settle(config, kPublished);
  EXPECT_THAT(settled.lines,
              AllOf(HasSubstr("NodeSet=gpu Feature=gpu\n"), HasSubstr("PartitionName=gpu Nodes=ALL State=DRAIN"),
                    Not(HasSubstr("PartitionName=gpu Nodes=gpu"))));
  EXPECT_THAT(settled.told,
              ElementsAre(StartsWith("NameConflict: NodeSet main-gpu has no partition gpu: spec.extraConf")));
}

// --- Nodes= of the user's partitions ---------------------------------------------------------------------------------

TEST(SettlePartitions, ANodeSetThatIsGoneStaysWhileAPartitionNamesIt) {
  Config config;
  config.extra_conf = "PartitionName=a Nodes=gpu,cpu\nPartitionName=b Nodes=gpu\n";
  config.node_sets = {{.name = "cpu", .where = "cpu"}};
  const Settled settled = Settle(config, "NodeSet=gpu Feature=gpu\nNodeSet=cpu Feature=cpu\nNodeSet=old Feature=old\n");
  EXPECT_THAT(settled.lines, StartsWith("NodeSet=cpu Feature=cpu\nNodeSet=gpu Feature=gpu\n#\n### EXTRA"));
  EXPECT_THAT(settled.told,
              ElementsAre(StartsWith("ConfigDoubtful: NodeSet gpu is gone, and `Nodes=` of a partition")));
}

TEST(SettlePartitions, ANodeSetThatIsGoneStaysWhileAnothersPartitionNamesIt) {
  Config config;
  config.node_sets = {
      {.name = "all-of-us", .partition = true, .partition_config = "Nodes=all-of-us,gpu", .where = "us"}};
  const std::string published =
      "NodeSet=all-of-us Feature=all-of-us\nPartitionName=all-of-us Nodes=all-of-us Nodes=all-of-us,gpu\nNodeSet=gpu "
      "Feature=gpu\n";
  EXPECT_EQ(Settle(config, published).lines, published);
}

// slurmctld would not start; the operator made neither.
TEST(SettlePartitions, OthersThatAreGoneAreRefused) {
  for (const char* published : {"", "NodeSet=gpu Feature=h100\n", "NodeSet=gpu Nodes=w-[0-3]\n", "NodeName=gpu\n"}) {
    Config config;
    config.extra_conf = "PartitionName=a Nodes=gpu\n";
    EXPECT_THAT(Settle(config, published).lines,
                StartsWith("refused: line 1 of spec.extraConf: Nodes=gpu has gpu, which is no NodeSet and no NodeName"))
        << published;
  }
  Config config;
  config.extra_conf = "PartitionName=a Nodes=gpu\n";
  config.taken = {"gpu"};
  const Settled settled = Settle(config, "NodeSet=gpu Feature=gpu\n");
  EXPECT_THAT(settled.lines, AllOf(Not(HasSubstr("refused")), Not(HasSubstr("NodeSet=gpu")))) << "Slurm has a node gpu";
}

// slurmctld looks for them whoever names them.
TEST(SettlePartitions, WorkersAreNotNamed) {
  Config config;
  config.node_sets = {{.name = "gpu", .partition = true, .partition_config = "Nodes=gpu,some", .where = "gpu"}};
  config.extra_conf = "NodeSet=some Nodes=w-[0-1]\n";
  EXPECT_THAT(Settle(config, "").lines, AllOf(StartsWith("refused: "), HasSubstr("has w-0, which is no")));
  config.node_sets.clear();
  for (const char* lines :
       {"PartitionName=a Nodes=w-[0-1]\n", "NodeSet=some Nodes=w-[0-1]\nPartitionName=a Nodes=some\n",
        "NodeName=w-1\nPartitionName=a Nodes=w-[0-1]\n", "PartitionName=DEFAULT Nodes=w-0\n"}) {
    config.extra_conf = lines;
    EXPECT_THAT(Settle(config, "").lines, AllOf(StartsWith("refused: "), HasSubstr("has w-0, which is no"))) << lines;
  }
  for (const char* lines : {"NodeSet=some Nodes=w-[0-1]\nPartitionName=a Nodes=ALL\n",
                            "NodeSet=some Feature=x\nPartitionName=a Nodes=some,all\n",
                            "NodeName=w-[0-3]\nPartitionName=a Nodes=w-[0-1]\n"}) {
    config.extra_conf = lines;
    EXPECT_THAT(Settle(config, "").lines, Not(HasSubstr("refused"))) << lines;
  }
}

TEST(SettlePartitions, WhatIsInForceOrDefinedElsewhereIsTakenAndTold) {
  Config config;
  config.extra_conf = "PartitionName=a Nodes=w-[0-1] State=UP\n";
  for (const char* published : {"PartitionName=a Nodes=w-[0-1]\n", "PartitionName=b Nodes=w-0,w-1,w-2\n",
                                "NodeSet=some Nodes=w-[0-1]\nPartitionName=b Nodes=some\n"})
    EXPECT_THAT(Settle(config, published).doubts, ElementsAre(HasSubstr("has w-0, which is no NodeSet"))) << published;
  for (const char* published : {"PartitionName=a Nodes=w-1\n", "NodeName=w-[0-1]\nPartitionName=a Nodes=w-[0-1]\n",
                                "NodeSet=some Nodes=w-[0-1]\n", "PartitionName=a Nodes=w-[0-1]\nInclude nodes.conf\n"})
    EXPECT_THAT(Settle(config, published).lines, HasSubstr("refused"))
        << published << ": what defined them is gone, or nothing did";
  EXPECT_THAT(Settle(config, "", true).lines, Not(HasSubstr("refused"))) << "what slurmctld runs with is not known";
  config.extra_conf = "PartitionName=a Nodes=w-[0-1]\nInclude nodes.conf\n";
  EXPECT_THAT(Settle(config, "").lines, Not(HasSubstr("refused")));
}

// An older release let it through: other changes are not held back for it.
TEST(SettlePartitions, WhatIsWrongAlreadyIsTakenAndTold) {
  Config config;
  config.extra_conf = "MaxJobCount=0\n";
  EXPECT_THAT(Settle(config, "").lines, HasSubstr("refused: line 1 of spec.extraConf: MaxJobCount=0 must be"));
  EXPECT_THAT(Settle(config, "KillWait=5\nMaxJobCount=0\n").doubts, ElementsAre(HasSubstr("MaxJobCount=0 must be")));
  config.extra_conf = "MaxJobCount=0\nUsePAM=maybe\n";
  EXPECT_THAT(Settle(config, "MaxJobCount=0\n").lines, HasSubstr("refused: line 2 of spec.extraConf: UsePAM=maybe"));
}

// 14,000 partitions that name 100,000 nodes each, which nothing defines: as many names must not be written out.
TEST(SettlePartitions, NamesAreComparedAndNotWrittenOut) {
  std::string text;
  for (int i = 0; i < 14'000; ++i) text += "PartitionName=p" + std::to_string(i) + " Nodes=n[1-99999]\n";
  Config config;
  config.extra_conf = text;
  EXPECT_THAT(Settle(config, "").lines, HasSubstr("has n1, which is no"));
  EXPECT_THAT(Settle(config, text).lines, HasSubstr("has n10001, which is no"))
      << "of so many the first are taken for what is in force";
}

// --- On a Controller -------------------------------------------------------------------------------------------------

TEST_F(ControllerTest, APartitionOfOneNodeSetThatSlurmRefusesKeepsNoOtherFromSlurmConf) {
  HaveKeys();
  api::NodeSet gpu{.metadata = {.name = "gpu", .namespace_ = "slurm"}, .spec = {.controller_ref = {.name = "main"}}};
  gpu.spec.partition = api::NodeSetPartition{true, "State=UP"};
  world.Put(gpu);
  Applied(Look());
  gpu.spec.partition->config = "State=OPEN";
  world.Put(gpu);
  world.Put(
      api::NodeSet{.metadata = {.name = "new", .namespace_ = "slurm"}, .spec = {.controller_ref = {.name = "main"}}});
  const plan::Plan plan = Look();
  EXPECT_THAT(SlurmConf(plan),
              AllOf(HasSubstr("PartitionName=gpu Nodes=gpu State=UP\n"), HasSubstr("NodeSet=new Feature=new\n")));
  EXPECT_THAT(test::ConditionOf(plan, "Degraded"), HasSubstr("State=OPEN must be"));
}

// slurmctld would not start with both.
TEST_F(ControllerTest, APartitionThatMovesToAFileThatIsIncludedIsDefinedThere) {
  HaveKeys();
  controller.spec.extra_conf = "PartitionName=night Nodes=ALL";
  Applied(Look());
  controller.spec.config_file_refs = {{"files"}};
  controller.spec.extra_conf = "Include /etc/slurm/partitions.conf";
  ConfigMapDigest::Value files{.sha256 = "1", .keys = {"partitions.conf"}};
  files.included = {{"partitions.conf", {.partitions = {}, .files = {"more.conf"}}},
                    {"more.conf", {.partitions = {"night"}, .files = {"more.conf"}}}};
  world.Answer("configmap slurm/files", std::make_shared<const ConfigMapDigest::Value>(files));
  EXPECT_THAT(SlurmConf(Look()), AllOf(HasSubstr("Include /etc/slurm/partitions.conf"), Not(HasSubstr("night"))));
  controller.spec.extra_conf = "ReturnToService=2";
  EXPECT_THAT(SlurmConf(Look()), HasSubstr("PartitionName=night Nodes=ALL State=DRAIN")) << "no line includes the file";
}

TEST_F(ControllerTest, ANodeSetWithAReservedNameIsLeftOutAlone) {
  HaveKeys();
  for (const char* name : {"all", "default", "cpu"})
    world.Put(
        api::NodeSet{.metadata = {.name = name, .namespace_ = "slurm"}, .spec = {.controller_ref = {.name = "main"}}});
  const plan::Plan plan = Look();
  EXPECT_THAT(SlurmConf(plan),
              AllOf(HasSubstr("NodeSet=cpu "), Not(HasSubstr("NodeSet=all")), Not(HasSubstr("NodeSet=default"))));
  EXPECT_THAT(test::ConditionOf(plan, "Degraded"), HasSubstr("NodeSet all is left out of slurm.conf"));
}

// By another operator: there may be jobs in it.
TEST_F(ControllerTest, AReservedNameThatIsPublishedStaysAsItIs) {
  HaveKeys();
  auto published = json::Decode<ConfigMap>(test::BodyOf(Look(), "ConfigMap", "main-config"));
  ASSERT_TRUE(published);
  published->data.slurm_conf += "NodeSet=all Feature=all\nPartitionName=all Nodes=all State=UP\n";
  world.Put(*published);
  api::NodeSet set{.metadata = {.name = "all", .namespace_ = "slurm"}, .spec = {.controller_ref = {.name = "main"}}};
  world.Put(set);
  EXPECT_EQ(SlurmConf(Look()), "") << "nothing is written";
}

TEST_F(ControllerTest, MaxNodeCountDoesNotFallBelowTheNodesOfSlurm) {
  HaveKeys();
  world.Nodes("slurm/main", {{.name = "w-0"}, {.name = "w-1"}, {.name = "w-2"}});
  Applied(Look());
  controller.spec.extra_conf = "MaxNodeCount=2";
  EXPECT_EQ(SlurmConf(Look()), "");
  EXPECT_THAT(test::ConditionOf(Look(), "Degraded"),
              AllOf(HasSubstr("the configuration is not published: MaxNodeCount would fall from 1024 to 2"),
                    HasSubstr("it has 3: keep MaxNodeCount=1024")));
  for (const char* enough : {"MaxNodeCount=3", "MaxNodeCount=2k", "MaxNodeCount=0x3"}) {
    controller.spec.extra_conf = enough;
    EXPECT_THAT(SlurmConf(Look()), HasSubstr(std::string("\n") + enough + "\n"));
  }
  controller.spec.extra_conf = "MaxNodeCount=2\nnonsense";
  EXPECT_THAT(test::ConditionOf(Look(), "Degraded"), HasSubstr("spec.extraConf: line 2"));
  controller.spec.extra_conf = "MaxNodeCount=2k";
  Applied(Look());
  world.Nodes("slurm/main", std::vector<slurm::Node>(1025));
  controller.spec.extra_conf = "";
  EXPECT_THAT(test::ConditionOf(Look(), "Degraded"), HasSubstr("would fall from 2k to 1024"));
}

TEST_F(ControllerTest, WhileSlurmDoesNotSayWhichNodesItHasMaxNodeCountIsNotLowered) {
  HaveKeys();
  Applied(Look());
  controller.spec.extra_conf = "MaxNodeCount=2";
  EXPECT_EQ(SlurmConf(Look()), "");
  EXPECT_THAT(test::ConditionOf(Look(), "Degraded"), HasSubstr("Slurm does not say how many nodes it has"));
  controller.spec.extra_conf = "MaxNodeCount=2000";
  EXPECT_THAT(SlurmConf(Look()), HasSubstr("\nMaxNodeCount=2000\n"));
}

}  // namespace
}  // namespace capstan::op::controller
