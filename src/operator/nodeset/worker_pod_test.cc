#include "operator/nodeset/worker_pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/names.h"
#include "operator/nodeset/revision.h"
#include "operator/render/json.h"
#include "operator/testing/golden.h"

namespace capstan::op::nodeset {
namespace {

using namespace render;  // NOLINT: this file is made of its parts

using ::testing::HasSubstr;

class WorkerPodTest : public ::testing::Test {
 protected:
  WorkerPodTest() {
    controller.metadata = {.name = "main", .namespace_ = "slurm", .uid = "uid-main"};
    controller.spec.slurm_key_ref = {.name = "main-auth-slurm", .key = "slurm.key"};
    set.metadata = {.name = "main-worker-gpu", .namespace_ = "slurm", .uid = "uid-set"};
    set.spec.controller_ref.name = "main";
  }

  Result<NewWorker> WorkerPod(int ordinal, const Settings& settings = {}) {
    CAPSTAN_TRY(WorkerTemplate made, WorkerTemplate::Of(set, controller, settings));
    return made.Stamp({.ordinal = ordinal, .node = {}, .host = {}});
  }
  Json Pod(int ordinal = 0) {
    const auto worker = WorkerPod(ordinal);
    EXPECT_TRUE(worker.has_value()) << worker.error().message();
    return json::Parse(worker ? worker->body : "{}").value();
  }
  Json Container(int ordinal = 0) { return Pod(ordinal).at("spec").at("containers").at(0); }
  std::string Environment(std::string_view name) {
    for (const Json& variable : Container().at("env").as_array()) {
      if (json::FindText(variable, {"name"}) == name) return std::string(json::FindText(variable, {"value"}));
    }
    return "none";
  }

  api::Controller controller;
  api::NodeSet set;
};

TEST_F(WorkerPodTest, DefaultIsPinned) { test::ExpectGolden("nodeset", "worker-default.json", Pod()); }

TEST_F(WorkerPodTest, OfDaemonSetModeIsPinned) {
  set.spec.scaling_mode = std::string(api::kScalingDaemonSet);
  set.spec.pod_template.spec.text =
      R"({"nodeSelector":{"a":"b"},"tolerations":[{"operator":"Exists"}],"affinity":{"nodeAffinity":{)"
      R"("preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"preference":{}}],)"
      R"("requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[]}]}}}})";
  set.spec.volume_claim_templates.text = R"([{"metadata":{"name":"data"},"spec":{}}])";
  auto made = WorkerTemplate::Of(set, controller, {});
  ASSERT_TRUE(made) << made.error().message();
  const NewWorker worker = made->Stamp({.ordinal = -1, .node = "k1.example", .host = "k1"});
  EXPECT_EQ(worker.host, "k1");
  EXPECT_EQ(worker.claims[0].name, "data-main-worker-gpu-k1");
  test::ExpectGolden("nodeset", "worker-daemon.json", json::Parse(worker.body).value());
}

// People could not come into workers: sshd was in no image, and nothing was mounted where Capstan's looks for its files.
TEST_F(WorkerPodTest, WithSshIsPinned) {
  set.metadata.name = "w";
  set.spec.ssh = api::NodeSetSsh{true, "", {.name = "sssd", .key = "conf"}};
  test::ExpectGolden("nodeset", "worker-ssh.json", Pod());
  set.spec.slurmd.text = R"({"image":"ghcr.example.org/slurmd:1"})";
  test::ExpectGolden("nodeset", "worker-ssh-foreign.json", Pod());
}

TEST_F(WorkerPodTest, WhatRunsBesideSlurmdIsTheUsersToSay) {
  EXPECT_EQ(Environment("CAPSTAN_BESIDE"), "none");
  set.spec.ssh = api::NodeSetSsh{true, "", {.name = "sssd", .key = "conf"}};
  EXPECT_EQ(Environment("CAPSTAN_BESIDE"), "sssd sshd");
  set.spec.slurmd.text = R"({"env":[{"name":"CAPSTAN_BESIDE","value":"sssd"}]})";
  EXPECT_EQ(Environment("CAPSTAN_BESIDE"), "sssd");
}

// Where slurmctld keeps no state, a slurmd that it has forgotten registers although it has job steps.
TEST_F(WorkerPodTest, ThatSlurmctldKeepsNoStateIsToldAndNobodyElseSaysSo) {
  EXPECT_EQ(Environment("CAPSTAN_STATE_KEPT"), "none");
  set.spec.slurmd.text = R"({"env":[{"name":"CAPSTAN_STATE_KEPT","value":"false"}]})";
  EXPECT_EQ(Environment("CAPSTAN_STATE_KEPT"), "none");
  controller.spec.persistence = api::Persistence{.enabled = false};
  EXPECT_EQ(Environment("CAPSTAN_STATE_KEPT"), "false");
}

// A job that began before the label was written could be evicted.
TEST_F(WorkerPodTest, IsBornProtectedUnlessNobodyWantsThat) {
  const auto protect = [this] {
    return std::string(json::FindText(Pod(), {"metadata", "labels", std::string(kLabelPodProtect)}));
  };
  const auto revision = Revision(set);
  set.spec.pod_template.metadata = {{{std::string(kLabelPodProtect), "no"}}, {}};
  EXPECT_EQ(protect(), "true");
  set.spec.pod_template.metadata = {};
  EXPECT_EQ(protect(), "true");
  set.spec.workload_disruption_protection = false;
  EXPECT_EQ(protect(), "");
  EXPECT_EQ(*Revision(set), *revision) << "whoever changes their mind about it renews no worker";
}

TEST_F(WorkerPodTest, EverythingIsPinned) {
  set.metadata.labels = {{"team", "hpc"}, {"helm.sh/chart", "slurm-1.0"}};
  set.metadata.annotations = {{"owner", "me"}, {"meta.helm.sh/release-name", "r"}};
  set.spec.ordinal_padding = 3;
  set.spec.extra_conf = "Weight=10 Feature=a100 Gres=gpu:4";
  set.spec.slurmd.text = R"({"image":"mine/slurmd:1","args":["-vv"],"env":[{"name":"MINE","value":"1"}],
      "resources":{"limits":{"cpu":"1500m","memory":"2Gi","nvidia.com/gpu":4}},
      "livenessProbe":{"failureThreshold":30},"securityContext":{"privileged":false}})";
  set.spec.logfile.text = R"({"image":"busybox","imagePullPolicy":"Always"})";
  set.spec.ssh = api::NodeSetSsh{true, "X11Forwarding yes", {.name = "sssd", .key = "sssd.conf"}};
  set.spec.pod_template.metadata = {{{"rack", "1"}}, {{"note", "x"}}};
  set.spec.pod_template.spec.text = R"({"hostname":"gpu-","nodeName":"forced","priorityClassName":"high",
      "tolerations":[{"key":"gpu","operator":"Exists"}],"dnsConfig":{"searches":["example.com"]},
      "initContainers":[{"name":"init","image":"i"}],"containers":[{"name":"side","image":"s"}],
      "volumes":[{"name":"scratch","emptyDir":{}},{"name":"shared","nfs":{"server":"n","path":"/"}}],
      "affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone"}]}}})";
  set.spec.volume_claim_templates.text = R"([{"metadata":{"name":"scratch","labels":{"x":"y"}},
      "spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}},"status":null}])";
  const auto worker = WorkerPod(7, {.cluster_domain = "k8s.example", .image_prefix = "", .image_tag = ""});
  ASSERT_TRUE(worker.has_value()) << worker.error().message();
  EXPECT_EQ(worker->name, "main-worker-gpu-007");
  EXPECT_EQ(worker->host, "gpu-007");
  test::ExpectGoldenJson("nodeset", "worker-everything.json", worker->body);
  ASSERT_EQ(worker->claims.size(), 1u);
  EXPECT_EQ(worker->claims[0].name, "scratch-main-worker-gpu-007");
  test::ExpectGoldenJson("nodeset", "worker-claim.json", worker->claims[0].body);
  test::ExpectGoldenJson("nodeset", "worker-ssh-config.json", SshConfig(set).body);
}

// The Slinky projects' images join their arguments into one text and give it to a shell: a site's image got no more of
// --conf than its first item, and its nodes lost Gres and Weight.
TEST_F(WorkerPodTest, AShellReadsConfAsOneWord) {
  set.spec.extra_conf = "Weight=10 Gres=gpu:4";
  std::string line;
  for (const Json& argument : Container().at("args").as_array()) line += std::string(argument.as_string()) + " ";
  EXPECT_THAT(line, HasSubstr("--conf 'Features=main-worker-gpu Gres=gpu:4 Weight=10' "));
}

TEST_F(WorkerPodTest, ExternalSlurmctldIsConnectedTo) {
  controller.spec.external = true;
  controller.spec.external_config = {"head.example.com", 7000};
  EXPECT_EQ(Container().at("args").at(2), "head.example.com:7000");
}

// A node that was starved for a minute, or a slurmd that was stopped for so long, lost its jobs to the kubelet.
TEST_F(WorkerPodTest, TheKubeletEndsNoSlurmdUnlessTheTemplateAsksForThat) {
  EXPECT_EQ(json::Find(Container(), {"livenessProbe"}), nullptr);
  EXPECT_EQ(json::Find(Container(), {"startupProbe"}), nullptr);
  EXPECT_NE(json::Find(Container(), {"readinessProbe"}), nullptr);
  set.spec.slurmd.text = R"({"livenessProbe":{"failureThreshold":99},"startupProbe":null})";
  EXPECT_EQ(Container().at("livenessProbe").at("failureThreshold"), 99);
  EXPECT_EQ(Container().at("livenessProbe").at("httpGet").at("path"), "/livez");
  EXPECT_EQ(json::Find(Container(), {"startupProbe"}), nullptr);
}

TEST_F(WorkerPodTest, ServicePortIsHonoured) {
  controller.spec.service.port = 7000;
  EXPECT_EQ(Container().at("args").at(2), "main-controller.slurm:7000");
}

TEST_F(WorkerPodTest, LimitsOfThePodCountUnlessTheContainerHasItsOwn) {
  EXPECT_EQ(Environment("POD_CPUS"), "0");
  EXPECT_EQ(Environment("POD_MEMORY"), "0");
  set.spec.pod_template.spec.text = R"({"resources":{"limits":{"cpu":8,"memory":"1G"}}})";
  EXPECT_EQ(Environment("POD_CPUS"), "8");
  EXPECT_EQ(Environment("POD_MEMORY"), "953");
  set.spec.slurmd.text = R"({"resources":{"limits":{"cpu":"2500m","memory":0}}})";
  EXPECT_EQ(Environment("POD_CPUS"), "3");
  EXPECT_EQ(Environment("POD_MEMORY"), "953");
}

TEST_F(WorkerPodTest, OversubscribedNodesTakeSeveral) {
  EXPECT_NE(json::Find(Pod(), {"spec", "affinity", "podAntiAffinity"}), nullptr);
  set.spec.oversubscribe_node = true;
  EXPECT_EQ(json::Find(Pod(), {"spec", "affinity"}), nullptr);
}

// The host's name is the machine's: slurmd, and the hook that stops it, are told theirs.
TEST_F(WorkerPodTest, WithHostNetworkSlurmdIsToldItsName) {
  EXPECT_EQ(Environment("POD_HOSTNAME"), "none");
  set.spec.pod_template.spec.text = R"({"hostNetwork":true})";
  const json::Value pod = Pod();
  const std::string text = json::Serialize(*json::Find(pod, {"spec", "containers"}));
  EXPECT_THAT(text, HasSubstr(R"x("-N","$(POD_HOSTNAME)")x"));
  EXPECT_THAT(text, HasSubstr(R"("name":"POD_HOSTNAME","valueFrom":{"fieldRef":{"fieldPath":"spec.nodeName"}})"));
  EXPECT_EQ(json::FindText(pod, {"spec", "dnsPolicy"}), "ClusterFirstWithHostNet");
  EXPECT_EQ(json::FindText(pod, {"metadata", "annotations", kAnnotationNamed}), "machine");
  EXPECT_EQ(json::FindText(pod, {"metadata", "labels", kLabelPodHostname}), "") << "nobody knows it yet";
  EXPECT_EQ(WorkerPod(0)->host, "");
  set.spec.pod_template.spec.text = R"({"hostNetwork":true,"dnsPolicy":"Default"})";
  EXPECT_EQ(json::FindText(Pod(), {"spec", "dnsPolicy"}), "Default");
}

TEST_F(WorkerPodTest, WithHostNetworkInDaemonSetModeItsNameIsKnown) {
  set.spec.pod_template.spec.text = R"({"hostNetwork":true})";
  set.spec.scaling_mode = std::string(api::kScalingDaemonSet);
  auto made = WorkerTemplate::Of(set, controller);
  ASSERT_TRUE(made) << made.error().message();
  const NewWorker worker = made->Stamp({.ordinal = -1, .node = "k1.example", .host = "k1"});
  EXPECT_EQ(worker.host, "k1");
  const Json pod = *json::Parse(worker.body);
  EXPECT_EQ(json::FindText(pod, {"metadata", "annotations", kAnnotationNamed}), "true");
  EXPECT_EQ(json::FindText(pod, {"metadata", "labels", kLabelPodHostname}), "k1");
  EXPECT_THAT(worker.body, HasSubstr("metadata.labels['nodeset.slinky.slurm.net/pod-hostname']"));
}

// Whose slurmd registered by another name were deleted every sixteen minutes, with their jobs.
TEST_F(WorkerPodTest, NobodyElseNamesTheSlurmNode) {
  set.spec.slurmd.text =
      R"x({"args":["-N","$(MACHINE)","-v","--conf-server","other:1","-f","/x"],
           "env":[{"name":"CAPSTAN_NODE_NAME","value":"x"},{"name":"POD_HOSTNAME","value":"x"},{"name":"A","value":"b"}]})x";
  for (const char* network : {"true", "false"}) {
    set.spec.pod_template.spec.text = R"({"hostNetwork":)" + std::string(network) + "}";
    const Json container = Container();
    const std::string args = json::Serialize(container.at("args")), env = json::Serialize(container.at("env"));
    EXPECT_THAT(args, ::testing::AllOf(HasSubstr(R"("-v")"), ::testing::Not(HasSubstr("MACHINE")),
                                       ::testing::Not(HasSubstr("other:1")), ::testing::Not(HasSubstr("/x"))));
    EXPECT_THAT(
        env, ::testing::AllOf(HasSubstr(R"({"name":"A","value":"b"})"), ::testing::Not(HasSubstr(R"("value":"x")"))));
    EXPECT_EQ(Environment("CAPSTAN_NODE_NAME"), "") << "its value is the label's";
  }
}

TEST_F(WorkerPodTest, HostNetworkAndSshAreRefused) {
  set.spec.pod_template.spec.text = R"({"hostNetwork":true})";
  set.spec.ssh = api::NodeSetSsh{true, "", {.name = "sssd", .key = "conf"}};
  EXPECT_THAT(CheckTemplate(set).error().message(), HasSubstr("port 22 is that of the machine's own sshd"));
  set.spec.pod_template.spec.text = R"({"hostNetwork":false})";
  EXPECT_TRUE(CheckTemplate(set).has_value());
  EXPECT_TRUE(WorkerPod(0).has_value());
}

// A NodeSet that was called "all" had every node of the cluster in its partition.
TEST_F(WorkerPodTest, NamesThatStandForSomethingElseInSlurmAreRefused) {
  for (const char* name : {"all", "default"}) {
    set.metadata.name = name;
    EXPECT_THAT(WorkerPod(0).error().message(), HasSubstr("the NodeSet's name in Slurm, " + set.metadata.name));
  }
  set.spec.pod_template.spec.text = R"({"hostname":"gpu-"})";
  EXPECT_TRUE(WorkerPod(0));
}

TEST_F(WorkerPodTest, BadInputSaysWhere) {
  set.spec.extra_conf = "Weight";
  EXPECT_THAT(WorkerPod(0).error().message(), HasSubstr("extraConf item \"Weight\""));
  set.spec.extra_conf = "";
  set.spec.pod_template.spec.text = R"({"containers":[{"image":"x"}]})";
  EXPECT_THAT(WorkerPod(0).error().message(), HasSubstr("spec.template.spec"));
  set.spec.pod_template.spec.text = "";
  set.spec.slurmd.text = R"({"resources":{"limits":{"cpu":"lots"}}})";
  EXPECT_THAT(WorkerPod(0).error().message(), HasSubstr("resources.limits.cpu"));
}

// --- Revision --------------------------------------------------------------------------------------------------------

TEST(Revision, EqualWishesAreEqualHoweverTheyAreWritten) {
  api::NodeSet one, other;
  one.spec.slurmd.text = R"({"image":"a","resources":{"limits":{"memory":"1024Mi","cpu":2}}})";
  other.spec.slurmd.text = R"({ "resources": {"limits": {"cpu": "2", "memory": "1Gi"}}, "image": "a" })";
  other.spec.ordinal_padding = 0;
  other.spec.oversubscribe_node = false;
  other.spec.logfile.text = "{}";
  other.spec.ssh = api::NodeSetSsh();
  EXPECT_EQ(Revision(one), Revision(other));
}

TEST(Revision, OnlyWhatAWorkerIsMadeFromCounts) {
  api::NodeSet plain;
  const std::string before = Revision(plain).value();
  api::NodeSet other;
  other.metadata.labels = {{"a", "b"}};
  other.spec.replicas = 7;
  other.spec.controller_ref.name = "x";
  other.spec.partition = api::NodeSetPartition{true, "State=UP"};
  EXPECT_EQ(Revision(other).value(), before);

  const std::vector<void (*)(api::NodeSetSpec&)> changes = {
      [](api::NodeSetSpec& s) { s.extra_conf = "Weight=1"; },
      [](api::NodeSetSpec& s) { s.slurmd.text = R"({"image":"a"})"; },
      [](api::NodeSetSpec& s) { s.logfile.text = R"({"image":"a"})"; },
      [](api::NodeSetSpec& s) { s.ordinal_padding = 2; },
      [](api::NodeSetSpec& s) { s.oversubscribe_node = true; },
      [](api::NodeSetSpec& s) { s.ssh = api::NodeSetSsh{true, "", {}}; },
      [](api::NodeSetSpec& s) { s.pod_template.spec.text = R"({"priority":1})"; },
      [](api::NodeSetSpec& s) { s.pod_template.metadata.labels = {{"a", "b"}}; },
  };
  std::set<std::string> seen{before};
  for (const auto change : changes) {
    api::NodeSet changed;
    change(changed.spec);
    EXPECT_TRUE(seen.insert(Revision(changed).value()).second);
  }
}

// A hash that changed with a release of Capstan would replace every worker.
TEST(Revision, IsPinned) {
  api::NodeSet set;
  EXPECT_EQ(Revision(set).value(), ShortHash("{}"));
  EXPECT_EQ(Revision(set).value(), "5894b84845");
  set.spec.extra_conf = "Weight=10";
  set.spec.slurmd.text = R"({"image":"capstan/slurmd:26.05"})";
  EXPECT_EQ(Revision(set).value(), "7bc4dfc664");
}

}  // namespace
}  // namespace capstan::op::nodeset
