#include "slurm/named_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::slurm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NamedNodes, AreThoseOfSwitchesBlocksAndPartitions) {
  EXPECT_THAT(NamedNodes("topology.conf",
                         "# a tree\nSwitchName=leaf1 Nodes=w-[0-1] LinkSpeed=1\nSwitchName=spine Switches=leaf1\n"
                         "blockname=b1 nodes=n1,n2\n"),
              ElementsAre("w-[0-1]", "n1,n2"));
  EXPECT_THAT(NamedNodes("slurm.conf",
                         "NodeSet=s Nodes=w-9\nNodeName=x Feature=f\nPartitionName=all Nodes=ALL\n"
                         "PartitionName=some State=UP Nodes=w-[0-3],s\nPartitionName=sets Nodes=s,all\n"
                         "PartitionName=none Nodes=\"\"\n"),
              ElementsAre("w-[0-3],s"));
  EXPECT_THAT(NamedNodes("partitions.conf", "PartitionName=p Nodes=w-1"), ElementsAre("w-1"));
}

TEST(NamedNodes, OfTopologyYamlAreThoseOfNodes) {
  EXPECT_THAT(NamedNodes("topology.yaml",
                         "- topology: t\n  tree:\n    switches:\n      - switch: s1\n        nodes: w-[0-1] # two\n"
                         "      - {switch: s2, nodes: \"w-[2,3]\"}\n      - {nodes: w-4, switch: s3}\n      - {switch: "
                         "s4, nodes: w-5}\n      # nodes: w-9\n"
                         "      - switch: nodes\n        children: s[1-2]\n- block: {\"nodes\": 'b-1', my_nodes: x}\n"),
              ElementsAre("w-[0-1]", "w-[2,3]", "w-4", "w-5", "b-1"));
}

TEST(NamedNodes, AreNoneInWhatCannotBeReadOrIsNoConfiguration) {
  EXPECT_THAT(NamedNodes("topology.conf", "SwitchName=\"s Nodes=w-0"), IsEmpty());
  EXPECT_THAT(NamedNodes("prolog.sh", "PartitionName=p Nodes=w-1"), IsEmpty());
  EXPECT_THAT(NamedNodes("topology.yaml", "nodes:\n"), IsEmpty());
}

}  // namespace
}  // namespace capstan::slurm
