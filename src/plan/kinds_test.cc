// Kinds that the API server may lack, and kinds that share a name.
#include <gmock/gmock.h>

#include "plan/testing/shelves.h"

namespace capstan::plan {
namespace {

using ::testing::HasSubstr;
using testing::Shelf;
using testing::ShelfTest;

// Objects of which nothing but the metadata is in use.
template <const kube::Resource& resource>
struct Bare {
  json::ObjectMeta metadata;
  static constexpr const kube::Resource& kResource = resource;
  friend bool operator==(const Bare&, const Bare&) = default;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<Bare>({json::Field<&Bare::metadata>("metadata")});
    return schema;
  }
};

// --- Optional kinds --------------------------------------------------------------------------------------------------

// Of another project, whose CRD may be installed or not.
constexpr kube::Resource kMonitors{"monitoring.test", "v1", "monitors", "Monitor", true};
using Monitor = Bare<kMonitors>;

std::string MonitorJson(const std::string& name, const std::string& owner_uid) {
  return R"({"apiVersion":"monitoring.test/v1","kind":"Monitor","metadata":{"namespace":"ns","name":")" + name +
         R"(","ownerReferences":[{"apiVersion":"test.capstan/v1","kind":"Shelf","name":"main","uid":")" + owner_uid +
         R"(","controller":true}]}})";
}

// A shelf has a monitor where there can be one; its status says how many it sees.
Plan WantMonitor(const World& world, const kube::Key& key) {
  Plan plan;
  const Shelf* shelf = world.Find<Shelf>(key);
  if (shelf == nullptr) return plan;
  if (world.Served<Monitor>()) {
    plan.children.push_back({.resource = &kMonitors,
                             .key = key,
                             .body = MonitorJson(key.name, shelf->metadata.uid),
                             .reason = "there can be one",
                             .after = {}});
    plan.status = R"({"note":"monitors: )" + std::to_string(world.In<Monitor>("ns").size()) + "\"}";
  } else {
    plan.status = R"({"note":"no monitors: )" + std::to_string(world.In<Monitor>("ns").size()) + "\"}";
  }
  return plan;
}

class OptionalKindTest : public ShelfTest {
 protected:
  OptionalKindTest() {
    server.objects().Serve(kMonitors);
    server.deny = [this](std::string_view, const kube::Resource& resource, const kube::Key&) {
      return resource == kMonitors ? refusal : std::nullopt;
    };
    add_kinds = [](Stores& stores) { stores.Add<Monitor>({.optional = true}); };
    PutShelf("[]");
  }

  // As when the CRD comes, and as when it goes with all objects, of which the watches do not hear any more.
  void Install() { refusal.reset(); }
  void Uninstall() {
    server.CutWatches();
    refusal = kNoSuchKind;
    server.Remove(kMonitors, {"ns", "main"});
  }
  bool Exists() { return server.Find(kMonitors, {"ns", "main"}) != nullptr; }

  const kube::testing::Refusal kNoSuchKind{404, "NotFound", "the server could not find the requested resource"};
  std::optional<kube::testing::Refusal> refusal = kNoSuchKind;
};

// A program that could make something of monitors did nothing at all where nobody had installed their CRD.
TEST_F(OptionalKindTest, NobodyWaitsForOneThatIsNotServed) {
  const auto life = Start(server, &WantMonitor);
  EXPECT_TRUE(life->engine().Synced());
  EXPECT_EQ(life->engine().Unlisted(), "");
  EXPECT_TRUE(life->engine().stores().Trusted());
  EXPECT_EQ(Note(), "no monitors: 0");
  for (const kube::testing::ApiWrite& write : server.writes()) EXPECT_NE(write.resource, kMonitors);
}

TEST_F(OptionalKindTest, OneThatIsNotOptionalIsWaitedFor) {
  add_kinds = [](Stores& stores) { stores.Add<Monitor>(); };
  const auto life = Start(server, &WantMonitor, 2min);
  EXPECT_EQ(life->engine().decides(), 0u);
  EXPECT_THAT(life->engine().Unlisted(), HasSubstr("monitors.monitoring.test in ns (not served: "));
  EXPECT_FALSE(life->engine().stores().Trusted());
}

TEST_F(OptionalKindTest, OneThatMayNotBeReadIsWaitedForAndNamed) {
  refusal = {403, "Forbidden", "no monitors for you"};
  const auto life = Start(server, &WantMonitor, 2min);
  EXPECT_EQ(life->engine().decides(), 0u);
  EXPECT_THAT(life->engine().Unlisted(), HasSubstr("monitors.monitoring.test in ns (forbidden: "));
}

TEST_F(OptionalKindTest, OneThatAppearsIsListedAndWakesKeys) {
  const auto life = Start(server, &WantMonitor, 2min);
  Install();
  loop.Advance(80s);  // less than until every key is looked at again
  EXPECT_TRUE(Exists());
  EXPECT_EQ(Note(), "monitors: 1");
  server.Remove(kMonitors, {"ns", "main"});
  loop.Advance(2s);
  EXPECT_TRUE(Exists()) << "its objects are watched as any other's";
}

TEST_F(OptionalKindTest, NothingIsDecidedWhileOneThatAppearsIsListedForTheFirstTime) {
  server.streaming_lists = false;
  constexpr size_t kMoreThanAPage = 501;
  for (size_t i = 0; i < kMoreThanAPage; ++i)
    server.Put(kMonitors, MonitorJson("other-" + std::to_string(i), "somebody"));
  const auto life = Start(server, &WantMonitor);
  const Engine& engine = life->engine();
  const auto& monitors = life->engine().stores().Of<Monitor>();
  EXPECT_EQ(Note(), "no monitors: 0");
  Install();
  ASSERT_TRUE(loop.RunUntil([&] { return !monitors.empty(); }, 2min));
  server.latency = 5s;
  const uint64_t decides = engine.decides();
  loop.Advance(4s);
  EXPECT_LT(monitors.size(), kMoreThanAPage);
  EXPECT_FALSE(engine.Synced());
  EXPECT_FALSE(life->engine().stores().Trusted());
  EXPECT_EQ(engine.decides(), decides) << "on half a picture";
  loop.Advance(3min);
  EXPECT_EQ(Note(), "monitors: " + std::to_string(kMoreThanAPage + 1));
}

TEST_F(OptionalKindTest, OneThatGoesLeavesWhatARestartWouldFind) {
  Install();
  const auto life = Start(server, &WantMonitor);
  ASSERT_EQ(Note(), "monitors: 1");
  Uninstall();
  loop.Advance(2s);
  EXPECT_TRUE(life->engine().stores().Of<Monitor>().empty());
  EXPECT_TRUE(life->engine().Synced());
  EXPECT_TRUE(life->engine().stores().Trusted());
  EXPECT_EQ(Note(), "no monitors: 0");
  const uint64_t version = server.objects().version();
  const auto second = Start(server, &WantMonitor);
  EXPECT_EQ(second->engine().stores().Of<Monitor>().size(), 0u);
  EXPECT_EQ(server.objects().version(), version) << "it wants the same";
}

TEST_F(OptionalKindTest, OneThatComesBackIsUsedAsBefore) {
  Install();
  const auto life = Start(server, &WantMonitor);
  for (int i = 0; i < 3; ++i) {
    Uninstall();
    loop.Advance(10min);
    EXPECT_EQ(Note(), "no monitors: 0");
    Install();
    loop.Advance(80s);
    EXPECT_TRUE(Exists());
    EXPECT_EQ(Note(), "monitors: 1");
  }
}

TEST_F(OptionalKindTest, OneThatIsNotServedInARewrittenHistoryIsTrustedOnlyWhenAskedAnew) {
  const auto life = Start(server, &WantMonitor);
  Stores& stores = life->engine().stores();
  stores.Find(kMonitors)->Doubt();
  EXPECT_FALSE(stores.Trusted());
  loop.Advance(80s);
  EXPECT_TRUE(stores.Trusted());
}

// As WantBooks, but for where there may be no books.
Plan WantBooksWhereThereAre(const World& world, const kube::Key& key) {
  Plan plan = testing::WantBooks(world, key);
  if (!world.Served<testing::Book>()) plan.children.clear();
  return plan;
}

// What no namespace but one had was taken for gone everywhere, and children elsewhere for no longer wanted.
TEST_F(ShelfTest, WhatOneNamespaceLacksIsNotRemovedFromAnother) {
  add_kinds = [](Stores& stores) { stores.Find(kube::kConfigMaps)->SetOptional(true); };
  server.deny = [](std::string_view, const kube::Resource& resource, const kube::Key& key) {
    const bool lacks = resource == kube::kConfigMaps && key.ns == "other";
    return lacks ? std::optional(kube::testing::Refusal{404, "NotFound", "no such kind"}) : std::nullopt;
  };
  PutShelf(R"(["a"])");
  const auto life = Start(server, &WantBooksWhereThereAre);
  const std::string uid = BookUid("main-a");
  ASSERT_NE(uid, "");
  server.Put(Shelf::kResource, R"({"metadata":{"namespace":"other","name":"second"},"spec":{"books":[]}})");
  loop.Advance(1min);
  EXPECT_FALSE(life->engine().stores().Of<testing::Book>().Served());
  EXPECT_EQ(BookUid("main-a"), uid);
}

// --- Kinds of one plural ---------------------------------------------------------------------------------------------

constexpr kube::Resource kWebServices{"serving.test", "v1", "services", "Service", true};
constexpr kube::Resource kOtherShelves{"furniture.test", "v1", "shelves", "Shelf", true};
using CoreService = Bare<kube::kServices>;
using WebService = Bare<kWebServices>;
using OtherShelf = Bare<kOtherShelves>;

// Reads a core Service by name, and those of an owner.
Plan ReadCoreServices(const World& world, const kube::Key& key) {
  if (world.Find<Shelf>(key) == nullptr) return {};
  (void)world.Find<CoreService>({"ns", "read"});
  (void)world.OwnedBy<CoreService>("owner-1");
  return {};
}

class NamesakesTest : public ShelfTest {
 protected:
  NamesakesTest() {
    server.objects().Serve(kWebServices);
    server.objects().Serve(kOtherShelves);
    add_kinds = [](Stores& stores) {
      stores.Add<CoreService>();
      stores.Add<WebService>();
      stores.Add<OtherShelf>();
    };
    PutShelf("[]");
  }
  void Put(const kube::Resource& resource, const std::string& name, const std::string& owner = "nobody") {
    server.Put(resource, R"({"metadata":{"namespace":"ns","name":")" + name +
                             R"(","ownerReferences":[{"apiVersion":"v1","kind":"X","name":"x","uid":")" + owner +
                             R"(","controller":true}]}})");
  }
};

// Each change of the one woke the readers of the other, and made keys of objects that nobody reconciles.
TEST_F(NamesakesTest, WakeOnlyTheirOwnReaders) {
  const auto life = Start(server, &ReadCoreServices);
  const auto decides_after = [&](const kube::Resource& resource, const std::string& name, const std::string& owner) {
    const uint64_t before = life->engine().decides();
    Put(resource, name, owner);
    loop.Advance(1s);
    return life->engine().decides() - before;
  };
  EXPECT_EQ(decides_after(kWebServices, "read", "owner-1"), 0u);
  EXPECT_EQ(decides_after(kOtherShelves, "main", "nobody"), 0u);
  EXPECT_EQ(decides_after(kOtherShelves, "another", "nobody"), 0u);
  EXPECT_EQ(life->engine().keys(), 1u);
  EXPECT_EQ(decides_after(kube::kServices, "read", "nobody"), 1u);
  EXPECT_EQ(decides_after(kube::kServices, "owned", "owner-1"), 1u);
}

TEST_F(NamesakesTest, AreCountedApart) {
  net::Metrics metrics;
  options.metrics = &metrics;
  const auto life = Start(server, &ReadCoreServices);
  Put(kube::kServices, "a");
  Put(kWebServices, "a");
  Put(kWebServices, "b");
  loop.Advance(1min);
  const std::string text = metrics.Exposition();
  for (const char* line : {R"(capstan_store_objects{resource="services"} 1)",
                           R"(capstan_store_objects{resource="services.serving.test"} 2)",
                           R"(capstan_watches{resource="services",phase="live"} 1)",
                           R"(capstan_watches{resource="services.serving.test",phase="live"} 1)"}) {
    EXPECT_THAT(text, HasSubstr(std::string(line) + "\n"));
  }
}

}  // namespace
}  // namespace capstan::plan
