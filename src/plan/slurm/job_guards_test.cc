// What is proven of a job of Slurm before it is relied on.
#include <gmock/gmock.h>

#include "plan/slurm/effects_test.h"
#include "plan/slurm/jobs.h"

namespace capstan::plan {
namespace {

using slurm::JobFlag;

constexpr auto kMark = "capstan-test ours ";

class JobGuards : public SlurmGuards {
 protected:
  void Submit(int64_t id, std::string comment) {
    ASSERT_FALSE(slurm.SubmitJob({.id = id, .name = "pod", .admin_comment = std::move(comment)}));
  }
};

TEST_F(JobGuards, AJobIsOursByItsMarkAlone) {
  Submit(7, "capstan-test ours {}");
  Submit(8, "capstan-test other {}");
  Submit(9, "");
  EXPECT_EQ(Prove(JobIsOurs(kSlurmCluster, 7, kMark)), Proof::kYes);
  EXPECT_EQ(Prove(JobIsOurs(kSlurmCluster, 8, kMark)), Proof::kNo);
  EXPECT_EQ(Prove(JobIsOurs(kSlurmCluster, 9, kMark)), Proof::kNo);
  EXPECT_EQ(Prove(JobIsOurs(kSlurmCluster, 10, kMark)), Proof::kNo) << "there is none";
  const auto users = slurm.StartJob({.nodes = {"w-0"}});
  EXPECT_EQ(Prove(JobIsOurs(kSlurmCluster, *users, "")), Proof::kNo) << "no external one";
  rest.SetFault(slurm::testing::Fault::kRefused);
  EXPECT_EQ(Prove(JobIsOurs(kSlurmCluster, 7, kMark)), Proof::kUnknown);
}

TEST_F(JobGuards, AJobRunsOnANodeWhileSlurmSaysSo) {
  Submit(7, "capstan-test ours {}");
  const auto here = JobRunsOn(kSlurmCluster, 7, kMark, "w-0");
  EXPECT_EQ(Prove(here), Proof::kNo) << "it waits";
  ASSERT_TRUE(slurm.RunPending(7, {"w-0"}));
  EXPECT_EQ(Prove(here), Proof::kYes);
  EXPECT_EQ(Prove(JobRunsOn(kSlurmCluster, 7, kMark, "w-1")), Proof::kNo);
  EXPECT_EQ(Prove(JobRunsOn(kSlurmCluster, 7, "capstan-test other ", "w-0")), Proof::kNo);
  slurm.EndJobAs(7, JobFlag::kTimeout);
  EXPECT_EQ(Prove(here), Proof::kNo);
  slurm.ForgetJob(7);
  EXPECT_EQ(Prove(here), Proof::kNo);
  rest.SetFault(slurm::testing::Fault::kGarbage);
  EXPECT_EQ(Prove(here), Proof::kUnknown);
}

TEST_F(JobGuards, AJobHasEndedOnlyIfSlurmKnowsItAndSaysSo) {
  Submit(7, "capstan-test ours {}");
  const auto ended = JobHasEnded(kSlurmCluster, 7, kMark);
  EXPECT_EQ(Prove(ended), Proof::kNo) << "it waits";
  ASSERT_TRUE(slurm.RunPending(7, {"w-0"}));
  EXPECT_EQ(Prove(ended), Proof::kNo) << "it runs";
  ASSERT_TRUE(slurm.SuspendJob(7));
  EXPECT_EQ(Prove(ended), Proof::kNo) << "it is suspended";
  ASSERT_TRUE(slurm.ResumeJob(7));
  slurm.EndJobAs(7, JobFlag::kNodeFail);
  EXPECT_EQ(Prove(ended), Proof::kYes);
  EXPECT_EQ(Prove(JobHasEnded(kSlurmCluster, 7, "capstan-test other ")), Proof::kNo);
  slurm.ForgetJob(7);
  EXPECT_EQ(Prove(ended), Proof::kUnknown) << "a slurmctld that has lost its state knows no job either";
}

}  // namespace
}  // namespace capstan::plan
