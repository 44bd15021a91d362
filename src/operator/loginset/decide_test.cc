#include "operator/loginset/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/host_keys.h"
#include "operator/loginset/contract.h"
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

const std::vector<std::string> kHostKeys(kHostKeyFiles.begin(), kHostKeyFiles.end());

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
    Told(kDigestOfSssdConf, "of one");
    login_set.metadata = {.name = "login", .namespace_ = "slurm", .uid = "uid-login"};
    login_set.spec.controller_ref = {"main"};
    login_set.spec.sssd_conf_ref = {.name = "people", .key = "sssd.conf"};
    login_set.spec.root_ssh_authorized_keys = "ssh-ed25519 AAAA root";
  }
  static constexpr const char* kDigestOfSssdConf = "digest of slurm/people sssd.conf under main-auth-slurm slurm.key";
  void Told(const std::string& question, const std::string& text) {
    world.Answer(question, std::make_shared<const std::string>(text));
  }
  // What the question of this id says is wrong.
  void Wrong(const std::string& question, const std::string& what) { Told(question, what); }
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

// From a registry of the site's own: its logins wait for their sessions as ours do.
TEST_F(LoginSetTest, AnImageOfAPrefixThatIsNamedIsOurs) {
  const auto waits = [&] { return Pods().contains("drain-logins"); };
  login_set.spec.login.text = R"({"image":"registry.example.org/hpc/login:26.05"})";
  EXPECT_FALSE(waits());
  login_set.metadata.annotations["capstan.dev/image-prefix"] = "registry.example.org/hpc";
  EXPECT_TRUE(waits());
  login_set.metadata.annotations["capstan.dev/image-prefix"] = "registry.example.org/h";
  EXPECT_FALSE(waits());
  login_set.spec.login.text = R"({"image":"capstan/login:26.05"})";
  EXPECT_TRUE(waits()) << "the operator's own";
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
  Told(kDigestOfSssdConf, "of another");
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
  for (const json::IntOrString& none : {json::IntOrString(), json::IntOrString("0%")}) {
    login_set.spec.strategy->rolling_update = api::RollingDeployment{.max_surge = none, .max_unavailable = {}};
    EXPECT_THAT(Pods(), HasSubstr(R"("maxUnavailable":1})")) << "the API server refuses 0 for both";
  }
  login_set.spec.strategy->rolling_update->max_unavailable = "30%";
  EXPECT_THAT(Pods(), HasSubstr(R"({"maxSurge":"0%","maxUnavailable":"30%"})"));
  login_set.spec.strategy = api::DeploymentStrategy{.type = "Recreate", .rolling_update = {}};
  EXPECT_THAT(Pods(), HasSubstr(R"("strategy":{"type":"Recreate"})"));
}

// Both were there under one name, and the API server refused the Deployment.
TEST_F(LoginSetTest, APortOfTheUsersThatIsCalledLoginTakesThePlaceOfOurs) {
  login_set.spec.login.text = R"({"ports":[{"name":"login","containerPort":2222}]})";
  EXPECT_THAT(Pods(), HasSubstr(R"("ports":[{"containerPort":2222,"name":"login"}])"));
  login_set.spec.login.text = R"({"ports":[{"name":"metrics","containerPort":9100}]})";
  EXPECT_THAT(Pods(), HasSubstr(R"({"containerPort":22,"name":"login","protocol":"TCP"})"));
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

}  // namespace
}  // namespace capstan::op::loginset
