#include "operator/nodeset/placement.h"

#include <gtest/gtest.h>

namespace capstan::op::nodeset {
namespace {

Fit FitOf(std::string spec, const Node& node) {
  api::NodeSet set;
  set.spec.scaling_mode = std::string(api::kScalingDaemonSet);
  set.spec.pod_template.spec.text = std::move(spec);
  const auto placement = Placement::Of(set);
  EXPECT_TRUE(placement) << placement.error().message();
  return placement ? placement->On(node) : Fit::kLeaves;
}

Node Labelled(std::map<std::string, std::string> labels) {
  return {.metadata = {.name = "k1.rack.example", .labels = std::move(labels)}, .spec = {}};
}
Node Tainted(std::vector<Taint> taints) { return {.metadata = {.name = "k1"}, .spec = {.taints = std::move(taints)}}; }

std::string Required(const std::string& terms) {
  return R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)" +
         terms + "]}}}}";
}
std::string Expression(const std::string& key, const std::string& op, const std::string& values = "") {
  return R"({"matchExpressions":[{"key":")" + key + R"(","operator":")" + op + R"(","values":[)" + values + "]}]}";
}

TEST(PlacementTest, ATemplateThatAsksForNothingFitsEveryNode) {
  EXPECT_EQ(FitOf("{}", Labelled({})), Fit::kRuns);
  EXPECT_EQ(FitOf("", Labelled({})), Fit::kRuns);
}

TEST(PlacementTest, ASelectorNamesLabelsThatMustAllBeThere) {
  const std::string spec = R"({"nodeSelector":{"a":"1","b":"2"}})";
  EXPECT_EQ(FitOf(spec, Labelled({{"a", "1"}, {"b", "2"}, {"c", "3"}})), Fit::kRuns);
  EXPECT_EQ(FitOf(spec, Labelled({{"a", "1"}})), Fit::kLeaves);
  EXPECT_EQ(FitOf(spec, Labelled({{"a", "1"}, {"b", "3"}})), Fit::kLeaves);
}

TEST(PlacementTest, TheOperatorsOfAnAffinity) {
  const Node node = Labelled({{"zone", "x"}, {"cores", "64"}});
  const auto fits = [&](const std::string& term) { return FitOf(Required(term), node) == Fit::kRuns; };
  EXPECT_TRUE(fits(Expression("zone", "In", R"("y","x")")));
  EXPECT_FALSE(fits(Expression("zone", "In", R"("y")")));
  EXPECT_FALSE(fits(Expression("absent", "In", R"("")")));
  EXPECT_FALSE(fits(Expression("zone", "NotIn", R"("x")")));
  EXPECT_TRUE(fits(Expression("absent", "NotIn", R"("x")")));
  EXPECT_TRUE(fits(Expression("zone", "Exists")));
  EXPECT_FALSE(fits(Expression("absent", "Exists")));
  EXPECT_TRUE(fits(Expression("absent", "DoesNotExist")));
  EXPECT_TRUE(fits(Expression("cores", "Gt", R"("63")")));
  EXPECT_FALSE(fits(Expression("cores", "Gt", R"("64")")));
  EXPECT_TRUE(fits(Expression("cores", "Lt", R"("65")")));
  EXPECT_FALSE(fits(Expression("zone", "Lt", R"("65")")));
  EXPECT_FALSE(fits(Expression("cores", "Near", R"("65")"))) << "an operator nobody knows";
}

TEST(PlacementTest, OneTermIsEnoughAndAnEmptyOneSelectsNothing) {
  const Node node = Labelled({{"a", "1"}});
  const std::string wrong = Expression("a", "In", R"("2")"), right = Expression("a", "Exists");
  EXPECT_EQ(FitOf(Required(wrong + "," + right), node), Fit::kRuns);
  EXPECT_EQ(FitOf(Required(wrong), node), Fit::kLeaves);
  EXPECT_EQ(FitOf(Required("{}"), node), Fit::kLeaves);
  EXPECT_EQ(FitOf(Required(""), node), Fit::kLeaves);
}

TEST(PlacementTest, AFieldIsTheNodesName) {
  const std::string term = R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["k1.rack.example"]}]})";
  EXPECT_EQ(FitOf(Required(term), Labelled({})), Fit::kRuns);
  EXPECT_EQ(FitOf(Required(term), Tainted({})), Fit::kLeaves);
  api::NodeSet set;
  set.spec.pod_template.spec.text = Required(R"({"matchFields":[{"key":"spec.x","operator":"Exists"}]})");
  EXPECT_FALSE(Placement::Of(set));
}

TEST(PlacementTest, TheMachinesOwnNetworkNeedsNoOther) {
  api::NodeSet set;
  set.spec.scaling_mode = std::string(api::kScalingDaemonSet);
  const Node node{.metadata = {.name = "a"},
                  .spec = {.taints = {{"node.kubernetes.io/network-unavailable", "", "NoSchedule"}}}};
  EXPECT_EQ(Placement::Of(set)->On(node), Fit::kStays);
  set.spec.pod_template.spec.text = R"({"hostNetwork":true})";
  EXPECT_EQ(Placement::Of(set)->On(node), Fit::kRuns);
}

TEST(PlacementTest, TaintsKeepWorkersAwayAndOnlyNoExecuteDrivesThemOut) {
  EXPECT_EQ(FitOf("{}", Tainted({{"k", "v", "NoSchedule"}})), Fit::kStays);
  EXPECT_EQ(FitOf("{}", Tainted({{"k", "v", "NoExecute"}})), Fit::kLeaves);
  EXPECT_EQ(FitOf("{}", Tainted({{"k", "v", "PreferNoSchedule"}})), Fit::kRuns);
  EXPECT_EQ(FitOf("{}", Tainted({{"k", "v", "NoSchedule"}, {"l", "", "NoExecute"}})), Fit::kLeaves);
}

TEST(PlacementTest, Tolerations) {
  const auto fit = [](const std::string& toleration, Taint taint) {
    return FitOf(R"({"tolerations":[)" + toleration + "]}", Tainted({std::move(taint)}));
  };
  EXPECT_EQ(fit(R"({"operator":"Exists"})", {"k", "v", "NoExecute"}), Fit::kRuns);
  EXPECT_EQ(fit(R"({"key":"k","operator":"Exists"})", {"k", "v", "NoExecute"}), Fit::kRuns);
  EXPECT_EQ(fit(R"({"key":"k","value":"v"})", {"k", "v", "NoExecute"}), Fit::kRuns) << "Equal is the default";
  EXPECT_EQ(fit(R"({"key":"k","value":"w"})", {"k", "v", "NoExecute"}), Fit::kLeaves);
  EXPECT_EQ(fit(R"({"key":"k","operator":"Exists","effect":"NoSchedule"})", {"k", "v", "NoExecute"}), Fit::kLeaves);
}

// A DaemonSet's pods tolerate these; a worker that went with a node's pressure or its kubelet would take jobs with it.
TEST(PlacementTest, WhatEveryWorkerTolerates) {
  for (const char* key : {"not-ready", "unreachable"})
    EXPECT_EQ(FitOf("{}", Tainted({{std::string("node.kubernetes.io/") + key, "", "NoExecute"}})), Fit::kRuns) << key;
  for (const char* key : {"disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"})
    EXPECT_EQ(FitOf("{}", Tainted({{std::string("node.kubernetes.io/") + key, "", "NoSchedule"}})), Fit::kRuns) << key;
  EXPECT_EQ(FitOf("{}", Tainted({{"nodeset.slinky.slurm.net/worker", "", "NoExecute"}})), Fit::kRuns);
}

TEST(PlacementTest, AWorkerIsCalledAfterItsNode) {
  Node node = Labelled({});
  EXPECT_EQ(DaemonHost(node), "k1");
  node.metadata.annotations["nodeset.slinky.slurm.net/hostname-override"] = "gpu-7";
  EXPECT_EQ(DaemonHost(node), "gpu-7");
}

}  // namespace
}  // namespace capstan::op::nodeset
