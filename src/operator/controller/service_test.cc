#include "operator/controller/decide_test.h"

namespace capstan::op::controller {
namespace {

using test::BodyOf;
using test::ConditionOf;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Seen on a real cluster: the kubelet called slurmctld ready ten seconds after it answered, a moment after the slurmds
// had given up for another ten.
TEST_F(ControllerTest, SlurmctldIsReachedBeforeItIsReadyUnlessTheUserWantsItOtherwise) {
  HaveKeys();
  EXPECT_THAT(BodyOf(Look(), "Service", "main-controller"), HasSubstr(R"("publishNotReadyAddresses":true)"));
  controller.spec.service.spec.text = R"({"publishNotReadyAddresses":false})";
  EXPECT_THAT(BodyOf(Look(), "Service", "main-controller"), HasSubstr(R"("publishNotReadyAddresses":false)"));
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

TEST_F(ControllerTest, PortsOfTheServiceMayNotCollide) {
  HaveKeys();
  controller.spec.service.spec.text = R"({"ports":[{"name":"slurmctld","port":1}]})";
  const plan::Plan plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Degraded"), HasSubstr("spec.service.spec.ports: the name \"slurmctld\" is taken"));
  EXPECT_FALSE(plan.children_complete);
}

}  // namespace
}  // namespace capstan::op::controller
