#include "kube/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "kube/auth.h"
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
    const Result<Secret> token = net::testing::RunTask(loop_, config.credentials->BearerToken(loop_.After(1s)));
    if (!token) return Fail(token.error());
    return std::string(token->Reveal());
  }

  std::string folder_;
  async::RealLoop loop_;
};

std::string Kubeconfig(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: here\n"
         "contexts: [{name: other, context: {cluster: x}}, {name: here, context: {cluster: c, user: u, "
         "namespace: slurm}}]\n"
         "clusters: [{name: c, cluster: {" +
         cluster + "}}]\nusers: [{name: u, user: {" + user + "}}]\n";
}

TEST_F(ConfigTest, ReadsInlineMaterial) {
  const net::testing::Authority authority;
  const net::testing::KeyPair pair = authority.Issue({});
  const Result<Config> config = Load(Kubeconfig(
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

TEST_F(ConfigTest, FilesAreSeenFromTheConfigsFolder) {
  Write("pki/ca.crt", "CA");
  Write("pki/me.crt", "CERT");
  Write("pki/me.key", "KEY");
  const Result<Config> config =
      Load(Kubeconfig("server: https://h, certificate-authority: pki/ca.crt",
                      "client-certificate: pki/me.crt, client-key: " + folder_ + "/pki/me.key"));
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ((*config->credentials->Tls())->ca_pem, "CA");
  EXPECT_EQ((*config->credentials->Tls())->key_pem.Reveal(), "KEY");
}

TEST_F(ConfigTest, RotatedFilesAreReadAnew) {
  Write("ca.crt", "old CA");
  Write("token", "old\n");
  const Result<Config> config =
      Load(Kubeconfig("server: https://h, certificate-authority: ca.crt", "tokenFile: token, token: unused"));
  ASSERT_TRUE(config) << config.error().message();
  const auto before = *config->credentials->Tls();
  EXPECT_EQ(Token(*config), "old");
  EXPECT_FALSE(config->credentials->Rejected()) << "nothing new to offer";
  Replace("ca.crt", "new CA");
  Replace("token", "new\n");
  EXPECT_TRUE(config->credentials->Rejected());
  EXPECT_EQ(Token(*config), "new");
  EXPECT_EQ(before->ca_pem, "old CA");
  EXPECT_EQ((*config->credentials->Tls())->ca_pem, "new CA");
}

TEST_F(ConfigTest, AFileThatVanishesLeavesTheOldTextInForce) {
  Write("token", "tok");
  const Result<Config> config = Load(Kubeconfig("server: https://h", "tokenFile: token"));
  ASSERT_TRUE(config);
  std::filesystem::remove(folder_ + "/token");
  EXPECT_EQ(Token(*config), "tok");
  Replace("token", "back");
  EXPECT_EQ(Token(*config), "back");
}

TEST_F(ConfigTest, ErrorsNameFileAndField) {
  const std::string good = "server: https://h";
  const struct {
    std::string text, expected;
  } cases[] = {
      {"a: [", "config: not YAML: line "},
      {"[]", "config: is not a kubeconfig"},
      {"", "the file is empty"},
      {"{}", "config: current-context: is missing"},
      {"current-context: nope", "config: contexts: has no entry named \"nope\""},
      {"{current-context: a, contexts: 3}", "config: contexts: must be a list"},
      {"{current-context: a, contexts: [{name: a}]}", "config: contexts[a].context: is missing"},
      {"{current-context: a, contexts: [{name: a, context: {user: u}}]}",
       "config: contexts[a].context.cluster: is missing"},
      {Kubeconfig("x: y", ""), "config: clusters[c].cluster.server: is missing"},
      {Kubeconfig("server: [1]", ""), "config: clusters[c].cluster.server: must be text"},
      {Kubeconfig("server: 'h:6443'", ""),
       "config: clusters[c].cluster.server: the address \"h:6443\": must begin with"},
      {Kubeconfig(good + ", insecure-skip-tls-verify: true", ""),
       "config: clusters[c].cluster.insecure-skip-tls-verify: "},
      {Kubeconfig(good + ", proxy-url: 'http://p'", ""),
       "config: clusters[c].cluster.proxy-url: proxies are not supported yet"},
      {Kubeconfig(good + ", certificate-authority-data: '!'", ""),
       "config: clusters[c].cluster.certificate-authority-data: not base64"},
      {Kubeconfig(good + ", certificate-authority: nope.crt", ""),
       "certificate-authority: reading " + folder_ + "/nope.crt: No such file"},
      {Kubeconfig(good, "exec: {command: aws}"), "config: users[u].user.exec: exec plugins are not supported yet"},
      {Kubeconfig(good, "username: admin"), "config: users[u].user.username: passwords are not supported"},
      {Kubeconfig(good, "as: admin"), "config: users[u].user.as: impersonation is not supported yet"},
      {Kubeconfig(good, "client-certificate-data: QQ=="), "config: users[u].user.client-key: is missing"},
      {Kubeconfig(good, "client-key-data: QQ=="), "config: users[u].user.client-certificate: is missing"},
      {Kubeconfig(good, "tokenFile: nope"), "config: users[u].user.tokenFile: reading " + folder_ + "/nope"},
  };
  for (const auto& c : cases) {
    const Result<Config> config = Load(c.text);
    ASSERT_FALSE(config) << c.text;
    EXPECT_EQ(config.error().code(), Code::kInvalid);
    EXPECT_THAT(config.error().message(), HasSubstr(c.expected)) << c.text;
  }
}

TEST_F(ConfigTest, ErrorsDoNotQuoteSecrets) {
  const Result<Config> config =
      Load(Kubeconfig("server: https://h", "client-key-data: '!hunter2!', client-certificate-data: QQ=="));
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().message().find("hunter2"), std::string::npos);
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
  Write("sa/ca.crt", "CA");
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

TEST_F(ConfigTest, AnEmptyTokenIsNotAnAnonymousUser) {
  Write("token", "\n");
  const Result<Config> config = Load(Kubeconfig("server: https://h", "tokenFile: token"));
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().message(), HasSubstr("the token is empty"));
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
  const std::string text = Kubeconfig("server: https://from-home", "");
  Write(".kube/config", text);
  const std::string listed = Write("listed", Kubeconfig("server: https://from-variable", ""));
  const std::string named = Write("named", Kubeconfig("server: https://from-option", ""));
  const Variable home("HOME", folder_), service("KUBERNETES_SERVICE_HOST", "");
  {
    const Variable kubeconfig("KUBECONFIG", folder_ + "/missing:" + listed);
    EXPECT_EQ(LoadConfig()->server.host, "from-variable");
    EXPECT_EQ(LoadConfig({.kubeconfig = named})->server.host, "from-option");
  }
  const Variable kubeconfig("KUBECONFIG", "");
  EXPECT_EQ(LoadConfig()->server.host, "from-home");
  const Variable nowhere("HOME", folder_ + "/nowhere");
  const Result<Config> none = LoadConfig();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), Code::kNotFound);
}

}  // namespace
}  // namespace capstan::kube
