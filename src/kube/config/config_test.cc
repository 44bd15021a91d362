#include "kube/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "base/testing/captured_log.h"
#include "kube/config/auth.h"
#include "net/proxy.h"
#include "net/testing/certificates.h"
#include "net/testing/run.h"

namespace capstan::kube {
namespace {

using ::testing::HasSubstr;

// A folder of its own for each test, and the files in it.
class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() {
    char pattern[] = "/tmp/capstan-config-test.XXXXXX";
    folder_ = mkdtemp(pattern);
  }
  ~ConfigTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  // As the kubelet does: a new file takes the name of the old one.
  void Replace(const std::string& name, const std::string& text) {
    Write(name + ".new", text);
    std::filesystem::rename(folder_ + "/" + name + ".new", folder_ + "/" + name);
  }
  Result<Config> Load(const std::string& text) { return ConfigFromFiles({Write("config", text)}); }
  Result<std::string> Token(const Config& config) {
    const Result<Secret> token = net::testing::RunTask(loop_, config.credentials->BearerToken(loop_, loop_.After(10s)));
    if (!token) return Fail(token.error());
    return std::string(token->Reveal());
  }

  std::string folder_;
  async::RealLoop loop_;
  const net::testing::Authority authority_{"the CA"}, next_authority_{"the next CA"};
};

std::string KubeconfigText(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: here\n"
         "contexts: [{name: other, context: {cluster: x}}, {name: here, context: {cluster: c, user: u, "
         "namespace: slurm}}]\n"
         "clusters: [{name: c, cluster: {" +
         cluster + "}}]\nusers: [{name: u, user: {" + user + "}}]\n";
}

TEST_F(ConfigTest, ReadsInlineMaterial) {
  const net::testing::Authority authority;
  const net::testing::KeyPair pair = authority.Issue({});
  const Result<Config> config = Load(KubeconfigText(
      "server: 'https://10.0.0.1:6443', tls-server-name: kubernetes, certificate-authority-data: " +
          Base64(authority.certificate_pem()),
      "client-certificate-data: " + Base64(pair.certificate_pem) + ", client-key-data: " + Base64(pair.key_pem)));
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->server.ToString(), "https://10.0.0.1:6443");
  EXPECT_EQ(config->ns, "slurm");
  EXPECT_EQ(config->source, "context here of " + folder_ + "/config");
  const auto tls = *config->credentials->Tls();
  EXPECT_EQ(tls->ca_pem, authority.certificate_pem());
  EXPECT_EQ(tls->certificate_pem, pair.certificate_pem);
  EXPECT_EQ(tls->key_pem.Reveal(), pair.key_pem);
  EXPECT_EQ(tls->server_name, "kubernetes");
  EXPECT_EQ(*config->credentials->Tls(), tls) << "nothing changed: the same pointer";
  EXPECT_EQ(Token(*config), "");
}

TEST_F(ConfigTest, AFileIsReadWholeButNotWithoutEnd) {
  const std::string comment = "# " + std::string(100'000, 'x') + "\n";
  const Result<Config> whole = Load(comment + KubeconfigText("server: https://h", "token: t") + comment);
  ASSERT_TRUE(whole) << whole.error().message();
  EXPECT_EQ(Token(*whole), "t");
  const Result<Config> endless = Load(std::string(8 << 20, '\n'));
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().message(), folder_ + "/config: the file is larger than 8 MiB");
}

TEST_F(ConfigTest, FilesAreSeenFromTheConfigsFolder) {
  const net::testing::KeyPair pair = authority_.Issue({});
  Write("pki/ca.crt", authority_.certificate_pem());
  Write("pki/me.crt", pair.certificate_pem);
  Write("pki/me.key", pair.key_pem);
  const Result<Config> config =
      Load(KubeconfigText("server: https://h, certificate-authority: pki/ca.crt",
                          "client-certificate: pki/me.crt, client-key: " + folder_ + "/pki/me.key"));
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ((*config->credentials->Tls())->ca_pem, authority_.certificate_pem());
  EXPECT_EQ((*config->credentials->Tls())->key_pem.Reveal(), pair.key_pem);
}

TEST_F(ConfigTest, RotatedFilesAreReadAnew) {
  Write("ca.crt", authority_.certificate_pem());
  Write("token", "old\n");
  const Result<Config> config =
      Load(KubeconfigText("server: https://h, certificate-authority: ca.crt", "tokenFile: token, token: unused"));
  ASSERT_TRUE(config) << config.error().message();
  const auto before = *config->credentials->Tls();
  EXPECT_EQ(Token(*config), "old");
  EXPECT_FALSE(config->credentials->Rejected(Secret("old"), before.get())) << "nothing new to offer";
  EXPECT_TRUE(config->credentials->Rejected(Secret("older"), before.get())) << "another request's time has passed";
  Replace("ca.crt", next_authority_.certificate_pem());
  Replace("token", "new\n");
  EXPECT_TRUE(config->credentials->Rejected(Secret("old"), before.get()));
  EXPECT_EQ(Token(*config), "new");
  EXPECT_EQ(before->ca_pem, authority_.certificate_pem());
  EXPECT_EQ((*config->credentials->Tls())->ca_pem, next_authority_.certificate_pem());
}

// The key as `openssl pkcs8 -topk8` writes it.
std::string Encrypted(const std::string& key_pem) {
  BIO* const reader = BIO_new_mem_buf(key_pem.data(), int(key_pem.size()));
  EVP_PKEY* const key = PEM_read_bio_PrivateKey(reader, nullptr, nullptr, nullptr);
  BIO* const writer = BIO_new(BIO_s_mem());
  EXPECT_EQ(PEM_write_bio_PKCS8PrivateKey(writer, key, EVP_aes_256_cbc(), "password", 8, nullptr, nullptr), 1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(writer, &text);
  std::string encrypted(text, size_t(size));
  BIO_free(writer);
  EVP_PKEY_free(key);
  BIO_free(reader);
  return encrypted;
}

// All of it used to be believed, until the first request failed with a word on "the CA bundle" and none on which.
TEST_F(ConfigTest, WhatCannotBeUsedIsNamedWithFileAndField) {
  const net::testing::KeyPair own = authority_.Issue({}), other = authority_.Issue({});
  const std::string junk = Write("junk", "junk"), ca = Write("ca.crt", authority_.certificate_pem());
  const std::string certificate = Write("me.crt", own.certificate_pem), key = Write("me.key", own.key_pem);
  const std::string foreign = Write("foreign.key", other.key_pem), locked = Write("locked.key", Encrypted(own.key_pem));
  const std::string exec = "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: sh}";
  const struct {
    std::string cluster, user, expected;
  } cases[] = {
      {"certificate-authority: junk", "",
       "clusters[c].cluster.certificate-authority: " + junk + ": the CA bundle holds no certificate in PEM form"},
      {"certificate-authority: junk", exec,
       "clusters[c].cluster.certificate-authority: " + junk + ": the CA bundle holds no certificate in PEM form"},
      {"certificate-authority-data: " + Base64("junk"), "",
       "clusters[c].cluster.certificate-authority-data: the CA bundle holds no certificate in PEM form"},
      {"certificate-authority: ca.crt", "client-certificate: junk, client-key: me.key",
       "users[u].user.client-certificate: " + junk + ": the client certificate is not a certificate in PEM form"},
      {"certificate-authority: ca.crt", "client-certificate: me.crt, client-key: foreign.key",
       "users[u].user.client-key: " + foreign + ": the client key does not belong to the client certificate"},
      {"", "client-certificate: me.crt, client-key: locked.key",
       "users[u].user.client-key: " + locked + ": the client key is not an unencrypted private key in PEM form"},
      {"", "client-certificate: me.crt, client-key-data: " + Base64("junk"),
       "users[u].user.client-key-data: the client key is not an unencrypted private key in PEM form"},
  };
  for (const auto& c : cases) {
    const Result<Config> config = Load(KubeconfigText("server: https://h, " + c.cluster, c.user));
    ASSERT_FALSE(config) << c.expected;
    EXPECT_EQ(config.error().code(), Code::kInvalid);
    EXPECT_EQ(config.error().message(), folder_ + "/config: " + c.expected);
  }
  EXPECT_TRUE(Load(KubeconfigText("server: https://h, certificate-authority: " + ca,
                                  "client-certificate: " + certificate + ", client-key: " + key)));
}

TEST_F(ConfigTest, ARotatedFileThatCannotBeUsedIsNamedAndTheOldTextStaysInForce) {
  const net::testing::KeyPair own = authority_.Issue({}), next = authority_.Issue({});
  Write("me.crt", own.certificate_pem);
  Write("me.key", own.key_pem);
  const Result<Config> config =
      Load(KubeconfigText("server: https://h", "client-certificate: me.crt, client-key: me.key"));
  ASSERT_TRUE(config) << config.error().message();
  const auto before = *config->credentials->Tls();
  capstan::testing::CapturedLog log;
  Replace("me.crt", next.certificate_pem);
  EXPECT_EQ(*config->credentials->Tls(), before);
  EXPECT_THAT(log.Text(),
              HasSubstr("users[u].user.client-key: " + folder_ + "/me.key: the client key does not belong"));
  const size_t said = log.Text().size();
  EXPECT_EQ(*config->credentials->Tls(), before);
  EXPECT_EQ(log.Text().size(), said) << "once for each change, not for each request";
  Replace("me.key", next.key_pem);
  EXPECT_EQ((*config->credentials->Tls())->certificate_pem, next.certificate_pem);
}

TEST_F(ConfigTest, ARotatedCaThatCannotBeUsedIsNamedBesideAnExecPlugin) {
  Write("ca.crt", authority_.certificate_pem());
  const Result<Config> config =
      Load(KubeconfigText("server: https://h, certificate-authority: ca.crt",
                          "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: sh}"));
  ASSERT_TRUE(config) << config.error().message();
  const auto before = *config->credentials->Tls();
  capstan::testing::CapturedLog log;
  Replace("ca.crt", "junk");
  EXPECT_EQ(*config->credentials->Tls(), before);
  EXPECT_THAT(log.Text(),
              HasSubstr("clusters[c].cluster.certificate-authority: " + folder_ + "/ca.crt: the CA bundle"));
  Replace("ca.crt", next_authority_.certificate_pem());
  EXPECT_EQ((*config->credentials->Tls())->ca_pem, next_authority_.certificate_pem());
}

TEST_F(ConfigTest, AFileThatVanishesLeavesTheOldTextInForce) {
  Write("token", "tok");
  const Result<Config> config = Load(KubeconfigText("server: https://h", "tokenFile: token"));
  ASSERT_TRUE(config);
  std::filesystem::remove(folder_ + "/token");
  EXPECT_EQ(Token(*config), "tok");
  Replace("token", "back");
  EXPECT_EQ(Token(*config), "back");
}

TEST_F(ConfigTest, FilesThatCannotBeReadAreNamedWithTheirField) {
  const struct {
    std::string text, expected;
  } cases[] = {
      {"a: [", "config: not YAML: line "},
      {"", "config: the file is empty"},
      {KubeconfigText("server: https://h, certificate-authority: nope.crt", ""),
       "config: clusters[c].cluster.certificate-authority: reading " + folder_ + "/nope.crt: No such file"},
      {KubeconfigText("server: https://h", "tokenFile: nope"),
       "config: users[u].user.tokenFile: reading " + folder_ + "/nope: No such file"},
  };
  for (const auto& c : cases) {
    const Result<Config> config = Load(c.text);
    ASSERT_FALSE(config) << c.text;
    EXPECT_EQ(config.error().code(), Code::kInvalid);
    EXPECT_THAT(config.error().message(), HasSubstr(c.expected)) << c.text;
  }
  EXPECT_THAT(ConfigFromFiles({folder_ + "/nowhere"}).error().message(), HasSubstr("/nowhere: No such file"));
}

TEST_F(ConfigTest, AnEmptyFileIsNotAnAnonymousUserOrATrustInEverybody) {
  const struct {
    std::string cluster, user, field;
  } cases[] = {
      {"certificate-authority: empty", "", "clusters[c].cluster.certificate-authority"},
      {"", "tokenFile: empty", "users[u].user.tokenFile"},
      {"", "client-certificate: empty, client-key: empty", "users[u].user.client-certificate"},
  };
  Write("empty", " \n");
  for (const auto& c : cases) {
    const Result<Config> config = Load(KubeconfigText("server: https://h, " + c.cluster, c.user));
    ASSERT_FALSE(config) << c.field;
    EXPECT_THAT(config.error().message(), HasSubstr(c.field + ": reading " + folder_ + "/empty: the file is empty"));
  }
}

// A CA bundle that is being rewritten is empty for a moment; that once meant the machine's own trust store.
TEST_F(ConfigTest, AFileThatIsEmptyForAMomentLeavesTheOldTextInForce) {
  Write("ca.crt", authority_.certificate_pem());
  Write("token", "tok");
  const Result<Config> config =
      Load(KubeconfigText("server: https://h, certificate-authority: ca.crt", "tokenFile: token"));
  ASSERT_TRUE(config) << config.error().message();
  const auto before = *config->credentials->Tls();
  Write("ca.crt", "");
  Write("token", "\n");
  EXPECT_EQ(*config->credentials->Tls(), before);
  EXPECT_EQ(Token(*config), "tok");
  Write("ca.crt", next_authority_.certificate_pem());
  EXPECT_EQ((*config->credentials->Tls())->ca_pem, next_authority_.certificate_pem());
}

TEST_F(ConfigTest, TheFirstOfSeveralFilesCounts) {
  const std::string first =
      Write("1", "current-context: a\nclusters: [{name: c, cluster: {server: 'https://first'}}]\n");
  const std::string second = Write("2",
                                   "current-context: b\ncontexts: [{name: a, context: {cluster: c}}]\n"
                                   "clusters: [{name: c, cluster: {server: 'https://second'}}]\n");
  const Result<Config> config = ConfigFromFiles({first, second});
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->server.host, "first");
  EXPECT_EQ(config->ns, "default");
}

TEST_F(ConfigTest, AServiceAccountIsWhatAPodIsGiven) {
  Write("sa/token", "tok");
  Write("sa/ca.crt", authority_.certificate_pem());
  Write("sa/namespace", "slinky\n");
  const Result<Config> config = ConfigFromServiceAccount("fd00::1", "443", folder_ + "/sa");
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->server.ToString(), "https://[fd00::1]:443");
  EXPECT_EQ(config->ns, "slinky");
  EXPECT_EQ(Token(*config), "tok");
  std::filesystem::remove(folder_ + "/sa/token");
  const Result<Config> without = ConfigFromServiceAccount("10.0.0.1", "443", folder_ + "/sa");
  ASSERT_FALSE(without);
  EXPECT_THAT(without.error().message(), HasSubstr("the service account's token: reading " + folder_ + "/sa/token"));
}

// Sets an environment variable for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST_F(ConfigTest, LooksWhereOtherProgramsLook) {
  const std::string text = KubeconfigText("server: https://from-home", "");
  Write(".kube/config", text);
  const std::string listed = Write("listed", KubeconfigText("server: https://from-variable", ""));
  const std::string named = Write("named", KubeconfigText("server: https://from-option", ""));
  const Variable home("HOME", folder_), service("KUBERNETES_SERVICE_HOST", "");
  {
    const Variable kubeconfig("KUBECONFIG", folder_ + "/missing:" + listed);
    EXPECT_EQ(LoadConfig()->server.host, "from-variable");
    EXPECT_EQ(LoadConfig({.kubeconfig = named})->server.host, "from-option");
  }
  const Variable kubeconfig("KUBECONFIG", "");
  EXPECT_EQ(LoadConfig()->server.host, "from-home");
  {
    const Variable mistyped("KUBECONFIG", folder_ + "/missing:");
    const Result<Config> other = LoadConfig();
    ASSERT_FALSE(other) << "not the cluster that stands in ~/.kube/config";
    EXPECT_EQ(other.error().code(), Code::kNotFound);
    EXPECT_THAT(other.error().message(), HasSubstr("$KUBECONFIG is \"" + folder_ + "/missing:\""));
  }
  const Variable nowhere("HOME", folder_ + "/nowhere");
  const Result<Config> none = LoadConfig();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), Code::kNotFound);
}

TEST_F(ConfigTest, AProxyIsTheKubeconfigsElseTheEnvironments) {
  const Variable proxy("HTTPS_PROXY", "from-environment:3128"), exceptions("NO_PROXY", "10.96.0.0/16");
  const Result<Config> own = Load(KubeconfigText("server: https://api, proxy-url: 'http://own:8080'", ""));
  ASSERT_TRUE(own) << own.error().message();
  EXPECT_EQ(own->server.proxy->ToString(), "http://own:8080");
  EXPECT_EQ(Load(KubeconfigText("server: https://api", ""))->server.proxy->ToString(), "http://from-environment:3128");
  EXPECT_EQ(Load(KubeconfigText("server: https://10.96.0.1", ""))->server.proxy, nullptr);

  Write("sa/token", "tok");
  Write("sa/ca.crt", authority_.certificate_pem());
  EXPECT_EQ(ConfigFromServiceAccount("10.96.0.1", "443", folder_ + "/sa")->server.proxy, nullptr);
  EXPECT_NE(ConfigFromServiceAccount("10.97.0.1", "443", folder_ + "/sa")->server.proxy, nullptr);

  const Variable wrong("HTTPS_PROXY", "socks5://me:hunter2@from-environment");
  const Result<Config> refused = Load(KubeconfigText("server: https://api", ""));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("$HTTPS_PROXY: SOCKS"));
}

TEST_F(ConfigTest, AnExecPluginMustBeThereFromTheStart) {
  const std::string exec = "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: ";
  const Result<Config> nowhere = Load(
      KubeconfigText("server: https://h", exec + "no-such-plugin-anywhere, installHint: Ask your administrator.}"));
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code(), Code::kInvalid);
  EXPECT_THAT(nowhere.error().message(), HasSubstr("config: users[u].user.exec.command: there is no program "
                                                   "\"no-such-plugin-anywhere\" in $PATH. Ask your administrator."));
}

TEST_F(ConfigTest, AnExecPluginBesideTheKubeconfigIsFoundAndAsked) {
  const std::string plugin = Write("bin/plugin",
                                   "#!/bin/sh\nprintf '{\"kind\":\"ExecCredential\",\"apiVersion\":"
                                   "\"client.authentication.k8s.io/v1\",\"status\":{\"token\":\"%s-%s-%s\"}}' "
                                   "\"$1\" \"$GIVEN\" \"$INHERITED\"\n");
  chmod(plugin.c_str(), 0700);
  const Variable inherited("INHERITED", "inherited");
  const Result<Config> config = Load(KubeconfigText(
      "server: https://h",
      "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: IfAvailable, command: bin/plugin, "
      "args: [argument], env: [{name: GIVEN, value: given}]}"));
  ASSERT_TRUE(config) << config.error().message();
  const Result<std::string> token = Token(*config);
  ASSERT_TRUE(token) << token.error().message();
  EXPECT_EQ(*token, "argument-given-inherited");
}

}  // namespace
}  // namespace capstan::kube
