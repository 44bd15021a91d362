// A patch that is made only to what was seen, and the proof that no pod is left which could run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/task_group.h"
#include "async/testing/into.h"
#include "base/text.h"
#include "json/value.h"
#include "kube/testing/fake_api_server.h"
#include "plan/objects/effects.h"
#include "plan/objects/guards.h"
#include "plan/services.h"

namespace capstan::plan {
namespace {

class TestedPatchTest : public ::testing::Test {
 protected:
  template <class T>
  T Await(async::Task<T> task) {
    std::optional<T> result;
    async::TaskGroup group(loop);
    group.Spawn("call", async::testing::Into(result, std::move(task)));
    loop.RunUntil([&] { return group.size() == 0; }, 1min);
    return *std::move(result);
  }
  Result<void> Patch(std::string uid, const json::JsonPatch& patch) {
    return Await(PatchTested("label", {&kube::kPods, key}, std::move(uid), patch)->Run(services, loop.After(30s)));
  }
  std::string PutPod(const std::string& name, const std::string& label) {
    const json::Value made = server.Put(
        kube::kPods, R"({"metadata":{"namespace":"ns","name":")" + name + R"(","labels":{"job":")" + label + R"("}}})");
    return std::string(json::FindText(made, {"metadata", "uid"}));
  }
  void Becomes(const std::string& name, const std::string& phase) {
    server.Edit(
        kube::kPods, {"ns", name}, "status",
        [&](json::Value& pod) { json::MakeObject(pod, {"status"})["phase"] = phase; }, "kubelet");
  }
  Proof HaveEnded() { return Await(PodsHaveEnded("ns", "job=7")->Prove(services, loop.After(30s))); }

  async::VirtualLoop loop;
  kube::testing::FakeApiServer server{loop, 1};
  kube::Client client{loop, server, {.field_manager = "capstan"}};
  Stores stores;
  AppliedMemo memo;
  SlurmClusters clusters{loop, client, nullptr, [](const std::string&, const std::vector<std::string>&) {}, 1};
  Services services{loop, client, stores, memo, clusters, "capstan", [](size_t) { return Secret(); }, {}};
  const kube::Key key{"ns", "a"};
};

TEST_F(TestedPatchTest, IsMadeAsAWholeOrIsAConflict) {
  const std::string uid = PutPod("a", "7");
  json::JsonPatch patch;
  patch.Test("/metadata/labels/job", JsonQuoted("7")).Replace("/metadata/labels/job", JsonQuoted("8"));
  ASSERT_TRUE(Patch(uid, patch));
  EXPECT_EQ(json::FindText(*server.Find(kube::kPods, key), {"metadata", "labels", "job"}), "8");
  EXPECT_EQ(Patch(uid, patch).error().code(), Code::kConflict) << "it is not as it was seen";
  json::JsonPatch plain;
  plain.Add("/metadata/labels/more", JsonQuoted("x"));
  EXPECT_EQ(Patch("another", plain).error().code(), Code::kConflict) << "a namesake";
  EXPECT_EQ(json::Find(*server.Find(kube::kPods, key), {"metadata", "labels", "more"}), nullptr);
}

TEST_F(TestedPatchTest, PodsHaveEndedOnceNoneIsLeftThatCouldRun) {
  EXPECT_EQ(HaveEnded(), Proof::kYes) << "there is none";
  PutPod("a", "7");
  PutPod("b", "7");
  PutPod("c", "8");
  server.Put(kube::kPods, R"({"metadata":{"namespace":"other","name":"d","labels":{"job":"7"}}})");
  EXPECT_EQ(HaveEnded(), Proof::kNo) << "no kubelet has spoken of them";
  Becomes("a", "Succeeded");
  Becomes("b", "Running");
  Becomes("c", "Running");
  EXPECT_EQ(HaveEnded(), Proof::kNo);
  Becomes("b", "Failed");
  EXPECT_EQ(HaveEnded(), Proof::kYes);
  Becomes("b", "Unknown");
  EXPECT_EQ(HaveEnded(), Proof::kNo);
  server.Remove(kube::kPods, {"ns", "b"});
  EXPECT_EQ(HaveEnded(), Proof::kYes);
  server.faults.refused = 100;
  EXPECT_EQ(HaveEnded(), Proof::kUnknown);
}

}  // namespace
}  // namespace capstan::plan
