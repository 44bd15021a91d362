// What a Plan asks of the reading of Slurm: jobs, from the Plan that wants them to the Decide that reads them, and nodes
// that are looked at often. On a modelled slurmrestd.
#include "base/hash.h"
#include "plan/testing/shelves.h"
#include "slurm/rest_source.h"
#include "slurm/testing/fake_slurm.h"
#include "slurm/testing/fake_slurmrestd.h"

namespace capstan::plan {
namespace {

constexpr auto kJobsCluster = "ns/main";

// A shelf keeps the connection; a shelf with a book called "jobs" wants jobs, and its status says how many it sees. One with
// a book called "change" expects w-0 to change.
Plan WantJobs(const World& world, const kube::Key& key) {
  Plan plan;
  const testing::Shelf* shelf = world.Find<testing::Shelf>(key);
  if (shelf == nullptr) return plan;
  plan.slurm_cluster = kJobsCluster;
  if (key.name == "main") plan.slurm = {.server = "http://rest", .token_secret = {"ns", "key"}, .token_key = "jwt.key"};
  plan.slurm_jobs = shelf->spec.books == std::vector<std::string>{"jobs"};
  if (shelf->spec.books == std::vector<std::string>{"change"}) plan.slurm_expects = {"w-0"};
  const auto* jobs = world.Slurm(kJobsCluster).Jobs();
  plan.status = R"({"note":")" + (jobs == nullptr ? "unknown" : std::to_string(jobs->size())) + "\"}";
  return plan;
}

class SlurmJobsTest : public testing::ShelfTest {
 protected:
  SlurmJobsTest() {
    server.Put(kube::kSecrets, R"({"metadata":{"namespace":"ns","name":"key"},"data":{"jwt.key":")" +
                                   Base64("signing bytes") + R"("}})");
    for (const char* name : {"w-0", "w-1"})
      slurm.StartSlurmd({.name = name, .address = "10.0.0.1", .features = {}, .topology = ""});
    options.slurm = [this](const SlurmConnection&, SlurmClusters::SignToken sign) -> Result<SlurmClusters::Link> {
      const auto source = std::make_shared<slurm::RestSource>(loop, rest, std::move(sign),
                                                              slurm::RestSource::Options{.seed = 1, .client = {}});
      return SlurmClusters::Link{source, [source = source.get()] { return source->Run(); }};
    };
  }

  void RunJob(const std::string& node) {
    ASSERT_TRUE(slurm.StartJob({.nodes = {node}, .whole_nodes = true, .user = "ann", .runs_for = {}}));
  }
  // How often jobs are asked for in five minutes.
  size_t Asked() {
    loop.Advance(20s);  // what has begun ends
    const size_t before = rest.RequestsFor("/slurm/v0.0.44/jobs/");
    loop.Advance(5min);
    return rest.RequestsFor("/slurm/v0.0.44/jobs/") - before;
  }

  // How often nodes are asked for in a minute.
  size_t Looked() {
    loop.Advance(1s);
    const auto asked = [this] { return rest.RequestsFor("/slurm/v0.0.44/node"); };
    const size_t before = asked();
    loop.Advance(1min);
    return asked() - before;
  }

  slurm::testing::FakeSlurm slurm{loop};
  slurm::testing::FakeSlurmrestd rest{slurm};
};

TEST_F(SlurmJobsTest, JobsAreReadOnlyWhileAPlanWantsThem) {
  PutShelf("[]");
  const auto life = Start(server, &WantJobs);
  RunJob("w-0");
  EXPECT_EQ(Asked(), 0u);
  EXPECT_EQ(Note(), "unknown");

  PutShelf(R"(["jobs"])");
  loop.Advance(1s);
  EXPECT_EQ(Note(), "1") << "it is woken when they have come";
  RunJob("w-1");
  loop.Advance(20s);
  EXPECT_EQ(Note(), "2") << "and when they change";

  PutShelf(R"(["jobs"])", "other");
  PutShelf("[]");
  EXPECT_GT(Asked(), 0u) << "another wants them still";
  server.Remove(testing::Shelf::kResource, {"ns", "other"});
  EXPECT_EQ(Asked(), 0u) << "whoever wanted them is gone";
  EXPECT_EQ(Note(), "unknown");
}

// For six minutes after the last Plan that expected a change, nodes were looked at twice a second.
TEST_F(SlurmJobsTest, NodesAreLookedAtOftenOnlyWhileAPlanExpectsThemToChange) {
  PutShelf("[]");
  const auto life = Start(server, &WantJobs);
  constexpr unsigned kAtRest = 60;  // once a second in a minute, each answered "unchanged"
  EXPECT_LE(Looked(), kAtRest);
  PutShelf(R"(["change"])");
  PutShelf(R"(["change"])", "other");
  EXPECT_GE(Looked(), 100u);
  PutShelf("[]");
  EXPECT_GE(Looked(), 100u) << "another expects it still";
  server.Remove(testing::Shelf::kResource, {"ns", "other"});
  EXPECT_LE(Looked(), kAtRest) << "whoever expected it is gone";
}

TEST_F(SlurmJobsTest, JobsAreReadAgainByTheNextSource) {
  PutShelf(R"(["jobs"])");
  const auto life = Start(server, &WantJobs);
  EXPECT_GT(Asked(), 0u);
  server.Remove(testing::Shelf::kResource, {"ns", "main"});
  EXPECT_EQ(Asked(), 0u);
  PutShelf(R"(["jobs"])");
  EXPECT_GT(Asked(), 0u);
}

}  // namespace
}  // namespace capstan::plan
