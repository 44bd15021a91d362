// A worker of which Slurm has no record, and whose slurmd may be at work under another name.
#include "operator/nodeset/identity.h"

#include <algorithm>

#include "async/task_group.h"
#include "async/testing/into.h"
#include "kube/testing/fake_api_server.h"
#include "operator/nodeset/decide_test.h"
#include "plan/services.h"

namespace capstan::op::nodeset {
namespace {

using plan::Proof;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// --- What its pod answers --------------------------------------------------------------------------------------------

class SlurmdIsFreeTest : public ::testing::Test {
 protected:
  SlurmdIsFreeTest() {
    server.Put(kube::kPods, R"({"metadata":{"namespace":"slurm","name":"w-0"},"spec":{"nodeName":"k0"}})");
    Status(R"({"phase":"Running","podIP":"10.0.0.7","containerStatuses":[{"name":"slurmd","state":{"running":{}}}]})");
    pod.metadata.uid = json::FindText(*server.Find(kube::kPods, key), {"metadata", "uid"});
  }
  void Status(std::string_view text) {
    server.Edit(kube::kPods, key, "status",
                [&](json::Value& object) { object.get_object()["status"] = *json::Parse(text); });
  }
  async::Task<Result<net::Response>> Answer(std::string url, std::string target) {
    asked = url + target;
    if (!answer) co_return Fail(Code::kUnavailable, "Connection refused");
    co_return *answer;
  }
  void Says(std::string body, int status = 200) { answer = net::Response{.status = status, .body = std::move(body)}; }
  Proof Prove() {
    Proof proof = Proof::kUnknown;
    async::TaskGroup group(loop);
    const auto guard = SlurmdIsFree(worker);
    group.Spawn("prove", async::testing::Into(proof, guard->Prove(services, loop.After(30s))));
    loop.RunUntil([&] { return group.size() == 0; }, 1min);
    return proof;
  }

  const kube::Key key{"slurm", "w-0"};
  async::VirtualLoop loop;
  kube::testing::FakeApiServer server{loop, 1};
  kube::Client client{loop, server, {.field_manager = "capstan"}};
  plan::Stores stores;
  plan::AppliedMemo memo;
  plan::SlurmClusters clusters{loop, client, nullptr, [](const std::string&, const std::vector<std::string>&) {}, 1};
  plan::Services services{loop,
                          client,
                          stores,
                          memo,
                          clusters,
                          "capstan",
                          nullptr,
                          {},
                          [this](std::string url, net::Request request, async::Deadline) {
                            return Answer(std::move(url), std::move(request.target));
                          }};
  std::optional<net::Response> answer;  // nullopt: nobody is there
  std::string asked;
  Pod pod{.metadata = {.name = "w-0", .namespace_ = "slurm"}, .spec = {}, .status = {}};
  Worker worker{.host = "w-0", .pod = &pod};
};

TEST_F(SlurmdIsFreeTest, WhenItHasItsWorkersNameAndNoJobStep) {
  Says(R"({"node":"w-0","steps":false})");
  EXPECT_EQ(Prove(), Proof::kYes);
  EXPECT_EQ(asked, "http://10.0.0.7:6816/slurmd");
  Says(R"({"node":"w-0","steps":true})");
  EXPECT_EQ(Prove(), Proof::kNo);
  Says(R"({"node":"node1","steps":false})");
  EXPECT_EQ(Prove(), Proof::kNo) << "its jobs are another record's";
}

TEST_F(SlurmdIsFreeTest, SilenceKeeps) {
  EXPECT_EQ(Prove(), Proof::kUnknown) << "its image has no capstan-entry";
  for (const char* text : {"", "{}", R"({"node":"w-0"})", R"({"steps":false})", R"({"node":"","steps":false})"}) {
    Says(text);
    EXPECT_EQ(Prove(), Proof::kUnknown) << text;
  }
  Says(R"({"node":"w-0","steps":false})", 404);
  EXPECT_EQ(Prove(), Proof::kUnknown);
  Says(R"({"node":"w-0","steps":false})");
  Status(R"({"phase":"Running"})");
  EXPECT_EQ(Prove(), Proof::kUnknown) << "it has no address";
}

TEST_F(SlurmdIsFreeTest, WhenTheKubeletSaysThatItDoesNotRun) {
  for (const char* state : {R"({"waiting":{"reason":"CrashLoopBackOff"}})", R"({"terminated":{"exitCode":1}})"}) {
    Status(R"({"phase":"Running","containerStatuses":[{"name":"slurmd","state":)" + std::string(state) + "}]}");
    EXPECT_EQ(Prove(), Proof::kYes) << state;
  }
  Status(R"({"phase":"Running","containerStatuses":[{"name":"other","state":{"waiting":{"reason":"x"}}}]})");
  EXPECT_EQ(Prove(), Proof::kUnknown);
  server.Remove(kube::kPods, key, {.grace_seconds = 0});
  EXPECT_EQ(Prove(), Proof::kYes) << "it is gone";
}

TEST_F(SlurmdIsFreeTest, AnotherPodOfThatNameIsNotMeant) {
  Says(R"({"node":"w-0","steps":false})");
  pod.metadata.uid = "another";
  EXPECT_EQ(Prove(), Proof::kNo);
}

// --- What is decided -------------------------------------------------------------------------------------------------

// Ready workers with a running job were deleted every sixteen minutes, and nobody was told why.
class OtherName : public NodeSetTest {
 protected:
  OtherName() {
    Pod pod = MakePod(0);
    pod.status.pod_ip = "10.0.0.7";
    Put(pod);
    held["unknown pod-0"] = Tick() - 1min;
    nodes = {slurm::Node{.name = "other", .state = slurm::NodeState{slurm::NodeFlag::kIdle}}};
  }
  void Says(std::string node, bool steps) {
    answers.entries()[kQuestion] = {
        .state = plan::AnswerState::kKnown,
        .value = std::make_shared<const SlurmdIdentity::Value>(SlurmdIdentity::Value{std::move(node), steps})};
  }
  // The worker is to go, and Slurm has a record of its name with this address, whose slurmd began then.
  void PutWithRecordOf(const std::string& address, Time began) {
    Pod pod = MakePod(0);
    pod.status.pod_ip = "10.0.0.7";
    pod.metadata.creation_timestamp = kNow;
    PutMarked(pod);
    slurm::Node record =
        MakeNode(0, {slurm::NodeFlag::kIdle, slurm::NodeFlag::kDrain}, ScaleInReason({"slurm", "w-0"}));
    record.address = address;
    record.slurmd_start_time = began;
    nodes = {record};
  }
  // Before the worker goes, its pod has to say that its slurmd is free.
  bool IsAsked() {
    for (const plan::Action& action : Look(0).actions) {
      if (action.effect->verb() != "delete") continue;
      return std::ranges::any_of(
          action.guards, [](const auto& guard) { return guard->text().contains("says that its slurmd is w-0"); });
    }
    ADD_FAILURE() << "it does not go";
    return false;
  }
  std::string Told() { return ConditionOf(Look(1), "Degraded").message; }
  static constexpr auto kQuestion = "slurmd of slurm/w-0 at 10.0.0.7";
};

TEST_F(OtherName, IsToldAfterAMinute) {
  held["unknown pod-0"] = Tick() - 59s;
  EXPECT_EQ(ConditionOf(Look(1), "Degraded").status, "False");
  EXPECT_LE(Look(1).requeue_after, 1s);
  held["unknown pod-0"] = Tick() - 14s;
  EXPECT_LE(Look(1).requeue_after, 1s) << "then its pod is asked";
  held["unknown pod-0"] = Tick() - 1min;
  EXPECT_EQ(ConditionOf(Look(1), "Degraded").status, "False") << "its pod has not been asked yet";
  Says("node1", true);
  EXPECT_THAT(Told(), HasSubstr("w-0 is ready, and Slurm has no record of w-0: its slurmd calls itself \"node1\""));
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  Says("w-0", true);
  EXPECT_THAT(Told(), HasSubstr("job steps are in its pod; it is left alone"));
  Says("w-0", false);
  EXPECT_THAT(Told(), HasSubstr("its slurmd is started anew, and it is replaced if that does not help"));
  slurm.absence_counts = false;
  nodes.clear();
  EXPECT_THAT(Told(),
              HasSubstr("no record of w-0, nor of any other node, as if slurmctld had come up without its state"));
  answers.entries()[kQuestion] = {.state = plan::AnswerState::kAbsent};
  EXPECT_THAT(Told(), HasSubstr("its pod does not say what its slurmd is called; it is left alone"));
  answers.entries()[kQuestion] = {.state = plan::AnswerState::kFailed, .error = "timed out"};
  EXPECT_THAT(Told(), HasSubstr("its pod does not say what its slurmd is called (timed out)"));
}

// Found by the simulator: where one clock had been put back, the record of the pod that had the name before seemed to be the
// worker's, whose slurmd runs jobs under another name.
TEST_F(OtherName, WhatARecordOfAnotherAddressSaysIsNoProofUnlessItAnswersAndTheClocksAgree) {
  PutWithRecordOf("10.0.0.6", kNow + 1s);
  EXPECT_FALSE(IsAsked()) << "slurmctld sees the address of a gateway";
  nodes[0].slurmd_start_time = kNow + 1h;
  EXPECT_TRUE(IsAsked());
  nodes[0].slurmd_start_time.reset();
  EXPECT_TRUE(IsAsked());
  nodes[0].slurmd_start_time = kNow + 1s;
  nodes[0].state.Add(slurm::NodeFlag::kNotResponding);
  EXPECT_TRUE(IsAsked());
  nodes[0].address = "10.0.0.7";
  EXPECT_FALSE(IsAsked());
}

// Found by the simulator: the record of the worker before it, drained, was taken for the proof that no job runs.
TEST_F(OtherName, TheRecordOfAnotherSlurmdIsNotTheWorkers) {
  PutWithRecordOf("10.0.0.6", kNow - 1s);
  EXPECT_THAT(Acts(Look(0)), IsEmpty()) << "of the pod that had the name before";
  nodes[0].slurmd_start_time = kNow + 1s;
  EXPECT_THAT(Acts(Look(0)), ElementsAre("delete Pod slurm/w-0")) << "slurmctld sees the address of a gateway";
  EXPECT_FALSE(IsAsked());
  Pod other = MakePod(1);
  other.status.pod_ip = "10.0.0.6";
  Put(other);
  EXPECT_THAT(Acts(Look(1)), ::testing::Not(::testing::Contains("delete Pod slurm/w-0"))) << "of another worker's";
  nodes[0].address = "10.0.0.7";
  EXPECT_THAT(Acts(Look(1)), ::testing::Contains("delete Pod slurm/w-0"));
}

TEST_F(OtherName, AnOptionThatWouldMakeItIsLeftOutAndTold) {
  set.spec.slurmd.text = R"x({"args":["-N","$(MACHINE)","-vv"]})x";
  const plan::Plan plan = Look(2);
  EXPECT_THAT(ConditionOf(plan, "Degraded").message, HasSubstr("spec.slurmd: -N is left out"));
}

}  // namespace
}  // namespace capstan::op::nodeset
