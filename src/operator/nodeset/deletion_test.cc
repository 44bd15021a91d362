#include "operator/nodeset/decide_test.h"

namespace capstan::op::nodeset {
namespace {

using slurm::NodeFlag;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class Deleted : public NodeSetTest {
 protected:
  Deleted() { set.metadata.deletion_timestamp = kNow - 1min; }

  void RemoveController() {
    const_cast<kube::Store<api::Controller>&>(stores.Of<api::Controller>()).Deleted({"slurm", "main"}, "c-uid", {});
  }
  // It has been said before that the workers go without a drain.
  void SaidSo() {
    set.status.conditions = {{.type = "Degraded", .status = "True", .reason = "DrainSkipped", .message = "m"}};
  }
};

TEST_F(NodeSetTest, ANodeSetIsHeldSoThatItsWorkersCanBeDrained) {
  set.metadata.finalizers = {"example.com/theirs"};
  const plan::Plan plan = Look(0);
  EXPECT_THAT(Acts(plan), ElementsAre("add finalizer NodeSet slurm/w"));
}

TEST_F(Deleted, ItsWorkersGoAsInAScaleIn) {
  Worker_(0, {NodeFlag::kAllocated});
  Worker_(1, {NodeFlag::kIdle});
  const plan::Plan plan = Look(3);
  ASSERT_THAT(Acts(plan), ElementsAre("cordon Pod slurm/w-1", "drain Slurm node slurm/main/w-1", "cordon Pod slurm/w-0",
                                      "drain Slurm node slurm/main/w-0"))
      << "and none is made";
  for (const plan::Action& action : std::span(plan.actions).first(4)) {
    EXPECT_THAT(Proofs(action), Contains(HasSubstr("belongs to the NodeSet")));
  }
  const std::string message = ConditionOf(plan, "Progressing").message;
  EXPECT_THAT(message, HasSubstr("jobs still run on 1 of them (w-0)"));
  EXPECT_THAT(message, HasSubstr("kubectl annotate nodeset w capstan.dev/force-delete=true"));
  EXPECT_EQ(ConditionOf(plan, "Ready").status, "False");
}

TEST_F(Deleted, AWorkerGoesWithAFreshProofAndTheNodeSetStaysUntilItsRecordIsGone) {
  Worker_(0, {NodeFlag::kIdle, NodeFlag::kDrain}, ScaleInReason({"slurm", "w-0"}));
  Pod pod = MakePod(0);
  pod.metadata.annotations[std::string(kAnnotationScaleIn)] = "true";
  Put(pod);
  plan::Plan plan = Look(1);
  ASSERT_THAT(Acts(plan), ElementsAre("delete Pod slurm/w-0"));
  EXPECT_THAT(Proofs(plan.actions[0]),
              Contains("Slurm node w-0 is drained and no job holds it, suspended ones included"));
  pod.metadata.deletion_timestamp = kNow;
  Put(pod);
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  const_cast<kube::Store<Pod>&>(stores.Of<Pod>()).Deleted({"slurm", "w-0"}, "pod-0", {});
  EXPECT_THAT(Acts(Look(1)), ElementsAre("remove record Slurm node slurm/main/w-0"));
  nodes.clear();
  plan = Look(1);
  ASSERT_THAT(Acts(plan), ElementsAre("remove finalizer NodeSet slurm/w"));
  EXPECT_THAT(Proofs(plan.actions[0]), ElementsAre("no worker of the NodeSet is left"));
  EXPECT_TRUE(plan.actions[0].effect->destructive());
  EXPECT_FALSE(plan.actions[0].event);
}

TEST_F(Deleted, JobsAreWaitedForWithoutEnd) {
  set.metadata.deletion_timestamp = kNow - 2h;
  Worker_(0, {NodeFlag::kAllocated, NodeFlag::kDrain}, kOurDrain);
  EXPECT_THAT(Acts(Look(1)), Not(Contains(HasSubstr("remove finalizer"))));
  EXPECT_THAT(Acts(Look(1)), Not(Contains(StartsWith("delete"))));
}

TEST_F(Deleted, ARecordThatAPersonHoldsIsNotWaitedFor) {
  nodes = {MakeNode(0, {NodeFlag::kDown, NodeFlag::kDrain}, "bad disk")};
  EXPECT_THAT(Acts(Look(1)), ElementsAre("remove finalizer NodeSet slurm/w"));
}

TEST_F(Deleted, ARecordThatStaysIsWaitedForTenMinutes) {
  nodes = {MakeNode(0, {NodeFlag::kIdle})};
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  held["no worker is left"] = Tick() - 10min;
  EXPECT_THAT(Acts(Look(1)), ElementsAre("remove finalizer NodeSet slurm/w"));
}

TEST_F(Deleted, ForceLetsGoAtOnceAndSaysSo) {
  Worker_(0, {NodeFlag::kAllocated});
  set.metadata.annotations[std::string(kAnnotationForceDelete)] = "true";
  const plan::Plan said = Look(1);
  EXPECT_THAT(Acts(said), IsEmpty()) << "first it is said";
  EXPECT_EQ(ConditionOf(said, "Degraded").reason, "DrainSkipped");
  EXPECT_LE(said.requeue_after, 10s);
  SaidSo();
  const plan::Plan plan = Look(1);
  ASSERT_THAT(Acts(plan), ElementsAre("remove finalizer NodeSet slurm/w"));
  ASSERT_TRUE(plan.actions[0].event);
  EXPECT_TRUE(plan.actions[0].event->warning);
  EXPECT_THAT(plan.actions[0].reason, HasSubstr("force-delete"));
}

// The names of a version before the first release.
TEST_F(Deleted, FormerNamesAreHeeded) {
  Worker_(0, {NodeFlag::kAllocated});
  set.metadata.annotations[std::string(kFormerAnnotationForceDelete)] = "true";
  set.metadata.finalizers = {std::string(kFormerFinalizerDrain)};
  EXPECT_THAT(Acts(Look(1)), IsEmpty()) << "first it is said";
  SaidSo();
  EXPECT_THAT(Acts(Look(1)), ElementsAre("remove finalizer NodeSet slurm/w"));
}

TEST_F(NodeSetTest, TheFormerFinalizerIsReplaced) {
  set.metadata.finalizers = {std::string(kFormerFinalizerDrain)};
  EXPECT_THAT(Acts(Look(0)), ElementsAre("add finalizer NodeSet slurm/w"));
  set.metadata.finalizers.emplace_back(kFinalizerDrain);
  EXPECT_THAT(Acts(Look(0)), ElementsAre("remove finalizer NodeSet slurm/w"));
}

TEST_F(Deleted, WithoutItsControllerItGoesOnceThatIsProven) {
  Worker_(0, {NodeFlag::kAllocated});
  RemoveController();
  SaidSo();
  const plan::Plan plan = Look(1);
  ASSERT_THAT(Acts(plan), ElementsAre("remove finalizer NodeSet slurm/w"));
  EXPECT_THAT(Proofs(plan.actions[0]), ElementsAre(HasSubstr("is gone or going")));
}

TEST_F(Deleted, AStatusThatCannotBeWrittenDelaysItOnlySoLong) {
  Worker_(0, {NodeFlag::kIdle});
  RemoveController();
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  held["giving up"] = Tick() - 10s;
  EXPECT_THAT(Acts(Look(1)), ElementsAre("remove finalizer NodeSet slurm/w"));
}

// Who makes it anew by hand would have lost the jobs.
TEST_F(Deleted, ARestApiThatIsMissingIsSilenceAndNotAnAnswer) {
  Put(api::RestApi{.metadata = {.name = "main", .namespace_ = "slurm", .uid = "r-uid", .deletion_timestamp = kNow},
                   .spec = {.controller_ref = {.name = "main"}}});
  Worker_(0, {NodeFlag::kAllocated});
  SaidSo();
  slurm.state = plan::SlurmLook::State::kNone;
  EXPECT_THAT(Acts(Look(1)), ElementsAre("cordon Pod slurm/w-0"));
  set.metadata.deletion_timestamp = kNow - 1h;
  held["Slurm is not heard"] = Tick() - 10min;
  EXPECT_THAT(Acts(Look(1)), ElementsAre("remove finalizer NodeSet slurm/w"));
}

TEST_F(Deleted, ASilentSlurmIsWaitedForTenMinutesByBothClocks) {
  Worker_(0, {NodeFlag::kIdle});
  SaidSo();
  slurm.state = plan::SlurmLook::State::kUnreachable;
  slurm.error = "connection refused";
  held["Slurm is not heard"] = Tick() - 10min;
  plan::Plan plan = Look(1);
  EXPECT_THAT(Acts(plan), ElementsAre("cordon Pod slurm/w-0")) << "the deletion is a minute old";
  EXPECT_LE(plan.requeue_after, 9min);
  EXPECT_THAT(ConditionOf(plan, "Progressing").message, HasSubstr("connection refused"));
  set.metadata.deletion_timestamp = kNow - 1h;
  held["Slurm is not heard"] = Tick() - 9min;
  EXPECT_THAT(Acts(Look(1)), ElementsAre("cordon Pod slurm/w-0")) << "the silence is nine minutes old";
  held["Slurm is not heard"] = Tick() - 10min;
  plan = Look(1);
  ASSERT_THAT(Acts(plan), ElementsAre("remove finalizer NodeSet slurm/w"));
  EXPECT_THAT(Proofs(plan.actions[0]), ElementsAre("Slurm does not answer"));
}

TEST_F(Deleted, OrphanedWorkersLiveOn) {
  Worker_(0, {NodeFlag::kIdle});
  set.metadata.finalizers.emplace_back("orphan");
  EXPECT_THAT(Acts(Look(1)), ElementsAre("remove finalizer NodeSet slurm/w"));
}

// The garbage collector may be done before anybody looks: a pod with another owner, or none, stands behind the record.
TEST_F(Deleted, TheRecordOfAnOrphanedWorkerStays) {
  Pod pod = MakePod(0);
  pod.metadata.owner_references.clear();
  pod.metadata.labels[std::string(kLabelComponent)] = "worker";
  Put(pod);
  nodes = {MakeNode(0, {NodeFlag::kIdle, NodeFlag::kDrain}, kOurDrain)};
  EXPECT_THAT(Acts(Look(1)), ElementsAre("remove finalizer NodeSet slurm/w"));
}

TEST_F(Deleted, AWorkerThatNeverEndsIsNotWaitedForWithoutEnd) {
  Pod pod = MakePod(0);
  pod.metadata.deletion_timestamp = kNow - 9min;
  Put(pod);
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  pod.metadata.deletion_timestamp = kNow - 10min;
  Put(pod);
  EXPECT_THAT(Acts(Look(1)), ElementsAre("remove finalizer NodeSet slurm/w"));
}

TEST_F(Deleted, AReadyWorkerThatSlurmForgotGoesAfterTenMinutes) {
  Put(MakePod(0));
  EXPECT_THAT(Acts(Look(1)), ElementsAre("cordon Pod slurm/w-0"));
  PutMarked(MakePod(0));
  held["forgotten pod-0"] = Tick() - 9min;
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  held["forgotten pod-0"] = Tick() - 10min;
  EXPECT_THAT(Acts(Look(1)), ElementsAre("delete Pod slurm/w-0"));
}

// The Slinky projects' operator gives such workers names without an ordinal. The NodeSet was held for ever by workers
// that nobody saw.
TEST_F(Deleted, ADaemonSetsWorkersAreDrainedToo) {
  set.spec.scaling_mode = std::string(api::kScalingDaemonSet);
  Pod pod = MakePod(0);
  pod.metadata.name = "w-x7k2p";
  pod.metadata.labels[std::string(kLabelPodHostname)] = "w-0";
  pod.metadata.labels.erase(std::string(kLabelScalingMode));
  Put(pod);
  nodes = {MakeNode(0, {NodeFlag::kIdle})};
  EXPECT_THAT(Acts(Look(1)), ::testing::IsSupersetOf({"cordon Pod slurm/w-x7k2p", "drain Slurm node slurm/main/w-0"}));
}

TEST_F(Deleted, WithoutOurFinalizerItIsTheGarbageCollectors) {
  Worker_(0, {NodeFlag::kIdle});
  set.metadata.finalizers = {"foregroundDeletion"};
  const plan::Plan plan = Look(3);
  EXPECT_THAT(Acts(plan), IsEmpty());
  EXPECT_FALSE(plan.status);
}

}  // namespace
}  // namespace capstan::op::nodeset
