#include "operator/host_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "operator/ssh_files.h"

namespace capstan::op {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(HostKeys, AreInTheFormatOfOpenSsh) {
  const auto files = MakeHostKeys();
  ASSERT_TRUE(files) << files.error().message();
  ASSERT_EQ(files->size(), kHostKeyFiles.size());
  for (const std::string_view file : kHostKeyFiles) {
    const std::string name(file);
    if (name.ends_with(".pub")) continue;
    const std::string text(files->at(name).Reveal());
    const std::string begin = "-----BEGIN OPENSSH PRIVATE KEY-----\n", end = "-----END OPENSSH PRIVATE KEY-----\n";
    ASSERT_TRUE(text.starts_with(begin) && text.ends_with(end)) << name;
    const auto bytes = FromBase64(text.substr(begin.size(), text.size() - begin.size() - end.size()));
    ASSERT_TRUE(bytes) << name;
    EXPECT_TRUE(bytes->starts_with(std::string("openssh-key-v1\0", 15))) << name;
    const std::string open(files->at(name + ".pub").Reveal());
    const auto blob = FromBase64(open.substr(open.find(' ') + 1));
    ASSERT_TRUE(blob) << name;
    EXPECT_NE(bytes->find(*blob), std::string::npos) << name << " holds another public key than " << name << ".pub";
  }
  EXPECT_NE(files->at("ssh_host_rsa_key"), MakeHostKeys()->at("ssh_host_rsa_key"));
}

std::string Said(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return "no shell";
  std::string said;
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) said.push_back(char(c));
  pclose(pipe);
  return said;
}

TEST(HostKeys, SshKeygenReadsThem) {
  const auto files = MakeHostKeys();
  ASSERT_TRUE(files) << files.error().message();
  const std::map<std::string, std::string> sorts = {
      {"rsa", "3072 SHA256:"}, {"ecdsa", "256 SHA256:"}, {"ed25519", "256 SHA256:"}};
  std::string folder = "/tmp/host-keys-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  for (const auto& [type, bits] : sorts) {
    const std::string name = "ssh_host_" + type + "_key", path = folder + "/" + name;
    std::ofstream(path) << files->at(name).Reveal();
    ASSERT_EQ(chmod(path.c_str(), 0600), 0);
    EXPECT_EQ(Said("ssh-keygen -y -P '' -f " + path), files->at(name + ".pub").Reveal());
    EXPECT_THAT(Said("ssh-keygen -l -f " + path), StartsWith(bits));
  }
  std::filesystem::remove_all(folder);
}

TEST(HostKeys, WhatIsNoHostKeyIsTold) {
  const auto files = MakeHostKeys();
  ASSERT_TRUE(files) << files.error().message();
  const auto file = [&](const std::string& name) { return std::string(files->at(name).Reveal()); };
  for (const std::string_view type : kHostKeyTypes) {
    const std::string name = "ssh_host_" + std::string(type) + "_key";
    EXPECT_EQ(WrongWithHostKey(type, file(name), file(name + ".pub")), "");
    EXPECT_EQ(WrongWithHostKey(type, file(name), file(name + ".pub") + " somebody@there"), "");
  }
  const std::string open = file("ssh_host_rsa_key.pub"), hidden = file("ssh_host_rsa_key");
  EXPECT_EQ(WrongWithHostKey("ed25519", hidden, open),
            "has in \"ssh_host_ed25519_key.pub\" no public key of type ssh-ed25519");
  EXPECT_EQ(WrongWithHostKey("rsa", hidden, ""), "has in \"ssh_host_rsa_key.pub\" no public key of type ssh-rsa");
  EXPECT_EQ(WrongWithHostKey("rsa", open, open),
            "has in \"ssh_host_rsa_key\" no private key (-----BEGIN ... PRIVATE KEY-----)");
  EXPECT_EQ(WrongWithHostKey("rsa", file("ssh_host_ecdsa_key"), open),
            "has in \"ssh_host_rsa_key.pub\" not the public key of \"ssh_host_rsa_key\"");
  EXPECT_EQ(WrongWithHostKey("rsa", hidden.substr(0, 100) + hidden.substr(101), open),
            "has in \"ssh_host_rsa_key\" a private key that is cut off, or changed on its way");
  EXPECT_EQ(WrongWithHostKey("rsa", "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n", open),
            "");
  EXPECT_THAT(WrongWithHostKey("rsa",
                               "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n"
                               "-----END RSA PRIVATE KEY-----\n",
                               open),
              HasSubstr("a private key with a passphrase"));
}

}  // namespace
}  // namespace capstan::op
