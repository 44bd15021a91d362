#include <gtest/gtest.h>

#include "slurm/job_state.h"
#include "slurm/node_state.h"

namespace capstan::slurm {
namespace {

NodeState Of(std::vector<std::string> names) { return NodeState::FromNames(names); }

TEST(NodeState, SaysDrainedOnlyWhenDrainIsInForceAndNothingRuns) {
  const struct {
    std::vector<std::string> names;
    bool draining, busy, drained;
  } cases[] = {
      {{"IDLE"}, false, false, false},
      {{"IDLE", "DRAIN"}, true, false, true},
      {{"DRAIN", "IDLE", "DYNAMIC_NORM"}, true, false, true},
      {{"DOWN", "DRAIN"}, true, false, true},
      {{"DOWN", "DRAIN", "NOT_RESPONDING"}, true, false, true},
      {{"DOWN"}, false, false, false},
      {{"IDLE", "DRAIN", "UNDRAIN"}, false, false, false},
      {{"ALLOCATED", "DRAIN"}, true, true, false},
      {{"MIXED", "DRAIN"}, true, true, false},
      {{"IDLE", "DRAIN", "COMPLETING"}, true, true, false},
      {{"DOWN", "DRAIN", "COMPLETING"}, true, true, false},
      {{"ALLOCATED", "IDLE", "DRAIN"}, true, true, false},
      {{"MIXED"}, false, true, false},
      // What cannot be understood is never drained.
      {{"DRAIN"}, true, false, false},
      {{"UNKNOWN", "DRAIN"}, true, false, false},
      {{"INVALID", "DRAIN"}, true, false, false},
      {{"BUSY_IN_A_NEW_WAY", "DRAIN"}, true, false, false},
      {{}, false, false, false},
  };
  for (const auto& c : cases) {
    const NodeState state = Of(c.names);
    EXPECT_EQ(state.IsDraining(), c.draining) << state.ToString();
    EXPECT_EQ(state.IsBusy(), c.busy) << state.ToString();
    EXPECT_EQ(state.IsDrained(), c.drained) << state.ToString();
  }
}

TEST(NodeState, AwaitsSlurmdFromTheMomentAJobIsGivenANodeThatIsOff) {
  using enum NodeFlag;
  for (const NodeState& awaits : {NodeState{kAllocated, kPoweredDown}, NodeState{kMixed, kPoweringDown},
                                  NodeState{kAllocated, kPoweringUp}, NodeState{kIdle, kPoweringUp, kPoweredDown}})
    EXPECT_TRUE(awaits.AwaitsSlurmd()) << awaits.ToString();
  for (const NodeState& none : {NodeState{kIdle, kPoweredDown}, NodeState{kIdle, kCompleting, kPoweringDown},
                                NodeState{kAllocated}, NodeState{kDown, kPoweredDown}})
    EXPECT_FALSE(none.AwaitsSlurmd()) << none.ToString();
}

TEST(NodeState, OrderOfTheNamesDoesNotMatter) {
  EXPECT_EQ(Of({"DRAIN", "X_NEW", "IDLE", "A_NEW"}), Of({"A_NEW", "IDLE", "X_NEW", "DRAIN", "DRAIN"}));
}

TEST(NodeState, KeepsAndNamesWhatItDoesNotKnow) {
  const NodeState state = Of({"SINGING", "IDLE"});
  EXPECT_EQ(state.unknown(), "SINGING");
  EXPECT_EQ(state.ToString(), "IDLE+SINGING");
  EXPECT_EQ(state.Names(), (std::vector<std::string>{"IDLE", "SINGING"}));
  EXPECT_EQ(Of({"SINGING", "IDLE", "DANCING", "SINGING"}).unknown(), "DANCING+SINGING");
  EXPECT_NE(state, Of({"IDLE"}));
}

TEST(NodeState, EveryNameOfSlurmIsReadBackAsItself) {
  for (const std::string_view name : StateNames(NodeFlag{})) {
    const NodeState state = Of({std::string(name)});
    EXPECT_TRUE(state.unknown().empty()) << name;
    EXPECT_EQ(state.ToString(), name);
  }
}

TEST(NodeState, BaseIsOneWordForPeople) {
  const struct {
    std::vector<std::string> names;
    const char* base;
  } cases[] = {
      {{"IDLE", "DRAIN"}, "IDLE"}, {{"MIXED"}, "MIXED"},     {{"DOWN", "CLOUD"}, "DOWN"},
      {{"DRAIN"}, "UNKNOWN"},      {{"INVALID"}, "UNKNOWN"}, {{"IDLE", "ALLOCATED"}, "ALLOCATED"},
  };
  for (const auto& c : cases) EXPECT_EQ(Name(Of(c.names).base()), c.base);
}

TEST(NodeState, UsableMeansAJobCouldStartNow) {
  EXPECT_TRUE(Of({"IDLE", "DYNAMIC_NORM"}).IsUsable());
  EXPECT_TRUE(Of({"MIXED"}).IsUsable());
  EXPECT_TRUE(Of({"IDLE", "COMPLETING"}).IsUsable());
  for (const char* flag : {"DRAIN", "NOT_RESPONDING", "FAIL", "INVALID_REG", "POWERING_UP", "REBOOT_ISSUED"})
    EXPECT_FALSE(Of({"IDLE", flag}).IsUsable()) << flag;
  for (const char* base : {"DOWN", "ALLOCATED", "UNKNOWN", "FUTURE"}) EXPECT_FALSE(Of({base}).IsUsable()) << base;
}

TEST(JobState, EveryNameOfSlurmIsReadBackAsItself) {
  for (const std::string_view name : StateNames(JobFlag{})) {
    const JobState state = JobState::FromNames(std::vector{std::string(name)});
    EXPECT_EQ(state.ToString(), name);
    EXPECT_TRUE(state.unknown().empty());
  }
}

TEST(JobState, HoldsNodesUntilNothingOfItIsLeft) {
  const struct {
    std::vector<std::string> names;
    bool holds, over;
  } cases[] = {
      {{"RUNNING"}, true, false},
      {{"COMPLETED", "COMPLETING"}, true, false},
      {{"COMPLETED"}, false, true},
      {{"PENDING"}, false, false},
      {{"SUSPENDED"}, true, false},
      {{"CANCELLED"}, false, true},
      {{"NODE_FAIL"}, false, true},
      {{"A_NEW_STATE"}, true, false},
      {{"PENDING", "REQUEUED"}, false, false},
  };
  for (const auto& c : cases) {
    const JobState state = JobState::FromNames(c.names);
    EXPECT_EQ(state.HoldsNodes(), c.holds) << state.ToString();
    EXPECT_EQ(state.IsOver(), c.over) << state.ToString();
  }
}

}  // namespace
}  // namespace capstan::slurm
