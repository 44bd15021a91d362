// What is proven before Slurm or a worker is touched, on a modelled slurmrestd.
#include "plan/slurm_effects.h"

#include <gtest/gtest.h>

#include "async/task_group.h"
#include "async/testing/into.h"
#include "base/hash.h"
#include "kube/testing/fake_api_server.h"
#include "plan/services.h"
#include "slurm/rest_source.h"
#include "slurm/testing/fake_slurm.h"
#include "slurm/testing/fake_slurmrestd.h"

namespace capstan::plan {
namespace {

constexpr auto kCluster = "ns/main";
constexpr auto kOurs = "slurm-operator: ";

class SlurmGuards : public ::testing::Test {
 protected:
  SlurmGuards() {
    server.Put(kube::kSecrets, R"({"metadata":{"namespace":"ns","name":"key"},"data":{"jwt.key":")" +
                                   Base64("signing bytes") + R"("}})");
    slurm.StartSlurmd({.name = "w-0", .address = "10.0.0.1", .features = {}, .topology = ""});
    clusters.Keep(kCluster,
                  SlurmConnection{.server = "http://rest", .token_secret = {"ns", "key"}, .token_key = "jwt.key"});
    loop.RunUntil([this] { return clusters.Find(kCluster) != nullptr && Latest() != nullptr; }, 1min);
  }
  ~SlurmGuards() override {
    async::TaskGroup group(loop);
    group.Spawn("stop", clusters.Stop());
    loop.RunUntil([&] { return group.size() == 0; }, 1min);
  }

  Result<SlurmClusters::Link> Connect(SlurmClusters::SignToken sign) {
    const auto source = std::make_shared<slurm::RestSource>(loop, rest, std::move(sign),
                                                            slurm::RestSource::Options{.seed = 1, .client = {}});
    return SlurmClusters::Link{source, [source = source.get()] { return source->Run(); }};
  }
  const slurm::Node* Latest() const {
    const auto snapshot = clusters.Find(kCluster)->Latest().snapshot;
    return snapshot == nullptr ? nullptr : snapshot->FindNode("w-0");
  }
  void Update(const std::string& state, const std::string& reason) {
    slurm.UpdateNodes({"w-0"}, {.state = state, .reason = reason, .user = "alice"});
    loop.Advance(3s);  // a node that was resumed is heard from
  }

  // The proof, while `meanwhile` happens; nullopt: there is none.
  std::optional<Proof> Prove(const std::shared_ptr<const Guard>& guard, const std::function<void()>& meanwhile = {}) {
    std::optional<Proof> proof;
    async::TaskGroup group(loop);
    group.Spawn("guard", async::testing::Into(proof, guard->Prove(services, loop.After(30s))));
    if (meanwhile) meanwhile();
    loop.RunUntil([&] { return group.size() == 0; }, 1min);
    return proof;
  }
  // The same where the fresh read has found what it tells, and takes its time to arrive, when `change` is made; which
  // the next look shows sooner.
  std::optional<Proof> ProveSlowly(const std::shared_ptr<const Guard>& guard, const std::function<void()>& change) {
    rest.SetLatency(8s);
    return Prove(guard, [&] {
      loop.Advance(1ms);
      rest.SetLatency(2ms);
      loop.Advance(4s);
      clusters.ExpectChange(kCluster, {"w-0"});
      change();
    });
  }

  async::VirtualLoop loop;
  kube::testing::FakeApiServer server{loop, 1};
  kube::Client client{loop, server, {.field_manager = "capstan"}};
  slurm::testing::FakeSlurm slurm{loop};
  slurm::testing::FakeSlurmrestd rest{slurm};
  Stores stores;
  AppliedMemo memo;
  SlurmClusters clusters{
      loop, client, [this](const SlurmConnection&, SlurmClusters::SignToken sign) { return Connect(std::move(sign)); },
      [](const std::string&, const std::vector<std::string>&) {}, 1};
  Services services{loop, client, stores, memo, clusters, "capstan", [](size_t) { return Secret(); }, {}};
};

TEST_F(SlurmGuards, ANodeIsDownForOneReasonAtATime) {
  const auto guard = NodeIsDownFor(kCluster, "w-0", "burnt");
  EXPECT_EQ(Prove(guard), Proof::kNo) << "it serves";
  Update("DOWN", "burnt");
  EXPECT_EQ(Prove(guard), Proof::kYes);
  Update("DOWN", "wet");
  EXPECT_EQ(Prove(guard), Proof::kNo);
  Update("RESUME", "");
  EXPECT_EQ(Prove(guard), Proof::kNo);
  Update("DRAIN", "burnt");
  EXPECT_EQ(Prove(guard), Proof::kNo) << "it is drained, not DOWN";
  EXPECT_EQ(Prove(NodeIsDownFor(kCluster, "w-1", "burnt")), Proof::kNo) << "there is no such node";
  rest.SetFault(slurm::testing::Fault::kRefused);
  EXPECT_EQ(Prove(guard), Proof::kUnknown);
}

TEST_F(SlurmGuards, FailIsAlwaysSomebodyElses) {
  Update("FAIL", "slurm-operator: a person left our words there");
  EXPECT_EQ(Prove(NodeIsNotHeld(kCluster, "w-0", kOurs)), Proof::kNo);
  EXPECT_EQ(Prove(NodeIsOurs(kCluster, "w-0", kOurs)), Proof::kNo);
  EXPECT_EQ(Prove(NodeIsDrained(kCluster, "w-0", false)), Proof::kYes) << "no job is there, and none will start";
}

TEST_F(SlurmGuards, ALaterLookThatWasAnsweredSoonerMustAgree) {
  const auto free = NodeIsNotHeld(kCluster, "w-0", kOurs);
  EXPECT_EQ(ProveSlowly(free, [] {}), Proof::kYes);
  EXPECT_EQ(ProveSlowly(free, [this] { Update("DRAIN", "look at the disk"); }), Proof::kNo);

  const auto drained = NodeIsDrained(kCluster, "w-0", false);
  EXPECT_EQ(ProveSlowly(drained, [] {}), Proof::kYes);
  EXPECT_EQ(ProveSlowly(drained, [this] { Update("RESUME", ""); }), Proof::kNo);
  EXPECT_EQ(ProveSlowly(free, [] {}), Proof::kYes);

  Update("DOWN", "slurm-operator: Pod is terminating");
  const auto ours = NodeIsOurs(kCluster, "w-0", kOurs);
  EXPECT_EQ(ProveSlowly(ours, [] {}), Proof::kYes);
  EXPECT_EQ(ProveSlowly(ours, [this] { Update("DOWN", "burnt"); }), Proof::kNo);
}

}  // namespace
}  // namespace capstan::plan
