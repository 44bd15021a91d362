// A machine that Slurm knows without a slurmd, from its label to its end, on the engine.
#include <gmock/gmock.h>

#include "bridge/life_fixture.h"
#include "bridge/node/mark.h"

namespace capstan::bridge {
namespace {

using slurm::NodeFlag;
using ::testing::Contains;
using ::testing::HasSubstr;

class ExternalNodeLife : public testing::BridgeLife {
 protected:
  ExternalNodeLife() {
    server.Put(kube::kNodes, R"({"metadata":{"name":"gpu-7"},"spec":{}})");
    EditNode(
        [](json::Value& node) {
          json::MakeObject(node, {"status"})["allocatable"] = *json::Parse(R"({"cpu":"4","memory":"2Gi"})");
          json::MakeObject(node, {"status"})["conditions"] = *json::Parse(R"([{"type":"Ready","status":"True"}])");
        },
        "status");
  }

  void EditNode(const std::function<void(json::Value&)>& change, const std::string& subresource = "") {
    server.Edit(kube::kNodes, {"", "gpu-7"}, subresource, change, "administrator");
  }
  void Label(bool set = true) {
    EditNode([set](json::Value& node) {
      auto& labels = json::MakeObject(node, {"metadata", "labels"});
      if (set)
        labels[kExternalNode] = "true";
      else
        labels.erase(kExternalNode);
    });
  }
  void Cordon(bool on) {
    EditNode([on](json::Value& node) { json::MakeObject(node, {"spec"})["unschedulable"] = on; });
  }
  std::string NodeNow() { return json::Serialize(*server.Find(kube::kNodes, {"", "gpu-7"})); }
  std::optional<slurm::Node> Record() { return slurm.NodeNamed("gpu-7"); }
  bool Becomes(const std::function<bool()>& done, Duration limit = 30s) { return loop.RunUntil(done, limit); }
  bool IsMarked() {
    const auto record = Record();
    return record && node::NodeMark::Of(record->comment).has_value();
  }
};

TEST_F(ExternalNodeLife, IsKnownToSlurmRunsAPodAndGoesWithItsMachine) {
  Start();
  EXPECT_FALSE(Record());
  Label();
  ASSERT_TRUE(Becomes([&] { return IsMarked(); }));
  EXPECT_EQ(Record()->cpus, 4);
  EXPECT_EQ(Record()->memory_mib, 2048);
  loop.Advance(5s);
  EXPECT_THAT(NodeNow(), HasSubstr("slinky.slurm.net/managed-node"));
  EXPECT_THAT(NodeNow(), HasSubstr("Slurm node gpu-7 has 4 CPUs, 2048 MiB"));
  EXPECT_THAT(told, Contains("gpu-7: Registered"));
  const size_t writes = Writes();
  loop.Advance(10min);
  EXPECT_EQ(Writes(), writes) << "it is at rest";

  PutPod();
  ASSERT_TRUE(Becomes([&] { return slurm.jobs().size() == 1; }));
  ASSERT_TRUE(slurm.RunPending(TheJob().id, {"gpu-7"}));
  ASSERT_TRUE(Becomes([&] { return !IsGated(); }));
  EXPECT_EQ(NodeOf("trainer"), "gpu-7");
  Bind();

  Label(false);
  loop.Advance(2min);
  EXPECT_TRUE(Record()->state.IsDraining()) << "its job goes on";
  EXPECT_TRUE(TheJob().state.Has(slurm::JobFlag::kRunning));
  BridgeLife::Becomes("Succeeded");
  EXPECT_TRUE(Becomes([&] { return !Record(); }, 2min));
  EXPECT_TRUE(slurm.killed().empty());
  loop.Advance(2min);
  EXPECT_EQ(NodeNow().find("managed-node"), std::string::npos);
  EXPECT_EQ(NodeNow().find("capstan.dev"), std::string::npos);
}

TEST_F(ExternalNodeLife, DrainsHaveOwners) {
  Start();
  Label();
  ASSERT_TRUE(Becomes([&] { return IsMarked(); }));
  Cordon(true);
  ASSERT_TRUE(Becomes([&] { return Record()->reason == "slurm-bridge: cordoned"; }));
  Cordon(false);
  ASSERT_TRUE(Becomes([&] { return !Record()->state.IsDraining(); }));

  slurm.UpdateNodes({"gpu-7"}, {.state = "DRAIN", .reason = "bad fan", .user = "ada"});
  ASSERT_TRUE(Becomes([&] { return NodeNow().contains("slurm-drained"); }));
  Cordon(true);
  loop.Advance(2min);
  Cordon(false);
  loop.Advance(2min);
  EXPECT_EQ(Record()->reason, "bad fan");
  slurm.UpdateNodes({"gpu-7"}, {.state = "UNDRAIN", .user = "ada"});
  ASSERT_TRUE(Becomes([&] { return !NodeNow().contains("slurm-drained"); }));
}

TEST_F(ExternalNodeLife, ADeletedMachineGoesFromSlurmAlsoWhenNobodyWasThereToSeeIt) {
  Start();
  Label();
  ASSERT_TRUE(Becomes([&] { return IsMarked(); }));
  process.reset();
  server.Remove(kube::kNodes, {"", "gpu-7"});
  Start();
  EXPECT_TRUE(Becomes([&] { return !Record(); }, 5min));
}

TEST_F(ExternalNodeLife, ASlurmctldWithoutItsStateGetsItAgain) {
  Start();
  Label();
  ASSERT_TRUE(Becomes([&] { return IsMarked(); }));
  slurm.RestartController(slurm::testing::FakeSlurm::Lose::kNodes);
  EXPECT_FALSE(Record());
  EXPECT_TRUE(Becomes([&] { return IsMarked(); }, 2min));
}

TEST_F(ExternalNodeLife, AnotherSizeIsTakenOverOnceNoJobIsThere) {
  Start();
  Label();
  ASSERT_TRUE(Becomes([&] { return IsMarked(); }));
  const auto job = slurm.StartJob({.nodes = {"gpu-7"}, .runs_for = {}});
  ASSERT_TRUE(job);
  EditNode([](json::Value& node) { json::MakeObject(node, {"status", "allocatable"})["cpu"] = "2"; }, "status");
  loop.Advance(10min);
  EXPECT_EQ(Record()->reason, "slurm-bridge: changing");
  EXPECT_EQ(Record()->cpus, 4);
  slurm.FinishJob(*job);
  ASSERT_TRUE(Becomes([&] { return Record() && Record()->cpus == 2; }, 2min));
  ASSERT_TRUE(Becomes([&] { return IsMarked() && !Record()->state.IsDraining(); }));
}

class HybridNodeLife : public testing::BridgeLife {
 protected:
  std::string NodeNow() { return json::Serialize(*server.Find(kube::kNodes, {"", "node-1"})); }
  bool IsTainted() { return NodeNow().contains(R"("key":"slinky.slurm.net/managed-node")"); }
};

TEST_F(HybridNodeLife, IsTaintedAsLongAsItsWorkerToleratesThat) {
  server.Edit(
      kube::kNodes, {"", "node-1"}, "status",
      [](json::Value& node) {
        json::MakeObject(node, {"status"})["allocatable"] = *json::Parse(R"({"cpu":"2","memory":"2Gi"})");
      },
      "kubelet");
  Start();
  ASSERT_TRUE(loop.RunUntil([&] { return IsTainted(); }, 30s));
  loop.Advance(5s);
  EXPECT_THAT(NodeNow(), HasSubstr(R"("capstan.dev/slurm-bridge":"slinky.slurm-bridge")"));
  EXPECT_THAT(NodeNow(), HasSubstr("Slurm node w-0 gives out 2 CPUs"));
  const size_t writes = Writes();
  loop.Advance(30min);
  EXPECT_EQ(Writes(), writes) << "it is at rest";

  told.clear();
  server.Edit(
      kube::kPods, {"slurm", "w-0"}, "", [](json::Value& pod) { json::MakeObject(pod, {"spec"}).erase("tolerations"); },
      "operator");
  ASSERT_TRUE(loop.RunUntil([&] { return !IsTainted(); }, 15min));
  loop.Advance(5s);
  EXPECT_THAT(told, Contains("node-1: Untainted"));

  slurm.StopSlurmd("w-0");
  ASSERT_TRUE(slurm.DeleteNode("w-0") == std::nullopt);
  ASSERT_TRUE(loop.RunUntil([&] { return !NodeNow().contains("capstan.dev"); }, 15min));
}

TEST_F(HybridNodeLife, ForeignPodsOnItAreToldApart) {
  const auto put = [this](const std::string& name, const std::string& metadata = "") {
    server.Put(
        kube::kPods,
        R"({"metadata":{"namespace":"web","name":")" + name + '"' + metadata +
            R"(},"spec":{"nodeName":"node-1","containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}})");
  };
  put("shop");
  put("agent",
      R"(,"ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"d","uid":"d","controller":true}])");
  put("bridged", R"(,"labels":{"capstan.dev/bridged":"another.bridge"})");
  put("done");
  server.Edit(
      kube::kPods, {"web", "done"}, "status",
      [](json::Value& pod) { json::MakeObject(pod, {"status"})["phase"] = "Succeeded"; }, "kubelet");
  server.Edit(
      kube::kNodes, {"", "node-1"}, "status",
      [](json::Value& node) {
        json::MakeObject(node, {"status"})["allocatable"] = *json::Parse(R"({"cpu":"3","memory":"2Gi"})");
      },
      "kubelet");
  Start();
  const auto says = [&](std::string_view text) {
    return loop.RunUntil([&] { return NodeNow().contains(text); }, 15min);
  };
  EXPECT_TRUE(says("TooLittleRoom")) << NodeNow();
  EXPECT_THAT(NodeNow(), HasSubstr("Slurm knows nothing of pod web/shop there"));
  EXPECT_THAT(NodeNow(), HasSubstr("has room for 1 CPUs")) << "the agent takes one, too";
  server.Remove(kube::kPods, {"web", "shop"}, {.grace_seconds = 0});
  EXPECT_TRUE(says("Registered")) << NodeNow();
}

TEST_F(HybridNodeLife, ASlurmdOfTheMachineIsDrainedAndTakesWorkAgainWithIt) {
  slurm.UpdateNodes({"w-0"}, {.comment = ""});
  server.Edit(
      kube::kNodes, {"", "node-1"}, "",
      [](json::Value& node) { json::MakeObject(node, {"metadata", "labels"})[kSlurmNodeName] = "w-0"; }, "admin");
  Start();
  const auto cordon = [&](bool on) {
    server.Edit(
        kube::kNodes, {"", "node-1"}, "",
        [on](json::Value& node) { json::MakeObject(node, {"spec"})["unschedulable"] = on; }, "admin");
  };
  cordon(true);
  ASSERT_TRUE(loop.RunUntil([&] { return slurm.NodeNamed("w-0")->reason == "slurm-bridge: cordoned"; }, 2min));
  EXPECT_FALSE(slurm.NodeNamed("w-1")->state.IsDraining());
  cordon(false);
  ASSERT_TRUE(loop.RunUntil([&] { return !slurm.NodeNamed("w-0")->state.IsDraining(); }, 30s));
}

}  // namespace
}  // namespace capstan::bridge
