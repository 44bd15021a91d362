#include "operator/controller/unread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "operator/controller/questions.h"
#include "operator/names.h"
#include "operator/testing/world.h"
#include "operator/worker_comment.h"

namespace capstan::op::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class UnreadTest : public ::testing::Test {
 protected:
  UnreadTest() {
    pod.metadata = {.name = "main-controller-0", .namespace_ = "slurm", .uid = "uid-pod"};
    pod.status.phase = "Running";
  }

  void Says(std::vector<std::string> nodes, std::string life = "100") {
    Says(named, std::move(nodes), std::move(life));
  }
  void Says(const std::vector<std::string>& hosts, std::vector<std::string> nodes, std::string life) {
    world.Answer(UnreadNodes("slurm/main", hosts).id(),
                 std::make_shared<const UnreadNodes::Value>(std::move(nodes), std::move(life)));
  }

  // After these have been unread for so long.
  plan::Plan Look(Duration held = 1s) {
    world.Put(pod);
    api::Controller controller;
    controller.metadata = {.name = "main", .namespace_ = "slurm"};
    world.Put(controller);
    return world.Decide(&Decide, "main", held);
  }
  static plan::Plan Decide(const plan::World& seen, const kube::Key& key) {
    const auto* controller = FindToServe<api::Controller>(seen, key);
    Reconcile<api::Controller> reconcile(seen, *controller);
    reconcile.plan.slurm_cluster = "slurm/main";
    reconcile.plan.slurm = plan::SlurmConnection{.server = "http://x"};
    ReadWithNewNodes(reconcile, std::exchange(named, {"w-[0-3]"}), {"slurm", "main-controller-0"});
    return reconcile.Finish(api::ControllerStatus());
  }

  static inline std::vector<std::string> named = {"w-[0-3]"};  // by the files at the next look
  test::TestWorld world;
  Pod pod;
};

TEST_F(UnreadTest, SlurmctldIsAskedOnceNoFurtherNodeComes) {
  Says({"w-0", "w-1"});
  plan::Plan plan = Look();
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_EQ(plan.requeue_after, 14s);
  EXPECT_THAT(test::ConditionOf(plan, "Progressing"), StartsWith("True ReadingNodes: "));
  EXPECT_THAT(test::ConditionOf(plan, "Progressing"), HasSubstr("w-0, w-1: registered after"));
  plan = Look(15s);
  EXPECT_THAT(test::ActionNames(plan),
              ElementsAre("reconfigure slurmctld of slurm/main", "note Pod slurm/main-controller-0"));
}

TEST_F(UnreadTest, WhoComesAllTheTimeIsNotWaitedForForEver) {
  Says({"w-0", "w-1"});
  const auto after_another = [&](Duration held) {
    named = {"w-0"};
    Says(named, {"w-0"}, "100");
    return Look(held).actions.size();
  };
  EXPECT_EQ(after_another(15s), 0u) << "one more has come";
  EXPECT_EQ(after_another(2min), 2u);
}

TEST_F(UnreadTest, InOneLifeSlurmctldIsAskedOnceAndItsSilenceIsTold) {
  Says({"w-0"});
  pod.metadata.annotations[std::string(kAnnotationNodesRead)] = "100 " + FormatRfc3339(world.now - 50s);
  plan::Plan plan = Look(15s);
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_EQ(plan.requeue_after, 10s);
  pod.metadata.annotations[std::string(kAnnotationNodesRead)] = "100 " + FormatRfc3339(world.now - 60s);
  plan = Look(15s);
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_THAT(test::ConditionOf(plan, "Degraded"), StartsWith("True NodesUnread: "));
  Says({"w-0"}, "200");
  EXPECT_EQ(Look(15s).actions.size(), 2u) << "another life";
}

TEST_F(UnreadTest, NothingIsDoneWhileNothingIsKnown) {
  EXPECT_THAT(Look(15s).actions, IsEmpty());
  EXPECT_THAT(test::ConditionOf(Look(15s), "Progressing"), StartsWith("False "));
  Says({});
  EXPECT_THAT(test::ConditionOf(Look(15s), "Progressing"), StartsWith("False "));
}

TEST(UnreadNodes, AreThoseNamedThatCameInThisLife) {
  const auto node = [](const char* name, const char* life) {
    slurm::Node made{.name = name};
    if (life != nullptr)
      made.comment = WorkerComment{.ns = "slurm", .pod = name, .node = "k", .set = "w", .life = life}.ToString();
    return made;
  };
  slurm::Snapshot snapshot;
  snapshot.incarnation.id = "100";
  snapshot.nodes = std::make_shared<const std::vector<slurm::Node>>(
      std::vector<slurm::Node>{node("w-0", "100"), node("w-1", "90"), node("w-2", ""), node("w-3", nullptr),
                               node("w-9", "100"), node("x", "100")});
  const auto unread = UnreadNodes::In(snapshot, {"w-[0-3]", "w-[", "ALL", "x"});
  ASSERT_TRUE(unread);
  EXPECT_THAT(unread->nodes, ElementsAre("w-0", "x"));
  EXPECT_EQ(unread->life, "100");
}

}  // namespace
}  // namespace capstan::op::controller
