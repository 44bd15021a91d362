// What the engine keeps, forgets and doubts.
#include <gtest/gtest.h>

#include "async/task_group.h"
#include "base/testing/captured_log.h"
#include "kube/testing/fake_api_server.h"
#include "plan/engine.h"

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
    engine.Add({.kind = "box", .resource = &Box::kResource, .decide = &WantContent, .prunes = {}});
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

// A ConfigMap with what is in it.
struct Filled {
  json::ObjectMeta metadata;
  std::map<std::string, std::string> data;
  static constexpr const kube::Resource& kResource = kube::kConfigMaps;
  friend bool operator==(const Filled&, const Filled&) = default;
  static const json::Schema& Schema() {
    static const json::Schema schema =
        json::Object<Filled>({json::Field<&Filled::metadata>("metadata"), json::Field<&Filled::data>("data")});
    return schema;
  }
};

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
  server.Remove(kube::kConfigMaps, {"ns", "stays"});
  loop.Advance(10s);
  EXPECT_TRUE(HasContent("ns", "stays")) << "it is still woken by what it reads";
}

// --- What holds everything up ----------------------------------------------------------------------------------------

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
