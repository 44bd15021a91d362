#include "operator/controller/decide_test.h"

#include "operator/names.h"
#include "operator/testing/golden.h"

namespace capstan::op::controller {
namespace {

using test::ActionNames;
using test::BodyOf;
using test::ChildNames;
using test::ConditionOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

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
