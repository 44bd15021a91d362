// What is counted of groups of pods, for Prometheus.
#include "bridge/group_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bridge/bridge_test.h"
#include "bridge/group/decide.h"
#include "kube/feed.h"
#include "plan/stores.h"

namespace capstan::bridge {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr Time kNow = Time(1'000'000s);

class GroupFiguresTest : public ::testing::Test {
 protected:
  GroupFiguresTest() {
    group::AddPodStores(stores, testing::TestSettings().bridge);
    for (const plan::Stores::Entry& entry : stores.all()) {
      kube::Feed& feed = entry.store->AddFeed("");
      feed.BeginList();
      feed.EndList(1, Tick());
    }
    pods = static_cast<kube::Store<Pod>*>(stores.Find(Pod::kResource));
    figures.emplace(metrics, *pods, testing::TestSettings().scheduler_name, [this] { return jobs; });
  }
  Pod PodNamed(const std::string& name, Duration age = 1min) {
    Pod pod = testing::GatedPod();
    pod.metadata.name = name;
    pod.metadata.uid = "uid-" + name;
    pod.metadata.creation_timestamp = kNow - age;
    return pod;
  }
  void Put(Pod pod, const std::string& reason = {}) {
    if (!reason.empty()) pod.status.conditions.push_back({std::string(kJobCondition), "False", reason, ""});
    pod.metadata.resource_version = ++version;
    ASSERT_TRUE(pods->Answered(std::move(pod), Tick()));
  }
  std::string Counted() {
    figures->Count(kNow);
    return metrics.Exposition();
  }

  plan::Stores stores;
  kube::Store<Pod>* pods = nullptr;
  net::Metrics metrics;
  std::shared_ptr<const slurm::FollowedJobs> jobs;
  std::optional<GroupFigures> figures;
  int64_t version = 1;
};

TEST_F(GroupFiguresTest, CountsGroupsThatWaitByReasonAndTheOldestOfEach) {
  Put(PodNamed("a", 1min), "Pending");
  Put(PodNamed("b", 2h), "Pending");
  Put(PodNamed("c"));
  Pod member = PodNamed("d");
  member.metadata.labels[std::string(kPodGroup)] = "g";
  Put(member, "Refused");
  member.metadata.name = "e";
  member.metadata.uid = "uid-e";
  Put(member, "Refused");
  Pod released = PodNamed("f");
  released.spec.scheduling_gates.clear();
  Put(released);
  std::string text = Counted();
  EXPECT_THAT(text, HasSubstr("slurm_bridge_waiting_groups{reason=\"Pending\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("slurm_bridge_waiting_groups{reason=\"None\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("slurm_bridge_waiting_groups{reason=\"Refused\"} 1\n")) << "two pods of one group";
  EXPECT_THAT(text, HasSubstr("slurm_bridge_oldest_wait_seconds{reason=\"Pending\"} 7200\n"));
  EXPECT_THAT(text, HasSubstr("slurm_bridge_released_groups 1\n"));

  for (const char* name : {"a", "b"}) {
    Pod pod = PodNamed(name);
    pod.status.phase = "Succeeded";
    Put(pod);
  }
  text = Counted();
  EXPECT_THAT(text, HasSubstr("slurm_bridge_waiting_groups{reason=\"Pending\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("slurm_bridge_oldest_wait_seconds{reason=\"Pending\"} 0\n"));
}

TEST_F(GroupFiguresTest, TellsHowLongAPodWasOnItsWayToItsNode) {
  const auto bound = [&](const std::string& name, Duration after) {
    Pod pod = PodNamed(name);
    pod.metadata.labels[std::string(kJobId)] = "7";
    pod.spec.scheduling_gates.clear();
    pod.spec.node_name = "node-1";
    pod.status.conditions = {{"PodScheduled", "True", "", "", kNow + after}};
    return pod;
  };
  slurm::Job job{.id = 7};
  job.start_time = kNow;
  jobs = std::make_shared<const slurm::FollowedJobs>(slurm::FollowedJobs{{7, std::make_shared<const slurm::Job>(job)}});
  Put(bound("before", 1h));
  EXPECT_THAT(Counted(), HasSubstr("slurm_bridge_start_to_bound_seconds_count 0\n")) << "in another life of the bridge";
  Put(bound("a", 3s));
  Put(bound("b", -1s));
  for (int i = 0; i < 2; ++i) {
    const std::string text = Counted();
    EXPECT_THAT(text, HasSubstr("slurm_bridge_start_to_bound_seconds_count 2\n")) << "each once";
    EXPECT_THAT(text, HasSubstr("slurm_bridge_start_to_bound_seconds_sum 3\n"));
  }
  const auto known = std::exchange(jobs, nullptr);
  Put(bound("c", 1s));
  EXPECT_THAT(Counted(), HasSubstr("slurm_bridge_start_to_bound_seconds_count 2\n"));
  jobs = known;
  Pod ended = bound("d", 1s);
  ended.status.phase = "Succeeded";
  Put(ended);
  EXPECT_THAT(Counted(), HasSubstr("slurm_bridge_start_to_bound_seconds_count 4\n")) << "once it can be told";
}

TEST_F(GroupFiguresTest, NothingIsCountedBeforeAllIsListed) {
  plan::Stores others;
  group::AddPodStores(others, testing::TestSettings().bridge);
  auto* unlisted = static_cast<kube::Store<Pod>*>(others.Find(Pod::kResource));
  unlisted->AddFeed("");
  net::Metrics other;
  GroupFigures(other, *unlisted, "s", [] { return nullptr; }).Count(kNow);
  EXPECT_THAT(other.Exposition(), Not(HasSubstr("waiting_groups")));
}

TEST_F(GroupFiguresTest, HasNoMoreReasonsThanTheBridgeHas) {
  for (int i = 0; i < 50; ++i) Put(PodNamed("p" + std::to_string(i)), "Reason" + std::to_string(i));
  const std::string text = Counted();
  EXPECT_THAT(text, HasSubstr("slurm_bridge_waiting_groups{reason=\"Other\"} 18\n"));
}

}  // namespace
}  // namespace capstan::bridge
