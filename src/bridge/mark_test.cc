#include "bridge/mark.h"

#include <gtest/gtest.h>

#include <set>

namespace capstan::bridge {
namespace {

TEST(JobMark, IsReadBackAsItWasWritten) {
  for (const JobMark& mark : {JobMark{"uid", "slinky.slurm-bridge", "ml/pod.1"},
                              JobMark{"uid", "slinky.slurm-bridge", "ml/pod.1", 17, 4, "9f", "7c", "Succeeded"},
                              JobMark{"u\"id", "a.b", "ml/x\\y", 2, 1, "", "", "Failed"}}) {
    const auto read = JobMark::Of(mark.ToString());
    ASSERT_TRUE(read) << mark.ToString();
    EXPECT_EQ(*read, mark);
    EXPECT_TRUE(mark.ToString().starts_with(mark.Prefix()));
  }
}

TEST(JobMark, OfOtherBridgesAndOfPeopleIsToldApart) {
  const JobMark ours{"uid", "slinky.slurm-bridge", "ml/pod.1"};
  for (const JobMark& other :
       {JobMark{"uid2", "slinky.slurm-bridge", "ml/pod.1"}, JobMark{"uid", "slinky.other", "ml/pod.1"},
        JobMark{"uid", "slinky.slurm-bridge", "ml/pod.12"}, JobMark{"uid", "slinky.slurm-bridge", "m/pod.1"}})
    EXPECT_FALSE(other.ToString().starts_with(ours.Prefix())) << other.ToString();
  for (const char* text : {"", "capstan-bridge", "capstan-bridge {", "{\"pods\":[\"ml/a\"]}",
                           "capstan-bridge {\"v\":2,\"g\":\"x\"}", "capstan-bridge {\"v\":1}"})
    EXPECT_FALSE(JobMark::Of(text)) << text;
}

// The peer on the same Slurm cancels a job whose comment is a JSON object that names none of its pods.
TEST(JobMark, IsNoJsonObject) { EXPECT_FALSE(JobMark{}.ToString().starts_with("{")); }

TEST(JobId, IsTheSameForTheSameAttemptAndAnotherForTheNext) {
  std::set<int64_t> ids;
  for (int attempt = 1; attempt <= 100; ++attempt) {
    const int64_t id = JobId("cluster", "uid", attempt, 40'000'000, 27'043'328);
    EXPECT_EQ(id, JobId("cluster", "uid", attempt, 40'000'000, 27'043'328));
    EXPECT_GE(id, 40'000'000);
    EXPECT_LE(id, 67'043'327);
    ids.insert(id);
  }
  EXPECT_GE(ids.size(), 99u);
  EXPECT_NE(JobId("cluster", "uid", 1, 1, 1'000'000), JobId("cluster2", "uid", 1, 1, 1'000'000));
}

}  // namespace
}  // namespace capstan::bridge
