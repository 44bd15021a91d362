#include "operator/slurmcluster/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/slurmcluster/contract.h"
#include "operator/slurmcluster/decide_test.h"
#include "operator/testing/golden.h"

namespace capstan::op::slurmcluster {
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

TEST_F(SlurmClusterTest, TheSmallOneIsPinned) {
  const plan::Plan plan = Look();
  EXPECT_TRUE(plan.children_complete);
  EXPECT_THAT(ChildNames(plan), ElementsAre("Controller main", "RestApi main", "NodeSet main-worker-cpu"));
  for (const plan::Child& child : plan.children)
    test::ExpectGoldenJson("slurmcluster", "small-" + std::string(child.resource->kind) + ".json", child.body);
}

TEST_F(SlurmClusterTest, EverythingIsPinned) {
  const auto decoded = json::Decode<api::SlurmClusterSpec>(R"({
    "clusterName": "hpc",
    "images": {"prefix": "registry.example.org/hpc", "version": "26.05.5", "pullSecrets": [{"name": "hub"}]},
    "placements": [{"name": "gpu", "nodeSelector": {"pool": "gpu"},
                    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}], "affinity": {"nodeAffinity": {}}}],
    "config": {"slurmConf": {"DefMemPerCPU": 2000, "PreemptType": "preempt/none", "Licenses": ["a:1", "b:2"],
                             "DisableRootJobs": false, "Epilog": "", "JobSubmitPlugins": null},
               "extraConf": "# a person's\nMaxArraySize=100", "files": {"gres.conf": "AutoDetect=nvidia"},
               "prolog": {"10-mine.sh": "#!/bin/sh\n"}, "epilogSlurmctld": {"e": "#!/bin/sh\n"}},
    "partitions": [{"name": "main", "nodeSets": ["gpu", "cpu"], "config": "Default=YES MaxTime=1-0"}, {"name": "every"}],
    "controller": {"placement": "gpu", "spec": {"extraConf": "Weird=1", "configFileRefs": [{"name": "theirs"}],
                                               "persistence": {"enabled": true, "resources": {"requests": {"storage": "8Gi"}}}}},
    "restApi": {"replicas": 2, "spec": {"service": {"port": 8080}}},
    "accounting": {"database": {"embedded": {"size": "20Gi"}}, "placement": "gpu"},
    "login": {"replicas": 2, "authorizedKeys": "ssh-ed25519 AAAA admin", "drainCap": "12h",
              "service": {"nodePort": 30022, "annotations": {"a": "b"}},
              "spec": {"login": {"env": [{"name": "LANG", "value": "C"}]}}},
    "nodeSets": [{"name": "cpu"},
                 {"name": "gpu", "replicas": 8, "placement": "gpu", "features": ["h100", "big"], "gres": "gpu:h100:8",
                  "resources": {"cpu": 128, "memory": "1000Gi", "nvidia.com/gpu": 8},
                  "partition": {"config": "MaxTime=INFINITE"},
                  "spec": {"extraConf": "Weight=2", "minReadySeconds": 5, "slurmd": {"args": ["-v"]},
                           "template": {"spec": {"tolerations": [{"key": "mine", "operator": "Exists"}]}}}}]})");
  ASSERT_TRUE(decoded) << decoded.error().message();
  cluster.spec = *decoded;
  const plan::Plan plan = Look();
  EXPECT_TRUE(plan.children_complete) << ConditionOf(plan, "Degraded");
  EXPECT_THAT(ChildNames(plan),
              ElementsAre("ConfigMap main-files", "ConfigMap main-prolog", "ConfigMap main-epilog-slurmctld",
                          "Controller main", "RestApi main", "Accounting main", "LoginSet main-login",
                          "NodeSet main-worker-cpu", "NodeSet main-worker-gpu"));
  for (const plan::Child& child : plan.children)
    test::ExpectGoldenJson(
        "slurmcluster", "everything-" + child.key.name + "-" + std::string(child.resource->kind) + ".json", child.body);
}

// Each is one sentence, what is there stays, and all else is made.
TEST_F(SlurmClusterTest, WhatCannotBeMadeIsSaidAndStaysAsItIs) {
  const api::SlurmCluster good = cluster;
  const struct {
    std::string_view spec, said;
  } cases[] = {
      {R"({"controller":{"placement":"gpu"}})",
       R"(spec.controller.placement is "gpu", which spec.placements does not name)"},
      {R"({"partitions":[{"name":"p","nodeSets":["x"]}]})",
       R"(spec.partitions[p].nodeSets names "x", which is not in spec.nodeSets)"},
      {R"({"partitions":[{"name":"p","config":"Default"}]})", "spec.partitions[p].config"},
      {R"({"config":{"slurmConf":{"A B":1}}})", R"(spec.config.slurmConf: "A B" is not the name of an option)"},
      {R"({"config":{"slurmConf":{"A":"1\nPartitionName=evil"}}})", "spec.config.slurmConf.A: "},
      {R"({"config":{"slurmConf":{"A":{"b":1}}}})", "spec.config.slurmConf.A is an object, must be text"},
      {R"({"config":{"slurmConf":{"A":[["b"]]}}})", "spec.config.slurmConf.A is a list of lists"},
      {R"({"config":{"extraConf":"A=1\\"}})", "spec.config.extraConf"},
      {R"({"config":{"files":{"../etc/passwd":"x"}}})",
       R"(spec.config.files: "../etc/passwd" is not the name of a file: letters, digits)"},
      {R"({"controller":{"spec":{"clusterName":"x"}}})",
       "spec.controller.spec.clusterName is not for a part: the SlurmCluster says it elsewhere, or of itself"},
      {R"({"restApi":{"spec":{"controllerRef":{"name":"x"}}}})", "spec.restApi.spec.controllerRef is not for a part"},
      {R"({"nodeSets":[{"name":"cpu","spec":{"replicas":7}}]})", "spec.nodeSets[cpu].spec.replicas is not for a part"},
      {R"({"nodeSets":[{"name":"cpu","spec":{"template":{"spec":{"containers":[{"image":"x"}]}}}}]})",
       "spec.nodeSets[cpu].spec"},
      {R"({"login":{"spec":{"sssdConfRef":{"name":"x"}}}})", "spec.login.spec.sssdConfRef is not for a part"},
      {R"({"nodeSets":[{"name":"cpu","spec":{"extraConf":5}}]})", "spec.nodeSets[cpu].spec.extraConf must be text"},
      {R"({"controller":{"spec":{"configFileRefs":{"name":"x"}}}})",
       "spec.controller.spec.configFileRefs must be a list"},
      {R"({"accounting":{"database":{"embedded":{"size":"1Gi"}},"spec":{"jwtKeyRef":{}}}})",
       "spec.accounting.spec.jwtKeyRef is not for a part"},
  };
  for (const auto& c : cases) {
    const auto spec = json::Decode<api::SlurmClusterSpec>(c.spec);
    ASSERT_TRUE(spec) << c.spec << spec.error().message();
    cluster = good;
    cluster.spec = *spec;
    const plan::Plan plan = Look();
    EXPECT_THAT(ConditionOf(plan, "Degraded"), StartsWith("True InvalidSpec: " + std::string(c.said))) << c.spec;
    EXPECT_FALSE(plan.children_complete) << c.spec;
    EXPECT_THAT(plan.children, Not(IsEmpty())) << c.spec;
    EXPECT_EQ(Phase(plan), "Degraded");
  }
}

TEST_F(SlurmClusterTest, AClusterThatNamesNoPartitionHasOneOfAllNodes) {
  cluster.spec.node_sets[0].partition.reset();
  EXPECT_THAT(Body("Controller", "main"), HasSubstr(R"("extraConf":"PartitionName=all Nodes=ALL Default=YES\n")"));
  cluster.spec.partitions = {{.name = "p", .node_sets = {"cpu"}}};
  EXPECT_THAT(Body("Controller", "main"), HasSubstr(R"("extraConf":"PartitionName=p Nodes=cpu\n")"));
}

TEST_F(SlurmClusterTest, PartitionsOfTheUsersOwnLinesAreTheOnlyOnes) {
  cluster.spec.node_sets[0].partition.reset();
  cluster.spec.config.extra_conf = "PartitionName=DEFAULT MaxTime=1\nPartitionName=mine Nodes=ALL AllowGroups=us";
  EXPECT_THAT(Body("Controller", "main"), Not(HasSubstr("PartitionName=all")));
  cluster.spec.config.extra_conf = "PartitionName=DEFAULT MaxTime=1";
  EXPECT_THAT(Body("Controller", "main"), HasSubstr("PartitionName=all"));
  cluster.spec.controller.spec.text = R"({"extraConf":"partitionname=mine Nodes=ALL"})";
  EXPECT_THAT(Body("Controller", "main"), Not(HasSubstr("PartitionName=all")));
}

// slurmctld would not start with it.
TEST_F(SlurmClusterTest, APartitionOfASetThatCannotBeMadeIsNotNamed) {
  cluster.spec.partitions = {{.name = "p", .node_sets = {"cpu"}}};
  cluster.spec.node_sets[0].placement = "nowhere";
  const plan::Plan plan = Look();
  EXPECT_THAT(ChildNames(plan), ElementsAre("RestApi main"));
  EXPECT_EQ(ConditionOf(plan, "Degraded"),
            "True InvalidSpec: spec.nodeSets[cpu].placement is \"nowhere\", which spec.placements does not name");
}

// slurmctld would keep records for a slurmdbd that is gone.
TEST_F(SlurmClusterTest, WhatTheControllerStillNamesIsNotTakenAway) {
  HaveParts();
  EXPECT_TRUE(Look().children_complete);
  api::Controller controller = Part<api::Controller>("main");
  controller.spec.accounting_ref = {"main"};
  world.Put(controller);
  EXPECT_FALSE(Look().children_complete);
  controller.spec.accounting_ref.reset();
  controller.spec.epilog_script_refs = {{"main-epilog"}};
  world.Put(controller);
  EXPECT_FALSE(Look().children_complete);
  cluster.spec.config.epilog = {{"e", "#!/bin/sh\n"}};
  EXPECT_TRUE(Look().children_complete);
}

TEST_F(SlurmClusterTest, AWriteThatFailsIsInThePhase) {
  HaveParts();
  world.failures = {{.verb = "apply",
                     .target = "NodeSet slurm/main-worker-cpu",
                     .code = Code::kAlreadyExists,
                     .message = "NodeSet slurm/main-worker-cpu is not ours",
                     .reason = "NameConflict"}};
  const plan::Plan plan = Look();
  EXPECT_EQ(Phase(plan), "Degraded");
  EXPECT_EQ(ConditionOf(plan, "Degraded"), "True NameConflict: NodeSet slurm/main-worker-cpu is not ours");
}

// The API server lets nobody write it where it was not written from the start.
TEST_F(SlurmClusterTest, TheNameThatAControllerHasByItselfIsNotWritten) {
  cluster.spec.cluster_name = "slurm_main";
  EXPECT_THAT(Body("Controller", "main"), Not(HasSubstr("clusterName")));
  cluster.spec.cluster_name = "hpc";
  EXPECT_THAT(Body("Controller", "main"), HasSubstr(R"("clusterName":"hpc")"));
}

// A part's own host name is what Slurm calls the set.
TEST_F(SlurmClusterTest, PartitionsNameSetsAsSlurmDoes) {
  cluster.spec.partitions = {{.name = "p", .node_sets = {"cpu"}}};
  cluster.spec.node_sets[0].spec.text = R"({"template":{"spec":{"hostname":"old-"}}})";
  EXPECT_THAT(Body("Controller", "main"), HasSubstr("PartitionName=p Nodes=old\\n"));
  EXPECT_THAT(Body("NodeSet", "main-worker-cpu"), HasSubstr(R"("hostname":"old-")"));
}

// Another number is an autoscaler's.
TEST_F(SlurmClusterTest, ReplicasAreWrittenOnlyWhereTheyAreGiven) {
  EXPECT_THAT(Body("NodeSet", "main-worker-cpu"), Not(HasSubstr("replicas")));
  EXPECT_THAT(Look().children.back().keeps, ElementsAre("spec/replicas"));
  cluster.spec.node_sets[0].replicas = 0;
  EXPECT_THAT(Body("NodeSet", "main-worker-cpu"), HasSubstr(R"("replicas":0)"));
}

TEST_F(SlurmClusterTest, KeysOfTheUsersAreUsedByAllAndNeverMade) {
  cluster.spec.accounting = {{.database = {.embedded = {{.size = "1Gi"}}}}};
  EXPECT_THAT(Body("Controller", "main"), HasSubstr(R"("capstan.dev/generate-keys":"true")"));
  cluster.spec.controller.spec.text = R"({"slurmKeyRef":{"name":"mine","key":"k"}})";
  EXPECT_THAT(Body("Controller", "main"), HasSubstr(R"("capstan.dev/generate-keys":"jwt")"));
  for (const char* kind : {"Controller", "Accounting"}) {
    EXPECT_THAT(Body(kind, "main"), HasSubstr(R"("slurmKeyRef":{"key":"k","name":"mine"})"));
    EXPECT_THAT(Body(kind, "main"), HasSubstr(R"("jwtKeyRef":{"key":"jwt.key","name":"main-auth-jwt"})"));
  }
  cluster.spec.controller.spec.text =
      R"({"slurmKeyRef":{"name":"mine","key":"k"},"jwtHs256KeyRef":{"name":"old","key":"j"}})";
  EXPECT_THAT(Body("Controller", "main"), Not(HasSubstr("generate-keys")));
  EXPECT_THAT(Body("Accounting", "main"), HasSubstr(R"("jwtKeyRef":{"key":"j","name":"old"})"));
}

TEST_F(SlurmClusterTest, LoginsWithoutAnSssdConfGetOneThatKnowsNobody) {
  cluster.spec.login.emplace();
  world.Absent("secret slurm/main-sssd-conf");
  EXPECT_THAT(ActionNames(Look()), ElementsAre("create Secret slurm/main-sssd-conf"));
  EXPECT_THAT(Body("LoginSet", "main-login"),
              HasSubstr(R"("sssdConfRef":{"key":"sssd.conf","name":"main-sssd-conf"})"));
  cluster.spec.login->sssd_conf_ref = {.name = "people", .key = "sssd.conf"};
  EXPECT_THAT(Look().actions, IsEmpty());
  EXPECT_THAT(Body("LoginSet", "main-login"), HasSubstr(R"("sssdConfRef":{"key":"sssd.conf","name":"people"})"));
}

TEST_F(SlurmClusterTest, PausedNothingIsWrittenButItsOwnStatusAndFinalizer) {
  cluster.spec.paused = true;
  cluster.spec.deletion_policy = "Drain";
  cluster.spec.login.emplace();
  world.Absent("secret slurm/main-sssd-conf");
  const plan::Plan plan = Look();
  EXPECT_THAT(plan.children, IsEmpty());
  EXPECT_THAT(ActionNames(plan), ElementsAre("add finalizer SlurmCluster slurm/main"))
      << "else its jobs would end with it";
  EXPECT_FALSE(plan.children_complete);
  EXPECT_EQ(Phase(plan), "Paused");
}

// Slurm says how many of them are wanted now.
TEST_F(SlurmClusterTest, WorkersOnDemandAreReadyThoughNoneRuns) {
  cluster.spec.node_sets[0].power = {.mode = "OnDemand", .idle = "5m"};
  EXPECT_EQ(
      json::FindText(*json::Parse(Body("NodeSet", "main-worker-cpu")), {"metadata", "annotations", kAnnotationPower}),
      "OnDemand idle=5m");
  HaveParts();
  api::NodeSet set = Part<api::NodeSet>("main-worker-cpu");
  set.spec.replicas = 3;
  world.Put(set);
  EXPECT_NE(Phase(Look()), "Ready") << "three are to run";
  set.metadata.annotations[std::string(kAnnotationPower)] = "OnDemand idle=5m";
  world.Put(set);
  EXPECT_EQ(Phase(Look()), "Ready");
  cluster.spec.node_sets[0].power = {.mode = "Always"};
  EXPECT_EQ(json::Find(*json::Parse(Body("NodeSet", "main-worker-cpu")), {"metadata", "annotations", kAnnotationPower}),
            nullptr);
}

TEST_F(SlurmClusterTest, LabelsOfTheTopologyAreAnAnnotationOfTheController) {
  constexpr auto labels = [](const std::string& body) {
    return std::string(json::FindText(*json::Parse(body), {"metadata", "annotations", kAnnotationTopologyLabels}));
  };
  EXPECT_EQ(labels(Body("Controller", "main")), "");
  cluster.spec.topology = {.labels = {"example.org/spine", "example.org/leaf"}};
  EXPECT_EQ(labels(Body("Controller", "main")), "example.org/spine,example.org/leaf");
}

TEST_F(SlurmClusterTest, StoppedWorkersAndLoginsAreToldAndNumbersStay) {
  cluster.spec.mode = "Stopped";
  cluster.spec.login.emplace().replicas = 2;
  for (const auto& [kind, name] : {std::pair{"NodeSet", "main-worker-cpu"}, std::pair{"LoginSet", "main-login"}})
    EXPECT_THAT(Body(kind, name), HasSubstr(R"("capstan.dev/stopped":"true")"));
  EXPECT_THAT(Body("LoginSet", "main-login"), HasSubstr(R"("replicas":2)"));
  EXPECT_THAT(Body("Controller", "main"), Not(HasSubstr("stopped")));
  HaveParts();
  world.Put(Part<api::LoginSet>("main-login"));
  EXPECT_EQ(Phase(Look()), "Stopping") << "workers are there";
  EXPECT_THAT(ConditionOf(Look(), "Ready"), StartsWith("False PartNotReady: ")) << "the parts speak of before";
  api::NodeSet set = Part<api::NodeSet>("main-worker-cpu");
  set.metadata.annotations[std::string(kAnnotationStopped)] = "true";
  world.Put(set);
  api::LoginSet login = Part<api::LoginSet>("main-login");
  login.metadata.annotations[std::string(kAnnotationStopped)] = "true";
  world.Put(login);
  PutLoginPod();
  EXPECT_EQ(Phase(Look()), "Stopping") << "somebody is logged in";
  PutLoginPod(false);
  EXPECT_EQ(Phase(Look()), "Stopped");
  cluster.spec.mode = "Run";
  EXPECT_THAT(Body("NodeSet", "main-worker-cpu"), Not(HasSubstr("stopped")));
  EXPECT_THAT(ConditionOf(Look(), "Ready"), StartsWith("False PartNotReady: ")) << "the parts speak of before";
}

TEST_F(SlurmClusterTest, IsReadyWhenAllPartsAre) {
  EXPECT_EQ(Phase(Look()), "Installing");
  HaveParts();
  plan::Plan plan = Look();
  EXPECT_EQ(ConditionOf(plan, "Ready"), "True Ready: 3 workers are ready, and so is all the rest");
  EXPECT_EQ(Phase(plan), "Ready");
  const json::Value status = *json::Parse(*plan.status);
  EXPECT_EQ(json::SerializeCanonical(*json::Find(status, {"nodes"})),
            R"({"allocated":0,"desired":3,"down":0,"drained":0,"idle":3,"ready":3})");
  EXPECT_EQ(json::FindText(status, {"endpoints", "rest"}), "http://main-restapi.slurm.svc.cluster.local.:6820");
  cluster.status.phase = "Ready";
  world.Put(Part<api::Controller>("main", "True", "True"));
  plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Ready"), StartsWith("False PartNotReady: Controller main: main says Progressing"));
  EXPECT_EQ(Phase(plan), "Updating");
}

// What it says of an older spec is not what is asked now.
TEST_F(SlurmClusterTest, APartCountsOnlyWithItsOwnGeneration) {
  HaveParts();
  api::Controller controller = Part<api::Controller>("main");
  controller.metadata.generation = 4;
  world.Put(controller);
  EXPECT_THAT(ConditionOf(Look(), "Ready"),
              StartsWith("False PartNotReady: Controller main: nobody has looked at its change yet"));
}

TEST_F(SlurmClusterTest, APartsTroubleIsToldWithItsName) {
  HaveParts();
  api::Controller controller = Part<api::Controller>("main");
  api::SetCondition(controller.status.conditions,
                    {.type = "Degraded", .status = "True", .reason = "ConfigRefused", .message = "line 3 is wrong"},
                    world.now);
  world.Put(controller);
  const plan::Plan plan = Look();
  EXPECT_EQ(ConditionOf(plan, "Degraded"), "True PartDegraded: Controller main: line 3 is wrong");
  EXPECT_EQ(Phase(plan), "Degraded");
}

TEST_F(SlurmClusterTest, SomebodyElsesObjectIsNoPart) {
  HaveParts();
  api::Controller strangers = Part<api::Controller>("main");
  strangers.metadata.owner_references.clear();
  world.Put(strangers);
  EXPECT_THAT(ConditionOf(Look(), "Ready"),
              StartsWith("False PartNotReady: Controller main: it belongs to somebody else"));
  for (const plan::Child& child : Look().children)
    EXPECT_THAT(child.adoption.labels, ElementsAre(::testing::Pair("capstan.dev/adopt", "main")));
}

TEST_F(SlurmClusterTest, DeletionNowIsKubernetesToDo) {
  cluster.metadata.deletion_timestamp = world.now;
  const plan::Plan plan = Look();
  EXPECT_THAT(plan.children, IsEmpty());
  EXPECT_THAT(plan.actions, IsEmpty());
}

TEST_F(SlurmClusterTest, DeletionWithADrainTakesWorkersAndLoginsFirst) {
  cluster.spec.deletion_policy = "Drain";
  EXPECT_THAT(ActionNames(Look()), ElementsAre("add finalizer SlurmCluster slurm/main"));
  cluster.metadata.finalizers = {"capstan.dev/drain"};
  EXPECT_THAT(Look().actions, IsEmpty());
  HaveParts();
  world.Put(Part<api::LoginSet>("main-login"));
  cluster.metadata.deletion_timestamp = world.now;
  plan::Plan plan = Look();
  EXPECT_THAT(ActionNames(plan),
              ElementsAre("delete NodeSet slurm/main-worker-cpu", "delete LoginSet slurm/main-login"));
  EXPECT_EQ(Phase(plan), "Deleting");
  for (const char* name : {"main-worker-cpu", "main-login"})
    EXPECT_THAT(ConditionOf(plan, "Progressing"), HasSubstr(name));
  cluster.metadata.finalizers.push_back("orphan");
  EXPECT_THAT(ActionNames(Look()), ElementsAre("remove finalizer SlurmCluster slurm/main"))
      << "its parts are to live on";
}

TEST_F(SlurmClusterTest, ItGoesOnceNoWorkerAndNoLoginIsLeftByAFreshRead) {
  cluster.spec.deletion_policy = "Drain";
  cluster.metadata.finalizers = {"capstan.dev/drain"};
  cluster.metadata.deletion_timestamp = world.now;
  PutLoginPod();
  EXPECT_THAT(Look().actions, IsEmpty()) << "somebody is logged in";
  PutLoginPod(false);
  const plan::Plan plan = Look();
  EXPECT_THAT(ActionNames(plan), ElementsAre("remove finalizer SlurmCluster slurm/main"));
  std::vector<std::string> proofs;
  for (const auto& guard : plan.actions[0].guards) proofs.push_back(guard->text());
  EXPECT_THAT(proofs,
              ElementsAre("no NodeSet of it is left", "no LoginSet of it is left",
                          "no pod with app.kubernetes.io/instance=main-login,app.kubernetes.io/name=login is left in "
                          "slurm that has not ended"));
  cluster.spec.deletion_policy = "Now";
  HaveParts();
  EXPECT_THAT(ActionNames(Look()), ElementsAre("remove finalizer SlurmCluster slurm/main"))
      << "a person's change of mind";
}

// --- The contract --------------------------------------------------------------------------------------------------------

constexpr std::string_view kOwned = R"({"metadata":{"ownerReferences":[{"uid":"u","controller":true}]}})";

TEST(SlurmClusterContract, AllowsWhatItPromisesAndNothingElse) {
  const json::Value cluster =
      *json::Parse(R"({"kind":"SlurmCluster","metadata":{"namespace":"slurm","name":"main","uid":"u"}})");
  const std::string owned(kOwned), seen = R"({"preconditions":{"resourceVersion":"7"}})";
  const struct {
    Call call;
    bool allowed;
  } cases[] = {
      {{"apply", "SlurmCluster", {"slurm", "main"}, "status", "{}"}, true},
      {{"apply", "SlurmCluster", {"slurm", "main"}, "", "{}"}, false},
      {{"patch", "SlurmCluster", {"slurm", "main"}, "", "{}"}, true},
      {{"apply", "Controller", {"slurm", "main"}, "", owned}, true},
      {{"apply", "Controller", {"slurm", "main"}, "", "{}"}, false},
      {{"apply", "Controller", {"other", "main"}, "", owned}, false},
      {{"apply", "Controller", {"slurm", "other"}, "", owned}, false},
      {{"delete", "Controller", {"slurm", "main"}, "", seen}, false},
      {{"apply", "NodeSet", {"slurm", "main-worker-cpu"}, "", owned}, true},
      {{"apply", "NodeSet", {"slurm", "main-worker-cpu"}, "scale", owned}, false},
      {{"apply", "NodeSet", {"slurm", "other-worker-cpu"}, "", owned}, false},
      {{"delete", "NodeSet", {"slurm", "main-worker-cpu"}, "", seen}, true},
      {{"delete", "NodeSet", {"slurm", "main-worker-cpu"}, "", "{}"}, false},
      {{"patch", "NodeSet", {"slurm", "main-worker-cpu"}, "", R"([{"op":"replace","path":"/metadata/managedFields"}])"},
       true},
      {{"patch", "NodeSet", {"slurm", "main-worker-cpu"}, "", R"([{"op":"replace","path":"/spec/replicas"}])"}, false},
      {{"apply", "ConfigMap", {"slurm", "main-files"}, "", owned}, true},
      {{"apply", "ConfigMap", {"slurm", "main-config"}, "", owned}, false},
      {{"create", "Secret", {"slurm", "main-sssd-conf"}, "", owned}, true},
      {{"create", "Secret", {"slurm", "main-auth-slurm"}, "", owned}, false},
      {{"delete", "Pod", {"slurm", "main-worker-cpu-0"}, "", seen}, false},
      {{"delete", "PersistentVolumeClaim", {"slurm", "statesave"}, "", seen}, false},
  };
  for (const auto& c : cases)
    EXPECT_EQ(!kContract.breach(cluster, c.call, {}).has_value(), c.allowed)
        << c.call.verb << " " << c.call.kind << " " << c.call.key.name << " " << c.call.subresource;
}

}  // namespace
}  // namespace capstan::op::slurmcluster
