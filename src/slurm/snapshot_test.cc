#include "slurm/snapshot.h"

#include <gtest/gtest.h>

namespace capstan::slurm {
namespace {

std::shared_ptr<const std::vector<Node>> Nodes(std::vector<std::pair<std::string, std::string>> named) {
  auto nodes = std::make_shared<std::vector<Node>>();
  for (auto& [name, reason] : named) {
    Node& node = nodes->emplace_back();
    node.name = name;
    node.reason = reason;
  }
  return nodes;
}

TEST(ChangedNodes, NamesWhatWasAddedRemovedOrChanged) {
  Snapshot before, after;
  before.nodes = Nodes({{"a", ""}, {"b", ""}, {"c", ""}});
  after.nodes = Nodes({{"b", ""}, {"c", "x"}, {"d", ""}});
  EXPECT_EQ(ChangedNodes(&before, &after), (std::vector<std::string>{"a", "c", "d"}));
  EXPECT_EQ(ChangedNodes(nullptr, &after), (std::vector<std::string>{"b", "c", "d"}));
  EXPECT_EQ(ChangedNodes(&before, nullptr), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(ChangedNodes(&before, &before).empty());
  EXPECT_TRUE(ChangedNodes(nullptr, nullptr).empty());
}

TEST(Snapshot, FindsNodesByName) {
  Snapshot snapshot;
  snapshot.nodes = Nodes({{"a", "1"}, {"b", "2"}});
  ASSERT_NE(snapshot.FindNode("b"), nullptr);
  EXPECT_EQ(snapshot.FindNode("b")->reason, "2");
  EXPECT_EQ(snapshot.FindNode("aa"), nullptr);
  EXPECT_EQ(snapshot.FindNode("c"), nullptr);
}

TEST(Incarnation, AbsenceIsUnknownUntilEveryNodeHadTimeToComeBack) {
  const Incarnation incarnation{.id = "x", .up_since = Tick(100s), .slurmd_timeout = 300s};
  EXPECT_FALSE(incarnation.AbsenceIsKnown(Tick(459s)));
  EXPECT_TRUE(incarnation.AbsenceIsKnown(Tick(460s)));
}

}  // namespace
}  // namespace capstan::slurm
