#include "exporter/wanted_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::exporter {
namespace {

using slurm::JobUsage;
using slurm::NodeUsage;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class WantedNodesTest : public ::testing::Test {
 protected:
  std::vector<slurm::Partition> partitions = {{.name = "gpu", .nodes = "gpu"}};
  std::vector<NodeUsage> nodes;
  std::vector<JobUsage> jobs;
  const Time nodes_read = Time(1'700'000'000s);

  static NodeUsage Node(const char* feature, std::vector<std::string> state, int64_t cpus = 8) {
    return {.name = "n",
            .state = slurm::NodeState::FromNames(state),
            .features = {"other", feature},
            .gres = "gpu:a100:4",
            .cpus = cpus,
            .memory_mib = 1000};
  }
  static JobUsage Pending(std::string requested, std::string reason = "Resources") {
    return {.state = slurm::JobState::FromNames(std::vector<std::string>{"PENDING"}),
            .state_reason = std::move(reason),
            .partitions = {"gpu"},
            .nodes = 1,
            .tres_requested = std::move(requested)};
  }

  std::map<std::string, int64_t> Wanted() {
    const PoolsOfPartitions of = NodeSetsOf(partitions);
    nodesets = EmptyPools(of, nodesets, 1000);
    for (const NodeUsage& node : nodes) AddNode(nodesets, node, node.features);
    WantedNodes wanted(of, nodesets, nodes_read);
    for (const JobUsage& job : jobs) wanted.Add(job);
    return wanted.Wanted();
  }
  int64_t Gpu() { return Wanted().at("gpu"); }

 private:
  Pools nodesets;
};

TEST_F(WantedNodesTest, ANodeSetWithoutJobsWantsNoWorkers) {
  nodes = {Node("gpu", {"IDLE"}), Node("gpu", {"DOWN"})};
  EXPECT_EQ(Gpu(), 0);
}

TEST_F(WantedNodesTest, WorkersWithJobsAreWanted) {
  nodes = {Node("gpu", {"MIXED"}), Node("gpu", {"ALLOCATED", "DRAIN"}), Node("gpu", {"IDLE", "COMPLETING"}),
           Node("gpu", {"IDLE"}), Node("cpu", {"ALLOCATED"})};
  EXPECT_EQ(Gpu(), 3);
}

TEST_F(WantedNodesTest, JobsOfOneNodeFillPartsOfAWorker) {
  nodes = {Node("gpu", {"IDLE"})};
  jobs.assign(8, Pending("cpu=1,mem=10M,node=1"));
  EXPECT_EQ(Gpu(), 1);
  jobs.push_back(Pending("cpu=1,mem=10M,node=1"));
  EXPECT_EQ(Gpu(), 2);
  jobs.assign(3, Pending("cpu=1,mem=500M,node=1"));
  EXPECT_EQ(Gpu(), 2) << "by their memory";
  jobs.assign(10, Pending("cpu=1,mem=10M,node=1,gres/gpu=2,gres/gpu:a100=2"));
  EXPECT_EQ(Gpu(), 5) << "by their GPUs";
  jobs = {Pending("cpu=1,node=1")};
  jobs[0].gres_requested = "gpu:3,";
  jobs.push_back(jobs[0]);
  EXPECT_EQ(Gpu(), 2) << "also where Slurm counts no GPUs among TRES";
}

TEST_F(WantedNodesTest, AJobThatAsksForMoreThanAWorkerHasWantsSeveral) {
  nodes = {Node("gpu", {"IDLE"})};
  jobs = {Pending("cpu=20,node=1")};
  EXPECT_EQ(Gpu(), 3);
  jobs[0].most_nodes = 1;
  EXPECT_EQ(Gpu(), 1) << "a larger one may come";
}

TEST_F(WantedNodesTest, AJobThatStartedSinceTheNodesWereReadIsNotForgotten) {
  nodes = {Node("gpu", {"IDLE"})};
  jobs = {Pending("cpu=8")};
  jobs[0].state = slurm::JobState::FromNames(std::vector<std::string>{"RUNNING"});
  jobs[0].started = nodes_read + 1s;
  EXPECT_EQ(Gpu(), 1);
  nodes = {Node("gpu", {"ALLOCATED"}), Node("gpu", {"DOWN"})};
  EXPECT_EQ(Gpu(), 1) << "it has the node of another that had ended";
  nodes = {Node("gpu", {"IDLE"})};
  jobs[0].started = nodes_read - 1s;
  EXPECT_EQ(Gpu(), 0) << "its node would be busy";
}

TEST_F(WantedNodesTest, TheSizeIsThatOfWorkersThatAreThere) {
  nodes = {Node("gpu", {"IDLE"}, 64)};
  EXPECT_EQ(Gpu(), 0);
  nodes = {Node("gpu", {"IDLE"}, 8)};
  jobs.assign(8, Pending("cpu=8"));
  EXPECT_EQ(Gpu(), 8);
}

TEST_F(WantedNodesTest, AJobOfSeveralNodesOrThatSharesWithNobodyFillsWholeWorkers) {
  nodes = {Node("gpu", {"ALLOCATED"})};
  jobs = {Pending("cpu=4,node=4"), Pending("cpu=1"), Pending("cpu=1")};
  jobs[0].nodes = 4;
  jobs[1].shares = jobs[2].shares = false;
  EXPECT_EQ(Gpu(), 1 + 4 + 2);
}

TEST_F(WantedNodesTest, WithoutAWorkerEachJobWantsOneUntilItsSizeIsKnown) {
  jobs.assign(3, Pending("cpu=1"));
  EXPECT_EQ(Gpu(), 3);
  nodes = {Node("gpu", {"MIXED"})};
  EXPECT_EQ(Gpu(), 1 + 1);
  nodes.clear();
  EXPECT_EQ(Gpu(), 1) << "the size of a worker that has gone";
}

TEST_F(WantedNodesTest, EachTaskOfAnArrayCountsAsManyAsMayRunAtOnce) {
  jobs = {Pending("cpu=1")};
  jobs[0].tasks = 100;
  jobs[0].tasks_at_once = 20;
  EXPECT_EQ(Gpu(), 20);
}

TEST_F(WantedNodesTest, JobsThatMoreWorkersWouldNotStartCountForNothing) {
  for (const char* reason : {"Dependency", "BeginTime", "Licenses", "Reservation", "AssocGrpCpuLimit",
                             "QOSMaxJobsPerUserLimit", "JobArrayTaskLimit", "PartitionDown"})
    jobs.push_back(Pending("cpu=1", reason));
  jobs.push_back(Pending("cpu=1", "Priority"));
  jobs.back().held = true;
  jobs.push_back(Pending("cpu=1"));
  jobs.back().state = slurm::JobState::FromNames(std::vector<std::string>{"RUNNING"});
  EXPECT_EQ(Gpu(), 0);
  for (const char* reason :
       {"None", "Priority", "ReqNodeNotAvail, UnavailableNodes:gpu-0", "PartitionNodeLimit", "new in 28.05"})
    jobs.push_back(Pending("cpu=1", reason));
  EXPECT_EQ(Gpu(), 5);
}

TEST_F(WantedNodesTest, WorkersThatTakeNoJobsAreReplacedWhileJobsWait) {
  nodes = {Node("gpu", {"IDLE", "DRAIN"}), Node("gpu", {"DOWN"}), Node("gpu", {"IDLE", "DRAIN"})};
  nodes[0].reason = "gpu fell off";
  nodes[2].reason = "slurm-operator: Pod (slurm/w-2) is pending termination for scale-in";
  jobs = {Pending("cpu=8")};
  EXPECT_EQ(Gpu(), 2 + 1);
  nodes[2].reason = "slurm-operator: Node (k1) was cordoned, Pod (slurm/w-2) must be cordoned";
  EXPECT_EQ(Gpu(), 3 + 1);
}

TEST_F(WantedNodesTest, AJobCountsForOneNodeSet) {
  partitions = {{.name = "all", .nodes = "ALL"},
                {.name = "byhand", .nodes = "w-[0-3,7],x[1-2]"},
                {.name = "gpu", .nodes = "big,gpu"},
                {.name = "small", .nodes = "small,w-[0-3]"}};
  jobs.assign(5, Pending("cpu=1"));
  jobs[1].constraints = "gpu&fast";
  jobs[2].constraints = "[gpux|xgpu]";
  jobs[3].partitions = {"byhand", "small", "gpu"};
  jobs[4].partitions = {"all"};
  jobs[4].constraints = "small*2";
  EXPECT_THAT(Wanted(), ElementsAre(Pair("big", 2), Pair("gpu", 1), Pair("small", 2)));
  jobs.assign(1, Pending("cpu=1"));
  jobs[0].partitions = {"byhand", "none"};
  EXPECT_THAT(Wanted(), ElementsAre(Pair("big", 0), Pair("gpu", 0), Pair("small", 0)));
}

TEST_F(WantedNodesTest, NumbersOfNoSenseStayWithinBounds) {
  jobs.assign(3, Pending("cpu=-5,mem=x"));
  jobs[0].nodes = INT64_MAX;
  jobs[1].nodes = -7;
  jobs[2].tasks_at_once = INT64_MAX;
  EXPECT_EQ(Gpu(), 2'000'001);
  partitions.clear();
  EXPECT_THAT(Wanted(), IsEmpty());
  partitions = {{.name = "p", .nodes = "]],[,a"}};
  EXPECT_THAT(Wanted(), ElementsAre(Pair("]]", 0)));
  for (int i = 0; i < 1500; ++i) partitions.push_back({.name = std::to_string(i), .nodes = "s" + std::to_string(i)});
  EXPECT_EQ(Wanted().size(), 1000u);
}

}  // namespace
}  // namespace capstan::exporter
