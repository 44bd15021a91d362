// Jobs whose processes Slurm does not start, on real daemons. What is learnt here stands in docs/slurm-facts.md.
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "base/text.h"
#include "real_slurm.h"
#include "slurm/external_job.h"
#include "slurm/hostlist.h"

namespace capstan::slurm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RealExternalJob : public RealSlurm {
 protected:
  // Ids far above those that Slurm gives, another one at each call.
  static int64_t NextId() {
    static int64_t next = 48'000'000;
    return next++;
  }
  static ExternalJob Order(int64_t id) {
    return {.id = id, .name = "pod", .mcs_label = "kubernetes", .admin_comment = "ours {\"a\":1}", .limit_minutes = 10};
  }

  Result<void> Submit(const ExternalJob& job) { return Await(source.SubmitJob(job, Soon())); }
  Result<void> Cancel(JobCancel cancel) { return Await(source.CancelJob(std::move(cancel), Soon())); }
  std::optional<Job> JobNow(int64_t id) {
    const auto job = Await(source.ReadJob(id, Soon()));
    EXPECT_TRUE(job) << job.error().message();
    return job ? *job : std::nullopt;
  }
  bool Becomes(int64_t id, JobFlag state) {
    const auto there = [&] {
      const auto job = JobNow(id);
      return job && job->state.Has(state);
    };
    const bool was = RunUntil(there, 20s);
    if (!was) ADD_FAILURE() << id << ": " << Shell("$SLURM_EXEC squeue --states=all");
    return was;
  }
  // Runs, on that node.
  void RunOn(int64_t id, const std::string& node) {
    const std::string other = node == "w-0" ? "w-1" : "w-0";
    ASSERT_TRUE(Update(other, NodeAction::kDrain, "test"));
    ASSERT_TRUE(Submit(Order(id)));
    ASSERT_TRUE(Becomes(id, JobFlag::kRunning));
    ASSERT_EQ(JobNow(id)->nodes, node);
    ASSERT_TRUE(Update(other, NodeAction::kUndrain));
  }
  static int64_t NextOfSlurm() {
    return ParseInt(Shell("$SLURM_EXEC sbatch --parsable --hold --wrap true")).value_or(-1);
  }
};

TEST_F(RealExternalJob, HasTheIdThatItsSubmitterChoseAndSlurmsSequenceDoesNotMove) {
  const int64_t before = NextOfSlurm(), id = NextId();
  ExternalJob order = Order(id);
  order.memory_mib = 10;
  order.cpus_per_task = 1;
  order.tasks_per_node = 1;
  ASSERT_TRUE(Submit(order));
  EXPECT_EQ(NextOfSlurm(), before + 1);
  ASSERT_TRUE(Becomes(id, JobFlag::kRunning));
  const auto job = JobNow(id);
  EXPECT_EQ(job->name, "pod");
  EXPECT_EQ(job->user, "slurm");
  EXPECT_EQ(job->admin_comment, order.admin_comment);
  EXPECT_TRUE(job->external);
  EXPECT_EQ(job->time_limit, std::optional<Duration>(10min));
  EXPECT_FALSE(job->preempt_time);
  const std::string shown = Shell("$SLURM_EXEC scontrol show job " + std::to_string(id));
  EXPECT_THAT(shown, HasSubstr("MCS_label=kubernetes"));
  EXPECT_THAT(shown, HasSubstr("BatchFlag=0"));
  EXPECT_THAT(shown, HasSubstr("OverSubscribe=NO"));
}

// Charged to somebody else than the bridge's own user, who has a name on Slurm's machines or has not.
TEST_F(RealExternalJob, IsTheUsersForWhomItIsSubmittedAndIsCancelledAllTheSame) {
  for (const char* uid : {"1", "54321"}) {
    ExternalJob order = Order(NextId());
    order.user = order.group = uid;
    ASSERT_TRUE(Submit(order));
    ASSERT_TRUE(Becomes(order.id, JobFlag::kRunning));
    EXPECT_THAT(Shell("$SLURM_EXEC scontrol show job " + std::to_string(order.id)),
                HasSubstr(std::string("(") + uid + ") GroupId="));
    EXPECT_EQ(JobNow(order.id)->user.empty(), std::string(uid) == "54321") << JobNow(order.id)->user;
    const auto cancelled = Cancel({.id = order.id, .name = "pod", .only_if = JobFlag::kRunning});
    EXPECT_TRUE(cancelled) << uid << ": " << cancelled.error().message();
    EXPECT_TRUE(Becomes(order.id, JobFlag::kCancelled));
  }
}

// As a takeover does it.
TEST_F(RealExternalJob, OfAnotherBridgeIsMarkedAndNamedWhetherItWaitsOrRuns) {
  ASSERT_TRUE(Update("w-1", NodeAction::kDrain, "test"));
  int64_t ids[2];
  for (int64_t& id : ids) {
    ExternalJob order = Order(id = NextId());
    order.name = "other";
    order.admin_comment = R"({"pods":["ml/a"]})";
    ASSERT_TRUE(Submit(order));
  }
  ASSERT_TRUE(Becomes(ids[0], JobFlag::kRunning));
  ASSERT_TRUE(JobNow(ids[1])->state.IsPending());
  for (const int64_t id : ids) {
    const auto marked = Await(source.UpdateJob({.id = id, .admin_comment = "ours", .name = "ml/a"}, Soon()));
    ASSERT_TRUE(marked) << marked.error().message();
    EXPECT_EQ(JobNow(id)->name, "ml/a");
    EXPECT_EQ(JobNow(id)->admin_comment, "ours");
    EXPECT_TRUE(Cancel({.id = id, .name = "ml/a"}));
  }
}

TEST_F(RealExternalJob, ARepeatedSubmissionMeetsItsOwnJobAlsoWhenThatIsOver) {
  const int64_t id = NextId();
  ASSERT_TRUE(Submit(Order(id)));
  EXPECT_EQ(Submit(Order(id)).error().code(), Code::kAlreadyExists);
  ASSERT_TRUE(Cancel({.id = id, .name = "pod"}));
  ASSERT_TRUE(Becomes(id, JobFlag::kCancelled));
  EXPECT_EQ(Submit(Order(id)).error().code(), Code::kAlreadyExists) << "as long as slurmctld remembers it";
}

TEST_F(RealExternalJob, IsCancelledOnlyAsItWasMeant) {
  const int64_t id = NextId();
  ASSERT_TRUE(Submit(Order(id)));
  ASSERT_TRUE(Becomes(id, JobFlag::kRunning));
  EXPECT_EQ(Cancel({.id = id, .name = "other"}).error().code(), Code::kConflict);
  EXPECT_EQ(Cancel({.id = id, .name = "pod", .only_if = JobFlag::kPending}).error().code(), Code::kConflict);
  EXPECT_EQ(Cancel({.id = NextId(), .name = "pod"}).error().code(), Code::kNotFound);
  ASSERT_TRUE(JobNow(id)->state.Has(JobFlag::kRunning));
  const std::string node = JobNow(id)->nodes;
  ASSERT_TRUE(Cancel({.id = id, .name = "pod", .only_if = JobFlag::kRunning}));
  EXPECT_TRUE(NodeBecomes(node, [](const Node& n) { return !n.state.IsBusy(); }));
  EXPECT_EQ(Cancel({.id = id, .name = "pod"}).error().code(), Code::kNotFound);
  EXPECT_EQ(Await(source.UpdateJob({.id = id, .admin_comment = "late"}, Soon())).error().code(), Code::kNotFound);
  EXPECT_EQ(Await(source.UpdateJob({.id = NextId(), .admin_comment = "x"}, Soon())).error().code(), Code::kNotFound);
}

TEST_F(RealExternalJob, WhatSlurmRefusesIsToldAndWhatCannotStartNowWaits) {
  ExternalJob order = Order(NextId());
  order.partition = "nope";
  const auto refused = Submit(order);
  EXPECT_EQ(refused.error().code(), Code::kInvalid);
  EXPECT_THAT(refused.error().message(), HasSubstr("Invalid partition name specified"));
  EXPECT_FALSE(JobNow(order.id));

  order = Order(NextId());
  order.cpus_per_task = 4000;
  ASSERT_TRUE(Submit(order));
  EXPECT_TRUE(RunUntil([&] { return JobNow(order.id)->state_reason == "PartitionConfig"; }, 20s));
}

TEST_F(RealExternalJob, TakesAsManyNodesAsThereAreOfThoseItMayHave) {
  ExternalJob order = Order(NextId());
  order.nodes = 2;
  order.most_nodes = 3;
  order.tasks_per_node = 1;
  ASSERT_TRUE(Submit(order));
  ASSERT_TRUE(Becomes(order.id, JobFlag::kRunning));
  EXPECT_THAT(HostSet::Parse(JobNow(order.id)->nodes)->names(), ElementsAre("w-0", "w-1"));
  ExternalJob more = Order(NextId());
  more.nodes = 3;
  more.most_nodes = 4;
  ASSERT_TRUE(Submit(more));
  EXPECT_TRUE(RunUntil([&] { return JobNow(more.id)->state_reason == "PartitionConfig"; }, 20s));
}

TEST_F(RealExternalJob, IsFollowedFromTheQueueToItsEnd) {
  StartPolling();
  const int64_t first = NextId(), second = NextId();
  RunOn(first, "w-0");
  ASSERT_TRUE(Update("w-1", NodeAction::kDrain, "test"));
  ASSERT_TRUE(Submit(Order(second)));
  const auto following = source.Follow({first, second, 99});
  const auto known = [&](int64_t id, JobFlag state) {
    const auto& jobs = *source.Latest().followed;
    const auto found = jobs.find(id);
    return found != jobs.end() && found->second && found->second->state.Has(state);
  };
  ASSERT_TRUE(RunUntil([&] { return known(first, JobFlag::kRunning) && known(second, JobFlag::kPending); }, 20s));
  ASSERT_TRUE(RunUntil([&] { return source.Latest().followed->contains(99); }, 20s));
  EXPECT_FALSE(source.Latest().followed->at(99));
  EXPECT_TRUE(RunUntil([&] { return source.Latest().followed->at(second)->state_reason != "None"; }, 20s));
  EXPECT_EQ(source.Latest().followed->at(second)->nodes, "");
  ASSERT_TRUE(Cancel({.id = first, .name = "pod"}));
  EXPECT_TRUE(RunUntil([&] { return known(second, JobFlag::kRunning); }, 60s));
  EXPECT_EQ(source.Latest().followed->at(second)->nodes, "w-0");
}

TEST_F(RealExternalJob, SurvivesARestartAndAReconfigureOfSlurmctldAndIsNeverRequeued) {
  const int64_t id = NextId();
  RunOn(id, "w-1");
  int status = 0;
  Shell("$SLURM_EXEC scontrol requeue " + std::to_string(id), &status);
  EXPECT_NE(status, 0);
  Shell("$SLURM_CONTROL restart slurmctld");
  ASSERT_TRUE(RunUntil([&] { return Shell("$SLURM_EXEC scontrol ping").find("UP") != std::string::npos; }, 20s));
  for (const char* moment : {"after a restart", "after a reconfigure"}) {
    const auto job = JobNow(id);
    ASSERT_TRUE(job) << moment;
    EXPECT_TRUE(job->state.Has(JobFlag::kRunning)) << moment;
    EXPECT_EQ(job->nodes, "w-1") << moment;
    EXPECT_EQ(job->admin_comment, Order(id).admin_comment) << moment;
    ASSERT_TRUE(Await(source.Reconfigure(Soon())));
  }
}

TEST_F(RealExternalJob, EndsWithItsNode) {
  const int64_t id = NextId();
  RunOn(id, "w-0");
  ASSERT_TRUE(Update("w-0", NodeAction::kDown, "test"));
  EXPECT_TRUE(Becomes(id, JobFlag::kNodeFail));
}

TEST_F(RealExternalJob, StatesAreToldOfFiveHundredIdsAtOnceWithoutThoseThatSlurmDoesNotKnow) {
  const int64_t known = NextId();
  ASSERT_TRUE(Submit(Order(known)));
  std::vector<int64_t> ids{known};
  for (int64_t id = 1; ids.size() < RestClient::kMaxIds; ++id) ids.push_back(60'000'000 + id);
  const auto states = Await(client.JobStates(ids, Soon()));
  ASSERT_TRUE(states) << states.error().message();
  ASSERT_EQ(states->records.size(), 1u);
  EXPECT_EQ(states->records[0].id, known);
}

TEST_F(RealExternalJob, RunsOnTheNodesThatItMustHaveAndWaitsForThem) {
  ExternalJob order = Order(NextId());
  order.required_nodes = {"w-1"};
  ASSERT_TRUE(Submit(order));
  ASSERT_TRUE(Becomes(order.id, JobFlag::kRunning));
  EXPECT_EQ(JobNow(order.id)->nodes, "w-1");
  ExternalJob next = Order(NextId());
  next.required_nodes = {"w-0", "w-1"};
  next.nodes = 2;
  next.most_nodes = 3;
  ASSERT_TRUE(Submit(next));
  EXPECT_TRUE(RunUntil([&] { return JobNow(next.id)->state_reason == "Resources"; }, 20s));
  EXPECT_TRUE(JobNow(next.id)->state.IsPending());
  ASSERT_TRUE(Cancel({.id = order.id, .name = "pod"}));
  ASSERT_TRUE(Becomes(next.id, JobFlag::kRunning));
  EXPECT_EQ(HostSet::Parse(JobNow(next.id)->nodes)->size(), 2u);
}

TEST_F(RealExternalJob, RunsOnNoNodeThatItMustNotHave) {
  ExternalJob order = Order(NextId());
  order.excluded_nodes = {"w-0"};
  ASSERT_TRUE(Submit(order));
  ASSERT_TRUE(Becomes(order.id, JobFlag::kRunning));
  EXPECT_EQ(JobNow(order.id)->nodes, "w-1");
  ExternalJob none = Order(NextId());
  none.excluded_nodes = {"w-0", "w-1"};
  const auto submitted = Submit(none);
  EXPECT_TRUE(!submitted || JobNow(none.id)->state.IsPending());
  ExternalJob unknown = Order(NextId());
  unknown.excluded_nodes = {"w-9"};
  const auto refused = Submit(unknown);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kInvalid);
}

class RealExternalNode : public RealExternalJob {
 protected:
  Result<void> Create(const ExternalNode& node) { return Await(source.CreateNode(node, Soon())); }
  ~RealExternalNode() override { Shell("$SLURM_EXEC scontrol delete nodename=k3"); }
};

TEST_F(RealExternalNode, RunsExternalJobsAloneAndKeepsWhatItIs) {
  ASSERT_TRUE(Create({.name = "k3", .cpus = 4, .memory_mib = 2000, .features = {"a", "b"}, .address = "192.0.2.77"}));
  EXPECT_TRUE(Create({.name = "k3", .cpus = 8, .memory_mib = 2000})) << "it is there";
  const auto made = NodeNow("k3");
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->state.Has(NodeFlag::kExternal) && made->state.IsUsable()) << made->state.ToString();
  EXPECT_EQ(made->cpus, 4);
  EXPECT_EQ(made->memory_mib, 2000);
  EXPECT_THAT(made->features, ElementsAre("a", "b"));
  EXPECT_EQ(made->address, "192.0.2.77");
  NodeUpdate update{.comment = "capstan-bridge {\"v\":1}", .features = {{"a", "c"}}, .active_features = {{"a", "c"}}};
  update.names = {"k3"};
  ASSERT_TRUE(Await(source.UpdateNode(update, Soon())));
  EXPECT_THAT(Shell("$SLURM_EXEC sbatch -w k3 --wrap true 2>&1"), HasSubstr("configuration is not available"));
  ExternalJob order = Order(NextId());
  order.required_nodes = {"k3"};
  ASSERT_TRUE(Submit(order));
  ASSERT_TRUE(Becomes(order.id, JobFlag::kRunning));
  EXPECT_EQ(Await(source.DeleteNode("k3", Soon())).error().code(), Code::kConflict);
  ASSERT_TRUE(Update("k3", NodeAction::kDrain, "slurm-bridge: cordoned"));
  EXPECT_TRUE(JobNow(order.id)->state.Has(JobFlag::kRunning));
  Shell("$SLURM_CONTROL restart slurmctld");
  EXPECT_TRUE(NodeBecomes("k3", [](const Node& node) { return node.state.IsDraining(); }));
  const auto kept = NodeNow("k3");
  EXPECT_EQ(kept->comment, "capstan-bridge {\"v\":1}");
  EXPECT_EQ(kept->reason, "slurm-bridge: cordoned");
  EXPECT_THAT(kept->features, ElementsAre("a", "c"));
  EXPECT_FALSE(kept->state.IsNotResponding());
  ASSERT_TRUE(Update("k3", NodeAction::kUndrain));
  EXPECT_TRUE(NodeBecomes("k3", [](const Node& node) { return !node.state.IsDraining(); }));
  ASSERT_TRUE(Cancel({.id = order.id, .name = "pod"}));
  EXPECT_TRUE(NodeBecomes("k3", [](const Node& node) { return !node.state.IsBusy(); }));
  ASSERT_TRUE(Await(source.DeleteNode("k3", Soon())));
  EXPECT_FALSE(NodeNow("k3"));
}

TEST_F(RealExternalNode, WhatSlurmRefusesIsToldAndUnknownGresIsLeftOut) {
  const auto refused = Create({.name = "k3", .topology = "nope:s1"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kInvalid);
  EXPECT_THAT(refused.error().message(), HasSubstr("topology"));
  ASSERT_TRUE(Create({.name = "k3", .gres = {{"gpu", 2}, {"nic", 1}}}));
  EXPECT_EQ(NodeNow("k3")->gres, "");
}

class PreemptedExternalJob : public RealExternalJob {
 protected:
  void SetUp() override {
    RealExternalJob::SetUp();
    std::ifstream file(Env("SLURM_CONF_FILE"));
    conf_ = std::string(std::istreambuf_iterator<char>(file), {});
    Has("PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\n"
        "PartitionName=low Nodes=ALL PriorityTier=1 GraceTime=60 State=UP\n"
        "PartitionName=high Nodes=ALL PriorityTier=10 PreemptMode=OFF State=UP\n");
  }
  void TearDown() override {
    Shell("$SLURM_EXEC scancel --user root");
    Has("");
  }

 private:
  void Has(const std::string& lines) {
    std::ofstream(Env("SLURM_CONF_FILE")) << conf_ << lines;
    Shell("$SLURM_CONTROL restart slurmctld");  // a reconfigure does not change the way jobs are preempted
    EXPECT_TRUE(RunUntil([] { return Shell("$SLURM_EXEC scontrol ping").find("UP") != std::string::npos; }, 40s));
    for (const char* node : {"w-0", "w-1"})
      EXPECT_TRUE(NodeBecomes(node, [](const Node& n) { return n.state.IsUsable(); }, 60s));
  }
  std::string conf_;
};

// What the bridge rests on: pods of a preempted job have its grace time to end.
TEST_F(PreemptedExternalJob, IsToldToMakeRoomAndRunsOnInItsGraceTime) {
  ExternalJob order = Order(NextId());
  order.partition = "low";
  order.nodes = order.most_nodes = 2;
  ASSERT_TRUE(Submit(order));
  ASSERT_TRUE(Becomes(order.id, JobFlag::kRunning));
  EXPECT_FALSE(JobNow(order.id)->preempt_time);
  Shell("$SLURM_EXEC sbatch --parsable -p high -w w-0 --exclusive --wrap 'sleep 300'");
  EXPECT_TRUE(RunUntil([&] { return JobNow(order.id)->preempt_time.has_value(); }, 40s))
      << Shell("$SLURM_EXEC squeue --states=all; $SLURM_EXEC scontrol show job " + std::to_string(order.id));
  EXPECT_TRUE(JobNow(order.id)->state.Has(JobFlag::kRunning));
  EXPECT_TRUE(JobNow(order.id)->end_time.has_value());
}

// A job of Slurm's own and those of pods on one node.
class SharedNode : public RealExternalJob {
 protected:
  void SetUp() override {
    RealExternalJob::SetUp();
    ASSERT_TRUE(Update("w-1", NodeAction::kDrain, "test"));
  }
  void TearDown() override {
    Shell("$SLURM_EXEC scancel --user root");
    EXPECT_TRUE(Update("w-1", NodeAction::kUndrain));
  }
  static ExternalJob Sharing(const std::string& shared) {
    ExternalJob order = Order(NextId());
    order.shared = shared;
    order.cpus_per_task = 1;
    order.memory_mib = 10;
    return order;
  }
  // One that leaves a CPU of the node.
  int64_t OfSlurm(const std::string& options = "") {
    const int64_t cpus = NodeNow("w-0")->job_cpus - 1;
    const std::string id = Shell("$SLURM_EXEC sbatch --parsable -n1 -c" + std::to_string(cpus) + " --mem=10 " +
                                 options + " --wrap 'sleep 300'");
    return ParseInt(Trim(id)).value_or(-1);
  }
  bool WaitsFor(int64_t id, const std::string& reason) {
    return RunUntil(
        [&] {
          const auto job = JobNow(id);
          return job && job->state.IsPending() && job->state_reason == reason;
        },
        40s);
  }
};

TEST_F(SharedNode, HasAnyJobAndAPodsUntilItsCpusAreGone) {
  const int64_t job = OfSlurm();
  ASSERT_TRUE(Becomes(job, JobFlag::kRunning));
  const ExternalJob pod = Sharing(""), next = Sharing("");
  ASSERT_TRUE(Submit(pod));
  ASSERT_TRUE(Becomes(pod.id, JobFlag::kRunning));
  EXPECT_EQ(JobNow(pod.id)->nodes, "w-0");
  ASSERT_TRUE(Submit(next));
  EXPECT_TRUE(WaitsFor(next.id, "Resources"));
  const int64_t later = OfSlurm();
  EXPECT_TRUE(WaitsFor(later, "Priority")) << "behind the pod";
  Shell("$SLURM_EXEC scancel " + std::to_string(job));
  ASSERT_TRUE(Becomes(next.id, JobFlag::kRunning));
  EXPECT_TRUE(WaitsFor(later, "Resources"));
}

TEST_F(SharedNode, WithMcsHasOnlyJobsThatShareItWithTheirLabelToo) {
  const ExternalJob pod = Sharing("mcs");
  ASSERT_TRUE(Submit(pod));
  ASSERT_TRUE(Becomes(pod.id, JobFlag::kRunning));
  const int64_t same = OfSlurm("--exclusive=mcs --mcs-label=kubernetes");
  ASSERT_TRUE(Becomes(same, JobFlag::kRunning));
  Shell("$SLURM_EXEC scancel " + std::to_string(same));
  ASSERT_TRUE(Becomes(same, JobFlag::kCancelled));
  EXPECT_TRUE(WaitsFor(OfSlurm("--mcs-label=kubernetes"), "Resources"));
}

}  // namespace
}  // namespace capstan::slurm
