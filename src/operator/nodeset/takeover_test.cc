#include "operator/nodeset/decide_test.h"

namespace capstan::op::nodeset {
namespace {

using slurm::NodeFlag;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A worker as the Slinky projects' operator leaves it, written by nobody else unless a test says so.
class TakenOver : public NodeSetTest {
 protected:
  Pod FormersPod(int ordinal) {
    Pod pod = MakePod(ordinal);
    pod.metadata.managed_fields = {{.manager = "manager", .operation = "Update"},
                                   {.manager = "kubelet", .operation = "Update", .subresource = "status"}};
    return pod;
  }
  static Pod Cordoned(Pod pod) {
    pod.metadata.annotations[std::string(kAnnotationPodCordon)] = "true";
    return pod;
  }
  static api::NodeSetStatus StatusIn(const plan::Plan& plan) { return *json::Decode<api::NodeSetStatus>(*plan.status); }
};

// Only drains in our own words were lifted: a node that the former operator had drained for a cordon, in the words of an
// annotation or of conditions of the node, stayed drained for ever.
TEST_F(TakenOver, ItsDrainsForCordonsAreLifted) {
  for (const char* reason : {"slurm-operator: new disk", "slurm-operator: unknown",
                             "slurm-operator: (DiskFailing: sda is slow); (Maintenance: rack 7)",
                             "slurm-operator: Node (k1) was cordoned, Pod (slurm/w-1) must be cordoned"}) {
    Put(FormersPod(1));
    nodes = {MakeNode(1, {NodeFlag::kIdle, NodeFlag::kDrain}, reason)};
    EXPECT_THAT(Acts(Look(1)), ElementsAre("undrain Slurm node slurm/main/w-1")) << reason;
  }
  nodes = {MakeNode(1, {NodeFlag::kIdle, NodeFlag::kDrain}, "slurm-operators: new disk")};
  EXPECT_THAT(Acts(Look(1)), IsEmpty()) << "somebody else's";
}

// The former operator writes pod-cordon for each of its own drains; taken for a person's wish, it kept the worker out.
TEST_F(TakenOver, ItsPodCordonIsNobodysWish) {
  Put(Cordoned(FormersPod(1)));
  nodes = {MakeNode(1, {NodeFlag::kIdle, NodeFlag::kDrain}, "slurm-operator: new disk")};
  EXPECT_THAT(Acts(Look(1)), ElementsAre("clear cordon Pod slurm/w-1", "undrain Slurm node slurm/main/w-1"));

  Pod pod = Cordoned(FormersPod(1));
  pod.metadata.managed_fields.push_back({.manager = "kubectl-annotate", .operation = "Update"});
  Put(pod);
  nodes = {MakeNode(1, {NodeFlag::kIdle, NodeFlag::kDrain}, "slurm-operator: Pod (slurm/w-1) was cordoned")};
  EXPECT_THAT(Acts(Look(1)), ElementsAre("unprotect Pod slurm/w-1")) << "a person's: it stays out of service";
}

TEST_F(TakenOver, ItsPodConditionsAreKeptUp) {
  Pod pod = FormersPod(0);
  pod.status.conditions.push_back({.type = "SlurmNodeStateIdle", .status = "True"});
  Put(pod);
  nodes = {MakeNode(0, {NodeFlag::kIdle})};
  Look(1);
  EXPECT_THAT(told, IsEmpty());
  nodes = {MakeNode(0, {NodeFlag::kAllocated})};
  Look(1);
  EXPECT_THAT(told, ElementsAre("Pod slurm/w-0/status"));
}

// Every worker counted as outdated on the day of the switch, as the hash is computed in another way.
TEST_F(TakenOver, ItsRevisionIsThatOfTheSpecItSpokeOf) {
  set.metadata.generation = set.status.observed_generation = 7;
  set.status.node_set_hash = "former";
  set.spec.update_strategy = api::NodeSetUpdateStrategy{.type = std::string(api::kUpdateOnDelete)};
  const std::string ours = Revision(set).value();
  for (const int i : {0, 1}) {
    Pod pod = FormersPod(i);
    pod.metadata.labels[std::string(kLabelRevision)] = i == 0 ? "former" : "older";
    Put(pod);
    nodes.push_back(MakeNode(i, {NodeFlag::kIdle}));
  }
  plan::Plan plan = Look(2);
  EXPECT_THAT(Acts(plan), ElementsAre("relabel Pod slurm/w-0"));
  EXPECT_EQ(StatusIn(plan).updated_replicas, 1);
  EXPECT_EQ(StatusIn(plan).node_set_hash, "former") << "else nobody would know what the label means";

  Pod relabelled = FormersPod(0);
  Put(relabelled);
  plan = Look(2);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_EQ(StatusIn(plan).updated_replicas, 1);
  EXPECT_EQ(StatusIn(plan).node_set_hash, ours);

  relabelled.metadata.labels[std::string(kLabelRevision)] = "former";
  Put(relabelled);
  set.metadata.generation = 8;
  plan = Look(2);
  EXPECT_THAT(Acts(plan), IsEmpty()) << "of another spec, as far as anybody can tell";
  EXPECT_EQ(StatusIn(plan).updated_replicas, 0);
  EXPECT_EQ(StatusIn(plan).node_set_hash, ours);
}

// A NodeSet that the former operator held for the sake of a reservation could not be deleted, for ever.
TEST_F(TakenOver, ItsReservationGoesWithItsFinalizer) {
  set.metadata.finalizers.emplace_back(kFinalizerReservation);
  plan::Plan plan = Look(0);
  ASSERT_THAT(Acts(plan), ElementsAre("remove reservation Slurm reservation slurm/main/SlurmOperatorMaint-w",
                                      "remove finalizer NodeSet slurm/w"));
  EXPECT_THAT(plan.actions[1].after, ElementsAre(plan.actions[0].id()));
  slurm.state = plan::SlurmLook::State::kUnreachable;
  EXPECT_THAT(Acts(Look(0)), IsEmpty()) << "it waits for Slurm";
  slurm.state = plan::SlurmLook::State::kHeard;
}

TEST_F(TakenOver, ItsFinalizerHoldsUpNoDeletion) {
  set.metadata.finalizers.emplace_back(kFinalizerReservation);
  set.metadata.deletion_timestamp = kNow;
  EXPECT_THAT(Acts(Look(0)), ElementsAre("remove reservation Slurm reservation slurm/main/SlurmOperatorMaint-w",
                                         "remove finalizer NodeSet slurm/w"));
  set.metadata.annotations[std::string(kAnnotationForceDelete)] = "true";
  EXPECT_THAT(Acts(Look(0)), ElementsAre("remove finalizer NodeSet slurm/w"));
  set.metadata.annotations.clear();
  slurm.state = plan::SlurmLook::State::kUnreachable;
  EXPECT_THAT(Acts(Look(0)), IsEmpty()) << "one that comes again would stay for good";
  set.metadata.deletion_timestamp = kNow - 1h;
  held["Slurm is not heard"] = Tick() - 10min;
  EXPECT_THAT(Acts(Look(0)), ElementsAre("remove finalizer NodeSet slurm/w"));
  held.clear();
  set.metadata.finalizers = {std::string(kFinalizerReservation)};
  EXPECT_THAT(Acts(Look(0)), ElementsAre("remove finalizer NodeSet slurm/w")) << "the last one";
}

}  // namespace
}  // namespace capstan::op::nodeset
