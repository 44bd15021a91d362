// The modelled API server through the real Client and Watcher.
#include "kube/testing/fake_api_server.h"

#include <gtest/gtest.h>

#include "async/task_group.h"
#include "kube/client.h"
#include "kube/testing/scripted_transport.h"
#include "kube/testing/thing.h"
#include "kube/watch.h"

namespace capstan::kube::testing {
namespace {

using json::FindText;

// Lets the loop run until the task has its value.
template <class T>
T Wait(async::VirtualLoop& loop, async::Task<T> task) {
  std::optional<T> value;
  auto store = [](async::Task<T> inner, std::optional<T>& out) -> async::Task<void> {
    out = co_await std::move(inner);
  };
  async::TaskGroup group(loop);
  group.Spawn("test", store(std::move(task), value));
  loop.RunUntil([&] { return group.size() == 0; }, 10min);
  return *std::move(value);
}

class FakeApiServerTest : public ::testing::Test {
 protected:
  FakeApiServerTest() { server.objects().Serve(kThings); }

  Result<json::Value> Parsed(Result<std::string> text) {
    if (!text) return Fail(text.error());
    return json::Parse(*text);
  }
  Result<json::Value> Create(const Resource& resource, Key key, std::string object) {
    return Parsed(Wait(loop, client.Create(resource, key, std::move(object), {}, loop.After(1min))));
  }
  Result<json::Value> Get(const Resource& resource, Key key) {
    return Parsed(Wait(loop, client.Get(resource, key, {}, loop.After(1min))));
  }
  Result<json::Value> Apply(const Resource& resource, Key key, std::string object, std::string manager = "capstan",
                            std::string subresource = {}, bool force = true) {
    ApplyOptions options{.subresource = std::move(subresource), .field_manager = std::move(manager), .force = force};
    return Parsed(Wait(loop, client.Apply(resource, key, std::move(object), std::move(options), loop.After(1min))));
  }
  Result<json::Value> Patch(const Resource& resource, Key key, PatchType type, std::string patch,
                            std::string subresource = {}) {
    WriteOptions options;
    options.subresource = std::move(subresource);
    return Parsed(
        Wait(loop, client.Patch(resource, key, type, std::move(patch), std::move(options), loop.After(1min))));
  }
  Result<json::Value> Delete(const Resource& resource, Key key, DeleteOptions options = {}) {
    return Parsed(Wait(loop, client.Delete(resource, key, std::move(options), loop.After(1min))));
  }
  static Code CodeOf(const Result<json::Value>& result) { return result ? Code::kInternal : result.error().code(); }
  static std::string_view Uid(const json::Value& value) { return FindText(value, {"metadata", "uid"}); }
  static std::string_view Version(const json::Value& value) { return FindText(value, {"metadata", "resourceVersion"}); }
  static int64_t Generation(const json::Value& value) {
    return json::Find(value, {"metadata", "generation"})->get_int64();
  }

  async::VirtualLoop loop;
  FakeApiServer server{loop, 1};
  Client client{loop, server, {}};
  const Key a{"ns", "a"};
};

TEST_F(FakeApiServerTest, CreatesReadsAndRefusesTwice) {
  const auto made = Create(kConfigMaps, a, R"({"metadata":{"name":"a"},"data":{"k":"v"}})");
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(FindText(*made, {"kind"}), "ConfigMap");
  EXPECT_EQ(Uid(*made).size(), 36u);
  EXPECT_EQ(*Get(kConfigMaps, a), *made);
  EXPECT_EQ(CodeOf(Create(kConfigMaps, a, R"({"metadata":{"name":"a"}})")), Code::kAlreadyExists);
  EXPECT_EQ(CodeOf(Get(kConfigMaps, {"ns", "b"})), Code::kNotFound);
  ASSERT_EQ(server.writes().size(), 2u);
  EXPECT_EQ(server.writes()[0].verb, "create");
  EXPECT_TRUE(server.writes()[0].changed);
  EXPECT_EQ(server.writes()[1].status, 409);
}

TEST_F(FakeApiServerTest, StatusAndSpecAreKeptApart) {
  const auto made = Create(kThings, a, R"({"metadata":{"name":"a"},"spec":{"n":1},"status":{"x":1}})");
  EXPECT_FALSE(json::Find(*made, {"status"})) << "created without status";
  const auto status = Patch(kThings, a, PatchType::kMerge, R"({"spec":{"n":9},"status":{"x":2}})", "status");
  EXPECT_EQ(json::Find(*status, {"status", "x"})->get_int64(), 2);
  EXPECT_EQ(json::Find(*status, {"spec", "n"})->get_int64(), 1);
  EXPECT_EQ(Generation(*status), 1);
  const auto spec = Patch(kThings, a, PatchType::kMerge, R"({"spec":{"n":9},"status":{"x":3}})");
  EXPECT_EQ(json::Find(*spec, {"status", "x"})->get_int64(), 2);
  EXPECT_EQ(Generation(*spec), 2);
  EXPECT_EQ(CodeOf(Patch(kConfigMaps, a, PatchType::kMerge, "{}", "status")), Code::kNotFound);
}

TEST_F(FakeApiServerTest, AWriteThatChangesNothingKeepsTheVersion) {
  const std::string config = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}})";
  const auto first = Apply(kConfigMaps, a, config);
  ASSERT_TRUE(first) << first.error().message();
  loop.Advance(1h);
  EXPECT_EQ(Version(*Apply(kConfigMaps, a, config)), Version(*first));
  EXPECT_EQ(Version(*Patch(kConfigMaps, a, PatchType::kMerge, R"({"data":{"k":"v"}})")), Version(*first));
  EXPECT_FALSE(server.writes().back().changed);
}

TEST_F(FakeApiServerTest, ApplyDropsWhatTheManagerNoLongerWants) {
  Apply(kConfigMaps, a, R"({"metadata":{"labels":{"x":"1"}},"data":{"k":"v","gone":"v","shared":"s"}})");
  Apply(kConfigMaps, a, R"({"data":{"shared":"s","theirs":"t"}})", "other");
  const auto after = Apply(kConfigMaps, a, R"({"data":{"k":"w"}})");
  EXPECT_EQ(json::SerializeCanonical(*json::Find(*after, {"data"})), R"({"k":"w","shared":"s","theirs":"t"})");
  EXPECT_FALSE(json::Find(*after, {"metadata", "labels"}));
  EXPECT_EQ(json::Find(*after, {"metadata", "managedFields"})->get_array().size(), 2u);
}

TEST_F(FakeApiServerTest, ApplyWithoutForceNamesTheOwner) {
  Apply(kConfigMaps, a, R"({"data":{"k":"v"}})", "other");
  const auto refused = Apply(kConfigMaps, a, R"({"data":{"k":"w"}})", "capstan", "", false);
  EXPECT_EQ(CodeOf(refused), Code::kConflict);
  EXPECT_NE(refused.error().message().find("\"other\": .data.k"), std::string::npos) << refused.error().message();
  const auto forced = Apply(kConfigMaps, a, R"({"data":{"k":"w"}})");
  EXPECT_EQ(json::Find(*forced, {"metadata", "managedFields"})->get_array().size(), 1u);
}

TEST_F(FakeApiServerTest, ApplyMergesListsByTheirKeys) {
  server.Put(kPods,
             R"({"metadata":{"namespace":"ns","name":"a"},"spec":{"containers":[{"name":"sidecar","image":"s"}]}})");
  Apply(kPods, a, R"({"spec":{"containers":[{"name":"main","image":"1","ports":[{"containerPort":80}]}]}})");
  const auto after = Apply(kPods, a, R"({"spec":{"containers":[{"name":"main","image":"2"}]}})");
  EXPECT_EQ(json::SerializeCanonical(*json::Find(*after, {"spec", "containers"})),
            R"([{"image":"s","name":"sidecar"},{"image":"2","name":"main"}])");
}

TEST_F(FakeApiServerTest, AnotherManagersEditShowsInManagedFields) {
  const auto ours = Apply(kConfigMaps, a, R"({"data":{"k":"v"}})");
  server.Edit(
      kConfigMaps, a, "", [](json::Value& value) { json::MakeObject(value, {"data"})["k"] = "theirs"; },
      "kubectl-edit");
  const auto managed = json::SerializeCanonical(*json::Find(*Get(kConfigMaps, a), {"metadata", "managedFields"}));
  EXPECT_NE(managed.find("kubectl-edit"), std::string::npos);
  EXPECT_EQ(managed.find("\"capstan\""), std::string::npos) << "the only field of ours is theirs now";
}

TEST_F(FakeApiServerTest, FormerManagersCanBeFoldedIntoOurs) {
  server.Put(kConfigMaps, R"({"metadata":{"namespace":"ns","name":"a"},"data":{"old":"v","k":"v"}})", "", "manager");
  const std::string entry =
      R"([{"op":"replace","path":"/metadata/managedFields","value":[{"manager":"capstan","operation":"Apply",)"
      R"("apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1",)"
      R"("fieldsV1":{"f:data":{".":{},"f:old":{},"f:k":{}}}}]}])";
  ASSERT_TRUE(Patch(kConfigMaps, a, PatchType::kJson, entry));
  const auto after = Apply(kConfigMaps, a, R"({"data":{"k":"v"}})");
  EXPECT_EQ(json::SerializeCanonical(*json::Find(*after, {"data"})), R"({"k":"v"})");
}

TEST_F(FakeApiServerTest, ConditionsAreMergedByTypeInAStrategicPatch) {
  Create(kThings, a, R"({"metadata":{"name":"a"}})");
  const auto patch = [&](const std::string& conditions) {
    const auto patched =
        Patch(kThings, a, PatchType::kStrategic, R"({"status":{"conditions":[)" + conditions + "]}}", "status");
    return json::SerializeCanonical(*json::Find(*patched, {"status", "conditions"}));
  };
  EXPECT_EQ(patch(R"({"type":"A","status":"True","reason":"x"})"), R"([{"reason":"x","status":"True","type":"A"}])");
  EXPECT_EQ(patch(R"({"type":"B","status":"True"},{"type":"A","status":"False"})"),
            R"([{"reason":"x","status":"False","type":"A"},{"status":"True","type":"B"}])");
  EXPECT_EQ(patch(R"({"$patch":"delete","type":"A"},{"$patch":"delete","type":"C"})"),
            R"([{"status":"True","type":"B"}])");
}

TEST_F(FakeApiServerTest, PreconditionsAreKept) {
  const auto made = Create(kConfigMaps, a, R"({"metadata":{"name":"a"}})");
  const std::string uid(Uid(*made));
  EXPECT_EQ(CodeOf(Delete(kConfigMaps, a, {.uid = "other", .resource_version = {}, .grace_seconds = {}})),
            Code::kConflict);
  EXPECT_EQ(CodeOf(Delete(kConfigMaps, a, {.uid = uid, .resource_version = "1", .grace_seconds = {}})),
            Code::kConflict);
  EXPECT_EQ(CodeOf(Patch(kConfigMaps, a, PatchType::kMerge, R"({"metadata":{"uid":"other"}})")), Code::kConflict);
  EXPECT_EQ(CodeOf(Patch(kConfigMaps, a, PatchType::kMerge, R"({"metadata":{"resourceVersion":"1"}})")),
            Code::kConflict);
  EXPECT_EQ(CodeOf(Patch(kConfigMaps, a, PatchType::kJson, R"([{"op":"test","path":"/data","value":{}}])")),
            Code::kInvalid);
  EXPECT_TRUE(Delete(kConfigMaps, a, {.uid = uid, .resource_version = {}, .grace_seconds = {}}));
  EXPECT_EQ(CodeOf(Delete(kConfigMaps, a)), Code::kNotFound);
}

TEST_F(FakeApiServerTest, FinalizersHoldAnObjectUntilTheyAreGone) {
  Create(kThings, a, R"({"metadata":{"name":"a","finalizers":["x/y"]}})");
  const auto ending = Delete(kThings, a);
  EXPECT_FALSE(FindText(*ending, {"metadata", "deletionTimestamp"}).empty());
  EXPECT_TRUE(Get(kThings, a));
  ASSERT_TRUE(Patch(kThings, a, PatchType::kMerge, R"({"metadata":{"finalizers":null}})"));
  EXPECT_EQ(CodeOf(Get(kThings, a)), Code::kNotFound);
}

TEST_F(FakeApiServerTest, PodsTakeTheirTimeToStop) {
  server.Put(kPods, R"({"metadata":{"namespace":"ns","name":"a"},"spec":{"nodeName":"n"}})");
  server.Put(kPods, R"({"metadata":{"namespace":"ns","name":"b"},"spec":{}})");
  server.objects().pod_stops_after = [](const json::Value&) { return std::optional<Duration>(20s); };
  EXPECT_TRUE(Delete(kPods, a));
  EXPECT_TRUE(Delete(kPods, {"ns", "b"}));
  EXPECT_FALSE(server.Find(kPods, {"ns", "b"})) << "never scheduled, nothing to stop";
  loop.Advance(19s);
  EXPECT_TRUE(server.Find(kPods, a));
  loop.Advance(2s);
  EXPECT_FALSE(server.Find(kPods, a));
}

TEST_F(FakeApiServerTest, DependentsFollowTheirOwner) {
  const std::string uid(Uid(*Create(kThings, a, R"({"metadata":{"name":"a"}})")));
  const auto owned = [&](std::string name) {
    return R"({"metadata":{"name":")" + name + R"(","ownerReferences":[{"uid":")" + uid + R"(","controller":true}]}})";
  };
  Create(kConfigMaps, {"ns", "child"}, owned("child"));
  Create(kThings, {"ns", "late"}, owned("late"));
  Delete(kThings, a);
  EXPECT_TRUE(server.Find(kConfigMaps, {"ns", "child"})) << "not at once";
  loop.Advance(1s);
  EXPECT_FALSE(server.Find(kConfigMaps, {"ns", "child"}));
  EXPECT_FALSE(server.Find(kThings, {"ns", "late"}));
  Create(kConfigMaps, {"ns", "too-late"}, owned("too-late"));
  EXPECT_TRUE(server.Find(kConfigMaps, {"ns", "too-late"}));
  loop.Advance(1s);
  EXPECT_FALSE(server.Find(kConfigMaps, {"ns", "too-late"}));
}

TEST_F(FakeApiServerTest, ForegroundWaitsForDependentsAndOrphansStay) {
  for (const Propagation how : {Propagation::kForeground, Propagation::kOrphan}) {
    const std::string uid(Uid(*Create(kThings, a, R"({"metadata":{"name":"a"}})")));
    Create(kConfigMaps, {"ns", "child"},
           R"({"metadata":{"name":"child","ownerReferences":[{"uid":")" + uid + R"("}]}})");
    DeleteOptions options;
    options.propagation = how;
    Delete(kThings, a, options);
    EXPECT_EQ(server.Find(kThings, a) != nullptr, how == Propagation::kForeground);
    loop.Advance(2s);
    EXPECT_FALSE(server.Find(kThings, a));
    EXPECT_EQ(server.Find(kConfigMaps, {"ns", "child"}) != nullptr, how == Propagation::kOrphan);
  }
}

TEST_F(FakeApiServerTest, ANamespaceTakesItsContentsAlong) {
  server.Put(kNamespaces, R"({"metadata":{"name":"ns"}})");
  Create(kConfigMaps, a, R"({"metadata":{"name":"a"}})");
  Delete(kNamespaces, {"", "ns"});
  EXPECT_EQ(CodeOf(Create(kConfigMaps, {"ns", "b"}, R"({"metadata":{"name":"b"}})")), Code::kForbidden);
  loop.Advance(5s);
  EXPECT_FALSE(server.Find(kConfigMaps, a));
  EXPECT_FALSE(server.Find(kNamespaces, {"", "ns"}));
}

TEST_F(FakeApiServerTest, ListsInPagesOfOneSnapshot) {
  for (const char* name : {"a", "b", "c"})
    Create(kConfigMaps, {"ns", name}, R"({"metadata":{"name":")" + std::string(name) + R"(","labels":{"l":"x"}}})");
  ListOptions options;
  options.limit = 2;
  options.label_selector = "l in (x,y)";
  const auto first = Parsed(Wait(loop, client.List(kConfigMaps, options, loop.After(1min))));
  EXPECT_EQ(json::Find(*first, {"items"})->get_array().size(), 2u);
  Delete(kConfigMaps, {"ns", "c"});
  options.continue_token = FindText(*first, {"metadata", "continue"});
  const auto second = Parsed(Wait(loop, client.List(kConfigMaps, options, loop.After(1min))));
  EXPECT_EQ(json::Find(*second, {"items"})->get_array().size(), 1u) << "as of the first page";
  EXPECT_EQ(CodeOf(Parsed(Wait(loop, client.List(kConfigMaps, options, loop.After(1min))))), Code::kGone);
}

TEST_F(FakeApiServerTest, ScalesEvictsAndBinds) {
  Create(kStatefulSets, a, R"({"metadata":{"name":"a"},"spec":{"replicas":1}})");
  EXPECT_TRUE(Patch(kStatefulSets, a, PatchType::kMerge, R"({"spec":{"replicas":4}})", "scale"));
  EXPECT_EQ(json::Find(*server.Find(kStatefulSets, a), {"spec", "replicas"})->get_int64(), 4);
  const Owners owners = OwnersOf(*json::Find(*server.Find(kStatefulSets, a), {"metadata", "managedFields"}));
  EXPECT_TRUE(owners.contains({"capstan", "Update", "scale"}))
      << "as the real server tells it from a write of the object";
  Create(kPods, a, R"({"metadata":{"name":"a"},"spec":{}})");
  EXPECT_TRUE(Wait(loop, client.Create(kPods, a, R"({"target":{"name":"n1"}})",
                                       {.subresource = "binding", .field_manager = {}}, loop.After(1min))));
  EXPECT_EQ(FindText(*server.Find(kPods, a), {"spec", "nodeName"}), "n1");
  server.may_evict = [](const json::Value&) { return false; };
  EXPECT_TRUE(IsBudgetsRefusal(Wait(loop, client.Evict(a, {}, loop.After(1min))).error()));
  server.may_evict = {};
  EXPECT_TRUE(Wait(loop, client.Evict(a, {}, loop.After(1min))));
}

// --- Watches ---------------------------------------------------------------------------------------------------------

class FakeWatchTest : public FakeApiServerTest {
 protected:
  void Start(std::string labels = {}) {
    watcher.emplace(loop, client, kThings, store.AddFeed("ns"),
                    Watcher::Selection{.label_selector = std::move(labels), .field_selector = {}}, 5);
    group.Spawn("watch", watcher->Run());
    loop.Advance(100ms);
  }
  void TearDown() override {
    group.Cancel();
    loop.Advance(Duration(0));
  }
  void PutThing(const std::string& name, const std::string& phase) {
    server.Put(kThings, R"({"metadata":{"namespace":"ns","name":")" + name + R"(","labels":{"p":")" + phase +
                            R"("}},"phase":")" + phase + R"("})");
  }
  // The store says what the server has.
  void ExpectAgreement() {
    size_t count = 0;
    for (const auto& [key, value] : server.objects().Table(kThings).objects) {
      const Thing* thing = store.Find(key);
      ASSERT_TRUE(thing) << key.ToString();
      EXPECT_EQ(thing->phase, FindText(*value, {"phase"})) << key.ToString();
      EXPECT_EQ(thing->metadata.uid, Uid(*value)) << key.ToString();
      ++count;
    }
    EXPECT_EQ(store.size(), count);
  }

  Store<Thing> store{"things"};
  async::TaskGroup group{loop};
  std::optional<Watcher> watcher;
};

TEST_F(FakeWatchTest, TellsWhatIsThereAndWhatChanges) {
  PutThing("a", "1");
  Start();
  EXPECT_TRUE(store.Synced());
  PutThing("b", "1");
  PutThing("a", "2");
  server.Remove(kThings, {"ns", "b"});
  loop.Advance(10ms);
  ExpectAgreement();
  EXPECT_EQ(watcher->status().events, 5u) << "a, the bookmark, b, a, b's end";
  loop.Advance(10min);
  EXPECT_EQ(watcher->status().lists, 1u);
  EXPECT_TRUE(store.Live(loop.Now(), 90s));
}

TEST_F(FakeWatchTest, LeavingTheSelectionIsADeletion) {
  PutThing("a", "in");
  Start("p=in");
  EXPECT_EQ(store.size(), 1u);
  PutThing("a", "out");
  loop.Advance(10ms);
  EXPECT_EQ(store.size(), 0u);
  PutThing("a", "in");
  loop.Advance(10ms);
  EXPECT_EQ(store.size(), 1u);
}

TEST_F(FakeWatchTest, LostHistoryMeansAList) {
  PutThing("a", "1");
  Start();
  server.Remove(kThings, {"ns", "a"});
  server.CutWatches(true);
  PutThing("b", "1");
  loop.Advance(5s);
  ExpectAgreement();
  EXPECT_EQ(watcher->status().lists, 2u);
}

TEST_F(FakeWatchTest, ARestoredBackupIsNoticed) {
  PutThing("a", "1");
  Start();
  const auto backup = server.objects().MakeBackup();
  PutThing("a", "2");
  PutThing("b", "1");
  loop.Advance(1s);
  server.Restore(backup);
  EXPECT_FALSE(store.Suspect());
  loop.RunUntil([&] { return store.Suspect(); }, 1min);
  EXPECT_TRUE(store.Suspect());
  loop.Advance(1min);
  EXPECT_FALSE(store.Suspect());
  ExpectAgreement();
}

TEST_F(FakeWatchTest, OldServersAreReadInPages) {
  server.streaming_lists = false;
  for (int i = 0; i < 1200; ++i) PutThing("t" + std::to_string(i), "1");
  Start();
  EXPECT_TRUE(store.Synced());
  ExpectAgreement();
}

TEST_F(FakeWatchTest, WhateverBefallsTheWireTheStoreAgreesInTheEnd) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    async::VirtualLoop own_loop;
    FakeApiServer own_server(own_loop, seed);
    own_server.objects().Serve(kThings);
    Client own_client(own_loop, own_server, {});
    Store<Thing> own_store("things");
    Watcher own_watcher(own_loop, own_client, kThings, own_store.AddFeed(""), {}, seed);
    async::TaskGroup own_group(own_loop);
    own_group.Spawn("watch", own_watcher.Run());
    Random random(seed);
    own_server.streaming_lists = random.Percent(70);
    own_server.faults = {.refused = 5,
                         .throttled = 3,
                         .unavailable = 5,
                         .slow = 10,
                         .lost_answer = 5,
                         .cut_watch = 4,
                         .mute_watch = 1,
                         .lag_watch = 10,
                         .lost_history = 10};
    const auto step = [&] {
      const Key key{"ns", std::string(1, char('a' + random.Below(6)))};
      const std::string phase = std::to_string(random.Below(4));
      if (random.Percent(30)) {
        const json::Value* there = own_server.Find(kThings, key);
        if (there && random.Percent(50)) own_store.Deleted(key, FindText(*there, {"metadata", "uid"}), own_loop.Now());
        own_server.Remove(kThings, key);
      } else {
        const json::Value answer = own_server.Put(
            kThings, R"({"metadata":{"namespace":"ns","name":")" + key.name + R"("},"phase":")" + phase + R"("})");
        if (random.Percent(50)) ASSERT_TRUE(own_store.Answered(json::Serialize(answer), own_loop.Now()));
      }
      if (random.Percent(2)) own_server.objects().CompactHistory();
    };
    for (int i = 0; i < 200; ++i) {
      step();
      own_loop.Advance(Duration(random.Below(uint64_t(3s / 1ns))));
    }
    own_server.faults = {};
    own_loop.Advance(5min);
    EXPECT_TRUE(own_store.Live(own_loop.Now(), 95s));
    const auto& truth = own_server.objects().Table(kThings).objects;
    EXPECT_EQ(own_store.size(), truth.size());
    for (const auto& [key, value] : truth) {
      const Thing* thing = own_store.Find(key);
      ASSERT_TRUE(thing) << key.ToString();
      EXPECT_EQ(std::to_string(thing->metadata.resource_version), Version(*value)) << key.ToString();
      EXPECT_EQ(thing->phase, FindText(*value, {"phase"}));
    }
    EXPECT_EQ(own_store.counts().provisional + own_store.counts().tombstones, 0u);
    own_group.Cancel();
    own_loop.Advance(Duration(0));
  }
}

// --- Faults ----------------------------------------------------------------------------------------------------------

TEST_F(FakeApiServerTest, ALostAnswerLeavesTheEffect) {
  server.faults.lost_answer = 100;
  EXPECT_EQ(CodeOf(Create(kConfigMaps, a, R"({"metadata":{"name":"a"}})")), Code::kUnknownOutcome);
  EXPECT_TRUE(server.Find(kConfigMaps, a));
}

TEST_F(FakeApiServerTest, OtherFaultsHaveNoEffect) {
  server.faults.unavailable = 100;
  EXPECT_FALSE(Create(kConfigMaps, a, R"({"metadata":{"name":"a"}})"));
  server.faults = {};
  server.faults.refused = 100;
  EXPECT_EQ(CodeOf(Create(kConfigMaps, a, R"({"metadata":{"name":"a"}})")), Code::kUnavailable);
  EXPECT_FALSE(server.Find(kConfigMaps, a));
  EXPECT_TRUE(server.writes().empty());
}

TEST_F(FakeApiServerTest, TellsOfEachWriteBeforeItsAnswer) {
  std::vector<std::string> order;
  server.on_write = [&](const ApiWrite& write) { order.push_back(write.verb + " " + write.key.ToString()); };
  Create(kConfigMaps, a, R"({"metadata":{"name":"a"}})");
  order.push_back("answer");
  EXPECT_EQ(order, (std::vector<std::string>{"create ns/a", "answer"}));
}

TEST_F(FakeApiServerTest, DeniesWhatItIsToldTo) {
  server.deny = [](std::string_view method, const Resource& resource, const Key&) -> std::optional<Refusal> {
    if (method != "GET" || resource != kSecrets) return std::nullopt;
    return Refusal{403, "Forbidden", "secrets is forbidden"};
  };
  EXPECT_EQ(CodeOf(Get(kSecrets, a)), Code::kForbidden);
  EXPECT_EQ(CodeOf(Get(kConfigMaps, a)), Code::kNotFound);
}

}  // namespace
}  // namespace capstan::kube::testing
