#include "slurm/external_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::slurm {
namespace {

using ::testing::HasSubstr;

TEST(ExternalNode, IsOneLineOfSlurmConf) {
  EXPECT_EQ(*LineOf({.name = "k3", .cpus = 4, .memory_mib = 2000}),
            "NodeName=k3 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 CPUs=4 RealMemory=2000 State=External");
  const ExternalNode all{.name = "k3",
                         .cpus = 2,
                         .memory_mib = 10,
                         .gres = {{"gpu", 2}, {"nic", 1}},
                         .features = {"a", "b"},
                         .topology = "topo-switch:s2,topo-block:b2",
                         .address = "10.0.0.7"};
  EXPECT_THAT(*LineOf(all),
              HasSubstr(" State=External NodeAddr=10.0.0.7 Feature=a,b Topology=topo-switch:s2,topo-block:b2 "
                        "Gres=\"gpu:2,nic:1\" GresConf=\"count=2,name=gpu+count=1,name=nic\""));
}

TEST(ExternalNode, NothingOfAUsersTextBecomesAnotherWordOfTheLine) {
  const std::vector<ExternalNode> refused = {
      {.name = "k3 Gres=gpu:8"},
      {.name = ""},
      {.name = "k[1-9]"},
      {.name = "k3", .features = {"a b"}},
      {.name = "k3", .features = {"a,b"}},
      {.name = "k3", .features = {""}},
      {.name = "k3", .features = {"a\nNodeName=x"}},
      {.name = "k3", .topology = "s2 State=Cloud"},
      {.name = "k3", .topology = "a,,b"},
      {.name = "k3", .topology = "\"a"},
      {.name = "k3", .gres = {{"gpu\" x=\"", 1}}},
      {.name = "k3", .address = "10.0.0.7 Gres=gpu:8"},
      {.name = "k3", .cpus = 0},
      {.name = "k3", .memory_mib = 0},
  };
  for (const ExternalNode& node : refused) {
    const auto line = LineOf(node);
    ASSERT_FALSE(line) << *line;
    EXPECT_EQ(line.error().code(), Code::kInvalid);
    EXPECT_FALSE(line.error().message().contains('\n'));
  }
}

}  // namespace
}  // namespace capstan::slurm
