#include "kube/queue.h"

#include <gtest/gtest.h>

#include <string>

namespace capstan::kube {
namespace {

Tick At(Duration since_start) { return Tick(since_start); }

using StringQueue = Queue<std::string>;

// Takes and gives back until nothing is ready.
std::vector<std::string> Drain(StringQueue& queue, Tick now) {
  std::vector<std::string> taken;
  while (auto key = queue.Take(now)) {
    taken.push_back(*key);
    queue.Done(*key, now, Duration(0));
  }
  return taken;
}

TEST(Queue, HandsOutAKeyOnceHoweverOftenItWasAdded) {
  StringQueue queue;
  for (int i = 0; i < 3; ++i) queue.Add("a", Priority::kFresh, At(0s));
  EXPECT_EQ(Drain(queue, At(0s)), (std::vector<std::string>{"a"}));
}

TEST(Queue, ServesFirstComeFirstWithinAPriority) {
  StringQueue queue;
  for (const char* key : {"c", "a", "b", "c"}) queue.Add(key, Priority::kFresh, At(0s));
  EXPECT_EQ(Drain(queue, At(0s)), (std::vector<std::string>{"c", "a", "b"}));
}

TEST(Queue, ServesFreshEventsBeforeStartUp) {
  StringQueue queue;
  queue.Add("start", Priority::kRoutine, At(0s));
  queue.Add("event", Priority::kFresh, At(1s));
  queue.Add("urgent", Priority::kUrgent, At(2s));
  EXPECT_EQ(Drain(queue, At(2s)), (std::vector<std::string>{"urgent", "event", "start"}));
}

TEST(Queue, RaisesTheRankOfAReadyKey) {
  StringQueue queue;
  queue.Add("a", Priority::kRoutine, At(0s));
  queue.Add("b", Priority::kFresh, At(0s));
  queue.Add("first", Priority::kUrgent, At(0s));
  ASSERT_EQ(queue.Take(At(0s)), "first");
  ASSERT_EQ(queue.ready(), 2u);
  queue.Add("a", Priority::kUrgent, At(1s));
  EXPECT_EQ(Drain(queue, At(1s)), (std::vector<std::string>{"a", "b"}));
}

TEST(Queue, NeverLowersTheRankOfAReadyKey) {
  StringQueue queue;
  queue.Add("a", Priority::kFresh, At(0s));
  ASSERT_FALSE(queue.Take(At(-1s)));
  queue.Add("a", Priority::kRoutine, At(0s));
  queue.Add("b", Priority::kFresh, At(0s));
  EXPECT_EQ(Drain(queue, At(0s)), (std::vector<std::string>{"a", "b"}));
}

TEST(Queue, TheEarliestWakeUpWins) {
  StringQueue queue;
  queue.WakeAt("a", At(10s));
  queue.WakeAt("a", At(3s));
  queue.WakeAt("a", At(20s));
  EXPECT_EQ(queue.Next(), At(3s));
  EXPECT_FALSE(queue.Take(At(2s)));
  EXPECT_EQ(queue.Take(At(3s)), "a");
  queue.Done("a", At(3s), Duration(0));
  EXPECT_EQ(queue.Next(), std::nullopt);
}

TEST(Queue, AnEventOvertakesAPlannedWakeUp) {
  StringQueue queue;
  queue.WakeAt("a", At(5min));
  queue.Add("a", Priority::kFresh, At(1s));
  EXPECT_EQ(queue.Take(At(1s)), "a");
}

TEST(Queue, HoldsBackAKeyInFlightAndBringsItAfterDone) {
  StringQueue queue;
  queue.Add("a", Priority::kFresh, At(0s));
  ASSERT_EQ(queue.Take(At(0s)), "a");
  queue.Add("a", Priority::kUrgent, At(1s));
  EXPECT_FALSE(queue.Take(At(1s)));
  EXPECT_EQ(queue.Next(), std::nullopt);
  queue.Done("a", At(2s), Duration(0));
  EXPECT_EQ(queue.Take(At(2s)), "a");
  queue.Done("a", At(2s), Duration(0));
  EXPECT_FALSE(queue.Take(At(1h)));
}

TEST(Queue, KeepsAWakeUpAskedForInFlight) {
  StringQueue queue;
  queue.Add("a", Priority::kFresh, At(0s));
  ASSERT_EQ(queue.Take(At(0s)), "a");
  queue.WakeAt("a", At(5s));
  queue.Done("a", At(1s), Duration(0));
  EXPECT_EQ(queue.Next(), At(5s));
}

TEST(Queue, LetsAKeyRestWhateverItsPriority) {
  StringQueue queue;
  queue.Add("a", Priority::kFresh, At(0s));
  ASSERT_EQ(queue.Take(At(0s)), "a");
  queue.Done("a", At(0s), 2s);
  queue.Add("a", Priority::kUrgent, At(1s));
  EXPECT_FALSE(queue.Take(At(1s)));
  EXPECT_EQ(queue.Next(), At(2s));
  EXPECT_EQ(queue.Take(At(2s)), "a");
}

TEST(Queue, RestOutlivesAWakeUpThatComesWhileInFlight) {
  StringQueue queue;
  queue.Add("a", Priority::kFresh, At(0s));
  ASSERT_EQ(queue.Take(At(0s)), "a");
  queue.Add("a", Priority::kFresh, At(0s));
  queue.Done("a", At(1s), 10s);
  EXPECT_EQ(queue.Next(), At(11s));
}

TEST(Queue, ForgetsWhatNobodyWantsAnyMore) {
  StringQueue queue;
  queue.WakeAt("a", At(1s));
  queue.Add("b", Priority::kFresh, At(0s));
  queue.Add("c", Priority::kFresh, At(0s));
  ASSERT_EQ(queue.Take(At(0s)), "b");
  queue.Add("b", Priority::kFresh, At(0s));
  for (const char* key : {"a", "b", "c", "never"}) queue.Forget(key);
  queue.Done("b", At(0s), Duration(0));
  EXPECT_FALSE(queue.Take(At(1h)));
  EXPECT_EQ(queue.ready() + queue.waiting() + queue.in_flight(), 0u);
}

TEST(Queue, KnowsWhatIsWanted) {
  StringQueue queue;
  queue.WakeAt("a", At(1s));
  EXPECT_TRUE(queue.Wanted("a"));
  EXPECT_FALSE(queue.Wanted("never"));
  ASSERT_EQ(queue.Take(At(1s)), "a");
  EXPECT_FALSE(queue.Wanted("a")) << "that wish is being served";
  queue.Add("a", Priority::kFresh, At(1s));
  EXPECT_TRUE(queue.Wanted("a"));
  queue.Done("a", At(1s), 20ms);
  EXPECT_TRUE(queue.Wanted("a"));
  queue.Forget("a");
  EXPECT_FALSE(queue.Wanted("a"));
}

TEST(Queue, ServesGroupsInTurn) {
  Queue<std::string> queue([](const std::string& key) { return uint64_t(key[0]); });
  for (const char* key : {"a1", "a2", "a3", "a4", "b1", "b2"}) queue.Add(key, Priority::kFresh, At(0s));
  EXPECT_EQ(Drain(queue, At(0s)), (std::vector<std::string>{"a1", "b1", "a2", "b2", "a3", "a4"}));
}

TEST(Queue, AGroupThatWasIdleGoesFirstButDoesNotSaveUpTurns) {
  Queue<std::string> queue([](const std::string& key) { return uint64_t(key[0]); });
  for (int i = 0; i < 50; ++i) {
    queue.Add("a", Priority::kFresh, At(0s));
    Drain(queue, At(0s));
  }
  for (const char* key : {"a1", "a2", "b1", "b2", "b3"}) queue.Add(key, Priority::kFresh, At(0s));
  EXPECT_EQ(Drain(queue, At(0s)), (std::vector<std::string>{"b1", "a1", "b2", "a2", "b3"}));
}

TEST(Queue, TellsHowLongAKeyHadWaitedWhenItWasTaken) {
  Queue<std::string> queue;
  queue.Add("a", Priority::kFresh, At(1s));
  queue.WakeAt("b", At(3s));
  std::vector<std::string> ready;
  EXPECT_EQ(queue.Take(At(5s)), "a");
  EXPECT_EQ(queue.waited(), 4s);
  queue.ForEachReady([&](const std::string& key) { ready.push_back(key); });
  EXPECT_EQ(ready, std::vector<std::string>{"b"});
  EXPECT_EQ(queue.Take(At(5s)), "b");
  EXPECT_EQ(queue.waited(), 2s) << "since it was due";
}

TEST(Queue, DoesNotKeepKeysForEver) {
  StringQueue queue;
  for (int i = 0; i < 10'000; ++i) {
    queue.Add(std::to_string(i), Priority::kFresh, At(1s * i));
    queue.Done(*queue.Take(At(1s * i)), At(1s * i), 20ms);
  }
  EXPECT_LT(queue.known(), 200u);
}

}  // namespace
}  // namespace capstan::kube
