#include "operator/controller/decide_test.h"
#include "operator/names.h"

namespace capstan::op::controller {
namespace {

using test::ActionNames;
using test::BodyOf;
using test::ConditionOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

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

}  // namespace
}  // namespace capstan::op::controller
