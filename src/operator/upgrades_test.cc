#include "operator/upgrades.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/decide.h"
#include "operator/loginset/decide.h"
#include "operator/restapi/decide.h"
#include "operator/testing/world.h"

namespace capstan::op {
namespace {

using test::BodyOf;
using test::ConditionOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A cluster that runs release 1 of everything.
class UpgradeTest : public ::testing::Test {
 protected:
  UpgradeTest() {
    controller.metadata = {.name = "main", .uid = "uid-main"};
    controller.spec.slurm_key_ref = {.name = "keys", .key = "slurm.key"};
    controller.spec.jwt_key_ref = {.name = "keys", .key = "jwt.key"};
    controller.spec.accounting_ref = {"db"};
    controller.spec.persistence = api::Persistence{.enabled = false};
    accounting.metadata = {.name = "db", .uid = "uid-db"};
    rest_api.metadata = {.name = "main", .uid = "uid-rest"};
    rest_api.spec.controller_ref.name = "main";
    logins.metadata = {.name = "login", .uid = "uid-login"};
    logins.spec.controller_ref.name = "main";
    logins.spec.sssd_conf_ref = {.name = "keys", .key = "sssd.conf", .optional = {}};
    world.Secret("keys", {"slurm.key", "jwt.key", "sssd.conf"});
    world.Secret("login-ssh-host-keys", {"ssh_host_rsa_key", "ssh_host_rsa_key.pub", "ssh_host_ecdsa_key",
                                         "ssh_host_ecdsa_key.pub", "ssh_host_ed25519_key", "ssh_host_ed25519_key.pub"});
    const auto nothing_wrong = std::make_shared<const std::string>();
    world.Answer("host keys slurm/login-ssh-host-keys", nothing_wrong);
    world.Answer("sssd.conf slurm/keys sssd.conf", nothing_wrong);
    world.Answer("digest of slurm/keys sssd.conf under keys slurm.key", std::make_shared<const std::string>("digest"));
    for (auto* set : {&slurmdbd, &slurmctld}) {
      set->metadata.generation = 1;
      set->status = Runs();
    }
    slurmdbd.metadata.name = "db-accounting";
    slurmctld.metadata.name = "main-controller";
    slurmctld.metadata.owner_references = {{.uid = "uid-main", .controller = true}};
    slurmrestd.metadata.name = "main-restapi";
    login.metadata.name = "login";
    slurmdbd.spec.pod_template.spec.containers = {{"slurmdbd", "slurmdbd:1"}};
    slurmctld.spec.pod_template.spec.containers = {{"mine", "mine:1"}, {"slurmctld", "slurmctld:1"}};
    slurmrestd.spec.pod_template.spec.containers = {{"slurmrestd", "slurmrestd:1"}};
    login.spec.pod_template.spec.containers = {{"login", "login:1"}};
    Pod pod;
    pod.metadata = {.name = "main-controller-0",
                    .owner_references = {{.uid = "uid-main-controller", .controller = true}}};
    pod.spec.node_name = "node1";
    pod.status.phase = "Running";
    world.Put(pod);
    ConfigMap config;
    config.metadata.name = "main-config";
    config.data.slurm_conf = "ClusterName=c\n";
    world.Put(config);
    Want("1");
  }

  static WorkloadStatus Runs() {
    return {.observed_generation = 1, .replicas = 1, .ready_replicas = 1, .updated_replicas = 1};
  }
  static std::string Image(const std::string& of, const std::string& release) {
    return R"({"image":")" + of + ":" + release + R"("})";
  }
  // This release of everything.
  void Want(const std::string& release) {
    accounting.spec.slurmdbd.text = Image("slurmdbd", release);
    controller.spec.slurmctld.text = Image("slurmctld", release);
    rest_api.spec.slurmrestd.text = Image("slurmrestd", release);
    logins.spec.login.text = Image("login", release);
  }
  // A pod of slurmdbd that does not run.
  void SlurmdbdFails(const std::string& why) {
    Pod pod;
    pod.metadata = {.name = "db-accounting-0", .owner_references = {{.uid = "uid-db-accounting", .controller = true}}};
    pod.spec.node_name = "node1";
    pod.status.container_statuses = {{.name = "slurmdbd", .state = {.waiting = ContainerWaiting{why, ""}}}};
    world.Put(pod);
  }

  void Show() {
    world.Put(accounting);
    world.Put(controller);
    world.Put(rest_api);
    world.Put(logins);
    world.Put(slurmdbd);
    world.Put(slurmctld);
    world.Put(slurmrestd);
    world.Put(login);
  }
  plan::Plan Slurmctld() {
    Show();
    return world.Decide(&controller::Decide, "main");
  }
  plan::Plan Slurmrestd() {
    Show();
    return world.Decide(&restapi::Decide, "main");
  }
  plan::Plan Logins() {
    Show();
    return world.Decide(&loginset::Decide, "login");
  }
  static std::string SlurmctldIn(const plan::Plan& plan) { return BodyOf(plan, "StatefulSet", "main-controller"); }
  bool SlurmctldIsNew() { return SlurmctldIn(Slurmctld()).contains(R"("image":"slurmctld:2")"); }
  bool SlurmrestdIsNew() { return BodyOf(Slurmrestd(), "Deployment", "main-restapi").contains("slurmrestd:2"); }
  bool LoginIsNew() { return BodyOf(Logins(), "Deployment", "login").contains("login:2"); }

  test::TestWorld world;
  api::Accounting accounting;
  api::Controller controller;
  api::RestApi rest_api;
  api::LoginSet logins;
  StatefulSet slurmdbd, slurmctld;
  Deployment slurmrestd, login;
};

TEST_F(UpgradeTest, OneAfterTheOther) {
  EXPECT_THAT(ConditionOf(Slurmctld(), "Progressing"), StartsWith("False Settled"));
  Want("2");
  EXPECT_FALSE(SlurmctldIsNew());
  EXPECT_THAT(
      ConditionOf(Slurmctld(), "Progressing"),
      StartsWith("True WaitingForUpgrade: slurmctld keeps image slurmctld:1, and gets slurmctld:2 once slurmdbd of "
                 "Accounting slurm/db runs slurmdbd:2 and is ready: it has slurmdbd:1 still"));
  EXPECT_THAT(SlurmctldIn(Slurmctld()), Not(HasSubstr("slurmctld:2"))) << "its sidecars go with it";

  slurmdbd.spec.pod_template.spec.containers[0].image = "slurmdbd:2";
  slurmdbd.metadata.generation = 2;
  EXPECT_FALSE(SlurmctldIsNew()) << "nobody has begun to replace it";
  slurmdbd.status = {.observed_generation = 2, .replicas = 1, .ready_replicas = 1, .updated_replicas = 0};
  EXPECT_FALSE(SlurmctldIsNew()) << "the one that is ready is the old one";
  EXPECT_THAT(ConditionOf(Slurmctld(), "Progressing"), HasSubstr("and is ready: it is being replaced"));
  slurmdbd.status = {.observed_generation = 2, .replicas = 1, .ready_replicas = 0, .updated_replicas = 1};
  EXPECT_FALSE(SlurmctldIsNew());
  EXPECT_THAT(ConditionOf(Slurmctld(), "Progressing"), HasSubstr("and is ready: it is not ready"));
  EXPECT_FALSE(SlurmrestdIsNew());
  EXPECT_FALSE(LoginIsNew());
  slurmdbd.status.ready_replicas = 1;
  EXPECT_TRUE(SlurmctldIsNew());

  EXPECT_FALSE(SlurmrestdIsNew());
  EXPECT_FALSE(LoginIsNew());
  for (const plan::Plan& plan : {Slurmrestd(), Logins()}) {
    EXPECT_THAT(
        ConditionOf(plan, "Progressing"),
        HasSubstr("once slurmctld of Controller slurm/main runs slurmctld:2 and is ready: it has slurmctld:1 still"));
  }
  slurmctld.spec.pod_template.spec.containers[1].image = "slurmctld:2";
  EXPECT_TRUE(SlurmrestdIsNew());
  EXPECT_TRUE(LoginIsNew());
}

TEST_F(UpgradeTest, ANewSlurmdbdThatFailsHoldsTheOthersAndSaysWhy) {
  Want("2");
  slurmdbd.spec.pod_template.spec.containers[0].image = "slurmdbd:2";
  slurmdbd.status.ready_replicas = 0;
  SlurmdbdFails("ImagePullBackOff");
  EXPECT_FALSE(SlurmctldIsNew());
  EXPECT_THAT(ConditionOf(Slurmctld(), "Degraded"),
              HasSubstr("WaitingForUpgrade: slurmctld keeps image slurmctld:1, and gets slurmctld:2 once slurmdbd of "
                        "Accounting slurm/db runs slurmdbd:2 and is ready: it is not ready: pod db-accounting-0, "
                        "container slurmdbd: ImagePullBackOff"));
  EXPECT_THAT(ConditionOf(Slurmctld(), "Ready"), StartsWith("True Ready"));
  Want("1");
  EXPECT_THAT(ConditionOf(Slurmctld(), "Degraded"), StartsWith("False")) << "who takes it back has nothing to wait for";
}

TEST_F(UpgradeTest, ABrokenSlurmdbdHoldsNothingButTheImage) {
  slurmdbd.status.ready_replicas = 0;
  controller.spec.slurmctld.text = R"({"image":"slurmctld:2","args":["-vv"]})";
  EXPECT_THAT(SlurmctldIn(Slurmctld()), HasSubstr("-vv"));
  EXPECT_FALSE(SlurmctldIsNew());
  controller.spec.slurmctld.text = R"({"image":"slurmctld:1","args":["-vv"]})";
  EXPECT_THAT(ConditionOf(Slurmctld(), "Progressing"), StartsWith("False Settled"));
}

TEST_F(UpgradeTest, WhatIsNotThereYetIsMadeAtOnce) {
  test::TestWorld empty;
  empty.Secret("keys", {"slurm.key", "jwt.key"});
  Want("2");
  empty.Put(accounting);
  empty.Put(controller);
  EXPECT_THAT(SlurmctldIn(empty.Decide(&controller::Decide, "main")), HasSubstr("slurmctld:2"));
}

TEST_F(UpgradeTest, AnImageThatNeverRanIsMendedBesideASlurmdbdThatIsNotReady) {
  Pod pod;
  pod.metadata = {.name = "main-controller-0",
                  .owner_references = {{.uid = "uid-main-controller", .controller = true}}};
  pod.spec.node_name = "node1";
  pod.status.container_statuses = {{.name = "slurmctld", .state = {.waiting = ContainerWaiting{"ErrImagePull", ""}}}};
  world.Put(pod);
  slurmdbd.status.ready_replicas = 0;
  controller.spec.slurmctld.text = Image("slurmctld", "2");
  EXPECT_TRUE(SlurmctldIsNew());
  accounting.spec.slurmdbd.text = Image("slurmdbd", "2");
  EXPECT_FALSE(SlurmctldIsNew()) << "slurmdbd is about to change, and comes first";
}

TEST_F(UpgradeTest, WhatRunsOutsideOfKubernetesIsNotWaitedFor) {
  Want("2");
  accounting.spec.external = true;
  accounting.spec.external_config = {"db.example.com", 6819};
  EXPECT_TRUE(SlurmctldIsNew());
  controller.spec.accounting_ref.reset();
  EXPECT_TRUE(SlurmctldIsNew()) << "no accounting";
  controller.spec.external = true;
  controller.spec.external_config = {"ctl.example.com", 6817};
  EXPECT_TRUE(SlurmrestdIsNew());
  EXPECT_TRUE(LoginIsNew());
}

TEST_F(UpgradeTest, ImagesOfTheTemplateAndDefaultsCount) {
  accounting.spec.slurmdbd.text = "";
  accounting.spec.pod_template.spec.text = R"({"containers":[{"name":"slurmdbd","image":"slurmdbd:2"}]})";
  controller.spec.slurmctld.text = Image("slurmctld", "2");
  EXPECT_FALSE(SlurmctldIsNew());
  slurmdbd.spec.pod_template.spec.containers[0].image = "slurmdbd:2";
  EXPECT_TRUE(SlurmctldIsNew());
  accounting.spec.pod_template.spec.text = "";
  EXPECT_FALSE(SlurmctldIsNew());
  slurmdbd.spec.pod_template.spec.containers[0].image = "capstan/slurmdbd:26.05";
  EXPECT_TRUE(SlurmctldIsNew());
}

}  // namespace
}  // namespace capstan::op
