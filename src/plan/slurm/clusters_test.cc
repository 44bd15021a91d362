#include "plan/slurm/clusters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "kube/testing/fake_api_server.h"
#include "slurm/rest_source.h"
#include "slurm/testing/fake_slurmrestd.h"

namespace capstan::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

const std::string kCluster = "ns/main";
const SlurmConnection kHow{.server = "http://rest", .token_secret = {"ns", "key"}, .token_key = "jwt.key"};

class SlurmClustersTest : public ::testing::Test {
 protected:
  ~SlurmClustersTest() override {
    async::TaskGroup group(loop);
    group.Spawn("stop", clusters.Stop());
    loop.RunUntil([&] { return group.size() == 0; }, 1min);
  }
  void PutKey() {
    server.Put(kube::kSecrets, R"({"metadata":{"namespace":"ns","name":"key"},"data":{"jwt.key":")" +
                                   Base64("signing bytes") + R"("}})");
  }
  Result<SlurmClusters::Link> Connect(SlurmClusters::SignToken sign) {
    ++links;
    const auto source = std::make_shared<slurm::RestSource>(loop, rest, std::move(sign),
                                                            slurm::RestSource::Options{.seed = 1, .client = {}});
    return SlurmClusters::Link{source, [source = source.get()] { return source->Run(); }};
  }

  async::VirtualLoop loop;
  kube::testing::FakeApiServer server{loop, 1};
  kube::Client client{loop, server, {.field_manager = "capstan"}};
  slurm::testing::FakeSlurm slurm{loop};
  slurm::testing::FakeSlurmrestd rest{slurm};
  int links = 0;
  SlurmClusters clusters{
      loop, client, [this](const SlurmConnection&, SlurmClusters::SignToken sign) { return Connect(std::move(sign)); },
      [this](const std::string&, const std::vector<std::string>& what) {
        changed.insert(changed.end(), what.begin(), what.end());
      },
      1};
  std::vector<std::string> changed;
};

// Whoever waited for the next try found the cluster gone, and the process ended by an exception.
TEST_F(SlurmClustersTest, AClusterMayEndAtAnyMomentWhileItsKeyCannotBeRead) {
  for (Duration wait = Duration(0); wait < 2s; wait += 500us) {
    clusters.Keep(kCluster, kHow);
    loop.Advance(wait);
    clusters.Keep(kCluster, std::nullopt);
    loop.Advance(1s);
  }
  EXPECT_EQ(clusters.Look(kCluster).state, SlurmLook::State::kNone);
}

// An entry at the same place in memory was taken for the one that had been ended.
TEST_F(SlurmClustersTest, OneThatIsFollowedAnewHasOneSource) {
  for (int i = 0; i < 20; ++i) {
    clusters.Keep(kCluster, kHow);
    loop.Advance(300ms);
    clusters.Keep(kCluster, std::nullopt);
  }
  clusters.Keep(kCluster, kHow);
  PutKey();
  ASSERT_TRUE(loop.RunUntil([&] { return clusters.Look(kCluster).state == SlurmLook::State::kHeard; }, 1min));
  loop.Advance(1min);
  EXPECT_EQ(links, 1);
}

TEST_F(SlurmClustersTest, AChangeOfANodeIsOneOfItsEntriesInTheIndexBeforeAndAfter) {
  clusters.IndexNodes([](const slurm::Node& node) { return node.comment; });
  PutKey();
  for (const char* name : {"w-0", "w-1"})
    slurm.StartSlurmd({.name = name, .address = "10.0.0.1", .features = {}, .topology = ""});
  slurm.UpdateNodes({"w-0"}, {.comment = "a"});
  clusters.Keep(kCluster, kHow);
  ASSERT_TRUE(loop.RunUntil([&] { return clusters.Look(kCluster).state == SlurmLook::State::kHeard; }, 1min));
  loop.Advance(5s);
  EXPECT_THAT(changed, ElementsAre("w-0", "w-1", "/by/a"));
  EXPECT_THAT(*clusters.Look(kCluster).index, ElementsAre(Pair("a", "w-0")));
  changed.clear();
  slurm.UpdateNodes({"w-0"}, {.comment = "b"});
  loop.Advance(1min);
  EXPECT_THAT(changed, ElementsAre("w-0", "/by/a", "/by/b"));
  EXPECT_THAT(*clusters.Look(kCluster).index, ElementsAre(Pair("b", "w-0")));
}

}  // namespace
}  // namespace capstan::plan
