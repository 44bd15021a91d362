#include "bridge/group/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bridge/bridge_test.h"

namespace capstan::bridge::group {
namespace {

using ::testing::HasSubstr;

Pod With(const std::string& suffix, const std::string& value) {
  Pod pod = testing::GatedPod();
  pod.metadata.annotations[std::string(kJobAnnotations) + suffix] = value;
  return pod;
}

Shape ShapeFor(const Pod& pod, int64_t places = 1) {
  Shape shape{.least = places, .most = places, .name = "ml/trainer"};
  shape.annotations = pod.metadata.annotations;
  shape.policy.ns = "ml";
  return shape;
}

Result<slurm::ExternalJob> Order(const Pod& pod, int64_t places = 1) {
  const Pod* const one = &pod;
  CAPSTAN_TRY(struct Order order, OrderOf({&one, 1}, ShapeFor(pod, places), testing::TestSettings()));
  return std::move(order.job);
}

TEST(OrderOf, AsksForAWholeNodeAndWhatThePodTakes) {
  const auto job = Order(testing::GatedPod());
  ASSERT_TRUE(job);
  EXPECT_EQ(job->name, "ml/trainer");
  EXPECT_EQ(job->partition, "bridge");
  EXPECT_EQ(job->mcs_label, "kubernetes");
  EXPECT_EQ(job->nodes, 1);
  EXPECT_EQ(job->tasks_per_node, 1);
  EXPECT_EQ(job->cpus_per_task, 1);
  EXPECT_EQ(job->memory_mib, 100);
  EXPECT_EQ(job->shared, "none");
  EXPECT_FALSE(job->limit_minutes);
}

TEST(OrderOf, APodWithoutRequestsTakesThePartitionsDefaults) {
  Pod pod = testing::GatedPod();
  pod.spec.containers = {{}};
  const auto job = Order(pod);
  ASSERT_TRUE(job);
  EXPECT_FALSE(job->cpus_per_task);
  EXPECT_FALSE(job->memory_mib) << "0 would be all memory of a node";
}

TEST(OrderOf, RoundsUp) {
  Pod pod = testing::GatedPod();
  pod.spec.containers[0].resources.requests = {{"cpu", "200m"}, {"memory", "1000"}};
  EXPECT_EQ(Order(pod)->cpus_per_task, 1);
  EXPECT_EQ(Order(pod)->memory_mib, 1);
}

TEST(OrderOf, AnnotationsStandAboveWhatIsDerived) {
  EXPECT_EQ(Order(With("account", "physics"))->account, "physics");
  EXPECT_EQ(Order(With("qos", "high"))->qos, "high");
  EXPECT_EQ(Order(With("reservation", "r"))->reservation, "r");
  EXPECT_EQ(Order(With("wckey", "w"))->wckey, "w");
  EXPECT_EQ(Order(With("constraints", "gpu&ib"))->constraints, "gpu&ib");
  EXPECT_EQ(Order(With("licenses", "matlab:1"))->licenses, "matlab:1");
  EXPECT_EQ(Order(With("partition", "long"))->partition, "long");
  EXPECT_EQ(Order(With("job-name", "train"))->name, "train");
  EXPECT_EQ(Order(With("gres", "gpu:2"))->gres, "gpu:2");
  EXPECT_EQ(Order(With("cpu-per-task", "2500m"))->cpus_per_task, 3);
  EXPECT_EQ(Order(With("mem-per-node", "1Gi"))->memory_mib, 1024);
  EXPECT_EQ(Order(With("timelimit", "90"))->limit_minutes, 90);
  EXPECT_EQ(Order(With("exclusive", " False "))->shared, "mcs");
  Settings any = testing::TestSettings();
  any.shared = "";
  const Pod pod = With("exclusive", "false"), *one = &pod;
  EXPECT_EQ(OrderOf({&one, 1}, ShapeFor(pod), any)->job.shared, "");
  EXPECT_EQ(Order(With("exclusive", "true"))->shared, "none");
}

TEST(OrderOf, WhatIsMalformedIsOneSentenceThatNamesTheAnnotation) {
  for (const auto& [suffix, value] : std::vector<std::pair<std::string, std::string>>{{"timelimit", "1h"},
                                                                                      {"timelimit", "0"},
                                                                                      {"timelimit", "99999999"},
                                                                                      {"cpu-per-task", "two"},
                                                                                      {"cpu-per-task", "0"},
                                                                                      {"mem-per-node", "-1Gi"},
                                                                                      {"account", "a\nb"},
                                                                                      {"qos", std::string(2000, 'x')},
                                                                                      {"min-nodes", "0"},
                                                                                      {"max-nodes", "many"},
                                                                                      {"pods-per-node", "2000"}}) {
    const auto job = Order(With(suffix, value));
    ASSERT_FALSE(job) << suffix << "=" << value;
    EXPECT_EQ(job.error().code(), Code::kInvalid);
    EXPECT_THAT(job.error().message(), HasSubstr("slurmjob.slinky.slurm.net/" + suffix));
    EXPECT_EQ(job.error().message().find('\n'), std::string::npos);
    EXPECT_LT(job.error().message().size(), 400u);
  }
}

TEST(OrderOf, AGroupTakesAsManyNodesAsItsPlacesNeed) {
  EXPECT_EQ(Order(testing::GatedPod(), 5)->nodes, 5);
  Pod pod = With("pods-per-node", "2");
  pod.spec.containers[0].resources.limits = {{"nvidia.com/gpu", "3"}};
  const auto job = Order(pod, 5);
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(job->nodes, 3);
  EXPECT_EQ(job->most_nodes, 3);
  EXPECT_EQ(job->tasks_per_node, 2);
  EXPECT_EQ(job->cpus_per_task, 1);
  EXPECT_EQ(job->memory_mib, 200);
  EXPECT_EQ(job->gres, "gres/gpu=6");
  Shape shape = ShapeFor(testing::GatedPod());
  shape.least = 2, shape.most = 4;
  const Pod one = testing::GatedPod();
  Pod large = one;
  large.spec.containers[0].resources.requests = {{"cpu", "7"}};
  const Pod* const pods[] = {&one, &large};
  const auto order = OrderOf(pods, shape, testing::TestSettings());
  ASSERT_TRUE(order);
  EXPECT_EQ(order->job.nodes, 2);
  EXPECT_EQ(order->job.most_nodes, 4);
  EXPECT_EQ(order->job.cpus_per_task, 7) << "of the largest";
  EXPECT_EQ(order->job.memory_mib, 100);
}

TEST(OrderOf, NodesAreTheUsersToSay) {
  Pod pod = With("min-nodes", "2");
  EXPECT_EQ(Order(pod)->nodes, 2);
  EXPECT_EQ(Order(pod)->most_nodes, 2);
  pod.metadata.annotations[std::string(kJobAnnotations) + "max-nodes"] = "4";
  EXPECT_EQ(Order(pod)->most_nodes, 4);
  pod.metadata.annotations[std::string(kJobAnnotations) + "max-nodes"] = "1";
  EXPECT_THAT(Order(pod).error().message(), HasSubstr("max-nodes allows 1"));
  EXPECT_THAT(Order(With("max-nodes", "1"), 3).error().message(),
              HasSubstr("its pods need 3 nodes, and annotations allow 1"));
}

TEST(OrderOf, WhatAsksForTheSameHasTheSameHash) {
  const Pod pod = testing::GatedPod();
  const Pod* const one = &pod;
  const auto hash = [&](const Shape& shape) { return OrderOf({&one, 1}, shape, testing::TestSettings())->Hash(); };
  Shape shape = ShapeFor(pod);
  const std::string before = hash(shape);
  EXPECT_EQ(before.size(), 16u);
  shape.annotations["note"] = "x";
  EXPECT_EQ(hash(shape), before);
  shape.annotations[std::string(kJobAnnotations) + "timelimit"] = "5";
  EXPECT_NE(hash(shape), before);
}

TEST(OrderOf, WhatNoNodeHasIsRefusedBeforeAnythingOverflows) {
  for (const auto& [suffix, value, words] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"mem-per-node", "100E", "no node has more than 1 EiB"}, {"cpu-per-task", "70k", "Slurm counts 65533"}}) {
    const auto job = Order(With(suffix, value));
    ASSERT_FALSE(job) << suffix;
    EXPECT_THAT(job.error().message(), HasSubstr(words));
  }
}

TEST(OrderOf, NobodyNamesAnotherUserOrAPriority) {
  for (const char* suffix : {"user-id", "group-id", "priority"}) {
    const auto job = Order(With(suffix, "7"));
    ASSERT_FALSE(job) << suffix;
    EXPECT_THAT(job.error().message(), HasSubstr("is not allowed in namespace ml: its policy says"));
  }
}

// The order of a pod with these annotations in a namespace with these.
class Judged {
 public:
  Judged(std::map<std::string, std::string> pod, std::map<std::string, std::string> ns,
         Settings settings = testing::TestSettings()) {
    Namespace space;
    space.metadata.name = "ml";
    for (const auto& [name, value] : ns) space.metadata.annotations[std::string(kPolicyAnnotations) + name] = value;
    Pod one = testing::GatedPod();
    for (const auto& [name, value] : pod) one.metadata.annotations[std::string(kJobAnnotations) + name] = value;
    Shape shape = ShapeFor(one);
    if (const auto policy = Policy::Of(space))
      shape.policy = *policy;
    else
      shape.refused = policy.error().message();
    const Pod* const pods = &one;
    order_ = OrderOf({&pods, 1}, shape, settings);
  }
  const slurm::ExternalJob& job() const { return order_.value().job; }
  std::string refused() const { return order_ ? "" : order_.error().message(); }

 private:
  Result<struct Order> order_ = Fail(Code::kInvalid, "");
};

TEST(Judged, APolicySaysWhoIsChargedAndWhatIsMeantWhereNothingIsNamed) {
  const Judged order({}, {{"user", "1000"},
                          {"group", "100"},
                          {"accounts", "vision, speech"},
                          {"partitions", "gpu"},
                          {"qos", "normal"},
                          {"reservations", "course"},
                          {"max-priority", "50"}});
  EXPECT_EQ(order.job().user, "1000");
  EXPECT_EQ(order.job().group, "100");
  EXPECT_EQ(order.job().account, "vision");
  EXPECT_EQ(order.job().partition, "gpu");
  EXPECT_EQ(order.job().qos, "normal");
  EXPECT_EQ(order.job().reservation, "") << "named or not";
  EXPECT_FALSE(order.job().priority);
  EXPECT_EQ(Judged({}, {}).job().partition, "bridge") << "the bridge's own";
  EXPECT_EQ(Judged({{"partition", "other"}}, {}).job().partition, "other");
}

TEST(Judged, WhatIsNotAllowedIsRefusedInOneSentence) {
  struct Case {
    std::map<std::string, std::string> pod, ns;
    const char* refused;
  };
  const Case cases[] = {
      {{{"account", "b"}}, {{"accounts", "a"}}, "namespace ml may not use account \"b\"; it may use a"},
      {{{"partition", "a,b"}}, {{"partitions", "a"}}, "namespace ml may not use partition \"b\""},
      {{{"qos", "high"}}, {{"qos", "normal"}}, "namespace ml may not use QOS \"high\""},
      {{{"reservation", "x"}}, {{"reservations", "y"}}, "namespace ml may not use reservation \"x\""},
      {{{"wckey", "x"}}, {{"wckeys", "y"}}, "namespace ml may not use WCKey \"x\""},
      {{}, {{"account", "y"}}, "annotation capstan.dev/policy-account of namespace ml is none that a policy has"},
      {{{"user-id", "1001"}},
       {{"user", "1000"}, {"group", "1"}},
       "user-id is 1001, and namespace ml may only have 1000"},
      {{{"group-id", "2"}}, {{"user", "1000"}, {"group", "1"}}, "group-id is 2, and namespace ml may only have 1"},
      {{{"priority", "51"}}, {{"max-priority", "50"}}, "priority is 51, and namespace ml may have 50 at most"},
      {{}, {{"user", "x"}, {"group", "1"}}, "policy-user of namespace ml is \"x\""},
  };
  for (const Case& c : cases) EXPECT_THAT(Judged(c.pod, c.ns).refused(), HasSubstr(c.refused));
  EXPECT_EQ(
      Judged({{"user-id", "1000"}, {"priority", "50"}}, {{"user", "1000"}, {"group", "1"}, {"max-priority", "50"}})
          .job()
          .priority,
      50);
}

TEST(Judged, ABridgeMayWantAPolicyOfEachNamespaceOrLetPodsNameAnybody) {
  Settings settings = testing::TestSettings();
  settings.policy_required = true;
  for (const std::map<std::string, std::string>& ns : {std::map<std::string, std::string>(), {{"accounts", "a"}}})
    EXPECT_THAT(Judged({}, ns, settings).refused(),
                HasSubstr("namespace ml has no policy that says whose its jobs are"));
  EXPECT_EQ(Judged({}, {{"user", "1000"}, {"group", "1"}}, settings).job().user, "1000");
  settings = testing::TestSettings();
  settings.allow_identity = true;
  const Judged named({{"user-id", "1000"}, {"group-id", "100"}, {"priority", "9"}}, {}, settings);
  EXPECT_EQ(named.job().user, "1000");
  EXPECT_EQ(named.job().group, "100");
  EXPECT_EQ(named.job().priority, 9);
  EXPECT_THAT(Judged({{"user-id", "1000"}}, {}, settings).refused(), HasSubstr("need each other"));
  for (const char* suffix : {"user-id", "group-id", "priority"})
    EXPECT_THAT(Judged({{suffix, "9"}}, {{"accounts", "a"}}, settings).refused(), HasSubstr("is not allowed"))
        << suffix;
  for (const char* uid : {"0", "401", "root"})
    EXPECT_NE(Judged({{"user-id", uid}, {"group-id", "100"}}, {}, settings).refused(), "") << uid;
}

}  // namespace
}  // namespace capstan::bridge::group
