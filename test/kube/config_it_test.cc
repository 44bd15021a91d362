// Configuration and credentials against a real API server: whom it takes us for, and that it goes on doing so
// while files, certificates and CAs are replaced under a running client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "apiserver.h"
#include "async/timer.h"
#include "base/text.h"
#include "kube/config/config.h"
#include "net/client.h"
#include "net/testing/connect_proxy.h"
#include "net/testing/run.h"
#include "source_dir.h"

namespace capstan::kube {
namespace {

using net::testing::RunTask;
using ::testing::AllOf;
using testing::Apiserver;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RealApiserver;

// A folder of its own for each test, with kubeconfigs for the real server in it.
class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() {
    static int count = 0;
    folder_ = Apiserver().folder() + "/config-" + std::to_string(++count);
    std::filesystem::create_directory(folder_);
  }

  // As the kubelet does: a new file takes the name of the old one.
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path + ".new", std::ios::binary) << text;
    std::filesystem::rename(path + ".new", path);
    return path;
  }
  static net::TlsMaterial MaterialOf(const Config& config) { return **config.credentials->Tls(); }

  // A client as its user would make it: from nothing but the kubeconfig.
  std::unique_ptr<net::HttpClient> Client(const std::string& user, const std::string& cluster = "",
                                          const net::Endpoint& server = Apiserver().endpoint()) {
    Write("ca.crt", MaterialOf(Apiserver().Admin()).ca_pem);
    return ClientWithCa("ca.crt", user, cluster, server);
  }
  std::unique_ptr<net::HttpClient> ClientWithCa(const std::string& ca, const std::string& user,
                                                const std::string& cluster, const net::Endpoint& server) {
    const std::string path =
        Write("kubeconfig",
              "current-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nclusters: [{name: c, "
              "cluster: {server: '" +
                  server.ToString() + "', certificate-authority: " + ca + cluster + "}}]\nusers: [{name: u, user: {" +
                  user + "}}]\n");
    const Result<Config> config = LoadConfig({.kubeconfig = path});
    EXPECT_TRUE(config) << config.error().message();
    if (!config) return nullptr;
    return std::make_unique<net::HttpClient>(
        loop_, net::HttpClient::Options{.server = config->server, .credentials = config->credentials});
  }

  // Whom the server takes us for, in its own JSON; else what went wrong.
  std::string WhoAmI(net::HttpClient& client) {
    net::Request request{.method = "POST",
                         .target = "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                         .headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}},
                         .body = R"({"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"})"};
    const Result<net::Response> response = RunTask(loop_, client.Send(std::move(request), loop_.After(20s)));
    return response ? response->body : response.error().message();
  }
  static std::string User(const std::string& name) { return "\"username\":\"" + name + "\""; }

  void WriteIdentity(const std::string& name) {
    const net::TlsMaterial material = MaterialOf(Apiserver().User(name));
    Write("me.crt", material.certificate_pem);
    Write("me.key", std::string(material.key_pem.Reveal()));
  }

  std::string folder_;
  async::RealLoop loop_;
};

TEST_F(ConfigTest, AClientCertificateThatRotatesIsFollowed) {
  WriteIdentity("one");
  const auto client = Client("client-certificate: me.crt, client-key: me.key");
  ASSERT_TRUE(client);
  EXPECT_THAT(WhoAmI(*client), HasSubstr(User("one")));
  const net::TlsMaterial next = MaterialOf(Apiserver().User("two"));
  Write("me.crt", next.certificate_pem);
  EXPECT_THAT(WhoAmI(*client), HasSubstr(User("one"))) << "the new certificate beside the old key";
  Write("me.key", std::string(next.key_pem.Reveal()));
  EXPECT_THAT(WhoAmI(*client), HasSubstr(User("two"))) << "not on the connection that is the other one's";
}

// The whole way: both CAs in the bundle, the server's new certificate, the old CA out of the bundle.
TEST_F(ConfigTest, ACaThatRotatesIsFollowed) {
  auto started = RealApiserver::Start({.tools = capstan::testing::SourceDir() + "/build/tools"});
  ASSERT_TRUE(started) << started.error().message();
  RealApiserver& server = **started;
  const net::testing::Authority next("the next CA");
  const std::string old_ca = MaterialOf(server.Admin()).ca_pem;
  const std::string token = std::string("token: ") + RealApiserver::kKnownToken;
  const std::string me = User("token-user");

  Write("rotating.crt", old_ca);
  Write("next.crt", next.certificate_pem());
  const auto client = ClientWithCa("rotating.crt", token, "", server.endpoint());
  const auto new_only = ClientWithCa("next.crt", token, "", server.endpoint());
  EXPECT_THAT(WhoAmI(*client), HasSubstr(me));
  EXPECT_THAT(WhoAmI(*new_only), HasSubstr("signed by none of the CAs we trust"));

  Write("rotating.crt", next.certificate_pem());
  EXPECT_THAT(WhoAmI(*client), HasSubstr("signed by none of the CAs we trust"))
      << "a connection made under the old CA is not used any more";
  Write("rotating.crt", old_ca + next.certificate_pem());
  EXPECT_THAT(WhoAmI(*client), HasSubstr(me));
  EXPECT_EQ(client->dialled(), 2u);

  const net::testing::KeyPair serving = next.Issue({.common_name = "kube-apiserver"});
  std::ofstream(server.folder() + "/serving.crt") << serving.certificate_pem;
  std::ofstream(server.folder() + "/serving.key") << serving.key_pem;
  const async::Deadline limit = loop_.After(90s);  // the server looks at its files once a minute at least
  while (WhoAmI(*new_only).find(me) == std::string::npos && !limit.Passed(loop_.Now())) usleep(50'000);
  EXPECT_THAT(WhoAmI(*new_only), HasSubstr(me));

  EXPECT_THAT(WhoAmI(*client), HasSubstr(me)) << "its connection is still good";
  Write("rotating.crt", next.certificate_pem());
  EXPECT_THAT(WhoAmI(*client), HasSubstr(me));
  EXPECT_EQ(client->dialled(), 3u);
}

TEST_F(ConfigTest, AnExecPluginGivesACertificate) {
  const net::TlsMaterial material = MaterialOf(Apiserver().User("plugged"));
  Write("answer", R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{)"
                  R"("clientCertificateData":)" +
                      JsonQuoted(material.certificate_pem) + R"(,"clientKeyData":)" +
                      JsonQuoted(material.key_pem.Reveal()) + "}}");
  const std::string plugin = Write("plugin",
                                   "#!/bin/sh\ncase $KUBERNETES_EXEC_INFO in\n*'\"server\":\"'$SERVER'\"'*) ;;\n"
                                   "*) echo \"not told of the server\" >&2; exit 1;;\nesac\ncat \"$1\"\n");
  chmod(plugin.c_str(), 0700);
  const auto client = Client(
      "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: "
      "./plugin, args: [" +
      folder_ + "/answer], provideClusterInfo: true, env: [{name: SERVER, value: '" +
      Apiserver().endpoint().ToString() + "'}]}");
  ASSERT_TRUE(client);
  EXPECT_THAT(WhoAmI(*client), HasSubstr(User("plugged")));
  EXPECT_THAT(WhoAmI(*client), HasSubstr(User("plugged")));
  EXPECT_EQ(client->dialled(), 1u);
}

TEST_F(ConfigTest, AnExecPluginGivesAToken) {
  const auto client = Client(std::string("exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: sh, args: "
                                         "[-c, 'echo \"$ANSWER\"'], env: [{name: ANSWER, value: "
                                         "'{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/"
                                         "v1beta1\",\"status\":{\"token\":\"") +
                             RealApiserver::kKnownToken + "\"}}'}]}");
  ASSERT_TRUE(client);
  EXPECT_THAT(WhoAmI(*client), HasSubstr(User("token-user")));
}

TEST_F(ConfigTest, AConnectProxyIsPassedThrough) {
  net::testing::ConnectProxy proxy;
  WriteIdentity("traveller");
  const auto client =
      Client("client-certificate: me.crt, client-key: me.key", ", proxy-url: '" + proxy.url("me:hunter2") + "'");
  ASSERT_TRUE(client);
  EXPECT_THAT(WhoAmI(*client), HasSubstr(User("traveller"))) << "our certificate reaches the server itself";
  ASSERT_EQ(proxy.requests().size(), 1u);
  EXPECT_THAT(proxy.requests()[0],
              AllOf(HasSubstr("CONNECT 127.0.0.1:" + std::to_string(Apiserver().endpoint().port)),
                    HasSubstr("Proxy-Authorization: Basic "), Not(HasSubstr("selfsubjectreviews"))));
}

TEST_F(ConfigTest, ImpersonationIsWhomTheServerSees) {
  const net::TlsMaterial admin = MaterialOf(Apiserver().Admin());
  Write("me.crt", admin.certificate_pem);
  Write("me.key", std::string(admin.key_pem.Reveal()));
  const auto client = Client(
      "client-certificate: me.crt, client-key: me.key, as: jane, as-uid: '42', as-groups: [dev, ops], "
      "as-user-extra: {acme.com/x%y: [v1, v2]}");
  ASSERT_TRUE(client);
  const std::string me = WhoAmI(*client);
  EXPECT_THAT(me, HasSubstr(User("jane")));
  EXPECT_THAT(me, HasSubstr(R"("uid":"42")"));
  EXPECT_THAT(me, HasSubstr(R"("groups":["dev","ops","system:authenticated"])"));
  EXPECT_THAT(me, HasSubstr(R"("extra":{"acme.com/x%y":["v1","v2"]})"));
}

}  // namespace
}  // namespace capstan::kube
