#include "net/client_test.h"

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

}  // namespace
}  // namespace capstan::net
