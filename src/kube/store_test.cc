#include "kube/store_test.h"

#include "base/random.h"

namespace capstan::kube {
namespace {

TEST_F(StoreTest, IsSyncedOnlyWhenAListIsComplete) {
  feed.BeginList();
  Added(Make("a", 5));
  EXPECT_FALSE(store.Synced());
  EXPECT_EQ(feed.frontier(), 0u) << "initial events come in any order and prove nothing";
  Hear(Bookmark(9, true));
  EXPECT_TRUE(store.Synced());
  EXPECT_EQ(feed.frontier(), 9u);
  EXPECT_EQ(notes.Take(), (Names{"+a", "listed"}));
}

TEST_F(StoreTest, FollowsEvents) {
  Listed({Make("a", 5), Make("b", 6)}, 9);
  Modified(Make("a", 10, "Ready"));
  Added(Make("c", 11));
  Gone(Make("b", 12));
  EXPECT_EQ(Seen(), (Names{"a:Ready", "c"}));
  EXPECT_EQ(feed.frontier(), 12u);
  EXPECT_EQ(store.Find({"ns", "b"}), nullptr);
  EXPECT_EQ(store.Find({"ns", "a"})->phase, "Ready");
}

TEST_F(StoreTest, TellsOnlyRealChanges) {
  Listed({Make("a", 5)}, 9);
  notes.Take();
  Modified(Make("a", 10));
  EXPECT_EQ(notes.Take(), Names{}) << "only the version differs";
  EXPECT_EQ(store.Find({"ns", "a"})->metadata.resource_version, 10u);
  Modified(Make("a", 11, "Ready"));
  EXPECT_EQ(notes.Take(), Names{"~a"});
}

TEST_F(StoreTest, NeverGoesBackToAnOlderVersion) {
  Listed({Make("a", 5)}, 9);
  Modified(Make("a", 12, "new"));
  Modified(Make("a", 11, "old"));
  EXPECT_EQ(Seen(), Names{"a:new"});
  Gone(Make("a", 11));
  EXPECT_EQ(Seen(), Names{"a:new"});
}

TEST_F(StoreTest, ANamesakeIsAnotherObject) {
  Listed({Make("a", 5, "old")}, 9);
  notes.Take();
  Added(Make("a", 11, "old", "a2"));  // DELETED was compressed away
  EXPECT_EQ(notes.Take(), Names{"~a renewed"});
  Gone(Make("a", 12, "", "a"));  // late news of the first one
  EXPECT_EQ(store.Find({"ns", "a"})->metadata.uid, "a2");
}

// --- Reading ---------------------------------------------------------------------------------------------------------

TEST_F(StoreTest, IteratesByNamespaceThenName) {
  Thing other = Make("a", 3);
  other.metadata.namespace_ = "ns-1";
  Listed({Make("b", 5), other, Make("a", 6)}, 9);
  EXPECT_EQ(Seen(), (Names{"a", "b", "a"}));
  EXPECT_EQ(store.InNamespace("ns").size(), 2u);
  EXPECT_EQ(store.InNamespace("ns-1")[0].metadata.resource_version, 3u);
  EXPECT_TRUE(store.InNamespace("nowhere").empty());
}

Thing Owned(Thing thing, std::string owner) {
  for (const bool controller : {false, true}) {
    json::OwnerReference& reference = thing.metadata.owner_references.emplace_back();
    reference.uid = controller ? owner : owner + "-not";
    reference.controller = controller;
  }
  return thing;
}

// The store guesses where the next object stands by where the last one stood.
TEST_F(StoreTest, InWhateverOrderChangesComeItKeepsItsOwn) {
  Listed({}, 1);
  Random random(7);
  std::map<std::string, std::string> expected;
  uint64_t version = 1;
  for (int i = 0; i < 3000; ++i) {
    const bool walk = (i / 100) % 2 == 0;  // in order, forwards or back, or anywhere
    const uint64_t at = walk ? uint64_t((i / 200) % 2 == 0 ? i % 50 : 49 - i % 50) : random.Next() % 50;
    const std::string name = "n" + std::to_string(100 + at);
    const std::string phase = std::to_string(random.Next() % 3);
    const Thing thing = Make(name, ++version, phase, name + "-" + std::to_string(i));
    switch (random.Next() % 4) {
      case 0:
        if (const Thing* old = store.Find({"ns", name})) Gone(Make(name, version, "", old->metadata.uid));
        expected.erase(name);
        break;
      case 1:  // there, but hidden
        if (const Thing* old = store.Find({"ns", name})) store.Deleted({"ns", name}, old->metadata.uid, now);
        expected.erase(name);
        break;
      default:
        Modified(thing);
        expected[name] = phase;
    }
    Names names;
    for (const auto& [key, value] : expected) names.push_back(key + ":" + value);
    ASSERT_EQ(Seen(), names) << "after change " << i;
  }
}

TEST_F(StoreTest, IndexesByControllingOwner) {
  Listed({Owned(Make("a", 5), "o1"), Owned(Make("b", 6), "o1"), Make("c", 7)}, 9);
  ASSERT_EQ(store.OwnedBy("o1").size(), 2u);
  EXPECT_EQ(store.OwnedBy("o1")[1].metadata.name, "b");
  EXPECT_TRUE(store.OwnedBy("o1-not").empty());
  Modified(Owned(Make("a", 10), "o2"));
  EXPECT_EQ(notes.touched, (Names{"namespace=ns", "owner=o1", "owner=o2"}));
  EXPECT_EQ(store.OwnedBy("o1").size(), 1u);
  Gone(Owned(Make("a", 11), "o2"));
  EXPECT_EQ(notes.touched, (Names{"namespace=ns", "owner=o2"}));
  EXPECT_TRUE(store.OwnedBy("o2").empty());
}

TEST_F(StoreTest, IndexesByWhatIsAsked) {
  Listed({Make("a", 5, "x")}, 9);
  store.AddIndex("phase", [](const Thing& thing) { return std::vector{thing.phase, thing.phase}; });
  EXPECT_EQ(store.By("phase", "x").size(), 1u);
  store.Answered(Make("a", 10, "y"), now);
  EXPECT_EQ(notes.touched, (Names{"namespace=ns", "phase=x", "phase=y"}));
  EXPECT_TRUE(store.By("phase", "x").empty());
  EXPECT_EQ(store.By("phase", "y")[0].metadata.resource_version, 10u);
  Modified(Make("a", 10, "y"));
  EXPECT_EQ(store.By("phase", "y").size(), 1u) << "the entry follows the object that replaced the provisional one";
}

// The status of each NodeSet woke its Controller and all other NodeSets of that.
TEST_F(StoreTest, WhatReadersOfAnIndexDoNotLookAtDoesNotTouchIt) {
  Listed({Make("a", 5, "x"), Make("b", 6, "x")}, 9);
  store.AddIndex(
      "letter", [](const Thing& thing) { return std::vector{thing.metadata.name.substr(0, 1)}; },
      [](const Thing& before, const Thing& after) { return before.metadata.labels == after.metadata.labels; });
  Modified(Make("a", 10, "y"));
  EXPECT_EQ(notes.touched, (Names{"namespace=ns"}));
  Thing labelled = Make("a", 11, "y");
  labelled.metadata.labels["l"] = "1";
  Modified(labelled);
  EXPECT_EQ(notes.touched, (Names{"namespace=ns", "letter=a"}));
  Gone(labelled);
  EXPECT_EQ(notes.touched, (Names{"namespace=ns", "letter=a"}));
}

TEST_F(StoreTest, IsLiveWhileItHears) {
  EXPECT_FALSE(store.Live(now, 90s));
  Listed({}, 9);
  EXPECT_TRUE(store.Live(now + 90s, 90s));
  EXPECT_FALSE(store.Live(now + 91s, 90s));
  now += 60s;
  Hear(Bookmark(9));
  EXPECT_TRUE(store.Live(now + 90s, 90s));
  feed.BeginList();
  EXPECT_FALSE(store.Live(now, 90s)) << "why list, if nothing was missed";
  EXPECT_TRUE(store.Synced());
}

TEST(StoreFeeds, EachNamespaceHasItsOwnFrontierAndSync) {
  Store<Thing> store("things");
  EXPECT_FALSE(store.Synced()) << "nothing watched, nothing known";
  Feed& one = store.AddFeed("one");
  Feed& two = store.AddFeed("two");
  EXPECT_EQ(&store.AddFeed("one"), &one);
  Thing thing = Make("a", 5);
  thing.metadata.namespace_ = "one";
  one.BeginList();
  ASSERT_TRUE(one.Take(Line("ADDED", thing), 0, Tick()));
  one.EndList(50, Tick());
  EXPECT_FALSE(store.Synced());
  thing.metadata.namespace_ = "two";
  two.BeginList();
  ASSERT_TRUE(two.Take(Line("ADDED", thing), 0, Tick()));
  two.EndList(20, Tick());
  EXPECT_TRUE(store.Synced());
  EXPECT_EQ(store.size(), 2u);
  thing.metadata.resource_version = 30;
  EXPECT_TRUE(store.Answered(thing, Tick())) << "above the frontier of its own feed";
  store.RemoveFeed("two");
  EXPECT_EQ(store.size(), 1u);
  EXPECT_EQ(store.FeedFor("two"), nullptr);
}

TEST_F(StoreTest, CountsWhatItHolds) {
  std::vector<Thing> things;
  for (int i = 0; i < 1000; ++i) things.push_back(Make("thing-with-a-longer-name-" + std::to_string(i), i + 1));
  Listed(things, 2000);
  const auto counts = store.counts();
  EXPECT_EQ(counts.objects, 1000u);
  EXPECT_GT(counts.bytes, 1000 * sizeof(Thing));
  EXPECT_LT(counts.bytes, 1000 * (sizeof(Thing) + 250));
}

// A kind of which there are thousands.
struct Small {
  struct Metadata {
    json::SharedText namespace_;
    json::Text name;
    json::Text uid;
    uint64_t resource_version = 0;
    static const json::Schema& Schema() {
      static const json::Schema schema = json::Object<Metadata>({
          json::Field<&Metadata::namespace_>("namespace"),
          json::Field<&Metadata::name>("name"),
          json::Field<&Metadata::uid>("uid"),
          json::Field<&Metadata::resource_version>("resourceVersion").AsText(),
      });
      return schema;
    }
  };
  Metadata metadata;
  json::SharedText phase;

  friend bool operator==(const Small& a, const Small& b) {
    return a.metadata.uid == b.metadata.uid && a.phase == b.phase;
  }
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<Small>({
        json::Field<&Small::metadata>("metadata"),
        json::Field<&Small::phase>("phase"),
    });
    return schema;
  }
};

TEST(SmallStore, LivesWithLittleMetadata) {
  Store<Small> store("smalls");
  Feed& feed = store.AddFeed("");
  feed.BeginList();
  for (const Thing& thing : {Make("b", 6), Make("a", 5)}) ASSERT_TRUE(feed.Take(Line("ADDED", thing), 0, Tick()));
  EXPECT_FALSE(store.Synced());
  const auto end = feed.Take(Bookmark(9, true), 0, Tick());
  ASSERT_TRUE(end) << end.error().message();
  EXPECT_TRUE(end->list_complete) << "the struct has no annotations, the bookmark has";
  EXPECT_TRUE(store.Synced());
  ASSERT_TRUE(feed.Take(Line("MODIFIED", Make("a", 10, "Ready")), 0, Tick()));
  ASSERT_TRUE(feed.Take(Line("DELETED", Make("b", 11)), 0, Tick()));
  ASSERT_EQ(store.size(), 1u);
  const Small* a = store.Find({"ns", "a"});
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->phase.view(), "Ready");
  EXPECT_EQ(a->metadata.resource_version, 10u);
  EXPECT_EQ(store.MetaOf({"ns", "a"}), nullptr) << "there is none to show";
  EXPECT_TRUE(store.OwnedBy("a").empty());
}

TEST(SmallStore, IsSmall) {
  Store<Small> store("smalls");
  Feed& feed = store.AddFeed("");
  feed.BeginList();
  for (uint64_t i = 1; i <= 1000; ++i) {
    const Thing thing =
        Make("training-6d4cf56db6-" + std::to_string(i), i, "Running", "3f2504e0-4f89-41d3-9a0c-0305e82c3301");
    ASSERT_TRUE(feed.Take(Line("ADDED", thing), 0, Tick()));
  }
  feed.EndList(2000, Tick());
  EXPECT_LT(store.counts().bytes, 1000 * 250u);
}

}  // namespace
}  // namespace capstan::kube
