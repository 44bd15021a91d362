#include "bridge/fit.h"

#include <gtest/gtest.h>

#include "bridge/bridge_test.h"

namespace capstan::bridge {
namespace {

struct Case {
  const char* name;
  const char* affinity = "";  // nodeSelectorTerms
  const char* tolerations = "";
  const char* taints = "";
  std::map<std::string, std::string> selector = {};
  std::string why = {};
};

class Fit : public ::testing::TestWithParam<Case> {};

TEST_P(Fit, IsJudgedAsTheSchedulerDoes) {
  const Case& one = GetParam();
  Pod pod = testing::GatedPod();
  pod.spec.node_selector = one.selector;
  if (*one.affinity != 0) {
    pod.spec.affinity.text =
        R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":)" +
        std::string(one.affinity) + "}}}";
  }
  pod.spec.tolerations.text = one.tolerations;
  Node node = testing::ReadyNode("gpu-7");
  node.metadata.labels = {{"zone", "a"}, {"gpus", "8"}};
  node.spec.taints.text = one.taints;
  EXPECT_EQ(Needs(pod, testing::TestSettings()).WhyNot(node), one.why);
}

const std::string kAffinity = "does not match the pod's node affinity";
const std::string kTaint = "has the taint gpu=only:NoSchedule, which the pod does not tolerate";
constexpr auto kGpuOnly = R"([{"key":"gpu","value":"only","effect":"NoSchedule"}])";

INSTANTIATE_TEST_SUITE_P(
    All, Fit,
    ::testing::Values(
        Case{"Nothing"}, Case{.name = "Selector", .selector = {{"zone", "a"}, {"gpus", "8"}}},
        Case{.name = "OtherLabel",
             .selector = {{"zone", "b"}},
             .why = "lacks the label zone=b of the pod's node selector"},
        Case{.name = "In", .affinity = R"([{"matchExpressions":[{"key":"zone","operator":"In","values":["b","a"]}]}])"},
        Case{.name = "NotIn",
             .affinity = R"([{"matchExpressions":[{"key":"zone","operator":"NotIn","values":["a"]}]}])",
             .why = kAffinity},
        Case{.name = "NotInOfNoLabel",
             .affinity = R"([{"matchExpressions":[{"key":"rack","operator":"NotIn","values":["a"]}]}])"},
        Case{.name = "Exists",
             .affinity = R"([{"matchExpressions":[{"key":"rack","operator":"Exists"}]}])",
             .why = kAffinity},
        Case{.name = "DoesNotExist",
             .affinity = R"([{"matchExpressions":[{"key":"rack","operator":"DoesNotExist"}]}])"},
        Case{.name = "Gt", .affinity = R"([{"matchExpressions":[{"key":"gpus","operator":"Gt","values":["7"]}]}])"},
        Case{.name = "Lt",
             .affinity = R"([{"matchExpressions":[{"key":"gpus","operator":"Lt","values":["8"]}]}])",
             .why = kAffinity},
        Case{.name = "GtOfText",
             .affinity = R"([{"matchExpressions":[{"key":"zone","operator":"Gt","values":["1"]}]}])",
             .why = kAffinity},
        Case{.name = "AnyTerm",
             .affinity = R"([{"matchExpressions":[{"key":"rack","operator":"Exists"}]},)"
                         R"({"matchFields":[{"key":"metadata.name","operator":"In","values":["gpu-7"]}]}])"},
        Case{.name = "AllOfATerm",
             .affinity =
                 R"([{"matchExpressions":[{"key":"zone","operator":"Exists"},{"key":"rack","operator":"Exists"}]}])",
             .why = kAffinity},
        Case{.name = "EmptyTerm", .affinity = "[{}]", .why = kAffinity},
        Case{.name = "NoTerm", .affinity = "[]", .why = kAffinity},
        Case{.name = "UnknownOperator",
             .affinity = R"([{"matchExpressions":[{"key":"zone","operator":"Like","values":["a"]}]}])",
             .why = kAffinity},
        Case{.name = "Taint", .taints = kGpuOnly, .why = kTaint},
        Case{.name = "Tolerated",
             .tolerations = R"([{"key":"gpu","value":"only","effect":"NoSchedule"}])",
             .taints = kGpuOnly},
        Case{.name = "ToleratedByKey", .tolerations = R"([{"key":"gpu","operator":"Exists"}])", .taints = kGpuOnly},
        Case{.name = "ToleratesAll", .tolerations = R"([{"operator":"Exists"}])", .taints = kGpuOnly},
        Case{.name = "OtherValue", .tolerations = R"([{"key":"gpu","value":"x"}])", .taints = kGpuOnly, .why = kTaint},
        Case{.name = "OtherEffect",
             .tolerations = R"([{"key":"gpu","operator":"Exists","effect":"NoExecute"}])",
             .taints = kGpuOnly,
             .why = kTaint},
        Case{.name = "PreferNoSchedule", .taints = R"([{"key":"gpu","effect":"PreferNoSchedule"}])"},
        Case{.name = "OfTheMoment", .taints = R"([{"key":"node.kubernetes.io/not-ready","effect":"NoExecute"}])"},
        Case{.name = "OfTheBridge",
             .taints =
                 R"([{"key":"slinky.slurm.net/managed-node","value":"slurm-bridge-scheduler","effect":"NoExecute"},)"
                 R"({"key":"slinky.slurm.net/slurm-drained","effect":"NoSchedule"}])"},
        Case{.name = "OfAnotherBridge",
             .taints = R"([{"key":"slinky.slurm.net/managed-node","value":"other","effect":"NoSchedule"}])",
             .why = "has the taint slinky.slurm.net/managed-node=other:NoSchedule, which the pod does not tolerate"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace capstan::bridge
