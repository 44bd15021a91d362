#include "operator/accounting/contract.h"

#include <gtest/gtest.h>

#include "operator/token/contract.h"

namespace capstan::op {
namespace {

const json::Value kDb = *json::Parse(R"({"kind":"Accounting","metadata":{"namespace":"slurm","name":"db","uid":"u"}})");
const json::Value kAlice = *json::Parse(R"({"kind":"Token","metadata":{"namespace":"slurm","name":"t","uid":"u"},)"
                                        R"("spec":{"username":"alice","jwtKeyRef":{"name":"main-auth-jwt"}}})");
const std::string kOwned = R"({"metadata":{"uid":"s","ownerReferences":[{"uid":"u","controller":true}]}})";
const std::string kForeign = R"({"metadata":{"uid":"s","ownerReferences":[{"uid":"x","controller":true}]}})";
const std::string kUnseen = R"({"metadata":{"ownerReferences":[{"uid":"u","controller":true}]}})";

bool Allows(const Contract& contract, const json::Value& object, const Call& call) {
  return !contract.breach(object, call, {});
}

TEST(AccountingContract, AllowsItsOwnObjectsAndNothingElse) {
  const auto allows = [](const Call& call) { return Allows(accounting::kContract, kDb, call); };
  EXPECT_TRUE(allows({"apply", "Accounting", {"slurm", "db"}, "status", "{}"}));
  EXPECT_TRUE(allows({"apply", "StatefulSet", {"slurm", "db-accounting"}, "", kOwned}));
  EXPECT_TRUE(allows({"create", "Secret", {"slurm", "db-accounting"}, "", kOwned}));
  EXPECT_TRUE(allows({"patch", "Secret", {"slurm", "db-accounting"}, "", kOwned}));
  EXPECT_FALSE(allows({"patch", "Secret", {"slurm", "db-accounting"}, "", kUnseen}));
  EXPECT_FALSE(allows({"patch", "Secret", {"slurm", "password"}, "", kOwned}));
  EXPECT_FALSE(allows({"create", "Secret", {"slurm", "db-accounting"}, "", kForeign}));
  EXPECT_FALSE(allows({"apply", "StatefulSet", {"slurm", "db-accounting"}, "", kForeign}));
  EXPECT_FALSE(allows({"apply", "StatefulSet", {"other", "db-accounting"}, "", kOwned}));
  EXPECT_FALSE(allows({"delete", "StatefulSet", {"slurm", "db-accounting"}, "", "{}"}));
  const std::string as_seen = R"({"preconditions":{"resourceVersion":"1"}})";
  EXPECT_TRUE(allows({"delete", "Pod", {"slurm", "db-accounting-0"}, "", as_seen}));
  EXPECT_FALSE(allows({"delete", "Pod", {"slurm", "db-accounting-0"}, "", "{}"}));
  EXPECT_FALSE(allows({"delete", "Pod", {"slurm", "db-accounting-db-0"}, "", as_seen}));
}

TEST(TokenContract, AllowsItsSecretAndNeverTheSigningKey) {
  const auto allows = [](const Call& call) { return Allows(token::kContract, kAlice, call); };
  EXPECT_TRUE(allows({"create", "Secret", {"slurm", "t-jwt-alice"}, "", kOwned}));
  EXPECT_TRUE(allows({"patch", "Secret", {"slurm", "t-jwt-alice"}, "", kOwned}));
  EXPECT_FALSE(allows({"patch", "Secret", {"slurm", "main-auth-jwt"}, "", kOwned}));
  EXPECT_FALSE(allows({"create", "Secret", {"slurm", "other"}, "", kOwned}));
  EXPECT_FALSE(allows({"delete", "Secret", {"slurm", "t-jwt-alice"}, "", "{}"}));
  EXPECT_FALSE(allows({"apply", "Secret", {"slurm", "t-jwt-alice"}, "", kOwned}));
}

}  // namespace
}  // namespace capstan::op
