// What a list proves, and whose history it tells.
#include "kube/store_test.h"

namespace capstan::kube {
namespace {

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

// --- Kinds that are not served ---------------------------------------------------------------------------------------

TEST_F(StoreTest, WhatIsNotServedKeepsWhatWasKnown) {
  feed.NotServed(now);
  EXPECT_FALSE(store.Synced());
  Listed({Make("a", 5)}, 9);
  notes.Take();
  feed.NotServed(now);
  EXPECT_EQ(Seen(), Names{"a"});
  EXPECT_TRUE(store.Served()) << "it is not asked for";
  EXPECT_EQ(notes.Take(), Names{});
}

TEST_F(StoreTest, WhatIsOptionalAndNotServedIsListedAndEmpty) {
  store.SetOptional(true);
  feed.NotServed(now);
  EXPECT_TRUE(store.Synced());
  EXPECT_FALSE(store.Served());
  Listed({Make("a", 5), Make("b", 6)}, 9);
  store.Answered(Make("c", 12), now);
  store.Deleted({"ns", "b"}, store.Find({"ns", "b"})->metadata.uid, now);
  notes.Take();
  feed.NotServed(now);
  EXPECT_EQ(Seen(), Names{});
  EXPECT_EQ(notes.Take(), (Names{"-a", "-c", "not served", "listed"}));
  EXPECT_TRUE(store.Synced());
  EXPECT_EQ(store.counts().provisional + store.counts().tombstones, 0u);
  feed.BeginList();
  feed.NotServed(now);
  EXPECT_EQ(notes.Take(), Names{"listed"}) << "still not";
}

TEST_F(StoreTest, WhatAppearsIsNotSyncedBeforeItsFirstListIsComplete) {
  store.SetOptional(true);
  Listed({Make("a", 50)}, 90);
  feed.NotServed(now);
  notes.Take();
  feed.BeginList();
  EXPECT_TRUE(store.Synced()) << "it is asked for, nothing more";
  Added(Make("a", 5));
  EXPECT_FALSE(store.Synced());
  EXPECT_FALSE(store.Served());
  Hear(Bookmark(9, true));
  EXPECT_TRUE(store.Synced());
  EXPECT_TRUE(store.Served());
  EXPECT_FALSE(store.Suspect()) << "what it was before is no part of its history";
  EXPECT_EQ(notes.Take(), (Names{"+a", "served", "listed"}));
}

TEST_F(StoreTest, WhatIsNotServedIsNoLongerSuspectOnceItWasAskedForAnew) {
  store.SetOptional(true);
  feed.NotServed(now);
  feed.BeginList();
  store.Doubt();
  feed.NotServed(now);
  EXPECT_TRUE(store.Suspect()) << "that was asked before the doubt";
  feed.BeginList();
  feed.NotServed(now);
  EXPECT_FALSE(store.Suspect());
}

TEST(StoreFeeds, AKindIsServedWhenAllHaveListedIt) {
  Store<Thing> store("things");
  Notes notes;
  store.SetListener(&notes);
  store.SetOptional(true);
  Feed& one = store.AddFeed("one");
  Feed& two = store.AddFeed("two");
  for (Feed* feed : {&one, &two}) feed->NotServed(Tick());
  one.BeginList();
  one.EndList(9, Tick());
  EXPECT_TRUE(store.Synced());
  EXPECT_FALSE(store.Served());
  notes.Take();
  store.RemoveFeed("two");
  EXPECT_TRUE(store.Served());
  EXPECT_EQ(notes.Take(), Names{"served"});
}

}  // namespace
}  // namespace capstan::kube
