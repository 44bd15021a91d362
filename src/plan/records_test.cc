// The engine's own records: ledger, memo, wake index.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/ledger.h"
#include "plan/memo.h"
#include "plan/reads.h"

namespace capstan::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr ActionId kAction{7};
const Tick kStart = Tick() + 1h;

Ledger Refused(Code code, Random& random) {
  Ledger ledger;
  ledger.Started(kAction, "apply", "Service a/b");
  ledger.Failed(kAction, Error(code, "no"), kStart, random);
  return ledger;
}

TEST(Ledger, AnActionInFlightIsNotStartedAgain) {
  Ledger ledger;
  EXPECT_TRUE(ledger.MayStart(kAction, kStart));
  ledger.Started(kAction, "apply", "Service a/b");
  EXPECT_FALSE(ledger.MayStart(kAction, kStart + 24h));
  ledger.Succeeded(kAction, kStart);
  EXPECT_EQ(ledger.in_flight(), 0u);
}

TEST(Ledger, WhatWasDoneAMomentAgoIsNotDoneAgain) {
  Ledger ledger;
  ledger.Started(kAction, "drain", "Slurm node a/b");
  ledger.Succeeded(kAction, kStart);
  EXPECT_TRUE(ledger.Done(kAction, kStart + 4s));
  EXPECT_FALSE(ledger.MayStart(kAction, kStart + 4s)) << "Slurm may not show it yet";
  EXPECT_EQ(ledger.NextRetry(kStart), kStart + 5s);
  EXPECT_FALSE(ledger.Done(kAction, kStart + 5s));
  EXPECT_TRUE(ledger.MayStart(kAction, kStart + 5s)) << "still wanted: it did not last";
}

struct BackOffCase {
  Code code;
  Duration not_before, by;
};

class LedgerBackOff : public ::testing::TestWithParam<BackOffCase> {};

TEST_P(LedgerBackOff, DependsOnWhatWentWrong) {
  Random random(3);
  const Ledger ledger = Refused(GetParam().code, random);
  EXPECT_FALSE(ledger.MayStart(kAction, kStart + GetParam().not_before));
  EXPECT_TRUE(ledger.MayStart(kAction, kStart + GetParam().by));
}

INSTANTIATE_TEST_SUITE_P(
    All, LedgerBackOff,
    ::testing::Values(BackOffCase{Code::kInvalid, 4min, 6min}, BackOffCase{Code::kForbidden, 4min, 6min},
                      BackOffCase{Code::kUnauthenticated, 100ms, 300ms}, BackOffCase{Code::kConflict, 5ms, 50ms},
                      BackOffCase{Code::kUnavailable, 100ms, 300ms}, BackOffCase{Code::kUnknownOutcome, 100ms, 300ms}));

TEST(Ledger, WhatWasRefusedForGoodIsTriedAnewWhenItsTargetIsAnother) {
  Random random(3);
  for (const auto& [code, again] : {std::pair(Code::kInvalid, true), std::pair(Code::kUnavailable, false)}) {
    Ledger ledger;
    ledger.Started(kAction, "apply", "StatefulSet a/b", 1);
    ledger.Failed(kAction, Error(code, "no"), kStart, random);
    EXPECT_FALSE(ledger.MayStart(kAction, kStart, 1));
    EXPECT_EQ(ledger.MayStart(kAction, kStart, 2), again) << Name(code);
  }
}

TEST(Ledger, ObeysTheServersRetryAfter) {
  Random random(3);
  Ledger ledger;
  Error error(Code::kThrottled, "slow down");
  error.SetRetryAfter(17s);
  ledger.Started(kAction, "apply", "Service a/b");
  ledger.Failed(kAction, error, kStart, random);
  EXPECT_EQ(ledger.NextRetry(kStart), kStart + 17s);
}

// "Retry-After: 0" came again and again, and so did the action, as fast as the answers.
TEST(Ledger, AServerThatAsksForNoWaitIsStillWaitedFor) {
  Random random(3);
  Ledger ledger;
  Error error(Code::kUnavailable, "in maintenance");
  error.SetRetryAfter(0s);
  Tick now = kStart;
  for (int tries = 0; tries < 10; ++tries) {
    ledger.Started(kAction, "apply", "Service a/b");
    ledger.Failed(kAction, error, now, random);
    ASSERT_TRUE(ledger.NextRetry(now)) << tries;
    now = *ledger.NextRetry(now);
  }
  EXPECT_GT(now - kStart, 1min);
}

constexpr ActionId kOtherContent{kAction.aim, kAction.content + 1};

// Found by the simulator: two contents took turns, and each began its back-off anew.
TEST(Ledger, TheBackOffPassesToTheContentWantedInItsStead) {
  Random random(3);
  Ledger ledger;
  Tick now = kStart;
  int tries = 0;
  for (ActionId id = kAction; now < kStart + 1min; ++tries) {
    ledger.Started(id, "apply status", "RestApi a/b");
    ledger.Failed(id, Error(Code::kUnavailable, "no"), now, random);
    id = id == kAction ? kOtherContent : kAction;
    ledger.KeepOnly({id});
    ASSERT_EQ(ledger.Failures().size(), 1u) << "the last try failed, and that is told";
    EXPECT_EQ(ledger.Failures()[0].tries, tries + 1);
    ASSERT_TRUE(ledger.NextRetry(now));
    EXPECT_FALSE(ledger.MayStart(id, now));
    now = *ledger.NextRetry(now);
    EXPECT_TRUE(ledger.MayStart(id, now));
  }
  EXPECT_LT(tries, 12);
  ledger.Succeeded(kAction, now);
  ledger.KeepOnly({kOtherContent});
  EXPECT_TRUE(ledger.MayStart(kOtherContent, now)) << "what was done leaves nothing behind";
}

TEST(Ledger, TheBackOffPassesToNoOtherTarget) {
  Random random(3);
  const ActionId elsewhere{kAction.aim + 1, kAction.content};
  Ledger ledger = Refused(Code::kUnavailable, random);
  ledger.KeepOnly({elsewhere});
  EXPECT_TRUE(ledger.MayStart(elsewhere, kStart));
  EXPECT_THAT(ledger.Failures(), IsEmpty());
}

TEST(Ledger, WhatContentAloneHasToWaitForDelaysNoOther) {
  Random random(3);
  Error truce(Code::kConflict, "somebody changes it back");
  truce.SetRetryAfter(5min);
  Error overload(Code::kThrottled, "slow down");
  overload.SetRetryAfter(5min);
  for (const auto& [error, soon] :
       {std::pair(Error(Code::kInvalid, "no"), true), std::pair(truce, true), std::pair(overload, false)}) {
    Ledger ledger;
    ledger.Started(kAction, "apply", "Service a/b");
    ledger.Failed(kAction, error, kStart, random);
    EXPECT_FALSE(ledger.MayStart(kAction, kStart + 4min));
    ledger.KeepOnly({kOtherContent});
    EXPECT_FALSE(ledger.MayStart(kOtherContent, kStart));
    EXPECT_EQ(ledger.MayStart(kOtherContent, kStart + 300ms), soon) << error.message();
  }
}

TEST(Ledger, FailuresAreToldUntilTheActionSucceedsOrIsNoLongerWanted) {
  Random random(3);
  Ledger ledger = Refused(Code::kUnavailable, random);
  ledger.Started(kAction, "apply", "Service a/b");
  ASSERT_EQ(ledger.Failures().size(), 1u) << "a repeat in flight is no success yet";
  EXPECT_EQ(ledger.Failures()[0].target, "Service a/b");
  Ledger abandoned = Refused(Code::kUnavailable, random);
  abandoned.KeepOnly({});
  EXPECT_THAT(abandoned.Failures(), IsEmpty());
  ledger.Succeeded(kAction, kStart);
  EXPECT_THAT(ledger.Failures(), IsEmpty());
}

TEST(Ledger, WhatIsInFlightIsKeptEvenWhenNobodyWantsItAnyMore) {
  Ledger ledger;
  ledger.Started(kAction, "delete", "Pod a/b");
  ledger.KeepOnly({});
  EXPECT_TRUE(ledger.InFlight(kAction));
}

const std::string kOwner = "owner's uid";
const std::string kService = "Service a/b";

TEST(AppliedMemo, MatchesOnlyWhileObjectContentAndOurFieldsAreTheSame) {
  AppliedMemo memo;
  const AppliedMemo::Applied applied{"uid", 1, 2};
  const AppliedMemo::Target service{kOwner, kService};
  EXPECT_FALSE(memo.Matches(service, applied));
  memo.Record(service, applied, kStart);
  EXPECT_TRUE(memo.Matches(service, applied));
  EXPECT_FALSE(memo.Matches(service, {"other uid", 1, 2}));
  EXPECT_FALSE(memo.Matches(service, {"uid", 9, 2}));
  EXPECT_FALSE(memo.Matches(service, {"uid", 1, 9})) << "somebody took a field of ours";
}

TEST(AppliedMemo, FiveEqualAppliesInTenMinutesAreAFight) {
  AppliedMemo memo;
  const AppliedMemo::Target service{kOwner, kService};
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(memo.Fight(service, 1, kStart + i * 1min)) << i;
    memo.Record(service, {"uid", 1, uint64_t(i)}, kStart + i * 1min);
  }
  EXPECT_EQ(memo.Fight(service, 1, kStart + 5min), 5);
  EXPECT_FALSE(memo.Fight(service, 2, kStart + 5min)) << "other content is no fight";
  EXPECT_FALSE(memo.Fight(service, 1, kStart + 11min)) << "over after ten minutes";
}

TEST(AppliedMemo, WhatIsDeletedEachTimeIsMadeAgainEverLater) {
  AppliedMemo memo;
  const AppliedMemo::Target service{kOwner, kService};
  EXPECT_FALSE(memo.MayBeMadeAgain(service, kStart));
  Tick now = kStart;
  std::vector<Duration> waits;
  for (int i = 0; i < 12; ++i) {
    memo.Record(service, {"uid" + std::to_string(i), 1, 2}, now);
    memo.Made(service, now);
    const auto remade = memo.MayBeMadeAgain(service, now);
    waits.push_back(remade ? remade->at - now : Duration(0));
    now += waits.back();
    EXPECT_FALSE(memo.MayBeMadeAgain(service, now)) << i;
  }
  EXPECT_THAT(waits, ElementsAre(0s, 0s, 1s, 2s, 4s, 8s, 16s, 32s, 1min, 1min, 1min, 1min));
  EXPECT_FALSE(memo.MayBeMadeAgain(service, now + 10min)) << "long ago";
}

TEST(AppliedMemo, ForgetsAnOwnerThatIsGoneWithAllThatWasAppliedForIt) {
  AppliedMemo memo;
  const std::string other = "other's uid";
  const AppliedMemo::Applied applied{"uid", 1, 2};
  memo.Record({kOwner, kService}, applied, kStart);
  memo.Record({kOwner, kOwner}, applied, kStart);
  memo.Record({other, kService}, applied, kStart);
  memo.Forget(kOwner);
  EXPECT_FALSE(memo.Knows({kOwner, kService}));
  EXPECT_FALSE(memo.Knows({kOwner, kOwner}));
  EXPECT_TRUE(memo.Knows({other, kService}));
}

TEST(AppliedMemo, ForgetsWhatAnOwnerNoLongerWantsAndNothingElse) {
  AppliedMemo memo;
  const std::string other = "other's uid", old = "Service a/old";
  const AppliedMemo::Applied applied{"uid", 1, 2};
  memo.Record({kOwner, kService}, applied, kStart);
  memo.Record({kOwner, old}, applied, kStart);
  memo.Record({other, old}, applied, kStart);
  memo.KeepOnly(kOwner, {kService, "Service a/not-applied-yet"});
  EXPECT_TRUE(memo.Matches({kOwner, kService}, applied));
  EXPECT_FALSE(memo.Knows({kOwner, old}));
  EXPECT_TRUE(memo.Knows({other, old}));
  EXPECT_EQ(memo.size(), 2u);
  EXPECT_EQ(memo.SizeOf(kOwner), 1u);
}

TEST(WakeIndex, FindsTheKeysThatReadATokenLastTime) {
  WakeIndex index;
  Reads first, second;
  first.Note(MakeRead("pods", "a/b"));
  first.Note(MakeRead("pods", "a/c"));
  second.Note(MakeRead("pods", "a/b"));
  index.Set(2, second);
  index.Set(1, first);
  EXPECT_THAT(index.Find(MakeRead("pods", "a/b")), ElementsAre(1, 2));
  EXPECT_THAT(index.Find(MakeRead("services", "a/b")), IsEmpty());
  index.Set(1, second);
  EXPECT_THAT(index.Find(MakeRead("pods", "a/c")), IsEmpty()) << "no longer read";
  index.Forget(1);
  index.Forget(2);
  EXPECT_EQ(index.size(), 0u);
}

TEST(WakeIndex, KeepsWhatManyReadAndWhatOnlyOneDoes) {
  const Read all = MakeRead("settings", "");
  const auto one = [](uint32_t key) { return MakeRead("pods", std::to_string(key)); };
  WakeIndex index;
  for (uint32_t key : {5, 3, 4, 1, 2}) {
    Reads reads;
    reads.Note(all);
    reads.Note(one(key));
    index.Set(key, reads);
    index.Set(key, reads);
  }
  EXPECT_THAT(index.Find(all), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(index.size(), 10u);
  for (uint32_t key : {3, 5, 1, 2}) index.Forget(key);
  index.Forget(3);
  EXPECT_THAT(index.Find(all), ElementsAre(4));
  EXPECT_THAT(index.Find(one(4)), ElementsAre(4));
  EXPECT_THAT(index.Find(one(3)), IsEmpty());
  Reads reads;
  reads.Note(all);
  index.Set(9, reads);
  index.Set(4, reads);
  EXPECT_THAT(index.Find(all), ElementsAre(4, 9));
  EXPECT_EQ(index.size(), 2u);
}

}  // namespace
}  // namespace capstan::plan
