#include "operator/nodeset/deadlines.h"

#include "operator/nodeset/decide_test.h"

namespace capstan::op::nodeset {
namespace {

using slurm::NodeFlag;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

class Deadlines : public NodeSetTest {
 protected:
  Deadlines() {
    Worker_(0, {NodeFlag::kAllocated});
    Worker_(1, {NodeFlag::kIdle});
  }
  void PutJob(std::optional<Duration> limit) {
    slurm::Job job{.id = 7, .nodes = "w-0"};
    job.state.Add(slurm::JobFlag::kRunning);
    job.start_time = kNow - 1min;
    job.time_limit = limit;
    jobs = std::make_shared<const std::vector<slurm::Job>>(std::vector{job});
  }
  void ScaledBy(const std::string& manager) {
    set.metadata.managed_fields = {{.manager = manager, .operation = "Update", .subresource = "scale", .fields = {}}};
  }
  void ExpectDate(const plan::Plan& plan, const std::string& value) {
    ASSERT_THAT(Acts(plan), ElementsAre("date Pod slurm/w-0"));
    EXPECT_EQ(
        plan.actions[0].effect->content(),
        plan::MergePatch("date", {&kube::kPods, {"slurm", "w-0"}}, "pod-0",
                         R"({"metadata":{"annotations":{"nodeset.slinky.slurm.net/pod-deadline":)" + value + "}}}")
            ->content());
  }
};

TEST_F(Deadlines, JobsAreNotReadWhileNobodyLooks) {
  PutJob(1h);
  const plan::Plan plan = Look(2);
  EXPECT_FALSE(plan.slurm_jobs);
  EXPECT_THAT(Acts(plan), IsEmpty());
}

TEST_F(Deadlines, AnAutoscalerSeesWhenTheLastJobEnds) {
  ScaledBy("kube-controller-manager");
  plan::Plan plan = Look(2);
  EXPECT_TRUE(plan.slurm_jobs);
  EXPECT_THAT(Acts(plan), IsEmpty()) << "they are not known yet";
  PutJob(1h);
  ExpectDate(Look(2), "\"" + FormatRfc3339(kNow + 59min) + "\"");
  PutJob(std::nullopt);
  ExpectDate(Look(2), R"("9999-12-31T23:59:59Z")");
  Pod pod = MakePod(0);
  pod.metadata.annotations[std::string(kAnnotationPodDeadline)] = "9999-12-31T23:59:59Z";
  Put(pod);
  EXPECT_THAT(Acts(Look(2)), IsEmpty());
  jobs = std::make_shared<const std::vector<slurm::Job>>();
  ExpectDate(Look(2), "null");
}

TEST_F(Deadlines, APersonWhoScalesIsNoAutoscaler) {
  ScaledBy("kubectl");
  PutJob(1h);
  EXPECT_FALSE(Look(2).slurm_jobs);
}

TEST_F(Deadlines, ACordonedNodeIsAReasonToo) {
  Put(Node{.metadata = {.name = "k0", .uid = "k0"}, .spec = {.unschedulable = true, .taints = {}}});
  PutJob(1h);
  const plan::Plan plan = Look(2);
  EXPECT_TRUE(plan.slurm_jobs);
  EXPECT_THAT(Acts(plan), Contains("date Pod slurm/w-0"));
}

TEST_F(Deadlines, WhereNobodyLooksAnyMoreTheyGo) {
  Pod pod = MakePod(0);
  pod.metadata.annotations[std::string(kAnnotationPodDeadline)] = "2026-01-01T00:00:00Z";
  Put(pod);
  ExpectDate(Look(2), "null");
}

// It stood there until the node was uncordoned.
TEST_F(Deadlines, ADrainedWorkerThatStaysHasNone) {
  Put(Node{.metadata = {.name = "k0", .uid = "k0"}, .spec = {.unschedulable = true, .taints = {}}});
  Pod pod = MakePod(0);
  pod.metadata.labels.erase(std::string(kLabelPodProtect));
  pod.metadata.annotations[std::string(kAnnotationPodDeadline)] = "2026-01-01T00:00:00Z";
  Put(pod);
  nodes[0] = MakeNode(0, {NodeFlag::kIdle, NodeFlag::kDrain},
                      "slurm-operator: Node (k0) was cordoned, Pod (slurm/w-0) must be cordoned");
  jobs = std::make_shared<const std::vector<slurm::Job>>();
  ExpectDate(Look(2), "null");
}

TEST_F(Deadlines, OneThatIsToBeDeletedIsNotWrittenTo) {
  ScaledBy("kube-controller-manager");
  PutMarked(MakePod(0));
  nodes[0] = MakeNode(0, {NodeFlag::kIdle, NodeFlag::kDrain}, ScaleInReason({"slurm", "w-0"}));
  PutJob(1h);
  EXPECT_THAT(Acts(Look(1)), Not(Contains("date Pod slurm/w-0")));
}

}  // namespace
}  // namespace capstan::op::nodeset
