#include "slurm/job_follower.h"

#include <gmock/gmock.h>

#include "slurm/rest_source_test.h"

namespace capstan::slurm {
namespace {

using ::testing::ElementsAre;
using testing::Fault;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FollowedJobsTest : public RestSourceTest {
 protected:
  static ExternalJob Order(int64_t id, std::string name = "pod") {
    return {.id = id, .name = std::move(name), .admin_comment = "ours", .limit_minutes = 10};
  }
  Result<void> Submit(ExternalJob job) { return Await(source->SubmitJob(std::move(job), loop.After(30s))); }

  // As the View has it: "not looked at", "absent" or its state.
  std::string Known(int64_t id) {
    const auto view = source->Latest();
    const auto found = view.followed->find(id);
    if (found == view.followed->end()) return "not looked at";
    return found->second ? found->second->state.ToString() : "absent";
  }
  Duration UntilKnown(int64_t id, std::string_view what) {
    return TimeUntil([&] { return Known(id) == what; }, 1min);
  }
  size_t StateRequests() { return server.RequestsFor("/slurm/v0.0.44/jobs/state/"); }
  size_t WholeRequests(int64_t id) { return server.RequestsFor("/slurm/v0.0.44/job/" + std::to_string(id)); }
};

TEST_F(FollowedJobsTest, AJobIsSubmittedOnceHoweverOftenItIsTried) {
  Start();
  ASSERT_TRUE(Submit(Order(48'000'000)));
  const auto again = Submit(Order(48'000'000));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), Code::kAlreadyExists);
  EXPECT_EQ(slurm.jobs().size(), 1u);
  const auto read = Await(source->ReadJob(48'000'000, loop.After(30s)));
  ASSERT_TRUE(read && *read);
  EXPECT_EQ((*read)->name, "pod");
  EXPECT_EQ((*read)->admin_comment, "ours");
  EXPECT_TRUE((*read)->external);
  EXPECT_TRUE((*read)->state.IsPending());
}

TEST_F(FollowedJobsTest, ASubmissionWhoseAnswerIsLostMeetsItsOwnJob) {
  Start();
  server.SetFault(Fault::kLostAnswer);
  EXPECT_EQ(Submit(Order(7)).error().code(), Code::kUnknownOutcome);
  server.Heal();
  EXPECT_EQ(Submit(Order(7)).error().code(), Code::kAlreadyExists);
}

TEST_F(FollowedJobsTest, WhatSlurmRefusesIsToldInItsWords) {
  Start();
  ExternalJob job = Order(7);
  job.partition = "nope";
  const auto refused = Submit(job);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kInvalid);
  EXPECT_THAT(refused.error().message(), HasSubstr("Invalid partition name specified"));
}

TEST_F(FollowedJobsTest, EveryStepOfAJobShowsWithinASecond) {
  Start();
  ASSERT_TRUE(Submit(Order(7)));
  const auto following = source->Follow({7});
  EXPECT_LT(UntilKnown(7, "PENDING"), 1s);
  slurm.RunPending(7, {"w-1"});
  EXPECT_LT(UntilKnown(7, "RUNNING"), 1s);
  EXPECT_EQ(source->Latest().followed->at(7)->nodes, "w-1");
  slurm.EndJobAs(7, JobFlag::kTimeout);
  EXPECT_LT(UntilKnown(7, "TIMEOUT"), 2s);
  EXPECT_LT(UntilKnown(7, "absent"), 1min * 6);
}

TEST_F(FollowedJobsTest, AWriteOfOursShowsAtOnce) {
  Start();
  ASSERT_TRUE(Submit(Order(7)));
  const auto following = source->Follow({7});
  ASSERT_LT(UntilKnown(7, "PENDING"), 1s);
  ASSERT_TRUE(Await(source->UpdateJob({.id = 7, .admin_comment = "ours, ended"}, loop.After(30s))));
  EXPECT_LT(TimeUntil([&] { return source->Latest().followed->at(7)->admin_comment == "ours, ended"; }, 10s), 200ms);
  ASSERT_TRUE(Await(source->CancelJob({.id = 7, .name = "pod"}, loop.After(30s))));
  EXPECT_LT(UntilKnown(7, "CANCELLED"), 200ms);
}

TEST_F(FollowedJobsTest, ManyWritesCostNoMoreLooksAtAllJobs) {
  Start();
  ASSERT_TRUE(Submit(Order(7)));
  const auto following = source->Follow({7});
  ASSERT_LT(UntilKnown(7, "PENDING"), 1s);
  const size_t states = StateRequests();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(Await(source->UpdateJob({.id = 7, .admin_comment = std::to_string(i)}, loop.After(30s))));
    loop.Advance(90ms);
  }
  EXPECT_LE(StateRequests() - states, 5u) << "two a second";
  loop.Advance(100ms);
  EXPECT_EQ(source->Latest().followed->at(7)->admin_comment, "19");
}

TEST_F(FollowedJobsTest, NoOtherJobThanTheOneThatWasMeantIsCancelled) {
  Start();
  ASSERT_TRUE(Submit(Order(7)));
  const auto code = [this](JobCancel cancel) {
    return Await(source->CancelJob(cancel, loop.After(30s))).error().code();
  };
  EXPECT_EQ(code({.id = 7, .name = "another"}), Code::kConflict);
  EXPECT_EQ(code({.id = 7, .name = "pod", .only_if = JobFlag::kRunning}), Code::kConflict);
  EXPECT_EQ(code({.id = 8, .name = "pod"}), Code::kNotFound);
  // Without one of these slurmctld would take what is left for a filter over all jobs.
  const size_t asked = server.requests();
  EXPECT_EQ(code({.id = 0, .name = "pod"}), Code::kInvalid);
  EXPECT_EQ(code({.id = 7, .name = ""}), Code::kInvalid);
  EXPECT_EQ(server.requests(), asked);
  EXPECT_TRUE(slurm.jobs().at(7).state.IsPending());
  EXPECT_TRUE(Await(source->CancelJob({.id = 7, .name = "pod", .only_if = JobFlag::kPending}, loop.After(30s))));
  EXPECT_EQ(code({.id = 7, .name = "pod"}), Code::kNotFound);
}

TEST_F(FollowedJobsTest, AThousandJobsAtRestCostTwoRequestsALook) {
  Start();
  std::vector<int64_t> ids;
  for (int64_t id = 1000; id < 2000; ++id) {
    ASSERT_FALSE(slurm.SubmitJob(Order(id)));
    ids.push_back(id);
  }
  for (const int64_t id : ids) slurm.EndJobAs(id, JobFlag::kCancelled);
  const auto following = source->Follow(ids);
  ASSERT_TRUE(loop.RunUntil([&] { return source->Latest().followed->size() == 1000; }, 1min));
  loop.Advance(1s);
  const size_t states = StateRequests(), all = server.requests();
  loop.Advance(10s);
  EXPECT_EQ(StateRequests() - states, 2u) << "all are over: looked at every ten seconds";
  EXPECT_LE(server.requests() - all, 2u + 11u) << "and the list of nodes each second";
}

TEST_F(FollowedJobsTest, WhyAJobWaitsIsReadInTurnWithAllThatWait) {
  Start();
  std::vector<int64_t> ids;
  for (int64_t id = 100; id < 400; ++id) {
    ASSERT_FALSE(slurm.SubmitJob(Order(id)));
    ids.push_back(id);
  }
  const auto following = source->Follow(ids);
  ASSERT_TRUE(loop.RunUntil([&] { return source->Latest().followed->size() == 300; }, 1min));
  for (const int64_t id : ids) slurm.Expect(id, "Resources", loop.WallNow() + 1h);
  const auto all_told = [&] {
    return std::ranges::all_of(*source->Latest().followed,
                               [](const auto& entry) { return entry.second->state_reason == "Resources"; });
  };
  const size_t before = server.requests();
  EXPECT_LT(TimeUntil(all_told, 1min), 25s);
  EXPECT_LE(server.requests() - before, 300u + 25u * 3 + 40) << "twenty a second, and the looks";
}

TEST_F(FollowedJobsTest, AJobThatIsReadAnewAndHasNotChangedIsTheSameObject) {
  Start();
  for (const int64_t id : {7, 8}) ASSERT_FALSE(slurm.SubmitJob(Order(id)));
  const auto following = source->Follow({7, 8});
  ASSERT_TRUE(loop.RunUntil([&] { return source->Latest().followed->size() == 2; }, 1min));
  const auto before = source->Latest().followed;
  slurm.Expect(8, "Resources", loop.WallNow() + 1h);
  loop.Advance(30s);
  const auto after = source->Latest().followed;
  EXPECT_EQ(before->at(7), after->at(7));
  EXPECT_NE(before->at(8), after->at(8));
  EXPECT_EQ(after->at(8)->state_reason, "Resources");
}

TEST_F(FollowedJobsTest, NobodyFollowedIsNobodyAsked) {
  Start();
  ASSERT_TRUE(Submit(Order(7)));
  {
    const auto following = source->Follow({7});
    const auto other = source->Follow({7, 8});
    ASSERT_LT(UntilKnown(7, "PENDING"), 1s);
    ASSERT_LT(UntilKnown(8, "absent"), 1s);
  }
  loop.Advance(1s);
  const size_t states = StateRequests();
  loop.Advance(1min);
  EXPECT_EQ(StateRequests(), states);
}

TEST_F(FollowedJobsTest, AnErrorIsNeverAbsence) {
  for (const Fault fault : {Fault::kRefused, Fault::kError500, Fault::kErrorsIn200, Fault::kGarbage, Fault::kCutOff}) {
    tasks.Cancel();
    loop.RunUntil([this] { return tasks.size() == 0; }, 1h);
    server.Heal();
    slurm.ForgetJob(7);
    Start();
    ASSERT_TRUE(Submit(Order(7)));
    const auto following = source->Follow({7});
    ASSERT_LT(UntilKnown(7, "PENDING"), 1s);
    const Tick heard = source->Latest().followed_at;
    server.SetFate([fault](const net::Request& request) {
      return request.target.find("/job") != std::string::npos ? fault : Fault::kNone;
    });
    loop.Advance(1min);
    EXPECT_EQ(Known(7), "PENDING") << int(fault);
    EXPECT_LT(source->Latest().followed_at, heard + 2s) << "how old it is shows";
    EXPECT_FALSE(source->Latest().error) << "the nodes are heard";
    server.Heal();
    EXPECT_TRUE(loop.RunUntil([&] { return source->Latest().followed_at > heard + 1min; }, 10s));
  }
}

TEST_F(FollowedJobsTest, AJobThatTheListLeavesOutIsAbsentOnlyIfSlurmSaysSoOfItAlone) {
  Start();
  ASSERT_TRUE(Submit(Order(7)));
  const auto following = source->Follow({7});
  ASSERT_LT(UntilKnown(7, "PENDING"), 1s);
  slurm.ForgetJob(7);
  server.SetFate([](const net::Request& request) {
    return request.target.find("/job/7") != std::string::npos ? Fault::kError500 : Fault::kNone;
  });
  loop.Advance(1min);
  EXPECT_EQ(Known(7), "not looked at") << "nor is it told as it was";
  server.Heal();
  EXPECT_LT(UntilKnown(7, "absent"), 31s);
}

TEST_F(FollowedJobsTest, AJobThatCannotBeReadKeepsNobodyFromTheOthers) {
  Start();
  for (const int64_t id : {7, 8}) ASSERT_TRUE(Submit(Order(id)));
  server.SetFate([](const net::Request& request) {
    return request.target.find("/job/7") != std::string::npos ? Fault::kError500 : Fault::kNone;
  });
  const auto following = source->Follow({7, 8});
  EXPECT_LT(UntilKnown(8, "PENDING"), 1s);
  slurm.RunPending(8, {"w-1"});
  EXPECT_LT(UntilKnown(8, "RUNNING"), 1s);
  loop.Advance(1min);
  EXPECT_EQ(Known(7), "not looked at");
  EXPECT_LE(WholeRequests(7), 8u) << "ever more seldom";
  EXPECT_GT(source->Latest().followed_at, loop.Now() - 2s);
  server.Heal();
  EXPECT_LT(UntilKnown(7, "PENDING"), 31s);
}

class ThousandsOfJobs : public FollowedJobsTest {
 protected:
  std::vector<int64_t> ids;

  void SetUp() override {
    FollowedJobsTest::SetUp();
    Start();
    for (int64_t id = 1000; id < 4000; ++id) {
      ASSERT_FALSE(slurm.SubmitJob(Order(id)));
      ids.push_back(id);
    }
  }
  bool BecomeKnown(size_t count, Duration within) {
    return loop.RunUntil([&] { return source->Latest().followed->size() >= count; }, within);
  }
};

TEST_F(ThousandsOfJobs, AreReadFromAList) {
  ids.push_back(4000);
  const auto following = source->Follow(ids);
  EXPECT_TRUE(BecomeKnown(3001, 2s));
  EXPECT_EQ(Known(4000), "absent");
  EXPECT_EQ(WholeRequests(4000), 1u) << "that it is not in a list proves nothing";
  EXPECT_EQ(WholeRequests(1000), 0u);
  for (const int64_t id : ids) slurm.RunPending(id, {"w-1"});
  EXPECT_LT(UntilKnown(3999, "RUNNING"), 2s);
}

TEST_F(ThousandsOfJobs, ThatChangedAreShownAlsoWhereTheStatesOfOthersAreNotTold) {
  const auto following = source->Follow(ids);
  ASSERT_TRUE(BecomeKnown(3000, 2s));
  server.SetFate([](const net::Request& request) {
    return request.target.contains("job_id=3999") ? Fault::kError500 : Fault::kNone;
  });
  slurm.RunPending(1000, {"w-1"});
  EXPECT_LT(UntilKnown(1000, "RUNNING"), 2s);
}

TEST_F(ThousandsOfJobs, AreReadOneByOneWhereNoListComesAndTheFirstAreShownBeforeTheLast) {
  server.SetFate([](const net::Request& request) {
    return request.target.starts_with("/slurm/v0.0.44/jobs/?") ? Fault::kError500 : Fault::kNone;
  });
  const auto following = source->Follow(ids);
  EXPECT_TRUE(BecomeKnown(100, 2s));
  EXPECT_LT(source->Latest().followed->size(), 3000u);
  EXPECT_TRUE(BecomeKnown(3000, 2min));
}

TEST_F(FollowedJobsTest, WhileSlurmctldIsAwayNobodyIsAskedAboutJobs) {
  Start();
  ASSERT_TRUE(Submit(Order(7)));
  const auto following = source->Follow({7});
  ASSERT_LT(UntilKnown(7, "PENDING"), 1s);
  slurm.StopController();
  ASSERT_TRUE(loop.RunUntil([&] { return source->Latest().error.has_value(); }, 1min));
  loop.Advance(30s);
  const size_t states = StateRequests();
  loop.Advance(5min);
  EXPECT_EQ(StateRequests(), states);
  slurm.StartController();
  slurm.RunPending(7, {"w-0"});
  EXPECT_LT(UntilKnown(7, "RUNNING"), 10s);
}

}  // namespace
}  // namespace capstan::slurm
