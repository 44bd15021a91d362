#include "operator/nodeset/live_conf.h"

#include "operator/nodeset/decide_test.h"

namespace capstan::op::nodeset {
namespace {

using slurm::NodeFlag;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kDescribed = "describe Slurm node slurm/main/w-0";
constexpr const char* kLabelled = "relabel Pod slurm/w-0";

TEST(LiveConf, WeightAndFeaturesAreLiveAndNothingElse) {
  const LiveConf conf = LiveConfOf("Gres=gpu:4 weight=7 Features=b,a  feature=c Topology=tree:s1");
  EXPECT_EQ(conf.weight, 7);
  EXPECT_THAT(conf.features, ElementsAre("a", "b", "c"));
  EXPECT_EQ(conf.rest, "gres=gpu:4 topology=tree:s1");
  EXPECT_EQ(LiveConfOf("").weight, 1);
  EXPECT_EQ(LiveConfOf("A=1 Weight=x").rest, "a=1 weight=x") << "Slurm is to say what is wrong with it";
  EXPECT_EQ(LiveConfOf("B=1 A=2").rest, LiveConfOf("a=2 b=1").rest);
  EXPECT_NE(LiveConfOf("A=1 A=2").rest, LiveConfOf("A=2 A=1").rest) << "of several the order may count";
}

// A rolling update of one worker w-0, which was made from "Weight=1 Feature=old Gres=gpu:1".
class LiveConfTest : public NodeSetTest {
 protected:
  LiveConfTest() {
    set.spec.update_strategy = api::NodeSetUpdateStrategy{.type = std::string(api::kUpdateRolling)};
    set.spec.extra_conf = "Weight=1 Feature=old Gres=gpu:1";
    Worker_(0, {NodeFlag::kIdle});
    nodes[0].weight = 1;
    nodes[0].gres = "gpu:1";
    nodes[0].features = nodes[0].active_features = {"mine", "old", "w"};
    PutRevision();
  }
  // The ControllerRevision of the template as it is.
  void PutRevision() {
    ControllerRevision one;
    one.metadata = {
        .name = "w-" + Revision(set).value(),
        .namespace_ = "slurm",
        .uid = "uid of " + Revision(set).value(),
        .owner_references = {{.kind = "NodeSet", .name = "w", .uid = std::string(kSetUid), .controller = true}}};
    one.metadata.labels[std::string(kLabelRevision)] = Revision(set).value();
    one.data.spec.extra_conf = set.spec.extra_conf;
    Put(std::move(one));
  }
};

TEST_F(LiveConfTest, WeightAndFeaturesReachARegisteredNodeAndNobodyIsReplaced) {
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
  set.spec.extra_conf = "Weight=9 Feature=new Gres=gpu:1";
  const plan::Plan plan = Look(1);
  ASSERT_THAT(Acts(plan), ElementsAre(kDescribed, kLabelled));
  slurm::NodeUpdate wanted{.names = {"w-0"}};
  wanted.weight = 9;
  wanted.features = wanted.active_features = std::vector<std::string>{"mine", "new", "w"};
  EXPECT_EQ(plan.actions[0].effect->content(), plan::UpdateNode("describe", "slurm/main", wanted)->content())
      << "what somebody else added stays, and the set's own name";
  EXPECT_THAT(plan.actions[1].after, ElementsAre(plan.actions[0].id())) << "it is current once Slurm says the same";
  EXPECT_EQ(json::Decode<api::NodeSetStatus>(*plan.status)->updated_replicas, 1);
  EXPECT_EQ(ConditionOf(plan, "Progressing").status, "False");
  Put(MakePod(0));
  nodes[0].weight = 9;
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
}

TEST_F(LiveConfTest, WhatSlurmdReadsAtItsStartTakesAnotherWorker) {
  set.spec.extra_conf = "Weight=9 Feature=new Gres=gpu:2";
  EXPECT_THAT(Acts(Look(1)), Contains("drain Slurm node slurm/main/w-0"));
}

TEST_F(LiveConfTest, SoDoesAChangeOfAnythingBesides) {
  set.spec.extra_conf = "Weight=9 Feature=old Gres=gpu:1";
  set.spec.slurmd = json::Raw{R"({"image":"other"})"};
  EXPECT_THAT(Acts(Look(1)), Contains("drain Slurm node slurm/main/w-0"));
}

TEST_F(LiveConfTest, AWeightThatAPersonGaveMeanwhileStaysIfTheNodeSetAsksForTheSameAsBefore) {
  nodes[0].weight = 50;
  set.spec.extra_conf = "Weight=1 Feature=old,more Gres=gpu:1";
  const plan::Plan plan = Look(1);
  ASSERT_THAT(Acts(plan), ElementsAre(kDescribed, kLabelled));
  slurm::NodeUpdate wanted{.names = {"w-0"}};
  wanted.features = wanted.active_features = std::vector<std::string>{"mine", "more", "old", "w"};
  EXPECT_EQ(plan.actions[0].effect->content(), plan::UpdateNode("describe", "slurm/main", wanted)->content());
}

TEST_F(LiveConfTest, WithoutARecordAWorkerIsNeitherToldNorReplaced) {
  nodes.clear();
  set.spec.extra_conf = "Weight=9 Feature=old Gres=gpu:1";
  EXPECT_THAT(Acts(Look(1)), IsEmpty());
}

TEST_F(LiveConfTest, AFormerTemplateWithoutItsRevisionIsRenewed) {
  Pod pod = MakePod(0);
  pod.metadata.labels[std::string(kLabelRevision)] = "unheard";
  Put(pod);
  EXPECT_THAT(Acts(Look(1)), Contains("drain Slurm node slurm/main/w-0"));
}

// Found by the simulator: its NodeSet's partition never found it.
TEST(TakenOverRecord, OfAnotherNodeSetsWorkerGetsWhatItsOwnWouldHave) {
  api::NodeSet set{.metadata = {.name = "w", .namespace_ = "slurm"}};
  set.spec.extra_conf = "Feature=gpu Weight=7";
  Pod pod;
  slurm::Node record{.name = "k0", .features = {"other"}, .weight = 1};
  Worker worker{.daemon = true, .host = "k0", .pod = &pod, .node = &record};
  const auto update = TakenOverRecord(worker, set);
  ASSERT_TRUE(update);
  EXPECT_THAT(*update->features, ::testing::ElementsAre("gpu", "w"));
  EXPECT_THAT(*update->active_features, ::testing::ElementsAre("gpu", "w"));
  EXPECT_EQ(update->weight, 7);
  record.features = {"other", "w"};
  EXPECT_FALSE(TakenOverRecord(worker, set)) << "it is found";
  record.features = {"other"};
  record.comment = R"({"namespace":"slurm","podName":"w-x","node":"k0","nodeSetName":"w"})";
  EXPECT_FALSE(TakenOverRecord(worker, set)) << "its NodeSet had another name in Slurm before";
  record.comment.clear();
  worker.daemon = false;
  EXPECT_FALSE(TakenOverRecord(worker, set)) << "nobody else has its name";
}

}  // namespace
}  // namespace capstan::op::nodeset
