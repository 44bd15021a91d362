// What our own writes and deletes show, and for how long.
#include "kube/store_test.h"

namespace capstan::kube {
namespace {

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

}  // namespace
}  // namespace capstan::kube
