#include "net/http1.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::net {
namespace {

using Kind = MessageParser::Kind;

// Feeds `bytes` in pieces of `size`, as a socket might deliver them.
Result<void> FeedInPieces(MessageParser& parser, std::string_view bytes, size_t size) {
  std::string received;
  for (size_t at = 0; at < bytes.size() && !parser.done(); at += size) {
    received += bytes.substr(at, size);
    CAPSTAN_CHECK_OK(parser.Feed(received));
  }
  return {};
}

constexpr std::string_view kChunked =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    "7;ext=1\r\n{\"a\":1,\r\nA\r\n\"b\":\"\r\n23\"\r\n1\r\n}\r\n0\r\nTrailer: x\r\n\r\n";

class AnyBoundary : public ::testing::TestWithParam<size_t> {};

TEST_P(AnyBoundary, GivesTheSameMessage) {
  MessageParser parser(Kind::kResponse, {});
  ASSERT_TRUE(FeedInPieces(parser, kChunked, GetParam()));
  EXPECT_TRUE(parser.done());
  EXPECT_TRUE(parser.keep_alive());
  EXPECT_EQ(parser.status(), 200);
  EXPECT_EQ(Find(parser.headers(), "content-type"), "application/json");
  EXPECT_EQ(parser.body(), "{\"a\":1,\"b\":\"\r\n23\"}");
}
INSTANTIATE_TEST_SUITE_P(Sizes, AnyBoundary, ::testing::Range<size_t>(1, kChunked.size() + 1));

TEST(MessageParser, LeavesTheNextMessageInTheBuffer) {
  MessageParser parser(Kind::kResponse, {});
  std::string bytes = "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\n";
  ASSERT_TRUE(parser.Feed(bytes));
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(bytes, "HTTP/1.1 200 OK\r\n");
}

TEST(MessageParser, AnswerToHeadHasNoBody) {
  MessageParser parser(Kind::kResponseToHead, {});
  std::string bytes = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
  ASSERT_TRUE(parser.Feed(bytes));
  EXPECT_TRUE(parser.done());
}

TEST(MessageParser, BodyWithoutLengthEndsWithTheConnection) {
  MessageParser parser(Kind::kResponse, {});
  std::string bytes = "HTTP/1.1 200 OK\r\n\r\nall there is";
  ASSERT_TRUE(parser.Feed(bytes));
  EXPECT_FALSE(parser.done());
  ASSERT_TRUE(parser.End());
  EXPECT_TRUE(parser.done());
  EXPECT_FALSE(parser.keep_alive());
  EXPECT_EQ(parser.body(), "all there is");
}

TEST(MessageParser, SaysWhenTheConnectionEndedTooEarly) {
  for (const std::string_view cut : {"", "HTTP/1.1 20", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
                                     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"}) {
    MessageParser parser(Kind::kResponse, {});
    std::string bytes(cut);
    ASSERT_TRUE(parser.Feed(bytes)) << cut;
    const Result<void> end = parser.End();
    ASSERT_FALSE(end) << cut;
    EXPECT_EQ(end.error().code(), Code::kUnavailable);
  }
}

TEST(MessageParser, RefusesWhatIsNotHttpOrTooLarge) {
  const std::pair<std::string, std::string_view> cases[] = {
      {"SSH-2.0-OpenSSH\r\n\r\n", "not HTTP"},
      {"HTTP/1.1 abc OK\r\n\r\n", "not HTTP"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\n", "not HTTP"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "not HTTP"},
      {"HTTP/1.1 200 OK\r\nX: " + std::string(3000, 'x') + "\r\n\r\n", "larger"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n", "larger"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" + std::string(101, 'x') + "\r\n0\r\n\r\n",
       "larger"},
  };
  for (const auto& [bytes, why] : cases) {
    MessageParser parser(Kind::kResponse, {.header_bytes = 2048, .body_bytes = 100});
    std::string copy = bytes;
    const Result<void> fed = parser.Feed(copy);
    ASSERT_FALSE(fed) << bytes.substr(0, 60);
    EXPECT_EQ(fed.error().code(), Code::kInvalid);
    EXPECT_THAT(fed.error().message(), ::testing::HasSubstr(why));
  }
}

TEST(MessageParser, ReadsARequest) {
  MessageParser parser(Kind::kRequest, {});
  ASSERT_TRUE(FeedInPieces(parser, "POST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", 4));
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(parser.method(), "POST");
  EXPECT_EQ(parser.target(), "/a?b=c");
  EXPECT_EQ(parser.body(), "abc");
}

TEST(Serialized, RequestHasWhatTheTransportAdds) {
  const Request request{"PUT", "/x", {{"Accept", "a/b"}}, "body"};
  EXPECT_EQ(Serialized(request, "h:1", "agent", Secret("tok")),
            "PUT /x HTTP/1.1\r\nHost: h:1\r\nUser-Agent: agent\r\nAccept: a/b\r\nAuthorization: Bearer tok\r\n"
            "Content-Length: 4\r\n\r\nbody");
}

TEST(Serialized, RefusesWhatWouldBreakTheFraming) {
  const Request good{"GET", "/x"};
  Request target = good, method = good, value = good, name = good, colon = good, length = good, coding = good,
          host = good;
  target.target = "/x HTTP/1.1\r\nEvil: 1";
  method.method = "GET /y";
  value.headers = {{"A", "b\r\nEvil: 1"}};
  name.headers = {{"A b", "c"}};
  colon.headers = {{"A: 1", "c"}};
  length.headers = {{"content-LENGTH", "1"}};
  coding.headers = {{"Transfer-Encoding", "chunked"}};
  host.headers = {{"host", "elsewhere"}};
  for (const Request& bad : {target, method, value, name, colon, length, coding, host}) {
    const Result<std::string> serialized = Serialized(bad, "h", "a", Secret());
    ASSERT_FALSE(serialized);
    EXPECT_EQ(serialized.error().code(), Code::kInvalid);
  }
  const Result<std::string> agent = Serialized(good, "h", "a\r\nEvil: 1", Secret());
  ASSERT_FALSE(agent);
  EXPECT_EQ(agent.error().code(), Code::kInvalid);
  const Result<std::string> token = Serialized(good, "h", "a", Secret("two words"));
  ASSERT_FALSE(token);
  EXPECT_EQ(token.error().code(), Code::kUnauthenticated);
  EXPECT_EQ(token.error().message().find("two words"), std::string::npos);
}

}  // namespace
}  // namespace capstan::net
