#include "net/testing/faulty_link.h"

#include <gtest/gtest.h>

#include "net/client.h"
#include "net/testing/run.h"
#include "net/testing/scripted_server.h"

namespace capstan::net {
namespace {

using testing::Chunk;
using testing::Chunked;
using testing::FaultyLink;
using testing::RunTask;
using testing::ScriptedServer;
using testing::Text;

class FaultyLinkTest : public ::testing::Test {
 protected:
  Result<Response> Get(const std::string& target, Duration patience = 10s) {
    return RunTask(loop_, client_.Send({.method = "GET", .target = target}, loop_.After(patience)));
  }
  Result<Response> Put(const std::string& target, Duration patience = 10s) {
    Request request{.method = "PUT", .target = target, .body = std::string(1000, 'x')};
    return RunTask(loop_, client_.Send(std::move(request), loop_.After(patience)));
  }
  std::unique_ptr<BodyStream> Open(const std::string& target) {
    auto stream = RunTask(loop_, client_.Open({.method = "GET", .target = target}, loop_.After(10s)));
    EXPECT_TRUE(stream) << stream.error().message();
    return stream ? *std::move(stream) : nullptr;
  }
  Result<std::string> Read(BodyStream& stream, Duration patience = 10s) {
    std::string buffer(100, '\0');
    const Result<size_t> got = RunTask(loop_, stream.Read(buffer, loop_.After(patience)));
    if (!got) return Fail(got.error());
    return buffer.substr(0, *got);
  }

  async::RealLoop loop_;
  ScriptedServer server_;
  FaultyLink link_{server_.port()};
  HttpClient client_{loop_, {.server = {Endpoint::Scheme::kHttp, "127.0.0.1", link_.port(), ""}}};
};

TEST_F(FaultyLinkTest, IsNotNoticedWhenNothingIsWrong) {
  const std::string large(3 << 20, 'x');
  server_.Expect("GET /large", Text(large));
  server_.Expect("GET /last", Text("bye").Close());
  EXPECT_EQ(Get("/large")->body.size(), large.size());
  EXPECT_EQ(Get("/last")->body, "bye");
  EXPECT_EQ(link_.accepted(), 1u);
}

TEST_F(FaultyLinkTest, WhatIsHeldIsOvertaken) {
  server_.Expect("GET /watch", Chunked({"a"}, false).Hold());
  server_.Expect("GET /other", Text("quick"));
  const auto watch = Open("/watch");
  EXPECT_EQ(*Read(*watch), "a");
  link_.Hold(true);
  server_.Push(Chunk("late"));
  EXPECT_EQ(Get("/other")->body, "quick");
  EXPECT_EQ(Read(*watch, 20ms).error().code(), Code::kDeadline);
  link_.Hold(false);
}

TEST_F(FaultyLinkTest, WhatWasHeldComesInTheEnd) {
  server_.Expect("GET /watch", Chunked({"a"}, false).Hold());
  const auto watch = Open("/watch");
  EXPECT_EQ(*Read(*watch), "a");
  link_.Hold(true);
  server_.Push(Chunk("late"));
  link_.Hold(false);
  EXPECT_EQ(*Read(*watch), "late");
}

TEST_F(FaultyLinkTest, CutsWhatIsOpenAndRefusesWhatIsNew) {
  server_.Expect("GET /watch", Chunked({"a"}, false).Hold());
  const auto watch = Open("/watch");
  EXPECT_EQ(*Read(*watch), "a");
  link_.Refuse(true);
  link_.Cut();
  EXPECT_EQ(Read(*watch).error().code(), Code::kUnavailable);
  EXPECT_FALSE(Get("/"));
  link_.Heal();
  server_.Expect("GET /", Text("back"));
  EXPECT_EQ(Get("/")->body, "back");
}

TEST_F(FaultyLinkTest, CutsAnAnswerShort) {
  server_.Expect("GET /", Text(std::string(1000, 'x')));
  link_.CutAfter(500);
  EXPECT_EQ(Get("/").error().code(), Code::kUnknownOutcome);
  link_.Heal();
  server_.Expect("GET /", Text("whole"));
  EXPECT_EQ(Get("/")->body, "whole");
}

TEST_F(FaultyLinkTest, CutsARequestShort) {
  server_.Always("PUT /", Text("stored"));
  link_.CutAfter(500, FaultyLink::Toward::kServer);
  EXPECT_EQ(Put("/").error().code(), Code::kUnknownOutcome);
  EXPECT_TRUE(server_.lines().empty()) << "it was never whole";
  link_.Heal();
  EXPECT_EQ(Put("/")->body, "stored");
}

TEST_F(FaultyLinkTest, AWriteMayArriveWhenNobodyWaitsForItAnyMore) {
  server_.Expect("GET /", Text("hello"));
  server_.Expect("PUT /", Text("stored"));
  EXPECT_EQ(Get("/")->body, "hello");
  link_.Hold(true, FaultyLink::Toward::kServer);
  EXPECT_EQ(Put("/", 50ms).error().code(), Code::kUnknownOutcome);
  EXPECT_EQ(server_.lines(), std::vector<std::string>{"GET /"});
  link_.Hold(false, FaultyLink::Toward::kServer);
  EXPECT_TRUE(server_.WaitForRequests(2));
  EXPECT_EQ(server_.lines().back(), "PUT /");
}

TEST_F(FaultyLinkTest, ADelayedRequestMissesItsDeadlineAndMayHaveArrived) {
  server_.Always("PUT /", Text("stored"));
  link_.Delay(1h, FaultyLink::Toward::kServer);
  EXPECT_EQ(Put("/", 50ms).error().code(), Code::kUnknownOutcome);
  EXPECT_TRUE(server_.lines().empty());
}

TEST_F(FaultyLinkTest, ADelayedAnswerMissesItsDeadline) {
  server_.Expect("GET /", Text("late"));
  link_.Delay(1h);
  EXPECT_FALSE(Get("/", 200ms));
}

}  // namespace
}  // namespace capstan::net
