#include "operator/sharedroot/users.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/value.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/run_virtual.h"
#include "plan/services.h"

namespace capstan::op::sharedroot {
namespace {

using ::testing::ElementsAre;

class PodsWithClaimTest : public ::testing::Test {
 protected:
  void Put(const std::string& ns, const std::string& name, const std::string& claim, const std::string& node,
           const std::string& phase) {
    server.Put(kube::kPods,
               R"({"apiVersion":"v1","kind":"Pod","metadata":{"namespace":")" + ns + R"(","name":")" + name +
                   R"("},"spec":{"nodeName":")" + node +
                   R"(","volumes":[{"name":"a","emptyDir":{}},{"name":"b","persistentVolumeClaim":{"claimName":")" +
                   claim + R"("}}]}})");
    server.Edit(kube::kPods, {ns, name}, "status",
                [&](json::Value& pod) { json::MakeObject(pod, {"status"})["phase"] = phase; });
  }
  std::string Known(const std::string& pod) {
    return pod + "/" + std::string(json::FindText(*server.Find(kube::kPods, {"slurm", pod}), {"metadata", "uid"}));
  }
  Result<std::optional<plan::Question::Fetched>> Fetch() {
    const PodsWithClaim question({"slurm", "main-root"}, "main", "uid-root/3");
    return kube::testing::RunVirtual(loop, question.Fetch(services, loop.After(5s)));
  }

  async::VirtualLoop loop;
  kube::testing::FakeApiServer server{loop, 1};
  kube::Client client{loop, server, {.field_manager = "capstan"}};
  plan::Stores stores;
  plan::AppliedMemo memo;
  plan::SlurmClusters clusters{loop, client, nullptr, [](const std::string&, const std::vector<std::string>&) {}, 1};
  plan::Services services{loop, client, stores, memo, clusters, "capstan", nullptr, {}};
};

TEST_F(PodsWithClaimTest, AreThoseThatMayRun) {
  Put("slurm", "cpu-0", "main-root", "node-1", "Running");
  Put("slurm", "starting", "main-root", "node-1", "Pending");
  Put("slurm", "lost", "main-root", "node-1", "Unknown");
  Put("slurm", "unplaced", "main-root", "", "Pending");
  Put("slurm", "done", "main-root", "node-1", "Succeeded");
  Put("slurm", "other", "datasets", "node-1", "Running");
  for (const std::string job : {"main-fill-x", "main-remove-x", "other-fill-x"}) {
    Put("slurm", job + "-y", "main-root", "node-1", "Running");
    server.Edit(kube::kPods, {"slurm", job + "-y"}, "", [&](json::Value& pod) {
      json::MakeObject(pod, {"metadata"})["ownerReferences"] = *json::Parse(
          R"([{"apiVersion":"batch/v1","kind":"Job","name":")" + job + R"(","uid":"u","controller":true}])");
    });
  }
  Put("elsewhere", "cpu-0", "main-root", "node-1", "Running");
  const auto fetched = Fetch();
  ASSERT_TRUE(fetched && *fetched);
  EXPECT_THAT(*static_cast<const PodsWithClaim::Value*>((*fetched)->value.get()),
              ElementsAre(Known("cpu-0"), Known("lost"), Known("other-fill-x-y"), Known("starting")));
}

// A list that is cut off would name too few.
TEST_F(PodsWithClaimTest, AreOfAllPages) {
  for (int i = 0; i < 1'200; ++i) Put("slurm", "cpu-" + std::to_string(i), "main-root", "node-1", "Running");
  const auto fetched = Fetch();
  ASSERT_TRUE(fetched && *fetched);
  EXPECT_EQ(static_cast<const PodsWithClaim::Value*>((*fetched)->value.get())->size(), 1'200u);
}

TEST_F(PodsWithClaimTest, MoreThanAJobCanBeToldOfAreAnError) {
  for (int i = 0; i < 10'001; ++i) Put("slurm", "cpu-" + std::to_string(i), "main-root", "node-1", "Running");
  const auto fetched = Fetch();
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fetched.error().message(), "more than 10000 pods mount claim slurm/main-root");
}

}  // namespace
}  // namespace capstan::op::sharedroot
