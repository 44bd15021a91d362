#include "operator/controller/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "operator/controller/children.h"
#include "operator/controller/config.h"
#include "operator/controller/contract.h"
#include "operator/controller/questions.h"
#include "operator/names.h"
#include "operator/testing/golden.h"
#include "operator/testing/world.h"
#include "operator/topology.h"

namespace capstan::op::controller {
namespace {

using test::ActionNames;
using test::BodyOf;
using test::ChildNames;
using test::ConditionOf;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class ControllerTest : public ::testing::Test {
 protected:
  ControllerTest() {
    controller.metadata = {.name = "main", .namespace_ = "slurm", .uid = "uid-main", .generation = 3};
    controller.spec.slurm_key_ref = {.name = "main-auth-slurm", .key = "slurm.key"};
    controller.spec.jwt_key_ref = {.name = "main-auth-jwt", .key = "jwt.key"};
  }

  void HaveKeys() {
    world.Secret("main-auth-slurm", {"slurm.key"}, "slurm");
    world.Secret("main-auth-jwt", {"jwt.key"}, "jwt");
  }

  // The JWKS file, and what is wrong with it.
  void HaveJwks(const std::string& wrong) {
    world.Answer("jwks slurm/jwks keys.json", std::make_shared<const JwksFile::Value>(wrong));
  }

  plan::Plan Look() {
    world.Put(controller);
    plan::Plan plan = world.Decide(&Decide, "main");
    KeepsContract(plan);
    return plan;
  }

  // Whatever a test lets the Decide see, the Plan is within what a Controller may do.
  void KeepsContract(const plan::Plan& plan) {
    json::Value object = *json::Parse(json::Encode(controller));
    object.as_object()["kind"] = "Controller";
    for (const plan::Child& child : plan.children) {
      const Call call{"apply", std::string(child.resource->kind), child.key, "", child.body};
      EXPECT_EQ(kContract.breach(object, call, {}), std::nullopt);
    }
    for (const plan::Action& action : plan.actions) {
      const std::string target = action.effect->target();
      const size_t blank = target.find(' '), slash = target.find('/');
      const std::map<std::string_view, std::string> verbs = {{"create", "create"},
                                                             {"announce", "patch"},
                                                             {"activate", "patch"},
                                                             {"deactivate", "patch"},
                                                             {"delete", "delete"}};
      const Call call{verbs.at(action.effect->verb()),
                      target.substr(0, blank),
                      {target.substr(blank + 1, slash - blank - 1), target.substr(slash + 1)},
                      "",
                      R"({"preconditions":{"resourceVersion":"1"}})"};
      EXPECT_EQ(kContract.breach(object, call, {}), std::nullopt);
    }
  }

  // As if the children of `plan` had been applied: what the stores show of them then.
  void Applied(const plan::Plan& plan) {
    const auto config = json::Decode<ConfigMap>(BodyOf(plan, "ConfigMap", "main-config"));
    if (config) world.Put(*config);
    const auto set = json::Decode<StatefulSet>(BodyOf(plan, "StatefulSet", "main-controller"));
    if (set) world.Put(*set);
  }

  std::string PodAnnotation(const plan::Plan& plan, std::string_view key) {
    const auto set = json::Parse(BodyOf(plan, "StatefulSet", "main-controller"));
    return set ? std::string(json::FindText(*set, {"spec", "template", "metadata", "annotations", key}))
               : "no StatefulSet";
  }
  std::string SlurmConf(const plan::Plan& plan) {
    const auto config = json::Parse(BodyOf(plan, "ConfigMap", "main-config"));
    return config ? std::string(json::FindText(*config, {"data", "slurm.conf"})) : "";
  }

  api::RestApi MakeRestApi(std::string name, std::string created) {
    api::RestApi rest_api;
    rest_api.metadata = {.name = name, .uid = "uid-" + name, .creation_timestamp = ParseRfc3339(created)};
    rest_api.spec.controller_ref.name = "main";
    PutService(name + "-restapi", rest_api.metadata.uid);
    return rest_api;
  }
  // owner "": it has none.
  void PutService(
      const std::string& name, const std::string& owner,
      const std::function<void(Service::Spec&)>& change = [](Service::Spec&) {}) {
    Service service;
    service.metadata = {.name = name, .namespace_ = "slurm"};
    if (!owner.empty()) service.metadata.owner_references = {{.uid = owner, .controller = true}};
    service.spec.selector = {{"app.kubernetes.io/name", "slurmrestd"},
                             {"app.kubernetes.io/instance", name.substr(0, name.rfind('-'))}};
    change(service.spec);
    world.Put(service);
  }

  test::TestWorld world;
  api::Controller controller;
};

TEST_F(ControllerTest, MissingObjectWantsNothing) {
  const plan::Plan plan = world.Decide(&Decide, "main");
  EXPECT_THAT(plan.children, IsEmpty());
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_FALSE(plan.status.has_value());
}

TEST_F(ControllerTest, DefaultObjectsArePinned) {
  HaveKeys();
  const plan::Plan plan = Look();
  EXPECT_TRUE(plan.children_complete);
  EXPECT_THAT(ChildNames(plan), ElementsAre("Service slurm-workers-main", "PodDisruptionBudget slurm-workers-pdb-main",
                                            "ConfigMap main-config", "Service main-controller-internal",
                                            "Service main-controller", "StatefulSet main-controller"));
  for (const plan::Child& child : plan.children) {
    test::ExpectGoldenJson("controller",
                           "default-" + std::string(child.resource->kind) + "-" + child.key.name + ".json", child.body);
  }
}

TEST_F(ControllerTest, EverythingIsPinned) {
  HaveKeys();
  controller.metadata.labels = {{"team", "hpc"}, {"helm.sh/chart", "slurm-1.0"}};
  controller.metadata.annotations = {
      {"owner", "me"}, {"kubectl.kubernetes.io/last-applied-configuration", "{}"}, {"meta.helm.sh/release-name", "r"}};
  controller.spec.cluster_name = "hpc";
  controller.spec.inplace_reconfigure = true;
  controller.spec.slurmctld.text = R"({"image":"mine/slurmctld:1","args":["-v"],"resources":{"limits":{"cpu":"2"}},
      "livenessProbe":{"failureThreshold":9},"readinessProbe":{"exec":{"command":["true"]}},
      "securityContext":{"runAsNonRoot":false}})";
  controller.spec.logfile.text = R"({"image":"busybox","resources":{"limits":{"memory":"16Mi"}}})";
  controller.spec.pod_template.metadata = {{{"rack", "1"}}, {{"note", "x"}}};
  controller.spec.pod_template.spec.text = R"({"nodeSelector":{"disk":"ssd"},"tolerations":[{"operator":"Exists"}],
      "containers":[{"name":"extra","image":"e"}],"volumes":[{"name":"mine","emptyDir":{}}],
      "affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone"}]}}})";
  controller.spec.config_file_refs = {{"files"}};
  controller.spec.prolog_script_refs = {{"prologs"}};
  controller.spec.jwks_key_ref = {.name = "jwks", .key = "keys.json"};
  controller.spec.service.port = 7000;
  controller.spec.service.node_port = 30817;
  controller.spec.service.spec.text = R"({"type":"NodePort","externalIPs":["192.0.2.1"],"selector":{"more":"x"}})";
  controller.spec.service.metadata.annotations = {{"lb", "internal"}};
  controller.spec.persistence = api::Persistence();
  controller.spec.persistence->storage_class_name = "fast";
  world.Files("files", {"cgroup.conf", "gres.conf"});
  world.Files("prologs", {"10-a.sh"});
  HaveJwks("");
  const plan::Plan plan = Look();
  for (const auto& [kind, name] : {std::pair("ConfigMap", "main-config"), std::pair("Service", "main-controller"),
                                   std::pair("StatefulSet", "main-controller")}) {
    test::ExpectGoldenJson("controller", std::string("everything-") + kind + ".json", BodyOf(plan, kind, name));
  }
}

// Seen on a real cluster: the kubelet called slurmctld ready ten seconds after it answered, a moment after the slurmds
// had given up for another ten.
TEST_F(ControllerTest, SlurmctldIsReachedBeforeItIsReadyUnlessTheUserWantsItOtherwise) {
  HaveKeys();
  EXPECT_THAT(BodyOf(Look(), "Service", "main-controller"), HasSubstr(R"("publishNotReadyAddresses":true)"));
  controller.spec.service.spec.text = R"({"publishNotReadyAddresses":false})";
  EXPECT_THAT(BodyOf(Look(), "Service", "main-controller"), HasSubstr(R"("publishNotReadyAddresses":false)"));
}

TEST_F(ControllerTest, NothingOfSlurmctldMovesWhileAQuestionIsOpen) {
  const plan::Plan plan = Look();
  EXPECT_FALSE(plan.children_complete);
  EXPECT_THAT(ChildNames(plan), Not(Contains("StatefulSet main-controller")));
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_THAT(ConditionOf(plan, "Ready"), StartsWith("False ReadingKeys: "));
  EXPECT_THAT(ConditionOf(plan, "Degraded"), StartsWith("False "));
}

TEST_F(ControllerTest, StartsOnceForAllThatIsInstalledTogether) {
  HaveKeys();
  world.Put(controller);
  plan::Plan plan = world.Decide(&Decide, "main", 0s);
  EXPECT_EQ(BodyOf(plan, "StatefulSet", "main-controller"), "") << "NodeSets may follow in a moment";
  EXPECT_NE(BodyOf(plan, "ConfigMap", "main-config"), "");
  EXPECT_FALSE(plan.children_complete);
  EXPECT_EQ(plan.requeue_after, 1s);
  Applied(Look());
  controller.spec.extra_conf = "ReturnToService=2";
  world.Put(controller);
  plan = world.Decide(&Decide, "main", 0s);
  EXPECT_NE(BodyOf(plan, "StatefulSet", "main-controller"), "") << "one that runs waits for nothing";
}

TEST_F(ControllerTest, NoKeyIsMadeUnasked) {
  world.Absent("secret slurm/main-auth-slurm");
  world.Absent("secret slurm/main-auth-jwt");
  const plan::Plan plan = Look();
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_FALSE(plan.children_complete);
  EXPECT_THAT(
      ConditionOf(plan, "Degraded"),
      StartsWith("True KeyMissing: Secret slurm/main-auth-slurm, named in spec.slurmKeyRef, is missing; create it"));
}

TEST_F(ControllerTest, MissingKeysAreMadeWhenAskedFor) {
  controller.metadata.annotations = {{"capstan.dev/generate-keys", "true"}};
  world.Absent("secret slurm/main-auth-slurm");
  world.Absent("secret slurm/main-auth-jwt");
  EXPECT_THAT(ActionNames(Look()),
              ElementsAre("create Secret slurm/main-auth-slurm", "create Secret slurm/main-auth-jwt"));
  controller.metadata.annotations = {{"capstan.dev/generate-keys", "jwt"}};
  EXPECT_THAT(ActionNames(Look()), ElementsAre("create Secret slurm/main-auth-jwt"));
}

TEST_F(ControllerTest, ALostKeyOfARunningClusterIsNeverReplaced) {
  controller.metadata.annotations = {{"capstan.dev/generate-keys", "true"}};
  HaveKeys();
  Applied(Look());
  world.Absent("secret slurm/main-auth-slurm");
  const plan::Plan plan = Look();
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_FALSE(plan.children_complete) << "the StatefulSet would be removed";
  EXPECT_THAT(ConditionOf(plan, "Degraded"), StartsWith("True KeyMissing: "));
}

TEST_F(ControllerTest, SecretWithoutTheKeySaysWhatItHas) {
  HaveKeys();
  world.Secret("main-auth-slurm", {"a", "b"});
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), HasSubstr("has no key \"slurm.key\"; it has: a, b"));
}

TEST_F(ControllerTest, UnreadableSecretChangesNothingAfterAGoodAnswer) {
  HaveKeys();
  const plan::Plan before = Look();
  world.Failed("secret slurm/main-auth-slurm", "connection refused");
  EXPECT_EQ(BodyOf(Look(), "StatefulSet", "main-controller"), BodyOf(before, "StatefulSet", "main-controller"));
}

TEST_F(ControllerTest, PodIsReplacedForWhatItReadsAndNothingElse) {
  HaveKeys();
  const std::string before = BodyOf(Look(), "StatefulSet", "main-controller");
  const auto changed = [&] { return BodyOf(Look(), "StatefulSet", "main-controller") != before; };
  const api::Controller plain = controller;

  controller.metadata.annotations = {{"kubectl.kubernetes.io/last-applied-configuration", "{}"}};
  EXPECT_FALSE(changed()) << "kubectl's bookkeeping";
  controller = plain;
  controller.spec.extra_conf = "# a comment\n";
  EXPECT_FALSE(changed()) << "a comment";
  controller.spec.extra_conf = "ReturnToService=2\nPartitionName=p Nodes=ALL";
  EXPECT_FALSE(changed()) << "it is reconfigured";
  controller.spec.inplace_reconfigure = true;
  EXPECT_FALSE(changed()) << "either way";
  controller.spec.extra_conf = "SlurmctldPort=7000";
  EXPECT_TRUE(changed()) << "an option that needs a restart";
  controller = plain;
  world.Secret("main-auth-jwt", {"jwt.key"}, "another");
  EXPECT_TRUE(changed()) << "a new signing key";
}

// A NodeSet that came or went was a restart of slurmctld.
TEST_F(ControllerTest, AChangedConfigurationIsFollowedAndRestartsNothing) {
  HaveKeys();
  controller.spec.config_file_refs = {{"files"}};
  world.Files("files", {"gres.conf"}, "one");
  const plan::Plan before = Look();
  Applied(before);
  Pod pod;
  pod.metadata = {.name = "main-controller-0"};
  pod.status.phase = "Running";
  pod.status.pod_ip = "10.0.0.7";
  world.Put(pod);
  LiveConfiguration::Value live{.live = {{"slurm.conf", Sha256Hex(SlurmConf(before))},
                                         {"cgroup.conf", Sha256Hex(CgroupConf())},
                                         {"gres.conf", Sha256Hex("one")}},
                                .since = "2026-11-21T07:00:00Z"};
  world.Answer("live configuration of slurm/main-controller-0 at 10.0.0.7",
               std::make_shared<const LiveConfiguration::Value>(live));
  EXPECT_THAT(ConditionOf(Look(), "ConfigLive"), StartsWith("True Live: "));
  EXPECT_THAT(Look().actions, IsEmpty());

  world.Files("files", {"gres.conf"}, "two");
  plan::Plan plan = Look();
  EXPECT_THAT(ActionNames(plan), ElementsAre("announce Pod slurm/main-controller-0"));
  EXPECT_EQ(BodyOf(plan, "StatefulSet", "main-controller"), BodyOf(before, "StatefulSet", "main-controller"));
  world.Files("files", {"gres.conf"}, "one");

  api::NodeSet set;
  set.metadata.name = "w";
  set.spec.controller_ref.name = "main";
  set.spec.partition.emplace();
  set.spec.partition->enabled = true;
  world.Put(set);
  plan = Look();
  EXPECT_THAT(plan.actions, IsEmpty()) << "it is not published yet";
  EXPECT_THAT(SlurmConf(plan), HasSubstr("PartitionName=w"));
  Applied(plan);
  plan = Look();
  EXPECT_THAT(ActionNames(plan), ElementsAre("announce Pod slurm/main-controller-0"));
  EXPECT_EQ(BodyOf(plan, "StatefulSet", "main-controller"), BodyOf(before, "StatefulSet", "main-controller"));
}

// slurmctld ended all jobs of a NodeSet that was deleted: the next slurm.conf did not have their partition.
TEST_F(ControllerTest, APartitionThatNobodyAsksForStaysUntilNoJobNamesIt) {
  HaveKeys();
  world.Put(MakeRestApi("api", "2026-11-21T07:00:00Z"));
  world.Nodes("slurm/main", {});
  api::NodeSet set;
  set.metadata.name = "w";
  set.spec.controller_ref.name = "main";
  set.spec.partition = api::NodeSetPartition{true, "State=UP MaxTime=60"};
  world.Put(set);
  plan::Plan plan = Look();
  Applied(plan);
  EXPECT_EQ(ConditionOf(plan, "PartitionsKept"), "none");

  // A NodeSet that is being deleted has workers, and so its partition.
  set.metadata.deletion_timestamp = world.now;
  world.Put(set);
  EXPECT_EQ(SlurmConf(Look()), SlurmConf(plan));

  set.metadata.deletion_timestamp.reset();
  set.spec.controller_ref.name = "another";
  world.Put(set);
  plan = Look();
  const std::string closed = "NodeSet=w Feature=w\nPartitionName=w Nodes=w MaxTime=60 State=DRAIN\n";
  EXPECT_THAT(SlurmConf(plan), HasSubstr(closed));
  EXPECT_THAT(ConditionOf(plan, "PartitionsKept"), HasSubstr("w (it is being closed)"));
  Applied(plan);

  slurm::PartitionUse use{.partitions = {{.name = "w", .open = false}}, .job_count = 1, .jobs_read = true, .jobs = {}};
  use.jobs["w"].ids = {7};
  const auto says = [&] {
    world.Answer("use of partitions of slurm/main: w", std::make_shared<const slurm::PartitionUse>(use), -1h);
    return world.Decide(&Decide, "main", 1h);
  };
  plan = says();
  EXPECT_THAT(SlurmConf(plan), HasSubstr(closed));
  EXPECT_THAT(ConditionOf(plan, "PartitionsKept"), StartsWith("True JobsMayNameThem: "));
  EXPECT_THAT(ConditionOf(plan, "PartitionsKept"), HasSubstr("w (job 7)"));

  use.jobs.clear();
  plan = says();
  EXPECT_THAT(SlurmConf(plan), Not(HasSubstr("PartitionName=w")));
  EXPECT_EQ(ConditionOf(plan, "PartitionsKept"), "none");

  set.spec.controller_ref.name = "main";
  world.Put(set);
  EXPECT_THAT(SlurmConf(Look()), HasSubstr("PartitionName=w Nodes=w State=UP MaxTime=60\n"));
}

TEST_F(ControllerTest, AnOptionThatNeedsARestartIsOneAndIsTold) {
  HaveKeys();
  Applied(Look());
  controller.spec.extra_conf = "SlurmctldPort=7000";
  plan::Plan plan = Look();
  const auto event = [&] {
    const auto set = std::ranges::find(plan.children, "main-controller", [](const plan::Child& child) {
      return child.resource->kind == "StatefulSet" ? child.key.name : "";
    });
    return set != plan.children.end() && set->event ? set->event->reason : "";
  };
  EXPECT_EQ(event(), "SlurmctldRestarting");
  Applied(plan);
  plan = Look();
  EXPECT_EQ(event(), "");

  // A pod that got the new port from its kubelet, and was not started anew, would be cut off.
  world.Absent("secret slurm/main-auth-slurm");
  controller.spec.extra_conf = "SlurmctldPort=7001";
  EXPECT_EQ(SlurmConf(Look()), "");
}

// Changing to this release would have started slurmctld anew.
TEST_F(ControllerTest, WhatAnOlderReleaseMadeKeepsItsHashAndItsSidecar) {
  HaveKeys();
  controller.spec.inplace_reconfigure = true;
  controller.spec.slurmctld.text = R"({"image":"slurmctld:1"})";
  const plan::Plan plan = Look();
  Applied(plan);
  StatefulSet set = *json::Decode<StatefulSet>(BodyOf(plan, "StatefulSet", "main-controller"));
  set.metadata.annotations.clear();
  set.spec.pod_template.metadata.annotations[std::string(kHashSlurmConfig)] = "an old hash";
  set.spec.pod_template.spec.init_containers.insert(set.spec.pod_template.spec.init_containers.begin(),
                                                    {.name = "reconfigure", .image = "slurmctld:1"});
  world.Put(set);
  EXPECT_EQ(PodAnnotation(Look(), kHashSlurmConfig), "an old hash");
  EXPECT_THAT(BodyOf(Look(), "StatefulSet", "main-controller"), HasSubstr(R"("name":"reconfigure")"));
  controller.spec.slurmctld.text = R"({"image":"slurmctld:2"})";
  EXPECT_THAT(BodyOf(Look(), "StatefulSet", "main-controller"), Not(HasSubstr(R"("name":"reconfigure")")));
}

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
  world.Put(ConfigMap{.metadata = {.name = "main-config", .namespace_ = "slurm", .uid = "config-uid"},
                      .data = {.slurm_conf = "", .cgroup_conf = "", .topology_yaml = TopologyOfOneSwitch()}});
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

TEST_F(ControllerTest, AQueueForSlurmdbdThatFillsIsToldBeforeItIsFull) {
  HaveKeys();
  api::Accounting accounting;
  accounting.metadata.name = "db";
  world.Put(accounting);
  world.Put(MakeRestApi("main", "2026-01-01T00:00:00Z"));
  world.Nodes("slurm/main", {});
  controller.spec.accounting_ref = {"db"};
  const auto told = [&](int tenths) {
    world.Answer("accounting queue of slurm/main",
                 std::make_shared<const AccountingQueueFill::Value>(tenths, int64_t{20'000}));
    return ConditionOf(Look(), "Degraded");
  };
  EXPECT_THAT(told(0), StartsWith("False AsExpected"));
  EXPECT_THAT(told(3), StartsWith("True AccountingQueueFills: slurmctld's queue of messages for slurmdbd, which holds "
                                  "20000, is 30 % full, and records of jobs are lost once it is full; see why slurmdbd "
                                  "of Accounting slurm/db"));
  EXPECT_THAT(told(10), HasSubstr("is full, and records of jobs are being lost"));
  world.Failed("accounting queue of slurm/main", "timeout");
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), HasSubstr("is full")) << "nobody has said that it is no longer";
  controller.spec.accounting_ref.reset();
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), StartsWith("False AsExpected"));
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

TEST_F(ControllerTest, AServiceMonitorIsMadeForTheClientsServiceAlone) {
  HaveKeys();
  controller.spec.metrics = api::Metrics();
  controller.spec.metrics->service_monitor = {.enabled = true, .labels = {{"team", "hpc"}}, .interval = "30s"};
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), HasSubstr("has no effect while spec.metrics.enabled is false"));
  EXPECT_EQ(BodyOf(Look(), "ServiceMonitor", "main-controller"), "");
  controller.spec.metrics->enabled = true;
  const plan::Plan plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Degraded"), StartsWith("False "));
  EXPECT_THAT(BodyOf(plan, "ServiceMonitor", "main-controller"),
              AllOf(HasSubstr(R"("team":"hpc")"), HasSubstr(R"("namespaceSelector":{"matchNames":["slurm"]})"),
                    HasSubstr(R"("selector":{"matchLabels":{"app.kubernetes.io/instance":"main",)"
                              R"("app.kubernetes.io/name":"slurmctld","capstan.dev/metrics":"true"}})"),
                    HasSubstr(R"({"interval":"30s","path":"/metrics/scheduler","port":"slurmctld","scheme":"http"})")));
  EXPECT_THAT(BodyOf(plan, "Service", "main-controller"), HasSubstr(R"("capstan.dev/metrics":"true")"));
  EXPECT_THAT(BodyOf(plan, "Service", "main-controller-internal"), Not(HasSubstr("capstan.dev/metrics")));
  controller.spec.metrics->service_monitor->endpoints = {{.path = "/metrics/jobs", .interval = "5s"}};
  EXPECT_THAT(
      BodyOf(Look(), "ServiceMonitor", "main-controller"),
      HasSubstr(R"("endpoints":[{"interval":"5s","path":"/metrics/jobs","port":"slurmctld","scheme":"http"}])"));
}

TEST_F(ControllerTest, AServiceMonitorThatTheServerDoesNotKnowIsSaid) {
  HaveKeys();
  controller.spec.metrics = api::Metrics{.enabled = true, .service_monitor = api::ServiceMonitor{.enabled = true}};
  world.NotServed<ServiceMonitor>();
  const plan::Plan plan = Look();
  EXPECT_EQ(BodyOf(plan, "ServiceMonitor", "main-controller"), "");
  EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("this API server has no kind ServiceMonitor"));
}

TEST_F(ControllerTest, WhatOlderReleasesGaveToAllNodeSetsIsAdopted) {
  for (const char* name : {"cpu", "gpu"}) {
    api::NodeSet set;
    set.metadata.name = name;
    set.spec.controller_ref.name = "main";
    world.Put(set);
  }
  const plan::Plan plan = Look();
  for (const plan::Child& child : plan.children) {
    const bool shared = child.key.name == "slurm-workers-main" || child.key.name == "slurm-workers-pdb-main";
    if (shared)
      EXPECT_THAT(child.adoption.owners, ElementsAre("uid-cpu", "uid-gpu")) << child.key.name;
    else
      EXPECT_THAT(child.adoption.owners, IsEmpty()) << child.key.name;
  }
}

TEST_F(ControllerTest, AnOrphanIsKnownByTheLabelsOfItsComponent) {
  HaveKeys();
  const plan::Plan plan = Look();
  const auto set = std::ranges::find(plan.children, &kube::kStatefulSets, &plan::Child::resource);
  ASSERT_NE(set, plan.children.end());
  EXPECT_THAT(set->adoption.labels, ElementsAre(std::pair(std::string(kLabelComponent), "controller"),
                                                std::pair(std::string(kLabelInstance), "main"),
                                                std::pair(std::string(kLabelName), "slurmctld")));
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

TEST_F(ControllerTest, SlurmIsReachedThroughTheOldestRestApi) {
  HaveKeys();
  EXPECT_FALSE(Look().slurm.has_value());
  world.Put(MakeRestApi("young", "2026-11-02T00:00:00Z"));
  api::RestApi old = MakeRestApi("old", "2026-11-01T00:00:00Z");
  old.spec.service.port = 8080;
  world.Put(old);
  const plan::Plan plan = Look();
  EXPECT_EQ(plan.slurm_cluster, "slurm/main");
  EXPECT_EQ(plan.slurm,
            (plan::SlurmConnection{
                "http://old-restapi.slurm.svc.cluster.local.:8080", {"slurm", "main-auth-jwt"}, "jwt.key"}));
}

// It would have led a token of Slurm's administrator to whoever made it.
TEST_F(ControllerTest, ATokenGoesToTheServiceOfTheRestApiAlone) {
  HaveKeys();
  world.Put(MakeRestApi("main", "2026-11-01T00:00:00Z"));
  EXPECT_TRUE(Look().slurm.has_value());
  for (const char* owner : {"", "uid-of-another"}) {
    PutService("main-restapi", owner);
    const plan::Plan plan = Look();
    EXPECT_FALSE(plan.slurm.has_value()) << owner;
    EXPECT_THAT(ConditionOf(plan, "Degraded"),
                StartsWith("True NameConflict: Slurm is not asked, as Service slurm/main-restapi "));
  }
  // Nor to where somebody has turned that one, until it is written anew.
  for (const auto& turn : std::initializer_list<std::function<void(Service::Spec&)>>{
           [](Service::Spec& spec) { spec.type = "ExternalName"; }, [](Service::Spec& spec) { spec.selector.clear(); },
           [](Service::Spec& spec) { spec.selector["app.kubernetes.io/instance"] = "other"; }}) {
    PutService("main-restapi", "uid-main", turn);
    EXPECT_FALSE(Look().slurm.has_value());
  }
  PutService("main-restapi", "uid-main", [](Service::Spec& spec) { spec.selector["more"] = "narrower"; });
  EXPECT_TRUE(Look().slurm.has_value());
}

TEST_F(ControllerTest, ExternalRunsNothing) {
  HaveKeys();
  controller.spec.external = true;
  controller.spec.external_config = {"head.example.com", 7000};
  const plan::Plan plan = Look();
  EXPECT_THAT(ChildNames(plan), ElementsAre("Service slurm-workers-main", "PodDisruptionBudget slurm-workers-pdb-main",
                                            "ConfigMap main-config"));
  EXPECT_THAT(SlurmConf(plan), HasSubstr("SlurmctldHost=head.example.com\nSlurmctldPort=7000\n"));
  EXPECT_THAT(ConditionOf(plan, "Ready"), StartsWith("True "));
  EXPECT_TRUE(plan.children_complete);
}

TEST_F(ControllerTest, ReadyFollowsTheStatefulSet) {
  HaveKeys();
  const plan::Plan first = Look();
  EXPECT_THAT(ConditionOf(first, "Ready"), StartsWith("False Creating"));
  StatefulSet set = *json::Decode<StatefulSet>(BodyOf(first, "StatefulSet", "main-controller"));
  set.metadata.uid = "set";
  world.Put(set);
  EXPECT_THAT(ConditionOf(Look(), "Progressing"), StartsWith("True Starting: slurmctld is starting: 0 of 1 ready"));
  set.status = {.observed_generation = 1, .ready_replicas = 1, .updated_replicas = 1};
  world.Put(set);
  const plan::Plan plan = Look();
  EXPECT_EQ(ConditionOf(plan, "Ready"), "True Ready: slurmctld is ready");
  EXPECT_THAT(ConditionOf(plan, "Progressing"), StartsWith("False "));
  EXPECT_THAT(ConditionOf(plan, "Degraded"), StartsWith("False "));
}

TEST_F(ControllerTest, SaysWhyAPodDoesNotStart) {
  HaveKeys();
  StatefulSet set = *json::Decode<StatefulSet>(BodyOf(Look(), "StatefulSet", "main-controller"));
  set.metadata.uid = "set";
  world.Put(set);
  Pod pod;
  pod.metadata = {.name = "main-controller-0",
                  .owner_references = {{.kind = "StatefulSet", .uid = "set", .controller = true}}};
  pod.status.container_statuses = {
      {.name = "slurmctld", .state = {.waiting = ContainerWaiting{"ImagePullBackOff", "no such image"}}}};
  world.Put(pod);
  EXPECT_THAT(
      ConditionOf(Look(), "Degraded"),
      StartsWith("True PodFailing: pod main-controller-0, container slurmctld: ImagePullBackOff: no such image"));
}

TEST_F(ControllerTest, FailedActionEndsInACondition) {
  HaveKeys();
  world.failures = {{.verb = "apply",
                     .target = "StatefulSet slurm/main-controller",
                     .code = Code::kInvalid,
                     .message = "spec.template is wrong",
                     .tries = 1}};
  EXPECT_THAT(ConditionOf(Look(), "Degraded"),
              HasSubstr("ActionFailed: apply StatefulSet slurm/main-controller failed: spec.template is wrong"));
}

TEST_F(ControllerTest, UnchangedWorldGivesTheSameStatusLater) {
  HaveKeys();
  const plan::Plan first = Look();
  controller.status = *json::Decode<api::ControllerStatus>(*first.status);
  world.now += 1h;
  EXPECT_EQ(Look().status, first.status);
}

// --- High availability -----------------------------------------------------------------------------------------------

class HaTest : public ControllerTest {
 protected:
  HaTest() {
    HaveKeys();
    controller.spec.ha = api::HighAvailability{true, 1};
    controller.spec.persistence = api::Persistence();
    controller.spec.persistence->enabled = true;
    controller.spec.persistence->existing_claim = "state";
    Modes({"ReadWriteMany"});
  }
  void Modes(std::vector<std::string> modes) {
    world.Answer("claim slurm/state",
                 std::make_shared<const VolumeClaim::Value>(VolumeClaim::Value{"uid-claim", std::move(modes)}));
  }
  void PutPods() {
    StatefulSet set;
    set.metadata = {
        .name = "main-controller", .uid = "set", .owner_references = {{.uid = "uid-main", .controller = true}}};
    set.spec.service_name = "main-controller-internal";
    world.Put(set);
    for (const Pod& pod : pods) world.Put(pod);
  }
  void Charge(InCharge::Value value) {
    std::vector<InCharge::Candidate> candidates;
    for (const Pod& pod : pods) candidates.push_back({pod.metadata.name, pod.status.pod_ip});
    world.Answer(InCharge("slurm/main", std::move(candidates)).id(),
                 std::make_shared<const InCharge::Value>(std::move(value)));
  }
  static Pod MakePod(int ordinal) {
    Pod pod;
    pod.metadata = {.name = "main-controller-" + std::to_string(ordinal),
                    .owner_references = {{.uid = "set", .controller = true}}};
    pod.status.pod_ip = "10.0.0." + std::to_string(1 + ordinal);
    return pod;
  }

  std::array<Pod, 2> pods = {MakePod(0), MakePod(1)};
};

TEST_F(HaTest, RunsBackupsOnOneClaim) {
  const plan::Plan plan = Look();
  const auto set = json::Parse(BodyOf(plan, "StatefulSet", "main-controller"));
  ASSERT_TRUE(set.has_value());
  EXPECT_EQ(json::Serialize(*json::Find(*set, {"spec", "replicas"})), "2");
  EXPECT_EQ(json::Find(*set, {"spec", "volumeClaimTemplates"}), nullptr);
  EXPECT_EQ(json::FindText(*set, {"spec", "template", "metadata", "labels", kLabelActive}), "");
  EXPECT_THAT(SlurmConf(plan),
              HasSubstr("SlurmctldHost=main-controller-1(main-controller-1.main-controller-internal.slurm)\n"));
  EXPECT_THAT(SlurmConf(plan), HasSubstr("SlurmctldTimeout=15\n"));
  EXPECT_THAT(SlurmConf(plan), Not(HasSubstr("SlurmctldAddr=")));
}

TEST_F(HaTest, RefusesAClaimOfOnePod) {
  Modes({"ReadWriteOnce"});
  const plan::Plan plan = Look();
  EXPECT_EQ(BodyOf(plan, "StatefulSet", "main-controller"), "");
  EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("ClaimRefused: spec.ha needs access mode ReadWriteMany"));
}

TEST_F(HaTest, AcceptsAClaimThatIsNotThereYet) {
  world.Absent("claim slurm/state");
  EXPECT_NE(BodyOf(Look(), "StatefulSet", "main-controller"), "");
}

TEST_F(HaTest, RefusesWithoutASharedClaim) {
  controller.spec.persistence->existing_claim = "";
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), HasSubstr("spec.ha needs spec.persistence.existingClaim"));
  controller.spec.persistence->enabled = false;
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), HasSubstr("spec.ha needs spec.persistence: "));
}

// Each of them is asked, not slurmrestd, which also calls one that stands by responding.
TEST_F(HaTest, TheServiceFollowsTheOneInCharge) {
  PutPods();
  plan::Plan plan = Look();
  EXPECT_THAT(ActionNames(plan), ElementsAre("activate Pod slurm/main-controller-0"));
  EXPECT_THAT(ConditionOf(plan, "SlurmctldInCharge"), StartsWith("Unknown NotAnswering"));
  Charge({.pod = "main-controller-1"});
  plan = Look();
  EXPECT_THAT(ActionNames(plan), ElementsAre("activate Pod slurm/main-controller-1"));
  EXPECT_THAT(ConditionOf(plan, "SlurmctldInCharge"),
              StartsWith("True InCharge: slurmctld of pod main-controller-1 is in charge"));
}

// The Service had no endpoint at all until somebody had taken over and the operator had looked.
TEST_F(HaTest, TheServiceAlwaysLeadsToSomebody) {
  pods[1].metadata.labels[std::string(kLabelActive)] = "true";
  PutPods();
  Charge({});
  plan::Plan plan = Look();
  EXPECT_THAT(ActionNames(plan), IsEmpty()) << "nobody is in charge: it stays where it was";
  EXPECT_THAT(ConditionOf(plan, "SlurmctldInCharge"), StartsWith("False NobodyInCharge"));
  pods[1].metadata.deletion_timestamp = Time(1s);
  PutPods();
  EXPECT_THAT(ActionNames(Look()), ElementsAre("activate Pod slurm/main-controller-0"));
}

TEST_F(HaTest, OneThatIsCutOffAndWritesIsNamed) {
  PutPods();
  Charge({.writer = 0});
  plan::Plan plan = Look();
  EXPECT_THAT(ConditionOf(plan, "SlurmctldInCharge"),
              StartsWith("False CutOff: slurmctld of pod main-controller-0 cannot be reached, and still writes"));
  EXPECT_THAT(ConditionOf(plan, "Degraded"), StartsWith("False")) << "a takeover may come yet";
  EXPECT_LE(plan.requeue_after, 30s);
  EXPECT_THAT(ConditionOf(world.Decide(&Decide, "main", 30s), "Degraded"), StartsWith("True CutOff: "));
}

TEST(InChargeTest, WhoWroteLastIsReadFromOneThatStandsBy) {
  EXPECT_EQ(InCharge::WriterIn(R"({"files":{},"heartbeat":{"server":0,"age_s":3}})"), 0);
  EXPECT_EQ(InCharge::WriterIn(R"({"files":{},"heartbeat":{"server":1,"age_s":10}})"), 1);
  EXPECT_EQ(InCharge::WriterIn(R"({"files":{},"heartbeat":{"server":1,"age_s":11}})"), std::nullopt);
  for (const char* other : {"{}", R"({"heartbeat":{}})", R"({"heartbeat":{"server":-1,"age_s":1}})", "no"})
    EXPECT_EQ(InCharge::WriterIn(other), std::nullopt) << other;
}

// --- A StatefulSet that another operator has made, or an older release -------------------------------------------------

class PresentSetTest : public ControllerTest {
 protected:
  PresentSetTest() {
    HaveKeys();
    set.metadata = {.name = "main-controller",
                    .uid = "set",
                    .generation = 2,
                    .owner_references = {{.uid = "uid-main", .controller = true}}};
    set.spec.service_name = "main-controller-internal";
    set.spec.pod_management_policy = "OrderedReady";
    set.spec.claim_templates.text =
        R"([{"kind":"PersistentVolumeClaim","apiVersion":"v1","metadata":{"name":"statesave","creationTimestamp":null},)"
        R"("spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"4Gi"}},)"
        R"("volumeMode":"Filesystem"},"status":{"phase":"Pending"}}])";
    set.status = {.observed_generation = 2, .update_revision = "new"};
    pod.metadata = {.name = "main-controller-0",
                    .owner_references = {{.kind = "StatefulSet", .uid = "set", .controller = true}}};
    pod.metadata.labels = {{std::string(kLabelName), "slurmctld"},
                           {std::string(kLabelInstance), "main"},
                           {std::string(kLabelSetRevision), "old"}};
    pod.spec.node_name = "k0";
  }
  plan::Plan LookAtIt() {
    world.Put(set);
    world.Put(pod);
    return Look();
  }
  static json::Value Spec(const plan::Plan& plan) {
    const auto wanted = json::Parse(BodyOf(plan, "StatefulSet", "main-controller"));
    return wanted ? wanted->at("spec") : json::Value();
  }
  static std::string Selector(const plan::Plan& plan) {
    const auto service = json::Parse(BodyOf(plan, "Service", "main-controller"));
    return std::string(json::FindText(service.value(), {"spec", "selector", kLabelActive}));
  }

  StatefulSet set;
  Pod pod;
};

TEST_F(PresentSetTest, OurOwnIsWantedAsBefore) {
  world.Put(set);
  const plan::Plan plan = Look();
  EXPECT_EQ(json::FindText(Spec(plan), {"volumeClaimTemplates"}), "");
  EXPECT_EQ(json::SerializeCanonical(Spec(plan).at("volumeClaimTemplates")),
            R"([{"metadata":{"name":"statesave"},"spec":{"accessModes":["ReadWriteOnce"],)"
            R"("resources":{"requests":{"storage":"4Gi"}}}}])");
  EXPECT_EQ(Spec(plan).as_object().contains("podManagementPolicy"), false);
  EXPECT_THAT(ConditionOf(plan, "Degraded"), StartsWith("False "));
}

// The API server refused the whole apply, and with it each later change of image, labels and configuration: the claim
// template that is there names its namespace.
TEST_F(PresentSetTest, WhatCannotChangeIsTakenAsItIs) {
  set.spec.service_name = "main-controller";
  set.spec.pod_management_policy = "Parallel";
  set.spec.selector.match_labels = {{"app", "ctl"}};
  set.spec.claim_templates.text =
      R"([{"metadata":{"name":"statesave","namespace":"slurm"},"spec":{"accessModes":["ReadWriteOnce"],)"
      R"("resources":{"requests":{"storage":"4096Mi"}}},"status":{"phase":"Pending"}}])";
  const plan::Plan plan = LookAtIt();
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_EQ(json::FindText(Spec(plan), {"serviceName"}), "main-controller");
  EXPECT_EQ(json::FindText(Spec(plan), {"podManagementPolicy"}), "Parallel");
  EXPECT_EQ(json::SerializeCanonical(Spec(plan).at("selector")), R"({"matchLabels":{"app":"ctl"}})");
  EXPECT_EQ(json::FindText(Spec(plan), {"template", "metadata", "labels", "app"}), "ctl");
  EXPECT_EQ(json::FindText(Spec(plan).at("volumeClaimTemplates").at(0), {"metadata", "namespace"}), "slurm");
  EXPECT_EQ(json::FindText(Spec(plan).at("volumeClaimTemplates").at(0), {"status", "phase"}), "Pending");
  EXPECT_THAT(ConditionOf(plan, "Degraded"), StartsWith("False "));
}

TEST_F(PresentSetTest, AStrangersIsNotAskedAnything) {
  set.metadata.owner_references[0].uid = "somebody";
  set.spec.service_name = "main-controller";
  const plan::Plan plan = LookAtIt();
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_EQ(json::FindText(Spec(plan), {"serviceName"}), "main-controller-internal") << "the apply will be refused";
}

// Pods of a StatefulSet whose Service has a cluster address have no names of their own.
TEST_F(PresentSetTest, SlurmctldIsReachedThroughTheServiceThatGovernsIt) {
  set.spec.service_name = "main-controller";
  EXPECT_THAT(SlurmConf(LookAtIt()), HasSubstr("\nSlurmctldHost=main-controller-0(main-controller.slurm)\n"));
  set.spec.service_name = "main-controller-internal";
  EXPECT_THAT(SlurmConf(LookAtIt()),
              HasSubstr("\nSlurmctldHost=main-controller-0(main-controller-0.main-controller-internal.slurm)\n"));
}

TEST_F(PresentSetTest, AnotherClaimIsToldWithTheWayToGetIt) {
  controller.spec.persistence = api::Persistence();
  controller.spec.persistence->resources.text = R"({"requests":{"storage":"10Gi"}})";
  plan::Plan plan = LookAtIt();
  EXPECT_THAT(json::SerializeCanonical(Spec(plan).at("volumeClaimTemplates")), HasSubstr("4Gi")) << "the rest rolls";
  EXPECT_THAT(
      ConditionOf(plan, "Degraded"),
      StartsWith("True ClaimUnchanged: spec.persistence asks for another volume than StatefulSet main-controller "
                 "has (there, resources is {\"requests\":{\"storage\":\"4Gi\"}} and not "
                 "{\"requests\":{\"storage\":\"10Gi\"}})"));
  EXPECT_THAT(ConditionOf(plan, "Degraded"),
              HasSubstr("kubectl -n slurm delete statefulset main-controller --cascade=orphan"));
  controller.spec.persistence->resources.text = R"({"requests":{"storage":"4096Mi"}})";
  EXPECT_THAT(ConditionOf(LookAtIt(), "Degraded"), StartsWith("False ")) << "the same in other words";
  controller.spec.persistence->enabled = false;
  plan = LookAtIt();
  EXPECT_TRUE(Spec(plan).as_object().contains("volumeClaimTemplates"));
  EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("it was made with a claim of its own"));
}

TEST_F(PresentSetTest, SlurmctldIsNotMovedToAVolumeThatIsNotThere) {
  set.spec.claim_templates.text = "";
  const plan::Plan plan = LookAtIt();
  EXPECT_EQ(BodyOf(plan, "StatefulSet", "main-controller"), "");
  EXPECT_FALSE(plan.children_complete);
  EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("nothing else of it changes either"));
}

TEST_F(PresentSetTest, BackupsNeedPodsThatHaveNames) {
  set.spec.service_name = "main-controller";
  controller.spec.ha = api::HighAvailability{true, 1};
  controller.spec.persistence = api::Persistence();
  controller.spec.persistence->existing_claim = "state";
  const plan::Plan plan = LookAtIt();
  EXPECT_EQ(BodyOf(plan, "StatefulSet", "main-controller"), "");
  EXPECT_THAT(ConditionOf(plan, "Degraded"),
              StartsWith("True StatefulSetOutdated: spec.ha needs pods that have names"));
}

// With an Accounting that this version does not run, or without a ConfigMap, the StatefulSet was withheld, and the Service
// that asks for the label led to nobody.
TEST_F(PresentSetTest, TheServiceLeadsToWhatRunsUntilThatIsLabelled) {
  EXPECT_EQ(Selector(Look()), "true") << "of a new cluster";
  controller.spec.config_file_refs = {{"missing"}};
  world.Absent("configmap slurm/missing");
  plan::Plan plan = LookAtIt();
  EXPECT_EQ(BodyOf(plan, "StatefulSet", "main-controller"), "") << "withheld";
  EXPECT_EQ(Selector(plan), "");
  set.spec.pod_template.metadata.labels[std::string(kLabelActive)] = "true";
  EXPECT_EQ(Selector(LookAtIt()), "") << "the pod is of the template before";
  Pod next = pod;
  pod.metadata.deletion_timestamp = Time(1s);
  EXPECT_EQ(Selector(LookAtIt()), "true") << "the next one will be labelled";
  next.metadata.labels[std::string(kLabelActive)] = "true";
  pod = next;
  EXPECT_EQ(Selector(LookAtIt()), "true");
  set.spec.pod_template.metadata.labels.clear();
  EXPECT_EQ(Selector(LookAtIt()), "") << "the next one will not be";
}

TEST_F(PresentSetTest, WithBackupsTheServiceWaitsForTheLabel) {
  controller.spec.ha = api::HighAvailability{true, 1};
  controller.spec.persistence = api::Persistence();
  controller.spec.persistence->existing_claim = "state";
  const plan::Plan plan = LookAtIt();
  ASSERT_THAT(ActionNames(plan), ElementsAre("activate Pod slurm/main-controller-0"));
  const auto service =
      std::ranges::find(plan.children, "main-controller", [](const plan::Child& c) { return c.key.name; });
  ASSERT_NE(service, plan.children.end());
  EXPECT_THAT(service->after, ElementsAre(plan.actions[0].id()));
}

// A bad image was mended, and the StatefulSet went on waiting for the pod that could not pull the old one.
TEST_F(PresentSetTest, APodThatNeverRanMakesWayForItsMendedTemplate) {
  const auto waiting = [](std::string reason) {
    return ContainerStatus{.name = "slurmctld", .state = {.waiting = ContainerWaiting{std::move(reason), ""}}};
  };
  const auto acts = [&] { return ActionNames(LookAtIt()); };
  pod.status.container_statuses = {waiting("ImagePullBackOff")};
  EXPECT_THAT(acts(), ElementsAre("delete Pod slurm/main-controller-0"));
  set.status.observed_generation = 1;
  EXPECT_THAT(acts(), IsEmpty()) << "the new template's revision is not known yet";
  set.status.observed_generation = 2;
  pod.metadata.labels[std::string(kLabelSetRevision)] = "new";
  EXPECT_THAT(acts(), IsEmpty()) << "it is of the newest template";
  pod.metadata.labels[std::string(kLabelSetRevision)] = "old";
  pod.status.container_statuses[0].container_id = "containerd://1";
  EXPECT_THAT(acts(), IsEmpty()) << "it ran once";
  pod.status.container_statuses = {waiting("CrashLoopBackOff")};
  pod.status.container_statuses[0].restart_count = 1;
  EXPECT_THAT(acts(), IsEmpty());
  pod.status.container_statuses.clear();
  EXPECT_THAT(acts(), IsEmpty()) << "nothing is said of it";
  pod.spec.node_name.clear();
  pod.status.conditions = {{.type = "PodScheduled", .status = "False", .reason = "Unschedulable"}};
  EXPECT_THAT(acts(), ElementsAre("delete Pod slurm/main-controller-0"));
  pod.metadata.deletion_timestamp = Time(1s);
  EXPECT_THAT(acts(), IsEmpty());
}

TEST_F(ControllerTest, PortsOfTheServiceMayNotCollide) {
  HaveKeys();
  controller.spec.service.spec.text = R"({"ports":[{"name":"slurmctld","port":1}]})";
  const plan::Plan plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("spec.service.spec.ports: the name \"slurmctld\" is taken"));
  EXPECT_FALSE(plan.children_complete);
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

// Its RestApi waited for a key, and nobody said for which.
TEST_F(ControllerTest, KeysOfAnExternalClusterAreMissedAndNeverMade) {
  controller.spec.external = true;
  controller.spec.external_config = {"head.example.com", 7000};
  controller.metadata.annotations = {{"slinky.slurm.net/generate-keys", "true"}};
  world.Absent("secret slurm/main-auth-slurm");
  world.Secret("main-auth-jwt", {"other"});
  plan::Plan plan = Look();
  EXPECT_THAT(plan.actions, IsEmpty());
  EXPECT_THAT(ConditionOf(plan, "Degraded"), StartsWith("True KeyMissing: Secret slurm/main-auth-slurm, named in "));
  EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("spec.jwtKeyRef, has no key \"jwt.key\"; it has: other"));
  HaveKeys();
  EXPECT_THAT(ConditionOf(Look(), "Degraded"), StartsWith("False"));
}

TEST_F(ControllerTest, WhatAnExternalSlurmctldIsNotToldIsSaid) {
  HaveKeys();
  controller.spec.external = true;
  controller.spec.external_config = {"head.example.com", 7000};
  controller.spec.extra_conf = "ReturnToService=2";
  EXPECT_THAT(ConditionOf(Look(), "Degraded"),
              StartsWith("True NotSupported: spec.extraConf has no effect while spec.external is true"));
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

// The API server answered the StatefulSet with a 500 for as long as the field stood there.
TEST_F(ControllerTest, AFieldThatTheApiServerDoesNotKnowIsLeftOutAndNamed) {
  HaveKeys();
  controller.spec.slurmctld.text = R"({"image":"mine","livenesProbe":{}})";
  controller.spec.service.spec.text = R"({"sessionAfinity":"ClientIP"})";
  EXPECT_NE(BodyOf(Look(), "StatefulSet", "main-controller"), "") << "nothing waits for the answer";
  const UnknownFields pod(
      {"slurm", "main"}, {"spec.template.spec", ""},
      {{"spec.slurmctld", controller.spec.slurmctld.text}, {"spec.reconfigure", ""}, {"spec.logfile", ""}});
  const UnknownFields service({"slurm", "main"}, {"spec.service.spec", controller.spec.service.spec.text});
  const auto unknown = [](std::string field) {
    return std::make_shared<const UnknownFields::Value>(UnknownFields::Value{std::move(field)});
  };
  world.Answer(pod.id(), unknown("spec.slurmctld.livenesProbe"));
  world.Answer(service.id(), unknown("spec.service.spec.sessionAfinity"));
  const plan::Plan plan = Look();
  EXPECT_THAT(BodyOf(plan, "StatefulSet", "main-controller"), HasSubstr(R"("image":"mine")"));
  EXPECT_THAT(BodyOf(plan, "StatefulSet", "main-controller"), Not(HasSubstr("livenesProbe")));
  EXPECT_THAT(BodyOf(plan, "Service", "main-controller"), Not(HasSubstr("sessionAfinity")));
  EXPECT_THAT(ConditionOf(plan, "Degraded"),
              StartsWith("True UnknownFields: spec.slurmctld.livenesProbe is no field that the API server knows"));
}

}  // namespace
}  // namespace capstan::op::controller
