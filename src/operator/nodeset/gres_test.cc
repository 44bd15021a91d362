#include "operator/nodeset/gres.h"

#include "operator/nodeset/decide_test.h"

namespace capstan::op::nodeset {
namespace {

using slurm::NodeFlag;
using ::testing::HasSubstr;

TEST(Gres, IsWhatExtraConfSays) {
  api::NodeSet set;
  api::Controller controller;
  set.spec.extra_conf = "Weight=1 Gres=gpu:a100:4 gres=nvme:1";
  set.spec.slurmd = json::Raw{R"({"resources":{"limits":{"nvidia.com/gpu":8}}})"};
  controller.spec.extra_conf = "GresTypes=gpu\n";
  EXPECT_EQ(GresOf(set, controller)->text, "gpu:a100:4,nvme:1");
  EXPECT_EQ(*ConfWithGres(set, controller), set.spec.extra_conf);
}

TEST(Gres, ElseOfTheDevicesInThePodsLimits) {
  api::NodeSet set;
  api::Controller controller;
  controller.spec.extra_conf = "GresTypes=nvme\nGresTypes=nvme,gpu\n";
  set.spec.extra_conf = "Weight=1";
  EXPECT_EQ(GresOf(set, controller)->text, "");
  set.spec.slurmd = json::Raw{R"({"resources":{"limits":{"cpu":4,"nvidia.com/gpu":"8"}}})"};
  EXPECT_EQ(GresOf(set, controller)->text, "gpu:8");
  EXPECT_EQ(*ConfWithGres(set, controller), "Weight=1 Gres=gpu:8");
  set.spec.slurmd = json::Raw{R"({"resources":{"limits":{"nvidia.com/mig-1g.5gb":3,"nvidia.com/mig-2g.10gb":1}}})"};
  EXPECT_EQ(GresOf(set, controller)->text, "gpu:4");
  set.spec.slurmd = {};
  set.spec.pod_template.spec = json::Raw{R"({"resources":{"limits":{"amd.com/gpu":2}}})"};
  EXPECT_EQ(GresOf(set, controller)->text, "gpu:2");
  controller.spec.extra_conf = "GresTypes=nvme\n";
  EXPECT_EQ(GresOf(set, controller)->text, "") << "slurmctld knows no gpu";
  EXPECT_EQ(*ConfWithGres(set, controller), "Weight=1");
}

TEST(Gres, IsComparedByCountAndByTypeWhereBothTell) {
  const auto trouble = [](std::string has, std::string wanted) {
    return GresTrouble({.name = "w-0", .gres = std::move(has)},
                       {.text = std::move(wanted), .source = "spec.extraConf"});
  };
  EXPECT_EQ(trouble("gpu:4(S:0-1)", "gpu:4"), "");
  EXPECT_EQ(trouble("gpu:a100:4(S:0,1),nvme:1", "gpu:4"), "");
  EXPECT_EQ(trouble("gpu:a100:2,gpu:h100:2", "gpu:h100:2,gpu:a100:2"), "");
  EXPECT_EQ(trouble("gpu:4", "gpu:a100:4"), "");
  EXPECT_EQ(trouble("shard:2048", "shard:2K"), "");
  EXPECT_EQ(trouble("gpu", "gpu:1"), "");
  EXPECT_EQ(trouble("", ""), "");
  EXPECT_THAT(trouble("gpu:3", "gpu:4"), HasSubstr("has gpu:3 in Slurm, and spec.extraConf asks for gpu:4;"));
  EXPECT_THAT(trouble("", "gpu:4"), HasSubstr("has no generic resources in Slurm"));
  EXPECT_THAT(trouble("gpu:a100:4", "gpu:h100:4"), HasSubstr("gpu:h100:4"));
}

using GresOfWorkers = NodeSetTest;

TEST_F(GresOfWorkers, AMismatchIsToldWithBothValues) {
  set.spec.extra_conf = "Gres=gpu:4";
  Worker_(0, {NodeFlag::kIdle});
  nodes[0].gres = "gpu:3(S:0)";
  EXPECT_EQ(ConditionOf(Look(1), "Degraded").status, "False") << "it has not registered";
  nodes[0].version = "26.05.5";
  const api::Condition degraded = ConditionOf(Look(1), "Degraded");
  EXPECT_EQ(degraded.reason, "GresMismatch");
  EXPECT_THAT(degraded.message, HasSubstr("w-0 has gpu:3(S:0) in Slurm, and spec.extraConf asks for gpu:4"));
  nodes[0].gres = "gpu:4(S:0)";
  EXPECT_EQ(ConditionOf(Look(1), "Degraded").status, "False");
}

TEST_F(GresOfWorkers, OneOfAnOlderTemplateIsRenewedNotTold) {
  Worker_(0, {NodeFlag::kIdle});
  nodes[0].version = "26.05.5";
  set.spec.extra_conf = "Gres=gpu:4";
  EXPECT_EQ(ConditionOf(Look(1), "Degraded").status, "False");
}

}  // namespace
}  // namespace capstan::op::nodeset
