// What the engine keeps, forgets and doubts.
#include <gtest/gtest.h>

#include "async/task_group.h"
#include "base/testing/captured_log.h"
#include "kube/testing/fake_api_server.h"
#include "plan/engine.h"
#include "plan/filled_test.h"

namespace capstan::plan {
namespace {

// A Box wants a ConfigMap of its own name.
struct Box {
  json::ObjectMeta metadata;
  static constexpr kube::Resource kResource{"test.capstan", "v1", "boxes", "Box", true};
  friend bool operator==(const Box&, const Box&) = default;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<Box>({json::Field<&Box::metadata>("metadata")});
    return schema;
  }
};

struct Content {
  json::ObjectMeta metadata;
  static constexpr const kube::Resource& kResource = kube::kConfigMaps;
  friend bool operator==(const Content&, const Content&) = default;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<Content>({json::Field<&Content::metadata>("metadata")});
    return schema;
  }
};

Plan WantContent(const World& world, const kube::Key& key) {
  Plan plan;
  const Box* box = world.Find<Box>(key);
  if (box == nullptr) return plan;
  const std::string body = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":")" + key.ns +
                           R"(","name":")" + key.name +
                           R"(","ownerReferences":[{"apiVersion":"test.capstan/v1","kind":"Box","name":")" + key.name +
                           R"(","uid":")" + box->metadata.uid + R"(","controller":true}]}})";
  plan.children.push_back({.resource = &kube::kConfigMaps, .key = key, .body = body, .reason = "a test", .after = {}});
  return plan;
}

class LifetimeTest : public ::testing::Test {
 protected:
  LifetimeTest() {
    server.objects().Serve(Box::kResource);
    engine.stores().Add<Box>({.everywhere = true});
    engine.stores().Add<Content>();
    engine.Add({.kind = "box", .resource = &Box::kResource, .decide = &WantContent, .children = {}});
    group.Spawn("engine", engine.Run());
  }
  ~LifetimeTest() override {
    group.Spawn("stop", engine.Stop());
    loop.RunUntil([this] { return group.size() == 0; }, 1min);
  }
  void Put(const std::string& ns, const std::string& name) {
    server.Put(Box::kResource, R"({"metadata":{"namespace":")" + ns + R"(","name":")" + name + R"("}})");
  }
  bool HasContent(const std::string& ns, const std::string& name) {
    return server.Find(kube::kConfigMaps, {ns, name}) != nullptr;
  }

  async::VirtualLoop loop;
  kube::testing::FakeApiServer server{loop, 1};
  kube::Client client{loop, server, {.field_manager = "capstan"}};
  bool leads = true;
  Engine engine{loop, client, {.field_manager = "capstan", .may_write = [this] { return leads; }}};
  async::TaskGroup group{loop};
};

// --- What comes and goes for months must not add up ------------------------------------------------------------------

// Each namespace that ever had a custom resource cost a watch of every kind for the rest of the process's life. With 42
// of them the connections for watches were used up: the next namespace was never listed, and nothing was decided any
// more, anywhere.
TEST_F(LifetimeTest, ANamespaceThatIsNoLongerInUseIsNoLongerWatched) {
  Put("stays", "a");
  Put("goes", "b");
  loop.Advance(1min);
  EXPECT_EQ(server.open_watches(), 3u) << "boxes everywhere, content in two namespaces";
  EXPECT_TRUE(HasContent("goes", "b"));

  server.Remove(Box::kResource, {"goes", "b"});
  loop.Advance(9min);
  EXPECT_EQ(server.open_watches(), 3u) << "it may come back";
  loop.Advance(2min);
  EXPECT_EQ(server.open_watches(), 2u);
  EXPECT_TRUE(engine.Synced());

  Put("goes", "b");
  loop.Advance(1min);
  EXPECT_EQ(server.open_watches(), 3u);
  EXPECT_TRUE(HasContent("goes", "b"));
  loop.Advance(1h);
  EXPECT_EQ(server.open_watches(), 3u) << "in use";
}

TEST_F(LifetimeTest, OneThatComesBackInTimeIsWatchedOn) {
  Put("ns", "a");
  for (int i = 0; i < 10; ++i) {
    loop.Advance(6min);
    server.Remove(Box::kResource, {"ns", "a"});
    loop.Advance(6min);
    EXPECT_EQ(server.open_watches(), 2u);
    Put("ns", "a");
  }
  loop.Advance(1min);
  EXPECT_TRUE(HasContent("ns", "a"));
}

TEST_F(LifetimeTest, WhoWaitsForTheLeaseWatchesTheSame) {
  leads = false;
  Put("ns", "a");
  loop.Advance(30min);
  EXPECT_EQ(server.open_watches(), 2u);
  EXPECT_FALSE(HasContent("ns", "a"));
  leads = true;
  engine.Lead();
  loop.Advance(1min);
  EXPECT_TRUE(HasContent("ns", "a"));
}

// Two Watchers filled one Feed.
TEST(Watches, ANamespaceThatIsNamedTwiceIsWatchedOnce) {
  async::VirtualLoop loop;
  kube::testing::FakeApiServer server(loop, 1);
  server.objects().Serve(Box::kResource);
  kube::Client client(loop, server, {});
  Stores stores;
  stores.Add<Box>({.everywhere = true});
  Watches watches(loop, client, stores, 1);
  watches.Start({"b", "a", "b"});
  loop.Advance(1s);
  EXPECT_EQ(server.open_watches(), 2u);
  EXPECT_TRUE(watches.Synced());
  async::TaskGroup group(loop);
  group.Spawn("stop", watches.Stop());
  loop.RunUntil([&] { return group.size() == 0; }, 1min);
}

TEST(Watches, AKindMayBeWatchedForItsMetadataAlone) {
  async::VirtualLoop loop;
  kube::testing::FakeApiServer server(loop, 1);
  server.Put(kube::kConfigMaps, R"({"metadata":{"namespace":"ns","name":"big"},"data":{"a":"much"}})");
  kube::Client client(loop, server, {});
  for (const bool metadata_only : {false, true}) {
    Stores stores;
    stores.Add<Filled>({.metadata_only = metadata_only, .everywhere = true});
    Watches watches(loop, client, stores, 1);
    watches.Start({});
    loop.Advance(1s);
    const Filled* found = stores.Of<Filled>().Find({"ns", "big"});
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->data.empty(), metadata_only);
    async::TaskGroup group(loop);
    group.Spawn("stop", watches.Stop());
    loop.RunUntil([&] { return group.size() == 0; }, 1min);
  }
}

TEST_F(LifetimeTest, AKeyWhoseObjectIsGoneIsForgotten) {
  Put("ns", "stays");
  for (int i = 0; i < 100; ++i) {
    const std::string name = "box-" + std::to_string(i);
    Put("ns", name);
    loop.Advance(10s);
    ASSERT_TRUE(HasContent("ns", name)) << "also with a number that was another's";
    server.Remove(Box::kResource, {"ns", name});
    loop.Advance(10s);
  }
  EXPECT_EQ(engine.keys(), 1u);
  EXPECT_EQ(engine.applied(), 1u) << "with what was applied for it";
  server.Remove(kube::kConfigMaps, {"ns", "stays"});
  loop.Advance(10s);
  EXPECT_TRUE(HasContent("ns", "stays")) << "it is still woken by what it reads";
}

// --- What holds everything up ----------------------------------------------------------------------------------------

// Forty namespaces, each with its reason, are no answer to a probe.
TEST_F(LifetimeTest, TenOfWhatIsNotListedAreNamed) {
  server.deny = [](std::string_view, const kube::Resource& resource, const kube::Key&) {
    const bool denied = resource == kube::kConfigMaps;
    return denied ? std::optional(kube::testing::Refusal{403, "Forbidden", "may not list"}) : std::nullopt;
  };
  const auto named = [this] {
    const std::string text = engine.Unlisted();
    size_t count = 0;
    for (size_t at = 0; (at = text.find(" (forbidden: ", at)) != text.npos; ++at) ++count;
    return count;
  };
  for (int i = 0; i < 10; ++i) Put("ns" + std::to_string(i), "a");
  loop.Advance(1min);
  EXPECT_EQ(named(), 10u);
  EXPECT_EQ(engine.Unlisted().find(" more"), std::string::npos);
  for (int i = 10; i < 40; ++i) Put("ns" + std::to_string(i), "a");
  loop.Advance(1min);
  EXPECT_EQ(named(), 10u);
  EXPECT_TRUE(engine.Unlisted().ends_with(" and 30 more")) << engine.Unlisted();
}

// One kind that may not be listed stops everything; that it does was said nowhere.
TEST_F(LifetimeTest, TheLogSaysEveryMinuteWhatIsNotListed) {
  capstan::testing::CapturedLog captured;
  server.deny = [](std::string_view, const kube::Resource& resource, const kube::Key&) {
    const bool denied = resource == kube::kConfigMaps;
    return denied ? std::optional(kube::testing::Refusal{403, "Forbidden", "may not list"}) : std::nullopt;
  };
  Put("ns", "a");
  loop.Advance(150s);
  server.deny = {};
  loop.Advance(5min);
  EXPECT_TRUE(HasContent("ns", "a"));
  const std::string& log = captured.Text();
  size_t said = 0;
  for (size_t at = 0; (at = log.find("configmaps in ns (forbidden: ", at)) != log.npos; ++at) ++said;
  EXPECT_GE(said, 2u) << log;
  EXPECT_LE(said, 3u) << log;
}

// --- What a program forgot to watch ----------------------------------------------------------------------------------

// Wants its ConfigMap in a namespace where no box lives.
Plan WantContentElsewhere(const World& world, const kube::Key& key) {
  Plan plan = WantContent(world, key);
  for (Child& child : plan.children) {
    child.key.ns = "elsewhere";
    const size_t at = child.body.find(R"("namespace":"ns")");
    child.body.replace(at, std::string_view(R"("namespace":"ns")").size(), R"("namespace":"elsewhere")");
  }
  return plan;
}

// A program whose stores do not show the child of its box "ns/a".
class BlindTest : public ::testing::Test {
 protected:
  BlindTest() {
    server.objects().Serve(Box::kResource);
    engine.stores().Add<Box>({.everywhere = true});
    server.Put(Box::kResource, R"({"metadata":{"namespace":"ns","name":"a"}})");
  }
  ~BlindTest() override {
    group.Spawn("stop", engine.Stop());
    loop.RunUntil([this] { return group.size() == 0; }, 1min);
  }
  void RunForAnHour(Decide decide) {
    engine.Add({.kind = "box", .resource = &Box::kResource, .decide = decide, .children = {}});
    group.Spawn("engine", engine.Run());
    loop.Advance(1h);
  }
  void ExpectToldNowAndThen(const std::string& what) {
    EXPECT_GE(notices.size(), 10u) << "an hour is twelve times five minutes";
    EXPECT_LE(notices.size(), 15u);
    for (const Notice& notice : notices) {
      EXPECT_TRUE(notice.warning);
      EXPECT_EQ(notice.reason, "ActionFailed");
      EXPECT_NE(notice.note.find(what), notice.note.npos) << notice.note;
    }
  }

  async::VirtualLoop loop;
  kube::testing::FakeApiServer server{loop, 1};
  kube::Client client{loop, server, {.field_manager = "capstan"}};
  std::vector<Notice> notices;
  Engine engine{loop,
                client,
                {.field_manager = "capstan",
                 .tell = [this](const kube::Resource&, const kube::Key&, const std::string&, Notice notice) {
                   notices.push_back(std::move(notice));
                 }}};
  async::TaskGroup group{loop};
};

TEST_F(BlindTest, AChildOfAKindWithoutAStoreIsRefusedAndNotApplied) {
  RunForAnHour(&WantContent);
  EXPECT_TRUE(server.writes().empty());
  EXPECT_LE(engine.actions(), 15u);
  ExpectToldNowAndThen("ConfigMap ns/a is not applied: this program keeps no store of configmaps (Stores::Add)");
}

// It was applied every five seconds, and then a fight with "somebody".
TEST_F(BlindTest, AChildThatItsStoresSelectorLeavesOutIsAppliedOnceAndToldOf) {
  engine.stores().Add<Content>({.label_selector = "app=other"});
  RunForAnHour(&WantContent);
  EXPECT_EQ(server.writes().size(), 1u);
  ExpectToldNowAndThen("of the store of configmaps must cover it");
}

TEST_F(BlindTest, AChildInANamespaceThatIsNotFollowedIsAppliedOnceAndToldOf) {
  engine.stores().Add<Content>();
  RunForAnHour(&WantContentElsewhere);
  EXPECT_EQ(server.writes().size(), 1u);
  ExpectToldNowAndThen("of the store of configmaps must cover it");
}

TEST_F(BlindTest, WhatNobodyWatchesAndSomebodyChangedIsPutRightWithinMinutes) {
  engine.stores().Add<Content>({.label_selector = "app=other"});
  RunForAnHour(&WantContent);
  server.Remove(kube::kConfigMaps, {"ns", "a"});
  loop.Advance(6min);
  EXPECT_NE(server.Find(kube::kConfigMaps, {"ns", "a"}), nullptr);
}

// --- Owners without a namespace --------------------------------------------------------------------------------------

// A Depot wants a ConfigMap of its own name in the namespace "depots".
struct Depot {
  json::ObjectMeta metadata;
  static constexpr kube::Resource kResource{"test.capstan", "v1", "depots", "Depot", false};
  friend bool operator==(const Depot&, const Depot&) = default;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<Depot>({json::Field<&Depot::metadata>("metadata")});
    return schema;
  }
};

Plan WantDepotContent(const World& world, const kube::Key& key) {
  Plan plan;
  const Depot* depot = world.Find<Depot>(key);
  if (depot == nullptr) return plan;
  const std::string body = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"depots","name":")" +
                           key.name +
                           R"(","ownerReferences":[{"apiVersion":"test.capstan/v1","kind":"Depot","name":")" +
                           key.name + R"(","uid":")" + depot->metadata.uid + R"(","controller":true}]}})";
  plan.children.push_back(
      {.resource = &kube::kConfigMaps, .key = {"depots", key.name}, .body = body, .reason = "a test", .after = {}});
  plan.status = "{}";
  return plan;
}

// The program ended: the watch of one namespace met the watch of all.
TEST(ClusterScoped, OwnersWithAndWithoutANamespaceLiveSideBySide) {
  for (const bool depot_first : {true, false}) {
    async::VirtualLoop loop;
    kube::testing::FakeApiServer server(loop, 1);
    server.objects().Serve(Box::kResource);
    server.objects().Serve(Depot::kResource);
    kube::Client client(loop, server, {.field_manager = "capstan"});
    Engine engine(loop, client, {.field_manager = "capstan"});
    engine.stores().Add<Depot>();
    engine.stores().Add<Box>({.everywhere = true});
    engine.stores().Add<Content>();
    engine.Add({.kind = "box", .resource = &Box::kResource, .decide = &WantContent, .children = {}});
    engine.Add({.kind = "depot", .resource = &Depot::kResource, .decide = &WantDepotContent, .children = {}});
    async::TaskGroup group(loop);
    group.Spawn("engine", engine.Run());
    const auto put_depot = [&] { server.Put(Depot::kResource, R"({"metadata":{"name":"d"}})"); };
    if (depot_first) put_depot();
    loop.Advance(1min);
    server.Put(Box::kResource, R"({"metadata":{"namespace":"ns","name":"a"}})");
    loop.Advance(1min);
    if (!depot_first) put_depot();
    loop.Advance(1min);
    EXPECT_EQ(server.open_watches(), 3u) << "each kind in all namespaces";
    EXPECT_NE(server.Find(kube::kConfigMaps, {"ns", "a"}), nullptr);
    EXPECT_NE(server.Find(kube::kConfigMaps, {"depots", "d"}), nullptr);
    server.Remove(kube::kConfigMaps, {"depots", "d"});
    loop.Advance(1min);
    EXPECT_NE(server.Find(kube::kConfigMaps, {"depots", "d"}), nullptr) << "it is watched";
    server.ForgetWrites();
    loop.Advance(30min);
    EXPECT_TRUE(server.writes().empty());
    group.Spawn("stop", engine.Stop());
    loop.RunUntil([&] { return group.size() == 0; }, 1min);
  }
}

// --- Rewritten history -----------------------------------------------------------------------------------------------

// The kind that noticed was enough: once that one had been listed again, what the others still showed of the lost
// history was good for destroying again.
TEST_F(LifetimeTest, AfterARestoredEtcdNothingIsTrustedBeforeEveryKindWasListedAnew) {
  Put("ns", "a");
  loop.Advance(1min);
  const auto backup = server.objects().MakeBackup();
  Put("ns", "b");
  loop.Advance(1min);
  ASSERT_TRUE(engine.stores().Trusted());
  ASSERT_TRUE(engine.stores().Of<Content>().Find({"ns", "b"}));

  server.deny = [](std::string_view method, const kube::Resource& resource, const kube::Key&) {
    const bool held_up = method == "GET" && resource == kube::kConfigMaps;
    return held_up ? std::optional(kube::testing::Refusal{503, "ServiceUnavailable", "not yet"}) : std::nullopt;
  };
  server.Restore(backup);
  loop.Advance(1min);
  EXPECT_FALSE(engine.stores().Of<Box>().Find({"ns", "b"})) << "listed anew";
  EXPECT_FALSE(engine.stores().Of<Box>().Suspect()) << "twice";
  EXPECT_TRUE(engine.stores().Of<Content>().Find({"ns", "b"})) << "of another history";
  EXPECT_FALSE(engine.stores().Trusted());
  server.deny = {};
  loop.Advance(2min);
  EXPECT_FALSE(engine.stores().Of<Content>().Find({"ns", "b"}));
  EXPECT_TRUE(engine.stores().Trusted());
}

}  // namespace
}  // namespace capstan::plan
