// The engine's rules, on a kind of no meaning and the modelled API server. What it does with old news is in
// stale_reads_test.cc; what comes of it for workers and jobs, in the simulator.
#include "plan/engine.h"

#include <gmock/gmock.h>

#include "base/testing/captured_log.h"
#include "base/time.h"
#include "plan/testing/shelves.h"

namespace capstan::plan {
namespace {

using testing::Book;
using testing::BookJson;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Life;
using testing::Shelf;
using testing::ShelfTest;
using testing::WantBooks;

const kube::Key kMain{"ns", "main"};

// --- Deciding --------------------------------------------------------------------------------------------------------

TEST_F(ShelfTest, NothingIsDecidedBeforeEveryKindIsListed) {
  PutShelf(R"(["a"])");
  server.deny = [](std::string_view, const kube::Resource& resource, const kube::Key&) {
    const bool books = resource == kube::kConfigMaps;
    return books ? std::optional(kube::testing::Refusal{503, "ServiceUnavailable", "not now"}) : std::nullopt;
  };
  const auto life = Start(server, &WantBooks, 2min);
  EXPECT_EQ(life->engine().decides(), 0u);
  EXPECT_FALSE(life->engine().Synced());
  server.deny = nullptr;
  loop.Advance(1min);
  EXPECT_EQ(Title("main-a"), "a");
}

TEST_F(ShelfTest, AtRestNothingIsWrittenAndEveryKeyIsLookedAtEveryFiveMinutes) {
  PutShelf(R"(["a","b"])");
  const auto life = Start();
  const uint64_t decides = life->engine().decides();
  server.ForgetWrites();
  loop.Advance(30min);
  EXPECT_THAT(server.writes(), ::testing::IsEmpty());
  EXPECT_GE(life->engine().decides() - decides, 5u);
  EXPECT_LE(life->engine().decides() - decides, 7u);
}

TEST_F(ShelfTest, ARestartRepeatsWhatIsNotKnownAndChangesNothing) {
  PutShelf(R"(["a","b"])");
  Start();
  const uint64_t version = server.objects().version();
  const auto second = Start();
  EXPECT_EQ(server.objects().version(), version);
}

TEST_F(ShelfTest, WhoMayNotWriteDecidesNothingAndKnowsEverythingWhenItsTurnComes) {
  bool leads = false;
  options.may_write = [&] { return leads; };
  PutShelf(R"(["a"])");
  const auto life = Start(server, &WantBooks, 10min);
  EXPECT_EQ(life->engine().decides(), 0u);
  EXPECT_TRUE(life->engine().Synced());
  const uint64_t reads = server.reads();
  leads = true;
  life->engine().Lead();
  loop.Advance(100ms);
  EXPECT_EQ(Title("main-a"), "a");
  EXPECT_LE(server.reads() - reads, 1u) << "it does not begin with reading; but a name that seems free is looked at";
}

// --- Wake-ups --------------------------------------------------------------------------------------------------------

// Reads one book by name, and the entry of an index.
Plan ReadTwoThings(const World& world, const kube::Key&) {
  (void)world.Find<Book>({"ns", "read"});
  (void)world.OwnedBy<Book>("owner-1");
  return {};
}

TEST_F(ShelfTest, AKeyIsWokenByWhatItReadAndByNothingElse) {
  PutShelf("[]");
  const auto life = Start(server, &ReadTwoThings);
  const auto decides_after = [&](const std::string& object) {
    const uint64_t before = life->engine().decides();
    server.Put(kube::kConfigMaps, object);
    loop.Advance(1s);
    return life->engine().decides() - before;
  };
  const auto named = [](std::string_view name, std::string_view title) {
    return R"({"metadata":{"namespace":"ns","name":")" + std::string(name) + R"("},"data":{"title":")" +
           std::string(title) + "\"}}";
  };
  EXPECT_EQ(decides_after(named("read", "1")), 1u) << "it was not there when it was read";
  EXPECT_EQ(decides_after(named("read", "2")), 1u);
  EXPECT_EQ(decides_after(named("unread", "1")), 0u);
  EXPECT_EQ(decides_after(BookJson("main", "owner-1", "x")), 1u) << "a new entry of the index";
  EXPECT_EQ(decides_after(BookJson("main", "owner-2", "y")), 0u);
}

TEST_F(ShelfTest, AChildThatSomebodyChangesOrRemovesIsPutRight) {
  PutShelf(R"(["a","b"])");
  const auto life = Start();
  Retitle("main-a", "theirs");
  server.Remove(kube::kConfigMaps, {"ns", "main-b"});
  loop.Advance(2s);
  EXPECT_EQ(Title("main-a"), "a");
  EXPECT_EQ(Title("main-b"), "b");
}

// --- Questions -------------------------------------------------------------------------------------------------------

// Whether the sign (a Secret, which nobody watches) is there.
struct Sign final : Question {
  struct Value {};
  std::string id() const override { return "sign"; }
  async::Task<Result<std::optional<Fetched>>> Fetch(Services& services, async::Deadline deadline) const override {
    const auto read = co_await services.client.Get(kube::kSecrets, {"ns", "sign"}, {}, deadline);
    if (read) co_return std::optional(Fetched{std::make_shared<Value>(), 1});
    if (read.error().code() == Code::kNotFound) co_return std::optional<Fetched>();
    co_return Fail(read.error());
  }
};

// Books, and another one once the sign is known to be there. Until it is known, nobody can say what is too much.
Plan WantBooksAndSign(const World& world, const kube::Key& key) {
  Plan plan = WantBooks(world, key);
  const Shelf* shelf = world.Find<Shelf>(key);
  const auto sign = world.Ask(Sign(), 1min);
  plan.children_complete = sign.known() || sign.absent();
  if (shelf != nullptr && sign.known()) {
    plan.children.push_back({.resource = &kube::kConfigMaps,
                             .key = {"ns", "main-sign"},
                             .body = BookJson("main", shelf->metadata.uid, "sign"),
                             .reason = "there is a sign",
                             .after = {}});
  }
  return plan;
}

// An answer that was the same again woke nobody, and the next one was asked for minutes later.
TEST_F(ShelfTest, AnAnswerIsNeverOlderThanWasAskedFor) {
  PutShelf("[]");
  const auto life = Start(server, &WantBooksAndSign, 10min);
  server.Put(kube::kSecrets, R"({"metadata":{"namespace":"ns","name":"sign"}})");
  loop.Advance(61s);
  EXPECT_EQ(Title("main-sign"), "sign");
}

// It was decided each time that a question had been asked again, for the same answer.
TEST_F(ShelfTest, ARepeatedAnswerDecidesNothing) {
  PutShelf("[]");
  const auto life = Start(server, &WantBooksAndSign);
  const uint64_t decides = life->engine().decides(), reads = server.reads();
  loop.Advance(30min);
  EXPECT_GE(server.reads() - reads, 29u) << "asked each minute";
  EXPECT_LE(life->engine().decides() - decides, 7u) << "one look in five minutes";
}

TEST_F(ShelfTest, AnOpenQuestionHoldsUpNothingElseAndNothingIsPrunedMeanwhile) {
  PutShelf(R"(["a"])");
  server.Put(kube::kConfigMaps, BookJson("main", ShelfUid(), "b"));
  bool down = true;
  server.deny = [&](std::string_view, const kube::Resource& resource, const kube::Key&) {
    const bool refused = down && resource == kube::kSecrets;
    return refused ? std::optional(kube::testing::Refusal{403, "Forbidden", "not now"}) : std::nullopt;
  };
  const auto life = Start(server, &WantBooksAndSign, 1min);
  EXPECT_EQ(Title("main-a"), "a");
  EXPECT_NE(BookUid("main-b"), "") << "unknown means keep";
  down = false;
  loop.Advance(6min);
  EXPECT_EQ(BookUid("main-b"), "");
  EXPECT_EQ(Title("main-sign"), "");
}

// --- Facts -----------------------------------------------------------------------------------------------------------

// Wants its books once the shelf has held five for a minute.
Plan WantBooksAfterAMinute(const World& world, const kube::Key& key) {
  const Shelf* shelf = world.Find<Shelf>(key);
  if (shelf == nullptr || shelf->spec.books.empty()) return {};
  const Duration held = world.HeldFor("it names books");
  if (held >= 1min) return WantBooks(world, key);
  Plan plan;
  plan.RequeueAfter(1min - held);
  return plan;
}

TEST_F(ShelfTest, AFactIsAsOldAsItHasHeldWithoutInterruption) {
  PutShelf(R"(["a"])");
  const auto life = Start(server, &WantBooksAfterAMinute, 50s);
  PutShelf("[]");
  loop.Advance(1s);
  PutShelf(R"(["a"])");
  loop.Advance(50s);
  EXPECT_EQ(Title("main-a"), "");
  loop.Advance(11s);
  EXPECT_EQ(Title("main-a"), "a");
}

TEST_F(ShelfTest, ARestartBeginsAWaitAnewAndNeverShortensIt) {
  PutShelf(R"(["a"])");
  Start(server, &WantBooksAfterAMinute, 50s);
  const auto second = Start(server, &WantBooksAfterAMinute, 50s);
  EXPECT_EQ(Title("main-a"), "");
  loop.Advance(11s);
  EXPECT_EQ(Title("main-a"), "a");
}

// --- Pruning ---------------------------------------------------------------------------------------------------------

TEST_F(ShelfTest, WhatIsNoLongerWantedGoesAndNobodyElsesDoes) {
  PutShelf(R"(["a","b"])");
  PutShelf(R"(["x"])", "other");
  server.Put(kube::kConfigMaps, R"({"metadata":{"namespace":"ns","name":"main-nobodys"}})");
  const auto life = Start();
  PutShelf(R"(["a"])");
  loop.Advance(2s);
  EXPECT_EQ(BookUid("main-b"), "");
  EXPECT_EQ(Title("main-a"), "a");
  EXPECT_NE(BookUid("other-x"), "");
  EXPECT_NE(BookUid("main-nobodys"), "");
  EXPECT_EQ(Done("delete"), 1u);
}

TEST_F(ShelfTest, WhatIsNoLongerWantedIsNotRememberedForEver) {
  const auto life = Start();
  for (int i = 0; i < 100; ++i) {
    const std::string book = "book" + std::to_string(i);
    PutShelf(R"([")" + book + R"("])");
    loop.Advance(3min);
    ASSERT_EQ(Title("main-" + book), book);
  }
  EXPECT_LE(life->engine().applied(), 20u);
  server.ForgetWrites();
  loop.Advance(10min);
  EXPECT_THAT(server.writes(), ::testing::IsEmpty()) << "what is wanted is remembered";
}

// --- What it shows ---------------------------------------------------------------------------------------------------

TEST_F(ShelfTest, WhatWasDoneIsALogLineAndAMetric) {
  net::Metrics metrics;
  options.metrics = &metrics;
  PutShelf(R"(["a"])");
  capstan::testing::CapturedLog log;
  const auto life = Start();
  EXPECT_THAT(log.Text(),
              HasSubstr(R"("msg":"done","key":"shelf/ns/main","verb":"apply","target":"ConfigMap ns/main-a",)"
                        R"("reason":"the shelf names it")"));
  EXPECT_THAT(metrics.Exposition(), HasSubstr(R"(controller_runtime_reconcile_total{controller="shelf",)"));
}

// What a shelf wants, with an Event for each book.
Plan WantBooksLoudly(const World& world, const kube::Key& key) {
  Plan plan = WantBooks(world, key);
  for (Child& child : plan.children) child.event = {.reason = "BookPlaced", .action = "Place"};
  return plan;
}

TEST_F(ShelfTest, ChildrenAndWhatIsPrunedAreToldOnTheOwner) {
  std::vector<std::string> events;
  options.tell = [&](const kube::Resource& resource, const kube::Key& key, const std::string&, Notice notice) {
    events.push_back(std::string(resource.kind) + " " + key.ToString() + ": " + notice.reason + ", " + notice.action +
                     ": " + notice.note);
  };
  PutShelf(R"(["a"])");
  const auto life = Start(server, &WantBooksLoudly);
  PutShelf("[]");
  loop.Advance(1min);
  EXPECT_THAT(events, ElementsAre("Shelf ns/main: BookPlaced, Place: apply ConfigMap ns/main-a: the shelf names it",
                                  "Shelf ns/main: Pruned, Delete: delete ConfigMap ns/main-a: no longer wanted"));
}

TEST_F(ShelfTest, WhatIsRefusedIsAConditionAnEventAndALogLineWithTheRequestsId) {
  std::vector<std::string> events;
  options.tell = [&](const kube::Resource&, const kube::Key&, const std::string&, Notice notice) {
    events.push_back(notice.reason + ": " + notice.note);
  };
  server.deny = [](std::string_view method, const kube::Resource& resource, const kube::Key&) {
    const bool refused = method != "GET" && resource == kube::kConfigMaps;
    return refused ? std::optional(kube::testing::Refusal{403, "Forbidden", "no books today"}) : std::nullopt;
  };
  PutShelf(R"(["a"])");
  capstan::testing::CapturedLog log;
  const auto life = Start();
  EXPECT_THAT(Note(), HasSubstr("no books today"));
  EXPECT_THAT(events, ElementsAre(HasSubstr("no books today")));
  EXPECT_THAT(log.Text(),
              ::testing::ContainsRegex(R"("error":"[^}]*no books today[^}]*"request":"capstan-[0-9]+-[0-9]+")"));
}

// No shelf is written while `down`; counts who tries.
auto RefuseShelves(const bool& down, int& tries, kube::testing::Refusal refusal) {
  return [&down, &tries, refusal](std::string_view method, const kube::Resource& resource, const kube::Key&) {
    const bool refused = down && method != "GET" && resource == Shelf::kResource;
    tries += refused;
    return refused ? std::optional(refusal) : std::nullopt;
  };
}

Plan TellTheTime(const World& world, const kube::Key&) {
  Plan plan;
  plan.status = R"({"conditions":[{"type":"Ready","status":"False","lastTransitionTime":")" +
                FormatRfc3339(world.now()) + R"("}],"note":"not \"lastTransitionTime\":\"now\""})";
  plan.requeue_after = 1s;
  return plan;
}

// Found by the simulator: a status that was refused was written a hundred times a minute, each time with the time of day.
TEST_F(ShelfTest, AStatusThatIsNewOnlyByTheTimeOfItsConditionsIsTheSame) {
  bool down = true;
  int tries = 0;
  server.deny = RefuseShelves(down, tries, {409, "Conflict", "not now"});
  PutShelf("[]");
  const auto life = Start(server, &TellTheTime, 1min);
  EXPECT_THAT(tries, ::testing::AllOf(::testing::Gt(5), ::testing::Lt(30)));
  down = false;
  loop.Advance(2min);
  EXPECT_EQ(Done("apply"), 1) << "and at rest it is not written, whatever the time";
}

// A status that is another at each look.
Plan CountTheSeconds(const World& world, const kube::Key&) {
  Plan plan;
  plan.status = R"({"note":")" + FormatRfc3339(world.now()) + R"("})";
  plan.requeue_after = 1s;
  return plan;
}

// Found by the simulator: the API server lagged behind a new installation, and each new content was tried at once.
TEST_F(ShelfTest, AStatusThatKeepsChangingIsNotTriedAsFastAsItChanges) {
  bool down = true;
  int tries = 0;
  server.deny = RefuseShelves(down, tries, {500, "InternalError", "not now"});
  PutShelf("[]");
  const auto life = Start(server, &CountTheSeconds, 2min);
  EXPECT_THAT(tries, ::testing::AllOf(::testing::Gt(5), ::testing::Lt(15)));
  down = false;
  loop.Advance(1min);
  EXPECT_THAT(Done("apply"), ::testing::Gt(20)) << "and all is well at once";
}

// Never ends by itself.
struct Endless final : Effect {
  std::string_view verb() const override { return "wait"; }
  std::string target() const override { return "for ever"; }
  uint64_t content() const override { return 0; }
  async::Task<Result<void>> Run(Services& services, async::Deadline) const override {
    async::Event never(services.loop);
    co_await never.Wait(async::Deadline::Never());
    co_return Result<void>();
  }
};

Plan WaitForEver(const World&, const kube::Key&) {
  Plan plan;
  plan.Add({.effect = std::make_shared<Endless>(), .reason = "a bug", .guards = {}, .after = {}, .event = {}});
  return plan;
}

TEST_F(ShelfTest, AnActionThatDoesNotEndIsNamedEveryMinute) {
  PutShelf("[]");
  capstan::testing::CapturedLog log;
  const auto life = Start(server, &WaitForEver, 150s);
  const std::string& text = log.Text();
  EXPECT_THAT(text,
              HasSubstr(R"("msg":"an action does not end","key":"shelf/ns/main","verb":"wait","target":"for ever")"));
  EXPECT_THAT(text, HasSubstr(R"("for":"1m)"));
  EXPECT_THAT(text, HasSubstr(R"("for":"2m)"));
}

TEST_F(ShelfTest, StopLetsWhatHasBegunEndAndBeginsNothing) {
  const auto life = Start();
  server.latency = 1s;
  PutShelf(R"(["a"])");
  ASSERT_TRUE(loop.RunUntil([&] { return life->engine().actions() == 1; }, 1min));
  PutShelf(R"(["a","b"])");
  life->Stop(10s);
  EXPECT_EQ(Title("main-a"), "a");
  EXPECT_EQ(Title("main-b"), "");
  EXPECT_EQ(life->engine().actions(), 1u);
}

// --- When it is a key's turn -----------------------------------------------------------------------------------------

// The looks of a test, each of which takes a while.
struct Looks {
  async::VirtualLoop& loop;
  Duration take;
  std::vector<Tick>& begun;
};

Plan LookForAWhile(const World& world, const kube::Key&) {
  const Looks& looks = *world.Settings<Looks>();
  looks.begun.push_back(looks.loop.Now());
  looks.loop.Advance(looks.take);
  return {};
}

TEST_F(ShelfTest, AKeyRestsTenTimesWhatItsLookTookAndTwentyMillisecondsAtLeast) {
  for (const auto& [take, apart] : {std::pair(0ms, 20ms), std::pair(1ms, 21ms), std::pair(5ms, 55ms)}) {
    std::vector<Tick> begun;
    const Looks looks{loop, take, begun};
    options.settings = &looks;
    PutShelf("[]");
    const auto life = Start(server, &LookForAWhile);
    begun.clear();
    // Somebody writes all the time.
    for (int i = 0; i < 500; ++i)
      loop.Schedule(loop.Now() + i * 1ms, [this, i] { PutShelf("[\"b" + std::to_string(i) + "\"]"); });
    loop.Advance(1s);
    ASSERT_GT(begun.size(), 5u);
    for (size_t i = 1; i < begun.size(); ++i) EXPECT_EQ(begun[i] - begun[i - 1], apart) << "look " << i;
  }
}

Plan NoteName(const World& world, const kube::Key& key) {
  (*world.Settings<std::vector<std::string>*>())->push_back(key.name);
  return {};
}

TEST_F(ShelfTest, WhatChangesComesBeforeWhatWasFoundAtTheStart) {
  std::vector<std::string> order;
  std::vector<std::string>* const to = &order;
  options.settings = &to;
  bool leads = false;
  options.may_write = [&] { return leads; };
  for (const char* name : {"a", "b", "c"}) PutShelf("[]", name);
  const auto life = Start(server, &NoteName);
  PutShelf(R"(["x"])", "c");
  loop.Advance(1s);
  leads = true;
  life->engine().Lead();
  loop.Advance(1s);
  EXPECT_THAT(order, ElementsAre("c", "a", "b"));
}

// --- Bugs ------------------------------------------------------------------------------------------------------------

// Of the shelf "main" for as long as it wants the book "bomb".
Plan ThrowAtABomb(const World& world, const kube::Key& key) {
  Plan plan = WantBooks(world, key);
  const Shelf* shelf = world.Find<Shelf>(key);
  if (shelf != nullptr && std::ranges::find(shelf->spec.books, "bomb") != shelf->spec.books.end())
    throw std::out_of_range("map::at");
  return plan;
}

// It ended the process, and the next one, for as long as the object stood that it came from.
TEST_F(ShelfTest, AnExceptionOfADecideStopsThatKeyAloneUntilItsObjectIsMended) {
  net::Metrics metrics;
  std::vector<Notice> notices;
  options.metrics = &metrics;
  options.tell = [&](const kube::Resource&, const kube::Key& key, const std::string&, Notice notice) {
    if (key == kMain) notices.push_back(std::move(notice));
  };
  PutShelf(R"(["a","b"])");
  const auto life = Start(server, &ThrowAtABomb);
  PutShelf(R"(["a","bomb"])");
  PutShelf(R"(["c"])", "other");
  loop.Advance(5s);
  EXPECT_EQ(Title("main-b"), "b") << "nothing goes on the word of a Decide that did not end";
  EXPECT_EQ(Title("other-c"), "c");
  ASSERT_THAT(notices, ::testing::SizeIs(1));
  EXPECT_EQ(notices[0].reason, "InternalError");
  EXPECT_THAT(notices[0].note, HasSubstr("map::at"));
  EXPECT_THAT(metrics.Exposition(), HasSubstr(R"(controller_runtime_reconcile_panics_total{controller="shelf"} 1)"));
  loop.Advance(5min);
  EXPECT_THAT(notices.size(), ::testing::AllOf(::testing::Ge(4u), ::testing::Le(7u))) << "tried again now and then";
  PutShelf(R"(["a"])");
  loop.Advance(1s);
  EXPECT_EQ(Title("main-b"), "") << "decided at once when what it read has changed";
}

// Of the shelf "main" for as long as it wants the book "war": two seconds. It asks for the sign.
Plan PonderOverWar(const World& world, const kube::Key& key) {
  const auto& [loop, looks] = *world.Settings<std::pair<async::VirtualLoop*, int*>>();
  Plan plan = WantBooksAndSign(world, key);
  const Shelf* shelf = world.Find<Shelf>(key);
  if (shelf == nullptr || std::ranges::find(shelf->spec.books, "war") == shelf->spec.books.end()) return plan;
  ++*looks;
  loop->Advance(2s);
  return plan;
}

// Eight lines of extraConf, of which each was decided anew after each restart, took everybody's time for good.
TEST_F(ShelfTest, ADecideThatTakesTooLongStopsThatKeyAloneUntilSomethingThatItReadChanges) {
  capstan::testing::CapturedLog log;
  net::Metrics metrics;
  std::vector<Notice> notices;
  int looks = 0;
  const std::pair<async::VirtualLoop*, int*> settings{&loop, &looks};
  options.settings = &settings;
  options.metrics = &metrics;
  options.tell = [&](const kube::Resource&, const kube::Key& key, const std::string&, Notice notice) {
    if (key == kMain) notices.push_back(std::move(notice));
  };
  PutShelf(R"(["a","b"])");
  const auto life = Start(server, &PonderOverWar);
  PutShelf(R"(["a","war"])");
  loop.Advance(5s);
  PutShelf(R"(["c"])", "other");
  loop.Advance(5s);
  EXPECT_EQ(Title("other-c"), "c");
  EXPECT_EQ(Title("main-b"), "b") << "its Plan is not carried out";
  EXPECT_EQ(Title("main-war"), "");
  ASSERT_THAT(notices, ::testing::SizeIs(1));
  EXPECT_EQ(notices[0].reason, "DecideTooLong");
  EXPECT_THAT(notices[0].note, HasSubstr("took 2s"));
  EXPECT_THAT(metrics.Exposition(), HasSubstr(R"(controller_runtime_reconcile_timeouts_total{controller="shelf"} 1)"));
  EXPECT_THAT(log.Text(), HasSubstr("a Decide took too long"));
  loop.Advance(50min);
  EXPECT_EQ(looks, 1) << "answers that say the same wake nobody";
  server.Put(kube::kSecrets, R"({"metadata":{"namespace":"ns","name":"sign"}})");
  loop.Advance(2min);
  EXPECT_EQ(looks, 2) << "an answer is something that it read";
  PutShelf(R"(["a"])");
  loop.Advance(1min);
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(Title("main-b"), "");
  PutShelf(R"(["a","war"])");
  loop.Advance(1min);
  EXPECT_EQ(looks, 3);
  loop.Advance(70min);
  EXPECT_EQ(looks, 4) << "once an hour, as it may have been for a cause that passes";
}

// A process that was frozen in the midst of a Decide left the key alone.
TEST_F(ShelfTest, ADecideThatHadToWaitForTheProcessorDidNotTakeLong) {
  int looks = 0;
  const std::pair<async::VirtualLoop*, int*> settings{&loop, &looks};
  options.settings = &settings;
  options.spent = [] { return Duration(5ms); };
  PutShelf(R"(["a","war"])");
  const auto life = Start(server, &PonderOverWar, 1min);
  EXPECT_EQ(Title("main-war"), "war");
}

// A child of 33 levels ended the process: boost::json::parse throws there.
TEST_F(ShelfTest, AChildOfAnyDepthIsAppliedOrAFailure) {
  static int depth;
  const Decide deep = [](const World& world, const kube::Key& key) {
    Plan plan = WantBooks(world, key);
    std::string nested = R"("x")";
    for (int i = 0; i < depth; ++i) nested = R"({"a":)" + nested + "}";
    for (Child& child : plan.children) child.body.insert(child.body.size() - 1, R"(,"nested":)" + nested);
    return plan;
  };
  PutShelf(R"(["a"])");
  depth = 1;
  Start(server, deep);
  depth = 100;
  const auto second = Start(server, deep);
  EXPECT_EQ(Note(), "");
  depth = 1000;
  const auto third = Start(server, deep);
  EXPECT_THAT(Note(), HasSubstr("too deep"));
}

}  // namespace
}  // namespace capstan::plan
