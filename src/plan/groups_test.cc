// Keys that are entries of an index: groups of objects, and the jobs of Slurm that stand for them. On a modelled API server
// and slurmrestd.
#include <gmock/gmock.h>

#include "base/hash.h"
#include "plan/objects/effects.h"
#include "plan/objects/guards.h"
#include "plan/slurm/jobs.h"
#include "plan/testing/shelves.h"
#include "slurm/rest_source.h"
#include "slurm/testing/fake_slurm.h"
#include "slurm/testing/fake_slurmrestd.h"

namespace capstan::plan {
namespace {

using testing::Book;
using ::testing::Contains;
using ::testing::ElementsAre;

constexpr auto kGroupCluster = "ns/main";
constexpr auto kMark = "test-library ";

// A group of books is those whose `group` is its name; its job's id is what the first of them says. No book left: the job is
// cancelled. The first book is told how many there are.
Plan DecideGroup(const World& world, const kube::Key& key) {
  Plan plan;
  plan.slurm_cluster = kGroupCluster;
  const auto books = world.By<Book>("group", key.ns + "/" + key.name);
  if (books.empty()) {
    for (const int64_t id : world.follows()) {
      const auto* job = world.Slurm(kGroupCluster).FindJob(id);
      if (job == nullptr || !*job || (*job)->state.IsOver()) continue;
      plan.slurm_follows.push_back(id);
      plan.Add({.effect = CancelJob(kGroupCluster, {.id = id, .name = (*job)->name}),
                .reason = "no book is left",
                .guards = {JobIsOurs(kGroupCluster, id, kMark)},
                .event = EventText{.reason = "Cancelled", .action = "Cancel"}});
    }
    return plan;
  }
  const Book& first = books[0];
  plan.about = EventObject{&kube::kConfigMaps, {key.ns, first.metadata.name}, first.metadata.uid};
  const std::string count = std::to_string(books.size());
  if (const auto told = first.data.find("count"); told == first.data.end() || told->second != count) {
    plan.Add({.effect = MergePatch("count", {&kube::kConfigMaps, {key.ns, first.metadata.name}}, first.metadata.uid,
                                   R"({"data":{"count":")" + count + R"("}})"),
              .reason = "books came or went",
              .event = EventText{.reason = "Counted", .action = "Count"}});
  }
  if (const auto job = first.data.find("job"); job != first.data.end()) {
    const int64_t id = ParseInt(job->second).value_or(0);
    plan.slurm_follows = {id};
    const auto* known = world.Slurm(kGroupCluster).FindJob(id);
    if (known != nullptr && !*known) {
      plan.Add({.effect = SubmitJob(kGroupCluster, {.id = id, .name = key.name, .admin_comment = kMark + key.name}),
                .reason = "the first book names it"});
    }
  }
  return plan;
}

Plan KeepConnection(const World& world, const kube::Key& key) {
  Plan plan;
  if (world.Find<testing::Shelf>(key) == nullptr) return plan;
  plan.slurm_cluster = kGroupCluster;
  plan.slurm = {.server = "http://rest", .token_secret = {"ns", "key"}, .token_key = "jwt.key"};
  return plan;
}

class GroupsTest : public testing::ShelfTest {
 protected:
  GroupsTest() {
    server.Put(kube::kSecrets, R"({"metadata":{"namespace":"ns","name":"key"},"data":{"jwt.key":")" +
                                   Base64("signing bytes") + R"("}})");
    slurm.StartSlurmd({.name = "w-0", .address = "10.0.0.1", .features = {}, .topology = ""});
    options.slurm = [this](const SlurmConnection&, SlurmClusters::SignToken sign) -> Result<SlurmClusters::Link> {
      const auto source = std::make_shared<slurm::RestSource>(loop, rest, std::move(sign),
                                                              slurm::RestSource::Options{.seed = 1, .client = {}});
      return SlurmClusters::Link{source, [source = source.get()] { return source->Run(); }};
    };
    options.tell = [this](const kube::Resource& resource, const kube::Key& key, const std::string&, Notice notice) {
      told.push_back(std::string(resource.kind) + " " + key.name + ": " + notice.reason);
    };
    add_reconcilers = [](Engine& engine) {
      auto& books = static_cast<kube::Store<Book>&>(*engine.stores().Find(kube::kConfigMaps));
      books.AddIndex("group", [](const Book& book) {
        const auto group = book.data.find("group");
        return group == book.data.end() ? std::vector<std::string>()
                                        : std::vector{book.metadata.namespace_ + "/" + group->second};
      });
      engine.Add(
          {.kind = "group", .resource = &kube::kConfigMaps, .decide = &DecideGroup, .children = {}, .index = "group"});
    };
    PutShelf("[]");
  }
  void PutBook(const std::string& name, const std::string& group, int64_t job = 0) {
    const std::string more = job == 0 ? "" : R"(,"job":")" + std::to_string(job) + "\"";
    server.Put(kube::kConfigMaps, R"({"metadata":{"namespace":"ns","name":")" + name + R"("},"data":{"group":")" +
                                      group + "\"" + more + "}}");
  }
  std::string Count(const std::string& book) { return Text(kube::kConfigMaps, book, {"data", "count"}); }
  std::string State(int64_t id) {
    const auto job = slurm.jobs().find(id);
    return job == slurm.jobs().end() ? "none" : job->second.state.ToString();
  }

  std::vector<std::string> told;
  slurm::testing::FakeSlurm slurm{loop};
  slurm::testing::FakeSlurmrestd rest{slurm};
};

TEST_F(GroupsTest, AGroupIsDecidedWhenItsMembersChangeAndForgottenAfterTheLast) {
  const auto life = Start(server, &KeepConnection);
  const size_t keys = life->engine().keys();
  PutBook("a", "poems");
  PutBook("b", "poems");
  PutBook("c", "plays");
  loop.Advance(5s);
  EXPECT_EQ(Count("a"), "2");
  EXPECT_EQ(Count("b"), "");
  EXPECT_EQ(Count("c"), "1");
  EXPECT_EQ(life->engine().keys(), keys + 2);
  PutBook("b", "plays");
  loop.Advance(5s);
  EXPECT_EQ(Count("a"), "1");
  EXPECT_EQ(Count("b"), "2") << "it is the first of the plays now";
  server.Remove(kube::kConfigMaps, {"ns", "b"});
  server.Remove(kube::kConfigMaps, {"ns", "c"});
  loop.Advance(5s);
  EXPECT_EQ(life->engine().keys(), keys + 1);
}

TEST_F(GroupsTest, ItsEventsRegardWhomItsPlanNames) {
  const auto life = Start(server, &KeepConnection);
  PutBook("a", "poems");
  loop.Advance(5s);
  EXPECT_THAT(told, Contains("ConfigMap a: Counted"));
}

TEST_F(GroupsTest, AJobIsSubmittedForItOnceAndCancelledAfterItsLastMember) {
  const auto life = Start(server, &KeepConnection);
  const size_t keys = life->engine().keys();
  PutBook("a", "poems", 77);
  loop.Advance(5s);
  EXPECT_EQ(State(77), "PENDING");
  EXPECT_EQ(rest.writes().size(), 1u);
  slurm.RunPending(77, {"w-0"});
  loop.Advance(5s);
  server.Remove(kube::kConfigMaps, {"ns", "a"});
  loop.Advance(5s);
  EXPECT_EQ(State(77), "CANCELLED");
  EXPECT_EQ(rest.writes().size(), 2u);
  EXPECT_THAT(told, Contains("ConfigMap a: Cancelled"));
  EXPECT_EQ(life->engine().keys(), keys) << "nothing is kept of it";
}

TEST_F(GroupsTest, AJobThatIsNotOursIsNeverTouched) {
  ASSERT_FALSE(slurm.SubmitJob({.id = 77, .name = "strangers", .admin_comment = "test-lib of somebody else"}));
  const auto life = Start(server, &KeepConnection);
  PutBook("a", "poems", 77);
  loop.Advance(5s);
  server.Remove(kube::kConfigMaps, {"ns", "a"});
  loop.Advance(1min);
  EXPECT_EQ(State(77), "PENDING");
  EXPECT_TRUE(rest.writes().empty());
}

TEST_F(GroupsTest, ARefusedSubmissionIsTriedNoMoreOftenThanItsBackOffSays) {
  const auto life = Start(server, &KeepConnection);
  rest.SetFate([](const net::Request& request) {
    return request.method == "POST" ? slurm::testing::Fault::kError500 : slurm::testing::Fault::kNone;
  });
  PutBook("a", "poems", 77);
  loop.Advance(5min);
  EXPECT_LE(rest.writes().size(), 20u);
  EXPECT_GE(rest.writes().size(), 5u);
  rest.Heal();
  loop.Advance(1min);
  EXPECT_EQ(State(77), "PENDING");
}

}  // namespace
}  // namespace capstan::plan
