#include "process/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "async/loop.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "base/testing/captured_log.h"
#include "kube/client.h"
#include "net/client.h"
#include "net/metrics.h"
#include "net/server.h"

namespace capstan::process {
namespace {

using ::testing::HasSubstr;

class ProgramTest : public ::testing::Test {
 protected:
  ProgramTest() { WriteKubeconfig("https://127.0.0.1:1"); }
  void WriteKubeconfig(const std::string& server) const {
    std::filesystem::create_directories(folder_);
    std::ofstream(kubeconfig_) << R"({"apiVersion": "v1", "kind": "Config", "current-context": "x",
        "clusters": [{"name": "x", "cluster": {"server": ")" +
                                      server + R"("}}],
        "users": [{"name": "x", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}},
                     {"name": "y", "context": {"cluster": "not there", "user": "x"}}]})";
  }
  ~ProgramTest() override { std::filesystem::remove_all(folder_); }

  // What it says when it does not even begin.
  std::string Refusal(ProgramOptions options) {
    options.name = "test";
    if (!options.set_up) options.set_up = [](const ProgramParts&) { return Result<void>(); };
    capstan::testing::CapturedLog log;
    EXPECT_EQ(RunProgram(std::move(options)), 1);
    return log.Text();
  }

  const std::string folder_ = ::testing::TempDir() + "/capstan-program-" + std::to_string(::getpid());
  const std::string kubeconfig_ = folder_ + "/config";
};

TEST_F(ProgramTest, SaysWhichConfigurationIsMissing) {
  EXPECT_THAT(Refusal({.kubeconfig = folder_ + "/none"}), HasSubstr(folder_ + "/none"));
}

// A misspelt level counted as info, in silence.
TEST_F(ProgramTest, SaysWhichLogLevelsThereAre) {
  for (const char* wrong : {"loud", "", "0", "-1", "1x"}) {
    EXPECT_THAT(Refusal({.kubeconfig = folder_ + "/none", .log_level = wrong}),
                HasSubstr("the log level is \\\"" + std::string(wrong) +
                          "\\\", must be debug, info, warn, error, panic, or a number above 0 for debug"));
  }
  for (const char* good : {"debug", "INFO", "warn", "error", "panic", "1", "10"}) {
    EXPECT_THAT(Refusal({.kubeconfig = folder_ + "/none", .log_level = good}), HasSubstr(folder_ + "/none")) << good;
  }
  log::SetLevel(log::Level::kInfo);
}

TEST_F(ProgramTest, TheContextIsTheOneThatIsNamed) {
  EXPECT_THAT(Refusal({.kubeconfig = kubeconfig_, .context = "y"}), HasSubstr("no entry named \\\"not there\\\""));
}

TEST_F(ProgramTest, WhatCannotBeSetUpDoesNotBegin) {
  const auto set_up = [](const ProgramParts& parts) -> Result<void> {
    parts.group.Spawn("never begun", async::Sleep(parts.loop, 1h));
    return Fail(Code::kUnavailable, "the port is taken");
  };
  EXPECT_THAT(Refusal({.set_up = set_up, .kubeconfig = kubeconfig_, .health_address = "0", .metrics_address = "0"}),
              HasSubstr("the port is taken"));
}

TEST_F(ProgramTest, SaysWhichAddressIsWrong) {
  for (const char* wrong : {"8081", ":x", ":65536", "localhost"}) {
    EXPECT_THAT(Refusal({.kubeconfig = kubeconfig_, .health_address = wrong}),
                HasSubstr("the address for health is \\\"" + std::string(wrong) + "\\\", must be [address]:port or 0"));
    EXPECT_THAT(Refusal({.kubeconfig = kubeconfig_, .health_address = "0", .metrics_address = wrong}),
                HasSubstr("the address for metrics is"));
  }
}

// --- What set_up is given, in a process of its own ---------------------------------------------------------------------

// A port that nobody listens on now.
uint16_t FreePort() {
  const int one = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound = bind(one, generic, size) == 0 && getsockname(one, generic, &size) == 0;
  close(one);
  return bound ? ntohs(address.sin_port) : 0;
}

// Says on standard error how the task ended that it belongs to.
struct SaysThatItEnds {
  ~SaysThatItEnds() { std::fputs("the task was cancelled\n", stderr); }
};

// A stranger's task. It serves an API server without any API, so that the lease is never had, looks at its own process
// from outside, and ends it as a kubelet would.
struct Stranger {
  [[noreturn]] static void Disappointed(const std::string& what) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::_Exit(7);
  }

  async::Task<std::string> Read(net::HttpClient& http, std::string path) const {
    const auto answer = co_await http.Send({.method = "GET", .target = std::move(path)}, loop->After(5s));
    co_return answer ? answer->body : "";
  }

  // Reads /readyz until it says `text`, or no longer does.
  async::Task<void> ReadUntil(net::HttpClient& http, std::string text, bool says) const {
    std::string answer;
    for (const async::Deadline deadline = loop->After(30s); !deadline.Passed(loop->Now());) {
      answer = co_await Read(http, "/readyz");
      if (!answer.empty() && (answer.find(text) != answer.npos) == says) co_return;
      co_await async::Sleep(*loop, 10ms);
    }
    Disappointed("/readyz still says " + answer);
  }

  async::Task<void> Look(std::unique_ptr<net::HttpServer> server) {
    const SaysThatItEnds ends;
    net::HttpClient health(*loop, {.server = *net::Endpoint::Parse("http://127.0.0.1:" + std::to_string(health_port))});
    co_await ReadUntil(health, "not ready yet: the test's flag", true);
    flag = true;
    co_await ReadUntil(health, "the test's flag", false);
    if ((co_await Read(health, "/readyz")).empty()) Disappointed("/readyz is silent");
    net::HttpClient figures(*loop,
                            {.server = *net::Endpoint::Parse("http://127.0.0.1:" + std::to_string(metrics_port))});
    if (!(co_await Read(figures, "/metrics")).contains("the_tests_own_total 1")) Disappointed("/metrics lacks ours");
    // Only where no fence stands does who waits for the lease get to hear what the server says.
    const auto written = co_await client->Create(kube::kConfigMaps, {"ns", "a"}, "{}", {}, loop->After(5s));
    if (written || written.error().code() != Code::kNotFound) Disappointed("the client is fenced");
    std::raise(SIGTERM);
    co_await async::Sleep(*loop, 1h);
  }

  Result<void> SetUp(const ProgramParts& parts) {
    loop = &parts.loop;
    client = &parts.client;
    parts.metrics.AddCounter("the_tests_own_total", "Of this test").Add();
    parts.ready_when("the test's flag", [this] { return flag; });
    CAPSTAN_TRY(auto server, net::HttpServer::Start({.address = "127.0.0.1", .port = api_port}, {}));
    parts.group.Spawn("look", Look(std::move(server)));
    return {};
  }

  uint16_t api_port = FreePort(), health_port = FreePort(), metrics_port = FreePort();
  bool flag = false;
  async::Loop* loop = nullptr;
  kube::Client* client = nullptr;
};

TEST_F(ProgramTest, WhatSetUpAddsRunsBesideTheEngineUntilItIsStopped) {
  Stranger stranger;
  WriteKubeconfig("http://127.0.0.1:" + std::to_string(stranger.api_port));
  const auto run = [&] {
    std::_Exit(RunProgram({.name = "test",
                           .set_up = [&](const ProgramParts& parts) { return stranger.SetUp(parts); },
                           .kubeconfig = kubeconfig_,
                           .leader_elect = true,
                           .health_address = "127.0.0.1:" + std::to_string(stranger.health_port),
                           .metrics_address = "127.0.0.1:" + std::to_string(stranger.metrics_port)}));
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "the task was cancelled");
}

}  // namespace
}  // namespace capstan::process
