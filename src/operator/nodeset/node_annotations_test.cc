#include "operator/nodeset/decide_test.h"
#include "operator/topology.h"

namespace capstan::op::nodeset {
namespace {

using slurm::NodeFlag;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kDescribe = "describe Slurm node slurm/main/w-0";
constexpr const char* kPlace = "place Pod slurm/w-0";

// Worker w-0 on Kubernetes node k0, with these annotations.
class AnnotatedNodes : public NodeSetTest {
 protected:
  AnnotatedNodes() { Worker_(0, {NodeFlag::kIdle}); }

  void Annotate(std::map<std::string, std::string> annotations) {
    Put(Node{.metadata = {.name = "k0", .uid = "k0", .annotations = std::move(annotations)}, .spec = {}});
  }
  void ExpectUpdate(const plan::Plan& plan, slurm::NodeUpdate update) {
    update.names = {"w-0"};
    ASSERT_THAT(Acts(plan), ::testing::Contains(kDescribe));
    EXPECT_EQ(plan.actions.back().effect->content(),
              plan::UpdateNode("describe", "slurm/main", std::move(update))->content());
  }
};

TEST_F(AnnotatedNodes, TheTopologyGoesToThePodAndToSlurm) {
  Annotate({{"topology.slinky.slurm.net/spec", "tree:s2"}});
  plan::Plan plan = Look(1);
  EXPECT_THAT(Acts(plan), ElementsAre(kPlace, kDescribe));
  ExpectUpdate(plan, {.topology = "tree:s2"});
  Pod pod = MakePod(0);
  pod.metadata.annotations["topology.slinky.slurm.net/spec"] = "tree:s2";
  Put(pod);
  nodes[0].topology = "tree:s2";
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  Annotate({{"topology.slinky.slurm.net/spec", "tree:s3"}});
  ExpectUpdate(Look(1), {.topology = "tree:s3"});
  Annotate({});
  EXPECT_THAT(Acts(Look(1)), IsEmpty()) << "what Slurm knows stays";
}

TEST_F(AnnotatedNodes, ATopologyOfExtraConfComesFirst) {
  Annotate({{"topology.slinky.slurm.net/spec", "tree:s2"}});
  set.spec.extra_conf = "Weight=2 topology=tree:s1";
  Put(MakePod(0));
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
}

TEST_F(AnnotatedNodes, FeaturesReplaceThoseThatCameFromTheNodeBefore) {
  nodes[0].features = {"w", "k8s/old", "gpu"};
  nodes[0].active_features = {"w", "gpu"};
  Annotate({{"features.slinky.slurm.net/spec", " nvme, rack7,,nvme"}});
  ExpectUpdate(Look(1), {.features = {{"gpu", "k8s/nvme", "k8s/rack7", "w"}},
                         .active_features = {{"gpu", "k8s/nvme", "k8s/rack7", "w"}}});
  nodes[0].features = nodes[0].active_features = {"w", "k8s/rack7", "k8s/nvme", "gpu"};
  EXPECT_THAT(Acts(Look(1)), IsEmpty()) << "in whatever order Slurm says them";
  Annotate({});
  ExpectUpdate(Look(1), {.features = {{"gpu", "w"}}, .active_features = {{"gpu", "w"}}});
}

TEST_F(AnnotatedNodes, WhatIsNoNameIsNotPassedOnAndNamed) {
  nodes[0].features = nodes[0].active_features = {"k8s/ok", "w"};
  Annotate({{"features.slinky.slurm.net/spec", "ok,a b"}, {"topology.slinky.slurm.net/spec", "tree:s1' Weight=2"}});
  plan::Plan plan = Look(1);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_THAT(
      ConditionOf(plan, "Degraded").message,
      HasSubstr("w-0 has Kubernetes node k0, whose annotation topology.slinky.slurm.net/spec is not passed on"));
  Annotate({{"features.slinky.slurm.net/spec", "ok,a b"}});
  EXPECT_THAT(ConditionOf(Look(1), "Degraded").message, HasSubstr("names \"a b\", which is no name of a feature"));
}

class LabelledNodes : public AnnotatedNodes {
 protected:
  void Label(std::map<std::string, std::string> labels, std::map<std::string, std::string> annotations = {}) {
    Put(Node{
        .metadata = {.name = "k0", .uid = "k0", .labels = std::move(labels), .annotations = std::move(annotations)},
        .spec = {}});
  }
  // The Controller names labels, and has published the tree for them; `tree`: "" while it has not.
  void AskFor(const std::string& labels, const std::string& tree = TopologyOfOneSwitch()) {
    api::Controller controller{.metadata = {.name = "main", .namespace_ = "slurm", .uid = "c-uid"}};
    controller.metadata.annotations[std::string(kAnnotationTopologyLabels)] = labels;
    Put(std::move(controller));
    Put(ConfigMap{.metadata = {.name = "main-config", .namespace_ = "slurm", .uid = "config-uid"},
                  .data = {.slurm_conf = "ClusterName=main", .cgroup_conf = "", .topology_yaml = tree}});
  }
  // The worker stands there, by labels.
  void StandsAt(const std::string& place) {
    Pod pod = MakePod(0);
    if (!place.empty()) pod.metadata.annotations[std::string(kAnnotationTopology)] = place;
    Put(std::move(pod));
    nodes[0].topology = place;
  }
  std::string Degraded() { return ConditionOf(Look(1), "Degraded").message; }
};

TEST_F(LabelledNodes, TheControllerSaysWhichLabelsTellWhereAWorkerStands) {
  Label({{"dc/spine", "s1"}, {"dc/leaf", "l7"}});
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  AskFor(" dc/spine, dc/leaf ");
  const plan::Plan plan = Look(1);
  EXPECT_THAT(Acts(plan), ElementsAre(kPlace, kDescribe));
  ExpectUpdate(plan, {.topology = "default:root/:s1/:s1/l7"});
  StandsAt("default:root/:s1/:s1/l7");
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  Label({{"dc/spine", "s1"}, {"dc/leaf", "l8"}});
  ExpectUpdate(Look(1), {.topology = "default:root/:s1/:s1/l8"});
}

// A slurmd that named a place which slurmctld does not know would be taken out of service.
TEST_F(LabelledNodes, WithoutATreeThatIsPublishedNobodyIsPlaced) {
  Label({{"dc/spine", "s1"}});
  AskFor("dc/spine", "");
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
}

TEST_F(LabelledNodes, TheNodesAnnotationAndExtraConfComeFirst) {
  AskFor("dc/spine");
  Label({{"dc/spine", "s1"}}, {{std::string(kAnnotationTopology), "default:root/:far"}});
  ExpectUpdate(Look(1), {.topology = "default:root/:far"});
  set.spec.extra_conf = "Topology=default:root/:near";
  Put(MakePod(0));
  Label({});
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  EXPECT_THAT(Degraded(), Not(HasSubstr("dc/spine"))) << "the label is not needed";
}

// slurmctld would not start with the tree while a record named another topology.
TEST_F(LabelledNodes, AnAnnotationOutsideOfTheTreeGivesWayToTheLabelsAndIsTold) {
  AskFor("dc/spine");
  Label({{"dc/spine", "s1"}}, {{std::string(kAnnotationTopology), "tree:s2"}});
  ExpectUpdate(Look(1), {.topology = "default:root/:s1"});
  EXPECT_THAT(Degraded(), HasSubstr("is not passed on: \"tree:s2\" is not in the tree by labels"));
}

TEST_F(LabelledNodes, ANodeWithoutALabelStandsAtAnUnknownPlaceAndIsTold) {
  AskFor("dc/spine,dc/leaf");
  Label({{"dc/spine", "s1"}});
  const plan::Plan plan = Look(1);
  ExpectUpdate(plan, {.topology = "default:root/:unknown"});
  EXPECT_THAT(ConditionOf(plan, "Degraded").message,
              HasSubstr("has Kubernetes node k0, which has no label dc/leaf (annotation capstan.dev/topology"));
}

TEST_F(LabelledNodes, ANodeWithJobsIsMovedToo) {
  AskFor("dc/spine");
  Label({{"dc/spine", "s1"}});
  nodes[0] = MakeNode(0, {NodeFlag::kAllocated});
  EXPECT_THAT(Acts(Look(1)), ElementsAre(kPlace, kDescribe));
}

// In a tree, a node without a place would get no job of several nodes.
TEST_F(LabelledNodes, WhereTheLabelsCannotBeReadWorkersStayAndNewOnesStandAtAnUnknownPlace) {
  AskFor("dc/spine dc/leaf");
  Label({{"dc/spine", "s1"}});
  ExpectUpdate(Look(1), {.topology = "default:root/:unknown"});
  StandsAt("default:root/:s1");
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
}

TEST_F(LabelledNodes, WithoutTheTreeThePodForgetsItsPlaceAndSlurmKeepsIt) {
  AskFor("", "");
  Label({{"dc/spine", "s1"}});
  StandsAt("default:root/:s1");
  EXPECT_THAT(Acts(Look(1)), ElementsAre(kPlace));
  Put(MakePod(0));
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
}

}  // namespace
}  // namespace capstan::op::nodeset
