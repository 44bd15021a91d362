#include "operator/accounting/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/accounting/config.h"
#include "operator/accounting/questions.h"
#include "operator/names.h"
#include "operator/testing/golden.h"
#include "operator/testing/world.h"

namespace capstan::op::accounting {
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

class AccountingTest : public ::testing::Test {
 protected:
  AccountingTest() {
    accounting.metadata = {.name = "db", .namespace_ = "slurm", .uid = "uid-db"};
    accounting.spec.slurm_key_ref = {.name = "main-auth-slurm", .key = "slurm.key"};
    accounting.spec.jwt_key_ref = {.name = "main-auth-jwt", .key = "jwt.key"};
    accounting.spec.storage_config = {.host = "mariadb",
                                      .port = {},
                                      .database = {},
                                      .username = "slurm",
                                      .password_key_ref = {.name = "mariadb-password", .key = "password"}};
    world.Secret("main-auth-slurm", {"slurm.key"});
    world.Secret("main-auth-jwt", {"jwt.key"});
    state.password_digest = "d1";
  }

  plan::Plan Look() {
    world.Put(accounting);
    world.Answer("secret slurm/db-accounting with password mariadb-password password under main-auth-slurm slurm.key",
                 std::make_shared<const ConfState::Value>(state));
    return world.Decide(&Decide, "db");
  }
  // As it is when what this Plan writes has been written.
  void Written(const plan::Plan& plan) {
    ASSERT_THAT(ActionNames(plan), ElementsAre("write Secret slurm/db-accounting"));
    state.present = true;
    state.controller_uid = "uid-db";
    api::Accounting given = accounting;
    given.spec = api::WithDefaults(std::move(given.spec));
    const auto conf = MakeSlurmdbdConf(given);
    ASSERT_TRUE(conf);
    state.made_from = Sha256Hex(conf->before + "\n" + conf->after + "\n" + state.password_digest);
  }
  std::string Conf() {
    api::Accounting given = accounting;
    given.spec = api::WithDefaults(std::move(given.spec));
    const auto conf = MakeSlurmdbdConf(given);
    return conf ? conf->before + "<password>" + conf->after : conf.error().message();
  }
  std::string Pod() { return BodyOf(Look(), "StatefulSet", "db-accounting"); }

  test::TestWorld world;
  api::Accounting accounting;
  ConfState::Value state;
};

TEST_F(AccountingTest, ConfigurationIsPinned) {
  EXPECT_EQ(Conf(), R"(#
### GENERAL ###
DbdHost=db-accounting-0
DbdPort=6819
SlurmUser=slurm
#
### PLUGINS & PARAMETERS ###
AuthType=auth/slurm
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/etc/slurm/jwt.key
AuthInfo=use_client_ids
#
### STORAGE ###
StorageType=accounting_storage/mysql
StorageHost=mariadb
StoragePort=3306
StorageUser=slurm
StorageLoc=slurm_acct_db
StoragePass=<password>
#
### LOGGING ###
LogFile=/dev/null
)");
  accounting.spec.jwks_key_ref = {.name = "jwks", .key = "keys"};
  accounting.spec.extra_conf = "PurgeJobAfter=12months\nAuthInfo=socket=/x";
  EXPECT_THAT(Conf(), HasSubstr("AuthAltParameters=jwt_key=/etc/slurm/jwt.key,jwks=/etc/slurm/jwks.json\n"));
  EXPECT_THAT(Conf(), HasSubstr("### EXTRA CONFIG ###\nPurgeJobAfter=12months\nAuthInfo=socket=/x\n#\n"
                                "### MERGED CONFIG ###\nAuthInfo=socket=/x,use_client_ids\n"));
}

TEST_F(AccountingTest, WhatSlurmdbdConfCannotHoldIsRefusedInWords) {
  for (const char* odd : {"a\"b", "a\nb"}) {
    accounting.spec.storage_config->username = odd;
    const plan::Plan plan = Look();
    EXPECT_THAT(plan.actions, IsEmpty());
    EXPECT_FALSE(plan.children_complete);
    EXPECT_THAT(ConditionOf(plan, "Degraded"),
                StartsWith("True ConfigRefused: slurmdbd.conf cannot be made: configuration value StorageUser"));
  }
  accounting.spec.storage_config->username = "a b#c";
  EXPECT_THAT(Conf(), HasSubstr("StorageUser=\"a b\\#c\"\n"));
  accounting.spec.extra_conf = "nonsense";
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), HasSubstr("spec.extraConf: line 1"));
  accounting.spec.extra_conf = "PurgeJobAfter=12months\nTrackWCKey=perhaps";
  EXPECT_THAT(ConditionOf(Look(), "Degraded"),
              HasSubstr("spec.extraConf: line 2: TrackWCKey=perhaps must be YES or NO"));
}

TEST_F(AccountingTest, TheSecretIsWrittenBeforeThePodAndThePodFollowsIt) {
  const plan::Plan first = Look();
  EXPECT_THAT(ChildNames(first), ElementsAre("Service db-accounting"));
  EXPECT_FALSE(first.children_complete);
  EXPECT_THAT(ConditionOf(first, "Progressing"), StartsWith("True WritingConfig"));
  Written(first);
  const plan::Plan second = Look();
  EXPECT_THAT(second.actions, IsEmpty());
  EXPECT_TRUE(second.children_complete);
  for (const plan::Child& child : second.children)
    test::ExpectGoldenJson("accounting", "default-" + std::string(child.resource->kind) + ".json", child.body);
  const std::string before = Pod();
  EXPECT_THAT(before, HasSubstr("\"slinky.slurm.net/slurmdbd-conf-hash\":\"" + state.made_from + "\""));

  state.password_digest = "d2";
  const plan::Plan changed = Look();
  EXPECT_EQ(BodyOf(changed, "StatefulSet", "db-accounting"), "") << "it would start with the former password";
  EXPECT_FALSE(changed.children_complete);
  Written(changed);
  EXPECT_NE(Pod(), before);
}

TEST_F(AccountingTest, WhatStandsOnItStandsOnItsServiceToo) {
  accounting.metadata.labels = {{"team", "hpc"}};
  accounting.metadata.annotations = {{"mine", "1"}, {"yours", "1"}};
  accounting.spec.service.metadata.annotations = {{"yours", "2"}};
  const std::string service = BodyOf(Look(), "Service", "db-accounting");
  EXPECT_THAT(service, HasSubstr(R"("team":"hpc")"));
  EXPECT_THAT(service, HasSubstr(R"("annotations":{"mine":"1","yours":"2"})"));
}

TEST_F(AccountingTest, ASecretOfSomebodyElseIsNotTouched) {
  state.present = true;
  state.controller_uid = "uid-somebody";
  const plan::Plan plan = Look();
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_FALSE(plan.children_complete);
  EXPECT_THAT(ConditionOf(plan, "Degraded"), StartsWith("True NameConflict: Secret slurm/db-accounting exists"));
}

TEST_F(AccountingTest, WhatIsMissingIsNamedAndWhatRunsStays) {
  Written(Look());
  state.password_wrong = "is missing, or has no key \"password\"";
  const plan::Plan plan = Look();
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_FALSE(plan.children_complete);
  EXPECT_THAT(ConditionOf(plan, "Degraded"),
              StartsWith("True ReferenceInvalid: Secret slurm/mariadb-password, named in "
                         "spec.storageConfig.passwordKeyRef, is missing, or has no key"));
  state.password_wrong.clear();
  world.Absent("secret slurm/main-auth-jwt");
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), StartsWith("True KeyMissing: Secret slurm/main-auth-jwt"));
  EXPECT_FALSE(Look().children_complete);
}

TEST_F(AccountingTest, ItsDatabaseIsNamedWhileSlurmdbdDoesNotAnswer) {
  Written(Look());
  StatefulSet set;
  set.metadata = {.name = "db-accounting", .namespace_ = "slurm", .uid = "uid-set"};
  world.Put(set);
  EXPECT_THAT(
      ConditionOf(Look(), "Progressing"),
      HasSubstr("slurmdbd answers once its database at mariadb does; if it does not, `kubectl logs -n slurm "
                "db-accounting-0` says why: that cannot be reached, or refuses user \"slurm\" or the password in "
                "Secret slurm/mariadb-password"));
  set.status.ready_replicas = set.status.updated_replicas = 1;
  world.Put(set);
  EXPECT_EQ(ConditionOf(Look(), "Ready"), "True Ready: slurmdbd is ready");
  EXPECT_THAT(ConditionOf(Look(), "Progressing"), StartsWith("False "));
}

// A StatefulSet with the policy OrderedReady waits for a pod that is not ready: the password that would have made it so
// did not reach it.
TEST_F(AccountingTest, ASlurmdbdThatIsNotReadyMakesWayForItsMendedTemplate) {
  Written(Look());
  EXPECT_THAT(Pod(), HasSubstr(R"("podManagementPolicy":"Parallel")"));
  StatefulSet set;
  set.metadata = {.name = "db-accounting",
                  .namespace_ = "slurm",
                  .uid = "uid-set",
                  .generation = 2,
                  .owner_references = {{.uid = "uid-db", .controller = true}}};
  set.spec.pod_management_policy = "OrderedReady";
  set.status = {.observed_generation = 2, .update_revision = "new"};
  op::Pod pod;
  pod.metadata = {.name = "db-accounting-0", .owner_references = {{.uid = "uid-set", .controller = true}}};
  pod.metadata.labels = {{std::string(kLabelSetRevision), "old"}};
  pod.status.conditions = {{.type = "Ready", .status = "False"}};
  const auto acts = [&] {
    world.Put(set);
    world.Put(pod);
    return ActionNames(Look());
  };
  EXPECT_THAT(acts(), ElementsAre("delete Pod slurm/db-accounting-0"));
  EXPECT_THAT(Pod(), Not(HasSubstr("podManagementPolicy"))) << "nobody can change it";
  pod.status.conditions[0].status = "True";
  EXPECT_THAT(acts(), IsEmpty()) << "the StatefulSet replaces it itself";
  pod.status.conditions[0].status = "False";
  pod.metadata.labels[std::string(kLabelSetRevision)] = "new";
  EXPECT_THAT(acts(), IsEmpty()) << "it is of the newest template";
  pod.metadata.labels[std::string(kLabelSetRevision)] = "old";
  set.spec.pod_management_policy = "Parallel";
  EXPECT_THAT(acts(), IsEmpty());
  EXPECT_THAT(Pod(), HasSubstr(R"("podManagementPolicy":"Parallel")"));
  set.spec.pod_management_policy = "OrderedReady";
  set.metadata.owner_references[0].uid = "somebody";
  EXPECT_THAT(acts(), IsEmpty()) << "somebody else's";
}

TEST_F(AccountingTest, WhatASlurmdbdSaidThatEndedIsTold) {
  Written(Look());
  StatefulSet set;
  set.metadata = {.name = "db-accounting", .namespace_ = "slurm", .uid = "uid-set"};
  world.Put(set);
  op::Pod pod;
  pod.metadata = {.name = "db-accounting-0", .owner_references = {{.uid = "uid-set", .controller = true}}};
  pod.status.container_statuses = {
      {.name = "slurmdbd",
       .state = {.waiting = ContainerWaiting{"CrashLoopBackOff", "back-off 10s"}},
       .last_state = {.terminated = ContainerTerminated{"slurmdbd: one\nslurmdbd: fatal: the tables are newer\n"}}}};
  world.Put(pod);
  EXPECT_EQ(ConditionOf(Look(), "Degraded"),
            "True PodFailing: pod db-accounting-0, container slurmdbd: CrashLoopBackOff: back-off 10s; it said: "
            "slurmdbd: fatal: the tables are newer");
}

// Its container waits instead of ending, so that a kubelet has nothing to say of it.
TEST_F(AccountingTest, WhatASlurmdbdThatDoesNotStartSaysIsTold) {
  Written(Look());
  StatefulSet set;
  set.metadata = {.name = "db-accounting", .namespace_ = "slurm", .uid = "uid-set"};
  world.Put(set);
  op::Pod pod;
  pod.metadata = {
      .name = "db-accounting-0", .namespace_ = "slurm", .owner_references = {{.uid = "uid-set", .controller = true}}};
  pod.status.phase = "Running";
  pod.status.pod_ip = "10.0.0.9";
  world.Put(pod);
  const char* question = "start of slurm/db-accounting-0 at 10.0.0.9";
  const auto says = [&](const std::string& message) {
    world.Answer(question, std::make_shared<const std::string>(message));
    return ConditionOf(Look(), "Degraded");
  };
  EXPECT_EQ(says("slurmdbd does not start: fatal: no"),
            "True PodFailing: pod db-accounting-0: slurmdbd does not start: fatal: no");
  EXPECT_THAT(says(""), StartsWith("False "));
  world.Absent(question);
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), StartsWith("False ")) << "an older image";
}

// It said that slurmdbd waits for its database, when there was no slurmdbd for want of a key.
TEST_F(AccountingTest, TheDatabaseIsNotBlamedWhileThereIsNoSlurmdbd) {
  world.Absent("secret slurm/main-auth-slurm");
  const plan::Plan plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Degraded"), StartsWith("True KeyMissing: Secret slurm/main-auth-slurm"));
  EXPECT_THAT(ConditionOf(plan, "Ready"), Not(HasSubstr("WaitingForDatabase")));
  EXPECT_THAT(ConditionOf(plan, "Progressing"), StartsWith("False "));
  world.Secret("main-auth-slurm", {"slurm.key"});
  EXPECT_THAT(ActionNames(Look()), ElementsAre("write Secret slurm/db-accounting")) << "it has appeared";
}

TEST_F(AccountingTest, AHostThatIsNoNameOrAddressIsRefused) {
  for (const char* odd : {"", "my database", "db#1", "db:3306", "http://db"}) {
    accounting.spec.storage_config->host = odd;
    const plan::Plan plan = Look();
    EXPECT_THAT(plan.actions, IsEmpty());
    EXPECT_THAT(ConditionOf(plan, "Degraded"),
                StartsWith("True ConfigRefused: slurmdbd.conf cannot be made: spec.storageConfig.host is \"" +
                           std::string(odd) + "\", must be a host's name or address"));
  }
  for (const char* good : {"mariadb", "db-1.example.com", "10.0.0.1", "fd00::1", "db_1"}) {
    accounting.spec.storage_config->host = good;
    EXPECT_THAT(ActionNames(Look()), ElementsAre("write Secret slurm/db-accounting")) << good;
  }
}

TEST_F(AccountingTest, ATrialBringsItsDatabase) {
  accounting.metadata.annotations["capstan.dev/embedded-database"] = "2Gi";
  accounting.spec.storage_config.reset();
  world.Absent("secret slurm/db-accounting-db");
  const auto look = [&] {
    world.Put(accounting);
    world.Answer("secret slurm/db-accounting with password db-accounting-db password under main-auth-slurm slurm.key",
                 std::make_shared<const ConfState::Value>(state));
    return world.Decide(&Decide, "db");
  };
  state.password_wrong = "is missing";
  const plan::Plan first = look();
  EXPECT_THAT(ActionNames(first), ElementsAre("create Secret slurm/db-accounting-db"));
  world.Secret("db-accounting-db", {"password"});
  state.password_wrong.clear();
  const plan::Plan second = look();
  EXPECT_THAT(ActionNames(second), ElementsAre("write Secret slurm/db-accounting"));
  for (const plan::Child& child : second.children) {
    if (child.key.name.ends_with("-db"))
      test::ExpectGoldenJson("accounting", "database-" + std::string(child.resource->kind) + ".json", child.body);
  }
  accounting.metadata.annotations["capstan.dev/embedded-database"] = "large";
  const plan::Plan refused = look();
  EXPECT_FALSE(refused.children_complete) << "a database that runs stays";
  EXPECT_THAT(ConditionOf(refused, "Degraded"),
              StartsWith("True InvalidSpec: annotation capstan.dev/embedded-database is \"large\", must be the size"));
}

TEST_F(AccountingTest, AnExternalOneNeedsNothingOfUs) {
  accounting.spec = {};
  accounting.spec.external = true;
  accounting.spec.external_config = {"db.example.com", 0};
  const plan::Plan plan = Look();
  EXPECT_THAT(plan.children, IsEmpty());
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_TRUE(plan.children_complete) << "what was made before it became external goes";
  EXPECT_EQ(ConditionOf(plan, "Ready"), "True Ready: slurmdbd runs outside of Kubernetes, at db.example.com:6819");
}

// Its own way to write the same things started slurmdbd anew on the day of the switch.
TEST_F(AccountingTest, WhatAFormerOperatorMadeIsLeftUntilSomethingElseIsWanted) {
  Written(Look());
  StatefulSet set;
  set.metadata = {.name = "db-accounting",
                  .namespace_ = "slurm",
                  .uid = "uid-set",
                  .owner_references = {{.uid = "uid-db", .controller = true}},
                  .managed_fields = {{.manager = "manager", .operation = "Update"}}};
  set.spec.pod_management_policy = "Parallel";
  const std::string wanted = Pod();
  world.Put(set);
  const plan::Plan noted = Look();
  EXPECT_THAT(ActionNames(noted), ElementsAre("take over StatefulSet slurm/db-accounting"));
  EXPECT_THAT(ChildNames(noted), ElementsAre("Service db-accounting"));
  set.metadata.annotations["capstan.dev/taken-over"] = Sha256Hex(wanted);
  world.Put(set);
  EXPECT_THAT(Look().actions, IsEmpty());
  EXPECT_FALSE(Look().children_complete);
  state.password_digest = "d2";
  Written(Look());
  EXPECT_NE(Pod(), "") << "another password";
}

}  // namespace
}  // namespace capstan::op::accounting
