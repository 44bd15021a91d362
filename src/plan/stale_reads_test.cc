// What the engine does with old news: a server that lags, events that never come, answers that come late, a wire that has
// gone quiet. Nothing is destroyed on their ground, and in the end everything is as wanted.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "async/timer.h"
#include "kube/testing/lagging_server.h"
#include "plan/testing/shelves.h"

namespace capstan::plan {
namespace {

using kube::testing::LaggingServer;
using testing::BookJson;
using testing::Life;
using testing::Shelf;
using testing::ShelfTest;

// --- Time travel -----------------------------------------------------------------------------------------------------

struct LagCase {
  const char* name;
  std::set<std::string> kinds;  // that lag; empty: all
};

class TimeTravel : public ShelfTest, public ::testing::WithParamInterface<LagCase> {
 protected:
  // The engine is started anew against a server that has not heard yet that the book b, which was not wanted any more,
  // was deleted, wanted again and made again.
  TimeTravel() {
    PutShelf(R"(["a"])");
    server.Put(kube::kConfigMaps, BookJson("main", ShelfUid(), "b"));
    past = std::make_unique<LaggingServer>(loop, server, std::vector{Shelf::kResource});
    past->OnlyOf(GetParam().kinds);
    server.Remove(kube::kConfigMaps, {"ns", "main-b"});
    PutShelf(R"(["a","b"])");
    server.Put(kube::kConfigMaps, BookJson("main", ShelfUid(), "b"));
    uid = BookUid("main-b");
  }

  std::unique_ptr<LaggingServer> past;
  std::string uid;
};

TEST_P(TimeTravel, AnEngineRestartedAgainstALaggingServerDestroysNothing) {
  const auto life = Start(*past, &testing::WantBooks, 5min);
  EXPECT_EQ(BookUid("main-b"), uid);
  EXPECT_EQ(Done("delete"), 0u);
  past->CatchUp();
  loop.Advance(1min);
  EXPECT_EQ(BookUid("main-b"), uid);
  EXPECT_EQ(Title("main-a"), "a");
  EXPECT_EQ(Note(), "");
}

INSTANTIATE_TEST_SUITE_P(All, TimeTravel,
                         ::testing::Values(LagCase{"EverythingLags", {}}, LagCase{"TheOwnerLags", {"shelves"}},
                                           LagCase{"TheChildrenLag", {"configmaps"}}),
                         [](const auto& info) { return std::string(info.param.name); });

// Answers to writes get lost on it while it is deaf; the writes do not.
class Deaf final : public net::Transport {
 public:
  explicit Deaf(net::Transport& below) : below_(below) {}
  async::Task<Result<net::Response>> Send(net::Request request, async::Deadline deadline) override {
    const bool lost = deaf && request.method != "GET";
    auto answer = co_await below_.Send(std::move(request), deadline);
    if (lost) co_return Fail(Code::kUnknownOutcome, "the answer was lost");
    co_return answer;
  }
  async::Task<Result<std::unique_ptr<net::BodyStream>>> Open(net::Request request, async::Deadline deadline) override {
    return below_.Open(std::move(request), deadline);
  }
  bool deaf = false;

 private:
  net::Transport& below_;
};

Plan CountBooks(const World& world, const kube::Key& key) {
  Plan plan;
  if (const Shelf* shelf = world.Find<Shelf>(key))
    plan.status = R"({"note":")" + std::to_string(shelf->spec.books.size()) + " books\"}";
  return plan;
}

// What had been applied before counted as what was there, although another apply had come through, unheard of.
TEST_F(ShelfTest, WhatWasWrittenBeforeIsWrittenAgainAfterAnAnswerThatWasLost) {
  Deaf wire(server);
  PutShelf("[]");
  const auto life = Start(wire, &CountBooks);
  ASSERT_EQ(Note(), "0 books");
  wire.deaf = true;
  PutShelf(R"(["a"])");
  loop.Advance(1s);
  ASSERT_EQ(Note(), "1 books");
  PutShelf("[]");
  wire.deaf = false;
  loop.Advance(1min);
  EXPECT_EQ(Note(), "0 books");
}

// One that is sent to another server while it runs, as a load balancer would.
class Switched final : public net::Transport {
 public:
  explicit Switched(net::Transport& first) : to(&first) {}
  async::Task<Result<net::Response>> Send(net::Request request, async::Deadline deadline) override {
    return to->Send(std::move(request), deadline);
  }
  async::Task<Result<std::unique_ptr<net::BodyStream>>> Open(net::Request request, async::Deadline deadline) override {
    return to->Open(std::move(request), deadline);
  }
  net::Transport* to;
};

TEST_F(ShelfTest, ARunningEngineMovedToALaggingServerDestroysNothing) {
  PutShelf(R"(["a"])");
  Switched wire(server);
  const auto life = Start(wire);
  LaggingServer past(loop, server, {Shelf::kResource});  // where b is not wanted
  PutShelf(R"(["a","b"])");
  loop.Advance(10s);
  const std::string uid = BookUid("main-b");
  ASSERT_NE(uid, "");
  wire.to = &past;
  server.CutWatches();
  loop.Advance(5min);
  EXPECT_EQ(BookUid("main-b"), uid);
  EXPECT_EQ(Done("delete"), 0u);
  wire.to = &server;
  past.CatchUp();
  loop.Advance(2min);
  EXPECT_EQ(BookUid("main-b"), uid);
  EXPECT_TRUE(life->engine().stores().Trusted());
}

TEST_F(ShelfTest, AfterARestoredBackupNothingIsDestroyedUntilAllIsListedAnew) {
  PutShelf(R"(["a"])");
  const auto life = Start();
  const auto backup = server.objects().MakeBackup();
  PutShelf(R"(["a","b"])");
  loop.Advance(10s);
  server.Restore(backup);
  ASSERT_TRUE(loop.RunUntil([&] { return !life->engine().stores().Trusted(); }, 1min)) << "it is noticed";
  // What is unwanted is seen, and waits.
  server.Put(kube::kConfigMaps, BookJson("main", ShelfUid(), "c"));
  ASSERT_TRUE(loop.RunUntil([&] { return life->engine().stores().Trusted(); }, 2min));
  EXPECT_EQ(Done("delete"), 0u);
  ASSERT_TRUE(loop.RunUntil([&] { return BookUid("main-c").empty(); }, 1min)) << "and then it goes";
}

// --- Events that never come ------------------------------------------------------------------------------------------

TEST_F(ShelfTest, AChildWhoseDeletionWasNeverToldIsMadeAgain) {
  PutShelf(R"(["a"])");
  const auto life = Start();
  ASSERT_EQ(Title("main-a"), "a");
  server.Remove(kube::kConfigMaps, {"ns", "main-a"});
  server.CutWatches(/*lose_history=*/true);
  loop.Advance(30s);
  EXPECT_EQ(Title("main-a"), "a");
}

TEST_F(ShelfTest, ANamesakeMadeUnseenIsNeitherTakenOverNorDeleted) {
  PutShelf(R"(["a","b"])");
  const auto life = Start();
  for (const char* name : {"main-a", "main-b"}) {
    server.Remove(kube::kConfigMaps, {"ns", name});
    server.Put(kube::kConfigMaps, R"({"metadata":{"namespace":"ns","name":")" + std::string(name) +
                                      R"("},"data":{"title":"a person's"}})");
  }
  server.CutWatches(/*lose_history=*/true);
  PutShelf(R"(["a"])");
  loop.Advance(1min);
  EXPECT_EQ(Title("main-a"), "a person's");
  EXPECT_EQ(Title("main-b"), "a person's");
  EXPECT_THAT(Note(), ::testing::HasSubstr("NameConflict"));
}

// Where somebody is quicker: makes something just before the first apply of a book arrives.
class Overtaken final : public net::Transport {
 public:
  Overtaken(net::Transport& server, std::function<void()> make) : server_(server), make_(std::move(make)) {}
  async::Task<Result<net::Response>> Send(net::Request request, async::Deadline deadline) override {
    const bool book = request.method == "PATCH" && request.target.contains("/configmaps/");
    if (book && make_) std::exchange(make_, nullptr)();
    return server_.Send(std::move(request), deadline);
  }
  async::Task<Result<std::unique_ptr<net::BodyStream>>> Open(net::Request request, async::Deadline deadline) override {
    return server_.Open(std::move(request), deadline);
  }

 private:
  net::Transport& server_;
  std::function<void()> make_;
};

// Its fields were taken by force, and it became ours.
TEST_F(ShelfTest, AStrangerMadeBetweenLookAndApplyKeepsWhatItHas) {
  PutShelf(R"(["a"])");
  Overtaken wire(server, [this] {
    server.Put(kube::kConfigMaps, R"({"metadata":{"namespace":"ns","name":"main-a"},"data":{"title":"a person's"}})");
  });
  const auto life = Start(wire);
  EXPECT_EQ(Title("main-a"), "a person's");
  EXPECT_EQ(json::Find(*server.Find(kube::kConfigMaps, {"ns", "main-a"}), {"metadata", "ownerReferences"}), nullptr);
  EXPECT_THAT(Note(), ::testing::HasSubstr("NameConflict"));
  EXPECT_EQ(std::ranges::count(server.writes(), 409, &kube::testing::ApiWrite::status), 1) << "it was tried once";
}

TEST_F(ShelfTest, WhatCameAndWentBetweenListsChangesNothing) {
  PutShelf(R"(["a"])");
  const auto life = Start();
  const size_t writes = server.writes().size();
  server.CutWatches(/*lose_history=*/true);
  server.Put(kube::kConfigMaps, BookJson("main", ShelfUid(), "b"));
  server.Remove(kube::kConfigMaps, {"ns", "main-b"});
  loop.Advance(1min);
  EXPECT_EQ(server.writes().size(), writes);
  EXPECT_EQ(life->Shown("main-b"), nullptr);
}

// --- Answers that come late ------------------------------------------------------------------------------------------

// Answers to writes take `late` longer than they were.
class LateAnswers final : public net::Transport {
 public:
  LateAnswers(async::Loop& loop, net::Transport& server) : loop_(loop), server_(server) {}
  async::Task<Result<net::Response>> Send(net::Request request, async::Deadline deadline) override {
    const bool write = request.method != "GET";
    auto answer = co_await server_.Send(std::move(request), deadline);
    if (write) co_await async::Sleep(loop_, late);
    co_return answer;
  }
  async::Task<Result<std::unique_ptr<net::BodyStream>>> Open(net::Request request, async::Deadline deadline) override {
    return server_.Open(std::move(request), deadline);
  }
  Duration late = Duration(0);

 private:
  async::Loop& loop_;
  net::Transport& server_;
};

TEST_F(ShelfTest, AnAnswerThatIsOlderThanAnEventUndoesNothing) {
  LateAnswers wire(loop, server);
  wire.late = 20s;
  PutShelf(R"(["a"])");
  const auto life = Start(wire, &testing::WantBooks, 5s);
  ASSERT_EQ(Title("main-a"), "a");  // made; its answer is on the way
  Retitle("main-a", "theirs");
  loop.Advance(1s);
  wire.late = Duration(0);
  uint64_t newest = 0;
  for (int second = 0; second < 60; ++second) {
    const testing::Book* shown = life->Shown("main-a");
    ASSERT_NE(shown, nullptr);
    EXPECT_GE(shown->metadata.resource_version, newest) << "after " << second << " s";
    newest = shown->metadata.resource_version;
    loop.Advance(1s);
  }
  EXPECT_EQ(Title("main-a"), "a") << "the person's change was not forgotten over the answer";
}

TEST_F(ShelfTest, AnAnswerThatComesAfterTheDeletionBringsNothingBack) {
  LateAnswers wire(loop, server);
  wire.late = 20s;
  PutShelf(R"(["a"])");
  const auto life = Start(wire, &testing::WantBooks, 5s);
  server.Remove(kube::kConfigMaps, {"ns", "main-a"});
  PutShelf("[]");
  for (int second = 0; second < 30; ++second) {
    loop.Advance(1s);
    EXPECT_EQ(life->Shown("main-a"), nullptr) << "after " << second << " s";
  }
  EXPECT_EQ(BookUid("main-a"), "");
}

// --- A wire that has gone quiet --------------------------------------------------------------------------------------

TEST_F(ShelfTest, AHalfOpenWatchHidesAChangeForNinetySecondsAtMost) {
  PutShelf(R"(["a"])");
  const auto life = Start();
  server.faults.mute_watch = 100;
  PutShelf(R"(["a","b"])");
  loop.Advance(1s);
  server.faults.mute_watch = 0;
  EXPECT_EQ(Title("main-b"), "");
  loop.Advance(90s);
  EXPECT_EQ(Title("main-b"), "b");
}

}  // namespace
}  // namespace capstan::plan
