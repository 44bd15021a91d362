// What becomes of the volume claims of workers that are gone.
#include "operator/nodeset/claims.h"

#include "operator/nodeset/decide_test.h"

namespace capstan::op::nodeset {
namespace {

using slurm::NodeFlag;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ClaimsTest : public NodeSetTest {
 protected:
  ClaimsTest() {
    set.spec.volume_claim_templates.text = R"([{"metadata":{"name":"data"},"spec":{}}])";
    set.spec.claim_retention = api::ClaimRetentionPolicy{.when_deleted = "Delete", .when_scaled = "Delete"};
  }
  void Seen(std::vector<SeenClaim> claims) {
    answers.entries()["claims of NodeSet slurm/w"] = {
        .state = plan::AnswerState::kKnown, .value = std::make_shared<const Claims::Value>(std::move(claims))};
  }
  static SeenClaim Claim(const std::string& name) {
    return {.name = name, .uid = name + "-uid", .resource_version = 7};
  }
};

TEST_F(ClaimsTest, AClaimGoesOnceItsWorkerWentInAScaleIn) {
  Worker_(0, {NodeFlag::kIdle});
  Seen({Claim("data-w-0"), Claim("data-w-1"), Claim("other-w-1"), Claim("data-w")});
  const plan::Plan plan = Look(1);
  ASSERT_THAT(Acts(plan), ElementsAre("delete PersistentVolumeClaim slurm/data-w-1"));
  EXPECT_THAT(Proofs(plan.actions[0]),
              ElementsAre("NodeSet slurm/w asks for what was seen", "pod slurm/w-1 is not there"));
}

// A machine called 101 has the claim of an ordinal, by its name.
TEST_F(ClaimsTest, InDaemonSetModeNoneGoes) {
  set.spec.scaling_mode = std::string(api::kScalingDaemonSet);
  Put(Node{.metadata = {.name = "101", .uid = "101"}, .spec = {}});
  Pod pod = MakePod(0);
  pod.metadata.name = "w-x";
  pod.metadata.labels[std::string(kLabelPodHostname)] = "101";
  pod.metadata.labels[std::string(kLabelScalingMode)] = "DaemonSet";
  pod.spec.node_name = "101";
  Put(pod);
  Seen({Claim("data-w-101"), Claim("data-w-7")});
  EXPECT_THAT(Acts(Look(0)), Not(Contains(HasSubstr("PersistentVolumeClaim"))));
  EXPECT_THAT(RemovalsOfClaims(set, {Claim("data-w-101")}, {{.daemon = true, .host = "101", .pod = &pod}}), IsEmpty());
}

// The peer hands the claim to the pod at any drain, and an update then takes the data with it.
TEST_F(ClaimsTest, AWorkerThatIsRenewedOrLostKeepsItsClaims) {
  Worker_(0, {NodeFlag::kIdle});
  Seen({Claim("data-w-0"), Claim("data-w-1")});
  EXPECT_THAT(Acts(Look(2)), Not(Contains(HasSubstr("delete PersistentVolumeClaim")))) << "it is made anew";
  Pod leaving = MakePod(1);
  leaving.metadata.deletion_timestamp = kNow;
  Put(leaving);
  EXPECT_THAT(Acts(Look(1)), IsEmpty()) << "it may be in use still";
}

TEST_F(ClaimsTest, RetainKeepsThem) {
  set.spec.claim_retention->when_scaled = "Retain";
  Worker_(0, {NodeFlag::kIdle});
  Seen({Claim("data-w-0"), Claim("data-w-1")});
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
}

TEST_F(ClaimsTest, AClaimThatIsBeingDeletedIsWaitedForBeforeAWorkerIsMadeAgain) {
  const plan::Plan plan = Look(1);
  ASSERT_THAT(Acts(plan), ElementsAre("create PersistentVolumeClaim slurm/data-w-0", "create Pod slurm/w-0"));
  EXPECT_THAT(Proofs(plan.actions[0]), ElementsAre("claim slurm/data-w-0 is not being deleted"));
  EXPECT_THAT(plan.actions[1].after, ElementsAre(plan.actions[0].id()));
}

TEST_F(ClaimsTest, TheyGoWithTheNodeSetAfterItsLastWorker) {
  set.metadata.deletion_timestamp = kNow - 1min;
  EXPECT_THAT(Acts(Look(1)), IsEmpty()) << "it is not known which there are";
  Seen({Claim("data-w-0")});
  const plan::Plan plan = Look(1);
  EXPECT_THAT(Acts(plan),
              ElementsAre("delete PersistentVolumeClaim slurm/data-w-0", "remove finalizer NodeSet slurm/w"));
  EXPECT_THAT(plan.actions[1].after, ElementsAre(plan.actions[0].id()));
  set.spec.claim_retention->when_deleted = "Retain";
  EXPECT_THAT(Acts(Look(1)), ElementsAre("remove finalizer NodeSet slurm/w"));
}

// helm uninstall deletes the Controller beside it, and left them for ever.
TEST_F(ClaimsTest, TheyGoWithANodeSetThatGoesBeforeItsWorkers) {
  Worker_(0, {NodeFlag::kIdle});
  set.metadata.deletion_timestamp = kNow - 1min;
  set.metadata.annotations[std::string(kAnnotationForceDelete)] = "true";
  held["giving up"] = Tick() - 10s;
  EXPECT_THAT(Acts(Look(1)), IsEmpty()) << "it is not known which there are";
  Seen({Claim("data-w-0"), Claim("data-w-gpu-1"), Claim("other-w-0")});
  const plan::Plan plan = Look(1);
  ASSERT_THAT(Acts(plan),
              ElementsAre("hand over PersistentVolumeClaim slurm/data-w-0",
                          "hand over PersistentVolumeClaim slurm/data-w-gpu-1", "remove finalizer NodeSet slurm/w"));
  EXPECT_THAT(plan.actions[2].after, ElementsAre(plan.actions[0].id(), plan.actions[1].id()));
  EXPECT_THAT(Proofs(plan.actions[0]), ElementsAre("NodeSet slurm/w asks for what was seen"));
  SeenClaim ours = Claim("data-w-0");
  ours.owned = true;
  Seen({ours});
  EXPECT_THAT(Acts(Look(1)), ElementsAre("remove finalizer NodeSet slurm/w")) << "handed over already";
  Seen({Claim("data-w-0")});
  held["claims are handed over"] = Tick() - 10min;
  EXPECT_THAT(Acts(Look(1)), ElementsAre("remove finalizer NodeSet slurm/w")) << "not for ever";
  held.erase("claims are handed over");
  set.spec.claim_retention->when_deleted = "Retain";
  EXPECT_THAT(Acts(Look(1)), ElementsAre("remove finalizer NodeSet slurm/w"));
}

TEST_F(ClaimsTest, WhereClaimsCannotBeReadTheNodeSetGoesWithoutThemInTheEnd) {
  set.metadata.deletion_timestamp = kNow - 1min;
  held["claims are not known"] = Tick() - 10min;
  EXPECT_THAT(Acts(Look(1)), ElementsAre("remove finalizer NodeSet slurm/w"));
}

}  // namespace
}  // namespace capstan::op::nodeset
