#include <gmock/gmock.h>

#include "api/sharedroot.h"
#include "operator/slurmcluster/decide_test.h"
#include "operator/testing/golden.h"

namespace capstan::op::slurmcluster {
namespace {

using test::ChildNames;
using test::ConditionOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kVolume =
    R"("volumes":[{"name":"shared-root","persistentVolumeClaim":{"claimName":"main-root"}}])";
constexpr std::string_view kMount = R"("volumeMounts":[{"mountPath":"/capstan/root","name":"shared-root"}])";
constexpr std::string_view kVariable =
    R"("env":[{"name":"CAPSTAN_POD_UID","valueFrom":{"fieldRef":{"fieldPath":"metadata.uid"}}},)"
    R"({"name":"CAPSTAN_SHARED_ROOT","value":"/capstan/root"}])";

class SharedRootOfClusterTest : public SlurmClusterTest {
 protected:
  SharedRootOfClusterTest() {
    cluster.spec.shared_root = api::SharedRootSpec{};
    cluster.spec.shared_root->claim.size = "500Gi";
    cluster.spec.shared_root->source.image = "registry.example.org/hpc/shell:1";
    cluster.spec.login = api::ClusterLogin{};
  }
};

TEST_F(SharedRootOfClusterTest, ItIsAPartAndAllPodsOfPeopleAndJobsHaveItsVolume) {
  EXPECT_THAT(ChildNames(Look()), ElementsAre("Controller main", "RestApi main", "SharedRoot main",
                                              "LoginSet main-login", "NodeSet main-worker-cpu"));
  EXPECT_THAT(Body("SharedRoot", "main"), HasSubstr(R"("spec":{"claim":{"size":"500Gi"},"history":2,)"
                                                    R"("keep":["/home","/root","/srv","/opt","/usr/local"],)"
                                                    R"("source":{"image":"registry.example.org/hpc/shell:1"},)"
                                                    R"("switch":{"policy":"Automatic"}})"));
  EXPECT_THAT(Body("Controller", "main"), HasSubstr(R"("extraConf":"UsePAM=1\n)"));
  for (const std::string& body : {Body("NodeSet", "main-worker-cpu"), Body("LoginSet", "main-login")}) {
    EXPECT_THAT(body, HasSubstr(kVolume));
    EXPECT_THAT(body, HasSubstr(kMount));
    EXPECT_THAT(body, HasSubstr(kVariable));
  }
  test::ExpectGoldenJson("slurmcluster", "root-LoginSet.json", Body("LoginSet", "main-login"));
  test::ExpectGoldenJson("slurmcluster", "root-NodeSet.json", Body("NodeSet", "main-worker-cpu"));
  EXPECT_THAT(
      Body("LoginSet", "main-login"),
      HasSubstr(R"("securityContext":{"appArmorProfile":{"type":"Unconfined"},"capabilities":{"add":["SYS_ADMIN"]}})"));
}

TEST_F(SharedRootOfClusterTest, ItsMountsAreInAllPods) {
  cluster.spec.shared_root->mounts = {{.path = "/data", .claim = "datasets", .read_only = true},
                                      {.path = "/models", .claim = "datasets"}};
  world.Answer("claim slurm/datasets",
               std::make_shared<const VolumeClaim::Value>(VolumeClaim::Value{"u", {"ReadOnlyMany"}}));
  const std::string name = "shared-root-" + Sha256Hex("datasets").substr(0, 8);
  for (const std::string& body : {Body("NodeSet", "main-worker-cpu"), Body("LoginSet", "main-login")}) {
    EXPECT_THAT(body, HasSubstr(R"({"mountPath":"/data","name":")" + name + R"(","readOnly":true})"));
    EXPECT_THAT(body, HasSubstr(R"({"mountPath":"/models","name":")" + name + R"("})"));
    EXPECT_THAT(body, HasSubstr(R"({"name":")" + name + R"(","persistentVolumeClaim":{"claimName":"datasets"}})"));
  }
  cluster.spec.shared_root->mounts.pop_back();
  EXPECT_THAT(Body("NodeSet", "main-worker-cpu"),
              HasSubstr(R"("persistentVolumeClaim":{"claimName":"datasets","readOnly":true})"))
      << "a volume that can only be read is attached so";
}

TEST_F(SharedRootOfClusterTest, TheRootsOwnVolumeIsNoMount) {
  cluster.spec.shared_root->mounts = {{.path = "/all", .claim = "main-root"}};
  world.Answer("claim slurm/main-root",
               std::make_shared<const VolumeClaim::Value>(VolumeClaim::Value{"u", {"ReadWriteMany"}}));
  const plan::Plan plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("is that of the shared root itself"));
  EXPECT_FALSE(plan.children_complete);
}

// A pod whose volume is not there never starts: no worker is taken out of service for it.
TEST_F(SharedRootOfClusterTest, AMountThatIsNotThereKeepsPodsAsTheyAre) {
  cluster.spec.shared_root->mounts = {{.path = "/data", .claim = "datasets"}};
  world.Absent("claim slurm/datasets");
  plan::Plan plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Degraded"),
              HasSubstr("PersistentVolumeClaim slurm/datasets, named in spec.sharedRoot.mounts for "
                        "/data, does not exist"));
  EXPECT_FALSE(plan.children_complete);
  const auto is_of_pods = [](const plan::Child& child) {
    return child.resource == &api::NodeSet::kResource || child.resource == &api::LoginSet::kResource ||
           child.resource == &api::SharedRoot::kResource;
  };
  EXPECT_TRUE(std::ranges::none_of(plan.children, is_of_pods));
  world.Answer("claim slurm/datasets",
               std::make_shared<const VolumeClaim::Value>(VolumeClaim::Value{"u", {"ReadWriteOnce"}}));
  plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("ClaimRefused: PersistentVolumeClaim slurm/datasets"));
  EXPECT_TRUE(std::ranges::none_of(plan.children, is_of_pods));
  world.Answer("claim slurm/datasets",
               std::make_shared<const VolumeClaim::Value>(VolumeClaim::Value{"u", {"ReadWriteMany"}, "", true}));
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), HasSubstr("is a device without a file system"));
}

// Workers and logins would be renewed one after the other, and none would come back: a claim that is not there, an image that nobody can pull.
TEST_F(SharedRootOfClusterTest, WhatRunsWithoutARootGetsItOnceThereIsOne) {
  HaveParts();
  world.Put(Part<api::LoginSet>("main-login"));
  auto root = Part<api::SharedRoot>("main", "False", "True");
  root.spec.claim = cluster.spec.shared_root->claim;
  cluster.spec.login->replicas = 2;
  for (const bool is_there : {false, true}) {
    if (is_there) world.Put(root);
    const plan::Plan plan = Look();
    EXPECT_THAT(ChildNames(plan), ElementsAre("Controller main", "RestApi main", "SharedRoot main",
                                              "LoginSet main-login", "NodeSet main-worker-cpu"));
    for (const std::string& body : {BodyOf(plan, "NodeSet", "main-worker-cpu"), BodyOf(plan, "LoginSet", "main-login")})
      EXPECT_THAT(body, Not(HasSubstr("shared-root")));
    EXPECT_THAT(BodyOf(plan, "LoginSet", "main-login"), HasSubstr(R"("replicas":2)")) << "all else is followed";
    EXPECT_TRUE(plan.children_complete);
  }
  auto late = Part<api::NodeSet>("main-worker-late");
  late.spec.slurmd.text = R"({"env":[{"name":"CAPSTAN_SHARED_ROOT","value":"/capstan/root"}]})";
  late.spec.pod_template.spec.text =
      R"({"volumes":[{"name":"shared-root","persistentVolumeClaim":{"claimName":"main-root"}}]})";
  world.Put(late);
  cluster.spec.node_sets.push_back({.name = "late"});
  cluster.spec.node_sets.push_back({.name = "new"});
  for (const char* set : {"main-worker-late", "main-worker-new"})
    EXPECT_THAT(Body("NodeSet", set), HasSubstr(kVolume)) << "it has it already, or has no pods yet";
  late.spec.pod_template.spec.text =
      R"({"volumes":[{"name":"shared-root","persistentVolumeClaim":{"claimName":"old"}}]})";
  world.Put(late);
  const plan::Plan plan = Look();
  EXPECT_EQ(BodyOf(plan, "NodeSet", "main-worker-late"), "") << "it stays on the root that it has";
  EXPECT_FALSE(plan.children_complete);
  root.status.current.generation = "g-1";
  world.Put(root);
  EXPECT_THAT(Body("NodeSet", "main-worker-cpu"), HasSubstr(kVolume));
  EXPECT_THAT(Body("LoginSet", "main-login"), HasSubstr(kVolume));
}

TEST_F(SharedRootOfClusterTest, WhatAUserGivesStandsBesideIt) {
  cluster.spec.node_sets[0].spec.text =
      R"({"slurmd":{"env":[{"name":"A","value":"b"}]},"template":{"spec":{"volumes":[{"name":"mine","emptyDir":{}}]}}})";
  const std::string body = Body("NodeSet", "main-worker-cpu");
  EXPECT_THAT(body, HasSubstr(R"({"name":"CAPSTAN_SHARED_ROOT","value":"/capstan/root"})"));
  EXPECT_THAT(body, HasSubstr(R"({"name":"A","value":"b"})"));
  EXPECT_THAT(body, HasSubstr(R"("persistentVolumeClaim":{"claimName":"main-root"})"));
  EXPECT_THAT(body, HasSubstr(R"({"emptyDir":{},"name":"mine"})"));
}

TEST_F(SharedRootOfClusterTest, ALoginKeepsWhatItNeedsForTheTree) {
  cluster.spec.login->spec.text = R"({"login":{"securityContext":{"capabilities":{"add":["NET_ADMIN"]}}}})";
  EXPECT_THAT(Body("LoginSet", "main-login"), HasSubstr(R"("capabilities":{"add":["NET_ADMIN","SYS_ADMIN"]})"));
}

TEST_F(SharedRootOfClusterTest, ItsJobsAreOfTheClustersImages) {
  cluster.spec.images = {.prefix = "registry.example.org/hpc", .version = "26.05.5", .pull_secrets = {{"hub"}}};
  const std::string body = Body("SharedRoot", "main");
  EXPECT_THAT(body, HasSubstr(R"("jobImage":"registry.example.org/hpc/slurmd:26.05.5")"));
  EXPECT_THAT(body, HasSubstr(R"("template":{"spec":{"imagePullSecrets":[{"name":"hub"}]}})"));
}

// Else a login of an image that the operator does not know as ours would wait for no session, and drainCap have no effect.
TEST_F(SharedRootOfClusterTest, ImagesOfAnotherPrefixAreKnownAsCapstans) {
  cluster.spec.images.prefix = "registry.example.org/hpc";
  for (const std::string& body : {Body("NodeSet", "main-worker-cpu"), Body("LoginSet", "main-login")})
    EXPECT_THAT(body, HasSubstr(R"("capstan.dev/image-prefix":"registry.example.org/hpc")"));
}

TEST_F(SharedRootOfClusterTest, OptionsThatKeepJobsOutOfItAreRefused) {
  const auto refused = [this] {
    const plan::Plan plan = Look();
    const std::string said = ConditionOf(plan, "Degraded");
    EXPECT_EQ(ChildNames(plan).front() == "Controller main", said.starts_with("False")) << said;
    return said;
  };
  cluster.spec.config.extra_conf = "UsePAM=no\nUsePAM=yes";
  EXPECT_THAT(refused(), StartsWith("False")) << "the last one counts";
  cluster.spec.config.extra_conf = "usepam=Down";
  EXPECT_THAT(refused(), StartsWith("True InvalidSpec: usepam=Down in slurm.conf keeps jobs out of the shared root"));
  cluster.spec.config.extra_conf.clear();
  cluster.spec.config.slurm_conf["UsePAM"] = {"false"};
  EXPECT_THAT(refused(), HasSubstr("UsePAM=false in slurm.conf"));
  for (const char* harmless : {"true", R"("")", "null"}) {
    cluster.spec.config.slurm_conf["UsePAM"] = {harmless};
    EXPECT_THAT(refused(), StartsWith("False")) << harmless;
    EXPECT_THAT(Body("Controller", "main"), HasSubstr(R"("extraConf":"UsePAM=1\n)")) << harmless;
  }
  cluster.spec.config.slurm_conf = {{"NamespaceType", {R"("namespace/tmpfs")"}}};
  EXPECT_THAT(refused(), HasSubstr("NamespaceType=namespace/tmpfs in slurm.conf"));
  cluster.spec.config.slurm_conf.clear();
  cluster.spec.controller.spec.text = R"({"extraConf":"JobContainerType=job_container/tmpfs"})";
  EXPECT_THAT(refused(), HasSubstr("JobContainerType=job_container/tmpfs in slurm.conf"));
  cluster.spec.controller.spec.text = R"({"extraConf":"JobContainerType=job_container/none"})";
  EXPECT_THAT(refused(), StartsWith("False"));
  cluster.spec.controller.spec.text = R"({"extraConf":"NamespaceType=namespace/linux\nno option"})";
  EXPECT_THAT(refused(), StartsWith("False")) << "the Controller names the line that nobody can read";
  cluster.spec.controller.spec.text = R"({"extraConf":"UsePAM=0"})";
  EXPECT_THAT(refused(), StartsWith("True"));
  cluster.spec.shared_root.reset();
  EXPECT_THAT(refused(), StartsWith("False"));
}

TEST_F(SharedRootOfClusterTest, ANodeSetMayKeepItsImagesRoot) {
  cluster.spec.node_sets[0].shared_root = false;
  EXPECT_THAT(Body("NodeSet", "main-worker-cpu"), Not(HasSubstr("shared-root")));
  EXPECT_THAT(Body("LoginSet", "main-login"), HasSubstr(kVolume));
}

TEST_F(SharedRootOfClusterTest, AClaimOfTheUsersIsMounted) {
  cluster.spec.shared_root->claim = {.existing = "jail"};
  EXPECT_THAT(Body("NodeSet", "main-worker-cpu"), HasSubstr(R"("claimName":"jail")"));
}

TEST_F(SharedRootOfClusterTest, NoPodGetsAVolumeThatTheRootIsNotOn) {
  auto root = Part<api::SharedRoot>("main");
  root.spec.claim.size = "500Gi";
  world.Put(root);
  EXPECT_THAT(Body("NodeSet", "main-worker-cpu"), HasSubstr(R"("claimName":"main-root")"));
  cluster.spec.shared_root->claim = {.existing = "jail"};
  const plan::Plan plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("spec.sharedRoot.claim is not that of SharedRoot main"));
  EXPECT_THAT(ChildNames(plan), IsEmpty());
  EXPECT_FALSE(plan.children_complete) << "the parts stay as they are";
}

TEST_F(SharedRootOfClusterTest, ItIsReadyOnceItsRootIs) {
  cluster.spec.login.reset();
  HaveParts();
  EXPECT_THAT(ConditionOf(Look(), "Progressing"), HasSubstr("SharedRoot main: it is not there yet"));
  auto root = Part<api::SharedRoot>("main", "False", "True");
  world.Put(root);
  EXPECT_THAT(ConditionOf(Look(), "Progressing"), HasSubstr("SharedRoot main: main says Progressing"));
  root = Part<api::SharedRoot>("main");
  root.status.current.generation = "g-1";
  world.Put(root);
  const plan::Plan plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Ready"), StartsWith("True"));
  EXPECT_THAT(*plan.status, HasSubstr(R"("sharedRoot":{"generation":"g-1"})"));
}

}  // namespace
}  // namespace capstan::op::slurmcluster
