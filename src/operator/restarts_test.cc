#include "operator/restarts.h"

#include <gtest/gtest.h>

#include "operator/names.h"

namespace capstan::op {
namespace {

const std::string kConf = "ClusterName=c\nAuthType=auth/slurm\nReturnToService=1\nPartitionName=p Nodes=p\n";

TEST(Restarts, OnlySomeOptionsNeedOne) {
  const std::string before = SlurmctldOptions(kConf);
  EXPECT_EQ(SlurmctldOptions("# x\nPartitionName=q Nodes=q\nAUTHTYPE=auth/slurm\nclustername=c\nSelectType=x\n"),
            before);
  EXPECT_NE(SlurmctldOptions(kConf + "SlurmctldPort=7000\n"), before);
  EXPECT_NE(SlurmctldOptions(kConf + "AuthType=auth/munge\n"), before);
  for (const RestartOption& option : RestartOptions())
    EXPECT_NE(SlurmctldOptions(kConf + std::string(option.key) + "=new\n"), before) << option.key;
}

// Each NodeSet that came or went started slurmrestd anew.
TEST(Restarts, SlurmrestdDoesNotReadPartitions) {
  const std::string before = SlurmrestdOptions(kConf);
  EXPECT_EQ(SlurmrestdOptions(kConf + "NodeSet=q Feature=q\nPartitionName=q Nodes=q\n"), before);
  EXPECT_NE(SlurmrestdOptions(kConf + "MessageTimeout=20\n"), before);
}

TEST(Restarts, WhatIsThereStaysAsLongAsItsOptionsDo) {
  PodTemplateMeta pods{.annotations = {{std::string(kHashSlurmConfig), "a former one"}}};
  json::ObjectMeta object{.annotations = {{std::string(kAnnotationRestartOptions), "o"}}};
  EXPECT_EQ(HashFor("o", nullptr, nullptr, "").pods, "o");
  EXPECT_EQ(HashFor("o", &object, &pods, "").pods, "a former one");
  EXPECT_FALSE(HashFor("o", &object, &pods, "").changed);
  EXPECT_EQ(HashFor("other", &object, &pods, "other").pods, "other");
  EXPECT_TRUE(HashFor("other", &object, &pods, "other").changed);
}

// Changing to this release would have started every slurmctld anew.
TEST(Restarts, OneThatRemembersNothingHasWhatWasPublishedLast) {
  const PodTemplateMeta pods;
  const json::ObjectMeta object;
  EXPECT_EQ(HashFor("o", &object, &pods, "o").pods, "");
  EXPECT_FALSE(HashFor("o", &object, &pods, "o").changed);
  EXPECT_TRUE(HashFor("o", &object, &pods, "p").changed);
}

}  // namespace
}  // namespace capstan::op
