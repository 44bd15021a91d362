#include <atomic>

#include "net/client_test.h"
#include "net/server.h"

namespace capstan::net {
namespace {

using testing::Chunk;
using testing::Chunked;
using testing::ScriptedServer;
using testing::Text;

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

// --- Upwards ---------------------------------------------------------------------------------------------------------

TEST_F(ClientTest, ABodyIsSentWhileItIsMade) {
  const auto echo = [](const Request& request) { return Response{.status = 201, .headers = {}, .body = request.body}; };
  auto server = HttpServer::Start({.address = "127.0.0.1", .port = 0, .max_body_bytes = 2 << 20}, {{"/up", echo}});
  ASSERT_TRUE(server) << server.error().message();
  HttpClient client(loop_, {.server = *Endpoint::Parse("http://127.0.0.1:" + std::to_string((*server)->port()))});
  for (const size_t count : {size_t{0}, size_t{1}, size_t{17}}) {
    const auto response = Send(client, Upload(std::make_shared<Pieces>(count)));
    ASSERT_TRUE(response) << response.error().message();
    EXPECT_EQ(response->status, 201);
    EXPECT_EQ(response->body.size(), count * 60'000);
  }
  EXPECT_EQ(client.dialled(), 3u) << "what can be sent once only is not tried on a kept connection";
  EXPECT_EQ(client.idle(), 3u) << "which another request may use";
}

TEST_F(ClientTest, AnUploadEndsWhenTheServerHasAnswered) {
  for (const bool interim : {false, true}) {
    const std::string refusal = Text("too large", 413).pieces()[0].bytes;
    testing::Answer answer(interim ? "HTTP/1.1 103 Early Hints\r\n\r\n" : refusal);
    if (interim) answer.Then(refusal);
    ScriptedServer server;
    server.Expect("POST /up", answer.Close());
    HttpClient client(loop_, {.server = server.endpoint()});
    const auto response = Send(client, Upload(std::make_shared<Pieces>(kEndless)));
    ASSERT_TRUE(response) << response.error().message();
    EXPECT_EQ(response->status, 413);
    EXPECT_EQ(client.idle(), 0u);
  }
}

TEST_F(ClientTest, AnUploadIsNeverSentTwice) {
  for (const bool reset : {false, true}) {
    ScriptedServer server;
    server.Always("POST /up", reset ? testing::Nothing().Reset() : testing::Nothing().Close());
    HttpClient client(loop_, {.server = server.endpoint()});
    const auto response = Send(client, Upload(std::make_shared<Pieces>(kEndless)));
    ASSERT_FALSE(response);
    EXPECT_EQ(response.error().code(), Code::kUnknownOutcome) << response.error().message();
    EXPECT_EQ(server.connections(), 1u);
  }
}

TEST_F(ClientTest, ASourceThatFailsCutsTheRequestOff) {
  std::atomic<int> handled = 0;
  const auto handle = [&handled](const Request&) {
    ++handled;
    return Response{.status = 200, .headers = {}, .body = ""};
  };
  auto server = HttpServer::Start({.address = "127.0.0.1", .port = 0}, {{"/up", handle}});
  ASSERT_TRUE(server) << server.error().message();
  HttpClient client(loop_, {.server = *Endpoint::Parse("http://127.0.0.1:" + std::to_string((*server)->port()))});
  const auto source = std::make_shared<Pieces>(2, "piece", Error(Code::kInvalid, "the disk is broken"));
  const auto response = Send(client, Upload(source));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code(), Code::kUnknownOutcome);
  EXPECT_EQ(response.error().message(), "the request was cut off: the disk is broken");
  EXPECT_EQ(client.idle(), 0u);
  ASSERT_TRUE(Send(client, Upload(std::make_shared<Pieces>(0))));
  EXPECT_EQ(handled, 1);
}

TEST_F(ClientTest, ARequestHasABodyOrASource) {
  HttpClient client(loop_, {.server = *Endpoint::Parse("http://127.0.0.1:1")});
  Request request = Upload(std::make_shared<Pieces>(1));
  request.body = "x";
  EXPECT_EQ(Send(client, std::move(request)).error().code(), Code::kInvalid);
}

}  // namespace
}  // namespace capstan::net
