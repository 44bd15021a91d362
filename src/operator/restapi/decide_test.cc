#include "operator/restapi/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/names.h"
#include "operator/testing/golden.h"
#include "operator/testing/world.h"

namespace capstan::op::restapi {
namespace {

using test::BodyOf;
using test::ChildNames;
using test::ConditionOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class RestApiTest : public ::testing::Test {
 protected:
  RestApiTest() {
    rest_api.metadata = {.name = "main", .namespace_ = "slurm", .uid = "uid-rest", .generation = 2};
    rest_api.spec.controller_ref.name = "main";
  }

  void HaveCluster() {
    api::Controller controller;
    controller.metadata.name = "main";
    controller.spec.slurm_key_ref = {.name = "main-auth-slurm", .key = "slurm.key"};
    world.Put(controller);
    world.Secret("main-auth-slurm", {"slurm.key"});
    Config("ClusterName=c\n");
  }
  void Config(std::string text) {
    ConfigMap config;
    config.metadata.name = "main-config";
    config.data.slurm_conf = std::move(text);
    world.Put(config);
  }
  plan::Plan Look() {
    world.Put(rest_api);
    return world.Decide(&Decide, "main");
  }
  std::string Deployed() { return BodyOf(Look(), "Deployment", "main-restapi"); }

  test::TestWorld world;
  api::RestApi rest_api;
};

TEST_F(RestApiTest, DefaultObjectsArePinned) {
  HaveCluster();
  const plan::Plan plan = Look();
  EXPECT_TRUE(plan.children_complete);
  EXPECT_THAT(ChildNames(plan), ElementsAre("Service main-restapi", "Deployment main-restapi"));
  for (const plan::Child& child : plan.children) {
    test::ExpectGoldenJson("restapi", "default-" + std::string(child.resource->kind) + ".json", child.body);
  }
}

// The Service had port 0, which the API server refuses.
TEST_F(RestApiTest, PortZeroIsTheDaemonsOwn) {
  HaveCluster();
  rest_api.spec.service.port = 0;
  EXPECT_THAT(BodyOf(Look(), "Service", "main-restapi"), HasSubstr(R"("port":6820)"));
}

TEST_F(RestApiTest, EverythingIsPinned) {
  HaveCluster();
  api::Controller controller;
  controller.metadata.name = "main";
  controller.spec.slurm_key_ref = {.name = "main-auth-slurm", .key = "slurm.key"};
  controller.spec.accounting_ref = {"db"};
  world.Put(controller);
  rest_api.metadata.labels = {{"team", "hpc"}, {"helm.sh/chart", "slurm-1.0"}};
  rest_api.spec.replicas = 3;
  rest_api.spec.slurmrestd.text = R"({"image":"mine/slurmrestd:1","args":["-v"]})";
  rest_api.spec.pod_template.spec.text = R"({"nodeSelector":{"disk":"ssd"}})";
  rest_api.spec.service.port = 8080;
  rest_api.spec.service.metadata.labels = {{"x", "y"}};
  for (const plan::Child& child : Look().children) {
    test::ExpectGoldenJson("restapi", "everything-" + std::string(child.resource->kind) + ".json", child.body);
  }
}

TEST_F(RestApiTest, AnotherConfigurationIsLeftOutAndTold) {
  HaveCluster();
  rest_api.spec.slurmrestd.text = R"({"args":["-vf","/mnt/other.conf"]})";
  const plan::Plan plan = Look();
  EXPECT_THAT(BodyOf(plan, "Deployment", "main-restapi"), ::testing::Not(HasSubstr("other.conf")));
  EXPECT_THAT(ConditionOf(plan, "Degraded"), StartsWith("True NotSupported: spec.slurmrestd: -f is left out"));
}

// Its container waits instead of ending, so that a kubelet has nothing to say of it; the Deployment does not own the pod.
TEST_F(RestApiTest, WhatASlurmrestdThatDoesNotStartSaysIsTold) {
  HaveCluster();
  Deployment deployment;
  deployment.metadata = {.name = "main-restapi", .namespace_ = "slurm", .uid = "uid-deployment"};
  deployment.status = {.replicas = 2, .ready_replicas = 1, .updated_replicas = 1};
  world.Put(deployment);
  for (const std::string name : {"main-restapi-5c", "main-restapi-x-5c"}) {
    op::Pod pod;
    pod.metadata = {.name = name + "-1", .namespace_ = "slurm"};
    pod.metadata.owner_references = {{.kind = "ReplicaSet", .name = name, .uid = "uid-" + name, .controller = true}};
    pod.status.phase = "Running";
    pod.status.pod_ip = "10.0.0.9";
    world.Put(pod);
  }
  world.Answer("start of slurm/main-restapi-5c-1 at 10.0.0.9",
               std::make_shared<const std::string>("slurmrestd does not start: fatal: no"));
  const plan::Plan plan = Look();
  EXPECT_EQ(ConditionOf(plan, "Degraded"),
            "True PodFailing: pod main-restapi-5c-1: slurmrestd does not start: fatal: no");
  EXPECT_THAT(ConditionOf(plan, "Ready"), StartsWith("True ")) << "the one before it still answers";
  EXPECT_THAT(ConditionOf(plan, "Progressing"), StartsWith("True "));
}

TEST_F(RestApiTest, MissingControllerIsSaidAndNothingIsTakenAway) {
  const plan::Plan plan = Look();
  EXPECT_THAT(ChildNames(plan), ElementsAre("Service main-restapi"));
  EXPECT_FALSE(plan.children_complete);
  EXPECT_THAT(ConditionOf(plan, "Degraded"),
              HasSubstr("ControllerNotFound: Controller slurm/main, named in spec.controllerRef, does not exist"));
}

TEST_F(RestApiTest, WaitsForKeyAndConfiguration) {
  api::Controller controller;
  controller.metadata.name = "main";
  controller.spec.slurm_key_ref = {.name = "main-auth-slurm", .key = "slurm.key"};
  world.Put(controller);
  EXPECT_THAT(ConditionOf(Look(), "Progressing"), StartsWith("True WaitingForKey: "));
  world.Secret("main-auth-slurm", {"slurm.key"});
  const plan::Plan plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Progressing"), StartsWith("True WaitingForConfig: "));
  EXPECT_FALSE(plan.children_complete);
}

TEST_F(RestApiTest, IsReplacedWhenKeyOrConfigurationChange) {
  HaveCluster();
  const std::string before = Deployed();
  Config("# a comment\nClusterName=c\n");
  EXPECT_EQ(Deployed(), before);
  Config("ClusterName=c\nReturnToService=2\n");
  EXPECT_NE(Deployed(), before);
  Config("ClusterName=c\n");
  world.Secret("main-auth-slurm", {"slurm.key"}, "another");
  EXPECT_NE(Deployed(), before);
}

// Changing from the Slinky projects' operator started slurmrestd anew, for nothing but our own way to write it.
TEST_F(RestApiTest, WhatAFormerOperatorMadeIsLeftUntilSomethingElseIsWanted) {
  HaveCluster();
  Deployment deployment;
  deployment.metadata = {.name = "main-restapi",
                         .owner_references = {{.uid = "uid-rest", .controller = true}},
                         .managed_fields = {{.manager = "manager", .operation = "Update"}}};
  world.Put(deployment);
  plan::Plan plan = Look();
  EXPECT_THAT(ChildNames(plan), ElementsAre("Service main-restapi")) << "the configuration is still the former's";
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_FALSE(plan.children_complete);
  const auto publish = [&](const std::string& text) {
    ConfigMap config;
    config.metadata = {.name = "main-config",
                       .managed_fields = {{.manager = "capstan-operator", .operation = "Apply"}}};
    config.data.slurm_conf = text;
    world.Put(config);
  };
  publish("ClusterName=c\n");
  world.Put(rest_api);
  EXPECT_THAT(world.Decide(Decide, "main", 0s).actions, IsEmpty()) << "it may change within the same second";
  plan = Look();
  EXPECT_THAT(test::ActionNames(plan), ElementsAre("take over Deployment slurm/main-restapi"));
  EXPECT_THAT(ChildNames(plan), ElementsAre("Service main-restapi"));

  Deployment plain;
  plain.metadata.name = "main-restapi";
  world.Put(plain);
  deployment.metadata.annotations["capstan.dev/taken-over"] = Sha256Hex(Deployed());
  world.Put(deployment);
  plan = Look();
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_THAT(ChildNames(plan), ElementsAre("Service main-restapi"));
  EXPECT_FALSE(plan.children_complete);
  rest_api.spec.replicas = 2;
  EXPECT_NE(Deployed(), "") << "a person wants something else";
  rest_api.spec.replicas.reset();
  publish("ClusterName=c\nReturnToService=2\n");
  EXPECT_NE(Deployed(), "") << "another configuration";
  publish("ClusterName=c\n");
  deployment.metadata.managed_fields.push_back({.manager = "capstan-operator", .operation = "Apply"});
  world.Put(deployment);
  EXPECT_NE(Deployed(), "") << "it is ours by now";
}

TEST_F(RestApiTest, ReadyFollowsTheDeployment) {
  HaveCluster();
  EXPECT_THAT(ConditionOf(Look(), "Ready"), StartsWith("False Creating"));
  Deployment deployment;
  deployment.metadata.name = "main-restapi";
  world.Put(deployment);
  StatefulSet slurmctld;
  slurmctld.metadata.name = "main-controller";
  slurmctld.status.ready_replicas = 1;
  world.Put(slurmctld);
  EXPECT_THAT(ConditionOf(Look(), "Ready"), StartsWith("False Starting: slurmrestd is starting: 0 of 1 ready"));
  deployment.status.ready_replicas = deployment.status.updated_replicas = 1;
  world.Put(deployment);
  const plan::Plan plan = Look();
  EXPECT_EQ(ConditionOf(plan, "Ready"), "True Ready: slurmrestd is ready");
  EXPECT_THAT(ConditionOf(plan, "Progressing"), StartsWith("False "));
}

TEST_F(RestApiTest, WithoutSlurmctldItSaysWhatItWaitsFor) {
  HaveCluster();
  Deployment deployment;
  deployment.metadata.name = "main-restapi";
  world.Put(deployment);
  EXPECT_THAT(ConditionOf(Look(), "Ready"),
              StartsWith("False WaitingForSlurmctld: slurmrestd is ready once slurmctld is"));
  StatefulSet slurmctld;
  slurmctld.metadata.name = "main-controller";
  slurmctld.status.ready_replicas = 1;
  world.Put(slurmctld);
  EXPECT_THAT(ConditionOf(Look(), "Ready"), StartsWith("False Starting: "));
}

TEST_F(RestApiTest, ZeroReplicasSaysWhatThatMeans) {
  HaveCluster();
  rest_api.spec.replicas = 0;
  Deployment deployment;
  deployment.metadata.name = "main-restapi";
  world.Put(deployment);
  EXPECT_THAT(ConditionOf(Look(), "Ready"), HasSubstr("cannot reach Slurm"));
}

}  // namespace
}  // namespace capstan::op::restapi
