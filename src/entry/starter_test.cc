#include "entry/starter.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "base/hash.h"
#include "entry/files.h"
#include "entry/kept.h"
#include "entry/port_test.h"

namespace capstan::entry {
namespace {

using Clock = Starter::Clock;

// slurmctld is played: it ends with what it is told to say, or runs.
class StarterTest : public ::testing::Test {
 protected:
  StarterTest() : root_(::testing::TempDir() + "starter-" + std::to_string(getpid())) {
    std::filesystem::remove_all(root_);
    for (const char* folder : {"/mounted", "/own", "/state"}) std::filesystem::create_directories(root_ + folder);
    Mount("");
    Put("mounted/slurm.key", "secret");
    Put("mounted/jwks.json", "{}");
    ::testing::internal::CaptureStderr();
    Begin();
  }
  ~StarterTest() override {
    starter_.reset();
    reconfigurer_.reset();
    ::testing::internal::GetCapturedStderr();
    std::filesystem::remove_all(root_);
  }

  // The container is started anew.
  void Begin() {
    reconfigurer_.reset();
    auto begun = Reconfigurer::Begin({.mounted = root_ + "/mounted",
                                      .folder = root_ + "/own",
                                      .scontrol = "/bin/false",
                                      .host = "this",
                                      .port = TestPort(0)});
    ASSERT_TRUE(begun) << begun.error().message();
    reconfigurer_ = std::make_unique<Reconfigurer>(*std::move(begun));
    starter_ = std::make_unique<Starter>(root_ + "/mounted", root_ + "/own", 1);
    ASSERT_TRUE(starter_->due(now_));
  }

  void Put(const std::string& path, const std::string& text) {
    ASSERT_TRUE(ReplaceFile(root_ + "/" + path, text, 0600));
  }
  std::string Get(const std::string& path) const { return ReadFile(root_ + "/" + path).value_or(""); }
  std::string Text(const std::string& more) const {
    return "ClusterName=a\nSlurmctldPort=" + std::to_string(TestPort(1)) + "\nStateSaveLocation=" + root_ + "/state\n" +
           more;
  }
  void Mount(const std::string& more) { Put("mounted/slurm.conf", Text(more)); }

  std::optional<std::string> Next() { return starter_->Next(*reconfigurer_, another_writes_, now_); }
  void Ends(const std::string& said) {
    LastWords words;
    words.Hear(said + "\n");
    starter_->Ended(words, "it ended", now_);
    EXPECT_TRUE(starter_->due(now_));
  }
  void Runs() {
    reconfigurer_->Serve(4242, true, now_);
    EXPECT_TRUE(starter_->HasToKeep(*reconfigurer_, now_));
    starter_->Keep(*reconfigurer_, now_);
    EXPECT_FALSE(starter_->HasToKeep(*reconfigurer_, now_));
  }
  void RanWith(const std::string& more) {
    Mount(more);
    ASSERT_EQ(Next(), "");
    Runs();
  }
  void After(Clock::duration time) {
    now_ += time;
    starter_->Serve(now_);
  }
  bool Told(const std::string& words) const { return reconfigurer_->Answer().contains(words); }

  // The status that a probe gets; 0: nobody listens.
  int Probe(const std::string& path) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(TestPort(1)), .sin_addr = {}, .sin_zero = {}};
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    int status = 0;
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
      const std::string request = "GET " + path + " HTTP/1.1\r\n\r\n";
      EXPECT_EQ(write(fd, request.data(), request.size()), ssize_t(request.size()));
      starter_->Serve(now_);
      char answer[100] = {};
      EXPECT_GT(read(fd, answer, sizeof answer - 1), 12);
      status = atoi(answer + 9);
    }
    close(fd);
    return status;
  }

  const std::string root_;
  std::unique_ptr<Reconfigurer> reconfigurer_;
  std::unique_ptr<Starter> starter_;
  Clock::time_point now_ = Clock::now();
  bool another_writes_ = false;
};

TEST_F(StarterTest, KeepsWhatRunsOnceAndWithoutKeys) {
  RanWith("MaxNodeCount=1\n");
  const auto kept = ReadKept(root_ + "/state/capstan-kept");
  ASSERT_TRUE(kept && *kept);
  EXPECT_EQ((*kept)->configuration.files,
            (std::map<std::string, std::string>{{"slurm.conf", Text("MaxNodeCount=1\n")}}));
  EXPECT_FALSE(Get("state/capstan-kept").contains("secret"));
}

TEST_F(StarterTest, WhatDoesNotStartGivesWayToWhatRan) {
  RanWith("PartitionName=p\n");
  const std::string kept = Get("state/capstan-kept");
  Mount("PartitionName=q\nNonsense=1\n");
  Begin();
  ASSERT_EQ(Next(), "") << "the mounted one is tried first";
  EXPECT_FALSE(starter_->due(now_));
  EXPECT_TRUE(Told("\"runs\": false"));
  Ends("slurmctld: fatal: no");
  ASSERT_EQ(Next(), root_ + "/own/kept/slurm.conf");
  EXPECT_TRUE(Get("own/kept/slurm.conf").starts_with(Text("PartitionName=p\n")));
  EXPECT_TRUE(Get("own/kept/slurm.conf").ends_with("PartitionName=q State=DRAIN\n"));
  EXPECT_EQ(Get("own/kept/slurm.key"), "secret") << "the mounted one";
  EXPECT_EQ(Get("own/kept/jwks.json"), "{}");
  Runs();
  EXPECT_TRUE(Told("{\"files\": {\"jwks.json\": \"" + Sha256Hex("{}") + "\", \"slurm.conf\": \"" +
                   Sha256Hex(Get("own/kept/slurm.conf"))));
  EXPECT_TRUE(Told("slurmctld does not start with it: fatal: no; it was started with the one that is live since 20"));
  EXPECT_FALSE(Told("\"runs\": false"));
  EXPECT_EQ(ReadKept(root_ + "/state/capstan-kept").value()->since, ParseKept(kept)->since) << "it is as old as it was";
}

TEST_F(StarterTest, WithNothingThatRanItWaitsAndAnswersProbes) {
  ASSERT_EQ(Next(), "");
  EXPECT_EQ(Probe("/livez"), 0) << "slurmctld's own port";
  Ends("fatal: no");
  EXPECT_EQ(Next(), std::nullopt);
  EXPECT_TRUE(Told("slurmctld does not start with it: fatal: no (there is none that ran before)"));
  EXPECT_TRUE(Told("\"runs\": false"));
  EXPECT_EQ(Probe("/livez"), 200);
  EXPECT_EQ(Probe("/readyz"), 503);
  EXPECT_EQ(Probe("/metrics"), 503);
  After(std::chrono::seconds(20));
  EXPECT_FALSE(starter_->due(now_));
  After(std::chrono::seconds(20));
  EXPECT_TRUE(starter_->due(now_));
  EXPECT_TRUE(starter_->again());
  EXPECT_EQ(Probe("/livez"), 200) << "until it is started";
  ASSERT_EQ(Next(), "");
  EXPECT_EQ(Probe("/livez"), 0);
  EXPECT_TRUE(Told("fatal: no")) << "until it runs";
  Runs();
  EXPECT_FALSE(Told("fatal: no"));
}

TEST_F(StarterTest, AChangedTextIsTriedAtOnce) {
  ASSERT_EQ(Next(), "");
  Ends("fatal: no");
  EXPECT_EQ(Next(), std::nullopt);
  Mount("MaxNodeCount=1\n");
  EXPECT_LE(*starter_->next(), now_ + std::chrono::milliseconds(500));
  After(std::chrono::milliseconds(500));
  EXPECT_TRUE(starter_->due(now_));
  EXPECT_FALSE(starter_->again());
  EXPECT_EQ(starter_->TakeChanged()->files.at("slurm.conf"), Text("MaxNodeCount=1\n"));
  EXPECT_EQ(Next(), "");
}

TEST_F(StarterTest, OfTwoThatDoNotStartBothAreQuoted) {
  RanWith("PartitionName=p\n");
  Mount("Nonsense=1\n");
  Begin();
  ASSERT_EQ(Next(), "");
  Ends("fatal: one");
  ASSERT_NE(Next(), std::nullopt);
  Ends("fatal: other");
  EXPECT_EQ(Next(), std::nullopt);
  EXPECT_TRUE(Told("fatal: one; nor with the one that was live since "));
  EXPECT_TRUE(Told(": fatal: other"));
  EXPECT_EQ(Probe("/livez"), 200);
  After(std::chrono::seconds(40));
  EXPECT_EQ(Next(), "") << "both are tried again, the mounted one first";
}

// Each of the two may hold one of its own.
TEST_F(StarterTest, NoPasswordIsTold) {
  RanWith("PartitionName=p\nJobCompPass=older one\n");
  Mount("JobCompPass=newer two\n");
  Begin();
  ASSERT_EQ(Next(), "");
  Ends("fatal: Parse error: \" two\"");
  ASSERT_NE(Next(), std::nullopt);
  Ends("fatal: Parse error: \" one\" of two");
  EXPECT_EQ(Next(), std::nullopt);
  EXPECT_TRUE(Told("fatal: Parse error: \\\" ***\\\"; nor with"));
  EXPECT_TRUE(Told("fatal: Parse error: \\\" ***\\\" of ***"));
}

TEST_F(StarterTest, WhoStandsByStartsWithNothingElse) {
  RanWith("PartitionName=p\n");
  Mount("Nonsense=1\n");
  Begin();
  another_writes_ = true;
  ASSERT_EQ(Next(), "");
  Ends("fatal: no");
  EXPECT_EQ(Next(), std::nullopt);
  EXPECT_TRUE(Told("another slurmctld is in charge"));
  another_writes_ = false;
  After(std::chrono::seconds(40));
  ASSERT_EQ(Next(), "");
  Ends("fatal: no");
  EXPECT_EQ(Next(), root_ + "/own/kept/slurm.conf");
}

TEST_F(StarterTest, WhatIsKeptAndCannotBeReadIsNoneAndTold) {
  RanWith("PartitionName=p\n");
  Put("state/capstan-kept", Get("state/capstan-kept").substr(0, 120));
  Mount("Nonsense=1\n");
  Begin();
  ASSERT_EQ(Next(), "");
  Ends("fatal: no");
  EXPECT_EQ(Next(), std::nullopt);
  EXPECT_TRUE(Told("capstan-kept: it is cut off or damaged"));
}

// A volume that is full must not keep slurmctld from running.
TEST_F(StarterTest, WhatCannotBeKeptIsTriedAgain) {
  std::filesystem::create_directories(root_ + "/state/capstan-kept.new");
  ASSERT_EQ(Next(), "");
  reconfigurer_->Serve(4242, true, now_);
  starter_->Keep(*reconfigurer_, now_);
  EXPECT_FALSE(starter_->HasToKeep(*reconfigurer_, now_));
  std::filesystem::remove(root_ + "/state/capstan-kept.new");
  now_ += std::chrono::seconds(30);
  EXPECT_TRUE(starter_->HasToKeep(*reconfigurer_, now_));
  starter_->Keep(*reconfigurer_, now_);
  EXPECT_TRUE(std::filesystem::exists(root_ + "/state/capstan-kept"));
}

}  // namespace
}  // namespace capstan::entry
