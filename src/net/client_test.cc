#include "net/client_test.h"

#include <unistd.h>

#include "async/timer.h"

namespace capstan::net {
namespace {

using testing::Answer;
using testing::Chunked;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Nothing;
using testing::RunTask;
using testing::ScriptedServer;
using testing::Text;

TEST_F(ClientTest, SendsAndReadsTheAnswer) {
  ScriptedServer server;
  server.Expect("GET /a", Text("hello", 200, {{"X-Seen", "yes"}}));
  HttpClient client(loop_, {.server = server.endpoint()});
  const Result<Response> response = Get(client, "/a?b=%20");
  ASSERT_TRUE(response) << response.error().message();
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "hello");
  EXPECT_EQ(Find(response->headers, "x-seen"), "yes");
  ASSERT_EQ(server.requests().size(), 1u);
  const testing::Seen seen = server.requests()[0];
  EXPECT_EQ(seen.Line(), "GET /a?b=%20");
  EXPECT_EQ(Find(seen.headers, "Host"), "127.0.0.1:" + std::to_string(server.port()));
  EXPECT_THAT(std::string(Find(seen.headers, "User-Agent")), ::testing::StartsWith("capstan/"));
  EXPECT_EQ(Find(seen.headers, "Authorization"), "");
}

TEST_F(ClientTest, ReusesTheConnection) {
  ScriptedServer server;
  server.Always("*", Text("ok"));
  HttpClient client(loop_, {.server = server.endpoint()});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Get(client, "/"));
  EXPECT_EQ(server.connections(), 1u);
  EXPECT_EQ(client.dialled(), 1u);
  EXPECT_EQ(client.idle(), 1u);
}

TEST_F(ClientTest, ChunkBoundariesDoNotMatter) {
  for (const size_t size : {1, 2, 3, 7, 64}) {
    ScriptedServer server;
    server.Expect("*", Chunked({"{\"a\":", "1", ",\"b\":[", "]}"}).InPiecesOf(size));
    HttpClient client(loop_, {.server = server.endpoint()});
    const Result<Response> response = Get(client, "/");
    ASSERT_TRUE(response) << response.error().message();
    EXPECT_EQ(response->body, "{\"a\":1,\"b\":[]}");
  }
}

TEST_F(ClientTest, SkipsInterimAnswers) {
  ScriptedServer server;
  server.Expect("*", Answer("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")
                         .Then("HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok"));
  HttpClient client(loop_, {.server = server.endpoint()});
  const Result<Response> response = Post(client, "/");
  ASSERT_TRUE(response) << response.error().message();
  EXPECT_EQ(response->status, 201);
  EXPECT_EQ(response->body, "ok");
}

TEST_F(ClientTest, ReplacesAConnectionThatTheServerClosedMeanwhile) {
  ScriptedServer server;
  server.Expect("GET /first", Text("ok").Close());
  server.Expect("POST /second", Text("ok"));
  HttpClient client(loop_, {.server = server.endpoint()});
  ASSERT_TRUE(Get(client, "/first"));
  ASSERT_TRUE(server.WaitForOpen(0));
  const Result<Response> response = Post(client, "/second");
  ASSERT_TRUE(response) << response.error().message();
  EXPECT_THAT(server.lines(), ElementsAre("GET /first", "POST /second"));
}

TEST_F(ClientTest, RepeatsARepeatableRequestWhenAKeptConnectionDiesUnderIt) {
  ScriptedServer server;
  server.Expect("GET /1", Text("ok"));
  server.Expect("GET /2", Nothing().Close());
  server.Expect("GET /2", Text("second try"));
  HttpClient client(loop_, {.server = server.endpoint()});
  ASSERT_TRUE(Get(client, "/1"));
  const Result<Response> response = Get(client, "/2");
  ASSERT_TRUE(response) << response.error().message();
  EXPECT_EQ(response->body, "second try");
  EXPECT_EQ(server.connections(), 2u);
}

TEST_F(ClientTest, WhenAKeptConnectionDiesTheOtherKeptOnesAreNotTried) {
  ScriptedServer server;
  server.Always("GET /1", Text("ok"));
  server.Expect("GET /2", Nothing().Reset());
  server.Expect("GET /2", Text("second try"));
  HttpClient client(loop_, {.server = server.endpoint()});
  std::vector<Result<Response>> out;
  async::TaskGroup group(loop_);
  for (int i = 0; i < 2; ++i) group.Spawn("send", SendInto(client, {"GET", "/1"}, loop_.After(5s), out));
  auto join = [](async::TaskGroup& g) -> async::Task<bool> {
    co_await g.Join();
    co_return true;
  };
  RunTask(loop_, join(group));
  ASSERT_EQ(client.idle(), 2u);
  const Result<Response> response = Get(client, "/2");
  ASSERT_TRUE(response) << response.error().message();
  EXPECT_EQ(response->body, "second try");
  EXPECT_EQ(client.dialled(), 3u);
  EXPECT_EQ(client.idle(), 1u);
}

TEST_F(ClientTest, NeverRepeatsAWriteThatMayHaveArrived) {
  ScriptedServer server;
  server.Expect("GET /1", Text("ok"));
  server.Expect("POST /2", Nothing().Close());
  HttpClient client(loop_, {.server = server.endpoint()});
  ASSERT_TRUE(Get(client, "/1"));
  const Result<Response> response = Post(client, "/2");
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::kUnknownOutcome);
  EXPECT_THAT(server.lines(), ElementsAre("GET /1", "POST /2"));
}

TEST_F(ClientTest, ARepeatableRequestIsNotRepeatedOnAFreshConnection) {
  ScriptedServer server;
  server.Always("*", Nothing().Close());
  HttpClient client(loop_, {.server = server.endpoint()});
  const Result<Response> response = Get(client, "/");
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::kUnknownOutcome);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(ClientTest, ALostAnswerIsAnUnknownOutcome) {
  const std::pair<std::string_view, Answer> cases[] = {
      {"closed without a word", Nothing().Close()},
      {"reset", Nothing().Reset()},
      {"cut in the header", Answer("HTTP/1.1 200 O").Close()},
      {"cut in the body", Answer("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc").Close()},
      {"cut between chunks", Chunked({"abc"}, false).Close()},
      {"silent", Nothing().Hold()},
      {"silent in the body", Chunked({"abc"}, false).Hold()},
  };
  for (const auto& [what, answer] : cases) {
    ScriptedServer server;
    server.Expect("POST /", answer);
    HttpClient client(loop_, {.server = server.endpoint()});
    const Result<Response> response = Post(client, "/", 300ms);
    ASSERT_FALSE(response) << what;
    EXPECT_EQ(response.error().code(), Code::kUnknownOutcome) << what << ": " << response.error().message();
    EXPECT_EQ(client.idle(), 0u) << what;
  }
}

TEST_F(ClientTest, NothingSentIsNotAnUnknownOutcome) {
  std::optional<ScriptedServer> server(std::in_place);
  HttpClient client(loop_, {.server = server->endpoint()});
  server.reset();
  const Result<Response> response = Post(client, "/");
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::kUnavailable);
  EXPECT_THAT(response.error().message(), HasSubstr("Connection refused"));
}

TEST_F(ClientTest, LimitsHeaderAndBody) {
  const std::pair<std::string_view, Answer> cases[] = {
      {"the header is larger than is allowed here: 4096 bytes at most",
       Text("x", 200, {{"X", std::string(5000, 'x')}})},
      {"the body is larger than is allowed here: 1000 bytes at most", Text(std::string(2000, 'x'))},
      {"the body is larger than is allowed here: 1000 bytes at most",
       Chunked({std::string(900, 'x'), std::string(900, 'x')})},
      {"not HTTP", Answer("not http at all\r\n\r\n")},
  };
  for (const auto& [complaint, answer] : cases) {
    ScriptedServer server;
    server.Expect("*", answer);
    HttpClient client(loop_, {.server = server.endpoint(), .max_header_bytes = 4096, .max_body_bytes = 1000});
    const Result<Response> response = Get(client, "/");
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code(), Code::kInvalid) << response.error().message();
    EXPECT_THAT(response.error().message(), HasSubstr(complaint));
    EXPECT_EQ(client.idle(), 0u);
  }
}

// 256 MiB were held before anybody looked how large an answer was.
TEST_F(ClientTest, NoMoreOfABodyIsHeldThanItsRequestAllows) {
  for (const Answer& answer : {Text(std::string(501, 'x')), Chunked({std::string(300, 'x'), std::string(300, 'x')})}) {
    ScriptedServer server;
    server.Expect("*", answer);
    HttpClient client(loop_, {.server = server.endpoint(), .max_body_bytes = 1000});
    const auto response = testing::RunTask(
        loop_, client.Send({.method = "GET", .target = "/", .max_answer_bytes = 500}, loop_.After(5s)));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code(), Code::kInvalid);
    EXPECT_THAT(response.error().message(), HasSubstr("the body is larger than is allowed here: 500 bytes at most"));
    EXPECT_EQ(client.idle(), 0u);
  }
  ScriptedServer server;
  server.Expect("*", Text(std::string(1001, 'x')));
  HttpClient client(loop_, {.server = server.endpoint(), .max_body_bytes = 1000});
  const auto response =
      testing::RunTask(loop_, client.Send({.method = "GET", .target = "/", .max_answer_bytes = 5000}, loop_.After(5s)));
  ASSERT_FALSE(response) << "the client's own limit counts as well";
}

TEST_F(ClientTest, DoesNotReuseAConnectionWithBytesLeftOver) {
  ScriptedServer server;
  server.Expect(
      "GET /1",
      Answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"));
  server.Expect("GET /2", Text("good"));
  HttpClient client(loop_, {.server = server.endpoint()});
  ASSERT_TRUE(Get(client, "/1"));
  const Result<Response> response = Get(client, "/2");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, "good");
  EXPECT_EQ(server.connections(), 2u);
}

TEST_F(ClientTest, NoMoreConnectionsThanAllowedAndEverybodyIsServed) {
  ScriptedServer server;
  server.Always("*", Answer().Then("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 5ms));
  HttpClient client(loop_, {.server = server.endpoint(), .max_requests = 3});
  std::vector<Result<Response>> out;
  async::TaskGroup group(loop_);
  for (int i = 0; i < 20; ++i) group.Spawn("send", SendInto(client, {"GET", "/"}, loop_.After(5s), out));
  auto join = [](async::TaskGroup& g) -> async::Task<bool> {
    co_await g.Join();
    co_return true;
  };
  RunTask(loop_, join(group));
  ASSERT_EQ(out.size(), 20u);
  for (const auto& response : out) EXPECT_TRUE(response) << response.error().message();
  EXPECT_LE(server.connections(), 3u);
}

TEST_F(ClientTest, WhoFindsAllConnectionsBusyWaitsUntilItsDeadline) {
  ScriptedServer server;
  server.Expect("GET /slow", Nothing().Hold());
  HttpClient client(loop_, {.server = server.endpoint(), .max_requests = 1});
  std::vector<Result<Response>> out;
  async::TaskGroup group(loop_);
  group.Spawn("slow", SendInto(client, {"GET", "/slow"}, loop_.After(400ms), out));
  const Result<Response> second = Get(client, "/fast", 100ms);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), Code::kDeadline);
  auto join = [](async::TaskGroup& g) -> async::Task<bool> {
    co_await g.Join();
    co_return true;
  };
  RunTask(loop_, join(group));
  EXPECT_EQ(server.lines(), std::vector<std::string>{"GET /slow"});
}

TEST_F(ClientTest, CancellingACallFreesItsPlace) {
  ScriptedServer server;
  server.Expect("GET /slow", Nothing().Hold());
  server.Expect("GET /next", Text("ok"));
  HttpClient client(loop_, {.server = server.endpoint(), .max_requests = 1});
  std::vector<Result<Response>> answers;
  async::TaskGroup group(loop_);
  group.Spawn("slow", SendInto(client, {"GET", "/slow"}, loop_.After(1h), answers));
  auto cancel = [](async::Loop& loop, async::TaskGroup& slow) -> async::Task<bool> {
    co_await async::Sleep(loop, 100ms);
    slow.Cancel();
    co_await slow.Join();
    co_return true;
  };
  RunTask(loop_, cancel(loop_, group));
  EXPECT_TRUE(answers.empty());
  EXPECT_TRUE(Get(client, "/next"));
}

TEST_F(ClientTest, AnOldConnectionIsNotUsedAgain) {  // its name may stand for another server by now
  ScriptedServer server;
  server.Always("*", Text("ok"));
  HttpClient client(loop_, {.server = server.endpoint(), .age_limit = Duration(0)});
  EXPECT_TRUE(Get(client, "/"));
  EXPECT_TRUE(Get(client, "/"));
  EXPECT_EQ(client.dialled(), 2u);
}

TEST_F(ClientTest, IdleConnectionsAreClosedAfterAWhile) {
  ScriptedServer server;
  server.Always("*", Text("ok"));
  HttpClient client(loop_, {.server = server.endpoint(), .idle_limit = 50ms});
  ASSERT_TRUE(Get(client, "/"));
  EXPECT_EQ(client.idle(), 1u);
  loop_.context().restart();
  while (client.idle() > 0 && loop_.context().run_one() > 0) {
  }
  EXPECT_EQ(client.idle(), 0u);
}

TEST_F(ClientTest, ConnectsToAUnixSocket) {
  const std::string path = "/tmp/capstan-net-test-" + std::to_string(getpid()) + ".sock";
  ScriptedServer server({.certificate_pem = "", .key_pem = "", .client_ca_pem = "", .unix_path = path});
  server.Expect("GET /slurm/v0.0.44/ping/", Text("pong"));
  HttpClient client(loop_, {.server = *Endpoint::Parse("unix://" + path)});
  const Result<Response> response = Get(client, "/slurm/v0.0.44/ping/");
  ASSERT_TRUE(response) << response.error().message();
  EXPECT_EQ(response->body, "pong");
}

TEST_F(ClientTest, ResolvesNames) {
  ScriptedServer server;
  server.Expect("*", Text("ok"));
  Endpoint endpoint = server.endpoint();
  endpoint.host = "localhost";
  HttpClient client(loop_, {.server = endpoint});
  const Result<Response> response = Get(client, "/");
  ASSERT_TRUE(response) << response.error().message();
}

TEST_F(ClientTest, AnUnknownNameIsUnavailable) {
  HttpClient client(loop_, {.server = *Endpoint::Parse("http://does-not-exist.invalid:80")});
  const Result<Response> response = Get(client, "/", 3s);
  ASSERT_FALSE(response);
  EXPECT_THAT(response.error().message(), HasSubstr("does-not-exist.invalid"));
}

// --- Endpoint -------------------------------------------------------------------------------------------

TEST(Endpoint, ReadsUrls) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"https://10.0.0.1", "https://10.0.0.1:443"},
      {"http://slurm-restapi.slurm:6820/", "http://slurm-restapi.slurm:6820"},
      {"https://[fd00::1]:6443", "https://[fd00::1]:6443"},
      {"https://rancher.example/k8s/clusters/c-1/", "https://rancher.example:443/k8s/clusters/c-1"},
      {"unix:///run/x.sock", "unix:///run/x.sock"},
  };
  for (const auto& [url, shown] : cases) {
    const Result<Endpoint> endpoint = Endpoint::Parse(url);
    ASSERT_TRUE(endpoint) << endpoint.error().message();
    EXPECT_EQ(endpoint->ToString(), shown);
  }
}

// Host headers and certificates have none.
TEST(Endpoint, TheFinalDotIsForWhoLooksTheNameUp) {
  const Result<Endpoint> endpoint = Endpoint::Parse("http://slurm-restapi.slurm.svc.cluster.local.:6820");
  ASSERT_TRUE(endpoint);
  EXPECT_EQ(endpoint->host, "slurm-restapi.slurm.svc.cluster.local.");
  EXPECT_EQ(endpoint->name(), "slurm-restapi.slurm.svc.cluster.local");
}

TEST(Endpoint, RefusesWhatIsNoUrl) {
  const std::string_view urls[] = {"",
                                   "10.0.0.1:6443",
                                   "ftp://x",
                                   "https://",
                                   "https://:443",
                                   "https://x:0",
                                   "https://x:70000",
                                   "https://x:y",
                                   "https://[::1",
                                   "https://[::1]x",
                                   "https://u@x",
                                   "https://a b",
                                   "https://x/?q",
                                   "https://[[]",
                                   "https://.x",
                                   "https://a\x01",
                                   std::string_view("https://a\0b", 11),
                                   "unix://relative"};
  for (const std::string_view url : urls) {
    const Result<Endpoint> endpoint = Endpoint::Parse(url);
    ASSERT_FALSE(endpoint) << url;
    EXPECT_EQ(endpoint.error().code(), Code::kInvalid);
  }
}

}  // namespace
}  // namespace capstan::net
