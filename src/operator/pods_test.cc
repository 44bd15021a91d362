#include "operator/pods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::op {
namespace {

using ::testing::IsEmpty;

Pod Waiting(std::string reason, std::string message, std::string said = "") {
  ContainerStatus status{.name = "slurmctld",
                         .state = {.waiting = ContainerWaiting{std::move(reason), std::move(message)}}};
  if (!said.empty()) status.last_state.terminated = ContainerTerminated{std::move(said)};
  Pod pod;
  pod.metadata.name = "main-controller-0";
  pod.status.container_statuses = {std::move(status)};
  return pod;
}

TEST(PodTrouble, AnImageThatCannotBePulledIsNamed) {
  EXPECT_EQ(PodTrouble(Waiting("ErrImagePull", "x/slurmctld:2: not found")),
            "pod main-controller-0, container slurmctld: ErrImagePull: x/slurmctld:2: not found");
}

TEST(PodTrouble, ASecretThatIsMissingIsNamed) {
  EXPECT_EQ(PodTrouble(Waiting("CreateContainerConfigError", "secret \"keys\" not found")),
            "pod main-controller-0, container slurmctld: CreateContainerConfigError: secret \"keys\" not found");
}

TEST(PodTrouble, AFullVolumeIsToldInTheDaemonsLastLine) {
  EXPECT_EQ(PodTrouble(Waiting("CrashLoopBackOff", "back-off 10s",
                               "starting\nfatal: Can't save state: No space left on device\n")),
            "pod main-controller-0, container slurmctld: CrashLoopBackOff: back-off 10s; it said: fatal: Can't save "
            "state: No "
            "space left on device");
}

TEST(PodTrouble, AVolumeThatCannotBindIsToldAsTheSchedulerTellsIt) {
  Pod pod;
  pod.metadata.name = "main-controller-0";
  pod.status.conditions = {{.type = "PodScheduled",
                            .status = "False",
                            .reason = "Unschedulable",
                            .message = "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims."}};
  EXPECT_EQ(PodTrouble(pod),
            "pod main-controller-0 cannot be placed: 0/3 nodes are available: pod has unbound immediate "
            "PersistentVolumeClaims.");
}

TEST(PodTrouble, WhatPassesByItselfIsNone) {
  EXPECT_THAT(PodTrouble(Waiting("ContainerCreating", "")), IsEmpty());
  EXPECT_THAT(PodTrouble(Pod()), IsEmpty());
}

}  // namespace
}  // namespace capstan::op
