// What is seen of a cluster, and what is said to be unseen, with a modelled API server and slurmrestd at the other end.
#include "doctor/look.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "api/common.h"
#include "api/kinds.h"
#include "base/text.h"
#include "json/value.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/run_virtual.h"
#include "kube/testing/scripted_transport.h"
#include "operator/names.h"
#include "slurm/testing/fake_slurm.h"
#include "slurm/testing/fake_slurmrestd.h"

namespace capstan::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

constexpr std::string_view kRestApiPath = "/api/v1/namespaces/slurm/services/http:main-restapi:6820/proxy";
constexpr const char* kController = R"({"metadata":{"namespace":"slurm","name":"main"},"spec":{
    "slurmKeyRef":{"name":"keys","key":"slurm.key"},"jwtKeyRef":{"name":"keys","key":"jwt.key"},
    "configFileRefs":[{"name":"files"}]}})";
constexpr const char* kRestApi =
    R"({"metadata":{"namespace":"slurm","name":"main"},"spec":{"controllerRef":{"name":"main"}}})";
constexpr std::string_view kKey = "a key of thirty-two bytes, or so";

// The API server with what the model has not: its version with the time, and ways through it to kubelets and Services.
class Front final : public net::Transport {
 public:
  Front(async::Loop& loop, kube::testing::FakeApiServer& server) : logs(loop), server_(server) {}

  async::Task<Result<net::Response>> Send(net::Request request, async::Deadline deadline) override {
    if (const auto found = answers.find(request.target); found != answers.end()) co_return found->second;
    co_return co_await server_.Send(std::move(request), deadline);
  }
  async::Task<Result<std::unique_ptr<net::BodyStream>>> Open(net::Request request, async::Deadline deadline) override {
    co_return co_await logs.Open(std::move(request), deadline);
  }

  kube::testing::ScriptedTransport logs;
  std::map<std::string, net::Response> answers;  // by target

 private:
  kube::testing::FakeApiServer& server_;
};

// One that somebody else owns.
class Borrowed final : public net::Transport {
 public:
  explicit Borrowed(net::Transport& transport) : transport_(transport) {}
  async::Task<Result<net::Response>> Send(net::Request request, async::Deadline deadline) override {
    co_return co_await transport_.Send(std::move(request), deadline);
  }
  async::Task<Result<std::unique_ptr<net::BodyStream>>> Open(net::Request request, async::Deadline deadline) override {
    co_return co_await transport_.Open(std::move(request), deadline);
  }

 private:
  net::Transport& transport_;
};

class LookTest : public ::testing::Test {
 protected:
  LookTest() {
    for (const api::KindInfo& kind : api::Kinds()) server.objects().Serve(ResourceOf(kind));
    server.objects().Serve(kube::kCustomResourceDefinitions);
    server.objects().Serve(kube::kNodes);
    for (const kube::Resource& resource :
         {kube::kDeployments, kube::kPods, kube::kLeases, kube::kSecrets, kube::kServices, kube::kConfigMaps,
          kube::kPersistentVolumeClaims, kube::kEvents})
      server.objects().Serve(resource);
    front.answers["/version"] = {.status = 200, .headers = {{"Date", "Tue, 14 Nov 2023 22:13:20 GMT"}}};
    for (const api::KindInfo& kind : api::Kinds()) server.Put(kube::kCustomResourceDefinitions, api::CrdJson(kind));
  }

  static kube::Resource ResourceOf(const api::KindInfo& kind) {
    return {kind.group, kind.version, kind.plural, kind.kind, true};
  }
  static kube::Resource ResourceOf(std::string_view kind) {
    for (const api::KindInfo& info : api::Kinds()) {
      if (info.kind == kind) return ResourceOf(info);
    }
    ADD_FAILURE() << kind;
    return {};
  }
  void PutKeys() {
    server.Put(kube::kSecrets, R"({"metadata":{"namespace":"slurm","name":"keys"},
        "data":{"slurm.key":"c2VjcmV0","jwt.key":"YSBrZXkgb2YgdGhpcnR5LXR3byBieXRlcywgb3Igc28="}})");
  }
  void PutService(const std::string& owner_uid, const std::string& type = "ClusterIP",
                  const std::string& app = "slurmrestd") {
    server.Put(kube::kServices, R"({"metadata":{"namespace":"slurm","name":"main-restapi","ownerReferences":[
        {"apiVersion":"slinky.slurm.net/v1beta1","kind":"RestApi","name":"main","controller":true,"uid":")" +
                                    owner_uid + R"("}]},"spec":{"type":")" + type +
                                    R"(","selector":{"app.kubernetes.io/name":")" + app +
                                    R"(","app.kubernetes.io/instance":"main"}}})");
  }
  void PutCluster() {
    server.Put(ResourceOf("Controller"), kController);
    server.Put(ResourceOf("RestApi"), kRestApi);
    PutService(
        std::string(json::FindText(*server.Find(ResourceOf("RestApi"), {"slurm", "main"}), {"metadata", "uid"})));
    PutKeys();
    server.Put(kube::kConfigMaps,
               R"({"metadata":{"namespace":"slurm","name":"main-config"},"data":{"slurm.conf":"x"}})");
    server.Put(kube::kConfigMaps,
               R"({"metadata":{"namespace":"slurm","name":"files"},"data":{"cgroup.conf":"CgroupPlugin=disabled\n"}})");
    front.answers[std::string(kRestApiPath) + "/openapi/v3"] = {.status = 200, .headers = {}, .body = "{}"};
    slurmrestd.SetKey(Secret(std::string(kKey)));
    slurm.StartSlurmd({.name = "w-0"});
  }

  Result<Cluster> TryLook(std::string ns = "") {
    const auto below = [this](const std::string& path) -> std::unique_ptr<net::Transport> {
      EXPECT_EQ(path, kRestApiPath);
      return std::make_unique<Borrowed>(slurmrestd);
    };
    return kube::testing::RunVirtual(loop, Look(loop, front, {.ns = std::move(ns), .below = below}));
  }
  Cluster LookAt(std::string ns = "") {
    auto cluster = TryLook(std::move(ns));
    EXPECT_TRUE(cluster) << cluster.error().message();
    return cluster ? *std::move(cluster) : Cluster();
  }

  async::VirtualLoop loop;  // its clock begins with Tue, 14 Nov 2023 22:13:20 GMT
  kube::testing::FakeApiServer server{loop, 1};
  Front front{loop, server};
  slurm::testing::FakeSlurm slurm{loop};
  slurm::testing::FakeSlurmrestd slurmrestd{slurm};
};

TEST_F(LookTest, AClusterThatIsWhollySeen) {
  PutCluster();
  server.Put(kube::kDeployments, R"({"metadata":{"namespace":"slinky","name":"slurm-operator",
      "labels":{"app.kubernetes.io/name":"slurm-operator"}},"spec":{"replicas":1}})");
  server.Put(kube::kDeployments, R"({"metadata":{"namespace":"slinky","name":"another"}})");
  server.Put(kube::kLeases, R"({"metadata":{"namespace":"slinky","name":"slurm-operator"}})");
  server.Put(kube::kPods,
             R"({"metadata":{"namespace":"slurm","name":"w-0","labels":{"app.kubernetes.io/name":"slurmd"}},
      "spec":{"nodeName":"kube-1"}})");
  server.Put(kube::kPods, R"({"metadata":{"namespace":"slurm","name":"web"}})");
  server.Put(kube::kNodes, R"({"metadata":{"name":"kube-1"}})");
  server.Put(kube::kPersistentVolumeClaims,
             R"({"metadata":{"namespace":"slurm","name":"state"},"status":{"phase":"Pending"}})");
  server.Put(kube::kPersistentVolumeClaims,
             R"({"status":{"phase":"Pending"},"metadata":{"namespace":"slurm","name":"state"}})", "status");
  server.Put(kube::kEvents, R"({"metadata":{"namespace":"slurm","name":"e"},"regarding":{"kind":"PersistentVolumeClaim",
      "namespace":"slurm","name":"state"},"note":"no volume"})");
  front.answers["/api/v1/nodes/kube-1/proxy/metrics"] = {
      .status = 200, .headers = {}, .body = "# TYPE kubelet_cgroup_version gauge\nkubelet_cgroup_version 2\n"};
  const Cluster seen = LookAt();
  EXPECT_THAT(seen.not_seen, IsEmpty());
  EXPECT_EQ(seen.skew, Duration(0));
  EXPECT_EQ(seen.definitions.items.size(), api::Kinds().size());
  EXPECT_EQ(seen.resources.items.size(), 2u);
  ASSERT_NE(seen.Find("Controller", {"slurm", "main"}), nullptr);
  EXPECT_EQ(seen.operators.items.size(), 1u);
  EXPECT_EQ(seen.leases.items.size(), 1u);
  ASSERT_EQ(seen.pods.items.size(), 1u) << "of Slurm alone";
  EXPECT_NE(seen.FindNode("kube-1"), nullptr);
  EXPECT_THAT(seen.cgroup_versions, ElementsAre(Pair("kube-1", 2)));
  EXPECT_THAT(seen.cgroup_confs, ElementsAre(Pair("slurm/main", "CgroupPlugin=disabled\n")));
  ASSERT_EQ(seen.claims.items.size(), 1u);
  ASSERT_EQ(seen.events.items.size(), 1u);
  EXPECT_EQ(seen.events.items.front().note, "no volume");
  ASSERT_EQ(seen.secrets.size(), 2u);
  for (const NamedSecret& named : seen.secrets) EXPECT_EQ(named.state, NamedSecret::State::kThere) << named.field;
  ASSERT_EQ(seen.rest_apis.size(), 1u);
  EXPECT_TRUE(seen.rest_apis.front().answers);
  ASSERT_EQ(seen.slurm.size(), 1u);
  ASSERT_EQ(seen.slurm.front().nodes.size(), 1u);
  EXPECT_EQ(seen.slurm.front().nodes.front().name, "w-0");
}

TEST_F(LookTest, OneNamespaceAlone) {
  server.Put(ResourceOf("Controller"), kController);
  server.Put(ResourceOf("Controller"), R"({"metadata":{"namespace":"other","name":"main"}})");
  const Cluster seen = LookAt("other");
  ASSERT_EQ(seen.resources.items.size(), 1u);
  EXPECT_EQ(seen.resources.items.front().ToString(), "Controller other/main");
  EXPECT_THAT(seen.scope, ElementsAre("other"));
  EXPECT_EQ(LookAt().resources.items.size(), 2u);
}

TEST_F(LookTest, ListsHaveAllTheirPages) {
  for (int i = 0; i < 1100; ++i) {
    server.Put(kube::kPods, R"({"metadata":{"namespace":"slurm","name":"w-)" + std::to_string(i) +
                                R"(","labels":{"app.kubernetes.io/name":"slurmd"}}})");
  }
  EXPECT_EQ(LookAt().pods.items.size(), 1100u);
}

TEST_F(LookTest, ASecretOrAKeyInItThatIsMissingIsToldFromOneThatMayNotBeRead) {
  server.Put(ResourceOf("Controller"), kController);
  const auto states = [this] {
    std::vector<NamedSecret::State> found;
    for (const NamedSecret& named : LookAt().secrets) found.push_back(named.state);
    return found;
  };
  using State = NamedSecret::State;
  EXPECT_THAT(states(), ElementsAre(State::kNoSecret, State::kNoSecret));
  server.Put(kube::kSecrets, R"({"metadata":{"namespace":"slurm","name":"keys"},"data":{"jwt.key":"eA=="}})");
  EXPECT_THAT(states(), ElementsAre(State::kNoKey, State::kThere));
  server.authorize = [](std::string_view, const kube::Resource& resource, std::string_view) {
    return resource.plural != "secrets";
  };
  EXPECT_THAT(states(), ElementsAre(State::kUnknown, State::kUnknown));
  EXPECT_THAT(LookAt().not_seen,
              ElementsAre("could not look at whether keys are there in namespace slurm: needs the right to "
                          "get secrets"));
}

TEST_F(LookTest, AListThatMayNotBeReadIsUnknownAndNamedWithItsRight) {
  server.Put(ResourceOf("Controller"), R"({"metadata":{"namespace":"slurm","name":"main"}})");
  server.authorize = [](std::string_view, const kube::Resource& resource, std::string_view) {
    return resource.plural != "pods" && resource.plural != "tokens";
  };
  const Cluster seen = LookAt();
  EXPECT_FALSE(seen.pods.known());
  EXPECT_FALSE(seen.resources.known());
  EXPECT_TRUE(seen.nodes.known());
  EXPECT_EQ(seen.resources.items.size(), 1u) << "the other kinds are seen";
  EXPECT_THAT(seen.not_seen,
              ElementsAre("could not look at tokens.slinky.slurm.net in all namespaces: needs the right to list "
                          "tokens.slinky.slurm.net",
                          "could not look at pods in all namespaces: needs the right to list pods"));
}

TEST_F(LookTest, WhoMaySeeNoCustomResourceSeesNothing) {
  server.authorize = [](std::string_view, const kube::Resource& resource, std::string_view) {
    return resource.group != api::kGroup && resource.group != api::kOwnGroup;
  };
  const auto seen = TryLook();
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().code(), Code::kForbidden);
}

TEST_F(LookTest, KindsThatAreNotServedAreMissingAndNotUnseen) {
  for (const api::KindInfo& kind : api::Kinds())
    server.Remove(kube::kCustomResourceDefinitions, {"", std::string(kind.plural) + "." + std::string(kind.group)});
  const Cluster seen = LookAt();
  EXPECT_TRUE(seen.definitions.known());
  EXPECT_THAT(seen.definitions.items, IsEmpty());
  EXPECT_THAT(seen.not_seen, IsEmpty());
}

TEST_F(LookTest, AnApiServerThatIsAwayOrKnowsNobodyIsAnError) {
  server.faults.refused = 100;
  front.answers.erase("/version");
  auto seen = TryLook();
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().code(), Code::kUnavailable);
  server.faults.refused = 0;
  front.answers["/version"] = {.status = 401};
  seen = TryLook();
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().code(), Code::kUnauthenticated);
}

TEST_F(LookTest, TheServersClockCountsAndOursIsComparedWithIt) {
  EXPECT_EQ(LookAt().skew, Duration(0));
  loop.JumpWallClock(1h);
  Cluster seen = LookAt();
  ASSERT_TRUE(seen.skew);
  EXPECT_GT(*seen.skew, 59min);
  EXPECT_EQ(FormatRfc3339(seen.now), "2023-11-14T22:13:20Z");
  loop.JumpWallClock(-3h);
  seen = LookAt();
  ASSERT_TRUE(seen.skew);
  EXPECT_LT(*seen.skew, -119min);
  front.answers["/version"].headers = {{"Date", "yesterday"}};
  EXPECT_FALSE(LookAt().skew) << "one that cannot be read is none";
}

TEST_F(LookTest, ASlurmrestdThatIsAwayIsToldFromAWayThatIsForbidden) {
  PutCluster();
  const std::string asked = std::string(kRestApiPath) + "/openapi/v3";
  front.answers[asked] = {.status = 503, .headers = {}, .body = R"({"kind":"Status","status":"Failure","code":503,
      "message":"no endpoints available for service \"main-restapi\""})"};
  Cluster seen = LookAt();
  ASSERT_EQ(seen.rest_apis.size(), 1u);
  EXPECT_FALSE(seen.rest_apis.front().answers);
  EXPECT_THAT(seen.rest_apis.front().error, HasSubstr("no endpoints available"));
  EXPECT_THAT(seen.slurm, IsEmpty());
  front.answers[asked] = {.status = 403, .headers = {}, .body = R"({"kind":"Status","status":"Failure","code":403})"};
  seen = LookAt();
  EXPECT_THAT(seen.rest_apis, IsEmpty()) << "nothing is known of it";
  EXPECT_THAT(seen.not_seen, ElementsAre(HasSubstr("needs the right to get services/proxy")));
}

TEST_F(LookTest, SlurmThatTalksNonsenseOrKnowsAnotherKeyIsToldAndNoNodeIsMadeUp) {
  PutCluster();
  slurmrestd.SetFault(slurm::testing::Fault::kGarbage);
  Cluster seen = LookAt();
  ASSERT_EQ(seen.slurm.size(), 1u);
  EXPECT_THAT(seen.slurm.front().nodes, IsEmpty());
  EXPECT_THAT(seen.slurm.front().error, Not(IsEmpty()));
  EXPECT_THAT(seen.not_seen, ElementsAre(HasSubstr("could not look at the nodes of Slurm of Controller slurm/main: ")));
  slurmrestd.SetFault(slurm::testing::Fault::kHang);
  EXPECT_THAT(LookAt().not_seen, ElementsAre(HasSubstr("the nodes of Slurm of Controller slurm/main: ")));
  slurmrestd.Heal();
  slurmrestd.SetKey(Secret(std::string("another key of thirty-two bytes.")));
  seen = LookAt();
  EXPECT_THAT(seen.slurm.front().nodes, IsEmpty());
  EXPECT_THAT(seen.slurm.front().error, Not(HasSubstr(std::string(kKey))));
  EXPECT_THAT(seen.not_seen, ElementsAre(HasSubstr("the nodes of Slurm of Controller slurm/main: ")));
}

// A token of Slurm's user would have gone to whoever made it.
TEST_F(LookTest, NoTokenGoesToAServiceThatIsNotTheRestApisOrLeadsElsewhere) {
  PutCluster();
  const std::string uid(json::FindText(*server.Find(ResourceOf("RestApi"), {"slurm", "main"}), {"metadata", "uid"}));
  const std::vector<std::function<void()>> others = {
      [&] { PutService("uid-somebody"); }, [&] { PutService(uid, "ExternalName"); },
      [&] { PutService(uid, "ClusterIP", "theirs"); },
      [&] { server.Remove(kube::kServices, {"slurm", "main-restapi"}); }};
  for (const auto& other : others) {
    other();
    const Cluster seen = LookAt();
    EXPECT_THAT(seen.slurm, IsEmpty());
    EXPECT_THAT(seen.not_seen, ElementsAre(HasSubstr("could not look at Slurm's nodes by RestApi slurm/main: ")));
    EXPECT_EQ(seen.rest_apis.size(), 1u) << "whether it answers is asked without one";
  }
  server.authorize = [](std::string_view, const kube::Resource& resource, std::string_view) {
    return resource.plural != "services";
  };
  EXPECT_THAT(LookAt().not_seen, ElementsAre(HasSubstr("needs the right to get services")));
}

TEST_F(LookTest, TheLastLineOfAContainerThatEndsAgainAndAgainIsRead) {
  server.Put(kube::kPods, R"({"metadata":{"namespace":"slurm","name":"main-controller-0",
      "labels":{"app.kubernetes.io/name":"slurmctld"}}})");
  server.Put(kube::kPods, R"({"metadata":{"namespace":"slurm","name":"main-controller-0",
      "labels":{"app.kubernetes.io/name":"slurmctld"}},"status":{"containerStatuses":[
      {"name":"slurmctld","state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":1}}}]}})",
             "status");
  const auto log = front.logs.ThenStream();
  log->Say("starting\nfatal: cannot read the state: No space left on device\n\n");
  log->End();
  EXPECT_THAT(LookAt().last_lines, ElementsAre(Pair("slurm/main-controller-0/slurmctld",
                                                    "fatal: cannot read the state: No space left on device")));
  EXPECT_THAT(front.logs.requests.front().target, HasSubstr("/pods/main-controller-0/log?"));
  EXPECT_THAT(front.logs.requests.front().target, HasSubstr("previous=true"));
  front.logs.ThenAnswer(403, R"({"kind":"Status","status":"Failure","code":403,"reason":"Forbidden"})");
  EXPECT_THAT(LookAt().not_seen,
              ElementsAre(HasSubstr("the last line of pod slurm/main-controller-0: needs the right to get "
                                    "pods/log")));
}

}  // namespace
}  // namespace capstan::doctor
