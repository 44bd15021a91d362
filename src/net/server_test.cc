#include "net/server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <list>
#include <thread>

#include "base/text.h"
#include "net/client.h"
#include "net/metrics.h"
#include "net/testing/run.h"

namespace capstan::net {
namespace {

using ::testing::HasSubstr;
using testing::RunTask;

std::unique_ptr<HttpServer> Started(HttpServer::Options options,
                                    std::map<std::string, HttpServer::Handler, std::less<>> handlers) {
  options.address = "127.0.0.1";
  Result<std::unique_ptr<HttpServer>> server = HttpServer::Start(std::move(options), std::move(handlers));
  EXPECT_TRUE(server) << server.error().message();
  return *std::move(server);
}

// A client that says exactly what it is told to.
class Raw {
 public:
  explicit Raw(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const timeval limit{5, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  ~Raw() { close(fd_); }
  void Say(std::string_view bytes) {
    EXPECT_EQ(send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL), ssize_t(bytes.size()));
  }
  std::string Hear() {  // until the server closes
    std::string all;
    char buffer[4096];
    for (ssize_t got; (got = recv(fd_, buffer, sizeof buffer, 0)) > 0;) all.append(buffer, size_t(got));
    return all;
  }
  std::string HearSome() {
    char buffer[4096];
    const ssize_t got = recv(fd_, buffer, sizeof buffer, 0);
    return got > 0 ? std::string(buffer, size_t(got)) : "";
  }

 private:
  int fd_;
};

bool Listens(uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool listens = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return listens;
}

Result<Response> Get(uint16_t port, std::string target, std::string method = "GET") {
  async::RealLoop loop;
  HttpClient client(loop, {.server = {Endpoint::Scheme::kHttp, "127.0.0.1", port, ""}});
  return RunTask(loop, client.Send({std::move(method), std::move(target)}, loop.After(5s)));
}

TEST(HttpServer, AnswersByPath) {
  const auto server =
      Started({}, {{"/healthz", [](const Request&) { return TextResponse("ok"); }},
                   {"/echo", [](const Request& r) { return TextResponse(r.method + " " + r.target); }}});
  EXPECT_EQ(Get(server->port(), "/healthz")->body, "ok");
  EXPECT_EQ(Get(server->port(), "/echo?x=1")->body, "GET /echo?x=1");
  EXPECT_EQ(Get(server->port(), "/other")->status, 404);
  EXPECT_EQ(Get(server->port(), "/echo", "DELETE")->status, 405);
  const Result<Response> head = Get(server->port(), "/healthz", "HEAD");
  EXPECT_EQ(head->status, 200);
  EXPECT_EQ(head->body, "");
  EXPECT_EQ(Find(head->headers, "Content-Length"), "2");
}

TEST(HttpServer, KeepsConnectionsAndReadsPipelinedRequests) {
  const auto server = Started({}, {{"/", [](const Request& r) { return TextResponse(r.body + "!"); }}});
  Raw raw(server->port());
  raw.Say(
      "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nonePOST / HTTP/1.1\r\nContent-Length: 3\r\nConnection: "
      "close\r\n\r\ntwo");
  EXPECT_THAT(raw.Hear(), ::testing::AllOf(::testing::HasSubstr("one!"), ::testing::HasSubstr("two!")));
}

TEST(HttpServer, RefusesWhatIsTooLargeOrNotHttp) {
  const auto server = Started({.max_header_bytes = 1000, .max_body_bytes = 100},
                              {{"/", [](const Request&) { return TextResponse("ok"); }}});
  const std::string chunk = "50\r\n" + std::string(0x50, 'x') + "\r\n";
  const std::pair<std::string, std::string> cases[] = {
      {"GET / HTTP/1.1\r\nX: " + std::string(2000, 'x') + "\r\n\r\n", "431"},
      {"POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n", "413"},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + chunk, "413"},
      {"hello\r\n\r\n", "400"},
  };
  for (const auto& [bytes, status] : cases) {
    Raw raw(server->port());
    raw.Say(bytes);
    EXPECT_THAT(raw.HearSome(), ::testing::StartsWith("HTTP/1.1 " + status + " ")) << bytes.substr(0, 40);
  }
}

TEST(HttpServer, ASlowRequestIsGivenUpAndDoesNotHoldUpOthers) {
  const auto server = Started({.request_limit = 100ms}, {{"/", [](const Request&) { return TextResponse("ok"); }}});
  Raw slow(server->port());
  slow.Say("GET / HT");
  EXPECT_EQ(Get(server->port(), "/")->status, 200);
  EXPECT_EQ(slow.Hear(), "");
}

// Connections that say nothing kept everybody else out for two minutes, probes too.
TEST(HttpServer, WhenAllPlacesAreTakenTheLongestIdleMakesRoom) {
  const auto server = Started({.max_connections = 2}, {{"/", [](const Request&) { return TextResponse("ok"); }}});
  Raw first(server->port());
  Raw second(server->port());
  second.Say("GET / HTTP/1.1\r\n\r\n");
  EXPECT_THAT(second.HearSome(), ::testing::StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(Get(server->port(), "/")->status, 200);
  EXPECT_EQ(first.Hear(), "");
  second.Say("GET / HTTP/1.1\r\n\r\n");
  EXPECT_THAT(second.HearSome(), ::testing::StartsWith("HTTP/1.1 200 ")) << "it was of use more recently";
}

TEST(HttpServer, BodiesOfAnySizeArriveWhole) {
  const auto body = [](const Request& request) {
    std::string bytes(size_t(*ParseInt(request.target.substr(3))), ' ');
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = char('a' + i % 23);
    return TextResponse(std::move(bytes));
  };
  const auto server = Started({}, {{"/n", body}});
  for (const size_t size : {size_t{0}, size_t{16383}, size_t{16384}, size_t{16385}, size_t{200'000}}) {
    const Result<Response> answer = Get(server->port(), "/n?" + std::to_string(size));
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_EQ(answer->body, body({.method = "GET", .target = "/n?" + std::to_string(size)}).body) << size;
  }
  Raw raw(server->port());
  raw.Say("HEAD /n?200000 HTTP/1.1\r\n\r\nGET /n?2 HTTP/1.1\r\nConnection: close\r\n\r\n");
  const std::string heard = raw.Hear();
  EXPECT_THAT(heard, HasSubstr("Content-Length: 200000\r\n"));
  EXPECT_THAT(heard, ::testing::EndsWith("\r\n\r\nab"));
  EXPECT_LT(heard.size(), 1000u) << "no body behind a HEAD";
}

// Clients that sent a byte now and then kept a kubelet's probe out, which got the process killed.
TEST(HttpServer, ClientsThatTrickleKeepNobodyOut) {
  const auto server = Started({}, {{"/healthz", [](const Request&) { return TextResponse("ok"); }}});
  std::list<Raw> trickling;
  for (int i = 0; i < 64; ++i) {
    // The whole request in front is answered, so that the half one behind it is known to have begun.
    trickling.emplace_back(server->port()).Say("GET /healthz HTTP/1.1\r\n\r\nGET /healthz HTTP/1.1\r\nX: ");
    EXPECT_THAT(trickling.back().HearSome(), ::testing::StartsWith("HTTP/1.1 200 "));
  }
  for (int probe = 0; probe < 3; ++probe) {
    const Result<Response> answer = Get(server->port(), "/healthz");
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_EQ(answer->body, "ok");
  }
  EXPECT_EQ(trickling.front().Hear(), "") << "the oldest gives way";
  trickling.back().Say("y\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(trickling.back().Hear(), ::testing::StartsWith("HTTP/1.1 200 ")) << "younger ones go on";
}

TEST(HttpServer, WhoIsLetInIsToldByAnyThreadAndRefusedBeforeAHandlerSeesIt) {
  std::atomic<int> handled = 0;
  std::list<std::thread> threads;
  HttpServer::Options options;
  options.admit = [&](const Request& request, HttpServer::Tell tell) {
    threads.emplace_back([who = std::string(Find(request.headers, "Who")), tell = std::move(tell)] {
      if (who == "friend") return tell(std::nullopt);
      tell(Refusal(403, "strangers may not"));
    });
  };
  const auto server = Started(std::move(options), {{"/x", [&](const Request&) {
                                                      ++handled;
                                                      return TextResponse("x");
                                                    }}});
  Raw raw(server->port());
  raw.Say("GET /x HTTP/1.1\r\nHost: h\r\nWho: friend\r\n\r\n");
  EXPECT_THAT(raw.HearSome(), HasSubstr("200 OK"));
  EXPECT_EQ(handled, 1);
  raw.Say("GET /x HTTP/1.1\r\nHost: h\r\nWho: stranger\r\n\r\n");
  EXPECT_THAT(raw.HearSome(), HasSubstr("strangers may not"));
  EXPECT_EQ(handled, 1);
  EXPECT_EQ(Get(server->port(), "/y")->status, 404) << "nobody is asked about what is not served";
  for (std::thread& thread : threads) thread.join();
}

TEST(HttpServer, WhoIsToldOfTooLateIsRefused) {
  HttpServer::Tell kept;
  {
    HttpServer::Options options;
    options.request_limit = 600ms;
    options.admit = [&](const Request&, HttpServer::Tell tell) { kept = std::move(tell); };
    const auto server = Started(std::move(options), {{"/x", [](const Request&) { return TextResponse("x"); }}});
    Raw raw(server->port());
    raw.Say("GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_THAT(raw.HearSome(), HasSubstr("503 "));
    kept(std::nullopt);
  }
  kept(std::nullopt);  // when the server is gone
}

TEST(HttpServer, StopsWhileConnectionsIdle) {
  auto server = Started({}, {{"/", [](const Request&) { return TextResponse("ok"); }}});
  Raw idle(server->port());
  idle.Say("GET / HTTP/1.1\r\n\r\n");
  EXPECT_NE(idle.HearSome(), "");
  const Tick before = std::chrono::steady_clock::now();
  server.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - before, 10s) << "an idle connection is not waited for";
  EXPECT_EQ(idle.Hear(), "");
}

size_t OpenDescriptors() {
  const std::filesystem::directory_iterator descriptors("/proc/self/fd");
  return size_t(std::distance(begin(descriptors), end(descriptors)));
}

TEST(HttpServer, KeepsNoConnectionThatCameWhileItStopped) {
  const size_t before = OpenDescriptors();
  for (int round = 0; round < 200; ++round) {
    auto server = Started({}, {});
    const std::list<Raw> clients = [&] {
      std::list<Raw> made;
      for (int i = 0; i < 8; ++i) made.emplace_back(server->port());
      return made;
    }();
    server.reset();
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST(HttpServer, FinishesARequestThatHasBegunBeforeItStops) {
  auto server = Started({}, {{"/", [](const Request& request) { return TextResponse(request.body + "!"); }}});
  const uint16_t port = server->port();
  Raw raw(port);
  // The second one has begun when the first is answered: they came together.
  raw.Say("GET / HTTP/1.1\r\n\r\nPOST / HTTP/1.1\r\nContent-Length: 6\r\n\r\nfin");
  EXPECT_THAT(raw.HearSome(), ::testing::EndsWith("!"));
  std::thread stopping([&] { server.reset(); });
  while (Listens(port)) std::this_thread::yield();
  raw.Say("ish");
  EXPECT_THAT(raw.Hear(), ::testing::AllOf(::testing::HasSubstr("Connection: close"), ::testing::EndsWith("finish!")));
  stopping.join();
}

TEST(HttpServer, ManyHalfRequestsDoNotFillTheMemory) {
  const auto server =
      Started({.max_body_bytes = 100'000, .max_received_bytes = 50'000},
              {{"/", [](const Request& request) { return TextResponse(std::to_string(request.body.size())); }}});
  const std::string head = "POST / HTTP/1.1\r\nContent-Length: 60000\r\n\r\n";
  Raw alone(server->port());
  alone.Say(head + std::string(60'000, 'x'));  // larger than all may be together, but alone
  EXPECT_THAT(alone.HearSome(), ::testing::EndsWith("60000"));
  // With a small one in front, so that its answer says that the half one has been read.
  const std::string small = "POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx";
  Raw half(server->port());
  half.Say(small + head + std::string(12'000, 'x'));
  EXPECT_THAT(half.HearSome(), ::testing::EndsWith("1"));
  Raw other(server->port());
  other.Say(head + std::string(60'000, 'x'));
  EXPECT_THAT(other.HearSome(), ::testing::StartsWith("HTTP/1.1 503 "));
  half.Say(std::string(48'000, 'x'));
  EXPECT_THAT(half.HearSome(), ::testing::EndsWith("60000"));
}

TEST(HttpServer, SaysWhyItCannotListen) {
  const auto server = Started({}, {});
  HttpServer::Options taken;
  taken.address = "127.0.0.1";
  taken.port = server->port();
  const auto second = HttpServer::Start(taken, {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), Code::kUnavailable);
  taken.address = "localhost";
  EXPECT_EQ(HttpServer::Start(taken, {}).error().code(), Code::kInvalid);
}

TEST(Metrics, ExposesEveryKind) {
  Metrics metrics;
  metrics.AddCounter("rest_client_requests_total", "Requests", {{"code", "200"}, {"method", "GET"}}).Add(3);
  metrics.AddCounter("rest_client_requests_total", "Requests", {{"code", "\"\\\n"}, {"method", "GET"}}).Add();
  metrics.AddGauge("workqueue_depth", "Depth").Set(-1.5);
  Histogram& seconds = metrics.AddHistogram("took_seconds", "Took", {0.1, 1}, {{"verb", "get"}});
  seconds.Observe(100ms);
  seconds.Observe(0.5);
  seconds.Observe(7.0);
  metrics.AddGauge("computed", "Computed", [] { return 42.0; });
  EXPECT_EQ(metrics.Exposition(),
            "# HELP computed Computed\n# TYPE computed gauge\ncomputed 42\n"
            "# HELP rest_client_requests_total Requests\n# TYPE rest_client_requests_total counter\n"
            "rest_client_requests_total{code=\"200\",method=\"GET\"} 3\n"
            "rest_client_requests_total{code=\"\\\"\\\\\\n\",method=\"GET\"} 1\n"
            "# HELP took_seconds Took\n# TYPE took_seconds histogram\n"
            "took_seconds_bucket{verb=\"get\",le=\"0.1\"} 1\ntook_seconds_bucket{verb=\"get\",le=\"1\"} 2\n"
            "took_seconds_bucket{verb=\"get\",le=\"+Inf\"} 3\ntook_seconds_sum{verb=\"get\"} "
            "7.6\ntook_seconds_count{verb=\"get\"} 3\n"
            "# HELP workqueue_depth Depth\n# TYPE workqueue_depth gauge\nworkqueue_depth -1.5\n");
}

TEST(Metrics, TheSameNameAndLabelsAreTheSameInstrument) {
  Metrics metrics;
  Counter& a = metrics.AddCounter("a_total", "A", {{"x", "1"}});
  EXPECT_EQ(&a, &metrics.AddCounter("a_total", "A", {{"x", "1"}}));
  EXPECT_NE(&a, &metrics.AddCounter("a_total", "A", {{"x", "2"}}));
}

TEST(Metrics, CountsFromManyThreads) {
  Metrics metrics;
  Counter& counter = metrics.AddCounter("n_total", "N");
  Histogram& histogram = metrics.AddHistogram("h", "H", {1});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) counter.Add(), histogram.Observe(0.5);
    });
  }
  metrics.Exposition();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter.value(), 4000);
  EXPECT_EQ(histogram.count(0), 4000u);
}

TEST(Metrics, ProcessFiguresAreThisProcess) {
  Metrics metrics;
  metrics.AddProcessFigures();
  const std::string text = metrics.Exposition();
  const auto value = [&](const std::string& name) {
    return std::strtod(text.c_str() + text.find("\n" + name + " ") + name.size() + 2, nullptr);
  };
  EXPECT_GT(value("process_resident_memory_bytes"), 1e6);
  EXPECT_GT(value("process_virtual_memory_bytes"), value("process_resident_memory_bytes"));
  EXPECT_GT(value("process_open_fds"), 2);
  EXPECT_GT(value("process_max_fds"), value("process_open_fds"));
  EXPECT_NEAR(value("process_start_time_seconds"), double(time(nullptr)), 600);
  EXPECT_GT(value("process_cpu_seconds_total"), 0);
}

}  // namespace
}  // namespace capstan::net
