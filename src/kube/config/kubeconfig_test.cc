#include "kube/config/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/proxy.h"

namespace capstan::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

Result<Kubeconfig> Read(const std::string& text) { return ReadKubeconfig({{"/dir/config", text}}, ""); }

std::string Text(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: here\npreferences: {colors: true}\n"
         "contexts: [{name: here, context: {cluster: c, user: u, namespace: slurm}}]\n"
         "clusters: [{name: c, cluster: {" +
         cluster + "}}]\nusers: [{name: u, user: {" + user + "}}]\n";
}

std::string Exec(const std::string& more) {
  return "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: plugin" + more + "}";
}

TEST(Kubeconfig, ErrorsNameFileAndField) {
  const std::string good = "server: https://h";
  const struct {
    std::string text, expected;
  } cases[] = {
      {"[]", ": is not a kubeconfig"},
      {"", ": the file is empty"},
      {"{}", ": current-context: is missing"},
      {"current-context: [x]", ": current-context: must be text"},
      {"current-context: nope", ": contexts: has no entry named \"nope\""},
      {"{current-context: a, contexts: 3}", ": contexts: must be a list"},
      {"{current-context: a, contexts: [3]}", ": contexts[0]: must be a map"},
      {"{current-context: a, contexts: [{name: a}]}", ": contexts[a].context: is missing"},
      {"{current-context: a, contexts: [{name: a, context: {user: u}}]}", ": contexts[a].context.cluster: is missing"},
      {"{current-context: a, contexts: [{name: a, context: {}}, {name: a, context: {}}]}",
       ": contexts[a]: is there twice in this file"},
      {Text("x: y", ""), ": clusters[c].cluster.server: is missing"},
      {Text("server: [1]", ""), ": clusters[c].cluster.server: must be text"},
      {Text("server: 'h:6443'", ""), ": clusters[c].cluster.server: the address \"h:6443\": must begin with"},
      {Text(good + ", insecure-skip-tls-verify: true", ""), ": clusters[c].cluster.insecure-skip-tls-verify: the"},
      {Text(good + ", insecure-skip-tls-verify: 'yes'", ""), ": clusters[c].cluster.insecure-skip-tls-verify: the"},
      {Text(good + ", insecure-skip-tls-verify: perhaps", ""),
       ": clusters[c].cluster.insecure-skip-tls-verify: must be true or false"},
      {Text(good + ", proxy-url: 'socks5://p'", ""),
       ": clusters[c].cluster.proxy-url: SOCKS proxies are not supported"},
      {Text("server: http://h, proxy-url: 'http://p'", ""),
       ": clusters[c].cluster.proxy-url: a proxy is used for https:// servers only"},
      {Text(good + ", certificate-authority-data: '!'", ""),
       ": clusters[c].cluster.certificate-authority-data: not base64"},
      // A NUL in it would once have switched the check of the name off.
      {Text(good + ", tls-server-name: \"a\\0b\"", ""),
       ": clusters[c].cluster.tls-server-name: must be a host name or an address"},
      {Text(good + ", tls-server-name: .example", ""), ": clusters[c].cluster.tls-server-name: must be a host name"},
      {Text(good, "username: admin"), ": users[u].user.username: passwords are not supported"},
      {Text(good, "password: hunter2"), ": users[u].user.password: passwords are not supported"},
      {Text(good, "auth-provider: {name: gcp}"),
       ": users[u].user.auth-provider: the auth-provider \"gcp\" is not supported; use the exec plugin gke-gcloud"},
      {Text(good, "auth-provider: {name: oidc}"), "use an exec plugin for OpenID Connect"},
      {Text(good, "auth-provider: gcp"), ": users[u].user.auth-provider: is missing"},
      {Text(good, "client-certificate-data: QQ=="), ": users[u].user.client-key: is missing"},
      {Text(good, "client-key-data: QQ=="), ": users[u].user.client-certificate: is missing"},
      {Text(good, "as-groups: [a]"), ": users[u].user.as: is missing, but as-groups is given"},
      {Text(good, "as-user-extra: {a: [b]}"), ": users[u].user.as: is missing, but as-user-extra is given"},
      {Text(good, "as: a, as-groups: b"), ": users[u].user.as-groups: must be a list of texts"},
      {Text(good, "as: a, as-user-extra: {a: b}"), ": users[u].user.as-user-extra: must be a map of lists of texts"},
      {Text(good, "as: \"a\\nImpersonate-Group: system:masters\""), ": users[u].user.as: must be one line each"},
      {Text(good, "exec: {command: aws}"),
       ": users[u].user.exec.apiVersion: must be client.authentication.k8s.io/v1 or"},
      {Text(good, "exec: {command: aws, apiVersion: client.authentication.k8s.io/v1alpha1}"),
       ".exec.apiVersion: must be"},
      {Text(good, "exec: {command: aws, apiVersion: client.authentication.k8s.io/v1}"),
       ": users[u].user.exec.interactiveMode: must be Never or IfAvailable"},
      {Text(good, "exec: {command: aws, apiVersion: client.authentication.k8s.io/v1beta1, interactiveMode: Always}"),
       ": users[u].user.exec.interactiveMode: is Always, and there is no terminal"},
      {Text(good, "exec: {apiVersion: client.authentication.k8s.io/v1beta1}"), ".exec.command: is missing"},
      {Text(good, Exec(", args: x")), ".exec.args: must be a list of texts"},
      {Text(good, Exec(", env: [{value: x}]")), ".exec.env: every variable needs a name"},
      {Text(good, Exec(", provideClusterInfo: 7")), ".exec.provideClusterInfo: must be true or false"},
  };
  for (const auto& c : cases) {
    const Result<Kubeconfig> config = Read(c.text);
    ASSERT_FALSE(config) << c.text;
    EXPECT_EQ(config.error().code(), Code::kInvalid);
    EXPECT_THAT(config.error().message(), ::testing::StartsWith("/dir/config: ")) << c.text;
    EXPECT_THAT(config.error().message(), HasSubstr(c.expected)) << c.text;
  }
}

TEST(Kubeconfig, ErrorsDoNotQuoteSecrets) {
  for (const std::string user :
       {"client-key-data: '!hunter2!', client-certificate-data: QQ==", "password: hunter2", "token: [hunter2]"}) {
    const Result<Kubeconfig> config = Read(Text("server: https://h", user));
    ASSERT_FALSE(config);
    EXPECT_THAT(config.error().message(), Not(HasSubstr("hunter2")));
  }
  const Result<Kubeconfig> config = Read(Text("server: https://h, proxy-url: 'http://me:hunter2@p/x'", ""));
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().message(), Not(HasSubstr("hunter2")));
}

TEST(Kubeconfig, UnknownAndEmptyFieldsArePassedOver) {
  const Result<Kubeconfig> config = Read(Text(
      "server: https://h, disable-compression: true, insecure-skip-tls-verify: false, proxy-url: '', later: {a: [1]}",
      "username: '', password: '', token: '', as: '', exec: null, auth-provider: null, later: 1"));
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_FALSE(config->sources.token.given());
  EXPECT_FALSE(config->sources.exec);
  EXPECT_EQ(config->server.proxy, nullptr);
  EXPECT_EQ(config->ns, "slurm");
}

TEST(Kubeconfig, OfTwoEntriesOfOneNameTheFirstFilesCountsAllOfIt) {
  const std::vector<KubeconfigFile> files = {
      {"1", "current-context: a\nusers: [{name: u, user: {token: first}}]\n"},
      {"2", ""},
      {"3",
       "current-context: b\ncontexts: [{name: a, context: {cluster: c, user: u}}, {name: b, context: {cluster: c}}]\n"
       "clusters: [{name: c, cluster: {server: 'https://h'}}]\nusers: [{name: u, user: {token: third, as: root}}]\n"},
  };
  const Result<Kubeconfig> config = ReadKubeconfig(files, "");
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->source, "context a of 3");
  EXPECT_EQ(config->sources.token.field(), "1: users[u].user.token");
  EXPECT_TRUE(config->sources.impersonation.empty()) << "nothing of the later file's entry";
  EXPECT_EQ(ReadKubeconfig(files, "b")->source, "context b of 3");
}

TEST(Kubeconfig, ImpersonationIsTheHeadersThatTheServerKnows) {
  const Result<Kubeconfig> config =
      Read(Text("server: https://h",
                "as: jane, as-uid: '42', as-groups: [dev, ops], as-user-extra: {acme.com/x%: [1, 2], ümlaut: [z]}"));
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_THAT(
      config->sources.impersonation,
      ElementsAre(Pair("Impersonate-User", "jane"), Pair("Impersonate-Uid", "42"), Pair("Impersonate-Group", "dev"),
                  Pair("Impersonate-Group", "ops"), Pair("Impersonate-Extra-acme.com%2Fx%25", "1"),
                  Pair("Impersonate-Extra-acme.com%2Fx%25", "2"), Pair("Impersonate-Extra-%C3%BCmlaut", "z")));
}

TEST(Kubeconfig, AnExecPluginIsReadWhole) {
  const Result<Kubeconfig> config = Read(
      Text("server: 'https://h:6443', tls-server-name: api, proxy-url: 'http://p:1', disable-compression: true, "
           "extensions: [{name: other, extension: 1}, {name: client.authentication.k8s.io/exec, extension: {audience: "
           "06e3, n: 7, q: '7', list: [true, null]}}]",
           Exec(", args: [get, '1'], env: [{name: A, value: b}], provideClusterInfo: true, installHint: Install it.")));
  ASSERT_TRUE(config) << config.error().message();
  ASSERT_TRUE(config->sources.exec);
  const ExecPlugin& plugin = *config->sources.exec;
  EXPECT_EQ(plugin.field, "/dir/config: users[u].user.exec");
  EXPECT_EQ(plugin.command, "plugin") << "to be found in $PATH";
  EXPECT_THAT(plugin.args, ElementsAre("get", "1"));
  EXPECT_THAT(plugin.env, ElementsAre(Pair("A", "b")));
  EXPECT_EQ(plugin.install_hint, "Install it.");
  EXPECT_EQ(ExecInfo(plugin, "CA"),
            R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"interactive":false,)"
            R"("cluster":{"server":"https://h:6443","tls-server-name":"api","certificate-authority-data":"Q0E=",)"
            R"("proxy-url":"http://p:1","disable-compression":true,)"
            R"("config":{"audience":"06e3","n":7,"q":"7","list":[true,null]}}}})");
}

TEST(Kubeconfig, AnExecPluginsCommandIsSeenFromTheFilesFolder) {
  for (const auto& [command, path] : {std::pair{"./bin/plugin", "/dir/./bin/plugin"},
                                      {"bin/plugin", "/dir/bin/plugin"},
                                      {"/usr/bin/plugin", "/usr/bin/plugin"},
                                      {"plugin", "plugin"}}) {
    const auto config =
        Read(Text("server: https://h",
                  "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: " + std::string(command) + "}"));
    ASSERT_TRUE(config) << config.error().message();
    EXPECT_EQ(config->sources.exec->command, path);
  }
}

TEST(Kubeconfig, ATokenOrACertificateBesideAPluginCountsAsInKubectl) {
  for (const std::string own : {"token: t", "tokenFile: t", "client-certificate: c, client-key: k"}) {
    const auto config = Read(Text("server: https://h", own + ", " + Exec("")));
    ASSERT_TRUE(config) << config.error().message();
    EXPECT_FALSE(config->sources.exec) << own;
  }
}

// An alias that names itself, or names much many times, is a small file and an endless tree.
TEST(Kubeconfig, ClusterSettingsWithoutEndAreRefused) {
  std::string bomb = "a: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 1; j < 10; ++j) bomb += ", " + before;
    bomb += "]\n";
  }
  for (const std::string& extension : {std::string("&me [*me]"), std::string("*a8")}) {
    const auto config = Read(
        bomb +
        Text("server: https://h, extensions: [{name: client.authentication.k8s.io/exec, extension: " + extension + "}]",
             Exec(", provideClusterInfo: true")));
    ASSERT_FALSE(config);
    EXPECT_THAT(config.error().message(), HasSubstr("is deeper or larger than is read here"));
  }
}

}  // namespace
}  // namespace capstan::kube
