#include "operator/controller/config.h"
#include "operator/controller/decide_test.h"
#include "operator/names.h"
#include "operator/topology.h"

namespace capstan::op::controller {
namespace {

using test::BodyOf;
using test::ConditionOf;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(ControllerTest, OwnCgroupConfReplacesOurs) {
  HaveKeys();
  controller.spec.config_file_refs = {{"files"}};
  world.Files("files", {"cgroup.conf"});
  EXPECT_THAT(BodyOf(Look(), "ConfigMap", "main-config"), Not(HasSubstr("cgroup.conf\"")));
}

TEST_F(ControllerTest, RefusedConfigurationKeepsTheLastGoodOne) {
  HaveKeys();
  controller.spec.extra_conf = "ReturnToService=2";
  const plan::Plan good = Look();
  Applied(good);
  controller.spec.extra_conf = "ReturnToService=2\nnonsense";
  const plan::Plan plan = Look();
  EXPECT_EQ(BodyOf(plan, "ConfigMap", "main-config"), "") << "a write says that the inputs are known";
  EXPECT_FALSE(plan.children_complete);
  EXPECT_EQ(BodyOf(plan, "StatefulSet", "main-controller"), BodyOf(good, "StatefulSet", "main-controller"));
  EXPECT_THAT(ConditionOf(plan, "Degraded"),
              HasSubstr("ConfigRefused: the configuration is not published: spec.extraConf: line 2"));
}

TEST_F(ControllerTest, WhatSlurmctldWouldNotStartWithIsNotPublished) {
  HaveKeys();
  controller.spec.extra_conf = "ReturnToService=2\n\nSlurmdTimeout=5m";
  const plan::Plan plan = Look();
  EXPECT_EQ(BodyOf(plan, "ConfigMap", "main-config"), "");
  EXPECT_THAT(
      ConditionOf(plan, "Degraded"),
      HasSubstr("the configuration is not published: line 3 of spec.extraConf: SlurmdTimeout=5m must be a number"));
}

TEST_F(ControllerTest, WhatANewerSlurmctldMayKnowIsPublishedAndTold) {
  HaveKeys();
  controller.spec.extra_conf = "SlurmdTimout=300";
  const plan::Plan plan = Look();
  EXPECT_THAT(BodyOf(plan, "ConfigMap", "main-config"), HasSubstr("SlurmdTimout=300"));
  EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("ConfigDoubtful: line 1 of spec.extraConf: Slurm 26.05 knows no "
                                                       "option SlurmdTimout; is SlurmdTimeout meant?"));
}

TEST_F(ControllerTest, AFileThatSlurmDoesNotStartWithIsTold) {
  HaveKeys();
  controller.spec.config_file_refs = {{"files"}};
  world.Answer("configmap slurm/files",
               std::make_shared<const ConfigMapDigest::Value>("digest", std::vector<std::string>{"cgroup.conf"},
                                                              std::vector<std::string>{"cgroup.conf, line 2: wrong"}));
  const plan::Plan plan = Look();
  EXPECT_EQ(BodyOf(plan, "ConfigMap", "main-config"), "");
  EXPECT_THAT(ConditionOf(plan, "Degraded"),
              HasSubstr("ConfigRefused: ConfigMap slurm/files has a file that Slurm does not "
                        "start with: cgroup.conf, line 2: wrong"));
}

TEST_F(ControllerTest, WorkersThatAreToBePlacedByLabelsNeedATree) {
  HaveKeys();
  EXPECT_THAT(BodyOf(Look(), "ConfigMap", "main-config"), Not(HasSubstr("topology.yaml")));
  controller.metadata.annotations[std::string(kAnnotationTopologyLabels)] = "dc/spine";
  EXPECT_THAT(BodyOf(Look(), "ConfigMap", "main-config"), HasSubstr("switch: root/"));
  controller.metadata.annotations[std::string(kAnnotationTopologyLabels)] = "dc spine";
  const plan::Plan plan = Look();
  EXPECT_THAT(BodyOf(plan, "ConfigMap", "main-config"), Not(HasSubstr("topology.yaml")));
  EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("InvalidAnnotation: the annotation capstan.dev/topology has"));
  auto published = json::Decode<ConfigMap>(BodyOf(plan, "ConfigMap", "main-config"));
  ASSERT_TRUE(published);
  published->data.topology_yaml = TopologyOfOneSwitch();
  world.Put(*published);
  EXPECT_THAT(BodyOf(Look(), "ConfigMap", "main-config"), HasSubstr("switch: root/"))
      << "workers may be placed: what is there stays";
}

// slurmctld does not start with the tree while a node names a place outside of it.
TEST_F(ControllerTest, ASlurmctldThatRunsGetsTheTreeOnceNoNodeStandsElsewhere) {
  HaveKeys();
  controller.metadata.annotations[std::string(kAnnotationTopologyLabels)] = "dc/spine";
  StatefulSet set;
  set.metadata = {.name = "main-controller", .namespace_ = "slurm", .uid = "uid-set"};
  set.metadata.owner_references = {
      {.kind = "Controller", .name = "main", .uid = controller.metadata.uid, .controller = true}};
  world.Put(set);
  const auto has_tree = [](const plan::Plan& plan) {
    return BodyOf(plan, "ConfigMap", "main-config").contains("topology.yaml");
  };
  EXPECT_FALSE(has_tree(Look()));
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), HasSubstr("Slurm has not said yet where its nodes stand"));
  world.Nodes("slurm/main", {{.name = "w-0"}, {.name = "w-1", .topology = "default:s1"}});
  EXPECT_FALSE(has_tree(Look()));
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), HasSubstr("Slurm node w-1 stands at \"default:s1\""));
  world.Nodes("slurm/main", {{.name = "w-0"}, {.name = "w-1", .topology = "default:root/:s1"}});
  EXPECT_TRUE(has_tree(Look()));
}

TEST_F(ControllerTest, AFileOfTheUsersSaysWhereNodesStandAndLabelsDoNot) {
  HaveKeys();
  controller.metadata.annotations[std::string(kAnnotationTopologyLabels)] = "dc/spine";
  controller.spec.config_file_refs = {{"files"}};
  for (const std::string file : {"topology.yaml", "topology.conf"}) {
    world.Files("files", {file});
    const plan::Plan plan = Look();
    EXPECT_THAT(BodyOf(plan, "ConfigMap", "main-config"), Not(HasSubstr("topology.yaml")));
    EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("has no effect: spec.configFileRefs has a file " + file));
  }
}

TEST_F(ControllerTest, AFileThatNothingNamesIsTold) {
  HaveKeys();
  controller.spec.config_file_refs = {{"files"}};
  controller.spec.prolog_script_refs = {{"scripts"}};
  world.Files("files", {"gres.conf", "grse.conf", "nodes.conf"});
  world.Files("scripts", {"10-a.sh"});
  EXPECT_THAT(ConditionOf(Look(), "Degraded"),
              AllOf(HasSubstr("FileUnused: ConfigMap slurm/files, named in spec.configFileRefs, contains grse.conf, "
                              "which Slurm does not read by itself"),
                    HasSubstr("contains nodes.conf"), Not(HasSubstr("contains gres.conf")), Not(HasSubstr("10-a.sh"))));
  controller.spec.extra_conf = "Include nodes.conf # and grse.conf";
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), StartsWith("False"));
  controller.spec.extra_conf = "";
  world.Answer("configmap slurm/files",
               std::make_shared<const ConfigMapDigest::Value>(ConfigMapDigest::Value{
                   .sha256 = "digest", .keys = {"plugstack.conf", "spank.conf"}, .named = {"spank.conf"}}));
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), StartsWith("False"));
}

// Each file was looked for in all of extraConf, and each sentence among all others: minutes for 100,000 files.
TEST_F(ControllerTest, OfManyFilesThatNothingNamesTheFirstAreTold) {
  HaveKeys();
  std::vector<std::string> files;
  for (int i = 10'000; i < 60'000; ++i) {
    files.push_back("f" + std::to_string(i) + ".conf");
    controller.spec.extra_conf += i % 2 == 0 ? "# f" + std::to_string(i) + ".conf\n" : "";
  }
  world.Files("files", files);
  for (int i = 0; i < 1000; ++i) controller.spec.config_file_refs.push_back({"files"});
  const std::string told = ConditionOf(Look(), "Degraded");
  EXPECT_THAT(told, AllOf(HasSubstr("contains f10001.conf"), HasSubstr("contains f10019.conf"),
                          Not(HasSubstr("f10020")), Not(HasSubstr("f10000")), Not(HasSubstr("f10021"))));
}

TEST_F(ControllerTest, AConfigMapThatIsMissingIsNamedAndTheLastConfigurationStays) {
  HaveKeys();
  for (auto* refs : {&controller.spec.config_file_refs, &controller.spec.prolog_script_refs}) {
    *refs = {{"files"}};
    world.Absent("configmap slurm/files");
    const plan::Plan plan = Look();
    EXPECT_EQ(BodyOf(plan, "ConfigMap", "main-config"), "");
    EXPECT_THAT(
        ConditionOf(plan, "Degraded"),
        StartsWith(
            "True ReferenceMissing: ConfigMap slurm/files, named in the Controller's file or script references, does "
            "not exist; create it, or remove the reference"));
    refs->clear();
  }
}

// Such a prolog fails on every node, and slurmd's drains it; each first job of a node took one out of service.
TEST_F(ControllerTest, AScriptThatNoKernelStartsIsNotPublished) {
  HaveKeys();
  const auto files = [](std::map<std::string, std::string> wrong) {
    return std::make_shared<const ConfigMapDigest::Value>(
        ConfigMapDigest::Value{.sha256 = "digest", .keys = {"1-mount.sh", "2-note"}, .no_scripts = std::move(wrong)});
  };
  controller.spec.epilog_slurmctld_script_refs = {{"scripts"}};
  world.Answer("configmap slurm/scripts", files({{"2-note", "does not begin with #!"}}));
  const plan::Plan plan = Look();
  EXPECT_EQ(BodyOf(plan, "ConfigMap", "main-config"), "");
  EXPECT_THAT(
      ConditionOf(plan, "Degraded"),
      StartsWith("True ReferenceInvalid: ConfigMap slurm/scripts, named in spec.epilogSlurmctldScriptRefs, has a file "
                 "\"2-note\" that does not begin with #!: as a script of Slurm it would fail for every job"));
  controller.spec.epilog_slurmctld_script_refs.clear();
  controller.spec.config_file_refs = {{"scripts"}};
  EXPECT_THAT(SlurmConf(Look()), Not(IsEmpty())) << "as another file it may be what it likes";
  controller.spec.epilog_slurmctld_script_refs = {{"scripts"}};
  world.Answer("configmap slurm/scripts", files({}));
  EXPECT_THAT(SlurmConf(Look()), HasSubstr("EpilogSlurmctld=/etc/slurm/2-note"));
}

TEST_F(ControllerTest, RefusedFirstConfigurationStartsNothing) {
  HaveKeys();
  controller.spec.extra_conf = "nonsense";
  const plan::Plan plan = Look();
  EXPECT_EQ(BodyOf(plan, "ConfigMap", "main-config"), "");
  EXPECT_EQ(BodyOf(plan, "StatefulSet", "main-controller"), "");
  EXPECT_FALSE(plan.children_complete);
}

TEST_F(ControllerTest, AccountingIsNeverDroppedSilently) {
  HaveKeys();
  api::Accounting accounting;
  accounting.metadata.name = "db";
  world.Put(accounting);
  controller.spec.accounting_ref = {"db"};
  EXPECT_THAT(SlurmConf(Look()), HasSubstr("AccountingStorageHost=db-accounting\nAccountingStoragePort=6819\n"));

  accounting.spec.external = true;
  world.Put(accounting);
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), StartsWith("True ReferenceInvalid: Accounting slurm/db"));
  accounting.spec.external_config = {"db.example.com", 7819};
  world.Put(accounting);
  const plan::Plan with = Look();
  EXPECT_THAT(SlurmConf(with), HasSubstr("AccountingStorageHost=db.example.com\nAccountingStoragePort=7819\n"));
  Applied(with);

  controller.spec.accounting_ref = {"gone"};
  const plan::Plan plan = Look();
  EXPECT_EQ(BodyOf(plan, "ConfigMap", "main-config"), "");
  EXPECT_FALSE(plan.children_complete);
  EXPECT_THAT(ConditionOf(plan, "Degraded"),
              HasSubstr("Accounting slurm/gone, named in spec.accountingRef, does not exist"));
}

TEST_F(ControllerTest, AccountingMayBeTurnedOnAndOffWhileItRuns) {
  HaveKeys();
  const plan::Plan without = Look();
  Applied(without);
  api::Accounting accounting;
  accounting.metadata.name = "db";
  world.Put(accounting);
  controller.spec.accounting_ref = {"db"};
  // slurmctld ended at its start, for want of associations, until slurmdbd was there.
  const plan::Plan early = Look();
  EXPECT_EQ(SlurmConf(early), "");
  EXPECT_EQ(BodyOf(early, "StatefulSet", "main-controller"), BodyOf(without, "StatefulSet", "main-controller"));
  EXPECT_FALSE(early.children_complete);
  EXPECT_THAT(ConditionOf(early, "Progressing"),
              HasSubstr("WaitingForSlurmdbd: accounting is turned on, and other changes "
                        "of slurm.conf with it, once slurmdbd of Accounting slurm/db "));
  StatefulSet slurmdbd;
  slurmdbd.metadata.name = "db-accounting";
  slurmdbd.status.ready_replicas = 1;
  world.Put(slurmdbd);
  const plan::Plan with = Look();
  EXPECT_THAT(SlurmConf(with), HasSubstr("AccountingStorageType=accounting_storage/slurmdbd\n"));
  EXPECT_EQ(PodAnnotation(with, kHashSlurmConfig), PodAnnotation(without, kHashSlurmConfig)) << "it is reconfigured";
  EXPECT_TRUE(with.children_complete);
  Applied(with);
  controller.spec.accounting_ref.reset();
  EXPECT_EQ(BodyOf(Look(), "StatefulSet", "main-controller"), BodyOf(without, "StatefulSet", "main-controller"));
  EXPECT_EQ(BodyOf(Look(), "ConfigMap", "main-config"), BodyOf(without, "ConfigMap", "main-config"));
  controller.spec.accounting_ref = {"db"};
  controller.spec.extra_conf = "AccountingStorageEnforce=associations\n";
  Applied(Look());
  controller.spec.accounting_ref.reset();
  const plan::Plan refused = Look();
  EXPECT_EQ(SlurmConf(refused), "") << "slurmctld would not start again";
  EXPECT_FALSE(refused.children_complete);
  EXPECT_THAT(ConditionOf(refused, "Degraded"),
              HasSubstr("AccountingStorageEnforce=associations of spec.extraConf needs"));
}

TEST_F(ControllerTest, TwoClustersOfOneNameInOneAccountingAreNotMixed) {
  HaveKeys();
  api::Accounting accounting;
  accounting.metadata.name = "db";
  world.Put(accounting);
  controller.spec.accounting_ref = {"db"};
  controller.spec.cluster_name = "hpc";
  controller.metadata.creation_timestamp = ParseRfc3339("2026-01-02T00:00:00Z");
  api::Controller other = controller;
  other.metadata = {.name = "other", .creation_timestamp = ParseRfc3339("2026-01-01T00:00:00Z")};
  world.Put(other);
  const plan::Plan plan = Look();
  EXPECT_THAT(SlurmConf(plan), IsEmpty());
  EXPECT_FALSE(plan.children_complete) << "one that runs already stays";
  EXPECT_EQ(BodyOf(plan, "StatefulSet", "main-controller"), "");
  EXPECT_THAT(ConditionOf(plan, "Degraded"),
              StartsWith("True NameConflict: Controller other, which is older, has the ClusterName hpc in Accounting "
                         "slurm/db too; give this one another spec.clusterName"));
  other.metadata.creation_timestamp = ParseRfc3339("2026-01-03T00:00:00Z");
  world.Put(other);
  EXPECT_THAT(SlurmConf(Look()), Not(IsEmpty())) << "the younger one gives way";
  other.metadata.creation_timestamp = ParseRfc3339("2026-01-01T00:00:00Z");
  other.spec.cluster_name = "another";
  world.Put(other);
  EXPECT_THAT(SlurmConf(Look()), Not(IsEmpty()));
  other.spec.cluster_name = "HPC";
  other.spec.accounting_ref = {"db2"};
  world.Put(other);
  EXPECT_THAT(SlurmConf(Look()), Not(IsEmpty()));
}

// A SlurmCluster main in each of two namespaces, with the site's database: two slurmdbds, and one set of tables.
TEST_F(ControllerTest, TwoClustersOfOneNameInOneDatabaseAreNotMixed) {
  HaveKeys();
  const auto accounting = [&](std::string ns, std::string host, std::string database) {
    api::Accounting made{.metadata = {.name = "db", .namespace_ = std::move(ns)}};
    made.spec.storage_config = api::StorageConfig{.host = std::move(host), .database = std::move(database)};
    world.Put(made);
  };
  accounting("slurm", "MariaDB.databases.", "slurm_acct_db");
  accounting("second", "mariadb.databases.svc.cluster.local", "slurm_acct_db");
  controller.spec.accounting_ref = {"db"};
  controller.spec.cluster_name = "hpc";
  controller.metadata.creation_timestamp = ParseRfc3339("2026-01-02T00:00:00Z");
  api::Controller other = controller;
  other.metadata = {.name = "main", .namespace_ = "second", .creation_timestamp = ParseRfc3339("2026-01-01T00:00:00Z")};
  world.Put(other);
  const plan::Plan plan = Look();
  EXPECT_THAT(SlurmConf(plan), IsEmpty());
  EXPECT_THAT(ConditionOf(plan, "Degraded"),
              StartsWith("True NameConflict: Controller second/main, which is older, has the ClusterName hpc in "
                         "Accounting second/db, whose tables are the same (database slurm_acct_db at "
                         "mariadb.databases:3306)"));
  accounting("second", "mariadb.databases", "other");
  EXPECT_THAT(SlurmConf(Look()), Not(IsEmpty()));
  for (const std::string ns : {"slurm", "second"}) accounting(ns, "mariadb", "slurm_acct_db");
  EXPECT_THAT(SlurmConf(Look()), Not(IsEmpty())) << "each namespace has its own";
}

// Two slurmctld of one ClusterName would write one folder of state, each over the other's jobs.
TEST_F(ControllerTest, TwoClustersOfOneNameOnOneClaimAreNotMixed) {
  HaveKeys();
  controller.spec.persistence = api::Persistence();
  controller.spec.persistence->existing_claim = "state";
  controller.spec.cluster_name = "hpc";
  controller.metadata.creation_timestamp = ParseRfc3339("2026-01-02T00:00:00Z");
  api::Controller other = controller;
  other.metadata = {.name = "other", .namespace_ = "slurm", .creation_timestamp = ParseRfc3339("2026-01-01T00:00:00Z")};
  world.Put(other);
  const plan::Plan plan = Look();
  EXPECT_EQ(BodyOf(plan, "StatefulSet", "main-controller"), "");
  EXPECT_THAT(
      ConditionOf(plan, "Degraded"),
      StartsWith(
          "True NameConflict: Controller other, which is older, has the ClusterName hpc on claim slurm/state too"));
  other.spec.cluster_name = "another";
  world.Put(other);
  EXPECT_THAT(SlurmConf(Look()), Not(IsEmpty())) << "another name is another folder";
  other.spec.cluster_name = "hpc";
  other.spec.persistence->existing_claim = "elsewhere";
  world.Put(other);
  EXPECT_THAT(SlurmConf(Look()), Not(IsEmpty()));
}

TEST_F(ControllerTest, FilesThatTheOperatorWritesAreNotTakenFromOthers) {
  HaveKeys();
  Applied(Look());
  const auto refused = [&](const std::string& file) {
    world.Files("files", {"gres.conf", file});
    const plan::Plan plan = Look();
    if (!plan.children_complete) EXPECT_EQ(BodyOf(plan, "ConfigMap", "main-config"), "") << file;
    const std::string start =
        "True FileRefused: ConfigMap slurm/files, named in the Controller's file or script "
        "references, contains " +
        file;
    return !plan.children_complete && ConditionOf(plan, "Degraded").starts_with(start);
  };
  controller.spec.config_file_refs = {{"files"}};
  for (const char* file : {"slurm.conf", "slurmdbd.conf", "slurm.key", "jwt.key"}) EXPECT_TRUE(refused(file)) << file;
  EXPECT_FALSE(refused("jwks.json")) << "it is the user's, as there is no jwksKeyRef";
  EXPECT_FALSE(refused("topology.yaml"));
  controller.spec.config_file_refs.clear();
  controller.spec.epilog_script_refs = {{"files"}};
  EXPECT_TRUE(refused("slurm.key")) << "scripts are put into the same folder";
  controller.spec.jwks_key_ref = {.name = "jwks", .key = "keys.json"};
  EXPECT_TRUE(refused("jwks.json"));
}

// slurmctld did not start with the partitions of both.
TEST_F(ControllerTest, OfTwoNodeSetsWithOneNameInSlurmTheElderIsWritten) {
  HaveKeys();
  for (const char* name : {"a", "b"}) {
    api::NodeSet set;
    set.metadata = {.name = name, .namespace_ = "slurm", .uid = name};
    set.metadata.creation_timestamp = Time(name == std::string("a") ? 20s : 10s);
    set.spec.controller_ref.name = "main";
    set.spec.pod_template.spec.text = R"({"hostname":"gpu-"})";
    set.spec.partition = api::NodeSetPartition{true, "Default=" + std::string(name == std::string("a") ? "NO" : "YES")};
    world.Put(set);
  }
  const plan::Plan plan = Look();
  EXPECT_THAT(SlurmConf(plan), HasSubstr("NodeSet=gpu Feature=gpu\nPartitionName=gpu Nodes=gpu Default=YES\n"));
  EXPECT_THAT(SlurmConf(plan), Not(HasSubstr("Default=NO")));
  EXPECT_THAT(ConditionOf(plan, "Degraded"), StartsWith("True NameConflict: "));
  EXPECT_THAT(ConditionOf(plan, "Degraded"),
              HasSubstr("NodeSet a is left out of slurm.conf: its name there, gpu, meets that of the older NodeSet b"));
}

// slurmctld ended at its next reconfigure, and did not start again: "NodeSet with name cpu-2 overlaps with an existing NodeName".
TEST_F(ControllerTest, ANodeSetThatIsCalledAsAWorkerOfAnotherIsLeftOutOfSlurmConf) {
  HaveKeys();
  const auto put = [&](std::string name, int replicas) {
    world.Put(api::NodeSet{.metadata = {.name = std::move(name), .namespace_ = "slurm"},
                           .spec = {.controller_ref = {.name = "main"}, .replicas = replicas}});
  };
  put("cpu", 3);
  put("cpu-2", 1);
  const auto has = [&] { return SlurmConf(Look()).contains("NodeSet=cpu-2 "); };
  EXPECT_FALSE(has());
  EXPECT_THAT(ConditionOf(Look(), "Degraded"),
              StartsWith("True NameConflict: NodeSet cpu-2 is left out of slurm.conf: its name there, cpu-2, is that "
                         "of a worker of NodeSet cpu"));
  put("cpu", 2);
  EXPECT_TRUE(has());
  world.Nodes("slurm/main", {{.name = "cpu-2"}});
  EXPECT_FALSE(has()) << "Slurm has a record of it";
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), HasSubstr("cpu-2, is that of a node of Slurm"));
  world.Nodes("slurm/main", {});
  Applied(Look());
  put("cpu", 3);
  EXPECT_TRUE(has()) << "it was there before: the worker is not made";
}

// In the seconds until slurmctld reads it a worker of that name may have registered: it goes again, and so does its line among the
// partitions that jobs may name.
TEST_F(ControllerTest, APublishedNodeSetThatIsANodeIsTakenBackWithItsPartition) {
  HaveKeys();
  api::NodeSet set{.metadata = {.name = "cpu-2", .namespace_ = "slurm"}, .spec = {.controller_ref = {.name = "main"}}};
  set.spec.partition = {.enabled = true, .config = ""};
  world.Put(set);
  Applied(Look());
  world.Nodes("slurm/main", {{.name = "cpu-2"}});
  const std::string conf = SlurmConf(Look());
  EXPECT_THAT(conf, Not(HasSubstr("NodeSet=cpu-2")));
  EXPECT_THAT(conf, HasSubstr("PartitionName=cpu-2 State=DRAIN")) << "its jobs live";
}

TEST_F(ControllerTest, WorkersThatAreNotCalledSoClashWithNoNodeSet) {
  HaveKeys();
  const auto put = [&](std::string name, std::string pod_spec = "") {
    api::NodeSet set{.metadata = {.name = std::move(name), .namespace_ = "slurm"},
                     .spec = {.controller_ref = {.name = "main"}, .replicas = 3}};
    set.spec.pod_template.spec.text = std::move(pod_spec);
    world.Put(set);
  };
  put("cpu", R"({"hostNetwork":true})");
  put("cpu-2");
  put("rack");
  put("rack-01");
  const std::string conf = SlurmConf(Look());
  EXPECT_THAT(conf, HasSubstr("NodeSet=cpu-2 ")) << "called as their machines";
  EXPECT_THAT(conf, HasSubstr("NodeSet=rack-01 ")) << "without padding none is called so";
}

TEST_F(ControllerTest, ANewNodeSetThatMayBeANodeWaitsForSlurm) {
  HaveKeys();
  world.Put(api::NodeSet{.metadata = {.name = "cpu", .namespace_ = "slurm"},
                         .spec = {.controller_ref = {.name = "main"}, .replicas = 1}});
  Applied(Look());
  world.Put(api::NodeSet{.metadata = {.name = "cpu-2", .namespace_ = "slurm"},
                         .spec = {.controller_ref = {.name = "main"}, .replicas = 1}});
  const auto has = [&] { return SlurmConf(Look()).contains("NodeSet=cpu-2 "); };
  EXPECT_FALSE(has()) << "slurmctld runs, and may have a cpu-2 of before";
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), HasSubstr("SlurmUnreachable: NodeSet cpu-2 is left out of slurm.conf"));
  world.Nodes("slurm/main", {});
  EXPECT_TRUE(has());
}

TEST_F(ControllerTest, ALineOfTheUsersForANodeSetThatIsANodeIsNotPublished) {
  HaveKeys();
  Applied(Look());
  world.Nodes("slurm/main", {{.name = "w-1"}});
  controller.spec.extra_conf = "nodeset=w-1 Feature=a";
  const plan::Plan plan = Look();
  EXPECT_THAT(
      ConditionOf(plan, "Degraded"),
      HasSubstr("NameConflict: the configuration is not published: the name of NodeSet=w-1 in spec.extraConf is "
                "that of a node of Slurm"));
  EXPECT_FALSE(plan.children_complete);
  EXPECT_EQ(BodyOf(plan, "ConfigMap", "main-config"), "");
}

TEST_F(ControllerTest, MoreWorkersThanSlurmTakesAreTold) {
  HaveKeys();
  api::NodeSet set{.metadata = {.name = "big", .namespace_ = "slurm"}, .spec = {.controller_ref = {.name = "main"}}};
  set.spec.replicas = 1024;
  world.Put(set);
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), StartsWith("False"));
  world.Put(api::NodeSet{.metadata = {.name = "small", .namespace_ = "slurm"},
                         .spec = {.controller_ref = {.name = "main"}, .replicas = 1}});
  EXPECT_THAT(ConditionOf(Look(), "Degraded"),
              StartsWith("True ConfigDoubtful: the NodeSets ask for 1025 workers, and slurmctld takes 1024 nodes"));
  controller.spec.extra_conf = "MaxNodeCount=2000";
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), StartsWith("False"));
}

TEST_F(ControllerTest, NodeSetsAreWrittenByName) {
  HaveKeys();
  for (const auto& [name, hostname] : {std::pair("b", "gpu-"), std::pair("a", "")}) {
    api::NodeSet set;
    set.metadata.name = name;
    set.spec.controller_ref.name = "main";
    if (*hostname) set.spec.pod_template.spec.text = R"({"hostname":"gpu-"})";
    set.spec.partition = api::NodeSetPartition{true, "State=UP"};
    world.Put(set);
  }
  EXPECT_THAT(SlurmConf(Look()), HasSubstr("NodeSet=a Feature=a\nPartitionName=a Nodes=a State=UP\n"
                                           "NodeSet=gpu Feature=gpu\nPartitionName=gpu Nodes=gpu State=UP\n"));
}

TEST_F(ControllerTest, ANodeSetWithSshHasContainersOfJobsMade) {
  HaveKeys();
  api::NodeSet set;
  set.metadata.name = "a";
  set.spec.controller_ref.name = "main";
  world.Put(set);
  EXPECT_THAT(SlurmConf(Look()), Not(HasSubstr("PrologFlags")));
  set.spec.ssh = api::NodeSetSsh{.enabled = true, .sssd_conf_ref = {.name = "sssd", .key = "sssd.conf"}};
  world.Put(set);
  const std::string conf = SlurmConf(Look());
  EXPECT_THAT(conf, HasSubstr("PrologFlags=contain\n"));
  set.spec.ssh->extra_sshd_config = "X11Forwarding yes";
  world.Put(set);
  EXPECT_EQ(SlurmConf(Look()), conf) << "what sshd reads is no reason to start slurmctld anew";
}

// slurmctld was started with a JWKS file that is not there, or that it cannot read, and ended.
TEST_F(ControllerTest, AJwksFileThatIsMissingOrBrokenStartsNothingAndIsNamed) {
  HaveKeys();
  controller.spec.jwks_key_ref = {.name = "jwks", .key = "keys.json"};
  EXPECT_EQ(BodyOf(Look(), "StatefulSet", "main-controller"), "") << "not looked at yet";
  world.Absent("jwks slurm/jwks keys.json");
  EXPECT_THAT(ConditionOf(Look(), "Degraded"),
              HasSubstr("ConfigMap slurm/jwks, named in spec.jwksKeyRef, does not exist; create it"));
  HaveJwks("has no list \"keys\" in \"keys.json\", as a JWKS file has");
  plan::Plan plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Degraded"),
              StartsWith("True ReferenceInvalid: ConfigMap slurm/jwks, named in spec.jwksKeyRef, has no list"));
  EXPECT_EQ(BodyOf(plan, "StatefulSet", "main-controller"), "");
  HaveJwks("");
  plan = Look();
  EXPECT_THAT(SlurmConf(plan), HasSubstr("jwks=/etc/slurm/jwks.json"));
  EXPECT_NE(BodyOf(plan, "StatefulSet", "main-controller"), "");
}

// The schema sees a clusterName that is given, and not the namespace of one that is derived.
TEST_F(ControllerTest, AClusterNameOfMoreThan40BytesIsRefusedUnlessItRuns) {
  HaveKeys();
  controller.spec.cluster_name = std::string(40, 'x');
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), StartsWith("False"));
  controller.spec.cluster_name = std::string(41, 'x');
  plan::Plan plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Degraded"), StartsWith("True ClusterNameTooLong: the ClusterName xxx"));
  EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("is 41 bytes long"));
  EXPECT_EQ(BodyOf(plan, "ConfigMap", "main-config"), "");
  EXPECT_EQ(BodyOf(plan, "StatefulSet", "main-controller"), "");
  world.Put(StatefulSet{.metadata = {.name = "main-controller"}});
  plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Degraded"), StartsWith("True ClusterNameTooLong: "));
  EXPECT_THAT(SlurmConf(plan), HasSubstr("ClusterName=" + controller.spec.cluster_name));
}

// The definition took it, and slurmctld was started anew, with another folder for its state.
TEST_F(ControllerTest, AClusterThatHasANameKeepsIt) {
  HaveKeys();
  plan::Plan plan = Look();
  const std::string conf = SlurmConf(plan), pods = BodyOf(plan, "StatefulSet", "main-controller");
  EXPECT_THAT(conf, HasSubstr("ClusterName=slurm_main\n"));
  Applied(plan);
  controller.spec.cluster_name = "slurm_main";
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), StartsWith("False ")) << "it is the name that it has";
  controller.spec.cluster_name = "other_main";
  plan = Look();
  EXPECT_EQ(ConditionOf(plan, "Degraded"),
            "True InvalidSpec: the ClusterName would change from slurm_main to other_main, and slurmctld would refuse "
            "its state; it stays slurm_main. Set spec.clusterName to that");
  EXPECT_EQ(SlurmConf(plan), conf);
  EXPECT_EQ(BodyOf(plan, "StatefulSet", "main-controller"), pods);
  controller.spec.extra_conf = "ReturnToService=2";
  EXPECT_THAT(SlurmConf(Look()), AllOf(HasSubstr("ClusterName=slurm_main\n"), HasSubstr("ReturnToService=2\n")))
      << "all else is published";
}

// What extraConf sets wins, and slurmctld was started with another folder for its state.
TEST_F(ControllerTest, AnotherClusterNameInExtraConfIsRefusedUnlessItIsInForce) {
  HaveKeys();
  plan::Plan plan = Look();
  const std::string conf = SlurmConf(plan);
  Applied(plan);
  controller.spec.extra_conf = "clustername=Slurm_Main\n";
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), StartsWith("False ")) << "it is the name that it has";
  controller.spec.extra_conf = "ClusterName=hpc\n";
  EXPECT_THAT(ConditionOf(Look(), "Degraded"),
              StartsWith("True InvalidSpec: spec.extraConf has ClusterName=hpc, and the cluster is called slurm_main"));
  auto config = json::Decode<ConfigMap>(BodyOf(plan, "ConfigMap", "main-config"));
  config->data.slurm_conf += "ClusterName=hpc\n";  // by another operator, that let it through
  world.Put(*config);
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), StartsWith("False "));
  config->metadata.owner_references.clear();  // of a Controller that was deleted with --cascade=orphan, and made again
  world.Put(*config);
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), StartsWith("False "));
  config->metadata.owner_references = {{.kind = "Controller", .name = "main", .uid = "another", .controller = true}};
  world.Put(*config);
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), StartsWith("True InvalidSpec: spec.extraConf has ClusterName=hpc"));
}

// Somebody's edit is no name that a cluster has.
TEST_F(ControllerTest, AClusterNameThatTheOperatorDidNotPublishDoesNotCount) {
  HaveKeys();
  const plan::Plan plan = Look();
  auto config = json::Decode<ConfigMap>(BodyOf(plan, "ConfigMap", "main-config"));
  ASSERT_TRUE(config);
  config->data.slurm_conf.replace(config->data.slurm_conf.find("slurm_main"), 10, "edited");
  world.Put(*config);
  EXPECT_EQ(SlurmConf(Look()), SlurmConf(plan));
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), StartsWith("False "));
}

// The reference says so; the Service had port 0, which the API server refuses.
TEST_F(ControllerTest, PortZeroIsTheDaemonsOwn) {
  HaveKeys();
  controller.spec.service.port = 0;
  EXPECT_THAT(BodyOf(Look(), "Service", "main-controller"), HasSubstr(R"("port":6817)"));
  controller.spec.external = true;
  controller.spec.external_config = {"head.example.com", 0};
  EXPECT_THAT(SlurmConf(Look()), HasSubstr("SlurmctldPort=6817\n"));
}

}  // namespace
}  // namespace capstan::op::controller
