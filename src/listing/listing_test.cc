#include "listing/listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/task_group.h"
#include "json/value.h"
#include "slurm/testing/fake_slurmrestd.h"

namespace capstan::listing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(TableTest, ColumnsAreAsWideAsTheirWidestCellAndNumbersStandToTheRight) {
  Table table({{"NAME"}, {"CPUS", true}, {"REASON"}});
  EXPECT_EQ(table.Begin({{"w-0", "128", ""}, {"worker", "2", "fän"}, {"w-1", "", "disk"}}),
            "NAME    CPUS  REASON\n"
            "w-0      128  -\n"
            "worker     2  fän\n"
            "w-1        -  disk\n");
  EXPECT_EQ(table.Row({"w-2", "4", ""}), "w-2        4  -\n");
  EXPECT_EQ(table.Row({"a-longer-one", "4", ""}), "a-longer-one     4  -\n");
}

TEST(TableTest, WhatATerminalWouldTakeForACommandIsLeftOut) {
  Table table({{"NAME"}, {"REASON"}});
  const std::string text = table.Begin({{"w-0", "\x1b[2J\x1b]0;title\x07gone\nw-1  IDLE"}, {"\xff\xfe", "\r"}});
  EXPECT_THAT(text, HasSubstr("  -\n")) << "a cell of nothing else is empty";
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\x07")));
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
}

class ListingTest : public ::testing::Test {
 protected:
  ListingTest() {
    for (const char* name : {"w-0", "w-1", "w-2"})
      slurm_.StartSlurmd(
          {.name = name, .address = "10.0.0.1", .features = {"a"}, .topology = "", .weight = 1, .cpus = 2});
    slurm_.partitions = {{"all", "UP"}, {"old", "INACTIVE"}};
  }
  ~ListingTest() override {
    tasks_.Cancel();
    loop_.RunUntil([this] { return tasks_.size() == 0; }, 1h);
  }

  // Lists to the end, or, with watch, goes on with it for as long as time passes.
  void Begin(Kind kind, std::vector<std::string> names, Format format, bool watch) {
    auto reader = Reader::Make(client_, kind, format, names);
    ASSERT_TRUE(reader) << reader.error().message();
    Options options{.watch = watch};
    options.out = [this](const std::string& text) { return out_ += text, is_read_; };
    options.say = [this](const std::string& sentence) { said_.push_back(sentence); };
    const auto run = [](async::Loop& loop, Reader reader, Options options,
                        std::optional<Result<void>>& into) -> async::Task<void> {
      into = co_await List(loop, std::move(reader), std::move(options));
    };
    ended_.reset();
    tasks_.Spawn("list", run(loop_, *std::move(reader), std::move(options), ended_));
    loop_.Advance(1s);
  }
  std::string Once(Kind kind, std::vector<std::string> names = {}, Format format = Format::kTable) {
    Begin(kind, std::move(names), format, false);
    EXPECT_TRUE(ended_);
    return std::exchange(out_, "");
  }
  json::Value Json(Kind kind, std::vector<std::string> names = {}) {
    const auto parsed = json::Parse(Once(kind, std::move(names), Format::kJson));
    EXPECT_TRUE(parsed);
    return parsed ? *parsed : json::Value();
  }
  std::string Passed(Duration duration) {
    loop_.Advance(duration);
    return std::exchange(out_, "");
  }
  void Drain(const std::string& node, const std::string& reason) {
    EXPECT_FALSE(slurm_.UpdateNodes({node}, {.state = "DRAIN", .reason = reason}));
  }

  async::VirtualLoop loop_;
  slurm::testing::FakeSlurm slurm_{loop_};
  slurm::testing::FakeSlurmrestd server_{slurm_};
  slurm::RestClient client_{loop_, server_, [](Duration) -> Result<Secret> { return Secret("token"); }};
  async::TaskGroup tasks_{loop_};
  std::string out_;
  bool is_read_ = true;
  std::vector<std::string> said_;
  std::optional<Result<void>> ended_;
};

TEST_F(ListingTest, NodesAreRowsOfATable) {
  Drain("w-1", "disk");
  const std::string text = Once(Kind::kNodes);
  EXPECT_THAT(text, StartsWith("NAME  STATE"));
  EXPECT_THAT(text, HasSubstr("\nw-1   IDLE+DRAIN+DYNAMIC_NORM "));
  EXPECT_THAT(text, HasSubstr("  disk\nw-2 "));
  EXPECT_TRUE(*ended_);
}

TEST_F(ListingTest, JsonHasSlurmsNamesAndLeavesOutWhatIsNotKnown) {
  Drain("w-1", "disk");
  const json::Value nodes = Json(Kind::kNodes);
  ASSERT_EQ(nodes.as_array().size(), 3u);
  EXPECT_EQ(json::FindText(nodes.at(1), {"reason"}), "disk");
  EXPECT_EQ(nodes.at(1).at("state").as_array().front(), "IDLE");
  EXPECT_EQ(json::Find(nodes.at(0), {"reason"}), nullptr);
  EXPECT_EQ(nodes.at(0).at("cpus"), 2);

  const auto job = slurm_.StartJob({.nodes = {"w-0"}, .runs_for = {}, .time_limit = 90min});
  const json::Value jobs = Json(Kind::kJobs);
  EXPECT_EQ(jobs.at(0).at("job_id"), *job);
  EXPECT_EQ(jobs.at(0).at("time_limit"), 90);
  EXPECT_EQ(jobs.at(0).at("nodes"), "w-0");
  slurm_.StartJob({.nodes = {"w-2"}, .runs_for = {}});
  EXPECT_EQ(Json(Kind::kJobs).at(1).at("time_limit"), "infinite");
}

TEST_F(ListingTest, JobsPartitionsReservationsAndControllersHaveTheirColumns) {
  slurm_.StartJob({.nodes = {"w-0"}, .user = "ada", .runs_for = {}, .time_limit = 26h});
  EXPECT_THAT(Once(Kind::kJobs), HasSubstr("  ada   RUNNING  "));
  EXPECT_THAT(Once(Kind::kJobs), HasSubstr("  1-02:00:00  w-0"));
  EXPECT_EQ(Once(Kind::kPartitions),
            "NAME  STATE     NODES  CPUS       LIMIT  NODESETS\n"
            "all   UP            3     6  1-01:00:00  -\n"
            "old   INACTIVE      3     6  1-01:00:00  -\n");
  EXPECT_FALSE(slurm_.WriteReservation({.name = "night",
                                        .nodes = {"w-0", "w-1"},
                                        .flags = {"MAINT"},
                                        .users = {"root"},
                                        .start = loop_.WallNow() + 1h,
                                        .duration = 1h}));
  EXPECT_THAT(Once(Kind::kReservations), HasSubstr("\nnight "));
  EXPECT_THAT(Once(Kind::kControllers), HasSubstr("  primary     yes\n"));
  EXPECT_THAT(Once(Kind::kStatistics), HasSubstr("\ndbd_agent_queue_size "));
  EXPECT_THAT(Once(Kind::kStatistics), HasSubstr("\nbf_exit.bf_max_time "));
}

TEST_F(ListingTest, OnlyTheNamedAreShownAndTheUnknownAreTold) {
  EXPECT_THAT(Once(Kind::kNodes, {"w-[0-1]", "w-1"}), Not(HasSubstr("w-2")));
  EXPECT_TRUE(*ended_);
  EXPECT_THAT(Once(Kind::kNodes, {"w-2", "x-[1-2]"}), HasSubstr("\nw-2 "));
  ASSERT_FALSE(*ended_);
  EXPECT_EQ(ended_->error().code(), Code::kNotFound);
  EXPECT_EQ(ended_->error().message(), "Slurm does not know x-1, x-2");
  const auto job = slurm_.StartJob({.nodes = {"w-0"}, .runs_for = {}});
  slurm_.StartJob({.nodes = {"w-1"}, .runs_for = {}});
  EXPECT_EQ(Json(Kind::kJobs, {std::to_string(*job)}).as_array().size(), 1u);
  EXPECT_EQ(Json(Kind::kJobs, {"1", "01", "2", "1"}).as_array().size(), 2u) << "each once";
  Once(Kind::kJobs, {"77"});
  EXPECT_EQ(ended_->error().message(), "Slurm does not know 77");
}

TEST_F(ListingTest, NamesThatAreNoneAreRefused) {
  const auto refusal = [this](Kind kind, std::vector<std::string> names) {
    const auto reader = Reader::Make(client_, kind, Format::kTable, names);
    return reader ? "" : reader.error().message();
  };
  EXPECT_THAT(refusal(Kind::kNodes, {"w-[0"}), StartsWith("\"w-[0\": "));
  EXPECT_EQ(refusal(Kind::kJobs, {"7", "seven"}), "\"seven\" is not the id of a job: a number above 0");
  EXPECT_EQ(refusal(Kind::kJobs, {"0"}), "\"0\" is not the id of a job: a number above 0");
  std::vector<std::string> many;
  for (int i = 1; i <= 101; ++i) many.push_back(std::to_string(i));
  EXPECT_THAT(refusal(Kind::kJobs, many), HasSubstr("101 jobs are named, of which at most 100 can be"));
}

TEST_F(ListingTest, AWatchGoesOnWithWhatComesChangesAndGoes) {
  Begin(Kind::kNodes, {}, Format::kTable, true);
  EXPECT_THAT(out_, StartsWith("EVENT"));
  EXPECT_EQ(std::ranges::count(out_, '\n'), 4);
  out_.clear();
  EXPECT_EQ(Passed(1min), "") << "nothing has changed";
  Drain("w-1", "disk");
  EXPECT_THAT(Passed(3s), StartsWith("MODIFIED"));
  slurm_.StopSlurmd("w-1");
  EXPECT_FALSE(slurm_.DeleteNode("w-1"));
  const std::string gone = Passed(3s);
  EXPECT_THAT(gone, StartsWith("DELETED"));
  EXPECT_THAT(gone, HasSubstr("  w-1  "));
  slurm_.StartSlurmd({.name = "w-3", .address = "10.0.0.1", .features = {}, .topology = ""});
  EXPECT_THAT(Passed(3s), StartsWith("ADDED"));
}

TEST_F(ListingTest, AWatchInJsonIsALineForEachChange) {
  Begin(Kind::kNodes, {"w-0"}, Format::kJson, true);
  out_.clear();
  Drain("w-0", "disk");
  Drain("w-1", "disk");
  const std::string line = Passed(3s);
  EXPECT_EQ(std::ranges::count(line, '\n'), 1);
  const auto event = json::Parse(line);
  ASSERT_TRUE(event);
  EXPECT_EQ(json::FindText(*event, {"type"}), "MODIFIED");
  EXPECT_EQ(json::FindText(*event, {"object", "name"}), "w-0");
}

TEST_F(ListingTest, AWatchOutlivesASlurmThatIsAwayAndSaysSoOnce) {
  Begin(Kind::kNodes, {}, Format::kTable, true);
  out_.clear();
  server_.SetFault(slurm::testing::Fault::kRefused);
  EXPECT_EQ(Passed(10min), "");
  const size_t asked = server_.requests();
  EXPECT_THAT(said_, ElementsAre(StartsWith("Slurm cannot be asked, and is tried again: ")));
  loop_.Advance(10min);
  EXPECT_LE(server_.requests() - asked, 60u) << "ever more rarely";
  Drain("w-0", "disk");
  server_.Heal();
  EXPECT_THAT(Passed(1min), StartsWith("MODIFIED"));
  EXPECT_EQ(said_.back(), "Slurm answers again");
}

TEST_F(ListingTest, AFirstReadThatFailsEndsIt) {
  server_.SetFault(slurm::testing::Fault::kRefused);
  Begin(Kind::kJobs, {}, Format::kTable, true);
  ASSERT_TRUE(ended_);
  EXPECT_FALSE(*ended_);
  EXPECT_THAT(ended_->error().message(), StartsWith("Slurm cannot be asked: "));
  EXPECT_EQ(out_, "");
}

TEST_F(ListingTest, AWatchWaitsForNamesThatSlurmDoesNotKnowYet) {
  Begin(Kind::kNodes, {"w-0", "w-9"}, Format::kTable, true);
  EXPECT_THAT(said_, ElementsAre("Slurm does not know w-9; a row tells when it does"));
  out_.clear();
  slurm_.StartSlurmd({.name = "w-9", .address = "10.0.0.1", .features = {}, .topology = ""});
  EXPECT_THAT(Passed(3s), StartsWith("ADDED"));
  EXPECT_EQ(said_.size(), 1u);
}

TEST_F(ListingTest, AWatchReadsAllNowAndThenAndAfterAFailure) {
  const auto whole = [this] { return server_.RequestsFor("/slurm/v0.0.44/nodes/?flags=ALL&flags=MIXED&"); };
  const auto all = [this] { return server_.RequestsFor("/slurm/v0.0.44/nodes/"); };
  Begin(Kind::kNodes, {}, Format::kTable, true);
  loop_.Advance(1min);
  EXPECT_EQ(all() - whole(), 1u) << "the first; all others ask for changes";
  loop_.Advance(5min);
  EXPECT_EQ(all() - whole(), 2u) << "one every five minutes";
  server_.SetFault(slurm::testing::Fault::kError500);
  loop_.Advance(3s);
  server_.Heal();
  loop_.Advance(10s);
  EXPECT_GE(all() - whole(), 3u) << "a server that cannot be asked for changes is asked for all";
}

TEST_F(ListingTest, APingThatNoSlurmctldAnswersIsAFailure) {
  Once(Kind::kControllers);
  EXPECT_TRUE(*ended_);
  slurm_.StopController();
  EXPECT_THAT(Once(Kind::kControllers), HasSubstr("  no\n"));
  EXPECT_EQ(ended_->error().message(), "no slurmctld responds");
}

TEST_F(ListingTest, AWatchOfAnArrayNamedTwiceTellsEachChangeOnce) {
  const auto job = slurm_.StartJob({.nodes = {"w-0"}, .runs_for = {}});
  Begin(Kind::kJobs, {std::to_string(*job), "0" + std::to_string(*job)}, Format::kJson, true);
  out_.clear();
  EXPECT_EQ(Passed(1min), "");
  slurm_.FinishJob(*job);
  const std::string lines = Passed(3s);
  EXPECT_EQ(std::ranges::count(lines, '\n'), 1) << lines;
}

TEST_F(ListingTest, TextThatCannotBeWrittenIsAnError) {
  is_read_ = false;
  Once(Kind::kNodes);
  EXPECT_FALSE(*ended_);
}

TEST_F(ListingTest, AWatchThatNobodyReadsEnds) {
  Begin(Kind::kNodes, {}, Format::kTable, true);
  is_read_ = false;
  Drain("w-0", "disk");
  loop_.Advance(3s);
  ASSERT_TRUE(ended_);
  EXPECT_FALSE(*ended_);
}

}  // namespace
}  // namespace capstan::listing
