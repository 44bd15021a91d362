#include <gtest/gtest.h>
#include <time.h>

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/system_error.hpp>

#include "async/backoff.h"
#include "async/event.h"
#include "async/task_group.h"
#include "async/turn.h"
#include "base/result.h"

namespace capstan::async {
namespace {

Task<void> Note(Loop& loop, Duration wait, std::vector<int>& out, int value) {
  co_await Sleep(loop, wait);
  out.push_back(value);
}

TEST(VirtualLoop, HoursPassWithoutWaiting) {
  VirtualLoop loop;
  std::vector<int> out;
  TaskGroup group(loop);
  group.Spawn("late", Note(loop, 5h, out, 2));
  group.Spawn("early", Note(loop, 1h, out, 1));
  loop.Run();
  EXPECT_EQ(out, (std::vector{1, 2}));
  EXPECT_EQ(loop.Now().time_since_epoch(), Duration(5h));
}

TEST(VirtualLoop, EqualTimersFireInTheOrderTheyWereSet) {
  VirtualLoop loop;
  std::vector<int> out;
  TaskGroup group(loop);
  for (int i = 0; i < 10; ++i) group.Spawn("n", Note(loop, 1s, out, i));
  loop.Run();
  EXPECT_EQ(out, (std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(VirtualLoop, WallClockJumpsLeaveMonotonicTimeAlone) {
  VirtualLoop loop;
  const Time before = loop.WallNow();
  loop.JumpWallClock(-1h);
  EXPECT_EQ(loop.WallNow(), before - 1h);
  EXPECT_EQ(loop.Now().time_since_epoch(), Duration(0));
}

TEST(RealLoop, KnowsTheTurnThatKeptTheOthersWaiting) {
  RealLoop loop;
  const auto processor_time = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  };
  std::string_view next = "not asked";
  loop.Post([&] {
    NameTurn("decide nodeset/slurm/main");
    const Duration until = processor_time() + 10ms;
    while (processor_time() < until) {
    }
  });
  loop.Post([&] { next = TurnName(); });
  loop.Post([&] { loop.Stop(); });
  loop.Run();
  EXPECT_EQ(next, "") << "a name is forgotten with its turn";
  EXPECT_GE(loop.TakeLongestTurn(), 10ms) << "also when it was the only one that was ready";
  EXPECT_EQ(loop.TakeLongestTurn(), 0ms) << "taken";
}

TEST(TaskGroup, CancelEndsEveryWaitAtOnce) {
  VirtualLoop loop;
  std::vector<int> out;
  TaskGroup group(loop);
  group.Spawn("never", Note(loop, 24h, out, 1));
  loop.Advance(1s);
  group.Cancel();
  loop.Run();
  EXPECT_EQ(group.size(), 0u);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(loop.Now().time_since_epoch(), Duration(1s));
}

TEST(TaskGroup, ATaskCancelledBeforeItsFirstStepNeverBegins) {
  VirtualLoop loop;
  std::vector<int> out;
  TaskGroup group(loop);
  group.Spawn("never", Note(loop, 0s, out, 1));
  group.Cancel();
  loop.Run();
  EXPECT_EQ(group.size(), 0u);
  EXPECT_TRUE(out.empty());
}

// Under the address sanitizer: not by a handler of the loop, as by who owns it, once it has stopped.
TEST(TaskGroup, CancelFromOutsideFindsATaskAtAnyStepAlsoOneThatHasEnded) {
  for (int steps = 0; steps < 10; ++steps) {
    RealLoop loop;
    Event set(loop);
    set.Set();
    const auto wait = [](Event& event) -> Task<void> { co_await event.Wait(Deadline::Never()); };
    TaskGroup group(loop);
    group.Spawn("ends", wait(set));
    for (int i = 0; i < steps; ++i) loop.context().poll_one();
    group.Cancel();
    loop.context().restart();
    loop.context().run();
    EXPECT_EQ(group.size(), 0u);
  }
}

template <class T>
T RunTask(VirtualLoop& loop, Task<T> task) {
  std::optional<T> result;
  auto wrapped = [](Task<T> inner, std::optional<T>& out) -> Task<void> { out = co_await std::move(inner); };
  TaskGroup group(loop);
  group.Spawn("test", wrapped(std::move(task), result));
  loop.Run();
  return *std::move(result);
}

Task<Result<int>> WaitFor(Event& event, Deadline deadline) {
  if (co_await event.Wait(deadline)) co_return 1;
  co_return 0;
}

TEST(Event, WakesEveryWaiterAndStaysSet) {
  VirtualLoop loop;
  Event event(loop);
  int woken = 0;
  auto wait = [](Event& e, int& count) -> Task<void> { count += co_await e.Wait(Deadline::Never()); };
  TaskGroup group(loop);
  for (int i = 0; i < 3; ++i) group.Spawn("w", wait(event, woken));
  loop.Advance(1s);
  event.Set();
  loop.Run();
  EXPECT_EQ(woken, 3);
  EXPECT_EQ(RunTask(loop, WaitFor(event, Deadline::Never())), Result<int>(1));
}

TEST(Event, GivesUpAtTheDeadline) {
  VirtualLoop loop;
  Event event(loop);
  EXPECT_EQ(RunTask(loop, WaitFor(event, loop.After(3s))), Result<int>(0));
  EXPECT_EQ(loop.Now().time_since_epoch(), Duration(3s));
}

TEST(RealLoop, WhatIsDueFiresInOrderAndLetsOthersHaveTheirTurn) {
  RealLoop loop;
  std::vector<int> out;
  const Tick due = loop.Now();
  loop.Schedule(due, [&] { out.push_back(1); });
  loop.Schedule(due, [&] {
    out.push_back(2);
    loop.Schedule(loop.Now() + 1ns, [&] { loop.Stop(); });
  });
  loop.Post([&] { out.push_back(3); });
  loop.Run();
  EXPECT_EQ(out, (std::vector{1, 2, 3}));
}

// The kernel's timer stays set for the one that was taken back, and must be set again when it has fired in vain.
TEST(RealLoop, ATimerFiresAfterAnEarlierOneWasTakenBack) {
  RealLoop loop;
  bool early = false;
  const auto id = loop.Schedule(loop.Now() + 2ms, [&] { early = true; });
  loop.Unschedule(id);
  loop.Schedule(loop.Now() + 4ms, [&] { loop.Stop(); });
  loop.Run();
  EXPECT_FALSE(early);
}

TEST(RealLoop, TimersFireAndPostWorksFromAnotherThread) {
  RealLoop loop;
  bool posted = false;
  auto stop = [](Loop& l) -> Task<void> {
    co_await Sleep(l, 5ms);
    l.Stop();
  };
  TaskGroup group(loop);
  group.Spawn("stop", stop(loop));
  loop.Post([&] { posted = true; });
  loop.Run();
  EXPECT_TRUE(posted);
}

TEST(Backoff, DoublesToItsCapWithJitterAroundEachWait) {
  Random random(1);
  Backoff backoff({.first = 100ms, .cap = 1s, .jitter = 0.2}, random);
  const Duration expected[] = {100ms, 200ms, 400ms, 800ms, 1s, 1s};
  for (const Duration plain : expected) {
    const Duration wait = backoff.Next();
    EXPECT_GE(wait, plain * 8 / 10);
    EXPECT_LE(wait, plain * 12 / 10);
  }
}

}  // namespace
}  // namespace capstan::async
