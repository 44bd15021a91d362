#include "operator/reconcile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/testing/world.h"

namespace capstan::op {
namespace {

using test::ConditionOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ReconcileTest : public ::testing::Test {
 protected:
  plan::Plan Made(std::function<void(Reconcile<api::RestApi>&)> decide) {
    plan::Plan plan;
    world.Look([&](const plan::World& seen) {
      Reconcile reconcile(seen, rest_api);
      decide(reconcile);
      plan = reconcile.Finish(api::RestApiStatus());
    });
    return plan;
  }

  test::TestWorld world;
  api::RestApi rest_api;
};

TEST_F(ReconcileTest, BeginsWithTheDefaults) {
  Made([](Reconcile<api::RestApi>& reconcile) { EXPECT_EQ(reconcile.object.spec.replicas, 1); });
}

TEST_F(ReconcileTest, WhatCannotBeMadeIsAProblemAndNothingIsPruned) {
  const plan::Plan plan = Made([](Reconcile<api::RestApi>& reconcile) {
    EXPECT_TRUE(reconcile.Want(plan::Child()));
    EXPECT_FALSE(reconcile.Want(Fail(Code::kInvalid, "spec.template.spec is no object")));
  });
  EXPECT_EQ(plan.children.size(), 1u);
  EXPECT_FALSE(plan.children_complete);
  EXPECT_EQ(ConditionOf(plan, "Degraded"), "True InvalidSpec: spec.template.spec is no object");
}

// A word that says what is wrong tells more than that a write failed; what is asked for in vain comes last.
TEST_F(ReconcileTest, FailuresComeAfterProblemsAndBeforeRemarks) {
  world.failures = {{.verb = "apply", .target = "Service slurm/a", .message = "no"}};
  const plan::Plan plan = Made([](Reconcile<api::RestApi>& reconcile) {
    reconcile.findings.Remark("UnknownFields", "in vain");
    reconcile.findings.Problem("KeyMissing", "a key");
  });
  EXPECT_EQ(ConditionOf(plan, "Degraded"), "True KeyMissing: a key; apply Service slurm/a failed: no; in vain");
}

TEST_F(ReconcileTest, StaysReadyWhileItsChangeIsCarriedOut) {
  StatefulSet set;
  set.metadata.generation = 2;
  set.status = {.observed_generation = 1, .ready_replicas = 2, .updated_replicas = 2};
  const auto runs = [&](Reconcile<api::RestApi>& reconcile) { reconcile.Runs(&set, 2, "slurmdbd"); };
  plan::Plan plan = Made(runs);
  EXPECT_EQ(ConditionOf(plan, "Ready"), "True Ready: 2 of 2 slurmdbd are ready");
  EXPECT_THAT(ConditionOf(plan, "Progressing"), StartsWith("True Starting: "));
  set.status.observed_generation = 2;
  set.status.updated_replicas = 1;
  EXPECT_THAT(ConditionOf(Made(runs), "Progressing"), StartsWith("True Starting: "));
  set.status.updated_replicas = 2;
  EXPECT_THAT(ConditionOf(Made(runs), "Progressing"), StartsWith("False Settled: "));
}

// A lost machine left slurmctld Terminating for ever, and nobody was told why or what to do.
TEST_F(ReconcileTest, APodThatShouldHaveEndedNamesItsMachineAndTheWayOut) {
  StatefulSet set;
  set.metadata.uid = "set";
  Pod pod;
  pod.metadata.name = "main-controller-0";
  pod.metadata.deletion_timestamp = world.now;
  pod.metadata.owner_references = {
      {.kind = "StatefulSet", .name = "main-controller", .uid = "set", .controller = true}};
  pod.spec.node_name = "node-a";
  world.Put(pod);
  const auto runs = [&](Reconcile<api::RestApi>& reconcile) { reconcile.Runs(&set, 1, "slurmctld"); };
  plan::Plan plan = Made(runs);
  EXPECT_THAT(ConditionOf(plan, "Degraded"), StartsWith("False"));
  EXPECT_EQ(plan.requeue_after, 1min);
  world.now += 1min;
  plan = Made(runs);
  EXPECT_THAT(ConditionOf(plan, "Degraded"),
              StartsWith("True NodeLost: pod main-controller-0 should have ended, and node node-a does not say"));
  EXPECT_THAT(ConditionOf(plan, "Degraded"),
              HasSubstr("kubectl taint nodes node-a node.kubernetes.io/out-of-service="));
}

}  // namespace
}  // namespace capstan::op
