#include "operator/loginset/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "operator/loginset/contract.h"
#include "operator/loginset/host_keys.h"
#include "operator/loginset/questions.h"
#include "operator/testing/golden.h"
#include "operator/testing/world.h"

namespace capstan::op::loginset {
namespace {

using test::ActionNames;
using test::BodyOf;
using test::ChildNames;
using test::ConditionOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

const std::vector<std::string> kHostKeys = {"ssh_host_ecdsa_key",   "ssh_host_ecdsa_key.pub",
                                            "ssh_host_ed25519_key", "ssh_host_ed25519_key.pub",
                                            "ssh_host_rsa_key",     "ssh_host_rsa_key.pub"};

class LoginSetTest : public ::testing::Test {
 protected:
  LoginSetTest() {
    api::Controller controller;
    controller.metadata.name = "main";
    controller.spec.slurm_key_ref = {.name = "main-auth-slurm", .key = "slurm.key"};
    world.Put(controller);
    world.Secret("main-auth-slurm", {"slurm.key"});
    world.Secret("people", {"sssd.conf"});
    world.Secret("login-ssh-host-keys", kHostKeys);
    Wrong("host keys slurm/login-ssh-host-keys", "");
    Wrong("sssd.conf slurm/people sssd.conf", "");
    login_set.metadata = {.name = "login", .namespace_ = "slurm", .uid = "uid-login"};
    login_set.spec.controller_ref = {"main"};
    login_set.spec.sssd_conf_ref = {.name = "people", .key = "sssd.conf"};
    login_set.spec.root_ssh_authorized_keys = "ssh-ed25519 AAAA root";
  }
  // What the question of this id says is wrong.
  void Wrong(const std::string& question, const std::string& what) {
    world.Answer(question, std::make_shared<const std::string>(what));
  }
  plan::Plan Look() {
    world.Put(login_set);
    return world.Decide(&Decide, "login");
  }
  std::string Pods() { return BodyOf(Look(), "Deployment", "login"); }

  test::TestWorld world;
  api::LoginSet login_set;
};

TEST_F(LoginSetTest, DefaultObjectsArePinned) {
  const plan::Plan plan = Look();
  EXPECT_TRUE(plan.children_complete);
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_THAT(ChildNames(plan), ElementsAre("ConfigMap login-ssh-config", "Service login", "Deployment login"));
  for (const plan::Child& child : plan.children)
    test::ExpectGoldenJson("loginset", "default-" + std::string(child.resource->kind) + ".json", child.body);
  EXPECT_THAT(*plan.status, HasSubstr(R"("selector":"app.kubernetes.io/instance=login,app.kubernetes.io/name=login")"));
}

TEST_F(LoginSetTest, WithSomebodyElsesImageFilesLieWhereThePeerPutsThem) {
  login_set.spec.login.text = R"({"image":"ghcr.example.org/login:1"})";
  test::ExpectGoldenJson("loginset", "foreign-Deployment.json", Pods());
}

// A change of sshd_config cut every session.
TEST_F(LoginSetTest, NothingButItsTemplateReplacesAPodThatReadsItsFilesLive) {
  const std::string before = Pods();
  login_set.spec.extra_sshd_config = "MaxSessions 5";
  login_set.spec.root_ssh_authorized_keys = "other";
  world.Secret("people", {"sssd.conf"}, "another");
  EXPECT_EQ(Pods(), before);
  world.Secret("main-auth-slurm", {"slurm.key"}, "another");
  EXPECT_NE(Pods(), before) << "sackd reads Slurm's key at its start";
}

TEST_F(LoginSetTest, SomebodyElsesImageIsReplacedForItsFiles) {
  login_set.spec.login.text = R"({"image":"ghcr.example.org/login:1"})";
  std::string before = Pods();
  login_set.spec.extra_sshd_config = "MaxSessions 5";
  EXPECT_NE(Pods(), before);
  before = Pods();
  world.Secret("people", {"sssd.conf"}, "another");
  EXPECT_NE(Pods(), before);
  before = Pods();
  world.Secret("login-ssh-host-keys", kHostKeys, "another");
  EXPECT_NE(Pods(), before);
}

TEST_F(LoginSetTest, HostKeysAreMadeOnceAndBelongToNobody) {
  world.Absent("secret slurm/login-ssh-host-keys");
  const plan::Plan plan = Look();
  EXPECT_THAT(ActionNames(plan), ElementsAre("create Secret slurm/login-ssh-host-keys"));
  EXPECT_THAT(ChildNames(plan), ElementsAre("ConfigMap login-ssh-config", "Service login"));
  EXPECT_FALSE(plan.children_complete);
  EXPECT_THAT(ConditionOf(plan, "Progressing"), StartsWith("True CreatingKeys"));
}

TEST_F(LoginSetTest, AHostKeyThatIsMissingIsNamed) {
  world.Secret("login-ssh-host-keys", {"ssh_host_rsa_key", "ssh_host_rsa_key.pub"});
  const plan::Plan plan = Look();
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_FALSE(plan.children_complete);
  EXPECT_THAT(ConditionOf(plan, "Degraded"),
              StartsWith("True ReferenceInvalid: Secret slurm/login-ssh-host-keys has no key \"ssh_host_ecdsa_key\""));
}

TEST_F(LoginSetTest, ASessionIsCutByNoRollout) {
  EXPECT_THAT(Pods(),
              HasSubstr(R"("strategy":{"rollingUpdate":{"maxSurge":1,"maxUnavailable":0},"type":"RollingUpdate"})"));
  EXPECT_THAT(Pods(), HasSubstr(R"("drain-logins","43200")"));
  EXPECT_THAT(Pods(), HasSubstr(R"("terminationGracePeriodSeconds":43230)"));
  login_set.metadata.annotations["capstan.dev/login-drain-cap"] = "30m";
  EXPECT_THAT(Pods(), HasSubstr(R"("drain-logins","1800")"));
  login_set.metadata.annotations["capstan.dev/login-drain-cap"] = "long";
  const plan::Plan plan = Look();
  EXPECT_FALSE(plan.children_complete);
  EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("annotation capstan.dev/login-drain-cap is \"long\""));
  login_set.metadata.annotations.clear();
  login_set.spec.strategy = api::DeploymentStrategy{
      .type = "RollingUpdate", .rolling_update = api::RollingDeployment{.max_surge = "50%", .max_unavailable = {}}};
  EXPECT_THAT(Pods(), HasSubstr(R"({"maxSurge":"50%","maxUnavailable":0})"));
  login_set.spec.strategy = api::DeploymentStrategy{.type = "Recreate", .rolling_update = {}};
  EXPECT_THAT(Pods(), HasSubstr(R"("strategy":{"type":"Recreate"})"));
}

TEST_F(LoginSetTest, WhatIsMissingIsNamedAndWhatRunsStays) {
  world.Absent("secret slurm/people");
  plan::Plan plan = Look();
  EXPECT_FALSE(plan.children_complete);
  EXPECT_THAT(ConditionOf(plan, "Degraded"), StartsWith("True ReferenceMissing: Secret slurm/people"));
  world.Secret("people", {"sssd.conf"});
  login_set.spec.controller_ref = {"gone"};
  plan = Look();
  EXPECT_FALSE(plan.children_complete);
  EXPECT_THAT(ConditionOf(plan, "Degraded"), StartsWith("True ControllerNotFound"));
}

TEST_F(LoginSetTest, FilesThatCannotBeWhatTheyAreForAreToldAndWhatRunsStays) {
  Wrong("sssd.conf slurm/people sssd.conf", "has no section, such as [sssd]");
  plan::Plan plan = Look();
  EXPECT_FALSE(plan.children_complete);
  EXPECT_EQ(BodyOf(plan, "Deployment", "login"), "");
  EXPECT_EQ(ConditionOf(plan, "Degraded"),
            "True ReferenceInvalid: Secret slurm/people, named in spec.sssdConfRef, has no section, such as [sssd]");
  Wrong("sssd.conf slurm/people sssd.conf", "");
  Wrong("host keys slurm/login-ssh-host-keys", "has in \"ssh_host_rsa_key\" no private key");
  plan = Look();
  EXPECT_EQ(BodyOf(plan, "Deployment", "login"), "");
  EXPECT_THAT(ConditionOf(plan, "Degraded"),
              StartsWith("True ReferenceInvalid: Secret slurm/login-ssh-host-keys has in \"ssh_host_rsa_key\" no"));
}

TEST_F(LoginSetTest, ASecretThatAppearsLaterIsTakenUp) {
  world.Absent("secret slurm/people");
  world.Absent("sssd.conf slurm/people sssd.conf");
  EXPECT_EQ(Pods(), "");
  world.Secret("people", {"sssd.conf"});
  Wrong("sssd.conf slurm/people sssd.conf", "");
  EXPECT_NE(Pods(), "");
}

TEST(SssdConf, WhatHasItsFormIsTaken) {
  for (const char* text :
       {"[sssd]\ndomains = a\n", "# by me\n; too\n\n[sssd]\n\n[domain/a]\r\nldap_uri=ldap://a,\n  ldap://b\n",
        "[sssd]\nempty =\n"}) {
    EXPECT_EQ(WrongWithSssdConf(text), "") << text;
  }
}

TEST(SssdConf, WhatDoesNotIsToldWithItsLineAndWithoutItsText) {
  EXPECT_EQ(WrongWithSssdConf(""), "has no section, such as [sssd]");
  EXPECT_EQ(WrongWithSssdConf("# nothing\n"), "has no section, such as [sssd]");
  EXPECT_EQ(WrongWithSssdConf("domains = a\n"), "has in line 1 something before the first section, such as [sssd]");
  EXPECT_EQ(WrongWithSssdConf("[sssd\ndomains = a"), "has a section in line 1 whose name is not closed by ]");
  EXPECT_EQ(WrongWithSssdConf("[sssd]\n\nldap_default_authtok hunter2\n"),
            "has in line 3 neither a section, nor a setting (name = value), nor a comment");
  EXPECT_EQ(WrongWithSssdConf(std::string("[sssd]\na=b\0c\n", 13)), "has a NUL byte in line 2");
}

TEST(LoginSetContract, AllowsItsOwnObjectsAndNothingElse) {
  const json::Value set =
      *json::Parse(R"({"kind":"LoginSet","metadata":{"namespace":"slurm","name":"login","uid":"u"}})");
  const std::string owned = R"({"metadata":{"ownerReferences":[{"uid":"u","controller":true}]}})";
  const std::string ownerless = R"({"metadata":{},"immutable":true})";
  const auto allows = [&](const Call& call) { return !kContract.breach(set, call, {}); };
  EXPECT_TRUE(allows({"apply", "Deployment", {"slurm", "login"}, "", owned}));
  EXPECT_TRUE(allows({"apply", "ConfigMap", {"slurm", "login-ssh-config"}, "", owned}));
  EXPECT_TRUE(allows({"create", "Secret", {"slurm", "login-ssh-host-keys"}, "", ownerless}));
  EXPECT_FALSE(allows({"create", "Secret", {"slurm", "login-ssh-host-keys"}, "", owned}));
  EXPECT_FALSE(allows({"patch", "Secret", {"slurm", "login-ssh-host-keys"}, "", ownerless}));
  EXPECT_FALSE(allows({"apply", "ConfigMap", {"slurm", "main-config"}, "", owned}));
  EXPECT_FALSE(allows({"delete", "Deployment", {"slurm", "login"}, "", "{}"}));
}

// --- Host keys -------------------------------------------------------------------------------------------------------

TEST(HostKeys, AreInTheFormatOfOpenSsh) {
  const auto files = MakeHostKeys();
  ASSERT_TRUE(files) << files.error().message();
  ASSERT_EQ(files->size(), kHostKeys.size());
  for (const std::string& name : kHostKeys) {
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
}  // namespace capstan::op::loginset
