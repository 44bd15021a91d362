// A bridge on its engine, over a modelled API server and slurmrestd, in virtual time.
#pragma once

#include <gtest/gtest.h>

#include "async/task_group.h"
#include "bridge/bridge_test.h"
#include "bridge/reconcilers.h"
#include "json/value.h"
#include "kube/testing/fake_api_server.h"
#include "plan/engine.h"
#include "slurm/rest_source.h"
#include "slurm/testing/fake_slurm.h"
#include "slurm/testing/fake_slurmrestd.h"

namespace capstan::bridge::testing {

// One process: what it knows goes with it.
class Process {
 public:
  Process(async::VirtualLoop& loop, net::Transport& wire, plan::Engine::Options options)
      : loop_(loop),
        client_(loop, wire, {.field_manager = "slurm-bridge"}),
        engine_(loop, client_, std::move(options)),
        group_(loop) {
    AddStores(engine_.stores(), TestSettings().bridge);
    for (plan::Reconciler& reconciler : Reconcilers()) engine_.Add(std::move(reconciler));
    group_.Spawn("engine", engine_.Run());
  }
  ~Process() {
    group_.Spawn("stop", engine_.Stop());
    EXPECT_TRUE(loop_.RunUntil([this] { return group_.size() == 0; }, 1min));
  }

 private:
  async::VirtualLoop& loop_;
  kube::Client client_;
  plan::Engine engine_;
  async::TaskGroup group_;
};

class BridgeLife : public ::testing::Test {
 protected:
  explicit BridgeLife(bool with_pod_groups = true, bool with_job_sets = true) {
    slurm.partitions["bridge"] = "UP";
    server.objects().Serve(Job::kResource);
    if (with_pod_groups) server.objects().Serve(PodGroup::kResource);
    server.objects().Serve(LeaderWorkerSet::kResource);
    if (with_job_sets) server.objects().Serve(JobSet::kResource);
    for (const char* name : {"kube-system", "ml"})
      server.Put(kube::kNamespaces, R"({"metadata":{"name":")" + std::string(name) + "\"}}");
    for (const int i : {0, 1, 2}) AddNode("w-" + std::to_string(i), "node-" + std::to_string(i + 1));
  }

  // A machine that is a node of Kubernetes and, through its worker, of Slurm.
  void AddNode(const std::string& slurm_node, const std::string& node) {
    slurm.StartSlurmd({.name = slurm_node, .address = "10.0.0.1", .features = {}, .topology = ""});
    slurm.UpdateNodes({slurm_node}, {.comment = R"({"namespace":"slurm","podName":")" + slurm_node + R"(","node":")" +
                                                node + R"("})"});
    server.Put(kube::kPods, R"({"metadata":{"namespace":"slurm","name":")" + slurm_node +
                                R"("},"spec":{"tolerations":[{"key":"slinky.slurm.net/managed-node",)" +
                                R"("operator":"Exists"}]}})");
    server.Put(kube::kNodes, R"({"metadata":{"name":")" + node + R"("},"spec":{}})");
    server.Edit(
        kube::kNodes, {"", node}, "status",
        [](json::Value& value) {
          json::MakeObject(value, {"status"})["conditions"] = *json::Parse(R"([{"type":"Ready","status":"True"}])");
        },
        "kubelet");
  }

  void Start(Duration runs = 3s) {
    process.reset();
    plan::Engine::Options options{.field_manager = "slurm-bridge", .seed = ++lives};
    options.slurm = [this](const plan::SlurmConnection&,
                           plan::SlurmClusters::SignToken) -> Result<plan::SlurmClusters::Link> {
      const auto sign = [](Duration) -> Result<Secret> { return Secret("token"); };
      const auto source =
          std::make_shared<slurm::RestSource>(loop, rest, sign, slurm::RestSource::Options{.seed = 1, .client = {}});
      return plan::SlurmClusters::Link{source, [source = source.get()] { return source->Run(); }};
    };
    options.settings = &settings;
    options.tell = [this](const kube::Resource&, const kube::Key& key, const std::string&, plan::Notice notice) {
      told.push_back(key.name + ": " + notice.reason);
    };
    process.emplace(loop, server, std::move(options));
    loop.Advance(runs);
  }

  // A user makes a pod, and the webhook lets it wait. `labels` and `metadata`: more members of these, with a comma before each.
  void PutPod(const std::string& name = "trainer", const std::string& labels = {}, const std::string& metadata = {}) {
    server.Put(
        kube::kPods,
        R"({"metadata":{"namespace":"ml","name":")" + name + R"(","labels":{"capstan.dev/bridged":")" +
            settings.bridge + "\"" + labels + "}" + metadata +
            R"(},"spec":{"schedulingGates":[{"name":"capstan.dev/slurm"}],)" +
            R"("containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]},"status":{"phase":"Pending"}})");
  }
  void EditPod(const std::function<void(json::Value&)>& change, const std::string& name = "trainer") {
    server.Edit(kube::kPods, {"ml", name}, "", change, "kubelet");
  }
  void Becomes(const std::string& phase, const std::string& name = "trainer") {
    server.Edit(
        kube::kPods, {"ml", name}, "status",
        [&](json::Value& pod) { json::MakeObject(pod, {"status"})["phase"] = phase; }, "kubelet");
  }
  // The scheduler binds it to the node that it was released to.
  void Bind(const std::string& name = "trainer") {
    const std::string node = NodeOf(name);
    EditPod([&](json::Value& pod) { json::MakeObject(pod, {"spec"})["nodeName"] = node; }, name);
  }
  // The Kubernetes node that it was released to; "": it was not.
  std::string NodeOf(const std::string& name) {
    return std::string(json::FindText(*PodNow(name), {"metadata", "annotations", kSlurmNode}));
  }
  const json::Value* PodNow(const std::string& name = "trainer") { return server.Find(kube::kPods, {"ml", name}); }
  // What it says of its job.
  std::string Says(const std::string& name = "trainer") { return json::Serialize(*PodNow(name)); }
  bool IsGated(const std::string& name = "trainer") {
    const json::Value* gates = json::Find(*PodNow(name), {"spec", "schedulingGates"});
    return gates != nullptr && gates->is_array() && !gates->as_array().empty();
  }
  // The only job there is.
  const slurm::Job& TheJob() {
    EXPECT_EQ(slurm.jobs().size(), 1u);
    return slurm.jobs().begin()->second;
  }
  size_t Writes() const { return server.writes().size() + rest.writes().size(); }

  async::VirtualLoop loop;
  kube::testing::FakeApiServer server{loop, 1};
  slurm::testing::FakeSlurm slurm{loop};
  slurm::testing::FakeSlurmrestd rest{slurm};
  Settings settings = TestSettings();
  std::vector<std::string> told;
  uint64_t lives = 0;
  std::optional<Process> process;
};

}  // namespace capstan::bridge::testing
