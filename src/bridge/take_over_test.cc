// Pods and jobs that Slinky's slurm-bridge has left behind.
#include "bridge/take_over.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "bridge/life_fixture.h"
#include "bridge/mark.h"
#include "bridge/names.h"

namespace capstan::bridge {
namespace {

using slurm::JobFlag;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class TakenOver : public testing::BridgeLife {
 protected:
  TakenOver() {
    settings.take_over = true;
    for (const int i : {1, 2, 3}) HasCpus("node-" + std::to_string(i), "4");
  }
  void HasCpus(const std::string& node, const std::string& cpus) {
    server.Edit(
        kube::kNodes, {"", node}, "status",
        [&](json::Value& value) { json::MakeObject(value, {"status", "allocatable"})["cpu"] = cpus; }, "kubelet");
  }

  // `job`: 0: none. `more`: of its spec, with a comma before each.
  void PutPeersPod(const std::string& name, int64_t job, const std::string& node, const std::string& phase = "Pending",
                   const std::string& labels = {}, const std::string& more = {}) {
    const std::string id =
        job == 0 ? R"("some":"label")" : R"("scheduler.slinky.slurm.net/slurm-jobid":")" + std::to_string(job) + "\"";
    server.Put(kube::kPods, R"({"metadata":{"namespace":"ml","name":")" + name + R"(","labels":{)" + id + labels +
                                R"(},"finalizers":["other.org/x","scheduler.slinky.slurm.net/finalizer"]},)" +
                                R"("spec":{"schedulerName":"slurm-bridge-scheduler")" +
                                (node.empty() ? "" : R"(,"nodeName":")" + node + "\"") + more +
                                R"(,"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}})");
    Becomes(phase, name);
  }
  // As Slinky's bridge submits it, for these pods of namespace ml; it runs on that node of Slurm, or waits.
  void PutPeersJob(int64_t id, const std::vector<std::string>& pods, const std::string& node = {}) {
    std::string comment;
    for (const std::string& pod : pods) comment += (comment.empty() ? "\"ml/" : ",\"ml/") + pod + "\"";
    slurm.SubmitJob({.id = id, .name = "", .partition = "bridge", .admin_comment = "{\"pods\":[" + comment + "]}"});
    if (!node.empty()) ASSERT_TRUE(slurm.RunPending(id, {node}));
  }
  void Delete(const std::string& name) { server.Remove(kube::kPods, {"ml", name}); }
  void IsTaken(const std::string& name) {
    EXPECT_THAT(Says(name), HasSubstr(R"("capstan.dev/bridged":")" + settings.bridge + "\""));
    EXPECT_THAT(Says(name), Not(HasSubstr("slinky.slurm.net/finalizer")));
    EXPECT_THAT(Says(name), HasSubstr("other.org/x"));
  }
  void IsLeft(const std::string& name, const std::string& why) {
    EXPECT_THAT(Says(name), Not(HasSubstr("capstan.dev/bridged")));
    EXPECT_THAT(Says(name), HasSubstr("slinky.slurm.net/finalizer"));
    EXPECT_THAT(Says(name), HasSubstr("NotTakenOver"));
    EXPECT_THAT(Says(name), HasSubstr(why));
    EXPECT_THAT(Says(name), Not(HasSubstr("capstan.dev/attempt")));
    EXPECT_THAT(slurm.jobs(), ::testing::Each(::testing::Key(::testing::Lt(settings.first_id))))
        << "none was asked for";
  }
  static constexpr auto kOfSet =
      R"(,"leaderworkerset.sigs.k8s.io/name":"set","leaderworkerset.sigs.k8s.io/group-key":"h")";
  // A process that is gone in the moment of that write, whoever takes it.
  void StartAndStopAfter(size_t writes) {
    Start(Duration(0));
    loop.RunUntil([&] { return Writes() >= writes; }, 1min);
    process.reset();
  }
  const slurm::Job& JobNow(int64_t id) { return slurm.jobs().at(id); }
};

TEST_F(TakenOver, WhatRunsGoesOnAndWhatWaitsKeepsItsPlaceInTheQueue) {
  PutPeersJob(7, {"runs"}, "w-0");
  PutPeersJob(8, {"waits"});
  PutPeersPod("runs", 7, "node-1", "Running");
  PutPeersPod("waits", 8, "");
  Start();
  loop.Advance(1min);
  IsTaken("runs");
  IsTaken("waits");
  ASSERT_EQ(slurm.jobs().size(), 2u);
  EXPECT_TRUE(JobNow(7).state.Has(JobFlag::kRunning));
  EXPECT_TRUE(JobNow(8).state.IsPending());
  EXPECT_EQ(JobNow(8).name, "ml/waits");
  EXPECT_THAT(JobNow(8).admin_comment, StartsWith("capstan-bridge "));
  EXPECT_THAT(Says("waits"), HasSubstr("job 8 waits in partition bridge"));
  EXPECT_THAT(Says("runs"), HasSubstr("job 7 on Slurm node w-0"));

  ASSERT_TRUE(slurm.RunPending(8, {"w-1"}));
  loop.Advance(1min);
  EXPECT_EQ(json::FindText(*PodNow("waits"), {"spec", "nodeName"}), "node-2");
  EXPECT_EQ(NodeOf("waits"), "node-2");
  for (const char* pod : {"runs", "waits"}) Becomes("Succeeded", pod);
  loop.Advance(1min);
  for (const int64_t id : {7, 8}) {
    EXPECT_TRUE(JobNow(id).state.IsOver());
    EXPECT_THAT(JobNow(id).admin_comment, HasSubstr(R"("o":"Succeeded")"));
  }
}

TEST_F(TakenOver, WithoutTheSettingNothingIsTouched) {
  settings.take_over = false;
  PutPeersJob(7, {"runs"}, "w-0");
  PutPeersPod("runs", 7, "node-1", "Running");
  PutPeersPod("waits", 0, "");
  const std::string before[] = {Says("runs"), Says("waits")};
  Start();
  loop.Advance(1h);
  EXPECT_EQ(Says("runs"), before[0]);
  EXPECT_EQ(Says("waits"), before[1]);
  EXPECT_THAT(JobNow(7).admin_comment, StartsWith("{\"pods\""));
}

TEST_F(TakenOver, APodThatHasEndedMeanwhileEndsItsJobAndIsLetGo) {
  PutPeersJob(7, {"done"}, "w-0");
  PutPeersJob(8, {"deleted"});
  PutPeersPod("done", 7, "node-1", "Succeeded");
  PutPeersPod("deleted", 8, "");
  PutPeersPod("old", 99, "node-1", "Failed");
  Delete("deleted");
  Start();
  loop.Advance(2min);
  EXPECT_TRUE(JobNow(7).state.IsOver());
  EXPECT_TRUE(JobNow(8).state.IsOver());
  for (const char* pod : {"done", "deleted", "old"}) {
    EXPECT_THAT(Says(pod), Not(HasSubstr("slinky.slurm.net/finalizer"))) << pod;
    EXPECT_THAT(Says(pod), HasSubstr("other.org/x")) << "another's finalizer stays";
  }
}

TEST_F(TakenOver, APodThatRunsIsDeletedOnceSlurmSaysThatItsJobIsOver) {
  PutPeersJob(7, {"late"}, "w-0");
  PutPeersPod("late", 7, "node-1", "Running");
  slurm.EndJobAs(7, JobFlag::kTimeout);
  Start();
  loop.Advance(1min);
  EXPECT_THAT(Says("late"), HasSubstr("deletionTimestamp"));
  EXPECT_THAT(told, ::testing::Contains("late: Ended"));
  Becomes("Failed", "late");
  loop.Advance(1min);
  EXPECT_THAT(Says("late"), Not(HasSubstr("slinky.slurm.net/finalizer")));
}

TEST_F(TakenOver, APodWhoseIdNobodyButItselfSaysIsLeftAlone) {
  PutPeersJob(7, {"other"}, "w-0");
  ASSERT_TRUE(slurm.StartJob({.nodes = {"w-1"}, .user = "ann"}));
  const int64_t anns = slurm.jobs().begin()->first == 7 ? slurm.jobs().rbegin()->first : slurm.jobs().begin()->first;
  PutPeersPod("forged", 7, "node-1", "Running");
  PutPeersPod("anns", anns, "node-2", "Running");
  PutPeersPod("none", 55, "node-3", "Running");
  Start();
  loop.Advance(5min);
  IsLeft("forged", "job 7 is not this pod's");
  IsLeft("anns", "is not this pod's");
  IsLeft("none", "Slurm has no job 55 that has not ended");
  EXPECT_TRUE(JobNow(7).state.Has(JobFlag::kRunning));
  EXPECT_TRUE(JobNow(anns).state.Has(JobFlag::kRunning));
  EXPECT_THAT(JobNow(7).admin_comment, StartsWith("{\"pods\""));
}

TEST_F(TakenOver, APodThatNeedsASchedulerOrStandsWithAStrangerIsTold) {
  PutPeersPod(
      "gpu", 0, "", "Pending", "",
      R"(,"initContainers":[{"name":"i","resources":{"limits":{"deviceclass.resource.kubernetes.io/g":"1"}}}])");
  PutPeersJob(7, {"claims"});
  PutPeersPod("claims", 7, "", "Pending", "", R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}])");
  PutPeersPod("devices", 0, "", "Pending", "", R"(,"resourceClaims":[{"name":"gpu"}])");
  PutPeersJob(8, {"a", "b"}, "w-0");
  PutPeersPod("a", 8, "node-1", "Running");
  PutPeersPod("b", 8, "node-2", "Running");
  Start();
  loop.Advance(5min);
  IsLeft("claims", "it has volumes, claims or devices that only its scheduler could give it");
  IsLeft("gpu", "claims or devices");
  IsLeft("devices", "delete it, so that its controller makes another");
  for (const char* pod : {"a", "b"}) IsLeft(pod, "job 8 stands for pods that are no group to this bridge");
  EXPECT_TRUE(JobNow(8).state.Has(JobFlag::kRunning));
  Delete("claims");
  loop.Advance(2min);
  EXPECT_TRUE(JobNow(7).state.IsOver()) << "nobody else ends it";
}

TEST_F(TakenOver, AWaitingPodWithoutAJobHasOneAskedForAnew) {
  PutPeersPod("fresh", 0, "");
  PutPeersPod("lost", 55, "");
  Start();
  loop.Advance(1min);
  for (const char* pod : {"fresh", "lost"}) {
    IsTaken(pod);
    EXPECT_THAT(Says(pod), Not(HasSubstr(R"(slurm-jobid":"55")")));
  }
  ASSERT_EQ(slurm.jobs().size(), 2u);
  EXPECT_GE(slurm.jobs().begin()->first, settings.first_id);
  for (const int i : {0, 1})
    ASSERT_TRUE(slurm.RunPending(std::next(slurm.jobs().begin(), i)->first, {"w-" + std::to_string(i)}));
  loop.Advance(1min);
  for (const char* pod : {"fresh", "lost"}) EXPECT_NE(json::FindText(*PodNow(pod), {"spec", "nodeName"}), "") << pod;
}

TEST_F(TakenOver, AGroupIsTakenAsOneAndOneOfItThatIsGoneDoesNotCostTheOthersTheirPlace) {
  PutPeersJob(7, {"l", "w", "gone"});
  for (const char* pod : {"l", "w", "gone"}) PutPeersPod(pod, 7, "", "Pending", kOfSet);
  Delete("gone");
  Start();
  loop.Advance(2min);
  for (const char* pod : {"l", "w", "gone"}) IsTaken(pod);
  EXPECT_TRUE(JobNow(7).state.IsPending());
  EXPECT_EQ(slurm.jobs().size(), 1u);
}

TEST_F(TakenOver, APodWithoutAJobJoinsThatOfItsGroupAndTwoJobsOfOneGroupAreLeftAlone) {
  PutPeersJob(7, {"l", "w"}, "w-0");
  PutPeersPod("l", 7, "node-1", "Running", kOfSet);
  PutPeersPod("w", 0, "", "Pending", kOfSet);
  const std::string other = R"(,"scheduling.x-k8s.io/pod-group":"g")";
  PutPeersJob(8, {"a"}, "w-1");
  PutPeersJob(9, {"b"}, "w-2");
  PutPeersPod("a", 8, "node-2", "Running", other);
  PutPeersPod("b", 9, "node-3", "Running", other);
  PutPeersPod("c", 0, "", "Pending", other);
  Start();
  loop.Advance(2h);
  for (const char* pod : {"l", "w"}) IsTaken(pod);
  EXPECT_THAT(Says("l"), HasSubstr(R"(slurm-jobid":"7")"));
  EXPECT_THAT(Says("w"), HasSubstr("job 7 on w-0 has no free place"));
  IsLeft("a", "others of its group have job 9");
  IsLeft("b", "others of its group have job 8");
  IsLeft("c", "waits until those of its group that have a job are taken over");
  EXPECT_EQ(slurm.jobs().size(), 3u);
  for (const int64_t id : {7, 8, 9}) EXPECT_TRUE(JobNow(id).state.Has(JobFlag::kRunning)) << id;
}

TEST_F(TakenOver, PodsThatAreNoGroupAndHaveEndedStillEndTheirJob) {
  PutPeersJob(7, {"a", "b"}, "w-0");
  PutPeersPod("a", 7, "node-1", "Running");
  PutPeersPod("b", 7, "node-1", "Succeeded");
  Start();
  loop.Advance(1min);
  IsLeft("a", "no group to this bridge");
  Becomes("Succeeded", "a");
  loop.Advance(5min);
  EXPECT_TRUE(JobNow(7).state.IsOver());
  for (const char* pod : {"a", "b"}) EXPECT_THAT(Says(pod), Not(HasSubstr("slinky.slurm.net/finalizer"))) << pod;
}

TEST_F(TakenOver, AJobThatRunsElsewhereIsNotThatOfAPodHere) {
  PutPeersJob(7, {"here"}, "w-1");
  PutPeersPod("here", 7, "node-1", "Running");
  slurm.StartSlurmd({.name = "far", .address = "10.0.0.9", .features = {}, .topology = ""});
  PutPeersJob(8, {"waits"}, "far");
  PutPeersPod("waits", 8, "");
  Start();
  loop.Advance(1min);
  IsLeft("here", "job 7 runs on w-1, and the pods that it names are elsewhere");
  IsLeft("waits", "job 8 runs on far");
}

TEST_F(TakenOver, ManyPodsThatHaveEndedKeepNoneFromItsTurn) {
  for (int i = 0; i < 300; ++i) {
    const std::string name = "a" + std::to_string(i);
    PutPeersPod(name, 1000 + i, "node-1", "Succeeded");
    if (i % 2 == 0) EditPod([](json::Value& pod) { json::MakeObject(pod, {"metadata"}).erase("finalizers"); }, name);
  }
  PutPeersJob(7000, {"z"}, "w-0");
  PutPeersPod("z", 7000, "node-1", "Running");
  Start();
  loop.Advance(5min);
  IsTaken("z");
  EXPECT_THAT(Says("a299"), Not(HasSubstr("slinky.slurm.net/finalizer")));
}

TEST_F(TakenOver, ASlurmctldThatKnowsNoJobForAMomentCostsNobodyItsPlace) {
  PutPeersPod("waits", 8, "");
  Start();
  loop.Advance(20s);
  PutPeersJob(8, {"waits"});
  loop.Advance(2min);
  IsTaken("waits");
  EXPECT_THAT(Says("waits"), HasSubstr(R"(slurm-jobid":"8")"));
  EXPECT_EQ(slurm.jobs().size(), 1u);
}

TEST_F(TakenOver, APodIsBoundOnceNoOtherBridgesPodIsOnTheNodeAndThereIsRoom) {
  HasCpus("node-1", "2");
  PutPeersJob(7, {"late"}, "w-0");
  PutPeersPod("late", 7, "node-1", "Running");
  slurm.EndJobAs(7, JobFlag::kTimeout);
  loop.Advance(1min);
  PutPeersJob(8, {"next"}, "w-0");
  PutPeersPod("next", 8, "");
  Start();
  loop.Advance(30s);
  const auto node_of_next = [this] { return json::FindText(*PodNow("next"), {"spec", "nodeName"}); };
  EXPECT_EQ(node_of_next(), "") << "the one before has not gone";
  EXPECT_THAT(Says("next"), HasSubstr("no longer so that Kubernetes node node-1 has room for pod ml/next"));
  EditPod([](json::Value& pod) { json::MakeObject(pod, {"metadata"}).erase("finalizers"); }, "late");
  server.Remove(kube::kPods, {"ml", "late"}, {.grace_seconds = 0});
  for (const char* name : {"b1", "b2"})
    server.Put(kube::kPods, R"({"metadata":{"namespace":"ml","name":")" + std::string(name) +
                                R"("},"spec":{"nodeName":"node-1","containers":[{"name":"c","resources":)" +
                                R"({"requests":{"cpu":"700m"}}}]},"status":{"phase":"Running"}})");
  loop.Advance(30s);
  EXPECT_EQ(node_of_next(), "") << "1400m of 2 are taken";
  server.Remove(kube::kPods, {"ml", "b1"}, {.grace_seconds = 0});
  loop.Advance(1min);
  EXPECT_EQ(node_of_next(), "node-1");
}

TEST_F(TakenOver, APodThatWasTakenIsNotBoundOnceTheSettingIsAwayAndItsJobIsGivenUp) {
  PutPeersJob(8, {"waits"});
  PutPeersPod("waits", 8, "");
  Start();
  loop.Advance(1min);
  settings.take_over = false;
  Start();
  ASSERT_TRUE(slurm.RunPending(8, {"w-0"}));
  loop.Advance(10s);
  EXPECT_THAT(Says("waits"), HasSubstr("NotPlaced"));
  loop.Advance(settings.bind_timeout + 1min);
  EXPECT_TRUE(JobNow(8).state.IsOver());
  EXPECT_EQ(json::FindText(*PodNow("waits"), {"spec", "nodeName"}), "");
}

// After each write of a takeover, on either side.
TEST_F(TakenOver, ThereIsToBeRoomForWhatAPodRequestsAsAWhole) {
  HasCpus("node-1", "2");
  PutPeersJob(8, {"next"}, "w-0");
  PutPeersPod("next", 8, "");
  EditPod(
      [](json::Value& pod) {
        json::MakeObject(pod, {"spec"})["resources"] = *json::Parse(R"({"requests":{"cpu":"3"}})");
      },
      "next");
  Start();
  loop.Advance(30s);
  EXPECT_EQ(json::FindText(*PodNow("next"), {"spec", "nodeName"}), "");
  HasCpus("node-1", "4");
  EXPECT_TRUE(loop.RunUntil([&] { return json::FindText(*PodNow("next"), {"spec", "nodeName"}) == "node-1"; }, 5min));
}

class TakeOverCrash : public TakenOver, public ::testing::WithParamInterface<size_t> {};

TEST_P(TakeOverCrash, IsFollowedByAProcessThatGoesOn) {
  PutPeersJob(7, {"runs"}, "w-0");
  PutPeersPod("runs", 7, "node-1", "Running");
  PutPeersJob(8, {"l", "w"});
  for (const char* pod : {"l", "w"}) PutPeersPod(pod, 8, "", "Pending", kOfSet);
  PutPeersJob(9, {"done"}, "w-1");
  PutPeersPod("done", 9, "node-2", "Succeeded");
  const size_t before = Writes();
  StartAndStopAfter(before + GetParam());
  Start();
  loop.Advance(2min);
  for (const char* pod : {"runs", "l", "w"}) IsTaken(pod);
  EXPECT_TRUE(JobNow(7).state.Has(JobFlag::kRunning));
  EXPECT_TRUE(JobNow(8).state.IsPending());
  EXPECT_TRUE(JobNow(9).state.IsOver());
  EXPECT_THAT(Says("done"), Not(HasSubstr("slinky.slurm.net/finalizer")));
  EXPECT_EQ(slurm.jobs().size(), 3u);
}

INSTANTIATE_TEST_SUITE_P(AfterEachWrite, TakeOverCrash, ::testing::Range<size_t>(0, 14));

TEST_F(TakenOver, AtRestNothingIsWritten) {
  PutPeersJob(7, {"runs"}, "w-0");
  PutPeersPod("runs", 7, "node-1", "Running");
  PutPeersPod("stays", 55, "node-2", "Running");
  Start();
  loop.Advance(10min);
  const size_t writes = Writes();
  loop.Advance(1h);
  EXPECT_EQ(Writes(), writes);
}

}  // namespace
}  // namespace capstan::bridge
