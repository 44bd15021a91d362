#include "operator/nodeset/gate.h"

#include "operator/nodeset/decide_test.h"

namespace capstan::op::nodeset {
namespace {

using slurm::NodeFlag;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kDrained = "drain Slurm node slurm/main/w-0";

// One idle worker of an older template, and slurmctld's StatefulSet.
class UpdateGate : public NodeSetTest {
 protected:
  UpdateGate() {
    set.spec.update_strategy = api::NodeSetUpdateStrategy{.type = std::string(api::kUpdateRolling)};
    Worker_(0, {NodeFlag::kIdle});
    set.spec.extra_conf = "Gres=gpu:1";
    controller.metadata = {.name = "main", .namespace_ = "slurm", .uid = "c-uid"};
    controller.spec.slurmctld = json::Raw{R"({"image":"slurm:2"})"};
    slurmctld.metadata = {.name = "main-controller", .namespace_ = "slurm", .uid = "s-uid", .generation = 1};
    slurmctld.spec.pod_template.spec.containers = {{.name = "slurmctld", .image = "slurm:2"}};
    slurmctld.status.observed_generation = 1;
    slurmctld.status.ready_replicas = 1;
    slurmctld.status.update_revision = "new";
  }
  plan::Plan LookAt() {
    Put(controller);
    Put(slurmctld);
    return Look(1);
  }
  void PutSlurmctld(const std::string& revision) {
    Pod pod;
    pod.metadata = {.name = "main-controller-0", .namespace_ = "slurm", .uid = "sp-uid"};
    pod.metadata.owner_references = {
        {.kind = "StatefulSet", .name = "main-controller", .uid = "s-uid", .controller = true}};
    pod.metadata.labels[std::string(kLabelSetRevision)] = revision;
    Put(std::move(pod));
  }
  void Says(std::string_view type, std::string status, std::string reason, std::string message) {
    controller.status.conditions.push_back({.type = std::string(type),
                                            .status = std::move(status),
                                            .reason = std::move(reason),
                                            .message = std::move(message)});
  }

  api::Controller controller;
  StatefulSet slurmctld;
};

TEST_F(UpdateGate, AWorkersNewTemplateWaitsForSlurmctldsImage) {
  EXPECT_THAT(Acts(LookAt()), Contains(kDrained));
  slurmctld.spec.pod_template.spec.containers[0].image = "slurm:1";
  const plan::Plan plan = LookAt();
  EXPECT_THAT(Acts(plan), IsEmpty()) << "its StatefulSet is changed a moment later than the NodeSet's spec";
  EXPECT_THAT(
      ConditionOf(plan, "Progressing").message,
      HasSubstr("Controller slurm/main comes first, whose slurmctld is not the new one yet: it has slurm:1 still"));
}

TEST_F(UpdateGate, ItWaitsUntilTheOldOneIsGoneAndTheNewOneAnswers) {
  PutSlurmctld("old");
  EXPECT_THAT(Acts(LookAt()), IsEmpty());
  PutSlurmctld("new");
  EXPECT_THAT(Acts(LookAt()), Contains(kDrained));
  slurmctld.status.ready_replicas = 0;
  EXPECT_THAT(Acts(LookAt()), IsEmpty());
  slurmctld.status.ready_replicas = 1;
  slurmctld.metadata.generation = 2;
  EXPECT_THAT(Acts(LookAt()), IsEmpty());
}

// With spec.ha, a machine of a standby that was away held all updates for as long.
TEST_F(UpdateGate, AStandbyThatIsMissingHoldsUpNobody) {
  controller.spec.ha = api::HighAvailability{.enabled = true};
  Says(api::kReady, "True", "Ready", "1 of 2 slurmctld are ready");
  Says(api::kProgressing, "True", "Starting", "slurmctld is starting: 1 of 2 ready");
  EXPECT_THAT(Acts(LookAt()), Contains(kDrained));
  controller.status.conditions.back().message += "; a running slurmctld is about to get a changed configuration";
  EXPECT_THAT(Acts(LookAt()), IsEmpty());
}

TEST_F(UpdateGate, TheOnlySlurmctldDoes) {
  Says(api::kReady, "True", "Ready", "slurmctld is ready");
  Says(api::kProgressing, "True", "Starting", "slurmctld is starting: 0 of 1 ready");
  EXPECT_THAT(Acts(LookAt()), IsEmpty());
}

}  // namespace
}  // namespace capstan::op::nodeset
