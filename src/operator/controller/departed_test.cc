#include "operator/controller/departed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/questions.h"
#include "operator/testing/world.h"

namespace capstan::op::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Config OfNobody() {
  Config config;
  config.ns = "slurm";
  config.controller = "main";
  config.cluster_name = "slurm_main";
  return config;
}

// As a part of slurm.conf, with a `*` before those that stand there already.
std::string Departed(std::string_view published, const Config& wanted = OfNobody()) {
  std::string text;
  for (const DepartedPartition& partition : FindDeparted(published, wanted)) {
    text += partition.is_published ? "*" : "";
    for (const auto& line : partition.config.lines) {
      std::string words;
      for (const slurm::ConfItem& item : line) words += (words.empty() ? "" : " ") + item.key + "=" + item.value;
      text += words + "\n";
    }
  }
  return text;
}

constexpr auto kGpu = "NodeSet=gpu Feature=gpu\nPartitionName=gpu Nodes=gpu State=UP Default=YES MaxTime=60\n";
constexpr auto kClosedGpu = "NodeSet=gpu Feature=gpu\nPartitionName=gpu Nodes=gpu MaxTime=60 State=DRAIN\n";

TEST(FindDeparted, WhatNobodyAsksForIsClosedAndNobodysDefault) { EXPECT_EQ(Departed(kGpu), kClosedGpu); }

TEST(FindDeparted, OnceItIsPublishedItStaysAsItIs) {
  EXPECT_THAT(Departed(kClosedGpu),
              ::testing::AllOf(StartsWith("*NodeSet=gpu"), EndsWith(std::string(kClosedGpu).substr(24))));
}

TEST(FindDeparted, WhoAsksForTheNameHasIt) {
  Config config = OfNobody();
  config.node_sets = {{"gpu", true, "", "gpu"}};
  EXPECT_EQ(Departed(kGpu, config), "");
  config.node_sets.clear();
  config.extra_conf = "PartitionName=gpu Nodes=ALL\n";
  EXPECT_EQ(Departed(kGpu, config), "");
}

// slurmctld does not start with it.
TEST(FindDeparted, WithoutAccountingThereIsNoQos) {
  Config config = OfNobody();
  constexpr auto published = "PartitionName=a Nodes=ALL QOS=high AllowQos=ALL State=UP\n";
  EXPECT_EQ(Departed(published, config), "PartitionName=a Nodes=ALL AllowQos=ALL State=DRAIN\n");
  config.accounting = ConfigAccounting{"db", 6819};
  EXPECT_EQ(Departed(published, config), "PartitionName=a Nodes=ALL QOS=high AllowQos=ALL State=DRAIN\n");
}

// slurmctld does not start with two of one name.
TEST(FindDeparted, AFileThatIsIncludedAsksForItsPartitions) {
  Config config = OfNobody();
  config.included = {"gpu"};
  EXPECT_EQ(Departed(kGpu, config), "");
}

// Its workers are there still, and finish what is queued.
TEST(FindDeparted, ANodeSetThatLosesItsPartitionKeepsItsOwnLine) {
  Config config = OfNobody();
  config.node_sets = {{"gpu", false, "", "gpu"}};
  EXPECT_EQ(Departed(kGpu, config), "PartitionName=gpu Nodes=gpu MaxTime=60 State=DRAIN\n");
}

// slurmctld does not start with Nodes that are none.
TEST(FindDeparted, OfAUsersPartitionNodesStayThatSlurmKnows) {
  Config config = OfNobody();
  config.extra_conf = "NodeName=old[1-2]\n";
  EXPECT_EQ(Departed("PartitionName=a Nodes=ALL\nPartitionName=b Nodes=old1,old2\nPartitionName=c Nodes=old1,old3\n"
                     "NodeSet=big Feature=big\nNodeSet=named Nodes=old9\nPartitionName=d Nodes=big,old1\n"
                     "PartitionName=e Nodes=named\nPartitionName=DEFAULT MaxTime=5\n",
                     config),
            "PartitionName=a Nodes=ALL State=DRAIN\nPartitionName=b Nodes=old1,old2 State=DRAIN\n"
            "PartitionName=c State=DRAIN\nNodeSet=big Feature=big\nPartitionName=d Nodes=big,old1 State=DRAIN\n"
            "PartitionName=e State=DRAIN\n");
}

TEST(FindDeparted, OfATextThatSomebodyHasSpoiltWhatCanBeReadIsKept) {
  EXPECT_EQ(Departed("nonsense\n\x01\nPartitionName=\n" + std::string(kGpu) +
                     "PartitionName=odd Nodes=gpu MaxTime=soon # comment\nPartitionName=gpu Nodes=twice\n"),
            std::string(kClosedGpu) + "PartitionName=odd State=DRAIN\n");
  EXPECT_EQ(Departed(""), "");
  EXPECT_EQ(Departed(std::string(1000, '\\')), "");
}

TEST(FindDeparted, WhatItKeepsSlurmTakes) {
  Config config = OfNobody();
  for (const DepartedPartition& partition : FindDeparted(kGpu, config)) config.departed.push_back(partition.config);
  EXPECT_THAT(SlurmConf(config).value(), EndsWith("#\n### DEPARTED PARTITIONS ###\n" + std::string(kClosedGpu)));
}

TEST(FindDeparted, TooManyAreNotPublished) {
  Config config = OfNobody();
  std::string published;
  for (size_t i = 0; i <= kMostDeparted; ++i) published += "PartitionName=p" + std::to_string(i) + "\n";
  for (const DepartedPartition& partition : FindDeparted(published, config))
    config.departed.push_back(partition.config);
  EXPECT_THAT(SlurmConf(config).error().message(), HasSubstr("101 partitions that nobody asks for"));
}

// Ten thousand partitions of a hundred thousand nodes each.
TEST(FindDeparted, NodesAreComparedAndNotWrittenOut) {
  Config config = OfNobody();
  config.extra_conf = "NodeName=old-node-[1-99999]\n";
  std::string published;
  for (int i = 0; i < 10'000; ++i) published += "PartitionName=p" + std::to_string(i) + " Nodes=old-node-[1-99999]\n";
  const auto departed = FindDeparted(published, config);
  EXPECT_EQ(departed.size(), 10'000u);
  EXPECT_EQ(
      departed.front().config.lines.front(),
      (std::vector<slurm::ConfItem>{{"PartitionName", "p0"}, {"Nodes", "old-node-[1-99999]"}, {"State", "DRAIN"}}));
  EXPECT_EQ(departed.back().config.lines.front(),
            (std::vector<slurm::ConfItem>{{"PartitionName", "p9999"}, {"State", "DRAIN"}}))
      << "of more than can be published nothing is looked at";
  size_t lines = 0;
  std::string sets = "PartitionName=all Nodes=s[0-1999]\nPartitionName=some Nodes=s[0-99]\n";
  for (int i = 0; i < 2000; ++i) sets += "NodeSet=s" + std::to_string(i) + " Feature=s\n";
  for (const DepartedPartition& partition : FindDeparted(sets, OfNobody())) lines += partition.config.lines.size();
  EXPECT_EQ(lines, 102u) << "too many NodeSets would have to stay for one partition";
}

// A Decide of nothing but this.
class KeepDepartedTest : public ::testing::Test {
 protected:
  KeepDepartedTest() { world.Nodes("slurm/main", {}); }

  // What Slurm has said, `age` before it is asked what stays.
  void Says(slurm::PartitionUse use, Duration age = Duration(0)) {
    use.jobs_read = !too_many;
    answer = std::make_shared<const slurm::PartitionUse>(std::move(use));
    answer_age = age;
  }

  static slurm::PartitionUse Closed(std::vector<int64_t> jobs = {}, size_t over = 0) {
    slurm::PartitionUse use{
        .partitions = {{.name = "gpu", .open = false}}, .job_count = 70, .jobs_read = true, .jobs = {}};
    if (!jobs.empty() || over > 0) use.jobs["gpu"] = {.ids = std::move(jobs), .over = over};
    return use;
  }

  // What stays after the published text has stood for `held`, and what is told.
  std::string Kept(Duration held, std::string_view published = kClosedGpu) {
    static std::string told;
    static api::Conditions before;
    static std::string text;
    static bool connected;
    text = published;
    connected = has_rest_api;
    before.clear();
    if (answer) world.Answer("use of partitions of slurm/main: gpu", answer, answer_age - held);
    if (!config_live.empty()) before.push_back({.type = std::string(api::kConfigLive), .status = config_live});
    world.Decide(
        [](const plan::World& seen, const kube::Key&) {
          ReconcileBase reconcile(seen);
          reconcile.plan.slurm_cluster = "slurm/main";
          if (connected)
            reconcile.plan.slurm = plan::SlurmConnection{.server = "http://rest", .token_secret = {}, .token_key = ""};
          const auto kept = KeepDeparted(reconcile, {"slurm", "main-config"}, FindDeparted(text, OfNobody()), before);
          told = kept.empty() ? "gone" : reconcile.findings.own.at(0).finding.message;
          EXPECT_EQ(kept.empty(), reconcile.findings.own.empty());
          return reconcile.plan;
        },
        "main", held);
    return told;
  }

  test::TestWorld world;
  std::shared_ptr<const slurm::PartitionUse> answer;
  Duration answer_age{0};
  std::string config_live = "True";
  bool has_rest_api = true, too_many = false;
};

TEST_F(KeepDepartedTest, GoesOnceItIsClosedForAWhileAndNoJobNamesIt) {
  Says(Closed());
  EXPECT_THAT(Kept(29s), HasSubstr("gpu (it was closed a moment ago)"));
  EXPECT_EQ(Kept(31s), "gone");
}

TEST_F(KeepDepartedTest, WhatIsNotPublishedAsClosedStays) {
  EXPECT_THAT(Kept(1h, kGpu), HasSubstr("gpu (it is being closed)"));
}

TEST_F(KeepDepartedTest, JobsThatNameItKeepItAndAreNamed) {
  Says(Closed({17}));
  EXPECT_THAT(Kept(1h), HasSubstr("gpu (job 17)"));
  Says(Closed({1, 2, 3, 4, 5, 6, 7}, 3));
  EXPECT_THAT(Kept(1h), HasSubstr("gpu (jobs 1, 2, 3, 4, 5 and 2 more)"));
}

// A slurmctld of some releases never starts again.
TEST_F(KeepDepartedTest, JobsThatAreOverKeepItToo) {
  Says(Closed({}, 3));
  EXPECT_THAT(Kept(1h), HasSubstr("3 jobs that are over, which slurmctld forgets after MinJobAge"));
}

// A job could have been queued since.
TEST_F(KeepDepartedTest, AnAnswerFromBeforeItWasClosedProvesNothing) {
  Says(Closed(), 1h);
  EXPECT_THAT(Kept(1h), HasSubstr("closed a moment ago"));
  Says(Closed(), 10min);
  EXPECT_EQ(Kept(1h), "gone");
}

TEST_F(KeepDepartedTest, StaysWhileSlurmSaysThatItIsOpen) {
  slurm::PartitionUse open = Closed();
  open.partitions[0].open = true;
  Says(open);
  EXPECT_THAT(Kept(1h), HasSubstr("gpu (it was closed a moment ago)"));
}

TEST_F(KeepDepartedTest, OneThatSlurmDoesNotHaveGoesToo) {
  Says({.partitions = {}, .jobs_read = true, .jobs = {}});
  EXPECT_EQ(Kept(1h), "gone");
}

TEST_F(KeepDepartedTest, WaitsLongerWhereNobodySaysWhatIsLive) {
  for (const char* status : {"Unknown", ""}) {
    config_live = status;
    Says(Closed());
    EXPECT_THAT(Kept(110s), HasSubstr("closed a moment ago"));
    EXPECT_EQ(Kept(130s), "gone");
  }
}

TEST_F(KeepDepartedTest, StaysWhileAnotherTextIsLive) {
  config_live = "False";
  Says(Closed());
  EXPECT_THAT(Kept(1h), HasSubstr("not live yet"));
}

TEST_F(KeepDepartedTest, WhatIsNotKnownKeepsIt) {
  too_many = true;
  Says(Closed());
  EXPECT_THAT(Kept(1h), HasSubstr("Slurm has 70 jobs, too many to look for those that name it"));
  has_rest_api = false;
  EXPECT_THAT(Kept(1h), HasSubstr("remove its line from ConfigMap slurm/main-config"));
  has_rest_api = true;
  too_many = false;
  Says(Closed());
  world.slurm["slurm/main"].state = plan::SlurmLook::State::kUnreachable;
  EXPECT_THAT(Kept(1h), HasSubstr("gpu (its jobs are not known)"));
}

TEST_F(KeepDepartedTest, TellsOfFiveAndHowManyMore) {
  std::string published;
  for (int i = 0; i < 7; ++i) published += "PartitionName=p" + std::to_string(i) + "\n";
  EXPECT_THAT(Kept(1h, published), EndsWith("p4 (it is being closed) and 2 more"));
}

}  // namespace
}  // namespace capstan::op::controller
