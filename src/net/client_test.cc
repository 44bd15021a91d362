#include "net/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "async/with_deadline.h"
#include "net/testing/certificates.h"
#include "net/testing/run.h"
#include "net/testing/scripted_server.h"

namespace capstan::net {
namespace {

using testing::Answer;
using testing::Authority;
using testing::Chunk;
using testing::Chunked;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Nothing;
using testing::RunTask;
using testing::ScriptedServer;
using testing::Text;

// A client of one scripted server, in verbs.
class ClientTest : public ::testing::Test {
 protected:
  Result<Response> Send(HttpClient& client, Request request, Duration patience = 5s) {
    return RunTask(loop_, client.Send(std::move(request), loop_.After(patience)));
  }
  Result<Response> Get(HttpClient& client, std::string target, Duration patience = 5s) {
    return Send(client, {.method = "GET", .target = std::move(target), .headers = {}, .body = "", .repeatable = true},
                patience);
  }
  Result<Response> Post(HttpClient& client, std::string target, Duration patience = 5s) {
    return Send(client,
                {.method = "POST", .target = std::move(target), .headers = {}, .body = "x", .repeatable = false},
                patience);
  }
  Result<std::unique_ptr<BodyStream>> Open(HttpClient& client, std::string target) {
    Request request{.method = "GET", .target = std::move(target), .headers = {}, .body = "", .repeatable = true};
    return RunTask(loop_, client.Open(std::move(request), loop_.After(5s)));
  }
  Result<std::string> Read(BodyStream& stream, Duration patience = 5s, size_t size = 4096) {
    std::string buffer(size, '\0');
    const Result<size_t> got = RunTask(loop_, stream.Read(buffer, loop_.After(patience)));
    if (!got) return Fail(got.error());
    return buffer.substr(0, *got);
  }
  std::string ReadAll(BodyStream& stream, size_t size = 4096) {
    std::string all;
    while (true) {
      const Result<std::string> piece = Read(stream, 5s, size);
      EXPECT_TRUE(piece) << piece.error().message();
      if (!piece || piece->empty()) return all;
      all += *piece;
    }
  }

  async::RealLoop loop_;
};

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
  while (server.open() > 0) usleep(1000);
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

TEST_F(ClientTest, AnEarlyRefusalOfALargeBodyIsRead) {
  ScriptedServer server;
  server.Expect("*", Text("too large", 413).Close());
  HttpClient client(loop_, {.server = server.endpoint()});
  const Result<Response> response =
      Send(client, {.method = "POST", .target = "/", .headers = {}, .body = std::string(100, 'x')});
  ASSERT_TRUE(response) << response.error().message();
  EXPECT_EQ(response->status, 413);
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

async::Task<void> SendInto(HttpClient& client, Request request, async::Deadline deadline,
                           std::vector<Result<Response>>& out) {
  out.push_back(co_await client.Send(std::move(request), deadline));
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
  auto late = async::WithDeadline(loop_, loop_.After(100ms), client.Send({"GET", "/slow"}, loop_.After(1h)));
  const Result<Response> cancelled = RunTask(loop_, std::move(late));
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code(), Code::kDeadline);
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
  auto wait = [](async::Loop& l) -> async::Task<bool> {
    co_await async::Sleep(l, 120ms);
    co_return true;
  };
  RunTask(loop_, wait(loop_));
  EXPECT_EQ(client.idle(), 0u);
}

// --- Streams --------------------------------------------------------------------------------------------

TEST_F(ClientTest, AStreamComesPieceByPiece) {
  ScriptedServer server;
  server.Expect("GET /watch", Chunked({"one\n"}, false).Hold());
  HttpClient client(loop_, {.server = server.endpoint()});
  auto stream = Open(client, "/watch");
  ASSERT_TRUE(stream) << stream.error().message();
  EXPECT_EQ((*stream)->status(), 200);
  EXPECT_EQ(Read(**stream), "one\n");
  const Result<std::string> silent = Read(**stream, 50ms);
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().code(), Code::kDeadline);
}

TEST_F(ClientTest, WhatIsPushedLaterArrives) {
  ScriptedServer server;
  server.Expect("GET /watch", Chunked({"one\n"}, false).Hold());
  HttpClient client(loop_, {.server = server.endpoint()});
  auto stream = Open(client, "/watch");
  ASSERT_TRUE(stream);
  EXPECT_EQ(Read(**stream, 5s, 2), "on");
  EXPECT_EQ(Read(**stream, 5s, 2), "e\n");
  server.Push(Chunk("two\n"));
  EXPECT_EQ(Read(**stream), "two\n");
  server.Push(std::string(testing::kLastChunk));
  EXPECT_EQ(Read(**stream), "");
  EXPECT_EQ(client.idle(), 1u) << "a stream read to its end gives its connection back";
}

TEST_F(ClientTest, ABrokenStreamIsNotACompleteOne) {
  for (const bool reset : {false, true}) {
    ScriptedServer server;
    server.Expect("GET /watch", Chunked({"one\n"}, false).Hold());
    HttpClient client(loop_, {.server = server.endpoint()});
    auto stream = Open(client, "/watch");
    ASSERT_TRUE(stream);
    EXPECT_EQ(Read(**stream), "one\n");
    server.CutAll(reset);
    const Result<std::string> broken = Read(**stream);
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().code(), Code::kUnavailable);
  }
}

TEST_F(ClientTest, ALargeStreamPassesThroughASmallBuffer) {
  std::vector<std::string> pieces;
  std::string all;
  for (int i = 0; i < 300; ++i) all += pieces.emplace_back(std::string(size_t(i * 13 % 5000 + 1), char('a' + i % 26)));
  ScriptedServer server;
  server.Expect("GET /big", Chunked(pieces));
  HttpClient client(loop_, {.server = server.endpoint(), .max_body_bytes = 100});
  auto stream = Open(client, "/big");
  ASSERT_TRUE(stream);
  EXPECT_EQ(ReadAll(**stream, 777), all);
}

TEST_F(ClientTest, StreamsDoNotTakeThePlaceOfRequestsAndAreBounded) {
  ScriptedServer server;
  server.Expect("GET /w1", Chunked({"x"}, false).Hold());
  server.Expect("GET /w2", Chunked({"x"}, false).Hold());
  server.Always("GET /r", Text("ok"));
  HttpClient client(loop_, {.server = server.endpoint(), .max_requests = 1, .max_streams = 2});
  auto first = Open(client, "/w1"), second = Open(client, "/w2");
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(Get(client, "/r"));
  const auto third = Open(client, "/w3");
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code(), Code::kUnavailable);
  first->reset();
  server.Expect("GET /w4", Chunked({"x"}));
  EXPECT_TRUE(Open(client, "/w4"));
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

// --- TLS and credentials --------------------------------------------------------------------------------

class TestCredentials final : public Credentials {
 public:
  async::Task<Result<Secret>> BearerToken(async::Loop&, async::Deadline) override { co_return Secret(token); }
  Result<std::shared_ptr<const TlsMaterial>> Tls() override { return tls; }
  bool Rejected(const Secret&, const TlsMaterial*) override {
    token = next_token;
    if (!next_tls) return std::exchange(next_token, "") != "";
    tls = std::exchange(next_tls, nullptr);
    return true;
  }

  std::string token, next_token;
  std::shared_ptr<const TlsMaterial> tls = std::make_shared<TlsMaterial>(), next_tls;
};

class TlsTest : public ClientTest {
 protected:
  ScriptedServer::Options Serving(const Authority::Options& options, const Authority* client_ca = nullptr) {
    const testing::KeyPair pair = authority_.Issue(options);
    return {pair.certificate_pem, pair.key_pem, client_ca ? client_ca->certificate_pem() : "", ""};
  }
  std::shared_ptr<TestCredentials> Trusting(const Authority& authority, const testing::KeyPair& own = {}) {
    auto credentials = std::make_shared<TestCredentials>();
    TlsMaterial material;
    material.ca_pem = authority.certificate_pem();
    material.certificate_pem = own.certificate_pem;
    material.key_pem = Secret(own.key_pem);
    credentials->tls = std::make_shared<TlsMaterial>(material);
    return credentials;
  }
  Authority authority_;
};

TEST_F(TlsTest, TalksToAServerWhoseCaWeTrust) {
  ScriptedServer server(Serving({}));
  server.Always("*", Text("ok"));
  HttpClient client(loop_, {.server = server.endpoint(), .credentials = Trusting(authority_)});
  const Result<Response> response = Get(client, "/");
  ASSERT_TRUE(response) << response.error().message();
  ASSERT_TRUE(Get(client, "/"));
  EXPECT_EQ(server.connections(), 1u);
}

TEST_F(TlsTest, ChecksNameCaAndDates) {
  Authority other("other CA");
  struct Case {
    Authority::Options certificate;
    const Authority& trusted;
    std::string_view why;
  };
  const Authority::Options good,
      other_name{.common_name = "x", .organization = "", .names = {"elsewhere"}, .addresses = {"127.0.0.2"}};
  Authority::Options expired, early;
  expired.begins_in = -2h;
  expired.ends_in = -1h;
  early.begins_in = 1h;
  const Case cases[] = {
      {good, other, "signed by none of the CAs we trust"},
      {other_name, authority_, "is for another name"},
      {expired, authority_, "has expired"},
      {early, authority_, "not valid yet"},
  };
  for (const Case& c : cases) {
    ScriptedServer server(Serving(c.certificate));
    server.Always("*", Text("ok"));
    HttpClient client(loop_, {.server = server.endpoint(), .credentials = Trusting(c.trusted)});
    const Result<Response> response = Get(client, "/");
    ASSERT_FALSE(response) << c.why;
    EXPECT_EQ(response.error().code(), Code::kUnavailable);
    EXPECT_THAT(response.error().message(), HasSubstr(c.why));
    EXPECT_TRUE(server.requests().empty()) << "nothing may be sent to a server that was not proven";
  }
}

TEST_F(TlsTest, ChecksTheNameThatTheMaterialAsksFor) {
  ScriptedServer server(
      Serving({.common_name = "x", .organization = "", .names = {"kubernetes.default"}, .addresses = {}}));
  server.Always("*", Text("ok"));
  auto credentials = Trusting(authority_);
  TlsMaterial named = *credentials->tls;
  named.server_name = "kubernetes.default";
  credentials->tls = std::make_shared<TlsMaterial>(named);
  HttpClient client(loop_, {.server = server.endpoint(), .credentials = credentials});
  EXPECT_TRUE(Get(client, "/"));
}

TEST_F(TlsTest, PlainTextServerIsNamedAsSuch) {
  ScriptedServer server;
  Endpoint endpoint = server.endpoint();
  endpoint.scheme = Endpoint::Scheme::kHttps;
  server.Always("*", Answer("HTTP/1.1 400 Bad Request\r\n\r\n").Close());
  HttpClient client(loop_, {.server = endpoint, .credentials = Trusting(authority_), .dial_limit = 200ms});
  const Result<Response> response = Get(client, "/");
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::kUnavailable);
}

TEST_F(TlsTest, AServerThatDoesNotShakeHandsIsGivenUp) {
  ScriptedServer server(Serving({}));
  server.Freeze(true);
  HttpClient client(loop_, {.server = server.endpoint(), .credentials = Trusting(authority_), .dial_limit = 50ms});
  const Result<Response> response = Get(client, "/");
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::kUnavailable) << "the caller had time left";
  const Result<Response> hurried = Get(client, "/", 20ms);
  ASSERT_FALSE(hurried);
  EXPECT_EQ(hurried.error().code(), Code::kDeadline) << "nothing was sent";
}

TEST_F(TlsTest, PresentsItsCertificate) {
  ScriptedServer server(Serving({}, &authority_));
  server.Always("*", Text("ok"));
  const testing::KeyPair own = authority_.Issue({.common_name = "me", .organization = "us"});
  HttpClient with(loop_, {.server = server.endpoint(), .credentials = Trusting(authority_, own)});
  const Result<Response> response = Get(with, "/");
  EXPECT_TRUE(response) << response.error().message();
  HttpClient without(loop_, {.server = server.endpoint(), .credentials = Trusting(authority_)});
  const Result<Response> refused = Post(without, "/");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kUnauthenticated) << refused.error().message();
}

TEST_F(TlsTest, NewMaterialMeansNewConnections) {
  ScriptedServer server(Serving({}));
  server.Always("*", Text("ok"));
  auto credentials = Trusting(authority_);
  HttpClient client(loop_, {.server = server.endpoint(), .credentials = credentials});
  ASSERT_TRUE(Get(client, "/"));
  credentials->tls = std::make_shared<TlsMaterial>(*credentials->tls);
  ASSERT_TRUE(Get(client, "/"));
  EXPECT_EQ(server.connections(), 2u);
}

// It was once taken for one made with the new material, and went on under the old CA.
TEST_F(TlsTest, WhatWasDialledWhileTheMaterialChangedIsNotReused) {
  ScriptedServer server(Serving({}));
  server.Always("*", Text("ok"));
  auto credentials = Trusting(authority_);
  HttpClient client(loop_, {.server = server.endpoint(), .credentials = credentials});
  server.Freeze(true);
  std::vector<Result<Response>> out;
  async::TaskGroup group(loop_);
  group.Spawn("before", SendInto(client, {"GET", "/"}, loop_.After(5s), out));
  loop_.context().poll();  // now it waits for the server's handshake
  credentials->tls = std::make_shared<TlsMaterial>(*credentials->tls);
  group.Spawn("after", SendInto(client, {"GET", "/"}, loop_.After(5s), out));
  loop_.context().poll();
  server.Freeze(false);
  auto join = [](async::TaskGroup& g) -> async::Task<bool> {
    co_await g.Join();
    co_return true;
  };
  RunTask(loop_, join(group));
  ASSERT_EQ(out.size(), 2u);
  for (const auto& response : out) EXPECT_TRUE(response) << response.error().message();
  EXPECT_EQ(client.dialled(), 2u);
  EXPECT_EQ(client.idle(), 1u);
}

TEST_F(TlsTest, ARefusedCertificateIsTriedOnceMoreWithTheNextOne) {
  ScriptedServer server(Serving({}, &authority_));
  server.Always("*", Text("ok"));
  auto credentials = Trusting(authority_);
  credentials->next_tls = Trusting(authority_, authority_.Issue({.common_name = "me"}))->tls;
  HttpClient client(loop_, {.server = server.endpoint(), .credentials = credentials});
  const Result<Response> response = Post(client, "/");
  ASSERT_TRUE(response) << response.error().message();
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(TlsTest, MaterialThatDoesNotFitLeavesTheOldInForce) {
  ScriptedServer server(Serving({}));
  server.Always("*", Text("ok"));
  auto credentials = Trusting(authority_);
  HttpClient client(loop_, {.server = server.endpoint(), .credentials = credentials});
  ASSERT_TRUE(Get(client, "/"));
  TlsMaterial torn = *credentials->tls;
  torn.certificate_pem = authority_.Issue({}).certificate_pem;
  credentials->tls = std::make_shared<TlsMaterial>(torn);
  EXPECT_TRUE(Get(client, "/"));
  EXPECT_EQ(server.connections(), 1u);
}

TEST_F(TlsTest, UnusableMaterialIsExplained) {
  const testing::KeyPair own = authority_.Issue({}), other = authority_.Issue({});
  struct Case {
    TlsMaterial material;
    std::string_view why;
  };
  const Case cases[] = {
      {{"not a certificate", "", Secret(), ""}, "the CA bundle holds no certificate"},
      {{authority_.certificate_pem(), "junk", Secret(own.key_pem), ""}, "the client certificate is not a certificate"},
      {{authority_.certificate_pem(), own.certificate_pem, Secret("junk"), ""},
       "the client key is not an unencrypted private key"},
      {{authority_.certificate_pem(), own.certificate_pem, Secret(other.key_pem), ""}, "does not belong to"},
  };
  for (const Case& c : cases) {
    auto credentials = std::make_shared<TestCredentials>();
    credentials->tls = std::make_shared<TlsMaterial>(c.material);
    HttpClient client(loop_, {.server = *Endpoint::Parse("https://127.0.0.1:1"), .credentials = credentials});
    const Result<Response> response = Get(client, "/");
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code(), Code::kInvalid);
    EXPECT_THAT(response.error().message(), HasSubstr(c.why));
  }
}

TEST_F(TlsTest, ManyMegabytesOverTls) {
  const std::string body(8 << 20, 'x');
  ScriptedServer server(Serving({}));
  server.Expect("*", Text(body));
  HttpClient client(loop_, {.server = server.endpoint(), .credentials = Trusting(authority_)});
  const Result<Response> response = Send(client, {.method = "PUT", .target = "/", .headers = {}, .body = body});
  ASSERT_TRUE(response) << response.error().message();
  EXPECT_EQ(response->body.size(), body.size());
  EXPECT_EQ(server.requests()[0].body.size(), body.size());
}

TEST_F(ClientTest, A401IsTriedOnceMoreWithWhatTheCredentialsHaveNext) {
  ScriptedServer server;
  server.Expect("*", Text("no", 401));
  server.Expect("*", Text("yes"));
  server.Expect("*", Text("no", 401));
  auto credentials = std::make_shared<TestCredentials>();
  credentials->token = "old";
  credentials->next_token = "new";
  HttpClient client(loop_, {.server = server.endpoint(), .credentials = credentials});
  EXPECT_EQ(Post(client, "/")->status, 200);
  EXPECT_EQ(Find(server.requests()[0].headers, "Authorization"), "Bearer old");
  EXPECT_EQ(Find(server.requests()[1].headers, "Authorization"), "Bearer new");
  EXPECT_EQ(Post(client, "/")->status, 401) << "nothing new: the answer stands";
  EXPECT_EQ(server.requests().size(), 3u);
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
