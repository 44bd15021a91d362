// The life of pods behind external jobs, with an engine, on a modelled API server and slurmrestd.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bridge/life_fixture.h"

namespace capstan::bridge {
namespace {

using slurm::JobFlag;
using testing::BridgeLife;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(BridgeLife, APodRunsWhereAndWhenSlurmSaysAndItsJobEndsWithIt) {
  Start();
  PutPod();
  loop.Advance(3s);
  ASSERT_EQ(slurm.jobs().size(), 1u);
  const int64_t id = TheJob().id;
  EXPECT_TRUE(TheJob().state.IsPending());
  EXPECT_TRUE(IsGated());
  slurm.Expect(id, "Resources", std::nullopt);
  loop.Advance(10s);
  EXPECT_THAT(json::Serialize(*PodNow()), HasSubstr("waits in partition bridge: Resources"));
  ASSERT_TRUE(slurm.RunPending(id, {"w-0"}));
  loop.Advance(2s);
  EXPECT_FALSE(IsGated());
  EXPECT_THAT(json::Serialize(*PodNow()), HasSubstr(R"("key":"metadata.name","operator":"In","values":["node-1"])"));
  Bind();
  loop.Advance(10s);
  const size_t writes = Writes();
  loop.Advance(10min);
  EXPECT_EQ(Writes(), writes) << "at rest nothing is written";
  Becomes("Succeeded");
  loop.Advance(2s);
  EXPECT_TRUE(TheJob().state.Has(JobFlag::kCancelled));
  EXPECT_EQ(JobMark::Of(TheJob().admin_comment)->outcome, "Succeeded");
  loop.Advance(10min);
  EXPECT_NE(PodNow(), nullptr);
  EXPECT_THAT(told, Contains("trainer: Submitted"));
  EXPECT_THAT(told, Contains("trainer: Allocated"));
}

// Slurm need not know a name for the user.
TEST_F(BridgeLife, TheJobsOfANamespaceAreThoseOfItsPolicyAndFollowItsChanges) {
  const auto charge = [&](const std::string& annotation, const std::string& value) {
    server.Edit(
        kube::kNamespaces, {"", "ml"}, "",
        [&](json::Value& ns) {
          json::MakeObject(ns, {"metadata", "annotations"})[std::string(kPolicyAnnotations) + annotation] = value;
        },
        "administrator");
  };
  charge("user", "54321");
  charge("group", "100");
  charge("accounts", "vision");
  Start();
  PutPod();
  loop.Advance(3s);
  const int64_t first = TheJob().id;
  EXPECT_EQ(slurm.OrderOf(first)->user, "54321");
  EXPECT_EQ(slurm.OrderOf(first)->account, "vision");
  charge("accounts", "speech,vision");
  loop.Advance(1min);
  EXPECT_TRUE(slurm.jobs().at(first).state.Has(JobFlag::kCancelled)) << "another takes its place";
  ASSERT_EQ(slurm.jobs().size(), 2u);
  const int64_t second =
      slurm.jobs().begin()->first == first ? slurm.jobs().rbegin()->first : slurm.jobs().begin()->first;
  EXPECT_EQ(slurm.OrderOf(second)->account, "speech");
  charge("accounts", " , ");
  loop.Advance(1min);
  EXPECT_TRUE(slurm.jobs().at(second).state.IsPending()) << "what it is by now makes no sense";
  EXPECT_THAT(Says(), HasSubstr("policy-accounts of namespace ml is"));
  // Its user would keep what the policy takes away by an order that cannot be read.
  EditPod([](json::Value& pod) {
    json::MakeObject(pod, {"metadata", "annotations"})[std::string(kJobAnnotations) + "timelimit"] = "x";
  });
  charge("accounts", "vision");
  loop.Advance(1min);
  EXPECT_TRUE(slurm.jobs().at(second).state.Has(JobFlag::kCancelled));
  EXPECT_EQ(slurm.jobs().size(), 2u) << "and none follows";
}

TEST_F(BridgeLife, AWaitingPodCostsNoWrites) {
  Start();
  PutPod();
  loop.Advance(10s);
  slurm.Expect(TheJob().id, "Priority", std::nullopt);
  loop.Advance(10s);
  const size_t writes = Writes();
  loop.Advance(1h);
  EXPECT_EQ(Writes(), writes);
}

TEST_F(BridgeLife, ADeletedPodThatWaitedTakesItsJobWithItInTwoSeconds) {
  Start();
  PutPod();
  loop.Advance(3s);
  server.Remove(kube::kPods, {"ml", "trainer"});
  loop.Advance(2s);
  EXPECT_TRUE(TheJob().state.Has(JobFlag::kCancelled));
  EXPECT_EQ(JobMark::Of(TheJob().admin_comment)->outcome, "Deleted");
}

TEST_F(BridgeLife, ATimeLimitEndsThePod) {
  Start();
  PutPod();
  loop.Advance(3s);
  ASSERT_TRUE(slurm.RunPending(TheJob().id, {"w-0"}));
  loop.Advance(2s);
  Bind();
  Becomes("Running");
  slurm.EndJobAs(TheJob().id, JobFlag::kTimeout);
  loop.Advance(3s);
  EXPECT_EQ(PodNow(), nullptr);
  EXPECT_THAT(told, Contains("trainer: Ended"));
}

TEST_F(BridgeLife, AJobThatEndsWithItsPodIsNoFailure) {
  Start();
  PutPod();
  loop.Advance(3s);
  ASSERT_TRUE(slurm.RunPending(TheJob().id, {"w-0"}));
  loop.Advance(2s);
  Bind();
  Becomes("Running");
  loop.Advance(2s);
  told.clear();
  // It ends by itself between the look at it and the write.
  Becomes("Succeeded");
  slurm.EndJobAs(TheJob().id, JobFlag::kTimeout);
  loop.Advance(1min);
  EXPECT_THAT(told, ::testing::IsEmpty());
  EXPECT_NE(PodNow(), nullptr) << "it had ended";
}

TEST_F(BridgeLife, WhatAPersonCancelledIsNotAskedForAgainWhenSlurmHasForgottenIt) {
  Start();
  PutPod();
  loop.Advance(3s);
  slurm.EndJobAs(TheJob().id, JobFlag::kCancelled);
  loop.Advance(2h);
  EXPECT_TRUE(slurm.jobs().empty());
  EXPECT_THAT(json::Serialize(*PodNow()), HasSubstr("CancelledInSlurm"));
  Start();
  loop.Advance(2h);
  EXPECT_TRUE(slurm.jobs().empty());
}

TEST_F(BridgeLife, ANodeIsGivenToTheNextPodOnlyOnceTheOneBeforeHasLeftIt) {
  Start();
  PutPod();
  loop.Advance(3s);
  const int64_t first = TheJob().id;
  ASSERT_TRUE(slurm.RunPending(first, {"w-0"}));
  loop.Advance(2s);
  Bind();
  Becomes("Running");
  EditPod(
      [](json::Value& pod) { json::MakeObject(pod, {"metadata"})["finalizers"] = *json::Parse(R"(["test/slow"])"); });
  PutPod("next");
  loop.Advance(3s);
  const int64_t next =
      slurm.jobs().begin()->first != first ? slurm.jobs().begin()->first : slurm.jobs().rbegin()->first;
  // In the same moment, as Slurm does it.
  slurm.EndJobAs(first, JobFlag::kTimeout);
  ASSERT_TRUE(slurm.RunPending(next, {"w-0"}));
  loop.Advance(1min);
  EXPECT_THAT(json::Serialize(*PodNow("next")), HasSubstr("pod ml/trainer is still on Kubernetes node node-1"));
  EditPod([](json::Value& pod) { json::MakeObject(pod, {"metadata"}).erase("finalizers"); });
  loop.Advance(5s);
  EXPECT_EQ(PodNow(), nullptr);
  EXPECT_EQ(json::Find(*PodNow("next"), {"spec", "schedulingGates"}), nullptr);
}

TEST_F(BridgeLife, NodesThatDoNotSuitThePodAreLeftOutAndOneThatIsFoundSoIsGivenBackAtOnce) {
  settings.partition = "all";
  const auto label = [&](const std::string& node, const std::string& zone) {
    server.Edit(
        kube::kNodes, {"", node}, "",
        [&](json::Value& value) { json::MakeObject(value, {"metadata", "labels"})["zone"] = zone; }, "administrator");
  };
  label("node-2", "b");
  Start();
  PutPod();
  EditPod([](json::Value& pod) { json::MakeObject(pod, {"spec", "nodeSelector"})["zone"] = "b"; });
  loop.Advance(3s);
  ASSERT_EQ(slurm.jobs().size(), 1u);
  EXPECT_THAT(slurm.OrderOf(TheJob().id)->excluded_nodes, ElementsAre("w-0", "w-2"));
  const int64_t first = TheJob().id;
  label("node-2", "a");
  ASSERT_TRUE(slurm.RunPending(first, {"w-1"}));
  loop.Advance(5s);
  EXPECT_TRUE(slurm.jobs().at(first).state.IsOver());
  EXPECT_TRUE(IsGated());
  EXPECT_THAT(told, Contains("trainer: NodeUnsuitable"));
  loop.Advance(15s);
  EXPECT_EQ(slurm.jobs().size(), 1u) << "none is left";
  EXPECT_THAT(Says(), HasSubstr("no node of partition all suits the pod: each of 3 of 3 lacks the label zone=b"));
  label("node-1", "b");
  loop.Advance(10s);
  EXPECT_EQ(slurm.jobs().size(), 2u);
}

TEST_F(BridgeLife, WhatTheSchedulerRefusesGivesItsNodeBack) {
  Start();
  PutPod();
  loop.Advance(3s);
  ASSERT_TRUE(slurm.RunPending(TheJob().id, {"w-0"}));
  loop.Advance(2s);
  server.Edit(
      kube::kPods, {"ml", "trainer"}, "status",
      [](json::Value& pod) {
        auto& conditions = json::MakeObject(pod, {"status"})["conditions"];
        if (!conditions.is_array()) conditions = *json::Parse("[]");
        conditions.as_array().push_back(
            *json::Parse(R"({"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"taint"})"));
      },
      "scheduler");
  loop.Advance(4min);
  EXPECT_TRUE(TheJob().state.Has(JobFlag::kRunning));
  loop.Advance(2min);
  EXPECT_TRUE(TheJob().state.Has(JobFlag::kCancelled));
  EXPECT_EQ(JobMark::Of(TheJob().admin_comment)->outcome, "NotPlaced");
  EXPECT_EQ(json::FindText(*PodNow(), {"status", "phase"}), "Failed") << "nobody would make it again";
  EXPECT_THAT(told, Contains("trainer: NotPlaced"));
}

TEST_F(BridgeLife, AnHourAfterADeletionNothingIsAskedOrWrittenForItAnyMore) {
  Start();
  PutPod();
  loop.Advance(3s);
  server.Remove(kube::kPods, {"ml", "trainer"});
  loop.Advance(1min);
  Start();
  loop.Advance(10min);
  const size_t writes = Writes();
  const size_t asked = rest.RequestsFor("/slurm/v0.0.44/job");
  loop.Advance(1h);
  EXPECT_EQ(Writes(), writes);
  EXPECT_LE(rest.RequestsFor("/slurm/v0.0.44/job") - asked, 2u) << "all jobs, once an hour";
}

TEST_F(BridgeLife, JobsWhosePodsWentUnseenAreEndedByTheNextProcess) {
  Start();
  PutPod();
  loop.Advance(3s);
  process.reset();
  server.Remove(kube::kPods, {"ml", "trainer"});
  ASSERT_FALSE(slurm.SubmitJob({.id = 5, .name = "strangers", .admin_comment = "capstan-bridge {}"}));
  Start();
  loop.Advance(10s);
  EXPECT_TRUE(slurm.jobs().rbegin()->second.state.Has(JobFlag::kCancelled));
  EXPECT_TRUE(slurm.jobs().at(5).state.IsPending());
  EXPECT_LE(rest.writes().size(), 4u) << "submitted, commented on and cancelled once";
}

TEST_F(BridgeLife, AJobOfAnAttemptBeforeThatComesBackIsEnded) {
  Start();
  PutPod();
  loop.Advance(3s);
  const slurm::Job first = TheJob();
  ASSERT_TRUE(slurm.RunPending(first.id, {"w-0"}));
  slurm.EndJobAs(first.id, JobFlag::kNodeFail);
  loop.Advance(1min);
  ASSERT_EQ(slurm.jobs().size(), 2u);
  process.reset();
  slurm.ForgetJob(first.id);
  ASSERT_FALSE(slurm.SubmitJob({.id = first.id, .name = first.name, .admin_comment = first.admin_comment}));
  Start();
  loop.Advance(10s);
  EXPECT_TRUE(slurm.jobs().at(first.id).state.Has(JobFlag::kCancelled));
  slurm::JobState own;
  for (const auto& [id, job] : slurm.jobs())
    if (id != first.id) own = job.state;
  EXPECT_TRUE(own.IsPending());
}

TEST_F(BridgeLife, APodThatStillRunsUnseenKeepsItsJob) {
  Start();
  PutPod();
  loop.Advance(3s);
  const int64_t id = TheJob().id;
  ASSERT_TRUE(slurm.RunPending(id, {"w-0"}));
  loop.Advance(2s);
  Bind();
  Becomes("Running");
  process.reset();
  // Somebody takes the label away by which it is watched; the API server still lists it under its job.
  EditPod([](json::Value& pod) { json::MakeObject(pod, {"metadata", "labels"}).erase("capstan.dev/bridged"); });
  Start();
  loop.Advance(2h);
  EXPECT_TRUE(slurm.jobs().at(id).state.Has(JobFlag::kRunning));
}

class BridgeCrash : public BridgeLife, public ::testing::WithParamInterface<size_t> {
 protected:
  // Time goes on in steps; after so many writes the process dies, and another begins.
  void Step(Duration span) {
    for (Duration passed{0}; passed < span; passed += 5ms) {
      loop.Advance(5ms);
      if (crashed_ || Writes() - before_ < GetParam()) continue;
      crashed_ = true;
      Start();
    }
  }
  const size_t before_ = Writes();

 private:
  bool crashed_ = false;
};

// Whatever the moment, there is one job for the pod, and it runs where Slurm said.
TEST_P(BridgeCrash, LosesAndDoublesNothing) {
  Start();
  PutPod();
  Step(5s);
  ASSERT_EQ(slurm.jobs().size(), 1u);
  ASSERT_TRUE(slurm.RunPending(TheJob().id, {"w-0"}));
  Step(5s);
  EXPECT_FALSE(IsGated());
  Bind();
  Becomes("Running");
  Step(5s);
  Becomes("Succeeded");
  Step(5s);
  EXPECT_EQ(slurm.jobs().size(), 1u);
  EXPECT_TRUE(TheJob().state.Has(JobFlag::kCancelled));
  EXPECT_EQ(JobMark::Of(TheJob().admin_comment)->outcome, "Succeeded");
}
INSTANTIATE_TEST_SUITE_P(AfterEachWrite, BridgeCrash, ::testing::Range<size_t>(1, 9));

TEST_F(BridgeLife, AJobThatSlurmHasLostBeforeThePodStartedIsFollowedByOneOther) {
  Start();
  PutPod();
  loop.Advance(3s);
  slurm.Expect(TheJob().id, "Priority", std::nullopt);
  loop.Advance(10s);
  slurm.ForgetJob(TheJob().id);
  loop.Advance(1h);
  EXPECT_TRUE(TheJob().state.IsPending());
  EXPECT_EQ(JobMark::Of(TheJob().admin_comment)->attempt, 2);
}

TEST_F(BridgeLife, ASubmissionWhoseAnswerIsLostMakesOneJob) {
  Start();
  rest.SetFate([](const net::Request& request) {
    return request.method == "POST" ? slurm::testing::Fault::kLostAnswer : slurm::testing::Fault::kNone;
  });
  PutPod();
  loop.Advance(30s);
  rest.Heal();
  loop.Advance(1min);
  EXPECT_EQ(slurm.jobs().size(), 1u);
}

TEST_F(BridgeLife, ASubmissionThatComesLateForAPodThatIsGoneLeavesNoJob) {
  Start();
  rest.SetFate([](const net::Request& request) {
    return request.target.ends_with("/job/submit") ? slurm::testing::Fault::kLate : slurm::testing::Fault::kNone;
  });
  PutPod();
  loop.Advance(3s);
  server.Remove(kube::kPods, {"ml", "trainer"});
  loop.Advance(1min);
  EXPECT_TRUE(TheJob().state.Has(JobFlag::kCancelled));
}

TEST_F(BridgeLife, WhileSlurmctldIsAwayNothingIsDeletedOrReleased) {
  Start();
  PutPod();
  loop.Advance(3s);
  ASSERT_TRUE(slurm.RunPending(TheJob().id, {"w-0"}));
  loop.Advance(2s);
  Bind();
  Becomes("Running");
  slurm.StopController();
  loop.Advance(10min);
  EXPECT_NE(PodNow(), nullptr);
  slurm.StartController();
  loop.Advance(1min);
  EXPECT_NE(PodNow(), nullptr);
  EXPECT_TRUE(TheJob().state.Has(JobFlag::kRunning));
}

TEST_F(BridgeLife, ASlurmctldThatHasLostItsJobsEndsNoPodThatRuns) {
  Start();
  PutPod();
  loop.Advance(3s);
  ASSERT_TRUE(slurm.RunPending(TheJob().id, {"w-0"}));
  loop.Advance(2s);
  Bind();
  Becomes("Running");
  const int64_t first = TheJob().id;
  slurm.ForgetJob(first);
  loop.Advance(1min);
  EXPECT_NE(PodNow(), nullptr);
  // Its node is booked anew, under another job, also by a process that has just begun.
  const int64_t second = TheJob().id;
  EXPECT_NE(second, first);
  EXPECT_THAT(rest.writes().back().body, HasSubstr(R"("required_nodes":["w-0"])"));
  Start();
  ASSERT_TRUE(slurm.RunPending(second, {"w-0"}));
  loop.Advance(1min);
  EXPECT_EQ(json::FindText(*PodNow(), {"metadata", "labels", kJobId}), std::to_string(second));
  EXPECT_THAT(Says(), HasSubstr("job " + std::to_string(second) + " on Slurm node w-0"));
  EXPECT_THAT(told, Contains("trainer: Rebooked"));
  EXPECT_EQ(slurm.jobs().size(), 1u);
  slurm.EndJobAs(second, JobFlag::kTimeout);
  loop.Advance(3s);
  EXPECT_EQ(PodNow(), nullptr);
}

}  // namespace
}  // namespace capstan::bridge
