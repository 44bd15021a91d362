#include "operator/render/ssh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/testing/golden.h"

namespace capstan::op::render {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

// test/slurm/people_test.py asks sshd what it makes of these.
TEST(SshdConfig, IsPinned) {
  constexpr std::string_view kOwn = "Subsystem sftp internal-sftp\n";
  test::ExpectGolden("render", "sshd_config-default", SshdConfig(kOwn, "", false));
  test::ExpectGolden("render", "sshd_config-passwords", SshdConfig(kOwn, "PasswordAuthentication yes", true));
  test::ExpectGolden("render", "sshd_config-match",
                     SshdConfig(kOwn, "MaxAuthTries 2\n\n  MATCH User ada\n  PasswordAuthentication yes\n", false));
  test::ExpectGolden("render", "sshd_config-methods",
                     SshdConfig(kOwn,
                                "Match User ada\n  AuthenticationMethods publickey,keyboard-interactive\n"
                                "  KbdInteractiveAuthentication yes\n",
                                false));
}

// Else they would hold for one user alone, and the options of all others be sshd's own.
TEST(SshdConfig, DefaultsStandBeforeTheFirstMatch) {
  for (const char* match :
       {"Match all", "match user a", "\tMatch\tUser a", "Match=User a", "Match\"all\"", "\"Match\" User a"}) {
    const std::string text = SshdConfig("", std::string("X no\n") + match + "\nY no\n", false);
    EXPECT_THAT(text, HasSubstr("### EXTRA CONFIG ###\nX no\n\n#\n### DEFAULTS ###\n")) << match;
    EXPECT_THAT(text, EndsWith(std::string(match) + "\nY no\n\n"));
  }
  for (const char* none : {"# Match all", "Matches all", "match", "ForceCommand Match x"})
    EXPECT_THAT(SshdConfig("", none, false), EndsWith("/no-penalties.conf\n")) << none;
}

// sshd ends when AuthenticationMethods of all asks for what is turned off; what a block asks for some is allowed to nobody else.
TEST(SshdConfig, WhatASiteAsksForIsNotRefused) {
  const auto refused = [](const std::string& extra) {
    const std::string text = SshdConfig("", extra, false);
    return std::pair(text.contains("PasswordAuthentication no"), text.contains("KbdInteractiveAuthentication no"));
  };
  EXPECT_EQ(refused("AuthenticationMethods publickey,password"), std::pair(false, true));
  EXPECT_EQ(refused("authenticationmethods publickey,keyboard-interactive:pam"), std::pair(true, false));
  for (const char* word : {"password", "keyboard-interactive"}) {
    const std::string block = "Match User a\n  AuthenticationMethods publickey," + std::string(word);
    EXPECT_EQ(refused(block), std::pair(true, true));
  }
  for (const char* keys :
       {"# password\nAuthenticationMethods publickey", "AuthenticationMethods publickey # no password",
        "AuthenticationMethods publickey\nAuthenticationMethods password"})
    EXPECT_EQ(refused(keys), std::pair(true, true)) << keys;
}

}  // namespace
}  // namespace capstan::op::render
