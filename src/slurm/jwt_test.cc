#include "slurm/jwt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/rsa.h"
#include "base/text.h"
#include "rsa_key.h"

namespace capstan::slurm {
namespace {

const Secret kKey("0123456789abcdef0123456789abcdef");

TokenClaims SomeClaims() {
  return {.user = "slurm",
          .issuer = "capstan",
          .id = "7d2f",
          .issued_at = Time(std::chrono::seconds(1'700'000'000)),
          .expires_at = Time(std::chrono::seconds(1'700'000'900))};
}

TEST(SignToken, IsTheTokenSlurmReads) {
  const auto token = SignToken(SomeClaims(), kKey);
  ASSERT_TRUE(token);
  const std::string signed_part =
      Base64Url(R"({"alg":"HS256","typ":"JWT"})") + "." +
      Base64Url(R"({"iss":"capstan","iat":1700000000,"nbf":1700000000,"exp":1700000900,"jti":"7d2f","sun":"slurm"})");
  EXPECT_EQ(token->Reveal(), signed_part + "." + Base64Url(HmacSha256(kKey.Reveal(), signed_part)));
}

TEST(SignToken, NobodyIsTheUserOfATokenWithoutOne) {
  TokenClaims claims = SomeClaims();
  claims.user = "";
  EXPECT_EQ(ReadToken(*SignToken(claims, kKey), kKey)->user, "nobody");
}

TEST(SignToken, KeepsExpiryWithinWhatSlurmCanRead) {
  TokenClaims claims = SomeClaims();
  claims.expires_at = Time(std::chrono::seconds(5'000'000'000));
  EXPECT_EQ(UnixSeconds(ReadToken(*SignToken(claims, kKey), kKey)->expires_at), 2147483646);
}

TEST(SignToken, RefusesAnEmptyKeyAndATokenThatIsNeverValid) {
  EXPECT_EQ(SignToken(SomeClaims(), Secret()).error().code(), Code::kInvalid);
  TokenClaims claims = SomeClaims();
  claims.expires_at = claims.issued_at;
  EXPECT_EQ(SignToken(claims, kKey).error().code(), Code::kInvalid);
}

TEST(ReadToken, GivesBackWhatWasSigned) {
  TokenClaims claims = SomeClaims();
  claims.user = "a \"quoted\" user";
  EXPECT_EQ(ReadToken(*SignToken(claims, kKey), kKey), Result<TokenClaims>(claims));
}

TEST(ReadToken, NoticesAnotherKeyAndEveryAlteredByte) {
  const Secret token = *SignToken(SomeClaims(), kKey);
  EXPECT_EQ(ReadToken(token, Secret("another")).error().code(), Code::kUnauthenticated);
  for (size_t i = 0; i < token.Reveal().size(); ++i) {
    std::string altered(token.Reveal());
    altered[i] = altered[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(ReadToken(Secret(altered), kKey)) << "byte " << i;
  }
}

TEST(ReadToken, RefusesWhatIsNoTokenWithoutQuotingIt) {
  const std::string none = Base64Url(R"({"alg":"none"})") + "." + Base64Url(R"({"sun":"root","iat":1,"exp":2})") + ".";
  for (const std::string& text : {std::string(), std::string("a.b"), std::string("sesame.sesame.sesame"), none}) {
    const auto claims = ReadToken(Secret(text), kKey);
    ASSERT_FALSE(claims) << text;
    EXPECT_EQ(claims.error().code(), Code::kInvalid);
    EXPECT_THAT(claims.error().message(), ::testing::Not(::testing::HasSubstr("sesame")));
  }
}

TEST(ReadToken, TimesAreFrom1970OnAndAsLateAsATimeCanBe) {
  const auto read = [](const std::string& times) {
    const std::string text = Base64Url(R"({"alg":"HS256"})") + "." + Base64Url(R"({"sun":"slurm",)" + times + "}");
    return ReadToken(Secret(text + "." + Base64Url(HmacSha256(kKey.Reveal(), text))), kKey);
  };
  for (const char* times : {R"("iat":-9223372036854775808,"exp":1)", R"("iat":1,"exp":-1)"})
    EXPECT_THAT(read(times).error().message(), ::testing::HasSubstr("before 1970")) << times;
  const auto late = read(R"("iat":0,"exp":9223372036854775807)");
  ASSERT_TRUE(late);
  EXPECT_GT(late->expires_at, kLatestExpiry);
}

TEST(Rs256, ATokenNamesItsKeyWhoseOtherHalfTheJwksFileHas) {
  const RsaKey key{.id = "site \"1\"", .pem = capstan::testing::NewRsaKey()};
  const auto token = SignToken(SomeClaims(), key);
  ASSERT_TRUE(token) << token.error().message();
  const auto parts = Split(token->Reveal(), '.');
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0], Base64Url(R"({"alg":"RS256","typ":"JWT","kid":"site \"1\""})"));
  EXPECT_EQ(parts[2], Base64Url(*SignRsaSha256(key.pem, std::string(parts[0]) + "." + std::string(parts[1]))));
  const auto half = RsaPublicKeyOf(key.pem);
  const auto jwks = Jwks(std::vector{key});
  ASSERT_TRUE(half && jwks);
  EXPECT_EQ(*jwks, R"({"keys":[{"alg":"RS256","kty":"RSA","use":"sig","kid":"site \"1\"","e":"AQAB","n":")" +
                       Base64Url(half->modulus) + "\"}]}");
  EXPECT_FALSE(ReadToken(*token, kKey)) << "another algorithm is not taken for ours";
}

TEST(Rs256, RefusesAKeyThatSignsNothingWithoutQuotingIt) {
  const Secret pem = capstan::testing::NewRsaKey();
  EXPECT_EQ(SignToken(SomeClaims(), RsaKey{.id = "", .pem = pem}).error().code(), Code::kInvalid);
  for (const std::string& wrong :
       {std::string("sesame"), std::string(), std::string(pem.Reveal().substr(0, 400)), std::string(100'000, 'x')}) {
    const auto token = SignToken(SomeClaims(), RsaKey{.id = "1", .pem = Secret(wrong)});
    ASSERT_FALSE(token);
    EXPECT_EQ(token.error().code(), Code::kInvalid);
    EXPECT_THAT(token.error().message(), ::testing::Not(::testing::HasSubstr("sesame")));
    EXPECT_FALSE(Jwks(std::vector{RsaKey{.id = "1", .pem = Secret(wrong)}}));
  }
  EXPECT_FALSE(Jwks(std::vector{RsaKey{.id = "", .pem = pem}}));
  EXPECT_FALSE(Jwks(std::vector{RsaKey{.id = "1", .pem = pem}, RsaKey{.id = "1", .pem = pem}}));
}

}  // namespace
}  // namespace capstan::slurm
