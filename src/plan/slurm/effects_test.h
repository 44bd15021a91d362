// Proofs and writes against a modelled slurmrestd, in virtual time.
#pragma once

#include <gtest/gtest.h>

#include "async/task_group.h"
#include "async/testing/into.h"
#include "base/hash.h"
#include "kube/testing/fake_api_server.h"
#include "plan/services.h"
#include "plan/slurm/effects.h"
#include "slurm/rest_source.h"
#include "slurm/testing/fake_slurm.h"
#include "slurm/testing/fake_slurmrestd.h"

namespace capstan::plan {

inline constexpr auto kSlurmCluster = "ns/main";
inline const SlurmConnection kConnection{
    .server = "http://rest", .token_secret = {"ns", "key"}, .token_key = "jwt.key"};

class SlurmGuards : public ::testing::Test {
 protected:
  SlurmGuards() {
    server.Put(kube::kSecrets, R"({"metadata":{"namespace":"ns","name":"key"},"data":{"jwt.key":")" +
                                   Base64("signing bytes") + R"("}})");
    slurm.StartSlurmd({.name = "w-0", .address = "10.0.0.1", .features = {}, .topology = ""});
    clusters.Keep(kSlurmCluster, kConnection);
    loop.RunUntil([this] { return clusters.Find(kSlurmCluster) != nullptr && Latest() != nullptr; }, 1min);
    loop.Advance(SlurmClusters::kLiftTimeout);  // nothing is left of a predecessor
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
    const auto snapshot = clusters.Find(kSlurmCluster)->Latest().snapshot;
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
      clusters.ExpectChange(kSlurmCluster, {"nodeset", "slurm", "w"}, {"w-0"});
      change();
    });
  }

  // Begins to write to w-0.
  void Write(std::optional<Result<void>>& written, slurm::NodeAction action) {
    written.reset();
    slurm::NodeUpdate update{.names = {"w-0"}, .action = action};
    if (action == slurm::NodeAction::kDrain) update.reason = "slurm-operator: scale-in";
    writes.Spawn("write", async::testing::Into(written, clusters.UpdateNode(kSlurmCluster, update, loop.After(30s))));
  }

  async::VirtualLoop loop;
  async::TaskGroup writes{loop};
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

}  // namespace capstan::plan
