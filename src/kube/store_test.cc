#include "kube/store.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "kube/feed.h"
#include "kube/testing/thing.h"

namespace capstan::kube {
namespace {

using testing::Bookmark;
using testing::Line;
using testing::Make;
using testing::Thing;
using Names = std::vector<std::string>;

// Writes down what the store tells: "+a", "~a", "-a", "listed", "suspect", and the index entries touched.
class Notes final : public StoreListener {
 public:
  void OnChange(const AnyStore&, const Change& change) override {
    static constexpr const char* kMarks[] = {"+", "~", "-"};
    told.push_back(kMarks[int(change.what)] + std::string(change.name));
    if (change.what == Change::What::kChanged && change.uid != change.old_uid) told.back() += " renewed";
    touched.clear();
    for (const IndexEntry& entry : change.touched)
      touched.push_back(std::string(entry.index) + "=" + std::string(entry.value));
  }
  void OnListed(const AnyStore&) override { told.push_back("listed"); }
  void OnSuspect(const AnyStore&) override { told.push_back("suspect"); }

  Names Take() { return std::exchange(told, {}); }

  Names told;
  Names touched;
};

// A store of Things in namespace ns, and the verbs in which its story is told.
class StoreTest : public ::testing::Test {
 protected:
  StoreTest() { store.SetListener(&notes); }

  void Hear(const std::string& line) {
    const auto event = feed.Take(line, 0, now);
    ASSERT_TRUE(event) << event.error().message();
  }
  void Added(const Thing& thing) { Hear(Line("ADDED", thing)); }
  void Modified(const Thing& thing) { Hear(Line("MODIFIED", thing)); }
  void Gone(const Thing& thing) { Hear(Line("DELETED", thing)); }
  void Listed(std::vector<Thing> things, uint64_t version) {
    feed.BeginList();
    for (const Thing& thing : things) Added(thing);
    Hear(Bookmark(version, true));
  }
  Names Seen() const {
    Names seen;
    for (const Thing& thing : store.All()) {
      seen.push_back(thing.metadata.name + (thing.phase.empty() ? "" : ":" + thing.phase));
    }
    return seen;
  }

  Store<Thing> store{"things"};
  Notes notes;
  Feed& feed = store.AddFeed("");
  Tick now{1h};
};

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

// --- Own answers -----------------------------------------------------------------------------------------------------

TEST_F(StoreTest, OwnWritesShowAtOnce) {
  Listed({Make("a", 5)}, 9);
  notes.Take();
  EXPECT_TRUE(store.Answered(Make("a", 10, "mine"), now));
  EXPECT_TRUE(store.Answered(Make("b", 11, "mine"), now));
  EXPECT_EQ(Seen(), (Names{"a:mine", "b:mine"}));
  EXPECT_EQ(notes.Take(), (Names{"~a", "+b"}));
  EXPECT_EQ(store.counts().provisional, 2u);
}

TEST_F(StoreTest, TheWatchConfirmsAnOwnWriteWithoutAChange) {
  Listed({Make("a", 5)}, 9);
  store.Answered(Make("a", 10, "mine"), now);
  notes.Take();
  Modified(Make("a", 10, "mine"));
  EXPECT_EQ(notes.Take(), Names{});
  EXPECT_EQ(store.counts().provisional, 0u);
}

TEST_F(StoreTest, OlderEventsDoNotShowThroughAnOwnWrite) {
  Listed({Make("a", 5)}, 9);
  store.Answered(Make("a", 12, "mine"), now);
  notes.Take();
  Modified(Make("a", 10, "before"));
  Added(Make("b", 11));
  EXPECT_EQ(store.Find({"ns", "a"})->phase, "mine");
  EXPECT_EQ(notes.Take(), Names{"+b"});
}

TEST_F(StoreTest, ALateAnswerDoesNotUndoANewerEvent) {  // OpenSandbox#1673
  Listed({Make("a", 5)}, 9);
  Modified(Make("a", 20, "newer"));
  EXPECT_FALSE(store.Answered(Make("a", 15, "late"), now));
  EXPECT_EQ(Seen(), Names{"a:newer"});
}

TEST_F(StoreTest, ALateAnswerDoesNotBringBackWhatWasDeleted) {
  Listed({Make("a", 5)}, 9);
  Gone(Make("a", 20));
  EXPECT_FALSE(store.Answered(Make("a", 15, "late"), now));
  EXPECT_EQ(Seen(), Names{});
}

TEST_F(StoreTest, AnswersOvertakingEachOtherKeepTheNewest) {
  Listed({}, 9);
  EXPECT_TRUE(store.Answered(Make("a", 12, "second"), now));
  EXPECT_FALSE(store.Answered(Make("a", 11, "first"), now));
  EXPECT_TRUE(store.Answered(Make("a", 13, "third"), now));
  EXPECT_EQ(Seen(), Names{"a:third"});
  EXPECT_EQ(store.counts().provisional, 1u);
}

TEST_F(StoreTest, AnAnswerThatTheWatchPassesWithoutConfirmingLeaves) {
  Listed({Make("a", 5, "heard")}, 9);
  store.Answered(Make("a", 12, "mine"), now);
  store.Answered(Make("b", 13, "mine"), now);
  Hear(Bookmark(12));
  EXPECT_EQ(Seen(), (Names{"a:heard", "b:mine"}));
  Added(Make("c", 14));
  EXPECT_EQ(Seen(), (Names{"a:heard", "c"}));
}

TEST_F(StoreTest, ANewerEventReplacesAnOwnWrite) {
  Listed({Make("a", 5)}, 9);
  store.Answered(Make("a", 12, "mine"), now);
  Modified(Make("a", 15, "theirs"));
  EXPECT_EQ(Seen(), Names{"a:theirs"});
  EXPECT_EQ(store.counts().provisional, 0u);
}

TEST_F(StoreTest, DeletionEndsAnOwnWriteOfThatObjectOnly) {
  Listed({Make("a", 5), Make("b", 6)}, 9);
  store.Answered(Make("a", 12, "mine"), now);
  store.Answered(Make("b", 20, "again", "b2"), now);
  Gone(Make("a", 14));
  Gone(Make("b", 15));
  EXPECT_EQ(Seen(), Names{"b:again"});
}

TEST_F(StoreTest, TwoMinutesUnconfirmedAskForAList) {
  Listed({}, 9);
  EXPECT_EQ(feed.RelistDue(), std::nullopt);
  store.Answered(Make("a", 12, "mine"), now);
  store.Answered(Make("b", 13, "mine"), now + 1min);
  EXPECT_EQ(feed.RelistDue(), now + 2min);
  Listed({Make("b", 13, "mine")}, 14);
  EXPECT_EQ(Seen(), Names{"b:mine"});
  EXPECT_EQ(feed.RelistDue(), std::nullopt);
}

TEST_F(StoreTest, AnAnswerDuringAListOutlivesItWhenNewer) {
  Listed({Make("a", 5)}, 9);
  feed.BeginList();
  Added(Make("a", 5));
  store.Answered(Make("a", 12, "mine"), now);
  store.Answered(Make("b", 10, "mine"), now);
  Hear(Bookmark(11, true));
  EXPECT_EQ(Seen(), Names{"a:mine"}) << "b is not in a complete list that is newer than it";
}

TEST_F(StoreTest, AnswersOfUnwatchedNamespacesAreIgnored) {
  Store<Thing> scoped("things");
  scoped.AddFeed("other");
  EXPECT_FALSE(scoped.Answered(Make("a", 12), now));
}

TEST_F(StoreTest, AnAnswerThatIsNoObjectIsRefused) {
  EXPECT_EQ(store.Answered(R"({"kind":"Status","status":"Success"})", now).error().code(), Code::kInvalid);
  EXPECT_EQ(store.Answered("{", now).error().code(), Code::kInvalid);
}

// --- Own deletes -----------------------------------------------------------------------------------------------------

TEST_F(StoreTest, OwnDeletesShowAtOnceAndStay) {
  Listed({Make("a", 5), Make("b", 6)}, 9);
  notes.Take();
  store.Deleted({"ns", "a"}, "a", now);
  EXPECT_EQ(Seen(), Names{"b"});
  EXPECT_EQ(notes.Take(), Names{"-a"});
  Modified(Make("a", 10, "late"));
  EXPECT_FALSE(store.Answered(Make("a", 11, "late"), now));
  EXPECT_EQ(Seen(), Names{"b"});
  Gone(Make("a", 12));
  EXPECT_EQ(notes.Take(), Names{});
  EXPECT_EQ(store.counts().tombstones, 0u);
}

TEST_F(StoreTest, AnOwnDeleteHidesOnlyThatUid) {
  Listed({Make("a", 5)}, 9);
  store.Deleted({"ns", "a"}, "a", now);
  Added(Make("a", 12, "second", "a2"));
  EXPECT_EQ(Seen(), Names{"a:second"});
  store.Deleted({"ns", "a"}, "a0", now);
  EXPECT_EQ(Seen(), Names{"a:second"});
}

TEST_F(StoreTest, AnOwnDeleteTakesAnOwnAnswerAlong) {
  Listed({}, 9);
  store.Answered(Make("a", 12), now);
  store.Deleted({"ns", "a"}, "a", now);
  EXPECT_EQ(Seen(), Names{});
  Added(Make("a", 12));
  EXPECT_EQ(Seen(), Names{});
  Gone(Make("a", 13));
  EXPECT_EQ(Seen(), Names{});
  EXPECT_EQ(feed.RelistDue(), std::nullopt);
}

TEST_F(StoreTest, AListBegunLaterShowsTheTruthOfADelete) {
  Listed({Make("a", 5), Make("b", 6)}, 9);
  feed.BeginList();
  store.Deleted({"ns", "a"}, "a", now);
  Added(Make("a", 5));
  Added(Make("b", 6));
  Hear(Bookmark(10, true));
  EXPECT_EQ(Seen(), Names{"b"}) << "this list was begun before the delete";
  Listed({Make("a", 5), Make("b", 6)}, 11);
  EXPECT_EQ(Seen(), (Names{"a", "b"})) << "it was not gone after all";
}

TEST_F(StoreTest, AnUnconfirmedDeleteAsksForAList) {
  Listed({Make("a", 5)}, 9);
  store.Deleted({"ns", "a"}, "a", now);
  EXPECT_EQ(feed.RelistDue(), now + 2min);
  Listed({}, 12);
  EXPECT_EQ(feed.RelistDue(), std::nullopt);
}

// --- Lists -----------------------------------------------------------------------------------------------------------

TEST_F(StoreTest, ADeleteLostAcrossARelistIsFound) {
  Listed({Make("a", 5), Make("b", 6)}, 9);
  notes.Take();
  feed.BeginList();
  Added(Make("b", 6));
  EXPECT_EQ(Seen(), (Names{"a", "b"})) << "half a list proves nothing";
  Hear(Bookmark(20, true));
  EXPECT_EQ(Seen(), Names{"b"});
  EXPECT_EQ(notes.Take(), (Names{"-a", "listed"}));
}

TEST_F(StoreTest, AnAbandonedListRemovesNothing) {
  Listed({Make("a", 5), Make("b", 6)}, 9);
  feed.BeginList();
  Added(Make("b", 6));
  Listed({Make("a", 5), Make("b", 6)}, 12);
  EXPECT_EQ(Seen(), (Names{"a", "b"}));
  EXPECT_FALSE(store.Suspect());
}

TEST_F(StoreTest, CreatedAndDeletedBetweenListsNeverShows) {
  Listed({Make("a", 5)}, 9);
  notes.Take();
  Listed({Make("a", 5)}, 20);
  EXPECT_EQ(notes.Take(), Names{"listed"});
}

TEST_F(StoreTest, AServerThatLagsAtTheStartOfAListUndoesNothing) {  // Sieve, time travel
  Listed({Make("a", 5), Make("b", 6)}, 9);
  Modified(Make("a", 12, "new"));
  Gone(Make("b", 13));
  notes.Take();
  feed.BeginList();
  Added(Make("a", 5));
  Added(Make("b", 6));
  EXPECT_EQ(Seen(), Names{"a:new"});
  Modified(Make("a", 12, "new"));  // it catches up
  Gone(Make("b", 13));
  Hear(Bookmark(13, true));
  EXPECT_EQ(Seen(), Names{"a:new"});
  EXPECT_FALSE(store.Suspect());
  EXPECT_EQ(notes.Take(), Names{"listed"});
}

TEST_F(StoreTest, ARestoredEtcdReplacesEverythingAndIsSuspect) {
  Listed({Make("a", 5, "old"), Make("b", 6)}, 9);
  Modified(Make("a", 12, "new"));
  Added(Make("c", 13));
  store.Answered(Make("d", 14), now);
  notes.Take();
  Listed({Make("a", 5, "old"), Make("b", 6)}, 9);
  EXPECT_EQ(Seen(), (Names{"a:old", "b"}));
  EXPECT_EQ(feed.frontier(), 9u);
  EXPECT_TRUE(store.Suspect());
  EXPECT_EQ(notes.Take(), (Names{"~a", "-c", "-d", "suspect", "listed"}));
  EXPECT_EQ(feed.RelistDue(), Tick::min());
  Modified(Make("a", 10, "again"));
  EXPECT_EQ(Seen(), (Names{"a:again", "b"})) << "the new history goes on from where it was restored";
  EXPECT_TRUE(store.Suspect());
  Listed({Make("a", 10, "again"), Make("b", 6)}, 11);
  EXPECT_FALSE(store.Suspect());
  EXPECT_EQ(feed.RelistDue(), std::nullopt);
}

TEST_F(StoreTest, ADoubtOutlivesTheListThatHadBegunBeforeIt) {
  feed.BeginList();
  store.Doubt();
  Hear(Bookmark(9, true));
  EXPECT_TRUE(store.Suspect());
  EXPECT_EQ(feed.RelistDue(), Tick::min());
  Listed({}, 10);
  EXPECT_FALSE(store.Suspect());
}

TEST_F(StoreTest, ARestoredEtcdIsSeenEvenWhenItHasOvertakenUs) {
  Listed({Make("a", 5)}, 9);
  Modified(Make("a", 12, "new"));
  Listed({Make("a", 5)}, 40);
  EXPECT_TRUE(store.Suspect()) << "a complete list cannot hold a version older than one heard before";
  EXPECT_EQ(Seen(), Names{"a"});
}

TEST_F(StoreTest, TheSameVersionWithOtherContentIsAnotherHistory) {
  Listed({Make("a", 9, "this")}, 9);
  Listed({Make("a", 9, "that")}, 9);
  EXPECT_TRUE(store.Suspect());
  EXPECT_EQ(Seen(), Names{"a:that"});
}

TEST_F(StoreTest, PagesAreAListToo) {
  Listed({Make("a", 5), Make("z", 5)}, 9);
  feed.BeginList();
  const auto page = feed.TakePage(R"({"metadata":{"resourceVersion":"20","continue":"more"},"items":[)" +
                                  json::Encode(Make("a", 12, "x")) + "]}");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->version, 20u);
  EXPECT_EQ(page->continue_token, "more");
  ASSERT_TRUE(feed.TakePage(R"({"metadata":{"resourceVersion":"20"},"items":[)" + json::Encode(Make("b", 13)) + "]}"));
  feed.EndList(20, now);
  EXPECT_EQ(Seen(), (Names{"a:x", "b"}));
}

TEST_F(StoreTest, EmptyAndAbsentItemsAreAnEmptyList) {
  Listed({Make("a", 5)}, 9);
  feed.BeginList();
  ASSERT_TRUE(feed.TakePage(R"({"metadata":{"resourceVersion":"20"},"items":null})"));
  feed.EndList(20, now);
  EXPECT_EQ(Seen(), Names{});
  EXPECT_TRUE(store.Synced());
}

TEST_F(StoreTest, AnObjectThatCannotBeReadKeepsItsLastGoodContent) {
  Listed({Make("a", 5, "good"), Make("b", 6)}, 9);
  Hear(
      R"({"type":"MODIFIED","object":{"metadata":{"namespace":"ns","name":"a","uid":"a","resourceVersion":"12"},"phase":{}}})");
  EXPECT_EQ(Seen(), (Names{"a:good", "b"}));
  EXPECT_EQ(feed.frontier(), 12u);
  EXPECT_EQ(store.counts().undecodable, 1u);
  feed.BeginList();
  ASSERT_TRUE(
      feed.TakePage(R"({"metadata":{"resourceVersion":"20"},"items":[)"
                    R"({"metadata":{"namespace":"ns","name":"a","uid":"a","resourceVersion":"12"},"phase":1},)" +
                    json::Encode(Make("b", 15, "x")) + "]}"));
  feed.EndList(20, now);
  EXPECT_EQ(Seen(), (Names{"a:good", "b:x"}));
  Hear(
      R"({"type":"DELETED","object":{"metadata":{"namespace":"ns","name":"a","uid":"a","resourceVersion":"21"},"phase":1}})");
  EXPECT_EQ(Seen(), Names{"b:x"});
}

TEST_F(StoreTest, WhatIsNoEventIsRefused) {
  for (const char* line :
       {"", "{", "[]", R"({"type":"ODD","object":{}})", R"({"object":{}})", R"({"type":"ADDED","object":1})"}) {
    const auto event = feed.Take(line, 0, now);
    ASSERT_FALSE(event) << line;
    EXPECT_EQ(event.error().code(), Code::kInvalid) << line;
  }
}

TEST_F(StoreTest, ErrorEventsCarryTheirStatus) {
  const auto event =
      feed.Take(Line("ERROR", testing::StatusText(410, "Expired", "too old resource version: 1 (5)")), 0, now);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, WatchEvent::Type::kError);
  EXPECT_EQ(event->error->code(), Code::kGone);
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
