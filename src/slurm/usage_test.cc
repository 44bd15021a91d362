#include "slurm/usage.h"

#include <gtest/gtest.h>

#include <limits>

#include "slurm/usage_wire.h"

namespace capstan::slurm {
namespace {

TEST(TresTest, ReadsWhatSlurmWrites) {
  const Tres tres = Tres::Parse("cpu=8,mem=1.50G,node=2,billing=8,gres/gpu=4,gres/gpu:a100=4");
  EXPECT_EQ(tres.cpus, 8);
  EXPECT_EQ(tres.memory_mib, 1536);
  EXPECT_EQ(tres.nodes, 2);
  EXPECT_EQ(tres.gres.at("gpu"), 4);
  EXPECT_EQ(tres.gres.at("gpu:a100"), 4);
  EXPECT_EQ(Tres::Parse("mem=2048").memory_mib, 2048);
  EXPECT_EQ(Tres::Parse("mem=512K").memory_mib, 0);
  EXPECT_EQ(Tres::Parse("mem=2T").memory_mib, 2 << 20);
  const Tres most = Tres::Parse("cpu=9223372036854775807,mem=8000P,gres/gpu=9223372036854775807");
  EXPECT_EQ(most.cpus, int64_t{1} << 40) << "sums of such fit";
  EXPECT_EQ(most.memory_mib, int64_t{1} << 40);
  EXPECT_EQ(most.gres.begin()->second, int64_t{1} << 40);
}

TEST(NodeUsageTest, AmountsAreSuchThatSumsOfThemFit) {
  wire::NodeUsageRecord record;
  record.cpus = record.real_memory = record.alloc_memory = std::numeric_limits<int64_t>::max();
  record.alloc_idle_cpus = -1;
  const NodeUsage usage = std::move(record).ToUsage();
  for (const int64_t amount : {usage.cpus, usage.memory_mib, usage.alloc_memory_mib})
    EXPECT_EQ(amount, int64_t{1} << 40);
  EXPECT_EQ(usage.idle_cpus, 0);
}

TEST(TresTest, WhatMakesNoSenseCountsAsNothing) {
  for (const char* text :
       {"", ",", "cpu", "cpu=", "cpu=-4", "cpu=x", "mem=", "mem=G", "mem=-1G", "mem=1e300T", "mem=nanG"}) {
    EXPECT_EQ(Tres::Parse(text).cpus, 0) << text;
    EXPECT_EQ(Tres::Parse(text).memory_mib, 0) << text;
  }
}

TEST(ArrayTasks, AreCountedAsSlurmWritesThem) {
  EXPECT_EQ(wire::TasksOf("0-99"), 100);
  EXPECT_EQ(wire::TasksOf("0-99:2"), 50);
  EXPECT_EQ(wire::TasksOf("1,3,5-7%2"), 5);
  EXPECT_EQ(wire::TasksOf("5"), 1);
  EXPECT_EQ(wire::TasksOf("0-9,11,..."), 11) << "Slurm cuts long ones";
  for (const char* text : {"", "x", "9-0", "-", "0-9:0", "0-99999999999"}) EXPECT_EQ(wire::TasksOf(text), 1) << text;
}

}  // namespace
}  // namespace capstan::slurm
