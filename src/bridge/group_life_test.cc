// The life of groups of pods behind one job, with an engine, on a modelled API server and slurmrestd.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bridge/life_fixture.h"
#include "bridge/roots.h"

namespace capstan::bridge {
namespace {

using slurm::JobFlag;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class GroupLife : public testing::BridgeLife {
 protected:
  explicit GroupLife(bool with_job_sets = true) : BridgeLife(true, with_job_sets) {}
  // A Job whose pods are a gang, without them.
  void PutJob(int parallelism, const std::string& annotations = {}) {
    server.Put(Job::kResource, R"({"metadata":{"namespace":"ml","name":"sim","annotations":{)" + annotations +
                                   R"(}},"spec":{"parallelism":)" + std::to_string(parallelism) + R"(,"completions":)" +
                                   std::to_string(parallelism) + "}}");
  }
  void PutGangPod(const std::string& name, int index) {
    const std::string uid(json::FindText(*server.Find(Job::kResource, {"ml", "sim"}), {"metadata", "uid"}));
    PutPod(name, "",
           R"(,"annotations":{"capstan.dev/gang":"job","batch.kubernetes.io/job-completion-index":")" +
               std::to_string(index) +
               R"("},"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"sim","uid":")" + uid +
               R"(","controller":true}])");
  }
  void PutGang(int count) {
    PutJob(count);
    for (int i = 0; i < count; ++i) PutGangPod("sim-" + std::to_string(i), i);
  }
  void PutPodOf(const std::string& pod_group, const std::string& name) {
    PutPod(name, R"(,"scheduling.x-k8s.io/pod-group":")" + pod_group + "\"");
  }
  void PutPodGroup(const std::string& name, int min_member) {
    server.Put(PodGroup::kResource, R"({"metadata":{"namespace":"ml","name":")" + name + R"("},"spec":{"minMember":)" +
                                        std::to_string(min_member) + "}}");
  }
  // The body of the last submission.
  std::string LastOrder() const {
    std::string body;
    for (const auto& write : rest.writes())
      if (write.target.ends_with("/job/submit")) body = write.body;
    return body;
  }
  size_t Orders() const {
    return size_t(
        std::ranges::count_if(rest.writes(), [](const auto& write) { return write.target.ends_with("/job/submit"); }));
  }
  void RunAll(const std::vector<std::string>& pods) {
    for (const std::string& pod : pods) {
      Bind(pod);
      Becomes("Running", pod);
    }
    loop.Advance(2s);
  }
  // The job that waits or runs; 0: none.
  int64_t LiveJob() const {
    for (const auto& [id, job] : slurm.jobs())
      if (!job.state.IsOver()) return id;
    return 0;
  }
};

TEST_F(GroupLife, AGangOfAJobRunsAsOneOnANodeEach) {
  Start();
  PutGang(3);
  loop.Advance(3s);
  ASSERT_EQ(slurm.jobs().size(), 1u);
  EXPECT_THAT(LastOrder(), HasSubstr(R"("nodes":"3")"));
  EXPECT_EQ(TheJob().name, "ml/sim");
  EXPECT_TRUE(IsGated("sim-0"));
  ASSERT_TRUE(slurm.RunPending(TheJob().id, {"w-0", "w-1", "w-2"}));
  loop.Advance(2s);
  EXPECT_EQ(NodeOf("sim-0"), "node-1") << "by rank";
  EXPECT_EQ(NodeOf("sim-1"), "node-2");
  EXPECT_EQ(NodeOf("sim-2"), "node-3");
  RunAll({"sim-0", "sim-1", "sim-2"});
  EXPECT_THAT(Says("sim-1"), HasSubstr("on Slurm node w-1"));
  Becomes("Succeeded", "sim-0");
  Becomes("Succeeded", "sim-1");
  loop.Advance(1min);
  EXPECT_TRUE(TheJob().state.Has(JobFlag::kRunning)) << "one is left";
  Becomes("Succeeded", "sim-2");
  loop.Advance(30s);
  EXPECT_TRUE(TheJob().state.Has(JobFlag::kCancelled));
  EXPECT_EQ(JobMark::Of(TheJob().admin_comment)->outcome, "Succeeded");
  const size_t writes = Writes();
  loop.Advance(1h);
  EXPECT_EQ(Writes(), writes);
}

TEST_F(GroupLife, NothingIsAskedBeforeAllOfAGangAreThere) {
  Start();
  PutJob(3);
  PutGangPod("sim-0", 0);
  PutGangPod("sim-1", 1);
  loop.Advance(1min);
  EXPECT_TRUE(slurm.jobs().empty());
  EXPECT_THAT(Says("sim-0"), HasSubstr("nothing is asked of Slurm yet: 2 of 3 pods are there"));
  PutGangPod("sim-2", 2);
  loop.Advance(3s);
  EXPECT_EQ(slurm.jobs().size(), 1u);
}

TEST_F(GroupLife, AReplacementTakesTheFreePlaceOfTheRunningJob) {
  Start();
  PutGang(2);
  loop.Advance(3s);
  ASSERT_TRUE(slurm.RunPending(TheJob().id, {"w-0", "w-1"}));
  loop.Advance(2s);
  RunAll({"sim-0", "sim-1"});
  Becomes("Failed", "sim-1");
  PutGangPod("sim-1-again", 1);
  loop.Advance(3s);
  EXPECT_EQ(NodeOf("sim-1-again"), "node-2");
  EXPECT_EQ(Orders(), 1u);
  PutGangPod("sim-2", 2);
  loop.Advance(3s);
  EXPECT_TRUE(IsGated("sim-2"));
  EXPECT_THAT(Says("sim-2"), HasSubstr("NoPlace"));
}

TEST_F(GroupLife, OfAPodGroupAsManyRunAsSlurmHasNodesFor) {
  Start();
  PutPodGroup("train", 2);
  for (const char* name : {"a", "b", "c"}) PutPodOf("train", name);
  loop.Advance(5s);
  ASSERT_EQ(slurm.jobs().size(), 1u);
  EXPECT_THAT(LastOrder(), HasSubstr(R"("nodes":"2-3")"));
  ASSERT_TRUE(slurm.RunPending(TheJob().id, {"w-0", "w-1"}));
  loop.Advance(3s);
  EXPECT_EQ(NodeOf("a"), "node-1");
  EXPECT_EQ(NodeOf("b"), "node-2");
  EXPECT_TRUE(IsGated("c"));
  EXPECT_THAT(Says("c"), HasSubstr("NoPlace"));
  RunAll({"a", "b"});
  Becomes("Succeeded", "a");
  loop.Advance(3s);
  EXPECT_EQ(NodeOf("c"), "node-1");
}

TEST_F(GroupLife, APodGroupThatIsNotThereIsWaitedFor) {
  Start();
  PutPodOf("train", "a");
  loop.Advance(1min);
  EXPECT_THAT(Says("a"), HasSubstr("PodGroup train is not there"));
  PutPodGroup("train", 1);
  loop.Advance(3s);
  EXPECT_EQ(slurm.jobs().size(), 1u);
}

class WithoutPodGroups : public testing::BridgeLife {
 protected:
  WithoutPodGroups() : BridgeLife(false) {}
};

TEST_F(WithoutPodGroups, ThatThereAreNoneIsSaid) {
  Start();
  PutPod("a", R"(,"scheduling.x-k8s.io/pod-group":"train")");
  loop.Advance(1min);
  EXPECT_THAT(Says("a"), HasSubstr("this cluster has no PodGroups"));
}

TEST_F(GroupLife, WorkersTakeThePlacesThatTheirLeadersJobKeeps) {
  server.Put(
      LeaderWorkerSet::kResource,
      R"({"metadata":{"namespace":"ml","name":"serve"},"spec":{"leaderWorkerTemplate":{"size":3},"startupPolicy":"LeaderReady"}})");
  const auto put = [this](const std::string& index) {
    PutPod("serve-0" + (index == "0" ? "" : "-" + index),
           R"(,"leaderworkerset.sigs.k8s.io/name":"serve","leaderworkerset.sigs.k8s.io/group-key":"f00",)"
           R"("leaderworkerset.sigs.k8s.io/group-index":"0","leaderworkerset.sigs.k8s.io/worker-index":")" +
               index + "\"");
  };
  Start();
  put("0");
  loop.Advance(3s);
  ASSERT_EQ(slurm.jobs().size(), 1u);
  EXPECT_EQ(TheJob().name, "serve-0");
  EXPECT_THAT(LastOrder(), HasSubstr(R"("nodes":"3")"));
  ASSERT_TRUE(slurm.RunPending(TheJob().id, {"w-0", "w-1", "w-2"}));
  loop.Advance(2s);
  EXPECT_EQ(NodeOf("serve-0"), "node-1");
  RunAll({"serve-0"});
  put("1");
  put("2");
  loop.Advance(3s);
  EXPECT_EQ(NodeOf("serve-0-1"), "node-2");
  EXPECT_EQ(NodeOf("serve-0-2"), "node-3");
  EXPECT_EQ(Orders(), 1u);
}

class JobSetLife : public GroupLife {
 protected:
  explicit JobSetLife(bool with_job_sets = true) : GroupLife(with_job_sets), has_job_sets(with_job_sets) {}

  // A template of so many Jobs, of two pods each.
  static std::string Template(const std::string& name, int jobs, bool gang = true, const std::string& more = {}) {
    return R"({"name":")" + name + R"(","replicas":)" + std::to_string(jobs) + more +
           R"(,"template":{"spec":{"parallelism":2,"completions":2,"template":{"metadata":{"annotations":{)" +
           (gang ? R"("capstan.dev/gang":"jobset")" : "") + "}}}}}}";
  }
  static std::string SpecOf(const std::string& templates, const std::string& more = {}) {
    return R"({"replicatedJobs":[)" + templates + "]" + more + "}";
  }
  void PutJobSet(const std::string& spec, const std::string& annotations = {}) {
    server.Put(JobSet::kResource, R"({"metadata":{"namespace":"ml","name":"train","annotations":{)" + annotations +
                                      R"(}},"spec":)" + spec + "}");
  }
  void PutSetsJob(int number, const std::string& annotations = {}) {
    server.Put(
        Job::kResource,
        R"({"metadata":{"namespace":"ml","name":")" + JobName(number) + R"(","annotations":{)" + annotations +
            R"(},"ownerReferences":[{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","name":"train","uid":")" +
            UidOf(JobSet::kResource, "train") + R"(","controller":true}]},"spec":{"parallelism":2,"completions":2}})");
  }
  // Of the template `workers`.
  void PutSetsPod(int job, int index, const std::string& gang, const std::string& suffix = {}) {
    const std::string number = std::to_string(job);
    PutPod(JobName(job) + "-" + std::to_string(index) + suffix,
           R"(,"jobset.sigs.k8s.io/jobset-name":"train","jobset.sigs.k8s.io/job-global-index":")" + number +
               R"(","jobset.sigs.k8s.io/replicatedjob-name":"workers","jobset.sigs.k8s.io/job-index":")" + number +
               R"(","jobset.sigs.k8s.io/jobset-uid":")" + UidOf(JobSet::kResource, "train") + "\"",
           R"(,"annotations":{"batch.kubernetes.io/job-completion-index":")" + std::to_string(index) + "\"" +
               (gang.empty() ? "" : R"(,"capstan.dev/gang":")" + gang + "\"") +
               R"(},"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":")" + JobName(job) +
               R"(","uid":")" + UidOf(Job::kResource, JobName(job)) + R"(","controller":true}])");
  }
  void PutAll(const std::string& gang, const std::string& suffix = {}) {
    for (const int job : {0, 1}) {
      if (server.Find(Job::kResource, {"ml", JobName(job)}) == nullptr) PutSetsJob(job);
      for (const int index : {0, 1}) PutSetsPod(job, index, gang, suffix);
    }
  }
  // All four run, on four machines.
  void RunTwoByTwo() {
    AddNode("w-3", "node-4");
    Start();
    PutJobSet(SpecOf(Template("workers", 2)));
    PutAll("jobset");
    loop.Advance(3s);
    ASSERT_TRUE(slurm.RunPending(TheJob().id, {"w-0", "w-1", "w-2", "w-3"}));
    loop.Advance(2s);
    RunAll(kAll);
  }
  static std::string JobName(int number) { return "train-workers-" + std::to_string(number); }
  std::string UidOf(const kube::Resource& resource, const std::string& name) {
    const json::Value* object = has_job_sets ? server.Find(resource, {"ml", name}) : nullptr;
    return object == nullptr ? "gone" : std::string(json::FindText(*object, {"metadata", "uid"}));
  }
  const bool has_job_sets;
  const std::vector<std::string> kAll{"train-workers-0-0", "train-workers-0-1", "train-workers-1-0",
                                      "train-workers-1-1"};
};

TEST_F(JobSetLife, ItsPodsStartTogetherInOrderWhereTheyAskForThat) {
  AddNode("w-3", "node-4");
  Start();
  PutJobSet(SpecOf(Template("workers", 2)), R"("slurmjob.slinky.slurm.net/timelimit":"7")");
  PutSetsJob(0);
  PutSetsPod(0, 0, "jobset");
  PutSetsPod(0, 1, "jobset");
  loop.Advance(1min);
  EXPECT_THAT(Says("train-workers-0-0"), HasSubstr("2 of 4 pods are there"));
  PutSetsJob(1);
  PutSetsPod(1, 1, "jobset");
  PutSetsPod(1, 0, "jobset");
  loop.Advance(3s);
  ASSERT_EQ(slurm.jobs().size(), 1u);
  EXPECT_EQ(TheJob().name, "ml/train");
  EXPECT_THAT(LastOrder(), AllOf(HasSubstr(R"("nodes":"4")"), HasSubstr(R"("number":7)")));
  ASSERT_TRUE(slurm.RunPending(TheJob().id, {"w-0", "w-1", "w-2", "w-3"}));
  loop.Advance(2s);
  EXPECT_EQ(NodeOf("train-workers-0-1"), "node-2");
  EXPECT_EQ(NodeOf("train-workers-1-0"), "node-3") << "by Job, then by index";
  EXPECT_EQ(NodeOf("train-workers-1-1"), "node-4");
}

TEST_F(JobSetLife, WithoutThatEachPodHasAJobAsTheJobSetSays) {
  Start();
  PutJobSet(SpecOf(Template("workers", 2, false)),
            R"("slurmjob.slinky.slurm.net/account":"vision","slurmjob.slinky.slurm.net/qos":"low")");
  PutSetsJob(0, R"("slurmjob.slinky.slurm.net/qos":"high")");
  PutSetsPod(0, 0, "");
  PutSetsPod(0, 1, "");
  loop.Advance(3s);
  EXPECT_EQ(slurm.jobs().size(), 2u);
  EXPECT_THAT(LastOrder(), AllOf(HasSubstr(R"("account":"vision")"), HasSubstr(R"("qos":"high")")));
}

TEST_F(JobSetLife, ItsJobsAreGangsWhereTheyAskForThat) {
  Start();
  PutJobSet(SpecOf(Template("workers", 2, false)));
  PutAll("job");
  loop.Advance(3s);
  EXPECT_EQ(slurm.jobs().size(), 2u);
  EXPECT_THAT(LastOrder(), HasSubstr(R"("nodes":"2")"));
}

TEST_F(JobSetLife, PodsOfOtherTemplatesAreNotWaitedFor) {
  Start();
  PutJobSet(SpecOf(Template("driver", 1, false) + "," +
                   Template("workers", 1, true, R"(,"dependsOn":[{"name":"driver","status":"Ready"}])")));
  PutSetsJob(0);
  PutSetsPod(0, 0, "jobset");
  PutSetsPod(0, 1, "jobset");
  loop.Advance(3s);
  ASSERT_EQ(slurm.jobs().size(), 1u);
  EXPECT_THAT(LastOrder(), HasSubstr(R"("nodes":"2")"));
}

TEST_F(JobSetLife, WhoseJobsWaitForEachOtherCannotStartTogether) {
  Start();
  PutJobSet(SpecOf(Template("workers", 2)));
  PutSetsJob(0);
  PutSetsPod(0, 0, "jobset");
  PutSetsPod(0, 1, "jobset");
  const auto says = [this](const std::string& annotations, const std::string& spec) {
    server.Edit(
        JobSet::kResource, {"ml", "train"}, "",
        [&](json::Value& set) {
          json::MakeObject(set, {"metadata"})["annotations"] = *json::Parse(annotations);
          set.as_object()["spec"] = *json::Parse(spec);
        },
        "user");
    loop.Advance(1min);
    return Says("train-workers-0-0");
  };
  const std::string two = SpecOf(Template("workers", 2)), exclusive = "alpha.jobset.sigs.k8s.io/exclusive-topology";
  EXPECT_THAT(says("{}", SpecOf(Template("workers", 1) + "," + Template("others", 1),
                                R"(,"startupPolicy":{"startupPolicyOrder":"InOrder"})")),
              AllOf(HasSubstr(R"("reason":"Refused")"),
                    HasSubstr("startupPolicyOrder InOrder, by which its Jobs wait for each other, so that its pods "
                              "cannot start together; make it anew without that, or without the annotation "
                              "capstan.dev/gang")));
  EXPECT_THAT(says(R"({")" + exclusive + R"(":"rack"})", two), HasSubstr("has annotation " + exclusive));
  EXPECT_THAT(says("{}", SpecOf(Template("workers", 1) + "," +
                                Template("others", 1, true, R"(,"dependsOn":[{"name":"workers"}])"))),
              HasSubstr("lets the Jobs others wait for workers (dependsOn)"));
  EXPECT_TRUE(slurm.jobs().empty());
  EXPECT_THAT(says(R"({")" + exclusive + R"(":"rack","alpha.jobset.sigs.k8s.io/node-selector":"true"})", two),
              HasSubstr("2 of 4 pods are there"));
}

TEST_F(JobSetLife, NorCanThePodsOfAJobOfWhichTheOthersWaitForTheFirst) {
  Start();
  PutJobSet(SpecOf(Template("workers", 2, false)));
  PutSetsJob(0, R"("alpha.jobset.sigs.k8s.io/exclusive-topology":"rack")");
  PutSetsPod(0, 0, "job");
  loop.Advance(1min);
  EXPECT_THAT(Says("train-workers-0-0"), HasSubstr("Job train-workers-0 has annotation"));
}

TEST_F(JobSetLife, WhichIsNotThereIsWaitedFor) {
  Start();
  PutSetsJob(0);
  PutSetsPod(0, 0, "jobset");
  PutSetsPod(0, 1, "");
  loop.Advance(1min);
  EXPECT_THAT(Says("train-workers-0-0"), HasSubstr("JobSet train is not there"));
  EXPECT_THAT(Says("train-workers-0-1"), HasSubstr("its JobSet train is not there"));
  EXPECT_TRUE(slurm.jobs().empty());
}

// What is asked for next is as much as is left to do, each Job by itself.
TEST_F(JobSetLife, WhoseJobsHaveEndedInPartAsksForTheRest) {
  RunTwoByTwo();
  Becomes("Succeeded", "train-workers-0-0");
  Becomes("Succeeded", "train-workers-0-1");
  Becomes("Succeeded", "train-workers-1-0");
  slurm.EndJobAs(TheJob().id, JobFlag::kTimeout);
  loop.Advance(20s);
  server.Remove(kube::kPods, {"ml", "train-workers-1-1"}, {.grace_seconds = 0});
  PutSetsPod(1, 1, "jobset", "-again");
  loop.Advance(2min);
  ASSERT_EQ(Orders(), 2u);
  EXPECT_THAT(LastOrder(), HasSubstr(R"("nodes":"1")"));
}

TEST_F(JobSetLife, AJobOfWhichNoPodHasEndedIsWaitedForThoughAnotherHasDoneItsWork) {
  RunTwoByTwo();
  Becomes("Succeeded", "train-workers-0-0");
  Becomes("Succeeded", "train-workers-0-1");
  slurm.EndJobAs(TheJob().id, JobFlag::kNodeFail);
  loop.Advance(20s);
  for (const char* pod : {"train-workers-1-0", "train-workers-1-1"})
    server.Remove(kube::kPods, {"ml", pod}, {.grace_seconds = 0});
  PutSetsPod(1, 0, "jobset", "-again");
  loop.Advance(2min);
  EXPECT_EQ(Orders(), 1u);
  EXPECT_THAT(Says("train-workers-1-0-again"), HasSubstr("1 of 2 pods are there"));
  PutSetsPod(1, 1, "jobset", "-again");
  loop.Advance(1min);
  EXPECT_EQ(Orders(), 2u);
  EXPECT_THAT(LastOrder(), HasSubstr(R"("nodes":"2")"));
}

TEST_F(JobSetLife, AJobThatIsDoneIsNotWaitedForThoughItsPodsAreGone) {
  RunTwoByTwo();
  server.Edit(
      Job::kResource, {"ml", JobName(0)}, "status",
      [](json::Value& job) {
        json::MakeObject(job, {"status"})["conditions"] = *json::Parse(R"([{"type":"Complete","status":"True"}])");
      },
      "job-controller");
  slurm.EndJobAs(TheJob().id, JobFlag::kNodeFail);
  loop.Advance(20s);
  for (const std::string& pod : kAll) server.Remove(kube::kPods, {"ml", pod}, {.grace_seconds = 0});
  for (const int index : {0, 1}) PutSetsPod(1, index, "jobset", "-again");
  loop.Advance(2min);
  EXPECT_EQ(Orders(), 2u);
  EXPECT_THAT(LastOrder(), HasSubstr(R"("nodes":"2")"));
}

// As Kubernetes has it.
TEST_F(JobSetLife, WhereNobodySaysHowManyPodsAJobHasItIsOne) {
  Start();
  PutJobSet(R"({"replicatedJobs":[{"name":"workers","replicas":2,"template":{"spec":{"template":{"metadata":)"
            R"({"annotations":{"capstan.dev/gang":"jobset"}}}}}}]})");
  for (const int job : {0, 1}) {
    PutSetsJob(job);
    PutSetsPod(job, 0, "jobset");
  }
  loop.Advance(3s);
  EXPECT_THAT(LastOrder(), HasSubstr(R"("nodes":"2")"));
  ASSERT_TRUE(slurm.RunPending(TheJob().id, {"w-0", "w-1"}));
  loop.Advance(2s);
  RunAll({"train-workers-0-0", "train-workers-1-0"});
  Becomes("Succeeded", "train-workers-0-0");
  slurm.EndJobAs(TheJob().id, JobFlag::kTimeout);
  loop.Advance(20s);
  server.Remove(kube::kPods, {"ml", "train-workers-1-0"}, {.grace_seconds = 0});
  PutSetsPod(1, 0, "jobset", "-again");
  loop.Advance(2min);
  ASSERT_EQ(Orders(), 2u);
  EXPECT_THAT(LastOrder(), HasSubstr(R"("nodes":"1")"));
}

// Its controller makes a Job once the pods of the one before have gone.
TEST_F(JobSetLife, ThatBeginsAnewKeepsItsJob) {
  RunTwoByTwo();
  for (const std::string& pod : kAll) server.Remove(kube::kPods, {"ml", pod}, {.grace_seconds = 0});
  loop.Advance(10s);
  PutAll("jobset", "-again");
  loop.Advance(1min);
  EXPECT_EQ(Orders(), 1u);
  EXPECT_TRUE(TheJob().state.Has(JobFlag::kRunning));
  EXPECT_EQ(NodeOf("train-workers-1-1-again"), "node-4");
  for (const std::string& pod : kAll) server.Remove(kube::kPods, {"ml", pod + "-again"}, {.grace_seconds = 0});
  loop.Advance(1min);
  EXPECT_TRUE(TheJob().state.Has(JobFlag::kCancelled)) << "nobody follows";
}

TEST_F(JobSetLife, AnotherOfItsNameHasAJobOfItsOwn) {
  RunTwoByTwo();
  const int64_t first = TheJob().id;
  server.Remove(JobSet::kResource, {"ml", "train"});
  for (const std::string& pod : kAll)
    if (server.Find(kube::kPods, {"ml", pod}) != nullptr) server.Remove(kube::kPods, {"ml", pod}, {.grace_seconds = 0});
  PutJobSet(SpecOf(Template("workers", 2)));
  PutAll("jobset", "-again");
  loop.Advance(1min);
  EXPECT_EQ(Orders(), 2u);
  EXPECT_TRUE(slurm.jobs().at(first).state.Has(JobFlag::kCancelled));
}

class WithoutJobSets : public JobSetLife {
 protected:
  WithoutJobSets() : JobSetLife(false) {}
};

TEST_F(WithoutJobSets, ThatThereAreNoneIsSaid) {
  Start();
  PutSetsPod(0, 0, "jobset");
  loop.Advance(1min);
  EXPECT_THAT(Says("train-workers-0-0"), HasSubstr("this cluster has no JobSets (jobset.x-k8s.io)"));
}

TEST_F(GroupLife, AGangThatIsNoneIsRefused) {
  Start();
  PutPod("a", "", R"(,"annotations":{"capstan.dev/gang":"jobset"})");
  PutJob(2);
  PutPod("b", "", R"(,"annotations":{"capstan.dev/gang":"Job"})");
  loop.Advance(1min);
  EXPECT_TRUE(slurm.jobs().empty());
  for (const char* pod : {"a", "b"})
    EXPECT_THAT(Says(pod), HasSubstr(R"(and must be \"job\" on pods of a Job, or \"jobset\" on pods of a JobSet)"));
}

TEST_F(GroupLife, SeveralPodsOfAGroupGoToANodeWhereThatIsAskedFor) {
  Start();
  PutJob(3, R"("slurmjob.slinky.slurm.net/pods-per-node":"2")");
  for (int i = 0; i < 3; ++i) PutGangPod("sim-" + std::to_string(i), i);
  loop.Advance(3s);
  EXPECT_THAT(LastOrder(), HasSubstr(R"("nodes":"2")"));
  ASSERT_TRUE(slurm.RunPending(TheJob().id, {"w-0", "w-1"}));
  loop.Advance(2s);
  EXPECT_EQ(NodeOf("sim-0"), "node-1");
  EXPECT_EQ(NodeOf("sim-1"), "node-1");
  EXPECT_EQ(NodeOf("sim-2"), "node-2");
}

TEST_F(GroupLife, AnOrderThatIsChangedWhileItWaitsIsReplaced) {
  Start();
  PutGang(2);
  loop.Advance(3s);
  const int64_t first = TheJob().id;
  server.Edit(
      Job::kResource, {"ml", "sim"}, "",
      [](json::Value& job) {
        json::MakeObject(job, {"metadata", "annotations"})["slurmjob.slinky.slurm.net/timelimit"] = "30";
      },
      "kubectl");
  loop.Advance(5s);
  EXPECT_TRUE(slurm.jobs().at(first).state.Has(JobFlag::kCancelled));
  EXPECT_EQ(JobMark::Of(slurm.jobs().at(first).admin_comment)->outcome, "Changed");
  ASSERT_NE(LiveJob(), 0);
  EXPECT_THAT(LastOrder(), HasSubstr(R"("time_limit":{"set":true,"number":30})"));
  loop.Advance(1h);
  EXPECT_EQ(Orders(), 2u);
}

TEST_F(GroupLife, AJobThatRunsKeepsItsOrder) {
  Start();
  PutGang(2);
  loop.Advance(3s);
  ASSERT_TRUE(slurm.RunPending(TheJob().id, {"w-0", "w-1"}));
  loop.Advance(2s);
  server.Edit(
      Job::kResource, {"ml", "sim"}, "",
      [](json::Value& job) {
        json::MakeObject(job, {"metadata", "annotations"})["slurmjob.slinky.slurm.net/timelimit"] = "30";
      },
      "kubectl");
  loop.Advance(1min);
  EXPECT_TRUE(TheJob().state.Has(JobFlag::kRunning));
}

TEST_F(GroupLife, WhatAPersonCancelledIsAskedForAgainWhenItsUserSaysSo) {
  Start();
  PutPod();
  loop.Advance(3s);
  slurm.EndJobAs(TheJob().id, JobFlag::kCancelled);
  loop.Advance(1min);
  EXPECT_EQ(Orders(), 1u);
  const auto retry = [this](const char* text) {
    EditPod(
        [text](json::Value& pod) { json::MakeObject(pod, {"metadata", "annotations"})["capstan.dev/retry"] = text; });
    loop.Advance(3s);
  };
  retry("1");
  EXPECT_EQ(Orders(), 2u);
  slurm.EndJobAs(LiveJob(), JobFlag::kCancelled);
  loop.Advance(1h);
  EXPECT_EQ(Orders(), 2u) << "once";
  retry("2");
  EXPECT_EQ(Orders(), 3u);
}

TEST_F(GroupLife, AGangWhoseJobEndsIsDeletedAndItsNextJobWaitsUntilAllHaveGone) {
  Start();
  PutGang(2);
  loop.Advance(3s);
  const int64_t first = TheJob().id;
  ASSERT_TRUE(slurm.RunPending(first, {"w-0", "w-1"}));
  loop.Advance(2s);
  RunAll({"sim-0", "sim-1"});
  EditPod(
      [](json::Value& pod) { json::MakeObject(pod, {"metadata"})["finalizers"] = *json::Parse(R"(["test/slow"])"); },
      "sim-1");
  slurm.EndJobAs(first, JobFlag::kTimeout);
  loop.Advance(3s);
  EXPECT_EQ(PodNow("sim-0"), nullptr);
  PutGangPod("sim-0-again", 0);
  PutGangPod("sim-1-again", 1);
  loop.Advance(1min);
  EXPECT_EQ(Orders(), 1u);
  EditPod([](json::Value& pod) { json::MakeObject(pod, {"metadata"}).erase("finalizers"); }, "sim-1");
  loop.Advance(1min);
  EXPECT_EQ(Orders(), 2u);
}

TEST_F(GroupLife, AJobThatIsToMakeRoomEndsOnceItsPodsHaveGoneWhoeverFollowsThem) {
  Start();
  PutGang(1);
  loop.Advance(3s);
  const int64_t first = TheJob().id;
  ASSERT_TRUE(slurm.RunPending(first, {"w-0"}));
  loop.Advance(2s);
  RunAll({"sim-0"});
  EditPod(
      [](json::Value& pod) { json::MakeObject(pod, {"metadata"})["finalizers"] = *json::Parse(R"(["test/slow"])"); },
      "sim-0");
  slurm.WarnOfPreemption(first);
  loop.Advance(10s);
  PutGangPod("sim-0-again", 0);
  loop.Advance(1min);
  EXPECT_TRUE(slurm.jobs().at(first).state.Has(slurm::JobFlag::kRunning)) << "one has not ended yet";
  EditPod([](json::Value& pod) { json::MakeObject(pod, {"metadata"}).erase("finalizers"); }, "sim-0");
  loop.Advance(5s);
  EXPECT_TRUE(slurm.jobs().at(first).state.IsOver());
  EXPECT_EQ(JobMark::Of(slurm.jobs().at(first).admin_comment)->outcome, "Preempted");
  loop.Advance(1min);
  EXPECT_EQ(Orders(), 2u) << "the next asks anew";
}

TEST_F(GroupLife, AReplacementFindsTheJobOfPodsThatHaveGone) {
  Start();
  PutGang(1);
  loop.Advance(3s);
  ASSERT_TRUE(slurm.RunPending(TheJob().id, {"w-0"}));
  loop.Advance(2s);
  RunAll({"sim-0"});
  for (const bool anew : {false, true}) {
    // Both happen while nobody looks.
    process.reset();
    server.Remove(kube::kPods, {"ml", anew ? "sim-0-again" : "sim-0"}, {.grace_seconds = 0});
    PutGangPod(anew ? "sim-0-anew" : "sim-0-again", 0);
    Start();
    loop.Advance(3s);
    EXPECT_EQ(NodeOf(anew ? "sim-0-anew" : "sim-0-again"), "node-1");
    EXPECT_EQ(slurm.jobs().size(), 1u);
  }
}

TEST_F(GroupLife, WhatStandsOnADeploymentIsAskedForItsPods) {
  server.objects().Serve(kReplicaSets);
  const auto put = [this](const kube::Resource& resource, const std::string& annotations, const std::string& owner) {
    const auto made = server.Put(
        resource, R"({"metadata":{"namespace":"ml","name":"web","annotations":{)" + annotations + "}" + owner + "}}");
    return R"(,"ownerReferences":[{"apiVersion":"apps/v1","kind":")" + std::string(resource.kind) +
           R"(","name":"web","uid":")" + std::string(json::FindText(made, {"metadata", "uid"})) +
           R"(","controller":true}])";
  };
  const std::string prefix(kJobAnnotations);
  const std::string above =
      put(kube::kDeployments, "\"" + prefix + R"(account":"physics",")" + prefix + R"(qos":"low")", "");
  const std::string owner = put(kReplicaSets, "\"" + prefix + R"(account":"nobody's")", above);
  Start();
  PutPod("web-1", "", R"(,"annotations":{")" + prefix + R"(qos":"high"})" + owner);
  loop.Advance(3s);
  EXPECT_THAT(LastOrder(), HasSubstr(R"("account":"physics")")) << "of the highest";
  EXPECT_THAT(LastOrder(), HasSubstr(R"("qos":"high")")) << "its own stands above";
  ASSERT_TRUE(slurm.RunPending(TheJob().id, {"w-0"}));
  loop.Advance(2s);
  RunAll({"web-1"});
  size_t reads = 0;
  server.authorize = [&](std::string_view, const kube::Resource& resource, std::string_view) {
    if (resource == kReplicaSets) ++reads;
    return true;
  };
  loop.Advance(1h);
  EXPECT_EQ(reads, 0u) << "what runs asks for nothing";
}

TEST_F(GroupLife, WhenTheBridgeIsToGoWhatWaitsIsLeftToKubernetes) {
  Start();
  PutPod();
  PutPod("runs");
  loop.Advance(3s);
  int64_t runs = 0, waits = 0;
  for (const auto& [id, job] : slurm.jobs()) (job.name == "ml/runs" ? runs : waits) = id;
  ASSERT_TRUE(slurm.RunPending(runs, {"w-0"}));
  loop.Advance(2s);
  RunAll({"runs"});
  settings.ungate = true;
  Start();
  loop.Advance(5s);
  EXPECT_FALSE(IsGated());
  EXPECT_EQ(NodeOf("trainer"), "") << "the scheduler chooses";
  EXPECT_TRUE(slurm.jobs().at(waits).state.Has(JobFlag::kCancelled));
  EXPECT_EQ(JobMark::Of(slurm.jobs().at(waits).admin_comment)->outcome, "Ungated");
  EXPECT_TRUE(slurm.jobs().at(runs).state.Has(JobFlag::kRunning));
  Becomes("Succeeded", "runs");
  loop.Advance(5s);
  EXPECT_TRUE(slurm.jobs().at(runs).state.Has(JobFlag::kCancelled));
  // Also while nobody answers for Slurm.
  slurm.StopController();
  PutPod("late");
  loop.Advance(2min);
  EXPECT_FALSE(IsGated("late"));
  // What was let go is nobody's business any more.
  slurm.StartController();
  Bind("trainer");
  Becomes("Running");
  loop.Advance(10min);
  EXPECT_NE(PodNow("trainer"), nullptr);
  EXPECT_NE(json::FindText(*PodNow("trainer"), {"status", "phase"}), "Failed");
  EXPECT_EQ(json::FindText(*PodNow("trainer"), {"metadata", "labels", kJobId}), "");
  for (const auto& [id, job] : slurm.jobs()) EXPECT_TRUE(job.state.IsOver()) << id;
}

TEST_F(GroupLife, WhatDoesNotBearTheJobDoesNotEndWithIt) {
  Start();
  PutPodGroup("train", 1);
  PutPodOf("train", "a");
  loop.Advance(3s);
  ASSERT_TRUE(slurm.RunPending(TheJob().id, {"w-0"}));
  loop.Advance(2s);
  RunAll({"a"});
  // As one that was ungated, or whose label somebody changed before the policy was there.
  PutPodOf("train", "free");
  EditPod(
      [](json::Value& pod) {
        json::MakeObject(pod, {"spec"}).erase("schedulingGates");
        json::MakeObject(pod, {"metadata", "labels"}).erase("scheduler.slinky.slurm.net/slurm-jobid");
      },
      "free");
  slurm.EndJobAs(TheJob().id, JobFlag::kTimeout);
  loop.Advance(1min);
  EXPECT_EQ(PodNow("a"), nullptr);
  ASSERT_NE(PodNow("free"), nullptr);
  EXPECT_NE(json::FindText(*PodNow("free"), {"status", "phase"}), "Failed");
}

TEST_F(GroupLife, AGroupThatIsMadeAnewAndLargerGetsAJobOfItsSize) {
  Start();
  PutPodGroup("train", 1);
  PutPodOf("train", "a");
  loop.Advance(3s);
  const int64_t first = TheJob().id;
  ASSERT_TRUE(slurm.RunPending(first, {"w-0"}));
  loop.Advance(2s);
  RunAll({"a"});
  server.Remove(PodGroup::kResource, {"ml", "train"});
  PutPodGroup("train", 2);
  server.Remove(kube::kPods, {"ml", "a"});
  for (const char* name : {"b", "c"}) PutPodOf("train", name);
  loop.Advance(10s);
  EXPECT_TRUE(slurm.jobs().at(first).state.Has(JobFlag::kCancelled));
  ASSERT_NE(LiveJob(), 0);
  EXPECT_THAT(LastOrder(), HasSubstr(R"("nodes":"2")"));
  EXPECT_TRUE(IsGated("b") && IsGated("c"));
}

TEST_F(GroupLife, AJobThatTheWatchDoesNotShowIsNoJobWithoutAnnotations) {
  Start();
  PutPod("of-job", "",
         R"(,"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"gone","uid":"u","controller":true}])");
  loop.Advance(10s);
  EXPECT_TRUE(slurm.jobs().empty());
  EXPECT_THAT(Says("of-job"), HasSubstr("its Job gone is not there"));
}

class GroupCrash : public GroupLife, public ::testing::WithParamInterface<size_t> {
 protected:
  void Step(Duration span) {
    for (Duration passed{0}; passed < span; passed += 5ms) {
      loop.Advance(5ms);
      if (crashed_ || Writes() - before_ < GetParam()) continue;
      crashed_ = true;
      Start();
    }
  }
  void Begin() { before_ = Writes(); }

 private:
  size_t before_ = 0;
  bool crashed_ = false;
};

// Whatever the moment, there is one job for the group, and each pod has its own node.
TEST_P(GroupCrash, LosesAndDoublesNothing) {
  Start();
  PutGang(3);
  Begin();
  Step(6s);
  ASSERT_EQ(slurm.jobs().size(), 1u);
  ASSERT_TRUE(slurm.RunPending(TheJob().id, {"w-0", "w-1", "w-2"}));
  Step(6s);
  EXPECT_THAT((std::set{NodeOf("sim-0"), NodeOf("sim-1"), NodeOf("sim-2")}), ElementsAre("node-1", "node-2", "node-3"));
  RunAll({"sim-0", "sim-1", "sim-2"});
  for (const char* pod : {"sim-0", "sim-1", "sim-2"}) Becomes("Succeeded", pod);
  Step(30s);
  EXPECT_EQ(slurm.jobs().size(), 1u);
  EXPECT_TRUE(TheJob().state.Has(JobFlag::kCancelled));
  EXPECT_EQ(JobMark::Of(TheJob().admin_comment)->outcome, "Succeeded");
}
INSTANTIATE_TEST_SUITE_P(AfterEachWrite, GroupCrash, ::testing::Range<size_t>(1, 16));

}  // namespace
}  // namespace capstan::bridge
