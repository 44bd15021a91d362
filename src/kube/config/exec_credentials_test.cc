#include "kube/config/exec_credentials.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "async/task_group.h"
#include "base/text.h"
#include "net/client.h"
#include "net/testing/certificates.h"
#include "net/testing/run.h"
#include "net/testing/scripted_server.h"

namespace capstan::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Freshness, IsDueInTheLastFifthOfItsLifeOrFiveMinutes) {
  const struct {
    Duration age;
    std::optional<Duration> left, life;
    Freshness expected;
  } cases[] = {
      {1h, std::nullopt, std::nullopt, Freshness::kFresh},
      {79s, 21s, 100s, Freshness::kFresh},
      {80s, 20s, 100s, Freshness::kDue},
      {100s, 0s, 100s, Freshness::kStale},
      {200s, -100s, 100s, Freshness::kStale},
      {54min, 6min, 1h, Freshness::kFresh},
      {55min, 5min, 1h, Freshness::kDue},
      {9s, -1h, -1h, Freshness::kFresh},  // young: the plugin would say the same again
      {10s, -1h, -1h, Freshness::kStale},
      {80s, 1h, 100s, Freshness::kFresh},   // the wall clock was put back
      {20s, -1s, 100s, Freshness::kStale},  // or forward
  };
  for (const auto& c : cases) {
    EXPECT_EQ(FreshnessOf(c.age, c.left, c.life, 10s), c.expected)
        << FormatDuration(c.age) << " old, " << (c.left ? FormatDuration(*c.left) : "nothing") << " left";
  }
}

// A plugin that notes each run and prints what stands in the file `answer`, on a loop whose time the test
// moves.
class ExecCredentialsTest : public ::testing::Test {
 protected:
  ExecCredentialsTest() {
    char pattern[] = "/tmp/capstan-exec-test.XXXXXX";
    folder_ = mkdtemp(pattern);
  }
  ~ExecCredentialsTest() override {
    credentials_.reset();
    std::filesystem::remove_all(folder_);
  }

  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/new") << text;
    std::filesystem::rename(folder_ + "/new", folder_ + "/" + name);
  }
  void Answer(const std::string& status) {
    Write("answer",
          R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":)" + status + "}");
  }
  void AnswerToken(const std::string& token, std::optional<Duration> life = std::nullopt) {
    Answer(R"({"token":")" + token + "\"" +
           (life ? R"(,"expirationTimestamp":")" + FormatRfc3339(loop_.WallNow() + *life) + "\"" : "") + "}");
  }
  ExecCredentials& Make(const std::string& before = "", ExecCredentials::Options options = {}) {
    CredentialSources sources;
    sources.exec = ExecPlugin{.field = "config: users[u].user.exec",
                              .api_version = std::string(kExecV1),
                              .command = "/bin/sh",
                              .args = {"-c", "cd " + folder_ + "; echo run >> runs; " + before + " cat answer"}};
    credentials_ = std::make_unique<ExecCredentials>(std::move(sources), options);
    return *credentials_;
  }
  // How often it was run.
  size_t Runs() const {
    std::ifstream file(folder_ + "/runs");
    return size_t(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
  }

  async::Task<void> Ask(async::Deadline deadline, std::vector<std::string>& answers) {
    const Result<Secret> token = co_await credentials_->BearerToken(loop_, deadline);
    answers.push_back(token ? std::string(token->Reveal()) : token.error().message());
  }
  // Lets the loop run, without moving its time, until `done`: what children do takes real time. Bounded only against a
  // test that would not end.
  void Until(const std::function<bool()>& done) {
    const auto limit = std::chrono::steady_clock::now() + 60s;
    while (!loop_.RunUntil(done, 0s)) {
      ASSERT_LT(std::chrono::steady_clock::now(), limit);
      usleep(1000);
    }
  }
  // The token, or why there is none.
  std::string Token() {
    std::vector<std::string> answers;
    async::TaskGroup group(loop_);
    group.Spawn("ask", Ask(async::Deadline::Never(), answers));
    Until([&] { return group.size() == 0; });
    return answers.empty() ? "no answer" : answers[0];
  }

  std::string folder_;
  async::VirtualLoop loop_;
  std::unique_ptr<ExecCredentials> credentials_;
};

TEST_F(ExecCredentialsTest, WhatNeverExpiresIsAskedForOnce) {
  Make();
  AnswerToken("tok");
  EXPECT_EQ(Token(), "tok");
  loop_.Advance(24h);
  EXPECT_EQ(Token(), "tok");
  EXPECT_EQ(Runs(), 1u);
}

TEST_F(ExecCredentialsTest, ManyWhoAskAtOnceShareOneRun) {
  Make("read line < gate;");
  ASSERT_EQ(mkfifo((folder_ + "/gate").c_str(), 0600), 0);
  const int gate = open((folder_ + "/gate").c_str(), O_RDWR | O_CLOEXEC);
  AnswerToken("tok");
  std::vector<std::string> answers;
  async::TaskGroup group(loop_);
  for (int i = 0; i < 3; ++i) group.Spawn("ask", Ask(async::Deadline::Never(), answers));
  group.Spawn("impatient", Ask(loop_.After(1s), answers));
  Until([&] { return Runs() == 1; });
  loop_.Advance(2s);
  ASSERT_EQ(answers.size(), 1u) << "one is let go at its deadline";
  EXPECT_EQ(answers[0], "config: users[u].user.exec: /bin/sh has not answered in time");
  ASSERT_EQ(write(gate, "\n", 1), 1);
  Until([&] { return group.size() == 0; });
  close(gate);
  answers.erase(answers.begin());
  EXPECT_THAT(answers, ElementsAre("tok", "tok", "tok"));
  EXPECT_EQ(Runs(), 1u);
}

TEST_F(ExecCredentialsTest, WhatIsDueIsRenewedWhileItStillServes) {
  Make();
  AnswerToken("one", 100s);
  EXPECT_EQ(Token(), "one");
  loop_.Advance(79s);
  EXPECT_EQ(Token(), "one");
  EXPECT_EQ(Runs(), 1u);
  loop_.Advance(2s);
  AnswerToken("two", 100s);
  EXPECT_EQ(Token(), "one") << "nobody waits";
  Until([&] { return Token() == "two"; });
  EXPECT_EQ(Runs(), 2u);
}

TEST_F(ExecCredentialsTest, AFailedRenewalLeavesInForceWhatIsStillGood) {
  Make();
  AnswerToken("one", 100s);
  EXPECT_EQ(Token(), "one");
  loop_.Advance(90s);
  Write("answer", "out of order");
  EXPECT_EQ(Token(), "one");
  Until([&] { return Runs() == 2; });
  EXPECT_EQ(Token(), "one");
  loop_.Advance(10s);
  AnswerToken("two", 100s);
  // The failure may be told only now; the pause after it begins then.
  Until([&] {
    loop_.Advance(2s);
    return Token() == "two";
  });
}

TEST_F(ExecCredentialsTest, WhatHasExpiredIsNotUsed) {
  Make();
  AnswerToken("one", 100s);
  EXPECT_EQ(Token(), "one");
  loop_.Advance(101s);
  AnswerToken("two", 100s);
  EXPECT_EQ(Token(), "two");
}

TEST_F(ExecCredentialsTest, APluginWithAClockOfItsOwnIsNotRunAtEveryRequest) {
  Make();
  AnswerToken("one", -1h);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Token(), "one");
  EXPECT_EQ(Runs(), 1u);
  loop_.Advance(10s);
  AnswerToken("two", -1h);
  EXPECT_EQ(Token(), "two");
}

TEST_F(ExecCredentialsTest, AFailureIsRememberedForAWhile) {
  Make("echo 'run: acme login' >&2; exit 1;");
  const std::string why = "config: users[u].user.exec: /bin/sh ended with status 1: run: acme login";
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Token(), why);
  EXPECT_EQ(Runs(), 1u);
  for (const Duration pause : {1200ms, 2400ms, 4800ms}) {
    const size_t before = Runs();
    loop_.Advance(pause);
    EXPECT_EQ(Token(), why);
    EXPECT_EQ(Token(), why);
    EXPECT_EQ(Runs(), before + 1) << "the pauses double";
  }
}

TEST_F(ExecCredentialsTest, ARefusedCredentialIsReplacedOnce) {
  ExecCredentials& credentials = Make();
  AnswerToken("one");
  EXPECT_EQ(Token(), "one");
  EXPECT_FALSE(credentials.Rejected(Secret("one"), nullptr)) << "the plugin has only just said so";
  loop_.Advance(10s);
  AnswerToken("two");
  EXPECT_TRUE(credentials.Rejected(Secret("one"), nullptr));
  EXPECT_EQ(Token(), "two");
  EXPECT_TRUE(credentials.Rejected(Secret("one"), nullptr)) << "a late refusal of the first";
  EXPECT_EQ(Token(), "two");
  EXPECT_EQ(Runs(), 2u);
}

TEST_F(ExecCredentialsTest, ACertificateIsMaterialUntilAnotherComes) {
  const net::testing::Authority authority;
  const auto status = [](const net::testing::KeyPair& pair) {
    return R"({"clientCertificateData":)" + JsonQuoted(pair.certificate_pem) + R"(,"clientKeyData":)" +
           JsonQuoted(pair.key_pem) + "}";
  };
  ExecCredentials& credentials = Make();
  const net::testing::KeyPair first = authority.Issue({.ends_in = 24h}), second = authority.Issue({.ends_in = 48h});
  Answer(status(first));
  EXPECT_EQ(Token(), "");
  const auto material = *credentials.Tls();
  EXPECT_EQ(material->certificate_pem, first.certificate_pem);
  EXPECT_EQ(*credentials.Tls(), material) << "nothing changed: the same pointer";
  loop_.Advance(11s);
  EXPECT_TRUE(credentials.Rejected(Secret(), material.get()));
  EXPECT_EQ(Token(), "");
  EXPECT_EQ(*credentials.Tls(), material) << "the plugin gave the same again";
  loop_.Advance(11s);
  Answer(status(second));
  EXPECT_TRUE(credentials.Rejected(Secret(), material.get()));
  EXPECT_EQ(Token(), "");
  EXPECT_EQ((*credentials.Tls())->certificate_pem, second.certificate_pem);
  EXPECT_EQ((*credentials.Tls())->key_pem.Reveal(), second.key_pem);
}

TEST_F(ExecCredentialsTest, GoingAwayEndsAPluginThatRuns) {
  Make("echo $$ > pid.new; mv pid.new pid; exec sleep 1000;");
  std::vector<std::string> answers;
  async::TaskGroup group(loop_);
  group.Spawn("ask", Ask(loop_.After(1s), answers));
  Until([&] { return std::filesystem::exists(folder_ + "/pid"); });
  loop_.Advance(1s);
  Until([&] { return group.size() == 0; });
  std::ifstream file(folder_ + "/pid");
  pid_t pid = 0;
  ASSERT_TRUE(file >> pid);
  EXPECT_EQ(kill(pid, 0), 0);
  credentials_.reset();
  EXPECT_EQ(kill(pid, 0), -1) << "killed, and its status taken";
}

// The same in one piece: real loop, real server.
TEST(ExecCredentials, A401MeansThatThePluginIsAskedAgain) {
  net::testing::ScriptedServer server;
  server.Expect("*", net::testing::Text("no", 401));
  server.Always("*", net::testing::Text("yes"));
  async::RealLoop loop;
  CredentialSources sources;
  sources.impersonation = {{"Impersonate-User", "jane"}};
  sources.exec = ExecPlugin{
      .field = "exec",
      .api_version = std::string(kExecV1beta1),
      .command = "/bin/sh",
      // A different token each time: the process's own number.
      .args = {"-c", R"(echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","status":)"
                     R"({"token":"'$$'"}}')"}};
  net::HttpClient client(loop, {.server = server.endpoint(),
                                .credentials = std::make_shared<ExecCredentials>(
                                    std::move(sources), ExecCredentials::Options{.youngest = 0s})});
  for (int i = 0; i < 2; ++i) {
    const Result<net::Response> response =
        net::testing::RunTask(loop, client.Send({.method = "POST", .target = "/"}, loop.After(20s)));
    ASSERT_TRUE(response) << response.error().message();
    EXPECT_EQ(response->status, 200);
  }
  std::vector<std::string> tokens;
  for (const net::testing::Seen& seen : server.requests()) {
    tokens.emplace_back(net::Find(seen.headers, "Authorization"));
    EXPECT_EQ(net::Find(seen.headers, "Impersonate-User"), "jane");
  }
  ASSERT_EQ(tokens.size(), 3u);
  EXPECT_NE(tokens[0], tokens[1]);
  EXPECT_EQ(tokens[1], tokens[2]);
}

}  // namespace
}  // namespace capstan::kube
