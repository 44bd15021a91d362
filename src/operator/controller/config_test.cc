#include "operator/controller/config.h"

#include <gtest/gtest.h>

#include "operator/testing/golden.h"

namespace capstan::op::controller {
namespace {

using test::ExpectGolden;

Config Plain() {
  Config config;
  config.ns = "slurm";
  config.controller = "main";
  config.cluster_name = "slurm_main";
  return config;
}

Config Everything() {
  Config config = Plain();
  config.cluster_name = "hpc";
  config.replicas = 2;
  config.jwks = true;
  config.metrics = true;
  config.accounting = ConfigAccounting{"db-accounting", 6819};
  config.prolog_slurmctld = {"20-b.sh", "10-a.sh", "10-a.sh"};
  config.epilog_slurmctld = {"end.sh"};
  config.prolog = {"prolog.sh"};
  config.epilog = {"epilog.sh"};
  config.node_sets = {{"gpu", true, "State=UP Default=YES", "main-gpu"},
                      {"cpu", true, "", "main-cpu"},
                      {"spare", false, "", "main-spare"}};
  config.extra_conf =
      "# mine\nReturnToService=2\nSlurmctldParameters=idle_on_node_suspend\nAuthAltParameters=jwks=/Mine\n";
  return config;
}

TEST(SlurmConf, DefaultIsPinned) { ExpectGolden("controller", "slurm.conf", SlurmConf(Plain()).value()); }

TEST(SlurmConf, EverythingIsPinned) {
  ExpectGolden("controller", "slurm-everything.conf", SlurmConf(Everything()).value());
}

TEST(SlurmConf, ExternalIsPinned) {
  ExpectGolden("controller", "slurm-external.conf", ExternalSlurmConf(Plain(), "head.example.com", 7000).value());
}

TEST(SlurmConf, CgroupIsPinned) { EXPECT_EQ(CgroupConf(), "CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n"); }

TEST(SlurmConf, DefaultsOfPartitionsAreNoPartition) {
  Config config = Plain();
  config.extra_conf = "PartitionName=DEFAULT MaxTime=60\nPartitionName=a Nodes=ALL\nPartitionName=default State=UP\n";
  EXPECT_TRUE(SlurmConf(config));
}

TEST(SlurmConf, EqualInputsGiveEqualBytes) { EXPECT_EQ(SlurmConf(Everything()), SlurmConf(Everything())); }

// pam_slurm_adopt let nobody in: without the flag a job has no container that a session could be put into.
TEST(SlurmConf, WorkersWithSshHaveContainersOfJobs) {
  Config config = Plain();
  EXPECT_FALSE(SlurmConf(config)->contains("PrologFlags"));
  config.ssh = true;
  EXPECT_TRUE(SlurmConf(config)->contains("\nPrologFlags=contain\n"));
  config.extra_conf = "PrologFlags=Alloc,X11\n";
  EXPECT_TRUE(SlurmConf(config)->ends_with("### MERGED CONFIG ###\nPrologFlags=Alloc,X11,contain\n"));
  config.extra_conf = "prologflags=Contain\n";
  EXPECT_TRUE(SlurmConf(config)->ends_with("### MERGED CONFIG ###\nPrologFlags=contain\n"));
}

struct Refusal {
  const char* what;
  void (*change)(Config&);
  const char* says;
};

class SlurmConfRefuses : public ::testing::TestWithParam<Refusal> {};

TEST_P(SlurmConfRefuses, WithOneSentence) {
  Config config = Plain();
  GetParam().change(config);
  const auto text = SlurmConf(config);
  ASSERT_FALSE(text.has_value()) << *text;
  EXPECT_EQ(text.error().code(), Code::kInvalid);
  EXPECT_NE(text.error().message().find(GetParam().says), std::string::npos) << text.error().message();
}

TEST(SlurmConf, EnforcementIsTakenWithAnAccountingOfOursOrTheUsers) {
  Config config = Plain();
  config.extra_conf = "AccountingStorageEnforce=limits\nAccountingStorageType=accounting_storage/slurmdbd\n";
  EXPECT_TRUE(SlurmConf(config));
  config.extra_conf = "AccountingStorageEnforce=limits\nAccountingStorageEnforce=none\n";
  EXPECT_TRUE(SlurmConf(config));
  config.extra_conf = "AccountingStorageEnforce=limits\n";
  config.accounting = ConfigAccounting{"db-accounting", 6819};
  EXPECT_TRUE(SlurmConf(config));
}

INSTANTIATE_TEST_SUITE_P(
    All, SlurmConfRefuses,
    ::testing::Values(Refusal{"LineWithoutEquals", [](Config& c) { c.extra_conf = "ReturnToService=2\nnonsense\n"; },
                              "spec.extraConf: line 2"},
                      Refusal{"SwallowingEnd", [](Config& c) { c.extra_conf = "ReturnToService=2\\"; },
                              "spec.extraConf"},
                      Refusal{"ControlCharacter", [](Config& c) { c.extra_conf = "A=b\x01"; }, "control character"},
                      Refusal{"ClusterNameWithLineBreak",
                              [](Config& c) { c.cluster_name = "a\nStateSaveLocation=/tmp"; }, "line break"},
                      Refusal{"PartitionWithLineBreak",
                              [](Config& c) { c.node_sets = {{"gpu", true, "State=UP\nDefault=YES", "main-gpu"}}; },
                              "NodeSet main-gpu"},
                      Refusal{"TwoPartitionsOfOneName",
                              [](Config& c) {
                                c.node_sets = {{"gpu", true, "", "main-gpu"}};
                                c.extra_conf = "# more\nPartitionName=GPU Nodes=ALL\nPartitionName=gpu Nodes=ALL\n";
                              },
                              "partition gpu is defined twice, by NodeSet main-gpu and by line 3 of spec.extraConf"},
                      Refusal{"TwoPartitionsOfOneNameInExtraConf",
                              [](Config& c) { c.extra_conf = "PartitionName=x Nodes=ALL\npartitionname=x Nodes=n\n"; },
                              "partition x is defined twice, by line 1 of spec.extraConf and by line 2"},
                      Refusal{"QosWithoutAccounting",
                              [](Config& c) { c.extra_conf = "\nPartitionName=x Nodes=ALL AllowQos=all qos=high\n"; },
                              "qos=high in line 2 of spec.extraConf needs accounting"},
                      Refusal{"EnforcementWithoutAccounting",
                              [](Config& c) { c.extra_conf = "accountingstorageenforce=associations,limits\n"; },
                              "AccountingStorageEnforce=associations,limits of spec.extraConf needs accounting"},
                      Refusal{"PartitionWord", [](Config& c) { c.node_sets = {{"gpu", true, "UP", "main-gpu"}}; },
                              "NodeSet main-gpu"}),
    [](const auto& info) { return info.param.what; });

}  // namespace
}  // namespace capstan::op::controller
