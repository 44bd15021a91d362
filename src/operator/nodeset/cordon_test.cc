#include "operator/nodeset/decide_test.h"

namespace capstan::op::nodeset {
namespace {

using slurm::NodeFlag;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Cordoned : public NodeSetTest {
 protected:
  void Cordon(const std::string& name, const std::string& why = "") {
    CordonedNode node{.metadata = {.name = name, .uid = name}};
    if (!why.empty()) node.metadata.annotations[std::string(kAnnotationNodeCordonReason)] = why;
    Put(node);
  }
  // The reason of the update of that Slurm node; the texts are compared by the content of the actions.
  void ExpectDrainFor(const plan::Plan& plan, const std::string& reason) {
    ASSERT_THAT(Acts(plan), ElementsAre("drain Slurm node slurm/main/w-1"));
    const auto wanted = plan::UpdateNode("drain", "slurm/main",
                                         {.names = {"w-1"}, .action = slurm::NodeAction::kDrain, .reason = reason});
    EXPECT_EQ(plan.actions[0].effect->content(), wanted->content());
    EXPECT_EQ(plan.actions[0].guards.size(), 1u) << "somebody may have drained it since";
  }
};

TEST_F(Cordoned, AWorkerOnACordonedNodeIsDrainedAndSaysWhy) {
  Worker_(0, {NodeFlag::kIdle});
  Worker_(1, {NodeFlag::kIdle});
  Cordon("k1");
  const plan::Plan plan = Look(2);
  ExpectDrainFor(plan, "slurm-operator: Node (k1) was cordoned, Pod (slurm/w-1) must be cordoned");
  EXPECT_THAT(ConditionOf(plan, "Degraded").message, HasSubstr("Node (k1) was cordoned"));
}

TEST_F(Cordoned, TheReasonIsWhatThePersonSaysOnTheNode) {
  Worker_(1, {NodeFlag::kIdle});
  Cordon("k1", "  new\tdisk\x1b ");
  ExpectDrainFor(Look(1), "slurm-operator: Node (k1) was cordoned: new disk");
  nodes = {MakeNode(1, {NodeFlag::kIdle, NodeFlag::kDrain}, "slurm-operator: Node (k1) was cordoned: new disk")};
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  Cordon("k1", "old disk");
  ExpectDrainFor(Look(1), "slurm-operator: Node (k1) was cordoned: old disk");
}

TEST_F(Cordoned, ALongReasonIsCutBetweenCharacters) {
  Worker_(1, {NodeFlag::kIdle});
  std::string why(255, 'x');
  Cordon("k1", why + "\u00e9 and more");
  ExpectDrainFor(Look(1), "slurm-operator: Node (k1) was cordoned: " + why);
}

TEST_F(Cordoned, APodThatAPersonCordonsIsDrained) {
  Worker_(1, {NodeFlag::kIdle});
  Pod pod = MakePod(1);
  pod.metadata.annotations[std::string(kAnnotationPodCordon)] = "true";
  Put(pod);
  ExpectDrainFor(Look(1), "slurm-operator: Pod (slurm/w-1) was cordoned");
}

TEST_F(Cordoned, ADrainForACordonIsLiftedWithIt) {
  for (const char* reason : {"slurm-operator: Node (k1) was cordoned, Pod (slurm/w-1) must be cordoned",
                             "slurm-operator: Pod (slurm/w-1) was cordoned"}) {
    Put(MakePod(1));
    nodes = {MakeNode(1, {NodeFlag::kIdle, NodeFlag::kDrain}, reason)};
    EXPECT_THAT(Acts(Look(1)), ElementsAre("undrain Slurm node slurm/main/w-1")) << reason;
  }
}

TEST_F(Cordoned, WhatSomebodyElseTookOutOfServiceStaysTheirs) {
  Cordon("k1");
  Put(MakePod(1));
  for (const auto& [flag, reason] : {std::pair(NodeFlag::kDrain, "bad disk"), std::pair(NodeFlag::kDown, "bad disk"),
                                     std::pair(NodeFlag::kDown, "slurm-operator: Pod is terminating")}) {
    nodes = {MakeNode(1, {flag}, reason)};
    EXPECT_THAT(Acts(Look(1)), IsEmpty()) << reason;
  }
}

TEST_F(Cordoned, AWorkerOnACordonedNodeGoesFirst) {
  for (int i : {0, 1, 2}) Worker_(i, {NodeFlag::kIdle});
  Cordon("k0");
  EXPECT_THAT(Acts(Look(2)), ElementsAre("cordon Pod slurm/w-0", "drain Slurm node slurm/main/w-0"));
}

}  // namespace
}  // namespace capstan::op::nodeset
