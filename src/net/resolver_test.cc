#include "net/resolver.h"

#include <gtest/gtest.h>

#include <chrono>
#include <semaphore>
#include <thread>

#include "async/task_group.h"
#include "async/testing/into.h"

namespace capstan::net {
namespace {

using async::testing::Into;

// A name service that answers when the test lets it.
struct NameService {
  Result<std::vector<Address>> Answer() {
    may_answer.acquire();
    return std::vector{Address::Unix("/" + std::to_string(++answers))};
  }
  std::counting_semaphore<> may_answer{0};
  int answers = 0;
};

// Answers come from another thread: its time is real, and bounded only against a test that would not end.
void RunUntil(async::VirtualLoop& loop, const std::function<bool()>& done) {
  const auto limit = std::chrono::steady_clock::now() + 30s;
  while (!done() && std::chrono::steady_clock::now() < limit) {
    loop.Advance(Duration(0));
    std::this_thread::yield();
  }
  ASSERT_TRUE(done());
}

TEST(Resolver, NoAnswerIsKeptForLater) {
  async::VirtualLoop loop;
  NameService names;
  Resolver resolver(loop, [&names](const std::string&, uint16_t) { return names.Answer(); });
  for (const char* expected : {"/1", "/2"}) {
    std::optional<Result<std::vector<Address>>> answer;
    async::TaskGroup group(loop);
    names.may_answer.release();
    group.Spawn("ask", Into(answer, resolver.Resolve("api.example.com", 443, loop.After(10s))));
    RunUntil(loop, [&] { return group.size() == 0; });
    ASSERT_TRUE(answer && *answer);
    EXPECT_EQ((*answer)->front().ToString(), expected);
  }
}

// Hours later a connection was dialled to where the name had pointed once.
TEST(Resolver, AnAnswerThatCameTooLateIsNotKeptForLater) {
  async::VirtualLoop loop;
  NameService names;
  Resolver resolver(loop, [&names](const std::string&, uint16_t) { return names.Answer(); });
  const auto ask = [&] { return resolver.Resolve("api.example.com", 443, loop.After(10s)); };
  std::optional<Result<std::vector<Address>>> first, second, third;
  async::TaskGroup group(loop);
  group.Spawn("first", Into(first, ask()));
  loop.Advance(10s);
  ASSERT_TRUE(first && !*first);
  EXPECT_EQ(first->error().message(), "the name \"api.example.com\" was not resolved in time");
  names.may_answer.release();
  RunUntil(loop, [&] { return !resolver.asking(); });

  loop.Advance(1h);
  names.may_answer.release();
  group.Spawn("second", Into(second, ask()));
  group.Spawn("third", Into(third, ask()));
  RunUntil(loop, [&] { return group.size() == 0; });
  ASSERT_TRUE(second && *second && third && *third);
  EXPECT_EQ((*second)->front().ToString(), "/2") << "asked anew";
  EXPECT_EQ((*third)->front().ToString(), "/2") << "one question for both";
}

}  // namespace
}  // namespace capstan::net
