// Against the kit's Slurm, in virtual time: an hour of waiting takes no longer than its events.
#include "drain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "async/task_group.h"
#include "slurm/rest_source.h"
#include "slurm/testing/fake_slurmrestd.h"

namespace drain {
namespace {

using namespace capstan;
using ::testing::HasSubstr;

class DrainTest : public ::testing::Test {
 protected:
  DrainTest() {
    slurm_.StartSlurmd({.name = "w-0", .address = "10.0.0.1", .features = {}, .topology = "", .cpus = 2});
    tasks_.Spawn("poll", source_.Run());
  }
  ~DrainTest() override {
    tasks_.Cancel();
    loop_.RunUntil([this] { return tasks_.size() == 0; }, 1min);
  }

  void Begin(const std::string& node) {
    tasks_.Spawn("drain", [](DrainTest& test, std::string name) -> async::Task<void> {
      test.drained_ = co_await Drain(test.loop_, test.source_, name, "fan", test.loop_.After(1h));
    }(*this, node));
    loop_.Advance(10s);
  }

  async::VirtualLoop loop_;
  slurm::testing::FakeSlurm slurm_{loop_};
  slurm::testing::FakeSlurmrestd server_{slurm_};
  slurm::RestSource source_{loop_, server_, [](Duration) -> Result<Secret> { return Secret("token"); }};
  async::TaskGroup tasks_{loop_};
  std::optional<Result<void>> drained_;
};

TEST_F(DrainTest, AnIdleNodeIsDrainedAtOnce) {
  Begin("w-0");
  ASSERT_TRUE(drained_);
  EXPECT_TRUE(*drained_);
  EXPECT_EQ(slurm_.NodeNamed("w-0")->reason, "fan");
}

TEST_F(DrainTest, ItWaitsForTheJobs) {
  const auto job = slurm_.StartJob({.nodes = {"w-0"}, .runs_for = 20min});
  ASSERT_TRUE(job);
  Begin("w-0");
  loop_.Advance(10min);
  EXPECT_FALSE(drained_);
  loop_.Advance(11min);
  ASSERT_TRUE(drained_);
  EXPECT_TRUE(*drained_);
  EXPECT_TRUE(slurm_.killed().empty());
}

TEST_F(DrainTest, ASuspendedJobIsOnItsNodeAlthoughTheNodeSaysIdle) {
  const auto job = slurm_.StartJob({.nodes = {"w-0"}, .runs_for = {}});
  ASSERT_TRUE(slurm_.SuspendJob(*job));
  Begin("w-0");
  loop_.Advance(1h);
  ASSERT_TRUE(drained_);
  EXPECT_EQ(drained_->error().code(), Code::kDeadline);
  EXPECT_THAT(drained_->error().message(), HasSubstr("a suspended job is on w-0"));
}

TEST_F(DrainTest, ASlurmThatIsAwayIsNoDrainedNode) {
  slurm_.StartJob({.nodes = {"w-0"}, .runs_for = 5min});
  Begin("w-0");
  server_.SetFault(slurm::testing::Fault::kRefused);
  loop_.Advance(20min);
  EXPECT_FALSE(drained_);
  server_.Heal();
  loop_.Advance(1min);
  ASSERT_TRUE(drained_);
  EXPECT_TRUE(*drained_);
}

TEST_F(DrainTest, ADrainThatIsTakenBackIsTold) {
  slurm_.StartJob({.nodes = {"w-0"}, .runs_for = {}});
  Begin("w-0");
  EXPECT_FALSE(slurm_.UpdateNodes({"w-0"}, {.state = "UNDRAIN"}));
  loop_.Advance(10s);
  ASSERT_TRUE(drained_);
  EXPECT_EQ(drained_->error().code(), Code::kConflict);
}

TEST_F(DrainTest, AnUnknownNodeIsTold) {
  Begin("w-9");
  ASSERT_TRUE(drained_);
  EXPECT_EQ(drained_->error().code(), Code::kNotFound);
}

}  // namespace
}  // namespace drain
