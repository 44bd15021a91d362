#include "plan/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/event.h"
#include "async/timer.h"
#include "base/hash.h"

namespace capstan::plan {
namespace {

using async::Deadline;
using async::Task;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const Key kKey{"nodeset", "slurm", "main"};

// Nothing in these tests talks to an API server.
class NoTransport final : public net::Transport {
  Task<Result<net::Response>> Send(net::Request, Deadline) override { co_return Fail(Code::kUnavailable, "none"); }
  Task<Result<std::unique_ptr<net::BodyStream>>> Open(net::Request, Deadline) override {
    co_return Fail(Code::kUnavailable, "none");
  }
};

// What the effects of a test did, in order, and how they are to end.
struct Script {
  std::vector<std::string> ran;
  std::map<std::string, Result<void>> results;
  std::map<std::string, Duration> takes;
  std::map<std::string, Proof> proofs;
  std::map<std::string, uint64_t> contents;
  std::set<std::string> satisfied;
  std::set<std::string> exclusive;
  std::set<std::string> throwing;
};

class ScriptedEffect final : public Effect {
 public:
  ScriptedEffect(Script& script, std::string target, Lane lane, bool destructive)
      : script_(script), target_(std::move(target)), lane_(std::move(lane)), destructive_(destructive) {}
  std::string_view verb() const override { return "do"; }
  std::string target() const override { return target_; }
  uint64_t content() const override { return script_.contents[target_]; }
  Lane lane() const override { return lane_; }
  bool destructive() const override { return destructive_; }
  bool exclusive() const override { return script_.exclusive.contains(target_); }
  bool Satisfied(const Services&) const override { return script_.satisfied.contains(target_); }
  Task<Result<void>> Run(Services& services, Deadline) const override {
    script_.ran.push_back(target_);
    co_await async::Sleep(services.loop, script_.takes[target_]);
    if (script_.throwing.contains(target_)) throw std::runtime_error("no JSON");
    const auto result = script_.results.find(target_);
    co_return result == script_.results.end() ? Result<void>() : result->second;
  }

 private:
  Script& script_;
  std::string target_;
  Lane lane_;
  bool destructive_;
};

class ScriptedGuard final : public Guard {
 public:
  ScriptedGuard(Script& script, std::string name) : script_(script), name_(std::move(name)) {}
  std::string text() const override { return name_; }
  Task<Proof> Prove(Services&, Deadline) const override { co_return script_.proofs.at(name_); }

 private:
  Script& script_;
  std::string name_;
};

class ExecutorTest : public ::testing::Test {
 protected:
  explicit ExecutorTest(size_t wave_limit = Executor::kWaveLimit) : wave_limit(wave_limit) {}
  void TearDown() override {
    async::TaskGroup group(loop);
    group.Spawn("stop", executor.Stop());
    loop.Run();
  }
  Action Do(std::string target, Lane lane = {}, bool destructive = false) {
    return {.effect = std::make_shared<ScriptedEffect>(script, std::move(target), std::move(lane), destructive),
            .reason = "the test wants it"};
  }
  void Submit(std::vector<Action> actions, std::optional<Action> status = {}) {
    again = executor.Submit(kKey, std::move(actions), std::move(status));
  }
  std::vector<std::string> Failures() {
    std::vector<std::string> texts;
    for (const Failure& failure : executor.ledger(kKey).Failures())
      texts.push_back(failure.target + ": " + failure.message);
    return texts;
  }

  async::VirtualLoop loop;
  NoTransport transport;
  kube::Client client{loop, transport, {}};
  Stores stores;
  AppliedMemo memo;
  SlurmClusters clusters{loop, client, nullptr, [](const std::string&, const std::vector<std::string>&) {}, 1};
  Services services{loop, client, stores, memo, clusters, "test", nullptr};
  Script script;
  const size_t wave_limit;
  bool lease = true, trusted = true;
  int ended = 0;
  std::vector<std::string> flights;  // what has started, and ended again
  std::vector<Key> roomy;
  std::vector<Notice> notices;
  std::optional<Tick> again;
  Executor executor{services,
                    {.may_write = [this] { return lease; },
                     .may_destroy = [this] { return trusted; },
                     .started =
                         [this](const Key& key, const Action& action) {
                           flights.push_back(ToString(key) + " starts " + action.effect->target());
                         },
                     .ended =
                         [this](const Key& key, const Action& action, const Result<void>&, Duration) {
                           ++ended;
                           flights.push_back(ToString(key) + " ended " + action.effect->target());
                         },
                     .room = [this](const Key& key) { roomy.push_back(key); },
                     .tell = [this](const Key&, Notice notice) { notices.push_back(std::move(notice)); },
                     .lane_limit = 2,
                     .wave_limit = wave_limit}};
};

TEST_F(ExecutorTest, RunsWhatIsWantedOnceAndWakesTheKey) {
  Submit({Do("a"), Do("b")});
  Submit({Do("a"), Do("b")});
  loop.Run();
  EXPECT_THAT(script.ran, ElementsAre("a", "b"));
  EXPECT_EQ(ended, 2);
}

TEST_F(ExecutorTest, SaysWhoseActionIsInFlightFromBeforeItsProofs) {
  Action guarded = Do("a");
  guarded.guards = {std::make_shared<ScriptedGuard>(script, "it has no proof")};  // throws
  Submit({guarded});
  EXPECT_THAT(flights, ElementsAre(ToString(kKey) + " starts a"));
  loop.Run();
  EXPECT_THAT(flights, ElementsAre(ToString(kKey) + " starts a", ToString(kKey) + " ended a"));
}

TEST_F(ExecutorTest, StartsAnActionOnlyWhenWhatItComesAfterIsDone) {
  Action second = Do("second");
  const Action first = Do("first");
  second.after = {first.id()};
  Submit({first, second});
  loop.Run();
  EXPECT_THAT(script.ran, ElementsAre("first"));
  Submit({first, second});
  loop.Run();
  EXPECT_THAT(script.ran, ElementsAre("first", "second"));
}

// It ended the process, and the next one, for as long as the object stood that it came from.
TEST_F(ExecutorTest, AnExceptionOfAnEffectOrGuardIsTheFailureOfThatActionAlone) {
  script.throwing = {"a", "c"};
  script.exclusive = {"c"};
  Action guarded = Do("guarded", {}, true);
  guarded.guards = {std::make_shared<ScriptedGuard>(script, "it has no proof")};  // throws
  Submit({Do("a"), Do("b")});
  loop.Run();
  Submit({Do("a"), Do("b"), Do("c"), guarded});
  loop.Run();
  EXPECT_THAT(script.ran, ElementsAre("a", "b", "c"));
  EXPECT_THAT(Failures(), UnorderedElementsAre("a: ended by an exception, which is a bug: no JSON",
                                               "c: ended by an exception, which is a bug: no JSON",
                                               ::testing::StartsWith("guarded: ended by an exception")));
  EXPECT_EQ(ended, 4);
  EXPECT_THAT(executor.TargetsInFlight(kKey), IsEmpty());
  script.throwing.clear();
  executor.Submit({"nodeset", "slurm", "other"}, {Do("c")}, {});
  loop.Run();
  EXPECT_EQ(script.ran.back(), "c") << "who failed so keeps nothing from others";
}

TEST_F(ExecutorTest, WhatOurRecordsShowAsDoneIsLeftAlone) {
  script.satisfied.insert("a");
  Submit({Do("a")});
  loop.Run();
  EXPECT_THAT(script.ran, IsEmpty());
}

TEST_F(ExecutorTest, AStuckLaneDelaysNoOther) {
  script.takes["s1"] = script.takes["s2"] = 1h;
  Submit({Do("s1", "slurm/main"), Do("s2", "slurm/main"), Do("s3", "slurm/main"), Do("pod")});
  loop.Advance(1s);
  EXPECT_THAT(script.ran, ElementsAre("s1", "s2", "pod")) << "the lane holds two";
}

TEST_F(ExecutorTest, AKeyWithManyActionsLeavesAnotherItsShareOfTheLane) {
  const Key other{"nodeset", "slurm", "small"};
  for (const char* target : {"a1", "a2", "a3", "b1"}) script.takes[target] = 1s;
  const auto many = [this] { Submit({Do("a1"), Do("a2"), Do("a3"), Do("a4")}); };
  many();
  executor.Submit(other, {Do("b1")}, {});
  loop.Advance(1ms);
  EXPECT_THAT(script.ran, ElementsAre("a1", "a2")) << "the lane holds two";
  loop.Advance(1s);
  EXPECT_THAT(roomy, ::testing::Contains(other)) << "nothing else would wake it";
  many();
  executor.Submit(other, {Do("b1")}, {});
  loop.Advance(1ms);
  EXPECT_THAT(script.ran, ElementsAre("a1", "a2", "a3", "b1"));
}

TEST_F(ExecutorTest, FarMoreKeysThanALaneHoldsAllHaveTheirTurn) {
  std::vector<Key> keys;
  for (int i = 0; i < 50; ++i) keys.push_back({"nodeset", "slurm", "n" + std::to_string(i)});
  const auto submit = [&](const Key& key) {
    script.takes[key.name] = 1s;
    executor.Submit(key, {Do(key.name)}, {});
  };
  for (const Key& key : keys) submit(key);
  // As the engine does: whoever is told of room is decided again, and nobody else.
  for (int second = 0; second < 25; ++second) {
    loop.Advance(1s);
    for (const Key& key : std::exchange(roomy, {})) submit(key);
  }
  loop.Advance(1s);
  EXPECT_EQ(std::set<std::string>(script.ran.begin(), script.ran.end()).size(), keys.size()) << "the lane holds two";
  EXPECT_EQ(script.ran.size(), keys.size());
}

class SmallWaves : public ExecutorTest {
 protected:
  SmallWaves() : ExecutorTest(2) {}
};

TEST_F(SmallWaves, AKeyHasNoMoreInFlightWhateverTheLanes) {
  const Key other{"nodeset", "slurm", "other"};
  for (const char* target : {"pod", "node", "node2", "others"}) script.takes[target] = 1s;
  const auto wave = [this] { Submit({Do("pod"), Do("node", "slurm/a"), Do("node2", "slurm/b")}); };
  wave();
  executor.Submit(other, {Do("others", "slurm/b")}, {});
  loop.Advance(100ms);
  EXPECT_THAT(script.ran, ElementsAre("pod", "node", "others")) << "the bound is each key's own";
  loop.Advance(1s);
  EXPECT_EQ(ended, 3) << "which wakes the key";
  wave();
  loop.Advance(100ms);
  EXPECT_THAT(script.ran, ElementsAre("pod", "node", "others", "node2"));
}

TEST_F(ExecutorTest, AStatusIsNotToldOfItsOwnFailure) {
  script.results["status"] = Fail(Code::kUnavailable, "no connection");
  script.results["a"] = Fail(Code::kUnavailable, "no connection");
  Submit({Do("a")}, Do("status"));
  loop.Advance(2s);
  Submit({Do("a")}, Do("status"));
  loop.Advance(2s);
  EXPECT_THAT(script.ran, ::testing::Contains("status"));
  ASSERT_EQ(executor.Failures(kKey).size(), 1u);
  EXPECT_EQ(executor.Failures(kKey)[0].target, "a");
  EXPECT_EQ(executor.ledger(kKey).Failures().size(), 2u) << "it backs off all the same";
}

// The status went on telling of a failure that was over, until the next regular look.
TEST_F(ExecutorTest, WhatHealedByItselfIsLookedAtAgainAtOnce) {
  script.results["a"] = Fail(Code::kConflict, "changed");
  Submit({Do("a")});
  loop.Run();
  script.satisfied.insert("a");
  Submit({Do("a")});
  EXPECT_EQ(again, loop.Now());
  Submit({Do("a")});
  EXPECT_EQ(again, std::nullopt);
  script.results["b"] = Fail(Code::kConflict, "changed");
  Submit({Do("b")});
  loop.Run();
  Submit({});
  EXPECT_EQ(again, loop.Now()) << "nor what nobody wants any more";
}

TEST_F(ExecutorTest, SaysWhatRunsAndForHowLong) {
  script.takes["slow"] = script.takes["slower"] = 1h;
  Submit({Do("slower")});
  loop.Advance(2s);
  Submit({Do("slower"), Do("slow")});
  loop.Advance(3s);
  const auto running = executor.running();
  ASSERT_EQ(running.size(), 2u);
  EXPECT_EQ(running[0].target, "slower");
  EXPECT_EQ(running[0].age, 5s);
  EXPECT_EQ(running[1].age, 3s);
}

TEST_F(ExecutorTest, NeverTwoActionsOnOneTarget) {
  script.takes["pod"] = 5s;
  Submit({Do("pod")});
  Action other = Do("pod");
  other.effect = std::make_shared<ScriptedEffect>(script, "pod", "", true);
  Submit({other});
  loop.Advance(1s);
  EXPECT_THAT(script.ran, ElementsAre("pod"));
}

// --- One writer ------------------------------------------------------------------------------------------------------

class OneWriter : public ExecutorTest {
 protected:
  OneWriter() {
    script.exclusive = {"a"};
    script.takes["a"] = 1s;
  }
  // As the engine does it: decided again, whatever became of it.
  void Want(const Key& key, bool wanted = true) {
    executor.Submit(key, wanted ? std::vector{Do("a")} : std::vector<Action>(), {});
  }
  bool Refused() { return !executor.Failures(other).empty(); }

  const Key other{"nodeset", "slurm", "other"};
};

TEST_F(OneWriter, WhatAnotherKeyWritesIsRefusedAndTheOtherIsNamed) {
  for (const bool in_flight : {true, false}) {
    Want(kKey);
    loop.Advance(in_flight ? 100ms : 10s);
    Want(other);
    loop.Advance(100ms);
    ASSERT_EQ(executor.Failures(other).size(), 1u);
    EXPECT_EQ(executor.Failures(other)[0].reason, "NameConflict");
    EXPECT_EQ(executor.Failures(other)[0].message,
              "a is written by nodeset/slurm/main already, and an object has one writer");
    loop.Advance(1min);
  }
  EXPECT_THAT(script.ran, ElementsAre("a", "a"));
}

TEST_F(OneWriter, ItIsFreeOnceItsKeyNoLongerWantsItOrIsGone) {
  for (const bool gone : {true, false}) {
    Want(kKey);
    loop.Advance(10s);
    Want(kKey, false);
    if (gone) executor.Forget(kKey);
    Want(other);
    loop.Advance(10s);
    EXPECT_FALSE(Refused());
    Want(other, false);
  }
  EXPECT_EQ(script.ran.size(), 4u);
}

TEST_F(OneWriter, ItIsNotFreeWhileItIsWrittenStill) {
  Want(kKey);
  loop.Advance(100ms);
  Want(kKey, false);
  Want(other);
  loop.Advance(100ms);
  EXPECT_TRUE(Refused());
  loop.Advance(1min);
  Want(kKey, false);
  Want(other);
  loop.Advance(10s);
  EXPECT_FALSE(Refused());
}

TEST_F(OneWriter, WhoCannotWriteItDoesNotKeepIt) {
  script.results["a"] = Fail(Code::kAlreadyExists, "belongs to something else");
  Want(kKey);
  loop.Advance(10s);
  script.results.clear();
  Want(other);
  loop.Advance(10s);
  EXPECT_FALSE(Refused());
}

// ---------------------------------------------------------------------------------------------------------------------

TEST_F(ExecutorTest, WithoutTheLeaseNothingIsWritten) {
  lease = false;
  Submit({Do("a")});
  loop.Run();
  EXPECT_THAT(script.ran, IsEmpty());
}

TEST_F(ExecutorTest, NothingIsDestroyedWhileTheStoresAreNotTrusted) {
  trusted = false;
  Submit({Do("create"), Do("delete", "", true)});
  loop.Run();
  EXPECT_THAT(script.ran, ElementsAre("create"));
  ASSERT_TRUE(again);
  EXPECT_LE(*again, loop.Now() + 1s) << "no event tells when they are";
}

TEST_F(ExecutorTest, AnUnknownGuardKeepsAndTriesAgainLater) {
  Action remove = Do("pod", "", true);
  remove.guards = {std::make_shared<ScriptedGuard>(script, "the node is idle")};
  script.proofs["the node is idle"] = Proof::kUnknown;
  Submit({remove});
  loop.Run();
  EXPECT_THAT(script.ran, IsEmpty());
  EXPECT_THAT(Failures(), ElementsAre("pod: not done, since it cannot be seen whether the node is idle"));
  script.proofs["the node is idle"] = Proof::kYes;
  loop.Advance(1s);
  Submit({remove});
  loop.Run();
  EXPECT_THAT(script.ran, ElementsAre("pod"));
}

TEST_F(ExecutorTest, AGuardThatNoLongerHoldsDropsTheAction) {
  Action remove = Do("pod", "", true);
  remove.guards = {std::make_shared<ScriptedGuard>(script, "the node is idle")};
  script.proofs["the node is idle"] = Proof::kNo;
  Submit({remove});
  loop.Run();
  EXPECT_THAT(script.ran, IsEmpty());
  EXPECT_EQ(ended, 1) << "the key decides again";
}

TEST_F(ExecutorTest, ARefusedActionDelaysNoOtherAndIsRetriedInItsOwnTime) {
  script.results["bad"] = Fail(Code::kInvalid, "no such field");
  Submit({Do("bad"), Do("good")});
  loop.Run();
  Submit({Do("bad"), Do("good2")});
  loop.Run();
  EXPECT_THAT(script.ran, ElementsAre("bad", "good", "good2"));
  EXPECT_THAT(Failures(), ElementsAre("bad: no such field"));
  ASSERT_TRUE(again);
  EXPECT_GT(*again, loop.Now() + 4min);
}

TEST_F(ExecutorTest, WhatIsThereAlreadyHasNotFailedWithItsNewContent) {
  script.results["bad"] = Fail(Code::kInternal, "not now");
  Submit({Do("bad")});
  loop.Run();
  script.contents["bad"] = 1;
  Submit({Do("bad")});
  EXPECT_THAT(Failures(), ElementsAre("bad: not now"));
  script.contents["bad"] = 2;
  script.satisfied = {"bad"};
  Submit({Do("bad")});
  loop.Run();
  EXPECT_THAT(Failures(), IsEmpty());
  EXPECT_THAT(script.ran, ElementsAre("bad"));
}

TEST_F(ExecutorTest, TheStatusWaitsForActionsOnTheirWayButNotForEver) {
  script.takes["slow"] = 10s;
  Submit({Do("slow")}, Do("status"));
  loop.Advance(500ms);
  EXPECT_THAT(script.ran, ElementsAre("slow"));
  EXPECT_EQ(again, Tick() + 1s);
  loop.Advance(500ms);
  Submit({Do("slow")}, Do("status"));
  loop.Advance(1ms);
  EXPECT_THAT(script.ran, ElementsAre("slow", "status"));
}

TEST_F(ExecutorTest, WhatDoesNotPassByItselfIsToldWithoutBeingAsked) {
  Error contested(Code::kConflict, "somebody changes it back");
  contested.SetRetryAfter(5min);
  script.results["contested"] = Fail(contested);
  script.results["taken"] = Fail(Code::kAlreadyExists, "belongs to something else");
  script.results["raced"] = Fail(Code::kConflict, "changed");
  script.results["down"] = Fail(Code::kUnavailable, "down");
  Submit({Do("contested"), Do("taken"), Do("raced"), Do("down")});
  loop.Run();
  ASSERT_EQ(notices.size(), 2u);
  EXPECT_EQ(notices[0].reason, "Contested");
  EXPECT_EQ(notices[0].action, "Do");
  EXPECT_EQ(notices[0].note, "do contested: the test wants it: somebody changes it back");
  EXPECT_EQ(notices[1].reason, "NameConflict");
}

TEST_F(ExecutorTest, TellsWhatWasDoneAndWhatFailedButNotConflicts) {
  for (const char* target : {"ok", "refused", "conflict"}) {
    Action action = Do(target);
    action.event = {.reason = "Scaling", .action = "Delete"};
    if (std::string_view(target) == "refused") script.results[target] = Fail(Code::kForbidden, "may not");
    if (std::string_view(target) == "conflict") script.results[target] = Fail(Code::kConflict, "changed");
    Submit({action});
    loop.Run();
  }
  ASSERT_EQ(notices.size(), 2u);
  EXPECT_EQ(notices[0].note, "do ok: the test wants it");
  EXPECT_EQ(notices[1].reason, "ScalingFailed");
  EXPECT_TRUE(notices[1].warning);
  EXPECT_EQ(notices[1].note, "do refused: the test wants it: may not");
}

// events.k8s.io refuses an Event without an action, and words of more than 128 bytes: users were told nothing.
TEST_F(ExecutorTest, AnEventIsToldInWordsThatTheServerTakes) {
  Action done = Do("done"), refused = Do("refused");
  done.event = {.reason = "Scaling", .action = ""};
  refused.event = {.reason = std::string(200, 'R'), .action = std::string(200, 'A')};
  script.results["refused"] = Fail(Code::kForbidden, "may not");
  Submit({done, refused});
  loop.Run();
  ASSERT_EQ(notices.size(), 2u);
  EXPECT_EQ(notices[0].action, "Do");
  EXPECT_EQ(notices[1].action, std::string(128, 'A'));
  EXPECT_EQ(notices[1].reason, std::string(122, 'R') + "Failed");
}

}  // namespace
}  // namespace capstan::plan
