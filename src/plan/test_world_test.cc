// What a test of a Decide can put into a World (testing/world.h).
#include <gmock/gmock.h>

#include "plan/slurm/effects.h"
#include "plan/testing/world.h"

namespace capstan::plan {
namespace {

using testing::ActionNames;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TestWorld;

const std::string kWorldCluster = "slurm/main";

struct Allowed final : Question {
  struct Value {};
  std::string id() const override { return "allowed"; }
  async::Task<Result<std::optional<Fetched>>> Fetch(Services&, async::Deadline) const override {
    co_return std::optional<Fetched>();
  }
};

// Drains every node that Slurm shows, but for those that it is at already, once an answer of the last half minute allows
// it.
Plan DrainAll(const World& world, const kube::Key&) {
  Plan plan;
  const Duration kYoung = 30s;
  const SlurmView slurm = world.Slurm(kWorldCluster);
  const auto allowed = world.Ask(Allowed(), kYoung);
  if (!slurm.heard() || !slurm.absence_counts() || !allowed.known() || allowed.age > kYoung) return plan;
  for (const slurm::Node& node : slurm.All()) {
    if (world.InFlight(NodeTarget(kWorldCluster, node.name))) continue;
    plan.Add({.effect = UpdateNode("drain", kWorldCluster, {.names = {node.name}}),
              .reason = "all of them",
              .guards = {},
              .after = {},
              .event = {}});
  }
  return plan;
}

class TestWorldTest : public ::testing::Test {
 protected:
  TestWorldTest() {
    world.Nodes(kWorldCluster, {{.name = "w-1"}, {.name = "w-0"}});
    world.Answer("allowed", std::make_shared<const Allowed::Value>());
  }
  std::vector<std::string> Acts() { return ActionNames(world.Decide(&DrainAll, "main")); }

  TestWorld world{"ns"};
};

TEST_F(TestWorldTest, ShowsSlurmAsItIsPutIn) {
  EXPECT_THAT(Acts(),
              ElementsAre("drain " + NodeTarget(kWorldCluster, "w-0"), "drain " + NodeTarget(kWorldCluster, "w-1")));
  world.slurm[kWorldCluster].state = SlurmLook::State::kUnreachable;
  EXPECT_THAT(Acts(), IsEmpty());
  world.slurm.clear();
  EXPECT_THAT(Acts(), IsEmpty()) << "nobody has said how to reach it";
}

TEST_F(TestWorldTest, ShowsWhatIsInFlight) {
  world.in_flight = {NodeTarget(kWorldCluster, "w-0")};
  EXPECT_THAT(Acts(), ElementsAre("drain " + NodeTarget(kWorldCluster, "w-1")));
}

TEST_F(TestWorldTest, AnAnswerIsAsOldAsTheTestSays) {
  world.Answer("allowed", std::make_shared<const Allowed::Value>(), 29s);
  EXPECT_EQ(Acts().size(), 2u);
  world.Answer("allowed", std::make_shared<const Allowed::Value>(), 30s);
  EXPECT_THAT(Acts(), IsEmpty()) << "a second later it is too old";
}

struct Widget {
  json::ObjectMeta metadata;
  static constexpr kube::Resource kResource{"test.capstan", "v1", "widgets", "Widget", true};
  friend bool operator==(const Widget&, const Widget&) = default;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<Widget>({json::Field<&Widget::metadata>("metadata")});
    return schema;
  }
};

Plan SayWhetherServed(const World& world, const kube::Key&) {
  Plan plan;
  plan.status = world.Served<Widget>() ? "served" : "not served";
  return plan;
}

TEST_F(TestWorldTest, AKindMayBeOneThatIsNotServed) {
  world.Add<Widget>();
  EXPECT_EQ(world.Decide(&SayWhetherServed, "main").status, "served");
  world.NotServed<Widget>();
  EXPECT_EQ(world.Decide(&SayWhetherServed, "main").status, "not served");
}

}  // namespace
}  // namespace capstan::plan
