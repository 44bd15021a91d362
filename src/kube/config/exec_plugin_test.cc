#include "kube/config/exec_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "net/testing/certificates.h"

namespace capstan::kube {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Answer(const std::string& status) {
  return R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":)" + status + "}";
}

TEST(ExecPlugin, ATokenIsRead) {
  const auto credential = ReadExecCredential(
      Answer(R"({"token":"tok","expirationTimestamp":"2026-11-21T10:00:00+01:00","later":1})"), kExecV1);
  ASSERT_TRUE(credential) << credential.error().message();
  EXPECT_EQ(credential->token.Reveal(), "tok");
  EXPECT_EQ(FormatRfc3339(*credential->expires), "2026-11-21T09:00:00Z");
  EXPECT_FALSE(ReadExecCredential(Answer(R"({"token":"tok"})"), kExecV1)->expires);
}

TEST(ExecPlugin, ACertificateEndsWhenItEnds) {
  const net::testing::Authority authority;
  const net::testing::KeyPair pair = authority.Issue({.ends_in = 1h});
  const std::string pems = R"("clientCertificateData":)" + JsonQuoted(pair.certificate_pem) + R"(,"clientKeyData":)" +
                           JsonQuoted(pair.key_pem);
  const auto credential =
      ReadExecCredential(Answer("{" + pems + R"(,"expirationTimestamp":"2200-01-01T00:00:00Z"})"), kExecV1);
  ASSERT_TRUE(credential) << credential.error().message();
  EXPECT_EQ(credential->certificate_pem, pair.certificate_pem);
  EXPECT_EQ(credential->key_pem.Reveal(), pair.key_pem);
  const Duration left = *credential->expires - std::chrono::system_clock::now();
  EXPECT_GT(left, 50min);
  EXPECT_LE(left, 60min);
  const auto earlier =
      ReadExecCredential(Answer("{" + pems + R"(,"expirationTimestamp":"2020-01-01T00:00:00Z"})"), kExecV1);
  EXPECT_EQ(FormatRfc3339(*earlier->expires), "2020-01-01T00:00:00Z");
}

TEST(ExecPlugin, WhatIsWrongWithItsOutputIsSaidAndNotQuoted) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "is not an ExecCredential"},
      {"hunter2", "is not an ExecCredential"},
      {R"({"kind":"Secret","token":"hunter2"})", "kind is another or missing"},
      {R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","status":{"token":"hunter2"}})",
       "answers with apiVersion \"client.authentication.k8s.io/v1beta1\", where the kubeconfig says "
       "client.authentication.k8s.io/v1"},
      {Answer("null"), "has no status"},
      {Answer("{}"), "neither a token nor a client certificate"},
      {Answer(R"({"token":["hunter2"]})"), "is not an ExecCredential"},
      {Answer(R"({"clientCertificateData":"x"})"), "but no clientKeyData"},
      {Answer(R"({"clientKeyData":"hunter2"})"), "but no clientCertificateData"},
      {Answer(R"({"clientCertificateData":"x","clientKeyData":"hunter2"})"), "is not a certificate in PEM form"},
      {Answer(R"({"token":"hunter2","expirationTimestamp":"tomorrow"})"), "expirationTimestamp is not a time"},
  };
  for (const auto& [text, why] : cases) {
    const auto credential = ReadExecCredential(text, kExecV1);
    ASSERT_FALSE(credential) << text;
    EXPECT_EQ(credential.error().code(), Code::kInvalid);
    EXPECT_THAT(credential.error().message(), HasSubstr(why));
    EXPECT_THAT(credential.error().message(), Not(HasSubstr("hunter2")));
  }
}

TEST(ExecPlugin, IsToldNothingOfTheClusterUnlessItAsks) {
  EXPECT_EQ(
      ExecInfo({.api_version = std::string(kExecV1beta1)}, "CA"),
      R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","spec":{"interactive":false}})");
}

ExecPlugin ShellPlugin(const std::string& script) {
  return {.field = "config: users[u].user.exec",
          .api_version = std::string(kExecV1),
          .command = "sh",
          .args = {"-c", script},
          .env = {{"A", "ours"}, {"A", "last"}}};
}

TEST(ExecPlugin, ItsVariablesCountBeforeThoseItInherits) {
  const auto credential =
      RunExecPlugin(ShellPlugin(R"(case $KUBERNETES_EXEC_INFO in *'"interactive":false'*) ;; *) exit 9;; esac
               echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"'$A-$B'"}}')"),
                    {"PATH=/bin", "A=inherited", "B=too", "KUBERNETES_EXEC_INFO=of somebody else"}, "", 20s, -1);
  ASSERT_TRUE(credential) << credential.error().message();
  EXPECT_EQ(credential->token.Reveal(), "last-too");
}

TEST(ExecPlugin, WhyItFailedIsSaidInOneLine) {
  const auto failed = RunExecPlugin(ShellPlugin("echo hunter2; echo trace >&2; echo 'run: acme login' >&2; exit 1"),
                                    {"PATH=/bin"}, "", 20s, -1);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), Code::kUnauthenticated);
  EXPECT_EQ(failed.error().message(), "config: users[u].user.exec: /bin/sh ended with status 1: run: acme login");
  const auto silent = RunExecPlugin(ShellPlugin("exit 7"), {"PATH=/bin"}, "", 20s, -1);
  EXPECT_THAT(silent.error().message(), HasSubstr("ended with status 7 and said nothing"));
  const auto missing = RunExecPlugin(ShellPlugin(""), {"PATH="}, "", 20s, -1);
  EXPECT_EQ(missing.error().code(), Code::kUnauthenticated);
  EXPECT_THAT(missing.error().message(), HasSubstr("there is no program \"sh\" in $PATH"));
}

}  // namespace
}  // namespace capstan::kube
