#include "doctor/causes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "api/kinds.h"
#include "base/text.h"
#include "doctor/report.h"
#include "json/codec.h"
#include "operator/names.h"

namespace capstan::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Time kNow = *ParseRfc3339("2026-11-23T08:00:00Z");

class DoctorTest : public ::testing::Test {
 protected:
  DoctorTest() {
    cluster.now = kNow;
    cluster.skew = Duration(0);
    for (const api::KindInfo& kind : api::Kinds()) cluster.definitions.items.push_back(Definition(kind));
    cluster.definitions.error = cluster.resources.error = cluster.pods.error = cluster.operators.error =
        cluster.operator_pods.error = cluster.leases.error = cluster.nodes.error = cluster.claims.error =
            cluster.events.error = "";
    AddOperator("slinky");
    AddLease("slinky", kNow - 2s);
    AddNode("kube-1", true);
  }

  static json::Value Definition(const api::KindInfo& kind) {
    auto definition = json::Parse(api::CrdJson(kind));
    json::MakeObject(*definition, {"status"})["storedVersions"] = boost::json::array{kind.version};
    return *definition;
  }
  OperatorDeployment& AddOperator(const std::string& ns, std::vector<std::string> args = {"--leader-elect=true"}) {
    OperatorDeployment deployment;
    deployment.metadata.namespace_ = ns;
    deployment.metadata.name = "slurm-operator";
    deployment.spec.replicas = 1;
    deployment.spec.pod_template.spec.containers = {{.image = "capstan", .args = std::move(args)}};
    deployment.status.ready_replicas = 1;
    return cluster.operators.items.emplace_back(std::move(deployment));
  }
  void AddLease(const std::string& ns, Time renewed) {
    kube::LeaseRecord lease;
    lease.metadata.namespace_ = ns;
    lease.metadata.name = "slurm-operator";
    lease.spec.renew_time = FormatRfc3339Micro(renewed);
    cluster.leases.items.push_back(std::move(lease));
  }
  Node& AddNode(const std::string& name, bool ready) {
    Node node;
    node.metadata.name = name;
    node.status.conditions = {{.type = "Ready", .status = ready ? "True" : "Unknown"}};
    return cluster.nodes.items.emplace_back(std::move(node));
  }
  // One that is well.
  CustomResource& Add(const std::string& kind, const std::string& name = "main") {
    CustomResource resource;
    resource.kind = kind;
    resource.metadata.namespace_ = "slurm";
    resource.metadata.name = name;
    resource.metadata.creation_timestamp = kNow - 1h;
    resource.status.conditions = {
        {.type = "Ready", .status = "True", .last_transition_time = kNow - 1h, .reason = "Ready"}};
    return cluster.resources.items.emplace_back(std::move(resource));
  }
  static void Say(CustomResource& resource, const std::string& type, const std::string& status,
                  const std::string& reason, const std::string& message, Duration since = 10min) {
    std::erase_if(resource.status.conditions, [&](const json::Condition& condition) { return condition.type == type; });
    resource.status.conditions.push_back(
        {.type = type, .status = status, .last_transition_time = kNow - since, .reason = reason, .message = message});
  }
  op::Pod& AddPod(const op::Component& component, const std::string& instance, const std::string& name,
                  const std::string& node = "kube-1") {
    op::Pod pod;
    pod.metadata.namespace_ = "slurm";
    pod.metadata.name = name;
    pod.metadata.creation_timestamp = kNow - 1h;
    pod.metadata.labels = {{std::string(op::kLabelName), std::string(component.app)},
                           {std::string(op::kLabelComponent), std::string(component.component)},
                           {std::string(op::kLabelInstance), instance},
                           {std::string(op::kLabelCluster), "main"}};
    pod.spec.node_name = node;
    pod.status.phase = "Running";
    pod.status.container_statuses = {{.name = std::string(component.app)}};
    return cluster.pods.items.emplace_back(std::move(pod));
  }
  static void Wait(op::Pod& pod, const std::string& reason, const std::string& message) {
    pod.status.container_statuses[0].state.waiting = op::ContainerWaiting{.reason = reason, .message = message};
  }
  static void NotPlaced(op::Pod& pod, const std::string& message) {
    pod.spec.node_name = "";
    pod.status.conditions = {
        {.type = "PodScheduled", .status = "False", .reason = "Unschedulable", .message = message}};
  }
  slurm::Node& AddSlurmNode(const std::string& name, const std::vector<std::string>& state, const std::string& reason) {
    if (cluster.slurm.empty()) cluster.slurm.push_back({.controller = {"slurm", "main"}, .nodes = {}, .error = {}});
    slurm::Node node;
    node.name = name;
    node.state = slurm::NodeState(slurm::NodeState::FromNames(state));
    node.reason = reason;
    node.reason_set_by = "ada";
    return cluster.slurm[0].nodes.emplace_back(std::move(node));
  }

  // "Cause: object: what", as far as `part` of what.
  std::vector<std::string> Said() const {
    std::vector<std::string> said;
    for (const Finding& finding : Diagnose(cluster)) said.push_back(std::string(finding.cause) + ": " + finding.object);
    return said;
  }
  // What is said when just this is wrong.
  Finding Only(std::string_view cause, const std::string& object) const {
    const auto findings = Diagnose(cluster);
    EXPECT_THAT(Said(), ElementsAre(std::string(cause) + ": " + object));
    for (const Finding& finding : findings) EXPECT_FALSE(finding.todo.empty());
    return findings.empty() ? Finding() : findings.front();
  }

  Cluster cluster;
};

TEST_F(DoctorTest, AClusterThatIsWellHasNoFindings) {
  Add("Controller");
  AddPod(op::kController, "main", "main-controller-0");
  AddPod(op::kWorker, "w", "w-0");
  AddSlurmNode("w-0", {"IDLE", "DYNAMIC_NORM"}, "");
  EXPECT_THAT(Said(), IsEmpty());
}

// What could not be listed is no absence.
TEST_F(DoctorTest, NothingFollowsFromWhatCouldNotBeSeen) {
  Cluster blind;
  blind.now = kNow;
  CustomResource& resource = Add("Controller");
  blind.resources.items = {resource};
  EXPECT_THAT(Diagnose(blind), IsEmpty());
}

TEST_F(DoctorTest, DefinitionsThatAreMissingAreNamed) {
  cluster.definitions.items.pop_back();
  const auto name = std::string(api::Kinds().back().plural) + ".slinky.slurm.net";
  EXPECT_THAT(Only("CrdsMissing", "CustomResourceDefinition " + name).what, HasSubstr(name));
}

TEST_F(DoctorTest, NobodyNeedsTheDefinitionOfSlurmClusters) {
  std::erase_if(cluster.definitions.items, [](const json::Value& definition) {
    return json::FindText(definition, {"metadata", "name"}) == "slurmclusters.capstan.dev";
  });
  ASSERT_EQ(cluster.definitions.items.size(), api::Kinds().size() - 1);
  EXPECT_THAT(Diagnose(cluster), IsEmpty());
}

TEST_F(DoctorTest, ADefinitionThatLacksAFieldIsOlder) {
  json::Value& definition = cluster.definitions.items.front();
  json::Value& version = definition.at("spec").at("versions").at(0);
  version.at("schema")
      .at("openAPIV3Schema")
      .at("properties")
      .at("spec")
      .at("properties")
      .as_object()
      .erase("slurmKeyRef");
  const std::string name(json::FindText(definition, {"metadata", "name"}));
  EXPECT_THAT(Only("CrdsOutdated", "CustomResourceDefinition " + name).what, HasSubstr("drops spec.slurmKeyRef"));
}

TEST_F(DoctorTest, OldStoredVersionsAreNamed) {
  json::Value& definition = cluster.definitions.items.front();
  definition.at("status").at("storedVersions") = boost::json::array{"v1alpha1", "v1beta1"};
  const std::string name(json::FindText(definition, {"metadata", "name"}));
  EXPECT_THAT(Only("StoredVersions", "CustomResourceDefinition " + name).what, HasSubstr("v1alpha1"));
}

TEST_F(DoctorTest, AnOperatorThatIsNotThereIsMissed) {
  Add("Controller");
  cluster.operators.items.clear();
  cluster.leases.items.clear();
  Only("OperatorMissing", "Deployment slurm-operator");
  AddLease("default", kNow - 1s);
  EXPECT_THAT(Said(), IsEmpty()) << "one that runs outside of the cluster renews its lease";
}

TEST_F(DoctorTest, AnOperatorThatIsNotReadySaysWhy) {
  cluster.operators.items[0].status.ready_replicas = 0;
  op::Pod pod = AddPod(op::kController, "x", "slurm-operator-1");
  cluster.pods.items.clear();
  pod.metadata.namespace_ = "slinky";
  Wait(pod, "ImagePullBackOff", "no such image");
  cluster.operator_pods.items = {pod};
  EXPECT_THAT(Only("OperatorNotReady", "Deployment slinky/slurm-operator").what, HasSubstr("no such image"));
  cluster.operators.items[0].spec.replicas = 0;
  EXPECT_THAT(Only("OperatorNotReady", "Deployment slinky/slurm-operator").todo, HasSubstr("--replicas=1"));
}

TEST_F(DoctorTest, ALeaseThatNobodyRenewsIsStale) {
  cluster.leases.items.clear();
  AddLease("slinky", kNow - 5min);
  Only("LeaseStale", "Lease slinky/slurm-operator");
}

TEST_F(DoctorTest, TwoOperatorsOfOneNamespaceAreOneTooMany) {
  Add("Controller");
  AddOperator("other", {"--leader-elect=true", "--namespaces=a,slurm"});
  Only("TwoOperators", "Deployment other/slurm-operator");
  cluster.operators.items[1].spec.pod_template.spec.containers[0].args = {"--namespaces=a"};
  EXPECT_THAT(Said(), IsEmpty());
  cluster.operators.items[0].spec.pod_template.spec.containers[0].args = {"--namespaces=slurm"};
  cluster.operators.items[1].status.ready_replicas = 0;
  EXPECT_THAT(Said(), IsEmpty()) << "one that has nothing to do with it";
}

TEST_F(DoctorTest, ANamespaceThatNoOperatorWatchesIsNamed) {
  cluster.operators.items[0].spec.pod_template.spec.containers[0].args = {"--namespaces=a,b"};
  Add("Controller");
  EXPECT_THAT(Only("NamespaceNotWatched", "Namespace slurm").todo, HasSubstr("operator.namespaces"));
}

TEST_F(DoctorTest, AnImageThatCannotBePulledIsTold) {
  Wait(AddPod(op::kController, "main", "main-controller-0"), "ImagePullBackOff", "Back-off pulling image \"x\"");
  const Finding finding = Only("DaemonFails", "Controller slurm/main");
  EXPECT_THAT(finding.what, HasSubstr("Back-off pulling image"));
  EXPECT_THAT(finding.todo, HasSubstr("correct the image"));
}

TEST_F(DoctorTest, ADaemonThatEndsAgainAndAgainHasItsLastLineQuoted) {
  Wait(AddPod(op::kController, "main", "main-controller-0"), "CrashLoopBackOff", "back-off 5m0s");
  cluster.last_lines["slurm/main-controller-0/slurmctld"] = "slurmctld: fatal: no such plugin";
  EXPECT_THAT(Only("DaemonFails", "Controller slurm/main").what, HasSubstr("its last line: slurmctld: fatal: no such"));
}

TEST_F(DoctorTest, AFullVolumeIsToldAsWhatItIs) {
  Wait(AddPod(op::kAccounting, "db", "db-accounting-0"), "CrashLoopBackOff", "back-off");
  cluster.last_lines["slurm/db-accounting-0/slurmdbd"] = "write: No space left on device";
  EXPECT_THAT(Only("DaemonFails", "Accounting slurm/db").todo, HasSubstr("the volume is full"));
}

TEST_F(DoctorTest, AClaimWithoutAVolumeSaysWhy) {
  Claim claim;
  claim.metadata.namespace_ = "slurm";
  claim.metadata.name = "statesave-main-controller-0";
  claim.metadata.creation_timestamp = kNow - 10min;
  claim.status.phase = "Pending";
  cluster.claims.items = {claim};
  Event event;
  event.regarding = {.kind = "PersistentVolumeClaim", .namespace_ = "slurm", .name = claim.metadata.name};
  event.note = "storageclass \"fast\" not found";
  cluster.events.items = {event};
  NotPlaced(AddPod(op::kController, "main", "main-controller-0"), "pod has unbound immediate PersistentVolumeClaims");
  EXPECT_THAT(Only("ClaimUnbound", "PersistentVolumeClaim slurm/statesave-main-controller-0").what,
              HasSubstr("storageclass \"fast\" not found"));
}

TEST_F(DoctorTest, APodOnALostNodeNamesTheOneStep) {
  AddNode("kube-2", false);
  op::Pod& pod = AddPod(op::kController, "main", "main-controller-0", "kube-2");
  pod.metadata.deletion_timestamp = kNow - 10min;
  EXPECT_THAT(Only("NodeLost", "Controller slurm/main").todo, HasSubstr("out-of-service"));
  pod.spec.node_name = "kube-1";
  EXPECT_THAT(Said(), IsEmpty()) << "a node that answers ends it itself";
}

TEST_F(DoctorTest, AKeyThatIsMissingIsNamedUnlessItIsMade) {
  NamedSecret named{.by = "Controller slurm/main",
                    .field = "slurmKeyRef",
                    .secret = {"slurm", "keys"},
                    .key = "slurm.key",
                    .state = NamedSecret::State::kNoSecret};
  cluster.secrets = {named};
  EXPECT_THAT(Only("KeyMissing", "Controller slurm/main").what, HasSubstr("Secret slurm/keys"));
  cluster.secrets[0].made_when_missing = true;
  EXPECT_THAT(Said(), IsEmpty());
  AddPod(op::kController, "main", "main-controller-0");
  Only("KeyMissing", "Controller slurm/main");  // no other is made for a slurmctld that runs
  cluster.secrets[0].state = NamedSecret::State::kNoKey;
  EXPECT_THAT(Only("KeyMissing", "Controller slurm/main").what, HasSubstr("has no key \"slurm.key\""));
  cluster.secrets[0].state = NamedSecret::State::kUnknown;
  EXPECT_THAT(Said(), IsEmpty());
}

TEST_F(DoctorTest, ADatabaseThatIsAwayIsTold) {
  CustomResource& accounting = Add("Accounting", "db");
  Say(accounting, "Ready", "False", "WaitingForDatabase", "slurmdbd answers once its database at db:3306 does");
  EXPECT_THAT(Only("DatabaseAway", "Accounting slurm/db").what, HasSubstr("db:3306"));
}

TEST_F(DoctorTest, NodesThatSlurmctldHasLeftOutAreTold) {
  Say(Add("Controller"), "Degraded", "True", "NodesUnread", "slurmctld goes on without w-0");
  EXPECT_THAT(Only("NodesUnread", "Controller slurm/main").what, HasSubstr("without w-0"));
}

TEST_F(DoctorTest, ASilentRestApiIsTold) {
  CustomResource& rest_api = Add("RestApi");
  cluster.rest_apis = {{.rest_api = {"slurm", "main"}, .answers = false, .error = "no endpoints available"}};
  EXPECT_THAT(Said(), IsEmpty()) << "it may be closed to the API server";
  Say(rest_api, "Ready", "False", "Starting", "slurmrestd is starting");
  EXPECT_THAT(Only("RestApiSilent", "RestApi slurm/main").what, HasSubstr("no endpoints available"));
}

TEST_F(DoctorTest, WorkersThatFindNoNodeAreCountedByReason) {
  NotPlaced(AddPod(op::kWorker, "w", "w-0"), "0/3 nodes are available: 3 Insufficient cpu.");
  NotPlaced(AddPod(op::kWorker, "w", "w-1"), "0/3 nodes are available: 3 Insufficient cpu.");
  EXPECT_THAT(Only("WorkersPending", "NodeSet slurm/w").what, HasSubstr("2 workers find no Kubernetes node; 2: 0/3"));
}

TEST_F(DoctorTest, WorkersThatDoNotRunAreToldTogether) {
  for (const char* name : {"w-0", "w-1", "w-2", "w-3"})
    Wait(AddPod(op::kWorker, "w", name), "ErrImagePull", "not found");
  EXPECT_THAT(Only("WorkersFail", "NodeSet slurm/w").what, HasSubstr("and 1 more"));
}

TEST_F(DoctorTest, WhoDrainedANodeAndWhyIsTold) {
  AddSlurmNode("w-0", {"IDLE", "DRAIN"}, "bad fan");
  AddSlurmNode("w-1", {"IDLE", "DRAIN"}, "slurm-operator: scale-in");
  EXPECT_THAT(Only("WorkersDrained", "Controller slurm/main").what, HasSubstr("w-0 \"bad fan\" by ada"));
}

TEST_F(DoctorTest, ANodeThatIsDownIsTold) {
  AddSlurmNode("w-0", {"DOWN"}, "Not responding");
  EXPECT_THAT(Only("WorkersDown", "Controller slurm/main").what, HasSubstr("\"Not responding\""));
}

TEST_F(DoctorTest, AReadyWorkerThatSlurmDoesNotKnowIsTold) {
  const auto add = [&](const std::string& name, Duration ready) {
    op::Pod& pod = AddPod(op::kWorker, "w", name);
    pod.spec.hostname = name;
    pod.status.pod_ip = "10.0.0." + name.substr(2);
    pod.status.conditions = {{.type = "Ready", .status = "True", .last_transition_time = kNow - ready}};
  };
  AddSlurmNode("w-0", {"IDLE"}, "");
  AddSlurmNode("other", {"IDLE"}, "").address = "10.0.0.2";
  add("w-0", 5min);
  add("w-1", 30s);
  add("w-2", 5min);
  EXPECT_THAT(Said(), IsEmpty());
  add("w-3", 5min);
  const Finding one = Only("WorkersUnknown", "Controller slurm/main");
  EXPECT_THAT(one.what, HasSubstr("ready: w-3"));
  EXPECT_THAT(one.todo, HasSubstr("kubectl logs --namespace slurm w-3"));
  cluster.slurm[0].nodes.clear();
  const Finding all = Only("WorkersUnknown", "Controller slurm/main");
  EXPECT_THAT(all.what, HasSubstr("ready: w-0; w-2; w-3; nor of any other node, as if slurmctld had come up without"));
  EXPECT_THAT(all.todo, HasSubstr("pod/main-controller-0"));
  cluster.slurm[0].error = "away";
  EXPECT_THAT(Said(), IsEmpty()) << "nothing follows from what could not be read";
}

TEST_F(DoctorTest, ARegistrationWithTooLittleIsTold) {
  AddSlurmNode("w-0", {"IDLE", "DRAIN", "INVALID_REG"}, "Low RealMemory");
  EXPECT_THAT(Only("InvalidRegistration", "Controller slurm/main").what, HasSubstr("Low RealMemory"));
}

TEST_F(DoctorTest, AConditionSpeaksForItself) {
  CustomResource& controller = Add("Controller");
  Say(controller, "Degraded", "True", "ConfigRefused", "the configuration is not published: line 3");
  EXPECT_EQ(Only("ConditionTold", "Controller slurm/main").severity, Severity::kWarning) << "it is Ready still";
  Say(controller, "Degraded", "False", "AsExpected", "");
  Say(controller, "Ready", "False", "Starting", "slurmctld is starting", 1min);
  EXPECT_THAT(Said(), IsEmpty()) << "it may be coming";
  Say(controller, "Ready", "False", "Starting", "slurmctld is starting", 6min);
  EXPECT_EQ(Only("ConditionTold", "Controller slurm/main").severity, Severity::kError);
}

TEST_F(DoctorTest, AConditionIsNotRepeatedWhereACauseIsKnown) {
  Say(Add("Controller"), "Degraded", "True", "PodFailing", "pod main-controller-0, container slurmctld: ErrImagePull");
  Wait(AddPod(op::kController, "main", "main-controller-0"), "ErrImagePull", "not found");
  Only("DaemonFails", "Controller slurm/main");
}

TEST_F(DoctorTest, WhatNobodyHasLookedAtIsTold) {
  Add("NodeSet", "w").status.conditions.clear();
  Only("NeverDecided", "NodeSet slurm/w");
}

TEST_F(DoctorTest, FieldsWithoutEffectAreAWarning) {
  Say(Add("NodeSet", "w"), "Degraded", "True", "NotSupported", "spec.pinToNode has no effect yet");
  EXPECT_EQ(Only("FieldUnheeded", "NodeSet slurm/w").severity, Severity::kWarning);
}

TEST_F(DoctorTest, ADeletionThatIsHeldNamesTheFinalizer) {
  CustomResource& set = Add("NodeSet", "w");
  set.metadata.deletion_timestamp = kNow - 1h;
  set.metadata.finalizers = {"example.org/backup"};
  EXPECT_THAT(Only("DeletionBlocked", "NodeSet slurm/w").what, HasSubstr("example.org/backup"));
  set.metadata.finalizers = {std::string(op::kFinalizerDrain)};
  EXPECT_THAT(Only("DeletionBlocked", "NodeSet slurm/w").todo, HasSubstr("force-delete"));
}

TEST_F(DoctorTest, ACordonedNodeSaysForWhomItWaits) {
  cluster.nodes.items[0].spec.unschedulable = true;
  AddPod(op::kWorker, "w", "w-0").metadata.labels[std::string(op::kLabelPodProtect)] = "true";
  EXPECT_THAT(Only("DrainWaits", "Node kube-1").what, HasSubstr("w-0"));
}

TEST_F(DoctorTest, CgroupV1IsToldWhereSlurmNeedsV2) {
  AddPod(op::kWorker, "w", "w-0");
  cluster.cgroup_versions["kube-1"] = 1;
  cluster.cgroup_confs["slurm/main"] = "CgroupPlugin=autodetect\n";
  EXPECT_THAT(Only("CgroupV1", "Controller slurm/main").what, HasSubstr("kube-1"));
  cluster.cgroup_confs["slurm/main"] = "CgroupPlugin=disabled\n";
  EXPECT_THAT(Said(), IsEmpty());
  cluster.cgroup_confs["slurm/main"] = "CgroupPlugin=autodetect\n";
  cluster.cgroup_versions["kube-1"] = 2;
  EXPECT_THAT(Said(), IsEmpty());
}

TEST_F(DoctorTest, AClockThatIsWrongIsTold) {
  cluster.skew = 4s;
  EXPECT_THAT(Said(), IsEmpty());
  cluster.skew = -90s;
  EXPECT_THAT(Only("ClockSkew", "this machine").what, HasSubstr("1m30s behind"));
}

TEST_F(DoctorTest, ATokenThatEndsIsTold) {
  CustomResource& token = Add("Token", "ada");
  token.status.issued_at = kNow - 50min;
  token.spec = json::Raw{R"({"username":"ada","lifetime":"1h"})"};
  EXPECT_THAT(Said(), IsEmpty());
  token.status.issued_at = kNow - 2h;
  EXPECT_EQ(Only("TokenEnds", "Token slurm/ada").severity, Severity::kError);
  token.spec = json::Raw{R"({"username":"ada","lifetime":"1h","refresh":false})"};
  token.status.issued_at = kNow - 57min;
  EXPECT_EQ(Only("TokenEnds", "Token slurm/ada").severity, Severity::kWarning);
}

TEST_F(DoctorTest, ErrorsComeBeforeWarnings) {
  cluster.skew = 1h;
  Wait(AddPod(op::kWorker, "w", "w-0"), "ErrImagePull", "not found");
  AddSlurmNode("w-1", {"DOWN"}, "x");
  EXPECT_THAT(Said(), ElementsAre("WorkersFail: NodeSet slurm/w", "WorkersDown: Controller slurm/main",
                                  "ClockSkew: this machine"));
}

TEST_F(DoctorTest, ReportsAreForPeopleAndForPrograms) {
  cluster.skew = 1h;
  cluster.not_seen = {"could not look at secrets: needs the right to get secrets"};
  const auto findings = Diagnose(cluster);
  const std::string text = TextReport(findings, cluster, false);
  EXPECT_THAT(text, HasSubstr("warning  this machine (ClockSkew)\n  its clock is 1h ahead of"));
  EXPECT_THAT(text, HasSubstr("could not look at secrets"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("\x1b")));
  EXPECT_THAT(TextReport(findings, cluster, true), HasSubstr("\x1b[33mwarning"));
  const auto report = json::Parse(JsonReport(findings, cluster));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->at("findings").at(0).at("cause"), "ClockSkew");
  EXPECT_EQ(report->at("healthy"), false);
  EXPECT_EQ(report->at("notSeen").as_array().size(), 1u);
}

// What others wrote must not move the reader's terminal.
TEST_F(DoctorTest, NoWordOfOthersCommandsATerminal) {
  AddSlurmNode("w-0", {"IDLE", "DRAIN"}, "x\x1b[2J\n");
  EXPECT_THAT(TextReport(Diagnose(cluster), cluster, false), ::testing::Not(HasSubstr("\x1b")));
}

TEST(Causes, EachHasAWordOfItsOwn) {
  std::set<std::string_view> names;
  for (const Cause& cause : Causes()) {
    EXPECT_TRUE(names.insert(cause.name).second) << cause.name;
    EXPECT_FALSE(cause.meaning.empty());
  }
  EXPECT_GE(names.size(), 12u);
}

}  // namespace
}  // namespace capstan::doctor
