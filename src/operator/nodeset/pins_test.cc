#include "operator/nodeset/pins.h"

#include "operator/nodeset/decide_test.h"
#include "operator/nodeset/worker_pod.h"

namespace capstan::op::nodeset {
namespace {

using slurm::NodeFlag;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// A NodeSet whose worker w-0 was on k0, as its status says.
class PinToNode : public NodeSetTest {
 protected:
  PinToNode() {
    set.spec.pin_to_node = true;
    set.status.ordinal_to_node = {{"0", "k0"}};
    for (const char* name : {"k0", "k1"}) Put(Machine(name));
  }
  static Node Machine(const std::string& name) { return {.metadata = {.name = name, .uid = name}, .spec = {}}; }
  static Pins Told(const plan::Plan& plan) { return json::Decode<api::NodeSetStatus>(*plan.status)->ordinal_to_node; }
};

TEST_F(PinToNode, AWorkerThatComesBackGoesWhereItWas) {
  Worker_(1, {NodeFlag::kIdle});
  const plan::Plan plan = Look(2);
  EXPECT_THAT(Acts(plan), ElementsAre("create Pod slurm/w-0"));
  EXPECT_THAT(Told(plan), ElementsAre(Pair("0", "k0"), Pair("1", "k1")));
  auto workers = WorkerTemplate::Of(set, {.metadata = {.name = "main", .namespace_ = "slurm", .uid = "c-uid"}});
  ASSERT_TRUE(workers);
  const std::string pinned = workers->Stamp({.ordinal = 0, .node = "k0", .host = {}}).body;
  const std::string placed = workers->Stamp({.ordinal = 0, .node = {}, .host = {}}).body;
  EXPECT_NE(pinned.find(R"("values":["k0"])"), std::string::npos);
  EXPECT_EQ(placed.find("nodeAffinity"), std::string::npos) << "what one was bound to binds no other";
  EXPECT_EQ(workers->Stamp({.ordinal = 0, .node = "k0", .host = {}}).body, pinned);
}

TEST_F(PinToNode, AWorkerThatRunsElsewhereIsPinnedThere) {
  Pod pod = MakePod(0);
  pod.spec.node_name = "k1";
  Put(pod);
  nodes = {MakeNode(0, {NodeFlag::kIdle})};
  EXPECT_THAT(Told(Look(1)), ElementsAre(Pair("0", "k1")));
}

// It would wait for its node for ever: two workers keep each other out of one.
TEST_F(PinToNode, AWorkerThatIsOnTheNodeOfAnotherHasIt) {
  Pod pod = MakePod(1);
  pod.spec.node_name = "k0";
  Put(pod);
  nodes = {MakeNode(1, {NodeFlag::kIdle})};
  EXPECT_THAT(Told(Look(2)), ElementsAre(Pair("1", "k0")));
  pod.status.phase = "Pending";  // it pulls its image there
  Put(pod);
  EXPECT_THAT(Told(Look(2)), IsEmpty());
  set.status.ordinal_to_node = {{"0", "k1"}, {"2", "k1"}};
  EXPECT_THAT(Told(Look(3)), ElementsAre(Pair("0", "k1"))) << "as another operator may have written";
  pod.status.phase = "Running";
  Put(pod);
  set.status.ordinal_to_node = {{"0", "k0"}};
  set.spec.oversubscribe_node = true;
  EXPECT_THAT(Told(Look(2)), ElementsAre(Pair("0", "k0"), Pair("1", "k0")));
}

TEST_F(PinToNode, ANodeThatIsGoneOrDoesNotFitPinsNobody) {
  Node cordoned = Machine("k0");
  cordoned.spec.unschedulable = true;
  Put(cordoned);
  EXPECT_THAT(Told(Look(1)), IsEmpty());
  Put(Machine("k0"));
  set.spec.pod_template.spec.text = R"({"nodeSelector":{"a":"b"}})";
  EXPECT_THAT(Told(Look(1)), IsEmpty());
  set.spec.pod_template.spec.text = "";
  EXPECT_THAT(Told(Look(1)), ElementsAre(Pair("0", "k0")));
  const_cast<kube::Store<Node>&>(stores.Of<Node>()).Deleted({"", "k0"}, "k0", {});
  EXPECT_THAT(Told(Look(1)), IsEmpty());
}

TEST_F(PinToNode, WithoutItNothingIsKept) {
  set.spec.pin_to_node = false;
  EXPECT_THAT(Told(Look(1)), IsEmpty());
}

}  // namespace
}  // namespace capstan::op::nodeset
