#include "operator/controller/live.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/names.h"
#include "operator/testing/world.h"

namespace capstan::op::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class LiveTest : public ::testing::Test {
 protected:
  LiveTest() {
    pod.metadata = {.name = "main-controller-0", .namespace_ = "slurm", .uid = "uid-pod"};
    pod.status.phase = "Running";
    pod.status.pod_ip = "10.0.0.7";
  }

  void Says(LiveConfiguration::Value value) {
    world.Answer(kQuestion, std::make_shared<const LiveConfiguration::Value>(std::move(value)));
  }

  plan::Plan Look() {
    world.Put(pod);
    api::Controller controller;
    controller.metadata = {.name = "main", .namespace_ = "slurm"};
    world.Put(controller);
    return world.Decide(&Decide, "main");
  }

  static plan::Plan Decide(const plan::World& seen, const kube::Key& key) {
    const auto* controller = FindToServe<api::Controller>(seen, key);
    Reconcile<api::Controller> reconcile(seen, *controller);
    reconcile.plan.slurm_cluster = "slurm/main";
    if (slurmrestd) reconcile.plan.slurm = plan::SlurmConnection{.server = "http://x"};
    std::vector<kube::Key> pods = {{"slurm", "main-controller-0"}};
    if (seen.Find<Pod>({"slurm", "main-controller-1"}) != nullptr) pods.push_back({"slurm", "main-controller-1"});
    Follow(reconcile, {.pods = std::move(pods), .files = {{"slurm.conf", "new"}, {"my.key", "k"}}, .hash = "h1"},
           controller->status.conditions);
    return reconcile.Finish(api::ControllerStatus());
  }

  std::string Live(const plan::Plan& plan) { return test::ConditionOf(plan, "ConfigLive"); }
  std::string Patch(const plan::Plan& plan) {
    return plan.actions.empty()
               ? ""
               : std::string(plan.actions.back().effect->verb()) + " " + plan.actions.back().effect->target();
  }

  static constexpr const char* kQuestion = "live configuration of slurm/main-controller-0 at 10.0.0.7";
  static inline bool slurmrestd = true;
  test::TestWorld world;
  Pod pod;
};

TEST_F(LiveTest, SaysSinceWhenItIsLive) {
  Says({.live = {{"slurm.conf", "new"}, {"jwks.json", "x"}}, .since = "2026-11-21T07:00:00Z"});
  const plan::Plan plan = Look();
  EXPECT_EQ(Live(plan), "True Live: slurmctld runs with the published configuration since 2026-11-21T07:00:00Z");
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_THAT(test::ConditionOf(plan, "Progressing"), StartsWith("False "));
}

TEST_F(LiveTest, TellsTheKubeletOnceAndAgainWhenNothingComesOfIt) {
  Says({.live = {{"slurm.conf", "old"}}, .since = "2026-11-21T07:00:00Z"});
  world.Put(pod);
  plan::Plan plan = Look();
  EXPECT_THAT(test::ActionNames(plan), ElementsAre("announce Pod slurm/main-controller-0"));
  EXPECT_THAT(Live(plan), StartsWith("False Reconfiguring: "));
  EXPECT_THAT(test::ConditionOf(plan, "Progressing"), StartsWith("True Reconfiguring: "));
  pod.metadata.annotations["capstan.dev/configuration"] = "h1 2026-11-21T07:59:50Z";
  plan = Look();
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_EQ(plan.requeue_after, 5s);
  pod.metadata.annotations["capstan.dev/configuration"] = "h1 2026-11-21T07:59:45Z";
  EXPECT_EQ(Look().actions.size(), 1u);
  pod.metadata.annotations["capstan.dev/configuration"] = "h0 2026-11-21T07:59:59Z";
  EXPECT_EQ(Look().actions.size(), 1u) << "another configuration";
}

TEST_F(LiveTest, AFileThatWasTakenAwayIsWaitedForUntilItMustBeTheTemplates) {
  Says({.live = {{"slurm.conf", "new"}, {"topology.yaml", "x"}}, .since = "2026-11-21T07:00:00Z"});
  world.Put(pod);
  plan::Plan plan = Look();
  EXPECT_THAT(test::ActionNames(plan), ElementsAre("announce Pod slurm/main-controller-0"));
  EXPECT_THAT(Live(plan), StartsWith("False Reconfiguring: "));
  pod.metadata.annotations["capstan.dev/configuration"] = "h1 2026-11-21T07:59:00Z";
  plan = Look();
  EXPECT_THAT(plan.actions, IsEmpty()) << "told once in that time";
  EXPECT_EQ(plan.requeue_after, 30s);
  EXPECT_THAT(Live(plan), StartsWith("False Reconfiguring: "));
  pod.metadata.annotations["capstan.dev/configuration"] = "h1 2026-11-21T07:58:30Z";
  plan = Look();
  EXPECT_THAT(Live(plan), StartsWith("True Live: "));
  EXPECT_THAT(plan.actions, IsEmpty());
  Says({.live = {{"slurm.conf", "new"}, {"topology.yaml", "x"}},
        .since = "2026-11-21T07:00:00Z",
        .refused = {{"slurm.conf", "new"}},
        .message = "it needs one"});
  EXPECT_THAT(Live(Look()), StartsWith("False ConfigRefused: ")) << "slurmctld does not go on without it";
}

TEST_F(LiveTest, RefusedIsSaidAndLeftAlone) {
  Says({.live = {{"slurm.conf", "old"}},
        .since = "2026-11-21T07:00:00Z",
        .refused = {{"slurm.conf", "new"}},
        .message = "unrecognized key: Nonsense"});
  plan::Plan plan = Look();
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_THAT(Live(plan), StartsWith("False ConfigRefused: "));
  EXPECT_THAT(test::ConditionOf(plan, "Degraded"), HasSubstr("unrecognized key: Nonsense"));
}

// Nobody said why a new cluster did not come up; an older operator reads the same answer, without "runs".
TEST_F(LiveTest, OneThatDoesNotStartIsSaidAndAskedEachSecond) {
  Says({.live = {{"slurm.conf", ""}},
        .since = "2026-11-21T07:00:00Z",
        .refused = {{"slurm.conf", "new"}},
        .message = "slurmctld does not start with it: fatal: no",
        .runs = false});
  const plan::Plan plan = Look();
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_EQ(Live(plan),
            "False ConfigRefused: the configuration is not live, and slurmctld does not run: slurmctld does not "
            "start with it: fatal: no");
  EXPECT_THAT(test::ConditionOf(plan, "Degraded"), HasSubstr("fatal: no"));
}

TEST_F(LiveTest, OneThatDidNotStartIsToldOfItsMendedText) {
  Says({.live = {{"slurm.conf", ""}},
        .since = "2026-11-21T07:00:00Z",
        .refused = {{"slurm.conf", "bad"}},
        .message = "fatal: no",
        .runs = false});
  EXPECT_THAT(test::ActionNames(Look()), ElementsAre("announce Pod slurm/main-controller-0"));
}

// It passed for live until a minute later, while slurmctld ended with it.
TEST_F(LiveTest, WhatIsBeingStartedIsNotLiveYet) {
  for (const char* digest : {"", "new"}) {
    Says({.live = {{"slurm.conf", digest}}, .since = "2026-11-21T07:00:00Z", .runs = false});
    const plan::Plan plan = Look();
    EXPECT_THAT(plan.actions, IsEmpty()) << digest;
    EXPECT_THAT(Live(plan), StartsWith("Unknown SlurmctldAway: slurmctld is starting")) << digest;
  }
}

// What was refused before is not what is wanted now.
TEST_F(LiveTest, AnotherTextThanThatRefusedIsTried) {
  Says({.live = {{"slurm.conf", "old"}}, .since = "2026-11-21T07:00:00Z", .refused = {{"slurm.conf", "bad"}}});
  EXPECT_EQ(Look().actions.size(), 1u);
}

TEST_F(LiveTest, WhoDoesNotRunReadsItAtItsStart) {
  pod.status.phase = "Pending";
  const plan::Plan plan = Look();
  EXPECT_THAT(Live(plan), StartsWith("Unknown SlurmctldAway: "));
  EXPECT_THAT(plan.actions, IsEmpty());
}

// An operator that has just started would have written each Controller's status twice.
TEST_F(LiveTest, NothingIsSaidBeforeThePodWasAsked) {
  const plan::Plan plan = Look();
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_EQ(Live(plan), "none");
}

TEST_F(LiveTest, APodThatCannotBeAskedIsToldAllTheSame) {
  world.Failed(kQuestion, "no route to host");
  const plan::Plan plan = Look();
  EXPECT_EQ(plan.actions.size(), 1u);
  EXPECT_THAT(Live(plan), StartsWith("Unknown NotAnswering: "));
  EXPECT_THAT(test::ConditionOf(plan, "Degraded"), StartsWith("False "));
}

TEST_F(LiveTest, SlurmrestdIsAskedOnceForAPodThatCannotDoItItself) {
  world.Absent(kQuestion);
  EXPECT_THAT(test::ActionNames(Look()), ElementsAre("announce Pod slurm/main-controller-0"));
  pod.metadata.annotations["capstan.dev/configuration"] = "h1 2026-11-21T07:59:00Z";
  plan::Plan plan = Look();
  EXPECT_THAT(plan.actions, IsEmpty()) << "its kubelet may be a minute late";
  EXPECT_EQ(plan.requeue_after, 30s);
  pod.metadata.annotations["capstan.dev/configuration"] = "h1 2026-11-21T07:58:30Z";
  plan = Look();
  EXPECT_THAT(test::ActionNames(plan),
              ElementsAre("reconfigure slurmctld of slurm/main", "note Pod slurm/main-controller-0"));
  EXPECT_THAT(plan.actions.back().after, ElementsAre(plan.actions.front().id()));
  pod.metadata.annotations["capstan.dev/reconfigured"] = "h1";
  plan = Look();
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_THAT(Live(plan), StartsWith("True Live: "));
}

TEST_F(LiveTest, WithoutSlurmrestdTheStepIsNamed) {
  slurmrestd = false;
  world.Absent(kQuestion);
  pod.metadata.annotations["capstan.dev/configuration"] = "h1 2026-11-21T07:00:00Z";
  const plan::Plan plan = Look();
  slurmrestd = true;
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_THAT(Live(plan), HasSubstr("run `scontrol reconfigure` in pod slurm/main-controller-0"));
}

// Changing to this release would have reconfigured every slurmctld.
TEST_F(LiveTest, APodThatWasStartedWithItIsLeftAlone) {
  world.Absent(kQuestion);
  pod.metadata.annotations[std::string(kHashSlurmConfig)] = "h1";
  const plan::Plan plan = Look();
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_THAT(Live(plan), StartsWith("True Live: "));
}

TEST_F(LiveTest, ASidecarDoesItByItself) {
  world.Absent(kQuestion);
  pod.status.init_container_statuses = {{.name = "reconfigure"}};
  const plan::Plan plan = Look();
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_THAT(Live(plan), StartsWith("Unknown NoReconfigurer: "));
}

TEST_F(LiveTest, AnswersAreRead) {
  const auto value = LiveConfiguration::Parse(
      R"({"files": {"slurm.conf": "a"}, "since": "2026-11-23T05:00:00Z", "reconfigures": 2,
          "refused": {"files": {"slurm.conf": "b"}, "message": "no\nno"}})");
  ASSERT_TRUE(value) << value.error().message();
  EXPECT_EQ(value->live.at("slurm.conf"), "a");
  EXPECT_EQ(value->refused.at("slurm.conf"), "b");
  EXPECT_EQ(value->message, "no no");
  EXPECT_TRUE(value->runs);
  EXPECT_FALSE(
      LiveConfiguration::Parse(
          R"({"files": {"slurm.conf": ""}, "since": "2026-11-23T05:00:00Z", "reconfigures": 0, "runs": false})")
          ->runs);
  EXPECT_TRUE(LiveConfiguration::Parse(R"({"files": {"slurm.conf": "a"}, "since": "2026-11-23T05:00:00Z"})"));
  for (const char* other : {"", "[]", "{}", R"({"files":{"slurm.conf":"a"},"since":"now"})", R"({"files":{}})"})
    EXPECT_FALSE(LiveConfiguration::Parse(other)) << other;
}

// They were all started anew for each change.
TEST_F(LiveTest, OfSeveralEachIsFollowed) {
  Pod second = pod;
  second.metadata.name = "main-controller-1";
  second.status.pod_ip = "10.0.0.8";
  world.Put(second);
  const std::string since = "2026-11-23T05:00:00Z";
  Says({.live = {{"slurm.conf", "new"}}, .since = since});
  const auto says_second = [&](const std::string& live) {
    world.Answer("live configuration of slurm/main-controller-1 at 10.0.0.8",
                 std::make_shared<const LiveConfiguration::Value>(
                     LiveConfiguration::Value{.live = {{"slurm.conf", live}}, .since = since}));
  };
  says_second("old");
  const plan::Plan plan = Look();
  EXPECT_THAT(Live(plan), StartsWith("False Reconfiguring"));
  EXPECT_THAT(test::ActionNames(plan), ElementsAre("announce Pod slurm/main-controller-1"));
  says_second("new");
  EXPECT_THAT(Live(Look()), StartsWith("True Live"));
}

}  // namespace
}  // namespace capstan::op::controller
