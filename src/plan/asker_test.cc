#include "plan/asker.h"

#include <gtest/gtest.h>

#include "async/timer.h"
#include "kube/testing/fake_api_server.h"

namespace capstan::plan {
namespace {

// Answered at once with its own number.
class Numbered final : public Question {
 public:
  Numbered(int number, int& fetched) : number_(number), fetched_(fetched) {}
  std::string id() const override { return "number " + std::to_string(number_); }
  async::Task<Result<std::optional<Fetched>>> Fetch(Services&, async::Deadline) const override {
    ++fetched_;
    co_return Fetched{std::make_shared<const int>(number_), uint64_t(number_)};
  }

 private:
  int number_;
  int& fetched_;
};

class AskerTest : public ::testing::Test {
 protected:
  ~AskerTest() override {
    async::TaskGroup group(loop);
    group.Spawn("stop", asker.Stop());
    loop.Run();
  }
  void Ask(int number, Duration max_age = 1h, Asker::KeyNumber key = 1) {
    asker.Ask(key, {{std::make_shared<Numbered>(number, fetched), max_age}});
    loop.Advance(Duration(0));
  }
  bool Knows(int number) const {
    const Answers::Entry* entry = asker.answers().Find("number " + std::to_string(number));
    return entry != nullptr && entry->state == AnswerState::kKnown;
  }
  size_t Size() {
    size_t size = 0;
    for (int number = 0; number <= asked; ++number) size += Knows(number);
    return size;
  }

  async::VirtualLoop loop;
  kube::testing::FakeApiServer server{loop, 1};
  kube::Client client{loop, server, {}};
  Stores stores;
  AppliedMemo memo;
  SlurmClusters clusters{loop, client, nullptr, [](const std::string&, const std::vector<std::string>&) {}, 1};
  Services services{loop, client, stores, memo, clusters, "capstan", nullptr, {}};
  int fetched = 0;
  int asked = 0;
  Asker asker{services, [](const std::string&) {}, 1};
};

// Answers that had come well were kept for ever, whether anybody asked for them or not.
TEST_F(AskerTest, WhatNobodyAsksForAnyMoreIsForgotten) {
  for (int hours = 0; hours < 10; ++hours) {
    for (int i = 0; i < 200; ++i) {
      Ask(++asked);
      Ask(0);
      loop.Advance(18s);
    }
  }
  EXPECT_TRUE(Knows(0)) << "asked for all the time";
  EXPECT_TRUE(Knows(asked)) << "just asked for";
  EXPECT_LT(Size(), 300u) << "of " << asked;
}

TEST_F(AskerTest, AnAnswerThatMayBeOfAnyAgeIsFetchedOnce) {
  for (int i = 0; i < 10; ++i) {
    Ask(1, Duration::max());
    loop.Advance(1h);
  }
  EXPECT_EQ(fetched, 1);
}

// Every answer that was fetched again had its key decided anew.
TEST_F(AskerTest, AnAnswerIsKeptAsYoungAsTheMostImpatientKeyWants) {
  Ask(1, 10min, 1);
  Ask(1, 1min, 2);
  loop.Advance(10min);
  EXPECT_EQ(fetched, 11);
  asker.Forget(2);
  loop.Advance(1h);
  EXPECT_EQ(fetched, 17);
  Ask(2, 1min, 1);
  loop.Advance(1h);
  EXPECT_EQ(fetched, 17 + 61) << "and nobody wants the first one any more";
}

// Fails twice, then knows.
class Stubborn final : public Question {
 public:
  explicit Stubborn(int& fetched) : fetched_(fetched) {}
  std::string id() const override { return "stubborn"; }
  async::Task<Result<std::optional<Fetched>>> Fetch(Services&, async::Deadline) const override {
    if (++fetched_ <= 2) co_return Fail(Code::kUnavailable, "not now");
    co_return Fetched{std::make_shared<const int>(1), 1};
  }

 private:
  int& fetched_;
};

// After the same failure twice the next try came when a good answer would have been too old.
TEST_F(AskerTest, AFailureIsTriedAgainThoughNobodyIsDecidedForIt) {
  asker.Ask(1, {{std::make_shared<Stubborn>(fetched), 1h}});
  loop.Advance(10s);
  EXPECT_EQ(fetched, 3);
  EXPECT_EQ(asker.answers().Find("stubborn")->state, AnswerState::kKnown);
}

class Throwing final : public Question {
 public:
  std::string id() const override { return "throwing"; }
  async::Task<Result<std::optional<Fetched>>> Fetch(Services&, async::Deadline) const override {
    throw std::runtime_error("no JSON");
  }
};

// It ended the process.
TEST_F(AskerTest, AnExceptionIsAFailedAnswer) {
  asker.Ask(1, {{std::make_shared<Throwing>(), 1h}});
  loop.Advance(Duration(0));
  const Answers::Entry* entry = asker.answers().Find("throwing");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->state, AnswerState::kFailed);
  EXPECT_EQ(entry->error, "ended by an exception, which is a bug: no JSON");
  Ask(1);
  EXPECT_TRUE(Knows(1));
}

}  // namespace
}  // namespace capstan::plan
