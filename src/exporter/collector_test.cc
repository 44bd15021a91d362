#include "exporter/collector.h"

#include "exporter/exporter_test.h"
#include "exporter/node_figures.h"

namespace capstan::exporter {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class CollectorTest : public ExporterTest {
 protected:
  void Jobs(const std::string& jobs) { slurm.bodies["jobs/"] = R"({"jobs":[)" + jobs + "]}"; }
  void Nodes(const std::string& nodes) { slurm.bodies["nodes/"] = R"({"nodes":[)" + nodes + "]}"; }
};

TEST_F(CollectorTest, AJobOfSeveralPartitionsCountsInEachAndOnceInTheCluster) {
  Jobs(R"({"job_id":1,"job_state":["PENDING"],"partition":"short,long,short","account":"a","state_reason":"Resources",
           "node_count":{"set":true,"number":4}},
          {"job_id":2,"job_state":["RUNNING","COMPLETING"],"partition":"long","account":"a"})");
  Start();
  EXPECT_EQ(Value("slurm_jobs_total"), "2");
  EXPECT_EQ(Value("slurm_partition_jobs_total{partition=\"short\"}"), "1");
  EXPECT_EQ(Value("slurm_partition_jobs_total{partition=\"long\"}"), "2");
  EXPECT_EQ(Value("slurm_account_jobs_total{account=\"a\"}"), "2");
  EXPECT_EQ(Value("slurm_jobs_running_total"), "1");
  EXPECT_EQ(Value("slurm_jobs_completing_total"), "1");
  EXPECT_EQ(Value("slurm_partition_jobs_pending_maxnodecount_total{partition=\"long\"}"), "4");
  EXPECT_EQ(Value("slurm_jobs_pending_by_reason{partition=\"short\",reason=\"Resources\"}"), "1");
}

TEST_F(CollectorTest, ArraysAndHetJobsAreTheRecordsThatSlurmHas) {
  Jobs(
      R"({"job_id":10,"job_state":["PENDING"],"partition":"all","array_job_id":{"set":true,"number":10},"array_task_string":"2-9,12%4"},
          {"job_id":11,"job_state":["RUNNING"],"partition":"all","array_job_id":{"set":true,"number":10}},
          {"job_id":20,"job_state":["RUNNING"],"partition":"all","het_job_id":{"set":true,"number":20}},
          {"job_id":21,"job_state":["RUNNING"],"partition":"all","het_job_id":{"set":true,"number":20}})");
  Start();
  EXPECT_EQ(Value("slurm_jobs_total"), "4");
  EXPECT_EQ(Value("slurm_jobs_pending_total"), "1");
  EXPECT_EQ(Value("slurm_partition_jobs_pending_tasks{partition=\"all\"}"), "9");
  EXPECT_EQ(Value("slurm_jobs_running_total"), "3");
}

TEST_F(CollectorTest, OnlyJobsThatHoldNodesHaveResources) {
  Jobs(R"({"job_id":1,"job_state":["RUNNING"],"tres_alloc_str":"cpu=8,mem=1.50G,node=2,billing=8"},
          {"job_id":2,"job_state":["SUSPENDED"],"tres_alloc_str":"cpu=2,mem=512M"},
          {"job_id":3,"job_state":["COMPLETED"],"tres_alloc_str":"cpu=64,mem=1T"},
          {"job_id":4,"job_state":["PENDING"],"hold":true,"tres_req_str":"cpu=64"})");
  Start();
  EXPECT_EQ(Value("slurm_jobs_cpus_alloc_total"), "10");
  EXPECT_EQ(Value("slurm_jobs_memory_alloc_bytes"), "2048");
  EXPECT_EQ(Value("slurm_jobs_hold_total"), "1");
}

TEST_F(CollectorTest, WaitsAreThoseOfJobsThatCouldStart) {
  const int64_t now = UnixSeconds(loop.WallNow());
  const auto at = [&](int64_t ago) { return R"({"set":true,"number":)" + std::to_string(now - ago) + "}"; };
  Jobs(R"({"job_id":1,"job_state":["PENDING"],"partition":"all","eligible_time":)" + at(600) + "}," +
       R"({"job_id":2,"job_state":["PENDING"],"partition":"all","hold":true,"eligible_time":)" + at(9000) + "}," +
       R"({"job_id":3,"job_state":["PENDING"],"partition":"all","eligible_time":{"set":true,"number":0}},)" +
       R"({"job_id":4,"job_state":["RUNNING"],"partition":"all","eligible_time":)" + at(90) +
       ",\"start_time\":" + at(60) + "}");
  Start();
  EXPECT_EQ(Value("slurm_partition_jobs_pending_longest_wait_seconds{partition=\"all\"}"), "600");
  EXPECT_EQ(Value("slurm_partition_jobs_running_mean_wait_seconds{partition=\"all\"}"), "30");
}

TEST_F(CollectorTest, AccountsAndTheirUsersHaveSharesAndUsage) {
  const auto of = [](const char* number) {
    return std::string(R"({"set":true,"infinite":false,"number":)") + number + "}";
  };
  slurm.bodies["shares"] =
      R"({"shares":{"shares":[{"name":"physics","parent":"root","type":["ASSOCIATION"],"usage":7200,"shares":)" +
      of("30") + ",\"shares_normalized\":" + of("0.75") + ",\"effective_usage\":" + of("0.5") +
      R"(,"fairshare":{"factor":)" + of("0.1") + R"(}},
    {"name":"ada","parent":"physics","type":["USER"],"usage":3600,"effective_usage":)" +
      of("0.25") + R"(,"fairshare":{"factor":)" + of("0.125") + R"(},"shares":{"set":false,"infinite":true}},
    {"name":"ada","parent":"physics","partition":"gpu","type":["USER"],"usage":60},
    {"name":"chemistry","parent":"root","type":["ASSOCIATION"],"shares":)" +
      of("2147483647") + R"(}],"total_shares":31}})";
  Start();
  EXPECT_EQ(Value("slurm_account_shares{account=\"physics\"}"), "30");
  EXPECT_EQ(Value("slurm_account_shares{account=\"chemistry\"}"), "") << "Fairshare=parent";
  EXPECT_EQ(Value("slurm_account_shares_ratio{account=\"physics\"}"), "0.75");
  EXPECT_EQ(Value("slurm_account_usage_seconds{account=\"physics\"}"), "7200");
  EXPECT_EQ(Value("slurm_account_usage_ratio{account=\"physics\"}"), "0.5");
  EXPECT_EQ(Value("slurm_user_usage_seconds{account=\"physics\",username=\"ada\",partition=\"\"}"), "3600");
  EXPECT_EQ(Value("slurm_user_usage_seconds{account=\"physics\",username=\"ada\",partition=\"gpu\"}"), "60");
  EXPECT_EQ(Value("slurm_user_fair_share{account=\"physics\",username=\"ada\",partition=\"\"}"), "0.125");
  EXPECT_EQ(Value("slurm_user_fair_share{account=\"physics\",username=\"ada\",partition=\"gpu\"}"), "") << "not told";
  EXPECT_EQ(Value("slurm_exporter_uncounted_records{collector=\"shares\",label=\"account\"}"), "0");
  loop.Advance(50s);
  EXPECT_EQ(slurm.asked["shares"], 1) << "once a minute";
  slurm.bodies["shares"] = "{";
  loop.Advance(15s);
  EXPECT_EQ(slurm.asked["shares"], 2);
  EXPECT_EQ(Value("slurm_account_shares{account=\"physics\"}"), "30") << "the last that Slurm said";
  loop.Advance(35s);
  EXPECT_EQ(slurm.asked["shares"], 3) << "half a minute after a failure";
}

TEST_F(CollectorTest, NamesOfAnyKindAreLabels) {
  Nodes(R"({"name":"n{0}","state":["IDLE"],"partitions":["größer \"als\" \\ \n x"]})");
  Start();
  EXPECT_EQ(Value("slurm_node_cpus_total{node=\"n{0}\"}"), "0");
  EXPECT_THAT(Text(), HasSubstr(R"(slurm_partition_nodes_total{partition="größer \"als\" \\)"));
}

TEST_F(CollectorTest, APartitionWithNothingInItHasZeros) {
  slurm.bodies["partitions/"] = R"({"partitions":[{"name":"empty","partition":{"state":["DRAIN"]}}]})";
  Start();
  EXPECT_EQ(Value("slurm_partition_jobs_total{partition=\"empty\"}"), "0");
  EXPECT_EQ(Value("slurm_partition_nodes_total{partition=\"empty\"}"), "0");
  EXPECT_EQ(Value("slurm_partition_accepts_jobs{partition=\"empty\"}"), "0");
}

TEST_F(CollectorTest, NodesCountByStateResourcesAndReason) {
  Nodes(R"({"name":"a","state":["MIXED","DRAIN"],"partitions":["p","q"],"cpus":8,"effective_cpus":7,"alloc_cpus":2,
            "alloc_idle_cpus":6,"real_memory":1000,"specialized_memory":100,"alloc_memory":10,
            "free_mem":{"set":true,"number":500},"gres":"gpu:a100:4(S:0-1),shard:8","gres_used":"gpu:a100:1(IDX:0),shard:0",
            "topology":"block:b1,tree:leaf1","reason":"NHC: gpu fell off","reason_changed_at":{"set":true,"number":1700000000}},
           {"name":"b","state":["DOWN","NOT_RESPONDING"],"partitions":["p"],"reason":"Not responding"},
           {"name":"c","state":["IDLE"],"partitions":["p"],"topology":"block:b1,tree:leaf2"})");
  Start();
  EXPECT_EQ(Value("slurm_nodes_total"), "3");
  EXPECT_EQ(Value("slurm_nodes_drain_total"), "1");
  EXPECT_EQ(Value("slurm_nodes_usable"), "1");
  EXPECT_EQ(Value("slurm_partition_nodes_usable{partition=\"q\"}"), "0");
  EXPECT_EQ(Value("slurm_nodes_notresponding_total"), "1");
  EXPECT_EQ(Value("slurm_partition_nodes_total{partition=\"p\"}"), "3");
  EXPECT_EQ(Value("slurm_partition_nodes_total{partition=\"q\"}"), "1");
  EXPECT_EQ(Value("slurm_node_cpus_effective_total{node=\"a\"}"), "7");
  EXPECT_EQ(Value("slurm_node_memory_effective_bytes{node=\"a\"}"), "900");
  EXPECT_EQ(Value("slurm_node_memory_free_bytes{node=\"a\"}"), "500");
  EXPECT_EQ(Value("slurm_node_memory_free_bytes{node=\"b\"}"), "") << "not known";
  EXPECT_EQ(Value("slurm_node_gres_total{node=\"a\",gres=\"gpu:a100\"}"), "4");
  EXPECT_EQ(Value("slurm_gres_total{gres=\"gpu\",type=\"a100\"}"), "4");
  EXPECT_EQ(Value("slurm_gres_alloc_total{gres=\"gpu\",type=\"a100\"}"), "1");
  EXPECT_EQ(Value("slurm_gres_total{gres=\"shard\",type=\"\"}"), "8");
  EXPECT_EQ(Value("slurm_nodes_unavailable{state=\"draining\",class=\"health_check\"}"), "1");
  EXPECT_EQ(Value("slurm_nodes_unavailable{state=\"down\",class=\"not_responding\"}"), "1");
  EXPECT_EQ(
      Value("slurm_node_unavailable_since_timestamp_seconds{node=\"a\",state=\"draining\",class=\"health_check\"}"),
      "1700000000");
  EXPECT_EQ(Value("slurm_topology_nodes{topology=\"block\",unit=\"b1\"}"), "2");
  EXPECT_EQ(Value("slurm_topology_idle_nodes{topology=\"block\",unit=\"b1\"}"), "1");
}

TEST_F(CollectorTest, GresInUseCountWhetherOrNotSlurmTellsTheirType) {
  Nodes(R"json({"name":"a","state":["MIXED"],"gres":"gpu:4","gres_used":"gpu:(null):3(IDX:0-2)"},
               {"name":"b","state":["MIXED"],"gres":"gpu:4","gres_used":"gpu:gh200:2(IDX:0-1)"},
               {"name":"c","state":["MIXED"],"gres":"nic:x:2","gres_used":"nic:1"})json");
  Start();
  EXPECT_EQ(Value("slurm_gres_alloc_total{gres=\"gpu\",type=\"\"}"), "5");
  EXPECT_EQ(Value("slurm_gres_alloc_total{gres=\"nic\",type=\"x\"}"), "1");
}

TEST(ClassOfReason, IsOneOfAFew) {
  EXPECT_EQ(ClassOf(""), "none");
  EXPECT_EQ(ClassOf("Kill task failed"), "kill_task");
  EXPECT_EQ(ClassOf("Low RealMemory (reported:1 < 100.00% of configured:2)"), "registration");
  EXPECT_EQ(ClassOf("slurm-operator: slurm/w-0 is to go"), "operator");
  EXPECT_EQ(ClassOf("ada looks at the fan"), "other");
}

TEST_F(CollectorTest, StatisticsKeepSlurmsUnits) {
  slurm.bodies["diag/"] = R"({"statistics":{"schedule_cycle_last":1234,"bf_active":true,"jobs_started":5,
    "bf_exit":{"bf_max_time":3},"job_states_ts":{"set":true,"number":1700000000},
    "rpcs_by_message_type":[{"message_type":"REQUEST_PING","count":7,"total_time":2500000}]}})";
  Start();
  EXPECT_EQ(Value("slurm_scheduler_cycle_last_seconds"), "1234");
  EXPECT_EQ(Value("slurm_bfscheduler_active_bool"), "1");
  EXPECT_EQ(Value("slurm_bfscheduler_maxtime_total"), "3");
  EXPECT_EQ(Value("slurm_scheduler_jobs_stats_timestamp"), "1700000000");
  EXPECT_EQ(Value("slurm_rpc_calls_total{rpc=\"REQUEST_PING\"}"), "7");
  EXPECT_EQ(Value("slurm_rpc_seconds_total{rpc=\"REQUEST_PING\"}"), "2.5");
}

TEST_F(CollectorTest, LicensesAndReservations) {
  slurm.bodies["licenses/"] = R"({"licenses":[{"LicenseName":"matlab","Total":10,"Used":4,"Free":6,"Reserved":1}]})";
  slurm.bodies["reservations/"] = R"({"reservations":[{"name":"maint","node_list":"w-[0-3]",
    "start_time":{"set":true,"number":1700000000},"end_time":{"set":true,"number":1700003600}}]})";
  Start();
  EXPECT_EQ(Value("slurm_license_total{license=\"matlab\"}"), "10");
  EXPECT_EQ(Value("slurm_license_used{license=\"matlab\"}"), "4");
  EXPECT_EQ(Value("slurm_reservation_nodes{reservation=\"maint\"}"), "4");
  EXPECT_EQ(Value("slurm_reservation_end_timestamp_seconds{reservation=\"maint\"}"), "1700003600");
}

TEST_F(CollectorTest, WhatAnAutoscalerIsToSetIsShownOnlyWhereNodesAreKnown) {
  slurm.bodies["partitions/"] = R"({"partitions":[{"name":"p","node_sets":"gpu"}]})";
  Nodes(R"({"name":"a","state":["ALLOCATED"],"features":["gpu"],"partitions":["p"],"effective_cpus":8})");
  Jobs(R"({"job_id":1,"job_state":["PENDING"],"partition":"p","state_reason":"Resources","tres_req_str":"cpu=4,node=1",
           "array_task_string":"0-9%3","array_max_tasks":{"set":true,"number":3}},
          {"job_id":2,"job_state":["PENDING"],"partition":"p","state_reason":"Priority","tres_req_str":"cpu=1","shared":["none"]},
          {"job_id":3,"job_state":["PENDING"],"partition":"p","state_reason":"Licenses","tres_req_str":"cpu=8"})");
  Start({.interval = 5s, .keep = 1min});
  EXPECT_EQ(Value("slurm_nodeset_wanted_nodes{nodeset=\"gpu\"}"), "4") << "one busy, 1.5 for the array, and one";
  EXPECT_EQ(Value("slurm_partition_wanted_nodes{partition=\"p\"}"), "4");
  slurm.bodies["nodes/"] = R"({"nodes":[{"name":"a",)";
  loop.Advance(2min);
  EXPECT_EQ(Value("slurm_jobs_total"), "3");
  EXPECT_EQ(Value("slurm_nodeset_wanted_nodes{nodeset=\"gpu\"}"), "");
  EXPECT_EQ(Value("slurm_partition_wanted_nodes{partition=\"p\"}"), "");
}

// --- Time ------------------------------------------------------------------------------------------------------------

TEST_F(CollectorTest, AScrapeAsksSlurmForNothing) {
  Start();
  const auto before = slurm.asked;
  for (int i = 0; i < 100; ++i) (void)Text();
  EXPECT_EQ(slurm.asked, before);
}

TEST_F(CollectorTest, ASlurmThatIsAwayKeepsItsLastValuesForAWhile) {
  Nodes(R"({"name":"a","state":["IDLE"]})");
  Start({.interval = 5s, .keep = 1min});
  EXPECT_EQ(Value("slurm_up"), "1");
  slurm.away = true;
  loop.Advance(50s);
  EXPECT_EQ(Value("slurm_up"), "1");
  EXPECT_EQ(Value("slurm_nodes_total"), "1");
  EXPECT_NE(Value("slurm_exporter_collection_failures_total{collector=\"nodes\"}"), "0");
  loop.Advance(20s);
  EXPECT_EQ(Value("slurm_up"), "0");
  EXPECT_EQ(Value("slurm_nodes_total"), "") << "nobody knows";
  EXPECT_EQ(Value("slurm_exporter_snapshot_age_seconds{collector=\"nodes\"}"), "70");
  slurm.away = false;
  loop.Advance(10s);
  EXPECT_EQ(Value("slurm_up"), "1");
  EXPECT_EQ(Value("slurm_nodes_total"), "1");
}

TEST_F(CollectorTest, AnAnswerThatEndsEarlyIsNoneAndReplacesNothing) {
  Nodes(R"({"name":"a","state":["IDLE"]},{"name":"b","state":["IDLE"]})");
  Start();
  slurm.bodies["nodes/"] = R"({"nodes":[{"name":"a","state":["IDLE"]},)";
  loop.Advance(20s);
  EXPECT_EQ(Value("slurm_nodes_total"), "2");
  slurm.bodies["nodes/"] = R"({"nodes":[],"errors":[{"error":"Slurm backup controller in standby mode"}]})";
  loop.Advance(20s);
  EXPECT_EQ(Value("slurm_nodes_total"), "2");
}

TEST_F(CollectorTest, AnAnswerThatIsAskedForAnewIsCountedOnce) {
  Nodes(R"({"name":"a","state":["IDLE"]},{"name":"b","state":["IDLE"]})");
  slurm.first["nodes/"] = R"({"nodes":[{"name":"a","state":["IDLE"]}],"errors":[{"error_number":1007,"error":"x"}]})";
  Start();
  EXPECT_EQ(slurm.asked["nodes/"], 2);
  EXPECT_EQ(Value("slurm_nodes_total"), "2");
}

TEST_F(CollectorTest, AListThatComesRarelyIsShownUntilTheNext) {
  slurm.takes["jobs/"] = 40s;
  Start({.interval = 5s, .keep = 1min});
  loop.Advance(5min);
  EXPECT_EQ(Value("slurm_jobs_total"), "0");
  EXPECT_EQ(slurm.asked["jobs/"], 1);
}

TEST_F(CollectorTest, AfterAFailureSlurmIsAskedAgainSoon) {
  Start();
  slurm.takes["jobs/"] = 2min;
  slurm.away = true;
  loop.Advance(2min + 15s);
  slurm.takes["jobs/"] = 0s;
  slurm.away = false;
  loop.Advance(40s);
  EXPECT_EQ(Value("slurm_jobs_total"), "0");
  EXPECT_LT(std::stod(Value("slurm_exporter_snapshot_age_seconds{collector=\"jobs\"}")), 10);
}

TEST_F(CollectorTest, WhatTakesLongIsAskedForRarely) {
  slurm.takes["jobs/"] = 3s;
  Start({.interval = 5s});
  slurm.asked.clear();
  loop.Advance(5min);
  EXPECT_LE(slurm.asked["jobs/"], 10 + 1) << "a tenth of the time at most";
  EXPECT_GE(slurm.asked["jobs/"], 8);
  EXPECT_GE(slurm.asked["nodes/"], 30);
}

TEST_F(CollectorTest, AClusterHasItsLabelWhereItIsGiven) {
  Start({.cluster = "north"});
  EXPECT_EQ(Value("slurm_nodes_total{cluster=\"north\"}"), "0");
  EXPECT_EQ(Value("slurm_up{cluster=\"north\"}"), "1");
  EXPECT_EQ(Value("slurm_up"), "");
}

TEST(BoundedMap, HasNoPlaceForMoreThanItMay) {
  Bounded<std::string, int> map(2);
  EXPECT_NE(map.At(std::string("a")), nullptr);
  EXPECT_NE(map.At(std::string("b")), nullptr);
  EXPECT_EQ(map.At(std::string("c")), nullptr);
  EXPECT_NE(map.At(std::string("a")), nullptr);
  EXPECT_EQ(map.refused(), 1);
}

}  // namespace
}  // namespace capstan::exporter
