#include "operator/nodeset/status.h"

#include "operator/nodeset/decide_test.h"
#include "operator/questions.h"

namespace capstan::op::nodeset {
namespace {

using slurm::NodeFlag;
using ::testing::HasSubstr;
using ::testing::Not;

class StatusTest : public NodeSetTest {
 protected:
  static api::NodeSetStatus Status(const plan::Plan& plan) {
    return json::Decode<api::NodeSetStatus>(*plan.status).value();
  }
  // A worker that has been ready for so long.
  Pod Ready(int ordinal, Duration since) {
    Pod pod = MakePod(ordinal);
    pod.status.conditions[0].last_transition_time = kNow - since;
    return pod;
  }
  template <class Value>
  void Answered(const std::string& question, Value value) {
    answers.entries()[question] = {.state = plan::AnswerState::kKnown,
                                   .value = std::make_shared<const Value>(std::move(value))};
  }
};

TEST_F(StatusTest, EachCounterCountsItsOwn) {
  set.spec.min_ready_seconds = 60;
  Put(Ready(0, 100s));
  nodes.push_back(MakeNode(0, {NodeFlag::kIdle}));
  Put(Ready(1, 10s));
  nodes.push_back(MakeNode(1, {NodeFlag::kAllocated}));
  Put(MakePod(2, "Running", false));
  nodes.push_back(MakeNode(2, {NodeFlag::kDown}, "Not responding"));
  Pod old = Ready(3, 100s);
  old.metadata.labels[std::string(kLabelRevision)] = "older";
  Put(old);
  nodes.push_back(MakeNode(3, {NodeFlag::kMixed, NodeFlag::kDrain}, "a person's"));
  Put(MakePod(4, "", false));
  const api::NodeSetStatus status = Status(Look(6));
  EXPECT_EQ(status.desired, 6);
  EXPECT_EQ(status.replicas, 4) << "what the kubelet has spoken of";
  EXPECT_EQ(status.ready_replicas, 3);
  EXPECT_EQ(status.available_replicas, 2) << "ready for minReadySeconds";
  EXPECT_EQ(status.unavailable_replicas, 4);
  EXPECT_EQ(status.updated_replicas, 3);
  EXPECT_EQ(status.slurm_idle, 1);
  EXPECT_EQ(status.slurm_allocated, 2);
  EXPECT_EQ(status.slurm_down, 1);
  EXPECT_EQ(status.slurm_drain, 1);
}

TEST_F(StatusTest, AWorkerThatRegisteredAsLessThanItsRecordIsToldWithBoth) {
  Put(MakePod(0));
  nodes.push_back(MakeNode(0, {NodeFlag::kIdle, NodeFlag::kDrain, NodeFlag::kInvalidReg},
                           "gres/gpu count reported lower than configured (0 < 4)"));
  nodes[0].cpus = 8;
  nodes[0].memory_mib = 2000;
  nodes[0].gres = "gpu:4";
  EXPECT_THAT(
      ConditionOf(Look(1), "Degraded").message,
      HasSubstr("w-0 is not what Slurm expects of w-0 (\"gres/gpu count reported lower than configured (0 < 4)\"), "
                "which has 8 CPUs, 2000 MiB and gpu:4; correct resources or extraConf"));
}

// What it waited for was said to be a job, on a node that was idle.
TEST_F(StatusTest, AHeldWorkerWhoseDrainMayBeLiftedSaysWhatItWaitsFor) {
  PutMarked(MakePod(0));
  nodes.push_back(MakeNode(0, {NodeFlag::kIdle, NodeFlag::kDrain}, "bad disk"));
  slurm.may_be_lifted = {"w-0"};
  EXPECT_THAT(ConditionOf(Look(0), "Progressing").message,
              HasSubstr("waiting until nothing that an operator before this one has sent can undrain w-0"));
  nodes[0] = MakeNode(0, {NodeFlag::kAllocated, NodeFlag::kDrain}, "bad disk");
  EXPECT_THAT(ConditionOf(Look(0), "Progressing").message,
              HasSubstr("waiting until w-0, which somebody else took out of service in Slurm, runs no job"));
}

// "w-0 is terminating" was all that a user read, for ever.
TEST_F(StatusTest, AWorkerThatDoesNotEndIsOnALostMachine) {
  Pod pod = MakePod(0);
  pod.metadata.deletion_timestamp = kNow - 50s;
  Put(pod);
  plan::Plan plan = Look(1);
  EXPECT_EQ(ConditionOf(plan, "Degraded").status, "False");
  EXPECT_EQ(plan.requeue_after, 10s);
  pod.metadata.deletion_timestamp = kNow - 1min;
  Put(pod);
  plan = Look(1);
  EXPECT_EQ(ConditionOf(plan, "Degraded").reason, "NodeLost");
  EXPECT_THAT(ConditionOf(plan, "Degraded").message, HasSubstr("pod w-0 should have ended, and node k0 does not say"));
}

// Nothing is heard when the time is over: availableReplicas stayed at what it had been for up to five minutes.
TEST_F(StatusTest, AvailableReplicasAreCountedAgainWhenMinReadySecondsHavePassed) {
  set.spec.min_ready_seconds = 60;
  nodes.push_back(MakeNode(0, {NodeFlag::kIdle}));
  Put(Ready(0, 10s));
  plan::Plan plan = Look(1);
  EXPECT_EQ(Status(plan).available_replicas, 0);
  EXPECT_EQ(plan.requeue_after, 50s);
  Put(Ready(0, 60s));
  plan = Look(1);
  EXPECT_EQ(Status(plan).available_replicas, 1);
  EXPECT_EQ(plan.requeue_after, Duration::max());
}

// The pods waited for the Secret with an Event of the kubelet, and the NodeSet said that they are starting.
TEST_F(StatusTest, AControllerThatIsMissingIsNamedAndNothingIsTakenAway) {
  Put(MakePod(0));
  set.spec.controller_ref.name = "gone";
  const plan::Plan plan = Look(1);
  EXPECT_EQ(ConditionOf(plan, "Degraded").reason, "ControllerNotFound");
  EXPECT_THAT(ConditionOf(plan, "Degraded").message,
              HasSubstr("there is no Controller gone in this namespace; create it or correct controllerRef"));
  for (const std::string& act : Acts(plan)) EXPECT_THAT(act, Not(HasSubstr("delete")));
}

TEST_F(StatusTest, OptionsOfItsPartitionThatSlurmRefusesAreNamed) {
  Put(MakePod(0));
  set.spec.partition = api::NodeSetPartition{true, "State=OPEN"};
  const plan::Plan plan = Look(1);
  EXPECT_EQ(ConditionOf(plan, "Degraded").reason, "InvalidSpec");
  EXPECT_THAT(ConditionOf(plan, "Degraded").message, HasSubstr("spec.partition.config: State=OPEN must be UP, DOWN"));
  set.spec.partition->enabled = false;
  EXPECT_THAT(ConditionOf(Look(1), "Degraded").message, Not(HasSubstr("spec.partition.config")));
}

TEST_F(StatusTest, ASlurmThatDoesNotAnswerIsToldInItsOwnWords) {
  Worker_(0, {NodeFlag::kIdle});
  slurm.state = plan::SlurmLook::State::kUnreachable;
  slurm.error = "slurmrestd answered 500: it failed";
  const plan::Plan plan = Look(0);
  EXPECT_EQ(ConditionOf(plan, "Degraded").reason, "SlurmUnreachable");
  EXPECT_EQ(
      ConditionOf(plan, "Degraded").message,
      "Slurm does not answer: slurmrestd answered 500: it failed; pods are kept in repair, no worker is taken away");
}

TEST_F(StatusTest, AWorkerWhoseImageCannotBePulledOrThatFindsNoVolumeIsNamed) {
  Pod pulling = MakePod(0, "Pending", false);
  pulling.spec.node_name = "k0";
  pulling.status.container_statuses = {
      {.name = "slurmd",
       .state = {.waiting = {{.reason = "ImagePullBackOff", .message = "Back-off pulling image \"x\""}}}}};
  Put(pulling);
  Pod unbound = MakePod(1, "Pending", false);
  unbound.status.conditions = {{.type = "PodScheduled",
                                .status = "False",
                                .reason = "Unschedulable",
                                .message = "pod has unbound immediate PersistentVolumeClaims"}};
  Put(unbound);
  const api::Condition degraded = ConditionOf(Look(2), "Degraded");
  EXPECT_EQ(degraded.reason, "WorkersImpaired");
  EXPECT_THAT(degraded.message, HasSubstr("pod w-0, container slurmd: ImagePullBackOff: Back-off pulling image \"x\""));
  EXPECT_THAT(degraded.message,
              HasSubstr("pod w-1 cannot be placed: pod has unbound immediate PersistentVolumeClaims"));
}

TEST_F(StatusTest, AMissingSecretOfSshIsNamed) {
  set.spec.ssh = api::NodeSetSsh{.enabled = true, .sssd_conf_ref = {.name = "sssd", .key = "sssd.conf"}};
  answers.entries()["secret slurm/sssd"] = {.state = plan::AnswerState::kAbsent};
  EXPECT_THAT(ConditionOf(Look(0), "Degraded").message,
              HasSubstr("Secret slurm/sssd, named in spec.ssh.sssdConfRef, is missing; create it"));
  Answered("secret slurm/sssd", SecretDigest::Value{{{"other", "x"}}});
  EXPECT_THAT(ConditionOf(Look(0), "Degraded").message, HasSubstr("has no key \"sssd.conf\"; it has: other"));
  Answered("secret slurm/sssd", SecretDigest::Value{{{"sssd.conf", "x"}}});
  Answered("sssd.conf slurm/sssd sssd.conf", std::string("has no section, such as [sssd]"));
  EXPECT_THAT(ConditionOf(Look(0), "Degraded").message,
              HasSubstr("Secret slurm/sssd, named in spec.ssh.sssdConfRef, has no section"));
  Answered("sssd.conf slurm/sssd sssd.conf", std::string());
  EXPECT_THAT(ConditionOf(Look(0), "Degraded").message, Not(HasSubstr("sssdConfRef")));
}

TEST_F(StatusTest, UnknownFieldsOfATemplateAreNamed) {
  set.spec.slurmd.text = R"({"livenesProbe":{}})";
  const UnknownFields question({"slurm", "w"}, {"spec.template.spec", ""},
                               {{"spec.slurmd", set.spec.slurmd.text}, {"spec.logfile", ""}});
  Answered(question.id(), UnknownFields::Value{"spec.slurmd.livenesProbe"});
  EXPECT_THAT(ConditionOf(Look(0), "Degraded").message, HasSubstr("spec.slurmd.livenesProbe is no field"));
}

}  // namespace
}  // namespace capstan::op::nodeset
