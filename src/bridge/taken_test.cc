#include "bridge/taken.h"

#include <gtest/gtest.h>

namespace capstan::bridge {
namespace {

TEST(Taken, CountsAsTheSchedulerDoes) {
  const auto cpu = [](const Pod& pod) { return Taken(pod, "cpu")->ToString(); };
  const auto of = [](std::string requests, std::string restart = "") {
    return Container{.resources = {.requests = {{"cpu", std::move(requests)}}, .limits = {}},
                     .restart_policy = std::move(restart)};
  };
  Pod pod;
  pod.spec.containers = {of("1"), of("500m")};
  EXPECT_EQ(cpu(pod), "1500m");
  pod.spec.init_containers = {of("2")};
  EXPECT_EQ(cpu(pod), "2") << "an init container runs before the others";
  pod.spec.init_containers = {of("1", "Always"), of("2")};
  EXPECT_EQ(cpu(pod), "3") << "beside the sidecar before it";
  pod.spec.init_containers = {of("1", "Always")};
  EXPECT_EQ(cpu(pod), "2500m");
  pod.spec.overhead = {{"cpu", "100m"}};
  EXPECT_EQ(cpu(pod), "2600m");
  pod.spec.resources.requests = {{"cpu", "4"}};
  EXPECT_EQ(cpu(pod), "4100m") << "what it says of itself as a whole";
  pod.spec.containers[0].resources.limits = {{"cpu", "8"}};
  EXPECT_EQ(cpu(pod), "8100m") << "the more of requests and limits";
}

TEST(Requested, LeavesLimitsOut) {
  Pod pod;
  pod.spec.containers = {{.resources = {.requests = {{"cpu", "100m"}}, .limits = {{"cpu", "4"}, {"memory", "1Gi"}}}}};
  EXPECT_EQ(Requested(pod, "cpu")->ToString(), "100m");
  EXPECT_TRUE(Requested(pod, "memory")->is_zero());
  EXPECT_EQ(Taken(pod, "cpu")->ToString(), "4");
}

}  // namespace
}  // namespace capstan::bridge
