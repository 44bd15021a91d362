#include "operator/token/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/testing/world.h"
#include "operator/token/questions.h"

namespace capstan::op::token {
namespace {

using test::ActionNames;
using test::ConditionOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class TokenTest : public ::testing::Test {
 protected:
  TokenTest() {
    token.metadata = {.name = "alice", .namespace_ = "slurm", .uid = "uid-token"};
    token.spec.username = "alice";
    token.spec.jwt_key_ref = {.name = "main-auth-jwt", .key = "jwt.key"};
    issued.uid = "uid-secret";
    issued.controller_uid = "uid-token";
    issued.key_uid = "uid-key";
    issued.key_bytes = 64;
    issued.claims = slurm::TokenClaims{.user = "alice", .issued_at = world.now - 10s, .expires_at = world.now + 15min};
  }

  std::string Question() const {
    return "secret slurm/" + secret + " SLURM_JWT signed with slurm/main-auth-jwt jwt.key";
  }
  plan::Plan Look() {
    world.Put(token);
    if (present)
      world.Answer(Question(), std::make_shared<const IssuedToken::Value>(issued));
    else
      world.Absent(Question());
    return world.Decide(&Decide, "alice");
  }
  bool Writes() {
    const plan::Plan plan = Look();
    if (plan.actions.empty()) return false;
    EXPECT_THAT(ActionNames(plan), ElementsAre("write Secret slurm/" + secret));
    return true;
  }

  test::TestWorld world;
  api::Token token;
  std::string secret = "alice-jwt-alice";
  bool present = true;
  IssuedToken::Value issued;
};

TEST_F(TokenTest, IsIssuedWhenThereIsNoneAndLeftAloneWhileItIsGood) {
  present = false;
  const plan::Plan first = Look();
  EXPECT_THAT(ActionNames(first), ElementsAre("write Secret slurm/alice-jwt-alice"));
  EXPECT_THAT(ConditionOf(first, "Progressing"), StartsWith("True Issuing: there is no token yet"));
  present = true;
  const plan::Plan good = Look();
  EXPECT_THAT(good.actions, IsEmpty());
  EXPECT_THAT(ConditionOf(good, "Ready"), StartsWith("True Ready: the token is good until 2026-11-21T08:15:00Z"));
  EXPECT_EQ(good.requeue_after, 12min - 2s) << "the last fifth of its lifetime begins then";
  EXPECT_THAT(*good.status, HasSubstr(R"("issuedAt":"2026-11-21T07:59:50Z")"));
}

TEST_F(TokenTest, IsIssuedAnewInTheLastFifthOfItsLifetimeWhileTheFormerOneIsGood) {
  issued.claims->issued_at -= 12min + 1s;
  issued.claims->expires_at -= 12min + 1s;
  EXPECT_TRUE(Writes());
  EXPECT_THAT(ConditionOf(Look(), "Ready"), StartsWith("True "));
}

TEST_F(TokenTest, WhatIsNoLongerGoodIsReplaced) {
  EXPECT_FALSE(Writes());
  issued.claims->user = "bob";
  EXPECT_TRUE(Writes());
  issued.claims->user = "alice";
  token.spec.lifetime = "1h";
  EXPECT_TRUE(Writes()) << "another lifetime is wanted";
  token.spec.lifetime.reset();
  issued.claims->expires_at = world.now - 1s;
  issued.claims->issued_at = world.now - 15min;
  EXPECT_TRUE(Writes()) << "expired";
  issued.claims.reset();
  issued.invalid = "another key signed it";
  EXPECT_TRUE(Writes()) << "the key was rotated";
  EXPECT_THAT(ConditionOf(Look(), "Ready"), HasSubstr("another key signed it"));
}

TEST_F(TokenTest, ALifetimeThatSlurmCannotKeepIsNoReasonToIssueAgainAndAgain) {
  issued.claims->expires_at = slurm::kLatestExpiry;
  for (const char* lifetime : {"876000h", "2400000h", "2555555h"}) {
    token.spec.lifetime = lifetime;
    EXPECT_FALSE(Writes()) << lifetime;
  }
}

// The Go operator wrote over a Secret of that name, whosever it was.
TEST_F(TokenTest, ASecretOfSomebodyElseIsNotTouched) {
  for (const char* owner : {"", "uid-somebody"}) {
    issued.controller_uid = owner;
    const plan::Plan plan = Look();
    EXPECT_THAT(plan.actions, IsEmpty());
    EXPECT_THAT(ConditionOf(plan, "Degraded"),
                StartsWith("True NameConflict: Secret slurm/alice-jwt-alice exists and does not belong to this Token"));
  }
}

TEST_F(TokenTest, OneOfAFormerOperatorIsTakenOverAsItIs) {
  issued.controller_uid = "uid-key";
  EXPECT_THAT(ActionNames(Look()), ElementsAre("take over Secret slurm/alice-jwt-alice"));
}

// Else the pods that mount it would become another user.
TEST_F(TokenTest, OneOfAFormerOperatorForAnotherUserIsNotTouched) {
  issued.controller_uid = "uid-key";
  issued.claims->user = "bob";
  const auto refused = [this](const std::string& says) {
    const plan::Plan plan = Look();
    EXPECT_THAT(plan.actions, IsEmpty());
    EXPECT_THAT(ConditionOf(plan, "Degraded"), StartsWith("True NameConflict: Secret slurm/alice-jwt-alice " + says));
  };
  refused("has a token of a former operator for user bob; remove it");
  issued.claims.reset();
  issued.invalid = "another key signed it";
  refused("has a token of a former operator that is not good: another key signed it; remove it");
}

TEST_F(TokenTest, WithoutRefreshItIsIssuedOnceAndItsEndIsTold) {
  token.spec.refresh = false;
  present = false;
  EXPECT_TRUE(Writes());
  present = true;
  issued.immutable = true;
  issued.claims->issued_at -= 13min;
  issued.claims->expires_at -= 13min;
  const plan::Plan soon = Look();
  EXPECT_THAT(soon.actions, IsEmpty());
  EXPECT_THAT(ConditionOf(soon, "Ready"), StartsWith("True "));
  EXPECT_THAT(ConditionOf(soon, "Degraded"),
              StartsWith("True TokenExpires: the token expires at 2026-11-21T08:02:00Z"));
  issued.claims->expires_at = world.now - 1s;
  const plan::Plan late = Look();
  EXPECT_THAT(late.actions, IsEmpty());
  EXPECT_THAT(ConditionOf(late, "Ready"), StartsWith("False TokenInvalid: the token has expired"));
  EXPECT_THAT(ConditionOf(late, "Degraded"), HasSubstr("delete Secret slurm/alice-jwt-alice to have another one"));
}

TEST_F(TokenTest, AShortKeyIsTold) {
  issued.key_bytes = 5;
  EXPECT_THAT(ConditionOf(Look(), "Degraded"),
              StartsWith("True KeyTooShort: the key in Secret slurm/main-auth-jwt has 5 bytes"));
}

TEST_F(TokenTest, WhatMakesNoSenseIsRefusedInWordsAndNothingIsWritten) {
  present = false;
  const auto refused = [&](std::string_view reason) {
    const plan::Plan plan = Look();
    return plan.actions.empty() && ConditionOf(plan, "Degraded").starts_with("True " + std::string(reason) + ": ");
  };
  for (const char* user : {"", "ali\nce", "a b", "a:b", "\x01"}) {
    token.spec.username = user;
    EXPECT_TRUE(refused("InvalidSpec")) << user;
  }
  token.spec.username = std::string(257, 'a');
  EXPECT_TRUE(refused("InvalidSpec"));
  token.spec.username = "Alice_1";
  EXPECT_TRUE(refused("InvalidSpec")) << "no part of a Secret's name";
  secret = "token";
  token.spec.secret_ref = {.name = "token", .key = ""};
  EXPECT_TRUE(Writes());
  token.spec.secret_ref->name = "main-auth-jwt";
  EXPECT_TRUE(refused("InvalidSpec")) << "the key itself";
  token.spec.secret_ref->name = "token";
  for (const char* lifetime : {"59s", "-1h", "x"}) {
    token.spec.lifetime = lifetime;
    EXPECT_TRUE(refused("InvalidSpec")) << lifetime;
  }
  token.spec.lifetime.reset();
  token.spec.jwt_key_ref.reset();
  EXPECT_TRUE(refused("KeyMissing"));
}

}  // namespace
}  // namespace capstan::op::token
