// Each row of the table in decide.h.
#include "bridge/group/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bridge/bridge_test.h"
#include "bridge/group/show.h"
#include "bridge/nodes.h"
#include "plan/testing/world.h"

namespace capstan::bridge::group {
namespace {

using plan::testing::ActionNames;
using plan::testing::TestWorld;
using slurm::JobFlag;
using slurm::JobState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kUid = "uid-trainer";
constexpr auto kPodTarget = "Pod ml/trainer";

class GroupTest : public ::testing::Test {
 protected:
  GroupTest() {
    world.AddStores([](plan::Stores& stores) {
      AddPodStores(stores, "slinky.slurm-bridge");
      AddNodeStore(stores);
      stores.Add<Namespace>();
    });
    world.settings = &settings;
    world.Put(testing::NamespaceNamed("kube-system", testing::kCluster));
    world.Put(testing::NamespaceNamed("ml"));
    world.Put(testing::ReadyNode("node-1"));
    world.Nodes(kSlurm, {{.name = "w-0", .comment = R"({"namespace":"slurm","podName":"w-0","node":"node-1"})"}});
    world.Jobs(kSlurm, {});
  }

  plan::Plan Decide(Duration settle = 1s) { return world.Decide(&group::Decide, std::string("pod.") + kUid, settle); }
  static std::string JobTarget(int attempt = 1) {
    return "Slurm job slurm/" + std::to_string(testing::IdOf(kUid, attempt));
  }

  Pod Labelled(int attempt = 1) {
    Pod pod = testing::GatedPod();
    pod.metadata.labels[std::string(kJobId)] = std::to_string(testing::IdOf(kUid, attempt));
    pod.metadata.annotations[std::string(kAttempt)] = std::to_string(attempt);
    return pod;
  }
  Pod Released() {
    Pod pod = Labelled();
    pod.spec.scheduling_gates.clear();
    return pod;
  }
  Pod Bound() {
    Pod pod = Released();
    pod.spec.node_name = "node-1";
    pod.status.phase = "Running";
    return pod;
  }
  static Pod Saying(Pod pod, const std::string& status, const std::string& reason, int attempt = 1) {
    pod.status.conditions.push_back(
        {std::string(kJobCondition), status, reason, JobWords(testing::IdOf(kUid, attempt)) + " was so before"});
    return pod;
  }
  void JobIs(std::optional<slurm::Job> job, int attempt = 1) {
    world.Jobs(kSlurm, {{testing::IdOf(kUid, attempt), std::move(job)}});
  }
  void JobIs(JobState state, std::string nodes = {}) { JobIs(testing::JobOf(kUid, state, std::move(nodes))); }

  // The text of what the action does, as far as its guards and reasons tell.
  static std::vector<std::string> Guards(const plan::Plan& plan, size_t action) {
    std::vector<std::string> texts;
    for (const auto& guard : plan.actions.at(action).guards) texts.push_back(guard->text());
    return texts;
  }
  // What the pod's condition is made to say; "" when it is left alone.
  static std::string Shown(const plan::Plan& plan) {
    for (const plan::Action& action : plan.actions)
      if (action.effect->verb() == "set conditions" && action.reason != "") return action.reason;
    return {};
  }

  Settings settings = testing::TestSettings();
  TestWorld world{"ml"};
};

TEST_F(GroupTest, AGatedPodIsLabelledFirst) {
  world.Put(testing::GatedPod());
  const plan::Plan plan = Decide();
  EXPECT_THAT(ActionNames(plan), ElementsAre(std::string("label ") + kPodTarget));
  EXPECT_THAT(plan.slurm_follows, IsEmpty());
}

TEST_F(GroupTest, WhileOthersHoldAGateNothingIsAskedOfSlurm) {
  Pod pod = testing::GatedPod();
  pod.spec.scheduling_gates.push_back({"kueue.x-k8s.io/admission"});
  world.Put(pod);
  EXPECT_EQ(Shown(Decide()), "waits until the scheduling gate kueue.x-k8s.io/admission is taken away");
}

TEST_F(GroupTest, WhatIsLabelledIsFollowedAndSubmittedOnceSlurmSaysThatItHasNoSuchJob) {
  world.Put(Labelled());
  plan::Plan plan = Decide();
  EXPECT_THAT(plan.actions, IsEmpty()) << "nobody has looked yet";
  EXPECT_THAT(plan.slurm_follows, ElementsAre(testing::IdOf(kUid)));
  JobIs(std::nullopt);
  EXPECT_THAT(ActionNames(Decide()), ElementsAre("submit " + JobTarget()));
}

TEST_F(GroupTest, WhatSlurmRefusesStandsOnThePod) {
  world.Put(Labelled());
  JobIs(std::nullopt);
  world.failures = {{.verb = "submit", .target = JobTarget(), .code = Code::kInvalid, .message = "Invalid account"}};
  const plan::Plan plan = Decide();
  EXPECT_EQ(Shown(plan), "Invalid account");
  EXPECT_THAT(ActionNames(plan), ::testing::Contains("submit " + JobTarget())) << "its back-off decides when";
}

TEST_F(GroupTest, AMalformedOrderIsToldAndNotSubmitted) {
  Pod pod = Labelled();
  pod.metadata.annotations[std::string(kJobAnnotations) + "timelimit"] = "1h";
  world.Put(pod);
  JobIs(std::nullopt);
  const plan::Plan plan = Decide();
  EXPECT_THAT(Shown(plan), HasSubstr("timelimit is \"1h\""));
  ASSERT_EQ(plan.actions.size(), 1u);
  EXPECT_TRUE(plan.actions[0].event && plan.actions[0].event->warning);
}

TEST_F(GroupTest, TheNamespaceSaysWhatItsPodsMayAskFor) {
  Namespace ns = testing::NamespaceNamed("ml");
  ns.metadata.annotations[std::string(kPolicyAnnotations) + "accounts"] = "vision";
  world.Put(ns);
  Pod pod = Labelled();
  pod.metadata.annotations[std::string(kJobAnnotations) + "account"] = "speech";
  world.Put(pod);
  JobIs(std::nullopt);
  const plan::Plan plan = Decide();
  EXPECT_THAT(ActionNames(plan), ElementsAre("set conditions Pod ml/trainer/status"));
  EXPECT_THAT(Shown(plan), HasSubstr("namespace ml may not use account \"speech\"; it may use vision"));
}

// It may be younger than what is known of Namespaces.
TEST_F(GroupTest, NothingIsAskedBeforeTheNamespaceIsKnown) {
  Pod pod = testing::GatedPod();
  pod.metadata.namespace_ = "fresh";
  world.Put(pod);
  world.Look([](const plan::World& seen) {
    const auto plan = group::Decide(seen, {"fresh", std::string("pod.") + kUid});
    EXPECT_THAT(plan.actions, IsEmpty());
  });
}

TEST_F(GroupTest, WhyItWaitsAndWhenItShallBeginStandsOnThePod) {
  world.Put(Labelled());
  slurm::Job job = testing::JobOf(kUid, JobState{JobFlag::kPending});
  job.state_reason = "Resources";
  job.start_time = world.now + 30min;
  JobIs(job);
  EXPECT_EQ(Shown(Decide()),
            "job " + std::to_string(job.id) +
                " waits in partition bridge: Resources; Slurm expects it to start about 2026-11-21T08:30Z");
  EXPECT_EQ(Shown(Decide(Duration(0))), "") << "not what would stand for less than a second";
  job.start_time = world.now + 5h + 3min;
  JobIs(job);
  EXPECT_THAT(Shown(Decide()), HasSubstr("about 2026-11-21T13:10Z"));
}

TEST_F(GroupTest, AnAllocatedPodIsReleasedToItsNodeUnderFreshProof) {
  world.Put(Labelled());
  JobIs(JobState{JobFlag::kRunning}, "w-0");
  const plan::Plan plan = Decide();
  EXPECT_THAT(ActionNames(plan), ElementsAre(std::string("release ") + kPodTarget));
  EXPECT_THAT(Guards(plan, 0), ElementsAre(HasSubstr("bears our mark and runs on Slurm node w-0")));
  EXPECT_EQ(plan.actions[0].event->reason, "Allocated");
}

TEST_F(GroupTest, WhatIsBeingEndedByUsIsNotReleasedAnyMore) {
  world.Put(Labelled());
  slurm::Job job = testing::JobOf(kUid, JobState{JobFlag::kRunning}, "w-0");
  JobIs(job);
  world.in_flight = {JobTarget()};
  EXPECT_THAT(Decide().actions, IsEmpty()) << "its cancellation may be on its way";
  world.in_flight = {};
  job.admin_comment = testing::MarkOf(kUid, 1, "NodeUnsuitable").ToString();
  JobIs(job);
  EXPECT_THAT(ActionNames(Decide()), ElementsAre("cancel " + JobTarget())) << "by a process that died meanwhile";
}

TEST_F(GroupTest, ANodeIsFoundByItsLabelItsWorkersCommentOrItsName) {
  world.Put(Labelled());
  Node labelled = testing::ReadyNode("node-2");
  labelled.metadata.labels[std::string(kSlurmNodeName)] = "w-0";
  world.Put(labelled);
  const auto name = [&](const std::string& slurm_node) {
    std::string found;
    world.Look([&](const plan::World& seen) {
      const auto node = KubernetesNodeOf(seen, seen.Slurm(kSlurm), slurm_node);
      found = node ? *node : node.error().message();
    });
    return found;
  };
  EXPECT_EQ(name("w-0"), "node-2") << "a label wins";
  EXPECT_EQ(name("node-1"), "node-1");
  EXPECT_THAT(name("w-9"), HasSubstr("is no node of this Kubernetes cluster"));
  Node twin = testing::ReadyNode("node-3");
  twin.metadata.labels = labelled.metadata.labels;
  world.Put(twin);
  EXPECT_THAT(name("w-0"), HasSubstr("node-2 and node-3 both bear the label"));
}

TEST_F(GroupTest, WaitsForANodeThatCannotTakeItAndGivesItUpAfterAWhile) {
  Node node = testing::ReadyNode("node-1");
  node.status.conditions = {{"Ready", "Unknown"}};
  world.Put(node);
  world.Put(Labelled());
  JobIs(JobState{JobFlag::kRunning}, "w-0");
  EXPECT_THAT(Shown(Decide()), HasSubstr("Kubernetes node node-1 is not ready"));
  const plan::Plan plan = Decide(settings.bind_timeout);
  EXPECT_THAT(ActionNames(plan), ElementsAre("comment " + JobTarget(), "cancel " + JobTarget()));
  EXPECT_THAT(Guards(plan, 1), ElementsAre(HasSubstr("bears our mark"), HasSubstr("has been released")));
  world.in_flight = {kPodTarget};
  EXPECT_THAT(Decide(settings.bind_timeout).actions, IsEmpty()) << "it may be released just now";
}

TEST_F(GroupTest, NoPodGoesWhereAnotherStillIsUnlessSlurmLetsBothBeThere) {
  Pod other = Bound();
  other.metadata.name = "other";
  other.metadata.uid = "uid-other";
  const int64_t others = testing::IdOf("uid-other");
  other.metadata.labels[std::string(kJobId)] = std::to_string(others);
  const slurm::Job own = testing::JobOf(kUid, JobState{JobFlag::kRunning}, "w-0");
  const auto done = [&](std::optional<std::optional<slurm::Job>> its_job) {
    std::map<int64_t, std::optional<slurm::Job>> jobs{{own.id, own}};
    if (its_job) jobs[others] = *its_job;
    world.Jobs(kSlurm, std::move(jobs));
    world.Put(other);
    world.Put(Labelled());
    const plan::Plan plan = Decide();
    return ActionNames(plan).front() == std::string("release ") + kPodTarget ? "released" : Shown(plan);
  };
  const auto job = [&](JobState state) { return testing::JobOf("uid-other", state, "w-0"); };
  EXPECT_EQ(done(job(JobState{JobFlag::kRunning})), "released");
  const std::string there = "pod ml/other is still on Kubernetes node node-1";
  EXPECT_THAT(done(job(JobState{JobFlag::kTimeout})), HasSubstr(there));
  EXPECT_THAT(done(job(JobState{JobFlag::kSuspended})), HasSubstr(there));
  EXPECT_THAT(done(std::optional<slurm::Job>()), HasSubstr(there)) << "Slurm has lost it";
  EXPECT_THAT(done(std::nullopt), HasSubstr(there)) << "not looked at yet";
  slurm::Job strangers = job(JobState{JobFlag::kRunning});
  strangers.admin_comment = testing::MarkOf("uid-third").ToString();
  EXPECT_THAT(done(strangers), HasSubstr(there));
  other.metadata.deletion_timestamp = world.now;
  EXPECT_THAT(done(job(JobState{JobFlag::kTimeout})), HasSubstr(there + " and ends"));
  // Released to that node, and not bound yet.
  other.spec.node_name.clear();
  other.metadata.annotations[std::string(kSlurmNode)] = "node-1";
  EXPECT_THAT(done(job(JobState{JobFlag::kTimeout})), HasSubstr(there));
  other.status.phase = "Failed";
  EXPECT_EQ(done(job(JobState{JobFlag::kTimeout})), "released");
}

TEST_F(GroupTest, AJobThatAPersonCancelledIsNotSubmittedAgain) {
  world.Put(Labelled());
  slurm::Job job = testing::JobOf(kUid, JobState{JobFlag::kCancelled});
  job.end_time = world.now - 24h;
  JobIs(job);
  const plan::Plan plan = Decide();
  EXPECT_THAT(Shown(plan),
              HasSubstr("by somebody's wish; delete the pod, or give annotation capstan.dev/retry another text"));
  EXPECT_EQ(plan.actions.size(), 1u);
  // Slurm forgets it after a while, or cannot be asked.
  world.Put(Saying(Labelled(), "False", "CancelledInSlurm"));
  JobIs(std::nullopt);
  EXPECT_THAT(Decide(24h).actions, IsEmpty());
  world.slurm[kSlurm].state = plan::SlurmLook::State::kUnreachable;
  EXPECT_THAT(Decide(24h).actions, IsEmpty());
}

TEST_F(GroupTest, AJobThatEndedBeforeItsPodStartedIsFollowedByTheNextAttempt) {
  world.Put(Labelled());
  slurm::Job job = testing::JobOf(kUid, JobState{JobFlag::kNodeFail});
  job.end_time = world.now - 3s;
  JobIs(job);
  EXPECT_THAT(Shown(Decide()), HasSubstr("ended as NODE_FAIL"));
  job.end_time = world.now - 11s;
  JobIs(job);
  EXPECT_THAT(ActionNames(Decide()), ElementsAre(std::string("label ") + kPodTarget));
  // One that we ended ourselves, as its node could not be used, is no person's.
  job.state = JobState{JobFlag::kCancelled};
  job.admin_comment = testing::MarkOf(kUid, 1, "NodeUnsuitable").ToString();
  JobIs(job);
  EXPECT_THAT(ActionNames(Decide()), ElementsAre(std::string("label ") + kPodTarget));
}

TEST_F(GroupTest, AStrangersJobUnderItsIdIsLeftAlone) {
  slurm::Job job = testing::JobOf(kUid, JobState{JobFlag::kRunning}, "w-0");
  for (const std::string& comment :
       {std::string(), std::string("a person's"), testing::MarkOf("uid-other").ToString()}) {
    job.admin_comment = comment;
    job.name = "another";
    world.Put(Labelled());
    JobIs(job);
    EXPECT_THAT(Shown(Decide(9s)), HasSubstr("is another's; the next is submitted soon")) << comment;
    EXPECT_THAT(ActionNames(Decide(10s)), ElementsAre(std::string("label ") + kPodTarget)) << comment;
    world.Put(Bound());
    const plan::Plan plan = Decide();
    EXPECT_THAT(Shown(plan), HasSubstr("is not this pod's")) << comment;
    EXPECT_EQ(plan.actions.size(), 1u) << "a pod that runs stays";
  }
}

// Each other attempt would be changed likewise, and hold another node for no pod.
TEST_F(GroupTest, AJobWhoseMarkSomebodyChangesIsNotFollowedByAnother) {
  slurm::Job job = testing::JobOf(kUid, JobState{JobFlag::kRunning}, "w-0");
  job.admin_comment = "set by job_submit.lua";
  world.Put(Labelled());
  JobIs(job);
  const plan::Plan plan = Decide(24h);
  EXPECT_THAT(Shown(plan), HasSubstr("its admin_comment is \"set by job_submit.lua\" instead of the bridge's mark"));
  EXPECT_EQ(plan.actions.size(), 1u);
  world.Put(Saying(Labelled(), "False", "MarkChanged"));
  JobIs(std::nullopt);
  EXPECT_THAT(Decide(24h).actions, IsEmpty()) << "after its end, too";
}

TEST_F(GroupTest, APodThatRunsSaysUnderWhichJob) {
  world.Put(Bound());
  JobIs(JobState{JobFlag::kRunning}, "w-0");
  EXPECT_THAT(Shown(Decide()), HasSubstr("on Slurm node w-0"));
  world.Put(testing::ReadyNode("node-2"));
  world.Nodes(kSlurm, {{.name = "w-0", .comment = R"({"namespace":"slurm","podName":"w-0","node":"node-2"})"}});
  JobIs(JobState{JobFlag::kRunning}, "w-0");
  EXPECT_THAT(Shown(Decide()), HasSubstr("which is not Kubernetes node node-1; the pod is there"));
}

TEST_F(GroupTest, WhatTheSchedulerRefusesHoldsItsNodeNoLongerThanAWhile) {
  Pod pod = Released();
  JobIs(JobState{JobFlag::kRunning}, "w-0");
  world.Put(pod);
  EXPECT_THAT(Decide(24h).actions, IsEmpty()) << "the scheduler's silence is no refusal";
  pod.status.conditions.push_back({"PodScheduled", "False", "Unschedulable", "0/3 nodes are available"});
  world.Put(pod);
  EXPECT_THAT(Shown(Decide()), HasSubstr("does not place the pod there: 0/3 nodes are available"));
  plan::Plan plan = Decide(settings.bind_timeout);
  EXPECT_THAT(ActionNames(plan), ElementsAre("comment " + JobTarget(), "cancel " + JobTarget(),
                                             std::string("set conditions ") + kPodTarget + "/status"));
  EXPECT_THAT(Guards(plan, 1), ElementsAre(HasSubstr("bears our mark"), HasSubstr("is on a node")));
  // Its job is over then. What nobody would make again is not deleted.
  JobIs(JobState{JobFlag::kCancelled});
  plan = Decide();
  EXPECT_THAT(ActionNames(plan), ElementsAre(std::string("fail ") + kPodTarget));
  EXPECT_THAT(Guards(plan, 0), ElementsAre(HasSubstr("is over"), HasSubstr("is on no node")));
  pod.metadata.owner_references = {
      {.api_version = "apps/v1", .kind = "ReplicaSet", .name = "r", .uid = "u", .controller = true}};
  world.Put(pod);
  EXPECT_THAT(ActionNames(Decide()), ::testing::Contains(std::string("delete ") + kPodTarget));
}

TEST_F(GroupTest, APodIsDeletedWhenItsJobIsOverAndNeverForLess) {
  for (const JobFlag end : {JobFlag::kTimeout, JobFlag::kCancelled, JobFlag::kNodeFail, JobFlag::kPreempted}) {
    world.Put(Bound());
    JobIs(JobState{end});
    const plan::Plan plan = Decide();
    EXPECT_THAT(ActionNames(plan), ElementsAre(std::string("set conditions ") + kPodTarget + "/status",
                                               std::string("delete ") + kPodTarget));
    EXPECT_THAT(Guards(plan, 1),
                ElementsAre(HasSubstr("bears our mark and is over"), HasSubstr("has not ended by itself")));
    EXPECT_EQ(plan.actions[1].event->reason, "Ended");
  }
  for (const JobState& state : {JobState{JobFlag::kPending}, JobState{JobFlag::kSuspended}, JobState{JobFlag::kRunning},
                                JobState{JobFlag::kCompleting, JobFlag::kRunning}, JobState()}) {
    world.Put(Bound());
    JobIs(testing::JobOf(kUid, state, "w-0"));
    for (const std::string& action : ActionNames(Decide()))
      EXPECT_THAT(action, HasSubstr("set conditions")) << state.ToString();
  }
}

TEST_F(GroupTest, AbsenceEndsNoPodThatRuns) {
  world.Put(Bound());
  JobIs(std::nullopt);
  EXPECT_THAT(Decide().actions, IsEmpty());
  plan::Plan plan = Decide(30s);
  EXPECT_THAT(Shown(plan), HasSubstr("the pod goes on, and its nodes are booked anew"));
  EXPECT_EQ(plan.actions.size(), 1u);
  EXPECT_THAT(plan.slurm_follows, ElementsAre(testing::IdOf(kUid), testing::IdOf(kUid, 2)));
  world.Jobs(kSlurm, {{testing::IdOf(kUid), std::nullopt}, {testing::IdOf(kUid, 2), std::nullopt}});
  plan = Decide(30s);
  EXPECT_THAT(ActionNames(plan),
              ElementsAre("submit " + JobTarget(2), std::string("set conditions ") + kPodTarget + "/status"));
  EXPECT_EQ(plan.actions[0].event->reason, "Rebooked");
  world.Jobs(kSlurm, {{testing::IdOf(kUid), std::nullopt},
                      {testing::IdOf(kUid, 2), testing::JobOf(kUid, JobState{JobFlag::kPending}, "", 2)}});
  world.follows = {testing::IdOf(kUid), testing::IdOf(kUid, 2)};
  plan = Decide(30s);
  EXPECT_THAT(ActionNames(plan), ::testing::Contains(std::string("label ") + kPodTarget));
  EXPECT_THAT(ActionNames(plan), ::testing::Not(::testing::Contains(HasSubstr("cancel")))) << "it is no leftover";
}

TEST_F(GroupTest, PodsOfAJobThatIsToMakeRoomAreEndedInItsGraceTime) {
  world.Put(Bound());
  slurm::Job job = testing::JobOf(kUid, JobState{JobFlag::kRunning}, "w-0");
  job.preempt_time = world.now;
  JobIs(job);
  plan::Plan plan = Decide();
  EXPECT_THAT(ActionNames(plan), ElementsAre(std::string("set conditions ") + kPodTarget + "/status",
                                             std::string("delete ") + kPodTarget));
  EXPECT_THAT(Guards(plan, 1), ElementsAre(HasSubstr("is over or preempted"), HasSubstr("has not ended by itself")));
  EXPECT_EQ(plan.actions[1].event->reason, "Preempted");
  world.Put(Labelled());
  EXPECT_THAT(ActionNames(Decide()), ElementsAre(HasSubstr("comment"), HasSubstr("cancel")))
      << "nobody is released to a node that is given away, or keeps it";
}

TEST_F(GroupTest, AJobThatStaysSuspendedIsCancelledIfItStillIs) {
  world.Put(Bound());
  JobIs(JobState{JobFlag::kSuspended}, "w-0");
  EXPECT_THAT(ActionNames(Decide(29s)), ElementsAre(std::string("set conditions ") + kPodTarget + "/status"));
  const plan::Plan plan = Decide(30s);
  EXPECT_THAT(ActionNames(plan), ::testing::Contains("cancel " + JobTarget()));
  EXPECT_THAT(Guards(plan, 1), ElementsAre(HasSubstr("bears our mark"), HasSubstr("is suspended")));
}

TEST_F(GroupTest, AJobThatIsGoneAfterItWasSeenIsFollowedByTheNextAttemptAfterHalfAMinute) {
  world.Put(Saying(Labelled(), "False", "Pending"));
  JobIs(std::nullopt);
  EXPECT_THAT(Decide().actions, IsEmpty());
  EXPECT_THAT(ActionNames(Decide(30s)), ElementsAre(std::string("label ") + kPodTarget));
}

TEST_F(GroupTest, WhatWasSaidOfTheAttemptBeforeMeansNothingForThisOne) {
  world.Put(Saying(Labelled(2), "False", "Pending", 1));
  JobIs(std::nullopt, 2);
  EXPECT_THAT(ActionNames(Decide()), ElementsAre("submit " + JobTarget(2)));
}

TEST_F(GroupTest, WhileSlurmIsNotHeardNothingIsDoneAndThatIsToldAfterAMinute) {
  world.Put(Labelled());
  JobIs(JobState{JobFlag::kRunning}, "w-0");
  world.slurm[kSlurm].state = plan::SlurmLook::State::kUnreachable;
  world.slurm[kSlurm].error = "connection refused";
  EXPECT_THAT(Decide().actions, IsEmpty());
  EXPECT_EQ(Shown(Decide(1min)), "Slurm cannot be asked: connection refused");
  world.Put(Bound());
  JobIs(JobState{JobFlag::kTimeout});
  EXPECT_THAT(Decide(1min).actions, IsEmpty()) << "what is known is old";
}

TEST_F(GroupTest, OldNewsOfAJobCountForNothing) {
  world.Put(Bound());
  JobIs(JobState{JobFlag::kTimeout});
  world.slurm[kSlurm].followed_age = 2min;
  EXPECT_THAT(Decide().actions, IsEmpty());
}

TEST_F(GroupTest, WhenThePodHasEndedItsJobIsEndedWithTheOutcomeUnderProof) {
  Pod pod = Bound();
  pod.status.phase = "Succeeded";
  world.Put(pod);
  JobIs(JobState{JobFlag::kRunning}, "w-0");
  plan::Plan plan = Decide();
  EXPECT_THAT(ActionNames(plan), ElementsAre("comment " + JobTarget(), "cancel " + JobTarget()));
  for (const size_t action : {0, 1})
    EXPECT_THAT(Guards(plan, action), ElementsAre(HasSubstr("bears our mark"), HasSubstr("no pod with")));
  EXPECT_EQ(plan.actions[1].after.size(), 1u);

  JobIs(JobState{JobFlag::kCancelled});
  plan = Decide();
  EXPECT_THAT(Shown(plan), HasSubstr("ended with the pod"));
  world.Put(Saying(pod, "False", "Ended"));
  plan = Decide();
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_THAT(plan.slurm_follows, IsEmpty()) << "a pod that has ended may stay for days";
  world.Put(Saying(pod, "False", "Ended", 7));
  JobIs(JobState{JobFlag::kRunning}, "w-0");
  EXPECT_THAT(ActionNames(Decide()), ::testing::Contains("cancel " + JobTarget())) << "said of another job";
}

TEST_F(GroupTest, ThatAJobEndedWithItsPodIsNotToldFromOneLook) {
  Pod pod = Bound();
  pod.status.phase = "Succeeded";
  world.Put(pod);
  JobIs(std::nullopt);
  EXPECT_EQ(Shown(Decide(29s)), "");
  EXPECT_THAT(Shown(Decide(30s)), HasSubstr("is not known to Slurm any more, and the pod has ended"));
  JobIs(JobState{JobFlag::kCancelled});
  world.slurm[kSlurm].followed_age = 2min;
  EXPECT_EQ(Shown(Decide(24h)), "") << "what is known is old";
}

TEST_F(GroupTest, APodThatIsBeingDeletedKeepsItsJobUntilItIsGone) {
  Pod pod = Bound();
  pod.metadata.deletion_timestamp = world.now;
  world.Put(pod);
  for (const JobState& state : {JobState{JobFlag::kRunning}, JobState{JobFlag::kTimeout}}) {
    JobIs(state, "w-0");
    const plan::Plan plan = Decide();
    EXPECT_THAT(plan.actions, IsEmpty());
    EXPECT_THAT(plan.slurm_follows, ElementsAre(testing::IdOf(kUid)));
  }
}

// A kubelet that is away may never say that the pod has ended.
TEST_F(GroupTest, APodThatIsBeingDeletedOnANodeThatIsNotReadyKeepsItsJobAndSaysWhatHelps) {
  Pod pod = Bound();
  pod.metadata.deletion_timestamp = world.now;
  world.Put(pod);
  Node node = testing::ReadyNode("node-1");
  node.status.conditions = {{"Ready", "Unknown"}};
  world.Put(node);
  JobIs(JobState{JobFlag::kRunning}, "w-0");
  EXPECT_THAT(Decide(59s).actions, IsEmpty());
  const plan::Plan plan = Decide(1min);
  EXPECT_THAT(ActionNames(plan), ElementsAre("set conditions Pod ml/trainer/status"));
  EXPECT_THAT(Shown(plan), HasSubstr("stays: the pod is being deleted, and its end is not known, as Kubernetes node "
                                     "node-1 is not Ready; if the machine is off, delete the Node"));
  EXPECT_TRUE(plan.actions[0].event->warning);
}

// A finalizer may hold the object for long, and the node with it.
TEST_F(GroupTest, APodThatIsDeletedAtTheGateGivesItsJobBack) {
  Pod pod = Labelled();
  pod.metadata.deletion_timestamp = world.now;
  pod.metadata.finalizers = {"batch.kubernetes.io/job-tracking"};
  world.Put(pod);
  JobIs(JobState{JobFlag::kRunning}, "w-0");
  const plan::Plan plan = Decide();
  EXPECT_THAT(ActionNames(plan), ElementsAre("comment " + JobTarget(), "cancel " + JobTarget()));
  EXPECT_THAT(Guards(plan, 1), ElementsAre(HasSubstr("bears our mark"), HasSubstr("has been released")));
}

// One of an attempt before, that came back with slurmctld's old state, or was handed over at the start.
TEST_F(GroupTest, ASecondJobOfTheGroupIsEndedUnderProof) {
  world.Put(Labelled(2));
  world.follows = {testing::IdOf(kUid, 1), testing::IdOf(kUid, 2)};
  const auto both = [&](slurm::Job old) {
    world.Jobs(kSlurm, {{testing::IdOf(kUid, 1), old},
                        {testing::IdOf(kUid, 2), testing::JobOf(kUid, JobState{JobFlag::kPending}, "", 2)}});
  };
  both(testing::JobOf(kUid, JobState{JobFlag::kRunning}, "w-0", 1));
  plan::Plan plan = Decide(Duration(0));
  EXPECT_THAT(ActionNames(plan), ElementsAre("comment " + JobTarget(1), "cancel " + JobTarget(1)));
  EXPECT_THAT(Guards(plan, 1),
              ElementsAre(HasSubstr("bears our mark"), HasSubstr("no pod with scheduler.slinky.slurm.net/slurm-jobid=" +
                                                                 std::to_string(testing::IdOf(kUid, 1)))));
  EXPECT_THAT(plan.slurm_follows, ElementsAre(testing::IdOf(kUid, 2), testing::IdOf(kUid, 1)));
  both(testing::JobOf(kUid, JobState{JobFlag::kCancelled}, "w-0", 1));
  plan = Decide(Duration(0));
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_THAT(plan.slurm_follows, ElementsAre(testing::IdOf(kUid, 2)));
  // Nothing is known of which job is its own.
  world.Put(testing::GatedPod());
  both(testing::JobOf(kUid, JobState{JobFlag::kRunning}, "w-0", 1));
  plan = Decide(Duration(0));
  EXPECT_THAT(ActionNames(plan), ElementsAre(std::string("label ") + kPodTarget));
  EXPECT_THAT(plan.slurm_follows, ElementsAre(testing::IdOf(kUid, 1), testing::IdOf(kUid, 2)));
}

TEST_F(GroupTest, NumbersThatMakeNoSenseAreNotFollowed) {
  for (const std::string& text : {"-1", "0", "2147483648", "99999999999999999999", "x"}) {
    Pod pod = Bound();
    pod.metadata.labels[std::string(kJobId)] = text;
    pod.metadata.annotations[std::string(kAttempt)] = text;
    world.Put(pod);
    const plan::Plan plan = Decide();
    EXPECT_THAT(plan.slurm_follows, IsEmpty()) << text;
    EXPECT_THAT(plan.actions, IsEmpty()) << text;
  }
}

TEST_F(GroupTest, WhatIsLeftOfAGroupWithoutPodsIsEndedUnderProof) {
  world.follows = {testing::IdOf(kUid)};
  EXPECT_THAT(Decide().slurm_follows, ElementsAre(testing::IdOf(kUid))) << "not looked at yet";
  JobIs(JobState{JobFlag::kPending});
  plan::Plan plan = Decide();
  EXPECT_THAT(ActionNames(plan), ElementsAre("comment " + JobTarget(), "cancel " + JobTarget()));
  EXPECT_THAT(Guards(plan, 1), ElementsAre(HasSubstr("bears our mark"), HasSubstr("no pod with")));
  EXPECT_THAT(plan.slurm_follows, ElementsAre(testing::IdOf(kUid)));
  for (const auto& [what, job] : std::map<std::string, std::optional<slurm::Job>>{
           {"over", testing::JobOf(kUid, JobState{JobFlag::kCancelled})},
           {"absent", std::nullopt},
           {"another's", testing::JobOf("uid-other", JobState{JobFlag::kRunning})}}) {
    JobIs(job);
    plan = Decide(1min);
    EXPECT_THAT(plan.actions, IsEmpty()) << what;
    EXPECT_THAT(plan.slurm_follows, IsEmpty()) << what;
  }
}

TEST_F(GroupTest, ASubmissionThatArrivesAfterThePodHasGoneIsStillSeen) {
  world.follows = {testing::IdOf(kUid)};
  JobIs(std::nullopt);
  EXPECT_THAT(Decide(30s).slurm_follows, ElementsAre(testing::IdOf(kUid)));
  // What was heard before is no news of it.
  world.slurm[kSlurm].state = plan::SlurmLook::State::kUnreachable;
  EXPECT_THAT(Decide(24h).slurm_follows, ElementsAre(testing::IdOf(kUid)));
  JobIs(JobState{JobFlag::kPending});
  EXPECT_THAT(Decide(24h).actions, IsEmpty());
}

}  // namespace
}  // namespace capstan::bridge::group
